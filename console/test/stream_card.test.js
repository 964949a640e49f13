// The stream card says where the log is, where the page began, and whether it follows.
import { place, drawn } from './dom.js'
import './browser.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { html, render } from '../app/html.js'
import { HolonError } from '../client/index.js'
import { cursor, ended, stream } from '../app/live.js'
import { StreamCard } from '../app/stream_card.js'

const position = more => ({ since: new Date(), began_at: 40, cursor: 50, latest_seq: 60, ...more })
const lost = new HolonError('offline', 'the connection broke')

for (const [state, says, more] of [
  ['connecting', 'connecting'],
  ['waiting', 'waiting for the first frame'],
  ['connected', 'connected'],
  ['reconnecting', 'reconnecting', { error: lost }],
  ['off', 'off'],
]) {
  test(`a stream that is ${state}`, async () => {
    const root = place()
    cursor.value = 50
    ended.value = null
    stream.value = position({ state, ...more })
    render(html`<${StreamCard} />`, root)
    await drawn()
    const [title] = root.all('span')
    assert.equal(title.textContent, 'Stream: ' + says)
    assert.match(root.textContent, /latest seq 60this page began at seq 40shown up to seq 50/)
    assert.equal(root.all('button').length, more ? 1 : 0)
    cursor.value = 70 // events have come since the stream has said what is the latest
    await drawn()
    assert.match(root.textContent, /latest seq 70this page began at seq 40shown up to seq 70/)
    render(null, root)
  })
}

test('a stream that has ended is off, whatever it was', async () => {
  const root = place()
  stream.value = position({ state: 'connected' })
  ended.value = new HolonError('forbidden', 'no')
  render(html`<${StreamCard} />`, root)
  await drawn()
  assert.match(root.textContent, /Stream: off/)
})

// The page notices that the server has become another one, and loads nothing by itself.
import { place, drawn } from './dom.js'
import './browser.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { html, render } from '../app/html.js'
import { stream } from '../app/live.js'
import { reading } from '../app/refresh.js'
import { server } from '../app/session.js'
import { OtherVersion, watchVersion } from '../app/version.js'

const own = new URL('..', import.meta.url).pathname
const of = version => ({ log_id: 'log', limits: {}, server_info: { version }, capabilities: { console: true } })

// What the server is: its version, the path of its page, whether it has one.
let now, asked = 0, failures = 0
globalThis.fetch = async (url, init) => {
  asked++
  if (failures-- > 0) throw new TypeError('offline')
  if (!init.body) return new Response(`<script src="${now.path}app/main.js">`)
  return new Response(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { ...of(now.version), capabilities: { console: now.console !== false } } }))
}

server.value = of('v1')
const states = (...all) => { for (const state of all) stream.value = { state } }

test('after a reconnect to another version, or to another page, the page says so', async () => {
  let reloads = 0
  location.reload = () => { reloads++ }
  const root = place()
  render(html`<${OtherVersion} />`, root)
  const stop = watchVersion()
  // A thread that one opens has another connection, and is no reconnect.
  states('off', 'connecting', 'waiting', 'connected', 'connecting', 'connected')
  await drawn()
  assert.equal(asked, 0)
  for (const [what, says] of [
    [{ version: 'v1', path: own }, ''],
    [{ version: 'v2', path: '/console/2/' }, 'The server is now v2. Reload to use its page. Reload'],
    [{ version: 'v2', path: own }, 'The server is now v2. Reload to use its page. Reload'],
    [{ version: 'v1', path: '/console/2/' }, 'The server has another page now. Reload to use it. Reload'],
    [{ version: 'v1', path: own }, ''], // it was taken back
    [{ version: 'v2', path: '/console/2/', console: false }, ''],
    [{ version: 'v3\u202e', path: '/console/3/' }, 'The server is now v3. Reload to use its page. Reload'],
  ]) {
    now = what
    states('reconnecting', 'waiting', 'connected')
    while (reading.value) await drawn()
    await drawn()
    assert.equal(root.textContent, says)
  }
  assert.equal(reloads, 0)
  root.all('button')[0].fire('click')
  assert.equal(reloads, 1)

  // A page that has rested asks too, and again if nobody answers.
  now = { version: 'v1', path: own }
  failures = 1
  states('off', 'connecting', 'connected')
  while (reading.value) await drawn()
  await drawn()
  assert.equal(root.textContent, '')
  stop()
})

// Reading rows again: what could not be read is asked for again, with and without names.
import './browser.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HolonError } from '../client/index.js'
import { reading, refresher } from '../app/refresh.js'

for (const names of [[], ['a', 'b']]) {
  test(`what could not be read is read again, of ${names.length} names`, async t => {
    const timers = [], real = globalThis.setTimeout
    globalThis.setTimeout = f => timers.push(f)
    t.after(() => { globalThis.setTimeout = real })
    const asked = []
    const again = refresher(async what => {
      asked.push([...what])
      if (asked.length < 3) throw new HolonError('offline', 'gone')
    })
    again(...names)
    for (let n = 0; n < 10; n++) {
      timers.shift()?.()
      await new Promise(setImmediate)
    }
    assert.deepEqual(asked, [names, names, names])
    assert.equal(reading.value, false)
  })
}

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Lines } from '../lines.js'

const text = 'one\n\n\r\nzwölf 三😀\r\n\ufefflast\nrest'
const want = ['one', 'zwölf 三😀\r', '\ufefflast']

test('lines do not depend on how the bytes are cut', () => {
  const bytes = new TextEncoder().encode(text)
  for (let size = 1; size <= bytes.length; size++) {
    const lines = new Lines(100)
    const got = []
    for (let at = 0; at < bytes.length; at += size) got.push(...lines.push(bytes.subarray(at, at + size)))
    assert.deepEqual(got, want, `pieces of ${size} bytes`)
  }
})

test('a line is bounded, in bytes, in whatever pieces it comes', () => {
  const bytes = new TextEncoder().encode('x\n' + 'ö'.repeat(50) + '\n')
  for (let size = 1; size <= bytes.length; size++) {
    for (const [most, long] of [[100, false], [99, true]]) {
      const lines = new Lines(most)
      const push = () => {
        for (let at = 0; at < bytes.length; at += size) lines.push(bytes.subarray(at, at + size))
      }
      // A line that comes whole in one piece, behind another, is bounded by the piece.
      if (long && size < bytes.length - 1) assert.throws(push, RangeError, `pieces of ${size} bytes`)
      if (!long) push()
    }
  }
})

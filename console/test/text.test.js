// What is removed of a text, what stays, and what a person sees who approves it.
import './browser.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clean, literal, oneLine, cut, idHas, span } from '../app/text.js'
import { compare } from '../app/question.js'

test('writing of all languages stays as it is', () => {
  for (const text of [
    '👩‍👩‍👧‍👦 👍🏽 ⚠️ ❤️‍🔥 🏴󠁧󠁢󠁥󠁮󠁧󠁿 1️⃣', 'می‌خواهم', 'क्‍ष', 'שלום, עולם!', 'مرحبا (1) بالعالم', 'e\u0301 n\u0303 a\u0308', 'Donau\u00addampf', '日本語　全角', 'ภาษาไทย', 'a\tb\nc', '\u00a0',
  ]) assert.equal(clean(text), text)
})

test('what a terminal obeys goes, and nothing hides behind it', () => {
  assert.equal(clean('\u001b[31mred\u001b[0m \u001b]0;title\u0007text \u009b1mbold \u001bPq\u001b\\end \u001b(Bx \u001bcy'), 'red text bold end x y')
  assert.equal(clean('a\u001b]0;never ends\nthe rest'), 'a\nthe rest')
  assert.match(clean('\u001b]0;' + 'x'.repeat(5000) + ' the rest'), /the rest$/)
  assert.match(clean('\u001b[' + '1;'.repeat(100) + ' the rest'), /the rest$/)
  assert.equal(clean('a\u202eb\u2066c\u200bd\ufeffe\u061cf\u0000g\u007fh'), 'abcdefgh')
  assert.equal(clean('a\r\nb\rc\u2028d'), 'a\nb\nc\nd')
  for (const text of ['\u001b\u001b]\u001b[', '\u001b[\u001b]x\u0007', '\u009d\u001b\\', 'a\u001b']) {
    assert.doesNotMatch(clean(text), /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/)
    assert.equal(clean(clean(text)), clean(text))
  }
})

test('what a person approves shows what acts', () => {
  const acting = ['\u0000', '\u0007', '\u001b', '\r', '\u007f', '\u0085', '\u00a0', '\u00ad', '\u034f', '\u061c', '\u115f', '\u180e', '\u200b', '\u200c', '\u200d', '\u200e', '\u2028', '\u202e', '\u2003', '\u2060', '\u2066', '\u3000', '\u3164', '\ufe0f', '\ufeff', '\uffa0', '\u{e0041}', '\u{e0100}', '\ud800']
  for (const c of acting) {
    const shown = literal(`rm${c}x`)
    assert.notEqual(shown, `rm${c}x`, JSON.stringify(c))
    assert.ok(!shown.includes(c), JSON.stringify(c))
    assert.match(shown, /^rm.+x$/u)
  }
  for (const text of ['git commit -m "⚠️ fix 👩‍👩‍👧"', 'echo äöü 日本 שלום', 'a\n\tb', 'ls -l | grep x']) assert.equal(literal(text), text)
})

test('a diff hides no change', () => {
  const signs = (a, b) => compare(a, b).lines.map(l => ({ added: '+', removed: '-', same: ' ' })[l.kind]).join('')
  for (const [a, b] of [['admin', 'admin\u200b'], ['a', '\u202ea'], ['a\n', 'a\r\n'], ['x\u001b[8my', 'xy'], ['a b', 'a\u00a0b']]) {
    assert.equal(signs(a, b), '-+', JSON.stringify([a, b]))
  }
  assert.equal(signs('a\r\nb\r\n', 'a\r\nc\r\n'), ' -+')
  assert.deepEqual(compare('a\r\n', 'a\r\nb\r\n').lines.map(l => l.text), ['a', 'b'])
  assert.equal(signs('', 'a'), '+')
  assert.equal(signs('', ''), '')
})

test('small words', () => {
  assert.equal(oneLine(' a\n\u2028 b\u001b[1m '), 'a b')
  assert.equal(cut('aa😀bb', 4), 'aa…')
  assert.equal(span(-5000), '0 s') // the clocks differ
})

test('an id is found by its beginning or its end', () => {
  const id = 'thread_01a21cd5-2ff2-7e16-bf93-8f4618952026'
  for (const word of [id, 'thread_01a2', '01a2', '2026', '18952026', '1895', '189520']) assert.equal(idHas(id, word), true, word)
  for (const word of ['026', 'thread', 'thread_', 'thread_2026', '7e16', '12']) assert.equal(idHas(id, word), false, word)
  assert.equal(idHas('My-Inbox', 'box'), true)
  assert.equal(idHas('My-Inbox', 'xi'), false)
})

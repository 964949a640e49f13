// A question is put into words here as it is by the Go package question: its vectors.
import './browser.js'
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parse } from '../client/json.js'
import { allows, layout, more, once, reviewOf, widens, wordsOf } from '../app/question.js'
import { literal } from '../app/text.js'

const vectors = name => parse(readFileSync(new URL(`../questiondata/${name}.json`, import.meta.url), 'utf8'))

for (const { name, content, subject, cwd, unread, truncated, phrase, lines } of vectors('words')) {
  test(name, () => {
    const got = wordsOf({ content, subject, cwd, unread, truncated })
    assert.equal(got.phrase, phrase)
    assert.deepEqual(got.lines.map(l => [l.kind, l.text]), lines)
  })
}

for (const { name, turn, early, phrase, lines, verdicts } of vectors('reviews')) {
  test('review: ' + name, () => {
    const got = reviewOf({ turn, early })
    assert.equal(got.phrase, phrase)
    assert.deepEqual(got.lines.map(l => [l.kind, l.text]), lines)
    assert.deepEqual(got.verdicts, verdicts)
  })
}

test('hidden characters are visible', () => {
  for (const { text, shown } of vectors('hidden')) assert.equal(literal(text), shown, JSON.stringify(text))
})

test('an input keeps its source text', () => {
  assert.equal(layout('{"a":[9007199254740993,1e400,-0.10],"b":{},"c":"x\\\\n\\ny\\n"}'), '{\n  "a": [\n    9007199254740993,\n    1e400,\n    -0.10\n  ],\n  "b": {},\n  "c": "x\\\\n\\n\n    y\\n"\n}')
})

test('more lines are counted', () => {
  for (const [n, want] of [[1, '… 1 more line'], [12, '… 12 more lines'], [4936, '… 4,936 more lines'], [1234567, '… 1,234,567 more lines']]) assert.equal(more(n), want)
})

test('kinds of options', () => {
  for (const want of vectors('kinds')) {
    const { kind } = want
    assert.deepEqual({ kind, allows: allows(kind), once: once(kind), widens: widens(kind) }, want)
  }
  assert.ok(allows(undefined) && !once(undefined), 'an option without a kind')
})

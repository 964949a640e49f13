// What is typed into the form of a question is what is sent.
import './browser.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse, stringify } from '../client/json.js'
import { answerOf, begin, fieldsOf } from '../app/form.js'

const form = schema => fieldsOf(parse(schema))
const sends = (schema, ...typed) => stringify(answerOf(form(schema), typed))

test('a number is sent as it was typed', () => {
  for (const typed of ['5', '-5', '9007199254740993', '-18446744073709551617', '0']) {
    assert.equal(sends('{"type":"integer"}', typed), typed)
    assert.equal(sends('{"type":"number"}', ` ${typed} `), typed)
  }
  for (const typed of ['1e400', '1.0', '0.10', '-0', '9007199254740993.5', '1E5']) assert.equal(sends('{"type":"number"}', typed), typed)
  for (const typed of ['1.5', '1e400', 'x', '', '1,5', '[1]', 'null', '"1"', '0x10', 'Infinity']) assert.throws(() => sends('{"type":"integer"}', typed), /number is needed/, typed)
  for (const typed of ['x', '', '1,5', '[1]', 'null', '"1"', 'NaN', '01']) assert.throws(() => sends('{"type":"number"}', typed), /a number is needed/, typed)
  assert.throws(() => sends('{"type":"number","maximum":1e3}', '1e400'), /at most 1e3/)
  assert.throws(() => sends('{"type":"number","minimum":1.0}', '0.5'), /at least 1\.0/)
})

test('what the schema offers is sent as it is there', () => {
  const schema = '{"type":"object","properties":{"id":{"type":"integer","default":9007199254740993},"rate":{"type":"number","default":1.0},"limit":{"enum":[1e400,9007199254740992,9007199254740993],"default":9007199254740993}}}'
  const first = begin(form(schema))
  assert.deepEqual(first, ['9007199254740993', '1.0', '2'])
  assert.equal(sends(schema, ...first), '{"id":9007199254740993,"rate":1.0,"limit":9007199254740993}')
  assert.equal(sends(schema, '', '', ''), '{}')
  assert.deepEqual(form(schema).fields[2].choices.map(c => c.title), ['1e400', '9007199254740992', '9007199254740993'])
  assert.equal(sends('{"type":"integer","default":1.0}', '1.0'), '1.0')
})

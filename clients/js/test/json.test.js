// Numbers that JavaScript would change keep their source text. Node 20 has no JSON.rawJSON;
// the tests of the console in a browser run where it is.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Client, ExactNumber, View, parse, stringify } from '../index.js'
import { fails, opened, serve, stream } from './fake.js'

const changed = ['9007199254740993', '-9007199254740993', '18446744073709551615', '1e400', '-1E+400', '1e-400', '1.0', '-0', '-0.0', '0.10', '1E5', '1e5', '0.1000000000000000055511151231257827']
const kept = ['0', '-1', '9007199254740991', '0.1', '1.5e-7', '1e+21', '123.456']

test('a number keeps its source text, wherever it is', () => {
  for (const source of [...changed, ...kept]) {
    for (const text of [source, `[${source}]`, `{"a":${source}}`, `[{"b":[1,"${source}",${source},true,false,null,{}],"":[]}]`]) {
      assert.equal(stringify(parse(text)), text)
    }
    assert.equal(stringify(parse(` [ ${source}\n,\t{ "a" : ${source} } ] `), 2), `[\n  ${source},\n  {\n    "a": ${source}\n  }\n]`)
  }
  for (const source of changed) {
    const number = parse(source)
    assert.ok(number instanceof ExactNumber, source)
    assert.equal(`${number}`, source)
    assert.equal(number + 0, Number(source) + 0)
  }
  for (const source of kept) assert.equal(parse(source), Number(source))
})

test('beside an exact number all else is as JSON.parse reads it', () => {
  for (const text of [
    '"\\u0022\\\\"', '"a\\\\\\"b, 1.0"', '{"1.0":1,"a\\"1.0":"]","__proto__":{"x":[]}}', '{"a":1,"a":2}', '{"2":1,"1":2}', '["\\ud83d\\ude00","\\ud83d"," "]', '{}', '[]', '[[],[{}]]', 'null', '""', '"#"',
  ]) {
    const value = parse(`[1.0,${text},1.0]`)
    assert.deepEqual(value[1], JSON.parse(text), text)
    assert.equal(stringify(value), `[1.0,${JSON.stringify(JSON.parse(text))},1.0]`)
    assert.deepEqual(parse(text), JSON.parse(text))
  }
  assert.equal({}.x, undefined)
})

test('no text is taken for a number when it is written', () => {
  const number = new ExactNumber('1.0')
  assert.equal(stringify({ '#': number, a: ['#', number, '"#"', { '"#"': '#' }] }), '{"#":1.0,"a":["#",1.0,"\\"#\\"",{"\\"#\\"":"#"}]}')
  assert.equal(stringify({ a: undefined, d: new Date(0) }), '{"d":"1970-01-01T00:00:00.000Z"}')
  assert.equal(stringify(undefined), undefined)
})

test('what is no JSON is refused', () => {
  for (const text of ['', '01', '1.', '[1.0', '[1.0,]', '{"a":1.0,}', '"', 'NaN', '1.0 1.0']) assert.throws(() => parse(text), SyntaxError, text)
  for (const text of ['', ' 1', '01', '1.', '+1', '0x1', 'NaN', 'Infinity', '1,"a":2']) assert.throws(() => new ExactNumber(text), SyntaxError, text)
})

test('random JSON is written as it was', () => {
  let seed = 1
  const below = (n) => (seed = (seed * 48271) % 2147483647) % n
  const of = (all) => all[below(all.length)]
  const value = (depth) => {
    switch (below(depth > 0 ? 6 : 4)) {
      case 0: return of([...changed, ...kept])
      case 1: return JSON.stringify(Array.from({ length: below(6) }, () => of(['"', '\\', '1.0', '#', ',', ']', '}', ':', 'é', '\n', '\u2028'])).join(''))
      case 2: return of(['true', 'false', 'null'])
      case 3: return `${of(['', '-'])}${1 + below(9)}${Array.from({ length: below(25) }, () => below(10)).join('')}${of(['', '.5', '.50', 'e2', 'E-3'])}`
      case 4: return `[${Array.from({ length: below(5) }, () => value(depth - 1))}]`
      default: return `{${Array.from({ length: below(5) }, (_, i) => `${JSON.stringify(`k${i}${of(['', '"', '\\', '1.0'])}`)}:${value(depth - 1)}`)}}`
    }
  }
  for (let i = 0; i < 2000; i++) {
    const text = value(4)
    const got = parse(text)
    assert.equal(stringify(got), text)
    if (JSON.rawJSON) assert.equal(JSON.stringify(got), text)
  }
})

const any = '{"account":9007199254740993,"limit":1e400,"rate":1.0,"n":1}'

test('members of any type come and go with their source text', async (t) => {
  const { url, requests } = await serve(t, (response) => {
    response.writeHead(200, { 'Content-Type': 'application/json' })
    response.end(`{"jsonrpc":"2.0","id":1,"result":{"metadata":${any},"seq":3}}`)
  })
  const client = new Client({ url })
  const { metadata, seq } = await client.call('thread/read', { thread_id: 't' })
  assert.equal(seq, 3)
  assert.equal(metadata.n, 1)
  assert.equal(stringify(metadata), any)
  await client.call('item/respond', { item_id: 'i', answer: metadata }, { key: 'k' })
  assert.equal(requests[1].body, `{"jsonrpc":"2.0","id":1,"method":"item/respond","params":{"item_id":"i","answer":${any},"idempotency_key":"k"}}`)
})

test('an error has its data with its source text', async (t) => {
  const { url } = await serve(t, (response) => {
    response.writeHead(400, { 'Content-Type': 'application/json' })
    response.end(`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no","data":{"kind":"invalid_params","got":${any}}}}`)
  })
  const error = await fails(new Client({ url }).call('thread/start'), 'invalid_params')
  assert.equal(stringify(error.data.got), any)
})

test('a stream and the view keep the source text', async (t) => {
  const params = `{"seq":1,"thread_id":"t","turn_id":"u","item_id":"i","type":"created","status":"completed","content":{"type":"tool_call","input":${any}}}`
  const { url } = await serve(t, stream([opened(0, 1), `{"jsonrpc":"2.0","method":"item/created","params":${params}}\n`]))
  const view = new View()
  for await (const event of new Client({ url }).stream({ after_seq: 0 })) {
    const { item } = view.apply(event)
    assert.equal(stringify(item.content.input), any)
    break
  }
})

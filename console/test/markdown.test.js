// Messages that mean harm: they become elements of an allow-list, their words stay visible,
// and there are never too many nodes.
import './browser.js'
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { hostLink, markdown, maxText, safeLink } from '../app/markdown.js'
import { look } from './tree.js'
import { Random } from './random.js'

const fill = piece => piece.repeat(Math.floor(maxText / piece.length))
const mostNodes = 25_000

const whole = {
  'brackets': fill('['), 'links in links': '['.repeat(2000) + 'a' + '](b)'.repeat(2000), 'images': fill('![a]('), 'stars': fill('*'), 'stars and words': fill('***a **b '),
  'one word of stars': '*'.repeat(30_000) + 'a' + '*'.repeat(30_000), 'underscores': fill('a_'), 'backticks': Array.from({ length: 350 }, (_, i) => '`'.repeat(i) + 'a').join(' '),
  'an address of mail': 'a'.repeat(maxText - 1) + '@', 'tags': fill('<a '), 'comments': fill('<!--'), 'quotes': '>'.repeat(maxText), 'quotes with blanks': fill('> '),
  'lists in a line': fill('- '), 'lists in lists': Array.from({ length: 350 }, (_, i) => ' '.repeat(i) + '- a').join('\n'), 'lists and quotes': fill('- > '),
  'fences': fill('```\n'), 'an open fence': '```\n' + fill('a b\n'), 'headings': fill('# a\n'), 'rules': fill('---\n'), 'blanks': ' '.repeat(maxText), 'lines': '\n'.repeat(maxText),
  'one character': 'a'.repeat(10 << 20), 'tasks': fill('- [ ] a\n'), 'entities': fill('&#1;'), 'surrogates': fill('\ud800 '),
  'a wide table': '|' + 'a|'.repeat(1000) + '\n|' + '-|'.repeat(1000) + '\n' + 'a|\n'.repeat(2000),
  'a long table': '|' + 'a|'.repeat(100) + '\n|' + '-|'.repeat(100) + '\n' + '|\n'.repeat(3000),
  'a table in a quote': '> |' + 'a|'.repeat(300) + '\n> |' + '-|'.repeat(300) + '\n' + '> a|\n'.repeat(2000),
  'many tables': fill('|a|b|\n|-|-|\n|c|\n\n'),
}

for (const [name, text] of Object.entries(whole)) {
  test(`${name}: bounded and shown`, () => {
    const { nodes, text: shown } = look(markdown(text))
    assert.ok(nodes <= mostNodes, `${nodes} nodes`)
    if (/[a-c]/.test(text)) assert.match(shown.join(''), /[a-c]/)
  })
}

const hostile = [
  '<script>alert(1)</script>', '<img src=x onerror=alert(1)>', '<svg/onload=alert(1)>', '<iframe src="javascript:alert(1)">', '<style>body{}</style>', '<base href="//evil.example">',
  '[x](javascript:alert(1))', '[x](JaVaScRiPt:alert(1))', '[x](java\u0000script:alert(1))', '[x](java\tscript:alert(1))', '[x](&#106;avascript:alert(1))', '[x](javascript&colon;alert(1))',
  '[x](data:text/html,<script>alert(1)</script>)', '[x](vbscript:msgbox)', '[x](//evil.example)', '[x](/rpc)', '[x](#/server)', '[x](file:///etc/passwd)', '[x](blob:https://a/b)',
  '<javascript:alert(1)>', '<data:text/html,x>', '![x](javascript:alert(1))', '![x](data:image/svg+xml,<svg>)', '[x](\u202ejavascript:alert(1))', '[x](\u0001javascript:alert(1))', '[x](https://ok.example "\u202etitle")',
  '[x][r]\n\n[r]: javascript:alert(1)\n', 'https://ok.example/\u202egnp', 'mailto:a@ok.example', 'www.ok.example', '[x](<https://ok.example/a b>)', '[x](https://a@b.example)',
  '\u001b]8;;https://evil.example\u0007words\u001b]8;;\u0007', '\u001b[31mred\u001b[0m', '\u001b]52;c;aGk=\u0007', '\u009b31mred', '\u202eevil\u202c', 'a\u2028b', 'x\ufeffy', '\ud83d', 'e\u0301', '\u001bPq words\u001b\\',
  '**bold', '`code', '```js\ncode', '~~gone~~', '| a | b |\n|---|---|\n| <b> | [x](javascript:1) |\n', '> quote\n> - list\n>   1. <i>\n', '# <b>head</b>', '- [x] <input>', '&lt;script&gt;', '&#x3c;script&#x3e;', '&#0;&#55296;&#999999;',
  '{"type":"script","props":{}}', '${alert(1)}', '<!-- hidden words -->', '<?php hidden ?>', '<![CDATA[hidden]]>', '\\<b\\>', '<a href="https://ok.example" onclick=x>link</a>', 'a  \nb', '---', '***', '[//]: # (hidden words)',
]

test('500 messages of hostile pieces: only what is allowed, and no word is lost', () => {
  const chance = new Random(7)
  for (let n = 0; n < 500; n++) {
    const word = `keep${n}`
    const pieces = [word, ...Array.from({ length: 1 + chance.below(8) }, () => chance.of(hostile))]
    const text = pieces.map(p => p + chance.of([' ', '\n', '\n\n', '\n> ', '\n- ', ''])).join('')
    const { text: shown, links } = look(markdown(text))
    assert.ok(shown.join(' ').includes(word), `${JSON.stringify(text)} lost ${word}`)
    for (const to of links) assert.ok(!/evil|javascript/i.test(new URL(to).protocol))
    for (const piece of shown) assert.doesNotMatch(piece, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/)
  }
})

test('HTML, comments and addresses that nothing shows stay text', () => {
  for (const text of ['<!-- hidden words -->', '<script>hidden words</script>', '[//]: # (hidden words)', 'a <b title="hidden words">', '<?php hidden words ?>']) {
    assert.match(look(markdown(text)).text.join(''), /hidden words/, text)
  }
})

test('only addresses of the web and of mail are links', () => {
  for (const ok of ['https://a.example/', 'http://127.0.0.1:8080/', 'mailto:a@b.example', 'HTTPS://A.example/']) assert.ok(safeLink(ok), ok)
  for (const bad of ['javascript:1', ' javascript:1', 'java\nscript:1', 'data:text/html,x', 'vbscript:x', '//a', '/a', 'a', '#a', '', undefined, null, 'file:///a', 'blob:http://a', 'intent://a', 'ws://a']) assert.equal(safeLink(bad), '', bad)
})

test('a link with a user in its address is shown as it was written', () => {
  for (const to of ['https://good.example@evil.example/x', 'https://user:word@evil.example', 'https://:word@evil.example', 'HTTPS:\\\\good.example@evil.example', 'https:good.example@evil.example']) {
    assert.equal(safeLink(to), '', to)
    for (const text of [`[the words](${to})`, `![the words](${to})`, `[the words][r]\n\n[r]: ${to}\n`, `<${to}>`, to]) {
      const { text: shown, links } = look(markdown('Look: ' + text))
      assert.deepEqual(links.filter(l => !l.startsWith('mailto:')), [], text) // of :word@a.example, what looks like one is one of mail
      for (const word of text.match(/[a-z]{4,}/gi)) assert.ok(shown.join('').toLowerCase().includes(word.toLowerCase()), `${text} lost ${word}`)
    }
  }
  assert.equal(look(markdown('[x](https://good.example/@user?to=a@b)')).links.length, 1)
  assert.equal(look(markdown('[x](mailto:a@b.example)')).links.length, 1)
})

test('Markdown that people write is drawn', () => {
  const { text, nodes } = look(markdown('# T\n\nSome **bold** `code a<b` & [x](https://a.example).\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- [x] done\n- more\n\n```go\nif a < b && c {}\n```\n'))
  assert.ok(nodes > 30)
  assert.match(text.join(''), /Some bold code a<b & x https:\/\/a\.example\/\..*if a < b && c \{\}/s)
})

test('a word that would take its length squared is shown as written', () => {
  for (const word of ['a'.repeat(2001) + '@', 'a_'.repeat(1001), '*'.repeat(2001)]) assert.equal(markdown('**b** ' + word).props.class, 'plain')
  assert.notEqual(markdown('**b** ' + 'a'.repeat(2000)).props?.class, 'plain')
})

test('every word of random Markdown is on the page', () => {
  const texts = JSON.parse(readFileSync(new URL('../texts.json', import.meta.url), 'utf8'))
  for (const { text, words } of texts) {
    const { text: shown } = look(markdown(text)) // the address of a link counts only where it is read
    const on = new Set(shown.join('').match(/w\d+x/g))
    for (const word of words) assert.ok(on.has(word), `${word} is lost of\n${text}\n-- shown as --\n${shown.join('')}`)
  }
})

test('what Markdown has no place for is shown', () => {
  for (const [text, want] of [
    ['one\ntwo', 'one|two'], ['- one\n  two', 'one|two'], ['tool <input> KEY=<your key>', 'tool |<input>| KEY=|<your key>'], ['```go main.go\na\n```', 'go main.go|a'],
    ['[a](https://b.example "c")', 'a| |https://b.example/| "c"'], ['![a](https://b.example "c")', '🖼 |a| |https://b.example/| "c"'], ['![](https://b.example)', '🖼 |https://b.example'],
    ['[a][r]\n\n[r]: https://b.example "c"', 'a| |https://b.example/|[r]: https://b.example "c"'], ['[![a](https://b.example)](https://c.example)', '🖼 |a| |https://b.example/| |https://c.example/'],
    ['https://b.example/x www.b.example a@b.example <https://b.example>', 'https://b.example/x| |www.b.example| |a@b.example| |https://b.example'],
    ['[https://b.example](https://b.example/) [a@b.example](mailto:a@b.example)', 'https://b.example| |a@b.example'], ['[https://b.example](https://evil.example)', 'https://b.example| |https://evil.example/'],
    ['[`https://b.example`](https://b.example)', 'https://b.example'], ['[https://b.example **x**](https://b.example)', 'https://b.example |x| |https://b.example/'],
    ['| a |\n|---|\n| b | c \\| d | **e** |\n|', 'a|b|c | d|e'],
  ]) {
    const { text: shown } = look(markdown(text))
    assert.equal(shown.join('|'), want, text)
  }
  assert.ok(tags(markdown('one\ntwo')).includes('br'))
})

// tags lists the elements.
const tags = n => Array.isArray(n) ? n.flatMap(tags) : n?.props ? [n.type, ...tags(n.props.children)] : []

test('a link of an item shows its host, and an address that could be read in two ways is none', () => {
  for (const [to, host] of Object.entries({
    'https://github.com/o/r/pull/1#c5': 'github.com', 'https://ci.example.com:8443/a?b=%22&c=[d]': 'ci.example.com:8443', 'https://xn--gthub-n4a.com/': 'xn--gthub-n4a.com',
  })) {
    const { text, links } = look(hostLink(to))
    assert.deepEqual(links, [to])
    assert.equal(text.join(''), host + ' ↗')
  }
  for (const bad of [
    '', undefined, null, 5, {}, 'javascript:alert(1)', 'http://github.com/', 'HTTPS://github.com/', 'mailto:a@github.com', '//github.com/', 'https:github.com', 'https:/github.com', 'https://', 'https:///github.com',
    'https://a@github.com/', 'https://a:b@github.com/', 'https://github.com@evil.example/', 'https://github.com\\@evil.example', 'https://evil.example\\.github.com/', 'https://g\u00efthub.com/', 'https://\uff47ithub.com/',
    'https://github.com/\t', '\thttps://github.com/', 'https://git\thub.com/', 'https://github.com/\n', ' https://github.com/', 'https://github.com/ x', 'https://github.com/\u202e', 'https://github.com/"', 'https://github.com/<b>', 'https://github.com:x/',
  ]) assert.equal(hostLink(bad), null, String(bad))
})

// Markdown as nodes: marked finds the tokens, and each becomes an element with text nodes.
// Every word is on the page: HTML, definitions of links, the language of a block of code,
// addresses and titles of links and cells without a column are shown as they were written,
// and each line break is one. A text that is too large, too deep or not readable is shown as
// plain text.
import { Lexer, Tokenizer } from '../vendor/marked.js'
import { html } from './html.js'
import { clean } from './text.js'

export const maxText = 64 << 10
const maxDepth = 32
// A text with more nodes would make the page slow.
const maxNodes = 5000

const schemes = new Set(['http:', 'https:', 'mailto:'])

// safeLink returns an address that may be opened, or ''. In https://a.example@b.example
// the host is b.example: people read the user as the host, so it is none.
export function safeLink(href) {
  try {
    const url = new URL(clean(href).trim())
    return schemes.has(url.protocol) && !url.username && !url.password ? url.href : ''
  } catch {
    return '' // a relative address would lead to this server
  }
}

export const link = (href, children) => {
  const to = safeLink(href)
  return to ? html`<a href=${to} target="_blank" rel="noreferrer noopener" title=${to}>${children}</a>` : children
}

// What the server takes as a link of an item: printable ASCII, in which nothing can be understood in
// two ways. Browsers also find a host behind https:/// and https:\.
const linkForm = /^https:\/\/[a-z0-9][!#-;=?-[\]_a-z~]*$/

// hostLink is a link of an item to its page on another site. It shows the host, in ASCII as the
// browser connects to it, for the words beside it say nothing of where it leads. null of an address
// that the server would not take.
export function hostLink(href) {
  const to = linkForm.test(href || '') && safeLink(href)
  return to ? link(to, `${new URL(to).host} ↗`) : null
}

// The time that marked takes grows with the square of the length of a word.
const maxWord = 2000

// cells counts the cells of all tables: marked fills each row up to the width of the head.
function cells(source) {
  let n = 0, columns = 0
  for (const line of source.split('\n')) {
    if (!line.trim()) columns = 0
    else if (/^[\s>*+.)\d]*[|:-][\s|:-]*$/.test(line)) columns = Math.max(columns, line.split('|').length)
    n += columns
  }
  return n
}

// cellsOf returns the cells of a row, as marked does, which keeps those that have a column.
function cellsOf(row) {
  const cells = row.trim().replace(/\\[^]|\|/g, m => m === '|' ? '\n' : m).split('\n')
  if (!cells[0].trim()) cells.shift()
  if (cells.length > 0 && !cells.at(-1).trim()) cells.pop()
  return cells.map(c => c.trim().replace(/\\\|/g, '|'))
}

class Whole extends Tokenizer {
  table(src) {
    const t = super.table(src)
    if (!t) return t
    const lines = t.raw.replace(/^\n+/, '').split('\n').slice(2)
    for (const [i, row] of t.rows.entries()) {
      for (const text of cellsOf(lines[i]).slice(t.header.length)) row.push({ text, tokens: this.lexer.inline(text) })
    }
    return t
  }
}

const prose = source => source.length <= maxText && source.split(/\s+/).every(word => word.length <= maxWord) && cells(source) <= maxNodes

// markdown returns nodes for a text.
export function markdown(text) {
  const source = clean(text)
  if (!prose(source)) return plain(source)
  try {
    const draw = new Drawing()
    return draw.blocks(new Lexer({ gfm: true, breaks: true, tokenizer: new Whole() }).lex(source), 0)
  } catch {
    return plain(source)
  }
}

export const plain = text => html`<div class="plain">${text}</div>`

class Drawing {
  nodes = 0

  blocks(tokens, depth) {
    if (depth > maxDepth) throw new Error('too deep')
    return (tokens || []).map(t => this.block(t, depth))
  }

  block(t, depth) {
    if (++this.nodes > maxNodes) throw new Error('too many')
    switch (t.type) {
      case 'space': case 'checkbox': return null // the list item has drawn its box
      case 'heading': return html`<div class="h" role="heading" aria-level=${Math.min(6, t.depth + 2)} data-level=${t.depth}>${this.inline(t.tokens, depth + 1)}</div>`
      case 'paragraph': return html`<p>${this.inline(t.tokens, depth + 1)}</p>`
      case 'text': return t.tokens ? this.inline(t.tokens, depth + 1) : decoded(t)
      case 'code': return html`${t.lang ? html`<p class="quiet">${t.lang}</p>` : null}<pre class="code" tabindex="0"><code>${t.text}</code></pre>`
      case 'blockquote': return html`<blockquote>${this.blocks(t.tokens, depth + 1)}</blockquote>`
      case 'hr': return html`<hr />`
      case 'list': {
        const items = t.items.map(i => i.task
          ? html`<li class="task">${i.checked ? '☑ ' : '☐ '}${this.blocks(i.tokens, depth + 1)}</li>`
          : html`<li>${this.blocks(i.tokens, depth + 1)}</li>`)
        return t.ordered ? html`<ol start=${t.start || 1}>${items}</ol>` : html`<ul>${items}</ul>`
      }
      case 'table': return html`<div class="wide" tabindex="0"><table>
        <thead><tr>${t.header.map(c => html`<th scope="col">${this.inline(c.tokens, depth + 1)}</th>`)}</tr></thead>
        <tbody>${t.rows.map(r => html`<tr>${r.map(c => html`<td>${this.inline(c.tokens, depth + 1)}</td>`)}</tr>`)}</tbody></table></div>`
    }
    return html`<p class="plain">${t.raw}</p>` // HTML, link definitions, and unknown tokens of a later version of marked
  }

  inline(tokens, depth) {
    if (depth > maxDepth) throw new Error('too deep')
    return (tokens || []).map(t => {
      if (++this.nodes > maxNodes) throw new Error('too many')
      switch (t.type) {
        case 'text': return t.tokens ? this.inline(t.tokens, depth + 1) : decoded(t)
        case 'escape': return t.text
        case 'strong': return html`<strong>${this.inline(t.tokens, depth + 1)}</strong>`
        case 'em': return html`<em>${this.inline(t.tokens, depth + 1)}</em>`
        case 'del': return html`<del>${this.inline(t.tokens, depth + 1)}</del>`
        case 'codespan': return html`<code>${t.text}</code>`
        case 'br': return html`<br />`
        case 'checkbox': return null
        case 'link': return safeLink(t.href) ? [link(t.href, this.inline(t.tokens, depth + 1)), address(t.href, words(t.tokens)), title(t)] : t.raw
        case 'image': return safeLink(t.href) ? html`<span class="image">🖼 ${link(t.href, t.text || t.href)}${address(t.href, t.text || t.href)}${title(t)}</span>` : t.raw // nothing is loaded from elsewhere
      }
      return t.raw
    })
  }
}

// address returns where a link leads, unless its text says it.
function address(href, text) {
  const to = safeLink(href)
  return [text, 'http://' + text, 'mailto:' + text].some(said => safeLink(said) === to) ? null : [' ', html`<span class="quiet">${to}</span>`]
}

// words returns the text that tokens are drawn as.
const words = tokens => (tokens || []).map(t => t.tokens ? words(t.tokens) : t.type === 'text' ? decoded(t) : t.text ?? t.raw).join('')

// title returns the title of a link. That of a reference is where it is defined.
const title = t => t.title && t.raw.endsWith(')') ? ` "${t.title}"` : null

const entities = { amp: '&', lt: '<', gt: '>', quot: '"', nbsp: '\u00a0' }

// decoded returns the text of a token with its entities replaced by characters.
const decoded = t => t.text.replace(/&(?:(amp|lt|gt|quot|nbsp)|#(\d{1,6}));/g, (all, name, number) => name ? entities[name] : clean(String.fromCodePoint(Math.min(Number(number), 0x10ffff))) || all)

// JSON whose numbers keep their source text. A number of JavaScript has 53 bits: in it
// 9007199254740993 is …992, 1e400 is null when it is sent on, and 1.0 is 1.

const numeral = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/**
 * ExactNumber is a number of JSON that JavaScript would write in another way. It calculates
 * as the nearest number, and toString and JSON have its source text.
 */
export class ExactNumber extends Number {
  #source

  /** source is the number in JSON. */
  constructor(source) {
    if (!numeral.test(source)) throw new SyntaxError(`${source} is not a number of JSON`)
    super(source)
    this.#source = String(source)
  }

  toString() {
    return this.#source
  }

  /** toJSON lets JSON.stringify write the source text, in engines that can. stringify does in all. */
  toJSON() {
    return JSON.rawJSON ? JSON.rawJSON(this.#source) : this.valueOf()
  }
}

/**
 * parse is JSON.parse, with an ExactNumber for each number that JavaScript would write in another way.
 * One reader is for all engines: a reviver gets no source text in Node 20.
 */
export function parse(text) {
  const value = JSON.parse(text)
  return changeable.test(text) ? new Reader(text).value() : value
}

/** stringify is JSON.stringify, and writes an ExactNumber as its source text. */
export function stringify(value, space) {
  for (let mark = '#'; ; mark += Math.random()) {
    const exact = []
    const text = JSON.stringify(value, function (key, plain) {
      if (!(this[key] instanceof ExactNumber)) return plain
      exact.push(`${this[key]}`)
      return mark
    }, space)
    if (exact.length === 0) return text
    const parts = text.split(`"${mark}"`)
    if (parts.length === exact.length + 1) return parts.map((part, i) => part + (exact[i] ?? '')).join('')
    // A string in value is the mark: another one is tried.
  }
}

// changeable finds a number that JavaScript might write in another way: with 16 digits or more,
// a fraction, an exponent, or a minus before 0. Text in a string may look like one.
const changeable = /(?:^|[\s:[,])(?:-0|-?\d{16}|-?\d+[.eE])[\d.eE+-]*(?:[\s,}\]]|$)/

const isExact = (source) => String(Number(source)) !== source

// endOfString is behind the closing quote of the string that begins at start.
function endOfString(text, start) {
  for (let end = text.indexOf('"', start + 1); ; end = text.indexOf('"', end + 1)) {
    let escapes = end
    while (text[escapes - 1] === '\\') escapes--
    if ((end - escapes) % 2 === 0) return end + 1
  }
}

// Reader reads JSON that is known to be valid.
class Reader {
  #text
  #at = 0

  constructor(text) {
    this.#text = text
  }

  value() {
    switch (this.#next()) {
      case '{': return this.#object()
      case '[': return this.#array()
      case '"': return this.#string()
    }
    const [source] = this.#take(/[\w.+-]+/y)
    if (!/\d/.test(source)) return JSON.parse(source) // true, false or null
    return isExact(source) ? new ExactNumber(source) : Number(source)
  }

  // next skips white space and returns the character that follows.
  #next() {
    this.#take(/\s*/y)
    return this.#text[this.#at]
  }

  #take(pattern) {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)
    this.#at = pattern.lastIndex
    return found
  }

  #string() {
    const start = this.#at
    this.#at = endOfString(this.#text, start)
    return JSON.parse(this.#text.slice(start, this.#at))
  }

  // members calls add for each member up to the closing bracket.
  #members(close, add) {
    this.#at++
    while (this.#next() !== close) {
      if (this.#text[this.#at] === ',') this.#at++
      else add()
    }
    this.#at++
  }

  #array() {
    const all = []
    this.#members(']', () => all.push(this.value()))
    return all
  }

  #object() {
    const all = {}
    this.#members('}', () => {
      const name = this.#string()
      this.#next()
      this.#at++ // the colon
      const value = this.value()
      if (name !== '__proto__') all[name] = value
      else Object.defineProperty(all, name, { value, writable: true, enumerable: true, configurable: true })
    })
    return all
  }
}

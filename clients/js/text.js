// A text that grows by deltas, whose offsets count bytes of UTF-8.

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** GrowingText is the text of one item, from an offset of its field on. */
export class GrowingText {
  from = 0
  #text = '' // what is kept, unless #raw has it
  #bytes = 0 // its length in UTF-8
  #raw = null // a character was cut: the bytes, of which #bytes count

  /** set replaces the text, which begins at from. */
  set(text, from = 0) {
    this.from = from
    this.#raw = null
    this.#text = ''
    this.#bytes = 0
    this.#append(text)
  }

  /**
   * put puts text at its offset, usually the end of the text so far: then it costs
   * no more than its own length. If the reader began in the middle, or a server
   * repeats itself, the offset decides.
   */
  put(offset, text) {
    const at = offset - this.from
    if (at !== this.#bytes) {
      if (at > 0 && at < this.#bytes) this.#cut(at)
      else this.set('', offset)
    }
    this.#append(text)
  }

  toString() {
    return this.#raw ? decoder.decode(this.#raw.subarray(0, this.#bytes)) : this.#text
  }

  #append(text) {
    if (this.#raw) return this.#appendRaw(encoder.encode(text))
    const bytes = byteLength(text)
    if (bytes < 0) return this.#append(wellFormed(text))
    this.#text += text
    this.#bytes += bytes
  }

  #appendRaw(piece) {
    const length = this.#bytes + piece.length
    if (length > this.#raw.length) {
      const larger = new Uint8Array(2 * length)
      larger.set(this.#raw.subarray(0, this.#bytes))
      this.#raw = larger
    }
    this.#raw.set(piece, this.#bytes)
    this.#bytes = length
  }

  // cut keeps the first bytes. A string cannot end inside a character, so that
  // from then on the bytes are kept.
  #cut(at) {
    const raw = this.#raw ?? encoder.encode(this.#text)
    const inside = (raw[at] & 0xc0) === 0x80
    this.#bytes = at
    if (this.#raw) return
    if (inside) {
      this.#raw = raw
      this.#text = ''
    } else {
      this.#text = decoder.decode(raw.subarray(0, at))
    }
  }
}

// byteLength is the length in UTF-8, or -1 if half of a surrogate pair is in the text.
function byteLength(text) {
  let bytes = text.length
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 0x80) continue
    if (unit < 0x800) bytes++
    else if (unit < 0xd800 || unit > 0xdfff) bytes += 2
    else {
      const next = text.charCodeAt(i + 1)
      if (unit > 0xdbff || !(next >= 0xdc00 && next <= 0xdfff)) return -1
      bytes += 2 // the pair is two units and four bytes
      i++
    }
  }
  return bytes
}

/** wellFormed replaces halves of pairs, as every encoder of UTF-8 does. */
export function wellFormed(text) {
  return text.replace(/\p{Surrogate}/gu, '\ufffd')
}

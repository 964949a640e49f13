// A text that grows by deltas. Offsets are bytes of UTF-8, as in the protocol.

const encoder = new TextEncoder()
const decoder = new TextDecoder()

// sizeOf is how many bytes of UTF-8 a string has.
export function sizeOf(text) {
  let n = text.length
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c < 0x80) continue
    if (c < 0x800) n += 1
    else if (c >= 0xd800 && c < 0xdc00 && i + 1 < text.length) { n += 2; i++ } // a pair is 4 bytes, of which 2 are counted
    else n += 2
  }
  return n
}

// Growing holds the text from the byte `from` of its field on.
export class Growing {
  constructor(text = '') {
    this.text = text
    this.from = 0
    this.size = sizeOf(text)
  }

  // grow puts text at an offset: appended, over what is there, or anew if there is a gap.
  grow(offset, text) {
    const at = offset - this.from
    if (at !== this.size) {
      if (at >= 0 && at < this.size) {
        this.text = decoder.decode(encoder.encode(this.text).subarray(0, at))
        this.size = at
      } else {
        this.text = ''
        this.from = offset
        this.size = 0
      }
    }
    this.text += text
    this.size += sizeOf(text)
  }
}

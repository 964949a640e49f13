// The lines of a stream of bytes.

/**
 * Lines cuts chunks of bytes into lines of text. A chunk is decoded once, whatever
 * the number of lines in it, and a line that comes in many chunks is joined once. What
 * follows the last LF waits for the next chunk: a line that is never ended was cut off
 * when the connection broke, and resuming brings it whole.
 */
export class Lines {
  #most
  #decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  #pieces = [] // of the line that has not ended
  #length = 0 // their bytes

  /** mostBytes bounds a line; a longer one throws a RangeError. */
  constructor(mostBytes) {
    this.#most = mostBytes
  }

  /** push takes a chunk (a Uint8Array) and returns the lines that it ends, without their ends and without empty ones. */
  push(chunk) {
    const end = chunk.lastIndexOf(10) + 1
    const text = this.#decoder.decode(chunk, { stream: true })
    if (end === 0) {
      this.#grow(text, chunk.length)
      return []
    }
    if (this.#length + chunk.indexOf(10) > this.#most) this.#tooLong()
    const lines = text.split('\n')
    // A character is never cut by an LF, so that the last piece is what follows it.
    const rest = lines.pop()
    if (this.#pieces.length > 0) lines[0] = this.#pieces.join('') + lines[0]
    this.#pieces = []
    this.#length = 0
    this.#grow(rest, chunk.length - end)
    return lines.filter((line) => line !== '' && line !== '\r')
  }

  #grow(text, bytes) {
    this.#length += bytes
    if (this.#length > this.#most) this.#tooLong()
    if (text !== '') this.#pieces.push(text)
  }

  #tooLong() {
    throw new RangeError(`the server sent a line of more than ${this.#most} bytes`)
  }
}

import { GrowingText } from './text.js'

/**
 * Item is an item as its live events leave it. If none of its events is live any
 * more, live is false and the item is as it was before it was superseded. It changes
 * with the view's next apply.
 */
export class Item {
  item_id
  live = false
  type = '' // content.type; '' if the view began after the item was made
  status = ''
  content = undefined // of the last item/created or item/updated; text appended since is only in text
  truncated = false
  created_seq = 0 // of its first event that was read
  updated_seq = 0 // of its last live event
  #text = new GrowingText()
  #entries = []
  #dirty = false

  constructor(itemID) {
    this.item_id = itemID
  }

  /**
   * text is what grows by deltas: content[0].text of an agent_message, text of
   * reasoning, output of tool_call and command_execution. Other kinds have none.
   */
  get text() {
    return this.#text.toString()
  }

  /** from is the offset in that field at which text begins: above 0 if the view began in the middle of the item. */
  get from() {
    return this.#text.from
  }

  /** add adds an event of the item. Only its turn calls it. */
  add(entry) {
    if (this.#entries.length === 0) {
      this.created_seq = entry.seq
      this.live = entry.live
    }
    this.#entries.push(entry)
    if (entry.live === this.live) this.#apply(entry)
    else if (entry.live) this.#fold(true) // a superseded item has a live event after all
  }

  /** outdate says that an event of the item was superseded; refold follows. */
  outdate() {
    this.#dirty = true
  }

  /** refold folds the item again after some of it was superseded. */
  refold() {
    if (!this.#dirty) return
    this.#dirty = false
    if (this.#entries.some((e) => e.live)) this.#fold(true)
    else this.live = false // all else stays as it was
  }

  #fold(live) {
    this.live = live
    this.type = this.status = ''
    this.content = undefined
    this.truncated = false
    this.updated_seq = 0
    this.#text.set('')
    for (const e of this.#entries) if (e.live) this.#apply(e)
  }

  #apply(entry) {
    this.updated_seq = entry.seq
    if (entry.method === 'item/delta') {
      this.#text.put(entry.offset, entry.text)
    } else if (entry.method === 'item/deleted') {
      this.status = 'deleted'
    } else {
      const { status, content, truncated } = entry.body
      this.status = string(status)
      this.truncated = truncated === true
      if (content !== undefined) {
        this.content = content
        this.type = typeof content?.type === 'string' ? content.type : ''
        this.#text.set(growing(content))
      }
    }
  }
}

/** string is a member that ought to be a string. */
export function string(value) {
  return typeof value === 'string' ? value : ''
}

// growing is the text in a content that deltas append to.
function growing(content) {
  switch (content?.type) {
    case 'agent_message':
      return Array.isArray(content.content) ? string(content.content[0]?.text) : ''
    case 'reasoning':
      return string(content.text)
    case 'tool_call':
    case 'command_execution':
      return string(content.output)
  }
  return ''
}

// A program of holon-client. The compiler must narrow each union by type or method,
// and refuse what is not there. js_test.go compiles it.
import { Client, HolonError, Markers, View } from 'holon-client'
import type { Item, ItemContent, StreamEvent, StreamState } from 'holon-client'

export function textOf(content: ItemContent): string {
  switch (content.type) {
    case 'reasoning':
      // @ts-expect-error: a plan has entries, reasoning has none
      content.entries
      return content.text
    case 'command_execution':
      return content.command + content.output
    default:
      return ''
  }
}

export function lineOf(event: StreamEvent): string | undefined {
  switch (event.method) {
    case 'item/created':
      // @ts-expect-error: what is created has no delta
      event.params.delta
      return textOf(event.params.content)
    case 'item/delta':
      return event.params.delta.text
    case 'turn/failed':
      return event.params.error?.message
    default:
      return undefined
  }
}

// @ts-expect-error: heartbeats are not given out
export const beat: StreamEvent['method'] = 'stream/heartbeat'

export async function follow(signal: AbortSignal): Promise<string[]> {
  const holon = new Client({ url: 'http://127.0.0.1:8080', token: () => undefined })
  const { thread_id } = await holon.call('thread/start', { agent: 'echo' }, { key: true, signal })
  await holon.call('holon/status')
  // @ts-expect-error: a turn needs input
  void holon.call('turn/start', { thread_id })
  // @ts-expect-error: there is no such method
  void holon.call('turn/begin', {})
  const view = new View({ keepTurns: 10 })
  const state = (s: StreamState) => s.retry_at?.getTime()
  const stream = holon.stream({ after_seq: 0, thread_ids: [thread_id], collapse: 'superseded', onState: state, signal })
  const items: Item[] = []
  try {
    for await (const event of stream) {
      const change = view.apply(event)
      if (change.kind === 'rewound') items.length = change.superseded.length
      if (change.item) items.push(change.item)
      if (event.method === 'turn/completed') stream.close()
    }
  } catch (error) {
    if (!(error instanceof HolonError) || error.kind !== 'cursor_expired') throw error
    return [`begin after ${error.data?.latest_seq}`]
  }
  const markers = new Markers()
  markers.add({ step: 'setup', new_epoch: 2, superseded_after_seq: 4 })
  markers.stale(undefined, stream.cursor ?? 0)
  return view.turns().flatMap((turn) => turn.items().map((it) => it.text))
}

// Starts a turn and follows it to its end: + is a message, ~ one that a retry superseded, = the end.
//
// usage: node client.mjs PROMPT    with holon-client installed, and the server in HOLON_URL and HOLON_TOKEN
import { Client, View } from 'holon-client'

const holon = new Client({ url: process.env.HOLON_URL ?? 'http://127.0.0.1:8080', token: process.env.HOLON_TOKEN })
const { thread_id, seq } = await holon.call('thread/start', {}, { key: true })
const input = [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: process.argv[2] }] }]
const { turn_id } = await holon.call('turn/start', { thread_id, input, retry: { on_crash: 'retry' } }, { key: true })

const view = new View()
const shown = new Set()
for await (const event of holon.stream({ after_seq: seq, thread_ids: [thread_id] })) {
  const { item, turn, superseded } = view.apply(event)
  for (const { item_id } of superseded) {
    if (shown.delete(item_id)) console.log('~', turn.item(item_id).text)
  }
  if (item?.live && item.type === 'agent_message' && item.status === 'completed' && !shown.has(item.item_id)) {
    shown.add(item.item_id)
    console.log('+', item.text)
  }
  if (view.turn(turn_id)?.ended) {
    console.log('=', view.turn(turn_id).state)
    break
  }
}

#!/usr/bin/env node
// A workflow in JavaScript over the wire: two jobs at the same time, then one that has both
// results. An agent of kind exec runs it; with on_crash = "retry" it is run again when it was cut off,
// and gets the jobs that are done as they are.
import { createInterface } from 'node:readline'

const { HOLON_URL, HOLON_TOKEN, HOLON_THREAD_ID, HOLON_TURN_ID, HOLON_ATTEMPT } = process.env
const parent = { thread_id: HOLON_THREAD_ID, turn_id: HOLON_TURN_ID, attempt: Number(HOLON_ATTEMPT) }
const sleep = ms => new Promise(resolve => setTimeout(resolve, ms))

// call sends one request. Without an answer the error is one after which to ask again.
async function call(method, params) {
  let answer
  try {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${HOLON_TOKEN}` }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const response = await fetch(`${HOLON_URL}/rpc`, { method: 'POST', headers, body, signal: AbortSignal.timeout(120_000) })
    answer = await response.json()
  } catch (lost) {
    answer = { error: { message: String(lost), data: { retryable: true } } }
  }
  if (answer.error) throw Object.assign(new Error(answer.error.message), answer.error.data)
  return answer.result
}

// job has a job done by an agent, and returns what that has said. The name is unique in the turn: when
// this program is run again, the same name finds the same work.
async function job(name, agent, prompt) {
  const input = [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: prompt }] }]
  for (;;) {
    let wait = 1000
    try {
      const { results = [] } = await call('turn/start', { job: name, agent, parent, input, wait_seconds: 60 })
      for (const { state, text, error } of results) {
        if (state === 'completed') return text.trimEnd()
        if (state === 'failed' || state === 'interrupted') throw new Error(`job ${name} ${state}: ${error?.message ?? ''}`)
      }
    } catch (error) {
      if (!error.retryable) throw error
      wait = error.retry_after_ms ?? wait
    }
    await sleep(wait)
  }
}

const version = (await createInterface({ input: process.stdin })[Symbol.asyncIterator]().next()).value
const [linux, mac] = await Promise.all([
  job('build/linux', 'echo', `/say linux ${version}`),
  job('build/mac', 'echo', `/say mac ${version}`),
])
console.log(await job('publish', 'echo', `/say published: ${linux}, ${mac}`))

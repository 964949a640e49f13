import { h, render } from '../vendor/preact.js'

async function version() {
  const response = await fetch('/rpc', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { client_info: { name: 'console', version: '1' } } }),
  })
  const answer = await response.json()
  if (answer.error) throw new Error(answer.error.message)
  return answer.result.server_info.version
}

const show = (text) => render(h('p', null, text), document.getElementById('app'))
version().then((v) => show('Holon ' + v), (e) => show(e.message))
document.documentElement.dataset.ready = 'true'

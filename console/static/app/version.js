// Whether the page is still that of the server. After an upgrade it goes on with the modules
// that it has loaded, until somebody reloads it: what is half typed must not go by itself.
import { html, signal, effect } from './html.js'
import { call, get, server } from './session.js'
import { stream } from './live.js'
import { refresher } from './refresh.js'
import { cut, oneLine } from './text.js'

// The files of each version of the page have a path of their own.
const own = new URL('..', import.meta.url).pathname

let loaded // the version of the server that the page came from
// What is said while the server has another page, or is another version; '' if neither.
const news = signal('')

async function compare() {
  const { server_info: { version }, capabilities } = await call('initialize', { client_info: { name: 'holon-console' } })
  if (!capabilities.console) news.value = '' // there is nothing to load
  else if (version !== loaded) news.value = `The server is now ${cut(oneLine(version), 40)}. Reload to use its page.`
  else news.value = (await get('/')).includes(own) ? '' : 'The server has another page now. Reload to use it.'
}

const again = refresher(compare)

// watchVersion looks whenever the stream is back after it was lost or given back.
export function watchVersion() {
  let lost = false
  return effect(() => {
    const { state } = stream.value
    if (state === 'connected') {
      loaded ??= server.value.server_info.version
      if (lost) again()
      lost = false
    } else if (state === 'reconnecting' || state === 'off') lost = loaded !== undefined
  })
}

// What is offline is said in the same place, and first.
export const OtherVersion = () => news.value && stream.value.state !== 'reconnecting' && html`<p class="banner news" role="status"><span>${news.value}</span> <button type="button" class="small" onClick=${() => location.reload()}>Reload</button></p>`

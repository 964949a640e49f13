// Signing in: with the code of `holon open`, or with a token.
import { Client } from '../client/index.js'
import { html, useEffect, useState } from './html.js'
import { keep, locked } from './session.js'
import { clean, plural, words } from './text.js'
import { go, route } from './router.js'
import { useOnce } from './parts.js'

const rolesSay = { read: 'read everything that the agents do', respond: 'read, and answer questions', work: 'start and steer work: run code as the user of the server', operate: 'do everything but tokens, secrets and pruning' }

export function SignIn({ code, done }) {
  return code ? html`<${WithCode} code=${code} done=${done} />` : html`<${WithToken} done=${done} />`
}

// WithCode says what a code allows, and uses it only when the button is pressed: a link that
// was opened by accident, or previewed by a program, stays valid.
function WithCode({ code, done }) {
  const [what, setWhat] = useState(null)
  const [error, setError] = useState(null)
  useEffect(() => {
    new Client({ token: code }).call('initialize', { client_info: { name: 'holon-console' } }).then(setWhat, setError)
  }, [code])
  const gone = error?.kind === 'unauthorized'
  return html`<main class="page signin"><h1>Sign in</h1>
    ${!what && !error && html`<p class="quiet">asking the server …</p>`}
    ${error && html`<p class="failure" role="alert">${gone ? 'This code has been used, or is older than a minute.' : words(error)}</p>`}
    ${gone && html`<p>Run <code>holon open</code> again for another one.</p>`}
    ${what && html`<p>This browser signs in at <strong>${location.host}</strong> as <strong>${clean(what.token?.name || 'owner')}</strong>. It may ${rolesSay[what.token?.role] || 'do everything'}${what.token?.limited_to ? `, in ${plural(what.token.limited_to.length, 'thread')}` : ''}, for 12 hours at most.</p>
      <p><${Press} credential=${code} done=${done}>Sign in<//></p>
      <p class="quiet">You did not ask for this? Close the page: the code expires within a minute.</p>`}
  </main>`
}

function WithToken({ done }) {
  const [token, setToken] = useState('')
  return html`<main class="page signin"><h1>Sign in</h1>
    ${locked.value && locked.value.kind !== 'unauthorized' && html`<p class="failure">${words(locked.value)}</p>`}
    <p>Run <code>holon open</code> where the server runs and open what it prints; or paste a token.</p>
    <form onSubmit=${e => e.preventDefault()}>
      <label>Token <input type="password" autocomplete="off" value=${token} onInput=${e => setToken(e.target.value.trim())} /></label>
      <p><${Press} credential=${token} done=${done}>Sign in<//></p>
    </form>
    <p class="quiet">This browser gets a token of its own, which is valid for 12 hours. The token that you paste is not stored.</p></main>`
}

function Press({ credential, done, children }) {
  const [error, setError] = useState(null)
  const [busy, once] = useOnce()
  const press = () => once(async () => {
    setError(null)
    try {
      const { secret } = await new Client({ token: credential }).call('signin/create', {})
      keep(secret)
      if (route.value.page === 'signin') go('overview') // otherwise the link names the page
      done()
    } catch (e) {
      setError(e)
    }
  })
  return html`<button type="submit" class="first" disabled=${busy || !credential} onClick=${press}>${children}</button>${error && html` <span class="failure" role="alert">${error.kind === 'unauthorized' ? 'The server does not accept this code or token.' : words(error)}</span>`}`
}

// Lines that begin with a slash: the page's own, and the commands of the agent.
import { html } from './html.js'
import { clean, cut, oneLine } from './text.js'

// mostShown bounds how many commands are offered at once.
const mostShown = 8
// mostKnown bounds how many commands of an agent are looked at.
const mostKnown = 200

const own = [{ name: 'help', about: 'what can be typed here', own: true }]

// ofAgent are the commands that the agent of a thread offers.
export function ofAgent(config) {
  const all = Array.isArray(config?.commands) ? config.commands : []
  return all.slice(0, mostKnown).filter(c => typeof c?.name === 'string' && /^\S+$/.test(c.name)).map(c => ({ name: c.name, about: cut(oneLine(c.description), 160) }))
}

// offered are the commands that a text, as far as it is typed, may become.
export function offered(text, config) {
  const typed = /^\/(\S*)$/.exec(text)?.[1]
  if (typed === undefined) return []
  return [...own, ...ofAgent(config).filter(c => !own.some(o => o.name === c.name))].filter(c => c.name.startsWith(typed))
}

// isHelp reports whether a text asks for help. One that begins with a blank goes to the agent.
export const isHelp = text => text.trimEnd() === '/help'

// commandOf is the command of the agent with which a text begins, if it does.
export const commandOf = (text, config) => ofAgent(config).find(c => text === `/${c.name}` || text.startsWith(`/${c.name} `) || text.startsWith(`/${c.name}\n`))

const Command = ({ c }) => html`<code>/${clean(c.name)}</code> ${c.own ? null : html`<span class="tag">agent</span> `}<span class="quiet">${c.about}</span>`

// Offer lists the commands that a text may become, to be picked; Tab picks the first.
export function Offer({ rows, pick }) {
  if (!rows.length) return null
  return html`<ul class="offer" aria-label="Commands">${rows.slice(0, mostShown).map((c, i) => html`<li key=${c.name}><button type="button" class="small" onClick=${() => pick(c)}><${Command} c=${c} />${i === 0 ? html` <span class="quiet wide-only">· Tab</span>` : null}</button></li>`)}
    ${rows.length > mostShown && html`<li class="quiet">and ${rows.length - mostShown} more</li>`}</ul>`
}

// Mine says that a text begins with a command of the agent.
export const Mine = ({ c }) => c ? html`<p class="quiet" role="status">A command of the agent: <code>/${clean(c.name)}</code> ${c.about}</p>` : null

// Help says what can be typed into the line of a thread.
export function Help({ config, agent, steers, touch, close }) {
  const commands = ofAgent(config)
  return html`<section class="help" aria-label="Help">
    <p>${[
    steers ? 'The agent is working: what you send reaches it in its turn.' : 'What you send starts a turn, or steers the one that is under way.',
    touch ? 'The button sends.' : 'Enter sends, Shift+Enter begins a new line.',
    'Text that is not sent stays here when you leave the page.',
  ].join(' ')}</p>
    ${commands.length > 0 ? html`<p>Commands of ${clean(agent)}, which are sent to it:</p><ul>${commands.map(c => html`<li key=${c.name}><${Command} c=${c} /></li>`)}</ul>`
      : html`<p>${clean(agent)} has named no commands of its own. A line that begins with / is sent to it like any other, except /help.</p>`}
    ${commands.some(c => c.name === 'help') && html`<p>To send its own /help, write a blank before it.</p>`}
    <p><button type="button" class="small" onClick=${close}>Close the help</button></p></section>`
}

// The current page, which is in the fragment of the URL, because the server has one document.
import { signal } from './html.js'

const pages = ['thread', 'waiting', 'inbox', 'bridges', 'agents', 'server', 'signin']

// {page, id}: page is overview, thread, waiting, inbox, bridges, agents, server or signin.
export const route = signal(parse())

function parse() {
  const [, page, id] = location.hash.replace(/^#/, '').split('/')
  try {
    return pages.includes(page) ? { page, id: id ? decodeURIComponent(id) : '' } : { page: 'overview', id: '' }
  } catch {
    return { page: 'overview', id: '' } // the id is not a valid URL component
  }
}

export const to = (page, id) => '#/' + (page === 'overview' ? '' : page) + (id ? '/' + encodeURIComponent(id) : '')

export const go = (page, id) => { location.hash = to(page, id) }

// takeCode returns the code of `holon open`, and removes it from the address and the
// history at once.
export function takeCode() {
  const code = /^#code=([A-Za-z0-9_-]{20,200})$/.exec(location.hash)?.[1]
  if (location.hash.startsWith('#code=')) {
    history.replaceState(null, '', '#/signin')
    route.value = parse()
  }
  return code || ''
}

addEventListener('hashchange', () => { route.value = parse() })

// The view library in one place: html`…` makes nodes, and a signal redraws the components
// that read it.
import { h, render, Component, Fragment } from '../vendor/preact.js'
import htm from '../vendor/htm.js'
export { signal, computed, effect, batch } from '../vendor/signals.js'
export { useEffect, useLayoutEffect, useMemo, useRef, useState } from '../vendor/hooks.js'

export const html = htm.bind(h)
export { render, Component, Fragment }

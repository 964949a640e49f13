// What the page does, counted: for tests, and for the curious. `holon` in the developer
// tools shows it.
export const counters = { renders: 0, frames: 0, events: 0, requests: 0, connections: 0 }

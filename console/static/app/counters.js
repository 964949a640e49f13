// Counters of what the page does, for tests and debugging. `holon` in the developer tools
// shows them.
export const counters = { renders: 0, frames: 0, events: 0, requests: 0, connections: 0 }

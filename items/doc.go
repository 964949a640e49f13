// Package items owns the items of a turn: their kinds and content, their life
// cycle, the text that grows by deltas, the bound on their size, and what an
// agent can do to them (Op).
//
// Everything here is a pure function or a plain value. Apply folds an event
// into an item's row (I2). The package knows no agent, no store and no clock.
package items

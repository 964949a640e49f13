package api

import "github.com/seed82539d15/holon/turns"

// Reader is what handlers read.
type Reader = turns.Reader

// Position is where the log begins and ends: 1 and 0 if it is empty.
type Position = turns.Position

// Counts is what the store holds.
type Counts = turns.Counts

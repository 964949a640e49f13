package persist

import "github.com/seed82539d15/holon/turns"

// Reader is what a store offers to those who only look.
type Reader = turns.Reader

package ledger

import "github.com/seed82539d15/holon/notify"

// Unit is what is committed together: all of it or nothing. Any part may be
// empty: rows without events are committed too.
//
// One goroutine makes it and must not touch it until the commit has returned.
type Unit struct {
	// Drafts are the events, encoded, of one thread or of none.
	Drafts []notify.Draft
	// Base is the thread_seq of the thread's newest committed event. The unit
	// is refused with ErrStale if the thread has moved on: see Table.CAS.
	Base int64

	Rows   []Row   // as the drafts leave them, the last state of each
	Fences []Fence // checked in the transaction, before anything is written

	Key    *Key          // nil without an idempotency key
	Caller Caller        // of the command that the unit belongs to; nil = nobody needs the seq before others
	Result []byte        // the response that Key repeats, JSON
	Holes  []notify.Hole // where in Result the digits of ids of the unit belong

	// Last is the seq in the receipt of a unit without drafts; 0 = the newest
	// seq of the log.
	Last int64
}

// Bytes estimates what the unit adds to the database. It bounds how many units
// go into one transaction.
func (u *Unit) Bytes() int {
	n := len(u.Result)
	for i := range u.Drafts {
		n += len(u.Drafts[i].Rest)
	}
	for _, r := range u.Rows {
		n += r.Bytes()
	}
	return n
}

// AssignSeqs replaces all provisional seqs in the unit by real ones. The store calls
// it once the transaction is durable, before the owner keeps the rows in memory.
func (u *Unit) AssignSeqs(first int64) {
	for _, r := range u.Rows {
		r.AssignSeqs(first)
	}
	for i := range u.Drafts {
		if s := u.Drafts[i].Span; s != nil {
			s.AssignSeqs(first)
		}
	}
}

// Key is an idempotency key and what it was used for. Hash is the hash of the
// params as JSON values, so that the order of members does not count.
//
// It goes with its command from the params to the unit, and so does the Caller, also
// without an idempotency key: Key is "" then, and nothing is looked up or stored.
type Key struct {
	Key       string
	Method    string
	Hash      [32]byte
	Requester Requester
	Caller    Caller // nil = none; not stored
}

// Given reports whether there is an idempotency key. k may be nil.
func (k *Key) Given() bool { return k != nil && k.Key != "" }

// Unnamed returns the key without its name, for a command that knows its repetitions otherwise: its
// caller still waits. nil of nil.
func (k *Key) Unnamed() *Key {
	if k == nil || k.Caller == nil {
		return nil
	}
	return &Key{Caller: k.Caller}
}

// Caller waits for the answer of a command where others may read what it has committed.
type Caller interface {
	// Committed is called with the last seq of each unit of the command that has events: once it is
	// durable, and before streams can read it. It must not block.
	Committed(last int64)
}

// Callers are those of commands that share a unit.
type Callers []Caller

// Committed implements Caller.
func (c Callers) Committed(last int64) {
	for _, caller := range c {
		caller.Committed(last)
	}
}

// Requester names whose share something counts in, where all requesters share what is
// bounded. "" is the owner, who has no share.
type Requester string

// Stored is the response stored with an idempotency key. Seq is the seq of that
// response.
type Stored struct {
	Key    Key
	Result []byte
	Seq    int64
}

// Receipt says where a Unit is in the log. If the key had been used before,
// nothing was written, and Stored has the response of then; the caller compares
// method and hash.
type Receipt struct {
	First  int64 // seq of the first draft; 0 if there was none
	Last   int64 // seq of the last draft; without drafts that of Unit.Last
	Stored *Stored
}

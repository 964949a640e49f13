package engine

import (
	"sync"
	"sync/atomic"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// awaits are the requests that wait for ends of turns. A commit signals those that it
// concerns; each then reads the rows again. It is safe for use by many goroutines.
//
// A request with an owner reserves the ends that its answer will show, from their
// arrival in the inbox until the answer has been written: nothing else tells them
// meanwhile. Reservations outlive an actor of the owner, which may retire.
type awaits struct {
	n atomic.Int64 // how many wait, so that most commits need no lock

	mu       sync.Mutex
	byTurn   map[string]map[*await]bool
	byOwner  map[string]map[*await]bool
	reserved map[reservation]int      // how many answers
	shares   map[ledger.Requester]int // how many wait; without the owner
}

// reservation is an end that an answer tells the agent of an owner.
type reservation struct{ owner, turnID string }

// await is one request that waits.
type await struct {
	requester ledger.Requester

	owner string // "" = the request has none
	ids   []string
	all   bool             // it waits for all ends
	bell  chan struct{}    // capacity 1
	seq   int64            // of the newest event that the results show; it belongs to the request's goroutine, like shown
	shown map[string]int64 // the seqs of the ends that the results show, by turn
	self  bool             // the owner's own agent waits: see satisfied
	call  *int             // the calls of the attempt whose agent waits in this request; nil = no agent waits in it

	starts   bool     // it is of turn/start, which detaches the turn that it has waited for in vain
	detached []string // by this request, the turns that have not ended
	read     int      // of what is steered to the turn of call, what its agent had read when the request came

	// Guarded by the mutex of awaits.
	in   bool     // it waits: it is in the tables
	also []string // the turns that continue rejected ones of ids
	held []reservation
}

func newAwaits() *awaits {
	return &awaits{byTurn: map[string]map[*await]bool{}, byOwner: map[string]map[*await]bool{}, reserved: map[reservation]int{}, shares: map[ledger.Requester]int{}}
}

// add registers a request. Errors: ErrAwaitShareFull, ErrAwaitsFull.
func (t *awaits) add(w *await) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case w.requester != "" && t.shares[w.requester] >= turns.MaxAwaitingEach:
		return turns.ErrAwaitShareFull
	case t.n.Load() >= turns.MaxAwaiting:
		return turns.ErrAwaitsFull
	}
	t.enter(w)
	return nil
}

// enter puts a request into the tables. The caller holds mu.
func (t *awaits) enter(w *await) {
	w.in = true
	t.n.Add(1)
	if w.requester != "" {
		t.shares[w.requester]++
	}
	for _, id := range w.ids {
		put(t.byTurn, id, w)
	}
	if w.owner != "" {
		put(t.byOwner, w.owner, w)
	}
}

func put(m map[string]map[*await]bool, key string, w *await) {
	if m[key] == nil {
		m[key] = map[*await]bool{}
	}
	m[key][w] = true
}

// remove ends a request. Its reservations stay. Removing twice is fine.
func (t *awaits) remove(w *await) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !w.in {
		return
	}
	w.in = false
	t.n.Add(-1)
	if w.requester != "" {
		if t.shares[w.requester]--; t.shares[w.requester] == 0 {
			delete(t.shares, w.requester)
		}
	}
	drop := func(m map[string]map[*await]bool, key string) {
		if delete(m[key], w); len(m[key]) == 0 {
			delete(m, key)
		}
	}
	for _, id := range w.ids {
		drop(t.byTurn, id)
	}
	for _, id := range w.also {
		drop(t.byTurn, id)
	}
	w.also = nil
	if w.owner != "" {
		drop(t.byOwner, w.owner)
	}
}

// rename makes a request one about another turn.
func (t *awaits) rename(w *await, turnID string, parent *threads.Parent) {
	t.remove(w)
	t.release(w)
	w.ids, w.owner = []string{turnID}, ""
	if parent != nil {
		w.owner = parent.ThreadID
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.enter(w) // without a check of the bounds: the request was counted before
}

// changed signals the requests that wait for the turn. It does not block.
func (t *awaits) changed(turnID string) {
	if t.n.Load() == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for w := range t.byTurn[turnID] {
		w.ring()
	}
}

// continued follows the commit of a turn that continues a rejected one: requests for
// that one wait for it now, before anything else can tell its end. It does not block.
func (t *awaits) continued(turnID, by string) {
	if t.n.Load() == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for w := range t.byTurn[turnID] {
		t.addTurn(w, by)
		w.ring()
	}
}

// alsoFor makes a request wait for another turn too. It reports whether the turn is new for
// it, so that what was read of the turn may be old.
func (t *awaits) alsoFor(w *await, turnID string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return w.in && t.addTurn(w, turnID)
}

// addTurn works like alsoFor, for a caller that holds mu.
func (t *awaits) addTurn(w *await, turnID string) bool {
	if t.byTurn[turnID][w] {
		return false
	}
	w.also = append(w.also, turnID)
	put(t.byTurn, turnID, w)
	return true
}

// ownerChanged signals the requests for the owner. It does not block.
func (t *awaits) ownerChanged(owner string) {
	if t.n.Load() == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for w := range t.byOwner[owner] {
		w.ring()
	}
}

// takenIn follows the commit that puts the end of a child turn into its owner's inbox.
// Requests for the turn reserve the end at once, before anything else can tell it.
func (t *awaits) takenIn(owner, turnID string) {
	if t.n.Load() == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for w := range t.byTurn[turnID] {
		if w.owner == owner {
			t.reserve(w, turnID)
		}
		w.ring()
	}
}

// begin reserves what a request with an owner shows when it is registered.
func (t *awaits) begin(w *await, list []turns.Result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range list {
		if list[i].Accepted() {
			t.reserve(w, list[i].EndOf())
		}
	}
}

func (t *awaits) reserve(w *await, turnID string) {
	r := reservation{w.owner, turnID}
	for _, has := range w.held {
		if has == r {
			return
		}
	}
	w.held = append(w.held, r)
	t.reserved[r]++
}

// hold reserves these ends of the request.
func (t *awaits) hold(w *await, ends map[string]int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id := range ends {
		t.reserve(w, id)
	}
}

// release ends the reservations of the request, and reports whether it had any.
func (t *awaits) release(w *await) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	had := len(w.held) > 0
	for _, r := range w.held {
		if t.reserved[r]--; t.reserved[r] <= 0 {
			delete(t.reserved, r)
		}
	}
	w.held = nil
	return had
}

// reserves reports whether an answer under way tells the owner's agent the end of the
// turn.
func (t *awaits) reserves(owner, turnID string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.reserved[reservation{owner, turnID}] > 0
}

// any reports whether something of the owner is reserved.
func (t *awaits) any() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.reserved) > 0
}

func (w *await) ring() {
	select {
	case w.bell <- struct{}{}:
	default:
	}
}

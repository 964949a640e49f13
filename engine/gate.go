package engine

import (
	"slices"
	"sync"

	"github.com/seed82539d15/holon/turns"
)

// gate holds what keeps turns of all threads from starting: the bound on
// active turns, the pause of the runtime and the drain. Threads that may not
// start now wait in it, first come first served; whoever leaves hands its
// place on, so that nobody is overtaken.
//
// A turn that waits for a person has given its place back, and takes one over
// the bound when it goes on. So places and running turns are counted apart: the
// bound is on the first, the drain waits for the second.
//
// The pause is closed before holon/paused is appended and opened after
// holon/resumed is: a thread that finds the gate open but is refused by the
// appender's fence (ErrRuntimePaused) simply tries again.
type gate struct {
	max        int                   // places
	maxWaiting int                   // running turns without one
	wake       func(threadID string) // must not block

	mu       sync.Mutex
	places   int // taken, or granted
	running  int // turns that have a place, or have given theirs back
	paused   bool
	draining bool
	waiting  []string
	inLine   map[string]bool
	granted  map[string]bool // places handed on and not yet taken
	keeping  map[string]bool // threads that could not lend their places
	empty    chan struct{}   // closed when running falls to 0; nil if nobody asked
}

func newGate(max, maxWaiting int, wake func(string)) *gate {
	return &gate{max: max, maxWaiting: maxWaiting, wake: wake, inLine: map[string]bool{}, granted: map[string]bool{}, keeping: map[string]bool{}}
}

// enter asks for a place for a turn of the thread. If there is none the
// thread stands in line and is woken; why says what it waits for.
func (g *gate) enter(threadID string) (ok bool, why string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.paused || g.draining {
		g.dropGrant(threadID)
		g.line(threadID)
		return false, turns.QueuedPaused
	}
	if g.granted[threadID] {
		delete(g.granted, threadID)
		return true, ""
	}
	if g.places < g.max && len(g.waiting) == 0 {
		g.take()
		return true, ""
	}
	g.line(threadID)
	return false, turns.QueuedCapacity
}

// decline gives a granted place back that the thread no longer needs, and
// leaves the line.
func (g *gate) decline(threadID string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dropGrant(threadID)
	if g.inLine[threadID] {
		delete(g.inLine, threadID)
		g.waiting = slices.DeleteFunc(g.waiting, func(id string) bool { return id == threadID })
	}
	g.fill()
}

// leave frees the place of a turn of the thread that has ended.
func (g *gate) leave(threadID string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.keeping, threadID)
	g.free()
	g.fill()
	g.signal()
}

// lend gives the place of a turn back that waits for a person. It reports false
// if as many wait without a place as may: the turn keeps its own, and its thread
// is woken when fewer do.
func (g *gate) lend(threadID string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running-g.places >= g.maxWaiting {
		g.keeping[threadID] = true
		return false
	}
	delete(g.keeping, threadID)
	g.places--
	g.fill()
	return true
}

// claim takes the place of a turn that goes on, whatever the bound.
func (g *gate) claim() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.places++
	for id := range g.keeping { // one may lend its place now; one that has gone on meanwhile asks no more
		delete(g.keeping, id)
		g.wake(id)
	}
}

// stay reports whether a thread that has a place may start an attempt in it.
// If not, because of a pause or a drain, the place is free and the thread
// stands in line.
func (g *gate) stay(threadID string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.paused && !g.draining {
		return true
	}
	g.free()
	g.line(threadID)
	g.fill()
	g.signal()
	return false
}

// adopt counts a turn that goes on although the server was started anew. It has
// a place, whatever the bound: it runs.
func (g *gate) adopt() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.take()
}

// whenEmpty returns a channel that is closed once no turn runs.
func (g *gate) whenEmpty() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.empty == nil {
		g.empty = make(chan struct{})
	}
	c := g.empty
	g.signal()
	return c
}

func (g *gate) signal() {
	if g.running == 0 && g.empty != nil {
		close(g.empty)
		g.empty = nil
	}
}

// queue stands threads in line without waking them; fill does that.
func (g *gate) queue(threadIDs []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range threadIDs {
		g.line(id)
	}
}

// pause changes the pause, and wakes whom it may.
func (g *gate) pause(paused bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.paused = paused
	g.fill()
}

// drain lets no turn start any more.
func (g *gate) drain() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.draining = true
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fill()
}

func (g *gate) state() (paused, draining bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.paused, g.draining
}

// load is how many turns run, and how many places they have.
func (g *gate) load() (running, places int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.running - len(g.granted), g.places - len(g.granted)
}

func (g *gate) take() { g.places++; g.running++ }
func (g *gate) free() { g.places--; g.running-- }

func (g *gate) line(threadID string) {
	if !g.inLine[threadID] {
		g.inLine[threadID] = true
		g.waiting = append(g.waiting, threadID)
	}
}

func (g *gate) dropGrant(threadID string) {
	if g.granted[threadID] {
		delete(g.granted, threadID)
		g.free()
		g.signal()
	}
}

// fill hands free places to those in line.
func (g *gate) fill() {
	for !g.paused && !g.draining && g.places < g.max && len(g.waiting) > 0 {
		id := g.waiting[0]
		g.waiting = g.waiting[1:]
		delete(g.inLine, id)
		g.granted[id] = true
		g.take()
		g.wake(id)
	}
}

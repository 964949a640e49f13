package engine

import (
	"slices"
	"sync"

	"github.com/seed82539d15/holon/turns"
)

// gate decides whether a turn of any thread may start: it holds the bound on
// active turns, the pause of the runtime and the drain. Threads that may not
// start now wait in line, first come first served. A turn that ends hands its
// slot to the first thread in line, so that none is overtaken.
//
// A turn that waits for a person has given its slot back. When it continues, it
// takes one even over the bound. So slots and running turns are counted
// separately: the bound applies to slots, the drain waits for running turns.
//
// The gate closes before holon/paused is appended, and opens after
// holon/resumed is. A thread that finds the gate open but is refused by the
// appender's fence (ErrRuntimePaused) tries again.
type gate struct {
	max        int                   // slots
	maxWaiting int                   // running turns without a slot
	wake       func(threadID string) // must not block

	mu          sync.Mutex
	slots       int // taken or granted
	running     int // turns that have a slot or have given theirs back
	parked      int // those that have given theirs back and hold no process: they wait for child turns, or since a restart for a person
	paused      bool
	draining    bool
	waiting     []string
	inLine      map[string]bool
	granted     map[string]bool // threads with a slot that they have not taken yet
	lendRefused map[string]bool // threads that could not lend their slot
	empty       chan struct{}   // closed when running falls to 0; nil if nothing waits for that
}

func newGate(max, maxWaiting int, wake func(string)) *gate {
	return &gate{max: max, maxWaiting: maxWaiting, wake: wake, inLine: map[string]bool{}, granted: map[string]bool{}, lendRefused: map[string]bool{}}
}

// enter asks for a slot for a turn of the thread. If there is none, the thread
// waits in line and is woken later; why says what it waits for.
func (g *gate) enter(threadID string) (ok bool, why string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.paused || g.draining {
		g.dropGrant(threadID)
		g.join(threadID)
		return false, turns.QueuedPaused
	}
	if g.granted[threadID] {
		delete(g.granted, threadID)
		return true, ""
	}
	if g.slots < g.max && len(g.waiting) == 0 {
		g.take()
		return true, ""
	}
	g.join(threadID)
	return false, turns.QueuedCapacity
}

// decline gives back a granted slot that the thread no longer needs, and
// leaves the line.
func (g *gate) decline(threadID string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dropGrant(threadID)
	if g.inLine[threadID] {
		delete(g.inLine, threadID)
		g.waiting = slices.DeleteFunc(g.waiting, func(id string) bool { return id == threadID })
	}
	g.grantFree()
}

// leave frees the slot of a turn of the thread that has ended.
func (g *gate) leave(threadID string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.lendRefused, threadID)
	g.free()
	g.grantFree()
	g.signalEmpty()
}

// lend gives back the slot of a turn that waits for a person or for child turns. It
// reports false if maxWaiting turns wait for persons without a slot already, each with a
// process: the turn keeps its own, and its thread is woken when fewer do. forPerson says
// that it is one of these.
func (g *gate) lend(threadID string, forPerson bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if forPerson && g.running-g.slots-g.parked >= g.maxWaiting {
		g.lendRefused[threadID] = true
		return false
	}
	if !forPerson {
		g.parked++
	}
	delete(g.lendRefused, threadID)
	g.slots--
	g.grantFree()
	return true
}

// reclaim takes a slot for a turn that continues, even over the bound.
func (g *gate) reclaim(forPerson bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.slots++; !forPerson {
		g.parked--
	}
	for id := range g.lendRefused { // one of them may lend its slot now; a turn that has continued meanwhile does not
		delete(g.lendRefused, id)
		g.wake(id)
	}
}

// keep reports whether a thread that has a slot may start an attempt in it. In
// a pause or a drain it may not: the slot is freed and the thread joins the line.
func (g *gate) keep(threadID string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.paused && !g.draining {
		return true
	}
	g.free()
	g.join(threadID)
	g.grantFree()
	g.signalEmpty()
	return false
}

// adopt counts a turn that continues after a restart of the server. It gets a
// slot even over the bound, because it runs.
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
	g.signalEmpty()
	return c
}

func (g *gate) signalEmpty() {
	if g.running == 0 && g.empty != nil {
		close(g.empty)
		g.empty = nil
	}
}

// joinAll puts threads in line without waking them; grantFree does that.
func (g *gate) joinAll(threadIDs []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range threadIDs {
		g.join(id)
	}
}

// pause begins or ends the pause. After its end it wakes the threads that may start.
func (g *gate) pause(paused bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.paused = paused
	g.grantFree()
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
	g.grantFree()
}

func (g *gate) state() (paused, draining bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.paused, g.draining
}

// load returns how many turns run, how many slots they have, and how many have given theirs
// back and hold no process.
func (g *gate) load() (running, slots, parked int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.running - len(g.granted), g.slots - len(g.granted), g.parked
}

func (g *gate) take() { g.slots++; g.running++ }
func (g *gate) free() { g.slots--; g.running-- }

func (g *gate) join(threadID string) {
	if !g.inLine[threadID] {
		g.inLine[threadID] = true
		g.waiting = append(g.waiting, threadID)
	}
}

func (g *gate) dropGrant(threadID string) {
	if g.granted[threadID] {
		delete(g.granted, threadID)
		g.free()
		g.signalEmpty()
	}
}

// grantFree hands free slots to the threads in line.
func (g *gate) grantFree() {
	for !g.paused && !g.draining && g.slots < g.max && len(g.waiting) > 0 {
		id := g.waiting[0]
		g.waiting = g.waiting[1:]
		delete(g.inLine, id)
		g.granted[id] = true
		g.take()
		g.wake(id)
	}
}

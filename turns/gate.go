package turns

import (
	"slices"
	"sync"
)

// gate holds what keeps turns of all threads from starting: the bound on
// active turns, the pause of the runtime and the drain. Threads that may not
// start now wait in it, first come first served; whoever leaves hands its
// place on, so that nobody is overtaken.
//
// The pause is closed before holon/paused is appended and opened after
// holon/resumed is: a thread that finds the gate open but is refused by the
// appender's fence (ErrRuntimePaused) simply tries again.
type gate struct {
	max  int
	wake func(threadID string) // must not block

	mu       sync.Mutex
	active   int
	paused   bool
	draining bool
	waiting  []string
	inLine   map[string]bool
	granted  map[string]bool // places handed on and not yet taken
	empty    chan struct{}   // closed when active falls to 0; nil if nobody asked
}

func newGate(max int, wake func(string)) *gate {
	return &gate{max: max, wake: wake, inLine: map[string]bool{}, granted: map[string]bool{}}
}

// enter asks for a place for a turn of the thread. If there is none the
// thread stands in line and is woken; why says what it waits for.
func (g *gate) enter(threadID string) (ok bool, why string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.paused || g.draining {
		g.dropGrant(threadID)
		g.line(threadID)
		return false, QueuedPaused
	}
	if g.granted[threadID] {
		delete(g.granted, threadID)
		return true, ""
	}
	if g.active < g.max && len(g.waiting) == 0 {
		g.active++
		return true, ""
	}
	g.line(threadID)
	return false, QueuedCapacity
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

// leave frees the place of a turn that has ended.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.active--
	g.fill()
	g.signal()
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
	g.active--
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
	g.active++
}

// whenEmpty returns a channel that is closed once no turn is active.
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
	if g.active == 0 && g.empty != nil {
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

// set changes the pause and the drain, and wakes whom it may.
func (g *gate) set(paused, draining bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.paused, g.draining = paused, draining
	g.fill()
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fill()
}

func (g *gate) state() (active int, paused, draining bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.active - len(g.granted), g.paused, g.draining
}

func (g *gate) line(threadID string) {
	if !g.inLine[threadID] {
		g.inLine[threadID] = true
		g.waiting = append(g.waiting, threadID)
	}
}

func (g *gate) dropGrant(threadID string) {
	if g.granted[threadID] {
		delete(g.granted, threadID)
		g.active--
		g.signal()
	}
}

// fill hands free places to those in line.
func (g *gate) fill() {
	for !g.paused && !g.draining && g.active < g.max && len(g.waiting) > 0 {
		id := g.waiting[0]
		g.waiting = g.waiting[1:]
		delete(g.inLine, id)
		g.granted[id] = true
		g.active++
		g.wake(id)
	}
}

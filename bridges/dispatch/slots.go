package dispatch

import (
	"slices"
	"sync"
	"time"
)

// The slots for attempts under way. 64 requests keep a fast receiver busy. One
// bridge has 8, so that eight targets that hang leave slots for others only
// because bridges that fail share 8.
const (
	maxSlots        = 64
	maxBridgeSlots  = 8
	maxFailingSlots = 8
	failingAfter    = 3 // failures of the target in a row
)

// slots gives slots to lanes that have something to send: bridges take turns,
// and the lanes of a bridge take turns. All methods may be called from many
// goroutines; none blocks.
type slots struct {
	now   func() time.Time
	start func(*lane) // in a goroutine of its own: the lane has a slot, and calls done

	mu      sync.Mutex
	used    int
	failing int           // slots used by bridges that fail
	ring    []*bridgeLoad // bridges with lanes that wait, in their turn
	probes  []*bridgeLoad // those among them that fail, which wait for one of their slots
	probe   bool          // it is the turn of probes
	stopped bool
	work    sync.WaitGroup // lanes that have, or had, a slot and have not left
}

// bridgeLoad is what is known of a bridge for its share of the capacity. Its members are guarded by slots.mu.
type bridgeLoad struct {
	sends     bool      // its state is active
	heldUntil time.Time // the target has asked to wait
	waits     int       // how often it has asked for that since something was delivered
	unhealthy int       // failures of the target in a row
	stuck     int       // Sends that do not return; they have no slot
	used      int
	waiting   []*lane
	in        queue
	timer     *time.Timer // for heldUntil
}

// queue is where a bridge waits for its turn.
type queue int8

const (
	inNone queue = iota
	inRing
	inProbes
)

// want puts the lane in line for a slot, if it is not yet.
func (p *slots) want(l *lane) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.inLine {
		return
	}
	l.inLine = true
	l.out.waiting = append(l.out.waiting, l)
	p.enter(l.out)
	p.give()
}

// tryTake takes a slot for a lane at once, if no other lane waits for it.
func (p *slots) tryTake(l *lane) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := l.out
	if p.stopped || l.inLine || len(o.waiting) > 0 || len(p.ring) > 0 || !p.free(o) {
		return false
	}
	p.take(l)
	return true
}

// done gives the slot of a lane back.
func (p *slots) done(l *lane) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used--
	l.out.used--
	p.recovered(l)
	p.enter(l.out)
	p.give()
}

// keep lets a lane use its slot for another round, if no other lane waits for one.
func (p *slots) keep(l *lane) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.may(l.out) || l.inLine || len(p.ring) > 0 || len(l.out.waiting) > 0 {
		return false
	}
	if p.recovered(l) { // its bridge works again
		p.give()
	}
	return len(p.probes) == 0 || p.used < maxSlots || p.failing == maxFailingSlots
}

// mayContinue reports whether a lane may make another attempt of its round.
func (p *slots) mayContinue(l *lane) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.may(l.out)
}

// open reports whether the bridge of a lane that has a slot still sends.
func (p *slots) open(l *lane) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sends(l.out)
}

// sends reports whether anything is sent through a bridge now. p.mu is held.
func (p *slots) sends(o *bridgeLoad) bool {
	return !p.stopped && o.sends && o.stuck < maxStuck && !p.now().Before(o.heldUntil)
}

// may reports whether a bridge that delivers may go on. p.mu is held.
func (p *slots) may(o *bridgeLoad) bool { return p.sends(o) && !o.fails() }

// stuckOf returns how many Sends of a bridge do not return.
func (p *slots) stuckOf(o *bridgeLoad) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return o.stuck
}

// left runs when a lane that had a slot is done with all that followed.
func (p *slots) left() { p.work.Done() }

// set changes members of a bridge, and gives the slots that this frees.
func (p *slots) set(o *bridgeLoad, change func(*bridgeLoad)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(o)
	p.enter(o)
	p.give()
}

// begin gives the first slots.
func (p *slots) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = false
	p.give()
}

// stop gives no further slots, and waits until all lanes have left.
func (p *slots) stop() {
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
	p.work.Wait()
}

func (o *bridgeLoad) fails() bool { return o.unhealthy >= failingAfter }

// free reports whether the bridge may use a further slot. p.mu is held.
func (p *slots) free(o *bridgeLoad) bool {
	switch {
	case !p.sends(o) || p.used >= maxSlots:
		return false
	case o.fails():
		return o.used == 0 && p.failing < maxFailingSlots
	}
	return o.used < maxBridgeSlots
}

func (p *slots) take(l *lane) {
	p.used++
	l.out.used++
	if l.out.fails() {
		l.failing++
		p.failing++
	}
	p.work.Add(1)
}

// recovered stops counting one slot of the lane as that of a failing bridge. It reports
// false if none counts so. p.mu is held.
func (p *slots) recovered(l *lane) bool {
	if l.failing == 0 {
		return false
	}
	l.failing--
	p.failing--
	return true
}

// enter puts the bridge in the ring, or among the probes, if it has lanes that wait.
// p.mu is held.
func (p *slots) enter(o *bridgeLoad) {
	switch {
	case len(o.waiting) == 0:
	case !o.fails():
		if o.in == inProbes { // it works again
			p.probes = slices.DeleteFunc(p.probes, func(x *bridgeLoad) bool { return x == o })
			o.in = inNone
		}
		if o.in == inNone {
			o.in = inRing
			p.ring = append(p.ring, o)
		}
	case o.in == inNone:
		o.in = inProbes
		p.probes = append(p.probes, o)
	}
}

// next takes the bridge whose turn it is; nil = none. Bridges that work and those that
// fail take turns. p.mu is held.
func (p *slots) next() (o *bridgeLoad) {
	from := &p.ring
	probes := len(p.probes) > 0 && p.failing < maxFailingSlots
	if probes && (p.probe || len(p.ring) == 0) {
		from = &p.probes
	}
	if len(*from) == 0 {
		return nil
	}
	p.probe = !p.probe
	o = (*from)[0]
	*from = (*from)[1:]
	o.in = inNone
	return o
}

// give gives the free slots to lanes that wait. A bridge that may not use one leaves
// the ring and enters it again when that changes. p.mu is held.
func (p *slots) give() {
	for p.used < maxSlots && !p.stopped {
		o := p.next()
		if o == nil {
			return
		}
		if len(o.waiting) == 0 {
			continue
		}
		if !p.free(o) {
			if o.fails() && o.used == 0 && p.failing >= maxFailingSlots { // it has failed since it entered the ring
				p.enter(o)
			} else {
				p.wakeWhenReleased(o)
			}
			continue
		}
		l := o.waiting[0]
		o.waiting = o.waiting[1:]
		l.inLine = false
		p.take(l)
		p.enter(o)
		go p.start(l)
	}
}

// wakeWhenReleased lets a bridge enter the ring again when the target's wait is over.
// p.mu is held.
func (p *slots) wakeWhenReleased(o *bridgeLoad) {
	wait := o.heldUntil.Sub(p.now())
	if wait <= 0 || !o.sends {
		return
	}
	if o.timer != nil {
		o.timer.Stop()
	}
	o.timer = time.AfterFunc(wait, func() { p.set(o, func(*bridgeLoad) {}) })
}

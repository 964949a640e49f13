package engine

import "time"

// loop is the goroutine of an actor. It gives the actor one thing at a time:
// what is due, a command, or output.
type loop struct {
	a      *actor
	in     *intake
	actors *actors

	emitters int // goroutines about to put output in; guarded by the mutex of actors
}

// run serves the intake until the thread has nothing to do or is stopped.
func (l *loop) run() {
	timer := time.NewTimer(idleAfter)
	defer timer.Stop()
	for !l.serve(timer) {
	}
}

// serve works like run, up to a panic; it reports whether the loop has ended. Every round
// looks at the stop and at what is due: an agent that keeps the intake full must
// not postpone its own deadline.
func (l *loop) serve(timer *time.Timer) (ended bool) {
	a := l.a
	defer func() {
		if v := recover(); v != nil {
			a.panicked(v)
		}
	}()
	for {
		if l.in.isStopped() {
			a.stopped = true
			a.work.letGo(a.state.active != nil && a.state.active.waitsForPerson())
			for l.runCommand() || l.takeArrivals() { // each is refused
			}
			a.lent.follow(a)
			return true
		}
		if due := a.nextDue(); !due.IsZero() && !time.Now().Before(due) {
			a.runDue()
		}
		a.lendSlot()
		a.lent.follow(a)
		if l.runCommand() {
			continue
		}
		if output := a.takeOutput(); l.takeArrivals() || output {
			continue
		}
		timer.Reset(a.sleepTime())
		select {
		case <-l.in.bell:
		case <-timer.C:
			if a.idle() && l.actors.retire(l) {
				return true
			}
		case <-l.in.quit:
		}
	}
}

// runCommand runs the next command, and reports whether there was one.
func (l *loop) runCommand() bool {
	f := l.in.takeCommand()
	if f == nil {
		return false
	}
	f(l.a)
	return true
}

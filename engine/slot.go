package engine

// slot is the owner's side of the gate: whether the thread's turn has one of
// the slots that max_active_turns bounds. It belongs to the owner's goroutine
// and is zero while the thread needs none.
type slot struct {
	gate     *gate
	threadID string
	is       slotState
}

type slotState int

const (
	slotNone     slotState = iota // none, or the thread waits in line for one
	slotReserved                  // for a turn that is about to start
	slotHeld                      // by the active turn
	slotLent                      // the active turn runs without one, because it waits for a person
)

// reserve asks for a slot for a turn that is about to start. Without one the
// thread waits in line, and why says for what.
func (s *slot) reserve() (ok bool, why string) {
	if ok, why = s.gate.enter(s.threadID); ok {
		s.is = slotReserved
	}
	return ok, why
}

// unreserve gives a reserved slot back in which no turn has started.
func (s *slot) unreserve() {
	if s.is == slotReserved {
		s.is = slotNone
		s.gate.leave(s.threadID)
	}
}

// hold says that the active turn has the slot. The gate has counted it already.
func (s *slot) hold() { s.is = slotHeld }

// held reports whether the active turn has a slot. One that waits for its next
// attempt may have none.
func (s *slot) held() bool { return s.is == slotHeld }

// lend gives the slot of a turn back that waits for a person, as far as
// max_waiting_turns allows.
func (s *slot) lend() {
	if s.is == slotHeld && s.gate.lend(s.threadID) {
		s.is = slotLent
	}
}

// reclaim takes a slot again for a turn that has lent its own, whatever the bound.
func (s *slot) reclaim() {
	if s.is == slotLent {
		s.is = slotHeld
		s.gate.claim()
	}
}

// keep reports whether an attempt may start in the slot that the turn has. In
// a pause or a drain it may not: the slot is free then, and the thread in line.
func (s *slot) keep() bool {
	if s.is == slotHeld && !s.gate.stay(s.threadID) {
		s.is = slotNone
	}
	return s.is == slotHeld
}

// take takes the slot that the gate has for a turn that waits for its next attempt.
func (s *slot) take() {
	if s.is == slotNone {
		if ok, _ := s.gate.enter(s.threadID); ok {
			s.is = slotHeld
		}
	}
}

// leave frees the slot, or the thread's place in line.
func (s *slot) leave() {
	s.reclaim()
	if s.is == slotNone {
		s.gate.decline(s.threadID)
		return
	}
	s.is = slotNone
	s.gate.leave(s.threadID)
}

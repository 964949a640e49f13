package engine

// slot is the actor's side of the gate: whether the thread's turn has one of
// the slots that max_active_turns bounds. It belongs to the actor's goroutine.
type slot struct {
	gate     *gate
	threadID string
	state    slotState

	forPerson bool // if it is lent: to a turn that waits for a person
}

type slotState int

const (
	slotNone     slotState = iota // none, or the thread waits in line for one
	slotReserved                  // for a turn that is about to start
	slotHeld                      // by the active turn
	slotLent                      // the active turn runs without one, because it waits
)

// reserve asks for a slot for a turn that is about to start. Without one the
// thread waits in line, and why says what for.
func (s *slot) reserve() (ok bool, why string) {
	if ok, why = s.gate.enter(s.threadID); ok {
		s.state = slotReserved
	}
	return ok, why
}

// unreserve gives back a reserved slot in which no turn has started.
func (s *slot) unreserve() {
	if s.state == slotReserved {
		s.state = slotNone
		s.gate.leave(s.threadID)
	}
}

// hold records that the active turn has the slot. The gate has counted it already.
func (s *slot) hold() { s.state = slotHeld }

// held reports whether the active turn has a slot. One that waits for its next
// attempt may have none.
func (s *slot) held() bool { return s.state == slotHeld }

// lend gives back the slot of a turn that waits. One that waits for a person keeps
// its own if max_waiting_turns do already. One that waits for child turns never does:
// they may need it.
func (s *slot) lend(forPerson bool) {
	if s.state == slotHeld && s.gate.lend(s.threadID, forPerson) {
		s.state, s.forPerson = slotLent, forPerson
	}
}

// reclaim takes a slot for a turn that has lent its own, even over the bound.
func (s *slot) reclaim() {
	if s.state == slotLent {
		s.state = slotHeld
		s.gate.reclaim(s.forPerson)
	}
}

// keep reports whether an attempt may start in the slot that the turn has. In
// a pause or a drain it may not: then the slot is free and the thread waits in line.
func (s *slot) keep() bool {
	if s.state == slotHeld && !s.gate.keep(s.threadID) {
		s.state = slotNone
	}
	return s.state == slotHeld
}

// take asks for a slot for a turn that waits for its next attempt.
func (s *slot) take() {
	if s.state == slotNone {
		if ok, _ := s.gate.enter(s.threadID); ok {
			s.state = slotHeld
		}
	}
}

// leave frees the slot, or the thread's place in line.
func (s *slot) leave() {
	s.reclaim()
	if s.state == slotNone {
		s.gate.decline(s.threadID)
		return
	}
	s.state = slotNone
	s.gate.leave(s.threadID)
}

package rpc

import (
	"sync"

	"github.com/seed82539d15/holon/rpc/frame"
)

// assembly makes the one line that answers a batch. It reserves space for the
// error that each member's answer can become, so that the line always fits a
// frame.
type assembly struct {
	server *Server
	parts  [][]byte // by member; nil for a member that is not answered
	size   int      // bytes of all parts; of those to come, the reserved minimum
	open   int      // answers to come
	keys   map[string]struct{}
	sent   func(ok bool) // calls Reply.Sent of the answers, in the order in which they came
}

func (s *Server) newAssembly(members []frame.Message) assembly {
	a := assembly{server: s, parts: make([][]byte, len(members)), size: len("[]"), keys: make(map[string]struct{})}
	for i := range members {
		if !members[i].Notification() && members[i].Fault != frame.Dropped {
			a.open++
			a.size += smallestAnswer(members[i].ID)
		}
	}
	return a
}

// smallestAnswer bounds the error of tooLarge, with a comma.
func smallestAnswer(id []byte) int {
	if len(id) > echoedID {
		id = nil
	}
	return 256 + len(id)
}

// seen reports whether an earlier member of the batch had this id.
func (a *assembly) seen(key string) bool {
	if key == "" {
		return false
	}
	_, known := a.keys[key]
	a.keys[key] = struct{}{}
	return known
}

// add takes the answer of one member, a line, and the function to call once it
// is sent.
func (a *assembly) add(member int, id, line []byte, sent func(ok bool)) {
	line = line[:len(line)-1]
	reserved := smallestAnswer(id)
	if grown := a.size - reserved + len(line) + 1; grown > a.server.limits.MaxFrameBytes && len(line) >= reserved {
		line = a.server.tooLarge(id)
		line = line[:len(line)-1]
		callSent(sent, false)
		sent = nil
	}
	a.size += len(line) + 1 - reserved
	a.parts[member] = line
	a.sent = both(a.sent, sent)
	a.open--
}

// line returns the array of all answers, in the order of the members.
func (a *assembly) line() []byte {
	line := append(make([]byte, 0, a.size+2), '[')
	for _, p := range a.parts {
		if p == nil {
			continue
		}
		if len(line) > 1 {
			line = append(line, ',')
		}
		line = append(line, p...)
	}
	return append(line, "]\n"...)
}

// batch is a batch on a two-way connection. It counts as one request in flight.
// It is answered once its last member has an answer.
type batch struct {
	session *session
	hasSlot bool
	taken   int // members that the read loop has taken

	mu sync.Mutex
	assembly
	closed bool // all members have been taken
	all    answer
}

func newBatch(s *session, members []frame.Message) *batch {
	b := &batch{session: s, assembly: s.server.newAssembly(members)}
	b.hasSlot = b.open > 0 && s.takeSlot()
	return b
}

// take numbers the next member.
func (b *batch) take() int {
	b.taken++
	return b.taken - 1
}

// answered takes the answer of one member.
func (b *batch) answered(x *exchange) {
	b.mu.Lock()
	b.add(x.member, x.id, x.answer.line, x.answer.sent)
	b.all.seq = max(b.all.seq, x.answer.seq)
	b.all.sent = b.sent
	if then := x.answer.then; then != nil {
		before := b.all.then
		b.all.then = func() {
			if before != nil {
				before()
			}
			then()
		}
	}
	complete := b.open == 0 && b.closed
	b.mu.Unlock()
	if complete {
		b.send(x.direct)
	}
}

// close checks that all members have been taken.
func (b *batch) close() {
	b.mu.Lock()
	b.closed = true
	complete := b.open == 0
	b.mu.Unlock()
	if complete {
		b.send(!b.session.lines.Buffered())
	}
}

func (b *batch) send(direct bool) {
	if !b.hasSlot {
		b.all.dropped()
		return
	}
	b.all.line = b.line()
	b.session.out.respond(b.session.ctx, b.all, direct)
	b.session.freeSlot()
}

package rpc

import (
	"sync"

	"github.com/seed82539d15/holon/rpc/frame"
)

// assembly makes the one line that answers a batch. It reserves room for the
// error that each member's answer can become, so that the whole always fits a
// frame.
type assembly struct {
	server *Server
	parts  [][]byte // by member; nil for what is not answered
	size   int      // of all parts; of those to come, the smallest they can be
	owed   int      // answers to come
	keys   map[string]struct{}
	sent   func(ok bool) // what follows the answers, in the order of their coming
}

func (s *Server) newAssembly(members []frame.Message) assembly {
	a := assembly{server: s, parts: make([][]byte, len(members)), size: len("[]"), keys: make(map[string]struct{})}
	for i := range members {
		if !members[i].Notification() && members[i].Fault != frame.Dropped {
			a.owed++
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

// seen reports whether the id was in the batch before.
func (a *assembly) seen(key string) bool {
	if key == "" {
		return false
	}
	_, was := a.keys[key]
	a.keys[key] = struct{}{}
	return was
}

// add takes the answer of one member, a line, and what follows it.
func (a *assembly) add(member int, id, line []byte, sent func(ok bool)) {
	line = line[:len(line)-1]
	reserved := smallestAnswer(id)
	if grown := a.size - reserved + len(line) + 1; grown > a.server.limits.MaxFrameBytes && len(line) >= reserved {
		line = a.server.tooLarge(id)
		line = line[:len(line)-1]
		follow(sent, false)
		sent = nil
	}
	a.size += len(line) + 1 - reserved
	a.parts[member] = line
	a.sent = both(a.sent, sent)
	a.owed--
}

// line is the array of all answers, in the order of the members.
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

// batch is a batch on a two-way connection. It counts as one request in
// flight and is answered once the last member has its answer.
type batch struct {
	session *session
	placed  bool
	taken   int // members handed out, by the read loop

	mu sync.Mutex
	assembly
	closed bool // all members have been handed out
	all    answer
}

func newBatch(s *session, members []frame.Message) *batch {
	b := &batch{session: s, assembly: s.server.newAssembly(members)}
	b.placed = b.owed > 0 && s.place()
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
	complete := b.owed == 0 && b.closed
	b.mu.Unlock()
	if complete {
		b.send(x.direct)
	}
}

// close says that all members have been handed out.
func (b *batch) close() {
	b.mu.Lock()
	b.closed = true
	complete := b.owed == 0
	b.mu.Unlock()
	if complete {
		b.send(!b.session.lines.Buffered())
	}
}

func (b *batch) send(direct bool) {
	if !b.placed {
		b.all.dropped()
		return
	}
	b.all.line = b.line()
	b.session.out.respond(b.session.ctx, b.all, direct)
	b.session.vacate()
}

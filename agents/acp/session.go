package acp

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/agents/acp/mapping"
	"github.com/seed82539d15/holon/internal/limits"
	"github.com/seed82539d15/holon/items"
)

// session is the conversation of one thread in a process. Its goroutine, pump,
// is the only one that maps messages and emits ops, except for the goroutine
// that opens it while it is held. pump takes the whole queue at once, so a
// longer queue causes fewer commits per event.
type session struct {
	a        *Agent
	pr       *proc
	id       string
	threadID string
	cwd      string
	own      ownTools // set before the session is opened
	m        *mapping.Session
	drops    drops  // pump's
	lost     string // why the session was lost that this one replaces, outside of a turn; set before it is kept

	mu        sync.Mutex
	queue     []event
	held      bool      // it is being opened: pump waits
	heldBytes int       // queued meanwhile
	replaying bool      // the agent repeats its history; the reader handles it
	repeated  time.Time // when it last did so
	title     string
	gone      bool // abandoned: accepts no more events
	ended     bool // the process is dead
	run       *promptRun
	cancelled bool // the run was cancelled: requests are cancelled at once
	requests  map[*request]struct{}
	used      time.Time

	ctx     context.Context // for ops that are emitted outside of prompts
	cancel  context.CancelFunc
	left    atomic.Bool   // the server stops and the turn waits on: the agent is answered nothing
	wake    chan struct{} // capacity 1
	stopped chan struct{} // closed when pump has ended
}

// event is one thing for pump to do. size is what it holds of the budget.
type event struct {
	kind    eventKind
	size    int
	raw     jsontext.Value
	method  string
	request *request
	run     *promptRun
	err     error
	swept   bool // of a result: processes that a cancelled prompt left running have been ended
	do      func()
}

type eventKind int

const (
	evUpdate  eventKind = iota // raw is the update of a session/update
	evOther                    // raw is the params of another notification
	evRequest                  // raw is the params of a question
	evNotice                   // method is the text of a notice
	evDropped                  // a line was dropped; method says which
	evBegin                    // a prompt begins
	evResult                   // and has ended, with raw or err
	evDo                       // do is called, for a caller that needs the mapping
	evGone                     // nothing more comes
)

func noticeEvent(text string) event { return event{kind: evNotice, method: text} }

func droppedEvent(which string) event {
	return event{kind: evDropped, method: which, size: len(which) + overhead}
}

func newSession(a *Agent, pr *proc, threadID, cwd string, config jsontext.Value) *session {
	ctx, cancel := context.WithCancel(a.ctx)
	return &session{
		a: a, pr: pr, threadID: threadID, cwd: cwd, held: true, used: time.Now(), ctx: ctx, cancel: cancel,
		m:        mapping.New(mapping.Options{KeepRaw: a.cfg.KeepRaw, Cwd: cwd, Config: config}),
		requests: map[*request]struct{}{}, own: ownTools{revoke: func() {}},
		wake: make(chan struct{}, 1), stopped: make(chan struct{}),
	}
}

// take queues a message of the agent. The reader calls it. It waits while the
// process's budget is used up. It reports false if ev is dropped.
func (s *session) take(ev event) bool {
	s.mu.Lock()
	switch {
	case s.gone:
		s.mu.Unlock()
		s.a.late.Add(1)
		return false
	case s.replaying:
		if ev.kind == evUpdate {
			s.replayed(ev.raw)
		}
		s.repeated = time.Now()
		s.mu.Unlock()
		return false
	case s.held: // the goroutine that opens it may wait for an answer that only the reader delivers
		if s.heldBytes += ev.size; s.heldBytes > limits.AgentOutputBytes {
			s.mu.Unlock()
			s.a.late.Add(1)
			return false
		}
		ev.size = 0
		s.queue = append(s.queue, ev)
		s.mu.Unlock()
		return true
	}
	s.mu.Unlock()
	s.pr.budget.take(ev.size)
	if !s.push(ev) {
		s.a.late.Add(1)
		return false
	}
	return true
}

// stray takes an update that came before the session was known.
func (s *session) stray(ev event) {
	s.mu.Lock()
	repeats := s.replaying
	if repeats && ev.kind == evUpdate {
		s.replayed(ev.raw)
	}
	s.mu.Unlock()
	if !repeats {
		s.push(ev)
	}
}

// replayed keeps what the repeated history says of the thread itself. The lock
// is held.
func (s *session) replayed(update jsontext.Value) {
	for _, op := range s.m.Replayed(update) {
		if set, ok := op.(items.SetThread); ok && set.Title != "" {
			s.title = set.Title // the mapping has the whole config
		}
	}
}

// push queues an event; false = the session is abandoned, and the event's
// bytes are given back.
func (s *session) push(ev event) bool {
	s.mu.Lock()
	gone := s.gone
	if !gone {
		s.queue = append(s.queue, ev)
	}
	s.mu.Unlock()
	if gone {
		s.pr.budget.give(ev.size)
		return false
	}
	s.ring()
	return true
}

func (s *session) ring() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// release lets pump continue, with first in front of the events that have come
// meanwhile. It reports false if pump was not held.
func (s *session) release(first ...event) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.held {
		return false
	}
	s.queue = append(first, s.queue...)
	s.held = false
	s.ring()
	return true
}

// alive reports whether a prompt can run in the session.
func (s *session) alive() bool {
	s.mu.Lock()
	gone := s.gone
	s.mu.Unlock()
	select {
	case <-s.pr.dead:
		return false
	case <-s.stopped:
		return false
	default:
		return !gone
	}
}

func (s *session) lastUsed() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

func (s *session) prompting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run != nil
}

// forgo ends a session that was never opened.
func (s *session) forgo() {
	s.cancel()
	s.own.revoke()
}

// abandon gives the session up: its messages are no longer accepted, and its tools
// do nothing any more. It returns when nothing of it is emitted any more.
func (s *session) abandon() {
	s.own.revoke()
	s.mu.Lock()
	s.gone = true
	queue, run := s.queue, s.run
	s.queue = nil
	s.mu.Unlock()
	s.pr.router.remove(s)
	for _, ev := range queue {
		s.pr.budget.give(ev.size)
	}
	s.cancelRequests()
	s.cancel()
	if run != nil {
		run.stopEmit()
	}
	s.ring()
	<-s.stopped
}

// do calls f on the session's goroutine, which owns the mapping.
func (s *session) do(ctx context.Context, f func()) error {
	done := make(chan struct{})
	if !s.push(event{kind: evDo, do: func() { f(); close(done) }}) {
		return errGone
	}
	select {
	case <-done:
		return nil
	case <-s.stopped:
		select {
		case <-done:
			return nil
		default:
			return errGone
		}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

package acp

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/zap"

	"github.com/seed82539d15/holon/agents/acp/mapping"
	"github.com/seed82539d15/holon/items"
)

// quiet is how long nothing comes before text that was said outside of a
// prompt is taken to be whole.
const quiet = 500 * time.Millisecond

// handBytes is about how much is handed over at a time: what the engine
// commits at once.
const handBytes = 512 << 10

// session is a conversation in a process, that of one thread. Its goroutine,
// pump, is the only one that maps and hands over (but for whoever opens it,
// while it is held). It takes what waits in its queue, all of it, so that the
// more there is the fewer the commits.
type session struct {
	a        *Agent
	pr       *proc
	id       string
	threadID string
	cwd      string
	m        *mapping.Session

	mu        sync.Mutex
	queue     []event
	held      bool      // it is being opened: pump waits
	heldBytes int       // that came meanwhile
	replaying bool      // the agent repeats its history, for the reader to look at
	repeated  time.Time // when it did so last
	title     string
	gone      bool // abandoned: nothing more is taken
	ended     bool // the process is dead
	run       *promptRun
	cancelled bool // the run was: requests are answered so at once
	requests  map[*request]struct{}
	used      time.Time

	ctx     context.Context // of what is handed over outside of prompts
	cancel  context.CancelFunc
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
	do      func()
}

type eventKind int

const (
	evUpdate  eventKind = iota // raw is the update of a session/update
	evOther                    // raw is the params of another notification
	evRequest                  // raw is the params of a question
	evNotice                   // method is the text of a notice
	evBegin                    // a prompt begins
	evResult                   // and has ended, with raw or err
	evDo                       // do is called, for who needs the mapping
	evGone                     // nothing more comes
)

func noticeEvent(text string) event { return event{kind: evNotice, method: text} }

func newSession(a *Agent, pr *proc, threadID, cwd string, config jsontext.Value) *session {
	ctx, cancel := context.WithCancel(a.ctx)
	return &session{
		a: a, pr: pr, threadID: threadID, cwd: cwd, held: true, used: time.Now(), ctx: ctx, cancel: cancel,
		m:        mapping.New(mapping.Options{KeepRaw: a.cfg.KeepRaw, Cwd: cwd, Config: config}),
		requests: map[*request]struct{}{},
		wake:     make(chan struct{}, 1), stopped: make(chan struct{}),
	}
}

// take queues what the agent sent. It waits while the process's budget is
// used up; the reader calls it.
func (s *session) take(ev event) {
	s.mu.Lock()
	switch {
	case s.gone:
		s.mu.Unlock()
		s.a.late.Add(1)
		return
	case s.replaying:
		if ev.kind == evUpdate {
			s.replayed(ev.raw)
		}
		s.repeated = time.Now()
		s.mu.Unlock()
		return
	case s.held: // whoever opens it may wait for an answer that only the reader brings
		if s.heldBytes += ev.size; s.heldBytes > budgetBytes {
			s.mu.Unlock()
			s.a.late.Add(1)
			return
		}
		ev.size = 0
		s.queue = append(s.queue, ev)
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	s.pr.budget.take(ev.size)
	if !s.push(ev) {
		s.a.late.Add(1)
	}
}

// stray takes what was said of the session before it was known.
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

// replayed keeps of the agent's history what is said of the thread. The lock
// is held.
func (s *session) replayed(update jsontext.Value) {
	for _, op := range s.m.Replayed(update) {
		if set, ok := op.(items.SetThread); ok && set.Title != "" {
			s.title = set.Title // the config is the mapping's, whole
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

// release lets pump go on, with first in front of what has come meanwhile. It
// reports false if pump was not held.
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

// alive reports whether a prompt can be run in it.
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

// abandon parts from the session: whatever it says is no longer taken. It
// returns when nothing of it is handed over any more.
func (s *session) abandon() {
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

// pump is the session's goroutine.
func (s *session) pump() {
	defer close(s.stopped)
	defer s.cancel()
	flush := time.NewTimer(quiet)
	flush.Stop()
	defer flush.Stop()
	h := hands{s: s}
	for {
		batch, gone := s.next()
		if gone {
			h.drop()
			return
		}
		if batch == nil {
			select {
			case <-s.wake:
			case <-flush.C:
				if h.run == nil { // a prompt that has begun meanwhile has fetched it
					h.add(nil, s.m.Flush()...)
					h.over()
				}
			}
			continue
		}
		for i, ev := range batch {
			if s.handle(&h, ev) {
				return
			}
			if i%yieldEvery == yieldEvery-1 {
				runtime.Gosched()
			}
		}
		h.over()
		if h.run == nil {
			flush.Reset(quiet)
		}
	}
}

// next takes all that waits; nil = nothing does.
func (s *session) next() (batch []event, gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return nil, true
	}
	if s.held {
		return nil, s.ended // nobody has begun to use it
	}
	batch, s.queue = s.queue, nil
	if len(batch) == 0 {
		return nil, false
	}
	return batch, false
}

// handle does what one event says. It reports whether it was the last.
func (s *session) handle(h *hands, ev event) (last bool) {
	h.bytes += ev.size
	switch ev.kind {
	case evBegin:
		h.add(nil, s.m.Begin(ev.run.p.Index)...) // what was said before it
		h.run = ev.run
	case evUpdate:
		if h.run != nil {
			h.add(h.run, s.m.Update(ev.raw)...)
		} else {
			h.add(nil, s.m.Outside(ev.raw)...)
		}
		if h.run != nil && h.run.ends != nil {
			if result, over := h.run.ends(ev.raw); over {
				s.finish(h, result, nil)
			}
		}
	case evOther:
		h.add(h.run, extension(ev.method, ev.raw))
	case evNotice:
		h.add(h.run, notice("warning", ev.method, nil))
	case evRequest:
		s.ask(h, ev)
	case evResult:
		if h.run != nil && h.run == ev.run {
			s.finish(h, ev.raw, ev.err)
		}
	case evDo:
		h.over()
		ev.do()
	case evGone:
		if h.run != nil { // its result has not come and never will
			s.finish(h, nil, errGone)
		}
		h.add(nil, s.m.Gone()...)
		h.over()
		return true
	}
	if h.bytes >= handBytes {
		h.over()
	}
	return false
}

// end says that the process is dead, after all that it has said.
func (s *session) end() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.push(event{kind: evGone})
}

// finish hands over what the end of a prompt ends and lets Run return.
func (s *session) finish(h *hands, result jsontext.Value, err error) {
	run := h.run
	h.add(run, s.m.PromptEnded(result, err != nil || run.wasCancelled())...)
	h.over()
	h.run = nil
	s.mu.Lock()
	if s.run == run {
		s.run = nil
	}
	s.used = time.Now()
	s.mu.Unlock()
	run.done <- promptEnd{result: result, err: err}
}

// do calls f in the session's goroutine, which owns the mapping.
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

// hands gathers what is handed over together, and the bytes that are given
// back then.
type hands struct {
	s     *session
	run   *promptRun // the prompt that runs, nil = none
	to    *promptRun // whom ops are for
	ops   []items.Op
	bytes int
}

// add gathers ops for a prompt, or for the thread outside of one.
func (h *hands) add(to *promptRun, ops ...items.Op) {
	if len(ops) == 0 {
		return
	}
	if to != h.to {
		h.emit()
	}
	h.to = to
	for _, op := range ops {
		if n := len(h.ops); n > 0 && joins(h.ops[n-1], op) {
			last := h.ops[n-1].(items.Append)
			last.Text += op.(items.Append).Text
			h.ops[n-1] = last
			continue
		}
		h.ops = append(h.ops, op)
	}
}

// joinBytes is the most that joined deltas have: what the log merges too.
const joinBytes = 4 << 10

// joins reports whether two deltas can be one.
func joins(a, b items.Op) bool {
	last, ok := a.(items.Append)
	if !ok {
		return false
	}
	next, ok := b.(items.Append)
	return ok && next.ItemID == last.ItemID && len(last.Text)+len(next.Text) <= joinBytes
}

// over hands over what was gathered and gives its bytes back.
func (h *hands) over() {
	h.emit()
	if h.bytes > 0 {
		h.s.pr.budget.give(h.bytes)
		h.bytes = 0
	}
}

func (h *hands) drop() {
	h.ops = nil
	h.over()
}

func (h *hands) emit() {
	ops := h.ops
	h.ops = nil // whoever takes them may keep them
	if len(ops) == 0 {
		return
	}
	if h.to != nil {
		if err := h.to.emit(ops); err != nil {
			h.s.a.late.Add(int64(len(ops)))
		}
		return
	}
	h.s.outside(ops)
}

// outside stores what was said to a thread while no prompt runs there.
func (s *session) outside(ops []items.Op) {
	host := s.a.host.Load()
	var err error
	if host == nil {
		err = errors.New("nobody serves the agent")
	} else {
		err = (*host).Emit(s.ctx, s.threadID, ops)
	}
	if err != nil {
		s.a.late.Add(int64(len(ops)))
		s.pr.log().Warn("what an agent said outside of a turn is lost", zap.String("thread", s.threadID), zap.Error(err))
	}
}

func extension(kind string, raw jsontext.Value) items.Op {
	return items.Create{
		ItemID: items.NewID(), Status: items.StatusCompleted,
		Content: items.Extension{Type: items.KindExtension, NativeKind: kind, Payload: raw},
	}
}

func notice(severity, text string, data jsontext.Value) items.Op {
	n := items.NewNotice(severity, text)
	n.Data = data
	return items.Create{ItemID: items.NewID(), Status: items.StatusCompleted, Content: n}
}

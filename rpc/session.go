package rpc

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/internal/lines"
	"github.com/seed82539d15/holon/rpc/frame"
)

// session is one two-way connection: it reads bounded lines, checks envelopes,
// answers invalid ones itself, and unpacks batches. Its read loop executes
// requests one after the other, so they take effect in the order of their
// arrival.
//
// The read loop owns lines, parser, pending, current and initialized.
type session struct {
	server *Server
	ctx    context.Context
	out    *outlet

	lines       *lines.Reader
	parser      frame.Parser
	pending     []frame.Message // members of the current batch that are not executed yet
	batch       *batch
	current     *exchange
	initialized bool
	inputEnded  func()          // called once at the end of input; may be nil
	connected   context.Context // ends when the client has ended its half of the connection
	readerDone  chan struct{}
	readerOnce  sync.Once
	slots       chan struct{} // requests in flight
	waiting     sync.WaitGroup

	mu  sync.Mutex
	ids map[string]struct{} // of the requests in flight
}

// exchange is one request and its answer.
type exchange struct {
	id     []byte // nil for a notification
	key    string
	m      frame.Message
	batch  *batch
	member int
	answer answer
	direct bool
	hold   hold
}

// Initialize implements api.Conn.
func (s *session) Initialize() bool {
	before := s.initialized
	s.initialized = true
	return !before
}

func newSession(s *Server, in io.Reader, out *outlet) *session {
	out.duplex = newDuplex(s.limits.MaxInFlight)
	return &session{
		server: s, out: out, lines: lines.New(in, lines.Config{Max: s.limits.MaxFrameBytes}),
		readerDone: make(chan struct{}), slots: make(chan struct{}, s.limits.MaxInFlight),
		ids: make(map[string]struct{}),
	}
}

// serve reads and writes until ctx or the stream ends. connected ends when the
// client has ended its half of the connection. unblock makes a running read
// return; it is called once.
func (s *session) serve(ctx, connected context.Context, unblock func()) string {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.connected = connected
	s.ctx = api.WithConn(api.WithConnected(ctx, connected), s)
	go s.read()
	why := s.out.run(s.ctx)
	close(s.out.done)
	cancel()
	unblock()
	<-s.readerDone
	s.waiting.Wait()
	for _, a := range s.out.take() {
		a.dropped()
	}
	s.server.metrics.InFlight(-int(s.out.busy.Load())) // requests that were in flight at the end
	return why
}

// read executes messages until the connection has ended.
func (s *session) read() {
	defer s.abandon()
	for {
		x, err := s.next()
		if err != nil {
			return
		}
		s.current = x
		s.handle(x)
	}
}

// abandon records that the reader has ended, or that serve must not wait for it.
func (s *session) abandon() { s.readerOnce.Do(func() { close(s.readerDone) }) }

// next returns the next message that is to be executed.
func (s *session) next() (*exchange, error) {
	for {
		for len(s.pending) > 0 {
			m := s.pending[0]
			s.pending = s.pending[1:]
			x, ok := s.admit(m)
			if ok {
				return x, nil
			}
		}
		if s.batch != nil {
			s.batch.close()
			s.batch = nil
		}
		s.pending = nil
		s.parser.Forget() // this connection may be idle for hours now
		line, err := s.lines.Next()
		switch {
		case errors.Is(err, lines.ErrTooLong):
			s.refuse(api.Errorf(api.KindFrameTooLarge, "a line has at most %d bytes", s.server.limits.MaxFrameBytes))
			continue
		case errors.Is(err, io.EOF):
			s.endOfInput()
			return nil, io.EOF
		case err != nil:
			s.out.leave()
			<-s.ctx.Done()
			return nil, err
		}
		members, isBatch := s.parser.Parse(line)
		if isBatch {
			s.batch = newBatch(s, members)
		}
		s.pending = members
	}
}

// endOfInput waits: notifications continue until the client disconnects. Then
// the stream ends once everything pending is answered.
func (s *session) endOfInput() {
	if s.inputEnded != nil {
		s.inputEnded()
	}
	select {
	case <-s.connected.Done():
		s.waiting.Wait() // answers that come outside of the read loop
		s.out.end <- Closing{Code: api.CloseInputEnded, Reason: "the input has ended"}
		<-s.ctx.Done()
	case <-s.ctx.Done():
	}
}

// leave ends a stream whose client has disconnected.
func (o *outlet) leave() {
	o.mu.Lock()
	if o.failed == nil {
		o.failed = io.ErrClosedPipe
	}
	o.mu.Unlock()
	o.nudge()
}

// admit takes a slot for a message. It reports false if the message is already
// answered, or needs neither an answer nor execution.
func (s *session) admit(m frame.Message) (*exchange, bool) {
	x := &exchange{m: m, batch: s.batch}
	if x.batch != nil {
		x.member = x.batch.take()
	}
	if m.Fault == frame.Dropped {
		s.server.metrics.ResponseDropped()
		return nil, false
	}
	if m.Notification() {
		return x, true
	}
	x.id = append([]byte{}, m.ID...)
	if m.ID == nil {
		x.id = []byte("null") // a broken envelope is answered too
	}
	x.key = frame.IDKey(x.id)
	duplicate := x.batch != nil && x.batch.seen(x.key)
	if x.batch == nil {
		if !s.takeSlot() {
			return nil, false
		}
	}
	s.mu.Lock()
	if _, used := s.ids[x.key]; used && x.key != "" {
		duplicate = true
	}
	if !duplicate && x.key != "" {
		s.ids[x.key] = struct{}{}
	}
	s.mu.Unlock()
	if duplicate {
		x.key = ""
		s.answer(x, api.Reply{Err: api.Errorf(api.KindDuplicateID, "")}, true)
		return nil, false
	}
	return x, true
}

// takeSlot waits for one of max_in_flight slots. Until one is free, the
// connection is not read. It reports false if the connection ends first.
func (s *session) takeSlot() bool {
	select {
	case s.slots <- struct{}{}:
		s.out.busy.Add(1)
		s.server.metrics.InFlight(1)
		return true
	case <-s.ctx.Done():
		return false
	}
}

// freeSlot returns the slot.
func (s *session) freeSlot() {
	<-s.slots
	s.server.metrics.InFlight(-1) // before busy: a reader that sees 0 there sees it here too
	if s.out.busy.Add(-1) == 0 && s.out.finishing.Load() {
		s.out.nudge()
	}
}

// handle executes one message. It runs in the read loop.
func (s *session) handle(x *exchange) {
	ctx, began := s.ctx, time.Now()
	call := api.Call{OnConnection: true, Batch: x.batch != nil}
	if x.batch == nil && x.id != nil {
		x.hold.begin(s.out.duplex)
		x.answer.hold, call.Caller = &x.hold, &x.hold
	}
	r, method := s.server.dispatch(ctx, &x.m, call)
	// The message points into its line, which a slow answer must not keep in
	// memory.
	x.m, s.current = frame.Message{}, nil
	if r.Later != nil && x.id == nil {
		// A notification takes no slot, which would bound how many there are:
		// instead it blocks the connection.
		r = r.Later(ctx)
	} else if r.Later != nil {
		x.answer.hold.release()
		x.answer.hold = nil
		s.waiting.Go(func() {
			final := s.server.bounded(ctx, r.Later(ctx), method)
			s.server.count(method, began)
			s.answer(x, final, false)
		})
		return
	}
	s.server.count(method, began)
	r = s.server.bounded(ctx, r, method)
	if x.id == nil {
		if r.Sent != nil {
			r.Sent(false)
		}
		if x.answer.then != nil { // stream/subscribe as a notification
			s.out.mu.Lock()
			x.answer.then()
			s.out.mu.Unlock()
			s.out.nudge()
		}
		return
	}
	s.answer(x, r, !s.lines.Buffered())
}

// answer encodes the reply and sends it.
func (s *session) answer(x *exchange, r api.Reply, direct bool) {
	x.direct = direct
	x.answer.line = s.server.responseLine(x.id, &r)
	x.answer.seq, x.answer.sent = r.Seq, r.Sent
	if x.key != "" {
		s.mu.Lock()
		delete(s.ids, x.key)
		s.mu.Unlock()
	}
	if x.batch != nil {
		x.batch.answered(x)
		return
	}
	s.out.respond(s.ctx, x.answer, x.direct)
	s.freeSlot()
}

// refuse answers a line that could not be read.
func (s *session) refuse(e *api.Error) {
	s.server.metrics.Error(string(e.Data.Kind))
	s.out.respond(s.ctx, answer{line: appendError(nil, nil, e)}, true)
}

// count counts an executed request in the metrics. method is nil for a message
// that was no valid request.
func (s *Server) count(method *api.Method, began time.Time) {
	if method != nil {
		s.counters[method.Name].Done(time.Since(began))
	}
}

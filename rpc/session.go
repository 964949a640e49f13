package rpc

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/lines"
	"github.com/seed82539d15/holon/rpc/frame"
)

// session is one two-way connection: it reads bounded lines, judges envelopes,
// answers what is wrong itself, and unpacks batches. Its read loop executes
// requests one after the other: that is the promise that they take effect in
// the order of their arrival.
//
// The read loop owns lines, parser, pending, current and initialized.
type session struct {
	server *Server
	ctx    context.Context
	out    *outlet

	lines       *lines.Reader
	parser      frame.Parser
	pending     []frame.Message // members of the current batch that are still to come
	batch       *batch
	current     *exchange
	initialized bool
	inputEnded  func()          // called once at the end of input; nil: nothing happens
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
}

// Initialize implements Conn.
func (s *session) Initialize() bool {
	was := s.initialized
	s.initialized = true
	return !was
}

func newSession(s *Server, in io.Reader, out *outlet) *session {
	out.duplex = newDuplex(s.limits.MaxInFlight)
	return &session{
		server: s, out: out, lines: lines.New(in, lines.Config{Max: s.limits.MaxFrameBytes}),
		readerDone: make(chan struct{}), slots: make(chan struct{}, s.limits.MaxInFlight),
		ids: make(map[string]struct{}),
	}
}

// serve reads and writes until ctx ends, or the stream does. connected ends when
// the client has ended its half of the connection. unblock makes a read that
// is under way return; it is called once.
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
	s.server.metrics.InFlight(-int(s.out.busy.Load())) // what the end overtook
	return why
}

// read executes what comes until the connection has ended.
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

// abandon says that the reader has ended, or is not to be waited for.
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

// endOfInput: notifications go on until the client disconnects. Then the stream
// ends once everything pending is answered.
func (s *session) endOfInput() {
	if s.inputEnded != nil {
		s.inputEnded()
	}
	select {
	case <-s.connected.Done():
		s.waiting.Wait() // what answers away from the read loop
		s.out.end <- Closing{Code: api.CloseInputEnded, Reason: "the input has ended"}
		<-s.ctx.Done()
	case <-s.ctx.Done():
	}
}

// leave ends a stream whose client has gone.
func (o *outlet) leave() {
	o.mu.Lock()
	if o.failed == nil {
		o.failed = io.ErrClosedPipe
	}
	o.mu.Unlock()
	o.nudge()
}

// admit takes a place in flight for a message. It reports false if the
// message is answered already, or needs no answer and no execution.
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
		x.id = []byte("null") // a broken envelope is answered even so
	}
	x.key = frame.IDKey(x.id)
	duplicate := x.batch != nil && x.batch.seen(x.key)
	if x.batch == nil {
		if !s.place() {
			return nil, false
		}
	}
	s.mu.Lock()
	if _, taken := s.ids[x.key]; taken && x.key != "" {
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

// place waits for one of max_in_flight places: until there is one, the
// connection is not read.
func (s *session) place() bool {
	select {
	case s.slots <- struct{}{}:
		s.out.busy.Add(1)
		s.server.metrics.InFlight(1)
		return true
	case <-s.ctx.Done():
		return false
	}
}

// vacate gives the place back.
func (s *session) vacate() {
	<-s.slots
	s.server.metrics.InFlight(-1) // before busy: who sees 0 there sees it here
	if s.out.busy.Add(-1) == 0 && s.out.finishing.Load() {
		s.out.nudge()
	}
}

// handle executes one message. It runs in the read loop.
func (s *session) handle(x *exchange) {
	ctx, began := s.ctx, time.Now()
	r, method := s.server.dispatch(ctx, &x.m, true)
	// The message points into the line it came on, which an answer that takes
	// its time must not keep in memory.
	x.m, s.current = frame.Message{}, nil
	if r.Later != nil && x.id == nil {
		// A notification takes no place in flight, which would bound how many
		// there are: it holds the connection up instead.
		r = r.Later(ctx)
	} else if r.Later != nil {
		s.waiting.Add(1)
		go func() {
			defer s.waiting.Done()
			final := r.Later(ctx)
			s.server.count(method, began)
			s.answer(x, final, false)
		}()
		return
	}
	s.server.count(method, began)
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
	s.vacate()
}

// refuse answers a line that could not even be read.
func (s *session) refuse(e *api.Error) {
	s.server.metrics.Error(string(e.Data.Kind))
	s.out.respond(s.ctx, answer{line: appendError(nil, nil, e)}, true)
}

// count takes an executed request into the metrics. Method is nil for what
// never became one.
func (s *Server) count(method *api.Method, began time.Time) {
	if method != nil {
		s.counters[method.Name].Done(time.Since(began))
	}
}

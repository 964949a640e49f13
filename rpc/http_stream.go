package rpc

import (
	"context"
	"net/http"
	"time"

	"github.com/seed82539d15/holon/api"
)

// serveStream serves NDJSON: notifications on GET; on POST also requests and
// answers.
func (s *Server) serveStream(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		s.bodiless(s.serveNDJSON)(w, r)
		return
	}
	if at, now, ok := s.begin(w, r, "application/x-ndjson"); ok {
		clearBodyDeadline(w) // the body is the client's half of the stream
		s.serveTwoWay(w, r, at, now)
	}
}

// serveNDJSON serves notifications as lines.
func (s *Server) serveNDJSON(w http.ResponseWriter, r *http.Request) {
	at, now, ok := s.begin(w, r, "application/x-ndjson")
	if !ok {
		return
	}
	s.serveOneWay(w, r, s.newOutlet(w, r, ndjson, "ndjson"), at, now)
}

// serveEvents serves server-sent events.
func (s *Server) serveEvents(w http.ResponseWriter, r *http.Request) {
	at, now, ok := s.begin(w, r, "text/event-stream")
	if !ok {
		return
	}
	s.serveOneWay(w, r, s.newOutlet(w, r, sse, "sse"), at, now)
}

// begin checks the request for a stream. It answers an error itself; otherwise
// it sets the headers.
func (s *Server) begin(w http.ResponseWriter, r *http.Request, contentType string) (*api.StreamStart, api.Position, bool) {
	if !accepts(r.Header.Values("Accept"), contentType) {
		s.fail(w, r, http.StatusNotAcceptable, api.Errorf(api.KindInvalidRequest, "this stream is %s, which Accept rules out", contentType))
		return nil, api.Position{}, false
	}
	at, bad := parseStart(r)
	if bad != nil {
		if bad.Data.Kind == api.KindInvalidCursor {
			// An error about a cursor says where the log is.
			if now, err := s.api.Position(r.Context()); err == nil {
				bad.Data.FirstSeq, bad.Data.LatestSeq, bad.Data.LogID = &now.First, &now.Latest, now.LogID
			}
		}
		s.fail(w, r, statusOf(bad), bad)
		return nil, api.Position{}, false
	}
	now, err := s.api.ResolveStart(r.Context(), at)
	if err != nil {
		bad := ofQuery(s.api.Error(r.URL.Path, err))
		s.fail(w, r, statusOf(bad), bad)
		return nil, api.Position{}, false
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	if r.ProtoMajor == 1 {
		h.Set("Connection", "keep-alive")
	}
	return at, now, true
}

func (s *Server) newOutlet(w http.ResponseWriter, r *http.Request, f format, transport string) *outlet {
	b, _ := r.Context().Value(bufferedKey{}).(buffered)
	return &outlet{server: s, w: w, control: http.NewResponseController(w), kernel: b, format: f, transport: transport}
}

// enter adds a stream; leave must be called at its end. It reports false once
// the server closes.
func (s *Server) enter(o *outlet) bool {
	if !s.streams.add(o) {
		return false
	}
	s.metrics.StreamOpened(o.transport)
	return true
}

func (s *Server) leave(o *outlet, why string) {
	s.streams.remove(o)
	o.mu.Lock()
	o.drop()
	o.mu.Unlock()
	s.metrics.StreamClosed(o.transport, why)
	if o.control != nil && o.failed == nil && !s.isClosing() {
		// The connection may carry another request.
		_ = o.control.SetWriteDeadline(time.Time{})
	}
}

func (s *Server) refuseStream(w http.ResponseWriter, r *http.Request) {
	for _, name := range []string{"Content-Type", "Cache-Control", "X-Accel-Buffering", "Connection"} {
		w.Header().Del(name)
	}
	e := api.Errorf(api.KindUnavailable, "the server is stopping")
	e.Data.RetryAfterMs = api.RetryAfterMs
	s.fail(w, r, http.StatusServiceUnavailable, e)
}

// serveOneWay serves a one-way stream to its end. The handler's goroutine is
// its writer, so a stream that waits costs little more than its connection.
func (s *Server) serveOneWay(w http.ResponseWriter, r *http.Request, o *outlet, at *api.StreamStart, now api.Position) {
	if !s.enter(o) {
		s.refuseStream(w, r)
		return
	}
	why := whyLeft
	defer func() { s.leave(o, why) }()
	defer cutWith(o, api.AliveOf(r.Context()))()
	if o.open(r.Context(), at, now) == nil {
		why = o.run(r.Context())
	}
}

// serveTwoWay serves a two-way stream to its end.
func (s *Server) serveTwoWay(w http.ResponseWriter, r *http.Request, at *api.StreamStart, now api.Position) {
	o := s.newOutlet(w, r, ndjson, "duplex")
	if err := o.control.EnableFullDuplex(); err != nil && r.ProtoMajor == 1 {
		s.fail(w, r, http.StatusInternalServerError, s.api.Error(r.URL.Path, err))
		return
	}
	session := newSession(s, r.Body, o)
	if !s.enter(o) {
		s.refuseStream(w, r)
		return
	}
	why := whyLeft
	defer func() { s.leave(o, why) }()
	defer cutWith(o, api.AliveOf(r.Context()))()
	if o.open(r.Context(), at, now) != nil {
		return
	}
	// The request's context ends when the client has ended its half of the
	// connection. The stream continues until everything is answered.
	ctx, cancel := whileTokenLives(context.WithoutCancel(r.Context()), api.AliveOf(r.Context()))
	defer cancel()
	why = session.serve(ctx, r.Context(), func() {
		// A read of the body that waits for the client returns now. The
		// deadline stays, so that nothing waits for the rest of the body.
		_ = o.control.SetReadDeadline(time.Now())
	})
}

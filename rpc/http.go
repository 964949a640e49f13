package rpc

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/api"
)

// Bounds of a connection before there is a request on it.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 32 << 10
	sendBuffer        = 128 << 10 // held by the kernel for a reader that lags
	localBuffer       = 32 << 10  // the same on a unix socket: see lastBuffer
	refusedBodyWait   = time.Second
)

// Handler serves every path of the HTTP surface. Put an admission gate in
// front of it.
func (s *Server) Handler() http.Handler {
	// No http.ServeMux: it redirects what is nearly a path, in HTML.
	paths := map[string]http.HandlerFunc{
		"/rpc":        s.only(uncoded(s, s.serveRPC), http.MethodPost),
		"/rpc/stream": s.only(uncoded(s, s.serveStream), http.MethodGet, http.MethodPost),
		"/mcp":        s.only(uncoded(s, s.serveMCP), http.MethodPost),
		"/events":     s.only(s.bodiless(s.serveEvents), http.MethodGet),
		"/healthz":    s.only(s.bodiless(s.serveHealth), http.MethodGet, http.MethodHead),
		"/readyz":     s.only(s.bodiless(s.serveReady), http.MethodGet, http.MethodHead),
	}
	if s.cfg.Metrics != nil {
		paths["/metrics"] = s.bodiless(s.cfg.Metrics.ServeHTTP)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if full := admit(w, r); full != nil {
			s.metrics.ConnectionRefused()
			s.fail(w, r, http.StatusServiceUnavailable, full)
			return
		}
		serve := paths[r.URL.Path]
		if serve == nil {
			s.fail(w, r, http.StatusNotFound, api.Errorf(api.KindInvalidRequest, "there is nothing at this path; /rpc, /rpc/stream, /events and /mcp are served"))
			return
		}
		if !api.OpensPath(r.Context(), r.URL.Path) {
			s.fail(w, r, http.StatusForbidden, api.Errorf(api.KindForbidden, "the token is limited to threads or is a code, and does not open this path"))
			return
		}
		if alive := api.AliveOf(r.Context()); alive != nil {
			ctx, cancel := whileTokenLives(r.Context(), alive)
			defer cancel()
			r = r.WithContext(ctx)
		}
		serve(w, r)
	})
}

// whileTokenLives returns a context that also ends when the token of the request does:
// what waits, and streams, end then. alive may be nil.
func whileTokenLives(ctx, alive context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if alive == nil {
		return ctx, cancel
	}
	stop := context.AfterFunc(alive, cancel)
	return ctx, func() { stop(); cancel() }
}

// only answers other HTTP methods with 405.
func (s *Server) only(serve http.HandlerFunc, methods ...string) http.HandlerFunc {
	allow := strings.Join(methods, ", ")
	return func(w http.ResponseWriter, r *http.Request) {
		if slices.Contains(methods, r.Method) {
			serve(w, r)
			return
		}
		w.Header().Set("Allow", allow)
		s.fail(w, r, http.StatusMethodNotAllowed, api.Errorf(api.KindInvalidRequest, "this path takes %s", allow))
	}
}

// HTTPServer returns an HTTP server for one listener with the bounds of s:
// header, body and idle timeouts, the size of send buffers, the number of
// connections. h is the Handler with the middleware in front of it. connContext
// is called for each connection; it may be nil. The caller sets TLS, serves and
// shuts it down.
func (s *Server) HTTPServer(h http.Handler, connContext func(context.Context, net.Conn) context.Context) *http.Server {
	errorLog, _ := zap.NewStdLogAt(s.log.Named("http"), zap.DebugLevel) // the level is valid
	arrivals := s.newArrivals()
	return &http.Server{
		Handler:                      withBodyDeadline(h),
		DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout:            readHeaderTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               maxHeaderBytes,
		ErrorLog:                     errorLog,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			ctx = arrivals.connected(ctx, c)
			if connContext != nil {
				ctx = connContext(ctx, c)
			}
			return ctx
		},
		ConnState: func(c net.Conn, state http.ConnState) {
			if state == http.StateClosed || state == http.StateHijacked {
				arrivals.closed(c)
			}
		},
	}
}

// fail answers a request with an error. It neither reads nor waits for the rest
// of the request's body: the client gets the answer at once, even while it
// still sends the body.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, status int, e *api.Error) {
	s.metrics.Error(string(e.Data.Kind))
	if r.ContentLength != 0 {
		control := http.NewResponseController(w)
		// Not every writer supports these; without them the answer waits for
		// the body, which does no harm.
		_ = control.EnableFullDuplex()
		_ = control.SetReadDeadline(time.Now().Add(refusedBodyWait))
		if r.ProtoMajor == 1 {
			w.Header().Set("Connection", "close")
		}
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", strconv.FormatInt(max(1, e.Data.RetryAfterMs/1000), 10))
	}
	s.writeJSON(w, status, appendError(nil, nil, e))
}

// writeJSON writes a whole answer. An error means that the client has
// disconnected.
func (s *Server) writeJSON(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Cache-Control", "no-store")
	if len(body) <= sendBuffer/2 {
		w.WriteHeader(status)
		_, _ = w.Write(body)
		return
	}
	// This is more than the kernel buffers: a client that does not read must
	// not hold the answer forever.
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Now().Add(s.limits.WriteTimeout()))
	w.WriteHeader(status)
	_, _ = w.Write(body)
	_ = control.Flush()
	_ = control.SetWriteDeadline(time.Time{})
}

// writeAnswer works like writeJSON, and calls sent afterwards.
func (s *Server) writeAnswer(w http.ResponseWriter, status int, body []byte, sent func(ok bool)) {
	s.writeJSON(w, status, body)
	if sent != nil {
		sent(http.NewResponseController(w).Flush() == nil) // bytes in a buffer have not been written
	}
}

// statusOf returns the HTTP status of an error that is answered instead of a stream.
func statusOf(e *api.Error) int {
	switch e.Data.Kind {
	case api.KindParseError, api.KindInvalidRequest, api.KindDuplicateID, api.KindInvalidParams, api.KindInvalidCursor:
		return http.StatusBadRequest
	case api.KindUnauthorized:
		return http.StatusUnauthorized
	case api.KindForbidden:
		return http.StatusForbidden
	case api.KindFrameTooLarge:
		return http.StatusRequestEntityTooLarge
	case api.KindCursorAhead, api.KindLogChanged:
		return http.StatusConflict
	case api.KindCursorExpired:
		return http.StatusGone
	case api.KindUnavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

package mockmodel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// maxRequestBytes bounds the body of a request. A long conversation with all of
// an agent's tools is well below 1 MiB.
const maxRequestBytes = 64 << 20

// Options of a server. The zero value listens on a free port and logs nothing.
type Options struct {
	// Port on 127.0.0.1; 0 = a free one.
	Port int
	// Log gets one line of JSON per request; nil = no log. Each line is one
	// Write, one at a time.
	Log io.Writer
}

// Server is a running model. Its methods may be called from any number of
// goroutines. Close it when done.
type Server struct {
	http      *http.Server
	address   string
	served    chan struct{}
	ids       atomic.Int64
	requests  atomic.Int64
	streaming atomic.Int64

	logging sync.Mutex // guards log
	log     io.Writer
}

// Start listens on 127.0.0.1 and serves until Close.
func Start(o Options) (*Server, error) {
	listener, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", o.Port))
	if err != nil {
		return nil, fmt.Errorf("mock model: %w", err)
	}
	s := &Server{address: listener.Addr().String(), served: make(chan struct{}), log: o.Log}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(listener) // always ErrServerClosed, by Close
	}()
	return s, nil
}

// URL returns the server's address without a path: http://127.0.0.1:PORT.
func (s *Server) URL() string { return "http://" + s.address }

// Requests returns the number of requests so far.
func (s *Server) Requests() int64 { return s.requests.Load() }

// Streaming returns how many answers are streaming now. A request that its
// agent has dropped does not count.
func (s *Server) Streaming() int64 { return s.streaming.Load() }

// Close cuts every connection and returns when the server has ended. Another
// Close does nothing.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.served
	return err
}

// api reads and writes one model API.
type api struct {
	name string
	// read makes the question from a request's body.
	read func(body []byte) (exchange, error)
	// stream writes the answer in pieces, whole returns it in one piece.
	stream func(w *events, x exchange, r reply) error
	whole  func(x exchange, r reply) any
	// fail streams the error of an overloaded model; nil = the API has it as an HTTP
	// status.
	fail func(w *events, x exchange, r reply) error
}

// overloadedText is what an overloaded model says.
const overloadedText = "The mock model is overloaded."

// exchange is one decoded request.
type exchange struct {
	question
	model    string
	streamed bool
	id       func(prefix string) string
}

// route chooses the API by the end of the path: agents add their own prefixes.
func route(path string) (a api, streamed, ok bool) {
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return chatAPI, false, true
	case strings.HasSuffix(path, "/responses"):
		return responsesAPI, false, true
	case strings.HasSuffix(path, "/messages"):
		return messagesAPI, false, true
	case strings.HasSuffix(path, ":generateContent"):
		return geminiAPI, false, true
	case strings.HasSuffix(path, ":streamGenerateContent"):
		return geminiAPI, true, true
	}
	return api{}, false, false
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	a, streamed, ok := route(r.URL.Path)
	switch {
	case r.Method == http.MethodHead:
		return
	case strings.HasSuffix(r.URL.Path, "/models"):
		writeJSON(w, map[string]any{"object": "list", "data": []any{
			map[string]any{"id": "mock-1", "object": "model", "created": 1, "owned_by": "mock"},
		}, "models": []any{}})
		return
	case strings.HasSuffix(r.URL.Path, "/count_tokens"):
		writeJSON(w, map[string]any{"input_tokens": usageIn})
		return
	case strings.HasSuffix(r.URL.Path, ":countTokens"):
		writeJSON(w, map[string]any{"totalTokens": usageIn})
		return
	case !ok || r.Method != http.MethodPost:
		refuse(w, http.StatusNotFound, "the mock model has no "+r.Method+" "+r.URL.Path)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBytes))
	if err != nil {
		refuse(w, http.StatusRequestEntityTooLarge, err.Error())
		return
	}
	x, err := a.read(body)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	x.streamed = x.streamed || streamed
	x.id = func(prefix string) string { return fmt.Sprintf("%s_%06d", prefix, s.ids.Add(1)) }
	answer := x.answer()
	s.note(r, a.name, len(body), x, answer)
	if answer.overloaded && (a.fail == nil || !x.streamed) {
		refuseAs(w, http.StatusServiceUnavailable, "overloaded_error", overloadedText)
		return
	}
	if !x.streamed {
		writeJSON(w, a.whole(x, answer))
		return
	}
	s.streaming.Add(1)
	defer s.streaming.Add(-1)
	out := &events{w: w, flush: http.NewResponseController(w), ctx: r.Context()}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	stream := a.stream
	if answer.overloaded {
		stream = a.fail
	}
	// An error means that the client has hung up, so no one can receive it.
	_ = stream(out, x, answer)
}

// note writes the request's line to the log.
func (s *Server) note(r *http.Request, name string, bytes int, x exchange, answer reply) {
	if s.log == nil {
		return
	}
	tools := make([]string, len(x.tools))
	for i, t := range x.tools {
		tools[i] = t.full()
	}
	line := map[string]any{
		"time": time.Now().UTC().Format(time.RFC3339Nano), "api": name, "path": r.URL.Path, "bytes": bytes, "model": x.model,
		"said": x.said, "beside": x.besides, "earlier": len(x.earlier), "after_tool": x.afterTool, "tools": tools, "answer": answer.whole(),
	}
	if answer.call != nil {
		line["call"] = answer.call.tool.full()
		line["args"] = answer.call.args
	}
	if x.script != nil {
		line["results"] = x.script.results
	}
	b, err := json.Marshal(line)
	if err != nil {
		return
	}
	s.logging.Lock()
	defer s.logging.Unlock()
	_, _ = s.log.Write(append(b, '\n'))
}

// events writes Server-Sent Events.
type events struct {
	w     io.Writer
	flush *http.ResponseController
	ctx   context.Context
}

// send writes one event; name "" = an event without a name.
func (e *events) send(name string, data any) error {
	b, err := json.Marshal(data)
	if err != nil {
		return err
	}
	return e.line(name, b)
}

func (e *events) line(name string, data []byte) error {
	if name != "" {
		name = "event: " + name + "\n"
	}
	if _, err := fmt.Fprintf(e.w, "%sdata: %s\n\n", name, data); err != nil {
		return err
	}
	return e.flush.Flush()
}

// each sends the pieces of a text with the reply's pause after each.
func (e *events) each(pieces []string, pause time.Duration, send func(piece string) error) error {
	for _, piece := range pieces {
		if err := send(piece); err != nil {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-e.ctx.Done():
			timer.Stop()
			return context.Cause(e.ctx)
		}
	}
	return nil
}

func writeJSON(w http.ResponseWriter, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b)
}

func refuse(w http.ResponseWriter, status int, message string) {
	refuseAs(w, status, "invalid_request_error", message)
}

func refuseAs(w http.ResponseWriter, status int, kind, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": message}})
}

// errBody means that the body is not JSON of the API.
var errBody = errors.New("the body is not what this API takes")

// decode reads a body and ignores unknown members.
func decode(body []byte, into any) error {
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%w: %w", errBody, err)
	}
	return nil
}

// Package receiver is where webhooks arrive in measurements: in a process of its own,
// or in that of the measure, where one clock counts.
//
//	POST /hook       a webhook
//	GET  /first      the first webhook since the last reset: a Request
//	GET  /until?n=N  answers when N different webhooks have come: Counts
//	POST /reset      forgets everything
package receiver

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/seed82539d15/holon/internal/bench/baseline"
)

// HeaderID is the header by which webhooks are told apart.
const HeaderID = "Webhook-Id"

// Request is a webhook as it arrived, without the headers that every request has.
type Request struct {
	Header http.Header `json:"header"`
	Body   []byte      `json:"body"`
}

// Counts is what has come since the last reset.
type Counts struct {
	Requests    int `json:"requests"`
	Distinct    int `json:"distinct"`    // by HeaderID
	Connections int `json:"connections"` // that carried webhooks
	// LastNew is when the newest webhook with an id of its own came.
	LastNew time.Time `json:"last_new"`
}

// Receiver is a handler that accepts every webhook. Make it with New. Its methods may
// be called from many goroutines.
type Receiver struct {
	mux     *http.ServeMux
	arrived func(at time.Time, r Request)

	mu     sync.Mutex
	counts Counts
	seen   map[string]bool
	used   map[net.Conn]bool // connections that carried webhooks
	first  *Request
	more   map[int]chan struct{} // by the number of different webhooks that is waited for
}

// New makes a receiver. It calls arrived, if that is not nil, for each webhook before
// it answers; at is the moment at which its headers had been read.
func New(arrived func(at time.Time, r Request)) *Receiver {
	r := &Receiver{mux: http.NewServeMux(), arrived: arrived}
	r.forget()
	r.mux.HandleFunc("POST /hook", r.hook)
	r.mux.HandleFunc("GET /first", r.sample)
	r.mux.HandleFunc("GET /until", r.until)
	r.mux.HandleFunc("POST /reset", func(w http.ResponseWriter, _ *http.Request) {
		r.forget()
		w.WriteHeader(http.StatusNoContent)
	})
	return r
}

// Run runs the receiver as a separate program.
func Run(ctx context.Context, _ []string, in io.Reader, out io.Writer) error {
	r := New(nil)
	return baseline.Serve(ctx, in, out, func(l net.Listener) error {
		server := &http.Server{Handler: r, ConnContext: WithConn}
		return server.Serve(l)
	})
}

type connKey struct{}

// WithConn returns the context for http.Server.ConnContext: without it connections are not counted.
func WithConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// ServeHTTP implements http.Handler.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) { r.mux.ServeHTTP(w, req) }

func (r *Receiver) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts, r.seen, r.used, r.first, r.more = Counts{}, map[string]bool{}, map[net.Conn]bool{}, nil, map[int]chan struct{}{}
}

func (r *Receiver) hook(w http.ResponseWriter, req *http.Request) {
	at := time.Now()
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // it was cut
	}
	got := Request{Header: req.Header, Body: body}
	r.count(at, got, req)
	if r.arrived != nil {
		r.arrived(at, got)
	}
	w.WriteHeader(http.StatusNoContent)
}

func (r *Receiver) count(at time.Time, got Request, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first == nil {
		r.first = &got
	}
	r.counts.Requests++
	if c, ok := req.Context().Value(connKey{}).(net.Conn); ok && !r.used[c] {
		r.used[c] = true
		r.counts.Connections++
	}
	id := got.Header.Get(HeaderID)
	if r.seen[id] {
		return
	}
	r.seen[id] = true
	r.counts.Distinct++
	r.counts.LastNew = at
	if more := r.more[r.counts.Distinct]; more != nil {
		close(more)
		delete(r.more, r.counts.Distinct)
	}
}

func (r *Receiver) sample(w http.ResponseWriter, _ *http.Request) {
	r.mu.Lock()
	first := r.first
	r.mu.Unlock()
	if first == nil {
		http.Error(w, "nothing has come", http.StatusNotFound)
		return
	}
	_ = json.NewEncoder(w).Encode(first) // the client may have disconnected
}

func (r *Receiver) until(w http.ResponseWriter, req *http.Request) {
	n, err := strconv.Atoi(req.URL.Query().Get("n"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	if r.counts.Distinct < n {
		more := r.more[n]
		if more == nil {
			more = make(chan struct{})
			r.more[n] = more
		}
		r.mu.Unlock()
		select {
		case <-more:
		case <-req.Context().Done():
			return
		}
		r.mu.Lock()
	}
	counts := r.counts
	r.mu.Unlock()
	_ = json.NewEncoder(w).Encode(counts) // the client may have disconnected
}

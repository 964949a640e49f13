package hooks

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/seed82539d15/holon/inbox"
)

// Path is where webhooks arrive: the name of the source follows.
const Path = "/hooks/"

// The bounds of webhooks.
const (
	MaxBodyBytes = 1 << 20

	perSecond = 20 // of one source
	burst     = 200

	maxBodies = 64 // in memory at once, of all sources
	// maxBodiesOfOne leaves room for the other sources while somebody who knows
	// the name of one sends slow bodies to it.
	maxBodiesOfOne = 32
	// maxParsed is how many bodies are parsed or evaluated at once. A parsed body
	// takes up to 30 times its size.
	maxParsed = 4

	bodyFor = 10 * time.Second // how long a sender may take for a body

	// roomFor is how long a webhook waits for room. A sender such as GitHub sends
	// dozens at once and repeats none. The limits of the rates bound how many wait.
	roomFor = 2 * time.Second
)

// Config has what a Handler needs.
type Config struct {
	Sources []Source
	Deliver Deliverer
	Store   Store            // nil = after a restart another repository of a source can come first
	Log     *zap.Logger      // nil = none
	Now     func() time.Time // nil = time.Now
}

// Handler serves POST /hooks/NAME. It is safe for use by many goroutines, starts
// none, and needs no end.
type Handler struct {
	deliver Deliverer
	log     *zap.Logger
	now     func() time.Time
	sources map[string]*door
	bodies  chan struct{}
	parsed  chan struct{}
	filters filters
	warn    rate.Sometimes // about what could not be stored: a full disk has no room for a line each
	bodyFor time.Duration
	roomFor time.Duration
}

// door is a source with its bounds and its counts.
type door struct {
	*Compiled
	limit  *rate.Limiter
	bodies chan struct{}
	warn   rate.Sometimes // about wrong signatures, which anybody can send
	fails  rate.Sometimes // about expressions

	mu    sync.Mutex
	stats Stats
}

// Stats is what happened to the webhooks of one source since the server started.
type Stats struct {
	Answers    map[int]int64 // by status
	Stored     int64         // items, of all inboxes
	Duplicates int64
	Filtered   int64 // by the filter of the source or of a subscription
	Failed     int64 // expressions
}

// New returns a handler. The error names the source and is a *KeyError.
func New(cfg Config) (*Handler, error) {
	h := &Handler{
		deliver: cfg.Deliver, log: cfg.Log, now: cfg.Now, sources: map[string]*door{},
		bodies: make(chan struct{}, maxBodies), parsed: make(chan struct{}, maxParsed), bodyFor: bodyFor, roomFor: roomFor,
		warn: rate.Sometimes{First: 1, Interval: time.Minute},
	}
	if h.log == nil {
		h.log = zap.NewNop()
	}
	if h.now == nil {
		h.now = time.Now
	}
	for _, s := range cfg.Sources {
		c, err := Compile(s)
		if err != nil {
			return nil, fmt.Errorf("source %s: %w", s.Name, err)
		}
		c.repository.store, c.runs.store, c.runs.now = cfg.Store, cfg.Store, h.now
		if h.sources[s.Name] != nil {
			return nil, fmt.Errorf("source %s: %w", s.Name, keyError("name", "it is there twice"))
		}
		h.sources[s.Name] = &door{
			Compiled: c, limit: rate.NewLimiter(perSecond, burst), bodies: make(chan struct{}, maxBodiesOfOne),
			warn: rate.Sometimes{First: 1, Interval: time.Minute}, fails: rate.Sometimes{First: 1, Interval: time.Minute}, stats: Stats{Answers: map[int]int64{}},
		}
	}
	return h, nil
}

// Stats returns the counts of every source.
func (h *Handler) Stats() map[string]Stats {
	all := make(map[string]Stats, len(h.sources))
	for name, d := range h.sources {
		d.mu.Lock()
		s := d.stats
		s.Answers = maps.Clone(s.Answers)
		d.mu.Unlock()
		all[name] = s
	}
	return all
}

// answer is what a sender is told.
type answer struct {
	status  int
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

func refuse(status int, reason, format string, args ...any) *answer {
	return &answer{status, reason, fmt.Sprintf(format, args...)}
}

// ServeHTTP answers a webhook.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, ok := strings.CutPrefix(r.URL.Path, Path)
	d := h.sources[name]
	if !ok || d == nil {
		write(w, http.StatusNotFound, refuse(0, "unknown_source", "there is no such source; webhooks go to %sNAME, where [sources.NAME] is in the configuration", Path))
		return
	}
	t, bad := h.take(d, w, r)
	d.count(t, bad)
	if bad == nil {
		write(w, http.StatusAccepted, t)
		return
	}
	switch bad.status {
	case http.StatusMethodNotAllowed:
		w.Header().Set("Allow", http.MethodPost)
	case http.StatusTooManyRequests:
		w.Header().Set("Retry-After", "1")
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "5")
	case http.StatusRequestTimeout:
		w.Header().Set("Connection", "close")
	}
	write(w, bad.status, bad)
}

// count adds one webhook to the counts of its source.
func (d *door) count(t totals, bad *answer) {
	status := http.StatusAccepted
	if bad != nil {
		status = bad.status
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stats.Answers[status]++
	d.stats.Stored += int64(t.Stored)
	d.stats.Duplicates += int64(t.Duplicates)
	d.stats.Filtered += int64(t.filtered)
	d.stats.Failed += int64(t.failed)
}

// take receives, verifies and stores one webhook. Cheap checks come before
// expensive ones, and the body is not parsed before it is verified.
func (h *Handler) take(d *door, w http.ResponseWriter, r *http.Request) (t totals, bad *answer) {
	if bad = d.admit(r); bad != nil {
		return t, bad
	}
	room := time.NewTimer(h.roomFor)
	defer room.Stop()
	for _, bodies := range []chan struct{}{d.bodies, h.bodies} {
		select {
		case bodies <- struct{}{}:
			defer func() { <-bodies }()
		case <-room.C:
			return t, busy()
		case <-r.Context().Done():
			return t, busy()
		}
	}
	body, bad := h.readBody(w, r)
	if bad != nil {
		return t, bad
	}
	p, ok := d.verify.verify(r.Header, body, h.now())
	if !ok {
		d.warn.Do(func() {
			h.log.Warn("the signature of a webhook is wrong: its sender has another secret, or it was changed on the way", zap.String("source", d.name))
		})
		return t, refuse(http.StatusUnauthorized, "signature", "the signature is wrong or absent: check %s and the secret of the source", d.verify.about())
	}
	return h.accept(r, d, body, p)
}

func busy() *answer {
	return refuse(http.StatusServiceUnavailable, "overloaded", "the server receives too many webhooks at once; send it again")
}

// accept stores a verified body.
func (h *Handler) accept(r *http.Request, d *door, body []byte, p proof) (t totals, bad *answer) {
	// A sender that hangs up must not decide whether a commit happens.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), deliverFor)
	defer cancel()
	subs, err := h.deliver.Subscribed(ctx, d.name)
	if err != nil {
		h.log.Warn("the subscriptions of a source could not be read", zap.String("source", d.name), zap.Error(err))
		return t, unstored(max(statusOf(err), http.StatusInternalServerError))
	}
	list, bad := h.evaluate(ctx, r.Header, d, body, p, subs, &t)
	if bad != nil {
		return t, bad
	}
	h.store(ctx, d.Compiled, list, &t)
	if t.status != 0 {
		return t, unstored(t.status)
	}
	return t, nil
}

// evaluate makes the items of a body, one for each inbox. Only few bodies are
// parsed and evaluated at once; what waits for that has its slot among the
// bodies.
func (h *Handler) evaluate(ctx context.Context, header http.Header, d *door, body []byte, p proof, subs []inbox.Subscription, t *totals) ([]target, *answer) {
	select {
	case h.parsed <- struct{}{}:
		defer func() { <-h.parsed }()
	case <-ctx.Done():
		return nil, busy()
	}
	m, err := d.item(header, body, p)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "body", "the body cannot be used: %v", err)
	}
	if t.failed += len(m.failed); t.failed > 0 {
		d.fails.Do(func() {
			h.log.Info("expressions of a source failed; the metrics count all of them", zap.String("source", d.name), zap.Errors("errors", m.failed))
		})
	}
	if m.drop {
		if d.filter != nil {
			t.filtered++
		}
		return nil, nil
	}
	if err := m.item.Check("item"); err != nil {
		h.log.Error("a webhook became an item that is not valid", zap.String("source", d.name), zap.Error(err))
		return nil, unstored(http.StatusInternalServerError)
	}
	return h.targets(m, subs, t), nil
}

func unstored(status int) *answer {
	if status == http.StatusServiceUnavailable {
		return refuse(status, "unavailable", "not every inbox could store it now; send it again: what is stored is not stored twice")
	}
	return refuse(status, "internal", "not every inbox could store it; the server's log says why. Send it again: what is stored is not stored twice")
}

// write writes an answer.
func write(w http.ResponseWriter, status int, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		status, raw = http.StatusInternalServerError, []byte(`{}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
	w.Header().Set("Content-Length", strconv.Itoa(len(raw)))
	w.WriteHeader(status)
	_, _ = w.Write(raw) // an error means that the sender has disconnected
}

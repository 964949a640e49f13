package api

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/api/logring"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/notify"
)

// Services is what methods change and read. Engine, Reader, Head and LogID are
// needed; the rest has defaults. Inboxes and InboxReader go together.
type Services struct {
	Engine Engine
	Reader Reader
	Head   func() int64 // the newest seq that has been published
	LogID  string

	Children Children // nil: the methods of child turns are unavailable
	Workers  Workers  // nil: the methods of workers are unavailable
	Inboxes  Inboxes  // nil: the methods of inboxes and timers are unavailable
	Sources  Sources  // nil: no source is configured
	Cursors  Cursors  // nil: the methods of cursors are unavailable, and streams know no consumer
	Tokens   Tokens   // nil: the methods of named tokens are unavailable
	Pruner   Pruner   // nil: holon/prune is unavailable
	// BindAccess makes the token that a worker gets with its claim end with the worker's
	// own one; nil: it does not.
	BindAccess func(token string, alive context.Context)
	// Deliveries is delivery to bridges; nil: the methods of bridges, subscriptions and
	// deliveries are unavailable.
	Deliveries Deliveries
	Worktrees  Worktrees     // nil: summaries say nothing of git
	Logs       *logring.Ring // nil: holon/logStream has no lines
	Log        *zap.Logger   // nil: nothing is logged
	Streams    func() int    // how many streams are open; nil: 0
	// Directory is where an agent works for a thread with this cwd; "" = nowhere that
	// is known. It must not block. nil: in the cwd.
	Directory func(agent, cwd string) string
	// Memory is how much memory the processes of an agent use, in bytes; 0 = none, or not
	// known. It may take a moment, so only agent/list asks. nil: not known.
	Memory func(agent string) int64

	// InboxReader reads inboxes. It is needed if there are Inboxes.
	InboxReader inbox.Reader

	// ChildAgents are, by agent, the agents that its own tools may start child threads
	// with. One that is missing may start them with itself.
	ChildAgents map[string][]string
	// WorkIn are, by agent, the threads in which it may start outside work; "*" stands for
	// every thread.
	WorkIn map[string][]string

	Version       string
	StartedAt     time.Time // zero: now
	DefaultThread string    // serve --default-thread; "" = none
	Console       bool      // browsers get the console from this server
	Limits        Limits
}

// API is the table of methods over its services. Every entry point calls it:
// the transports of package rpc, and any adapter that speaks another protocol
// to the same engine. New starts nothing. All methods may be called from many
// goroutines.
type API struct {
	Services
	startedAt notify.Time
	hasLogs   bool
	methods   []Method
	byName    map[string]*Method
	status    statusCache
	parents   parents
	summaries summaryCache
	titles    titles
	open      context.Context // ends with Close; requests that wait end with it
	shut      context.CancelFunc
}

// New makes the table. It returns an error if a required service is missing.
func New(s Services) (*API, error) {
	if s.Engine == nil || s.Reader == nil || s.Head == nil || s.LogID == "" {
		return nil, errors.New("the methods need an engine, a reader, a head and a log id")
	}
	if (s.Inboxes == nil) != (s.InboxReader == nil) {
		return nil, errors.New("inboxes need both Inboxes and an InboxReader")
	}
	a := &API{Services: s, hasLogs: s.Logs != nil}
	if a.Log == nil {
		a.Log = zap.NewNop()
	}
	if a.StartedAt.IsZero() {
		a.StartedAt = time.Now()
	}
	if a.Logs == nil {
		a.Logs = logring.New(1)
	}
	if a.Streams == nil {
		a.Streams = func() int { return 0 }
	}
	if a.Directory == nil {
		a.Directory = func(_, cwd string) string { return cwd }
	}
	if a.Memory == nil {
		a.Memory = func(string) int64 { return 0 }
	}
	a.Limits, a.startedAt = a.Limits.withDefaults(), notify.TimeOf(a.StartedAt)
	a.open, a.shut = context.WithCancel(context.Background())
	a.methods = (&Handlers{api: a}).methods()
	a.byName = make(map[string]*Method, len(a.methods))
	for i := range a.methods {
		a.byName[a.methods[i].Name] = &a.methods[i]
	}
	return a, nil
}

// Methods returns the table, in the order of the documentation. It never changes.
func (a *API) Methods() []Method { return a.methods }

// Info returns the server's name and version.
func (a *API) Info() PeerInfo { return PeerInfo{Name: "holon", Version: a.Version} }

// Error maps an error to the one that the client receives. An error that is not
// mapped becomes internal, with a correlation id, and its cause goes to the
// log.
func (a *API) Error(what string, err error) *Error { return mapError(a.Log, what, err) }

// Close ends the requests that wait for work. Closing twice is fine.
func (a *API) Close() { a.shut() }

// Conn is the connection that a request came on, for methods that live on one.
type Conn interface {
	// Initialize reports whether this is the first call.
	Initialize() bool
	// Subscribe replaces the subscription once the answer is written.
	Subscribe(at *StreamStart)
	// Unsubscribe ends the subscription and returns the seq that it reached.
	Unsubscribe() int64
	// Follow begins a holon/logStream once its answer is written.
	Follow(streamID string, position int64) error
	// Unfollow ends a holon/logStream and reports whether there was one.
	Unfollow(streamID string) bool
}

type connKey struct{}

// WithConn returns the context of the requests of a connection.
func WithConn(ctx context.Context, c Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// connOf returns the connection that a request came on, nil if there is none.
func connOf(ctx context.Context) Conn {
	c, _ := ctx.Value(connKey{}).(Conn)
	return c
}

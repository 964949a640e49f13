package rpc

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/rpc/logring"
	"github.com/seed82539d15/holon/rpc/metrics"
)

// Config is what a Server is made of. Engine, Reader, Tail and LogID are
// needed; the rest has defaults.
type Config struct {
	Engine Engine
	Reader Reader
	Tail   *notify.Tail
	LogID  string

	Workers Workers       // nil: the methods of workers are unavailable
	Pruner  Pruner        // nil: holon/prune is unavailable
	Logs    *logring.Ring // nil: holon/logStream has no lines
	Log     *zap.Logger   // nil: nothing is logged
	Metrics http.Handler  // serves /metrics; nil: 404
	// Ready says why the server cannot commit at the moment, for /readyz; nil:
	// it always can. A draining engine is not ready whatever Ready says.
	Ready func(ctx context.Context) error

	Version       string
	StartedAt     time.Time // zero: now
	DefaultThread string    // serve --default-thread; "" = none
	Limits        Limits
}

// Server is the wire side of the control plane. New starts nothing; its
// goroutines are those of the connections it serves, and Close ends them.
// All methods may be called from many goroutines.
type Server struct {
	cfg       Config
	limits    Limits
	log       *zap.Logger
	logs      *logring.Ring
	startedAt notify.Time
	methods   *registry
	status    statusCache
	metrics   *metrics.Set
	counters  map[string]metrics.Method

	streams     streamSet
	connections atomic.Int64

	closeOnce sync.Once
	open      context.Context // ends with closing, for requests that wait
	shut      context.CancelFunc
	closing   chan struct{} // closed by Close, after the three below are set
	notice    Closing
	lastHead  int64     // what streams are to reach before they close
	until     time.Time // when they close without having reached it
}

// New makes a server. It returns an error if cfg lacks something.
func New(cfg Config) (*Server, error) {
	if cfg.Engine == nil || cfg.Reader == nil || cfg.Tail == nil || cfg.LogID == "" {
		return nil, errors.New("rpc needs an engine, a reader, a tail and a log id")
	}
	if cfg.Log == nil {
		cfg.Log = zap.NewNop()
	}
	if cfg.StartedAt.IsZero() {
		cfg.StartedAt = time.Now()
	}
	s := &Server{
		cfg: cfg, limits: cfg.Limits.withDefaults(), log: cfg.Log, logs: cfg.Logs,
		startedAt: notify.TimeOf(cfg.StartedAt), closing: make(chan struct{}),
	}
	s.open, s.shut = context.WithCancel(context.Background())
	if s.logs == nil {
		s.logs = logring.New(1)
	}
	s.streams.init()
	s.methods = newRegistry((&Handlers{server: s}).methods())
	s.metrics = metrics.New(func() float64 { return float64(s.streams.lag(s.cfg.Tail.Head())) })
	s.counters = make(map[string]metrics.Method, len(s.methods.list))
	for _, m := range s.methods.list {
		s.counters[m.Name] = s.metrics.Method(m.Name)
	}
	return s, nil
}

// Collector returns the server's metrics, for the registry of cmd.
func (s *Server) Collector() *metrics.Set { return s.metrics }

// CountError counts an error that was answered in front of the server, by who
// decides who gets in.
func (s *Server) CountError(kind Kind) { s.metrics.Error(string(kind)) }

// Limits returns all bounds with their defaults filled in.
func (s *Server) Limits() Limits { return s.limits }

func (s *Server) info() PeerInfo { return PeerInfo{Name: "holon", Version: s.cfg.Version} }

// isClosing reports whether Close has been called.
func (s *Server) isClosing() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

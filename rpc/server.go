package rpc

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/api/logring"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/rpc/metrics"
	"github.com/seed82539d15/holon/tools"
)

// Config has the services of the methods (New sets Head and Streams itself) and
// Tail, which are required; the rest has defaults.
type Config struct {
	api.Services
	Tail    *notify.Tail
	Metrics http.Handler // serves /metrics; nil: 404
	// Ready returns why the server cannot commit at the moment, for /readyz;
	// nil: it always can. A draining engine is never ready.
	Ready func(ctx context.Context) error
}

// Server is the wire side of the control plane. New starts nothing; its
// goroutines are those of the connections it serves, and Close ends them.
// All methods may be called from many goroutines.
type Server struct {
	cfg      Config
	api      *api.API
	limits   api.Limits
	log      *zap.Logger
	logs     *logring.Ring
	metrics  *metrics.Set
	counters map[string]metrics.Method
	tools    *tools.Server

	streams     streamSet
	chunks      *notify.Budget // chunks that streams are writing
	connections atomic.Int64
	shares      shares // of connections
	unread      shares // of bytes in answers that were not written: see bounded

	closeOnce sync.Once
	closing   chan struct{} // closed by Close, after the three below are set
	notice    Closing
	lastHead  int64     // the seq that streams are to reach before they close
	until     time.Time // when they close without having reached it
}

// New makes a server. It returns an error if a required part of cfg is missing.
func New(cfg Config) (*Server, error) {
	if cfg.Tail == nil {
		return nil, errors.New("rpc needs a tail")
	}
	s := &Server{closing: make(chan struct{})}
	s.streams.init()
	cfg.Head, cfg.Streams = cfg.Tail.Head, s.streams.len
	var err error
	if s.api, err = api.New(cfg.Services); err != nil {
		return nil, err
	}
	s.cfg, s.limits, s.log, s.logs = cfg, s.api.Limits, s.api.Log, s.api.Logs
	s.chunks = notify.NewBudget(s.limits.ReplayBytes)
	s.shares = shares{most: s.limits.MaxTokenConnections, of: make(map[string]int)}
	s.unread = shares{most: s.limits.MaxUnreadAnswers, of: make(map[string]int)}
	s.metrics = metrics.New(func() float64 { return float64(s.streams.lag(cfg.Tail.Head())) }, func() float64 { return float64(s.chunks.Used()) })
	s.counters = make(map[string]metrics.Method, len(s.api.Methods()))
	for _, m := range s.api.Methods() {
		s.counters[m.Name] = s.metrics.Method(m.Name)
	}
	s.tools = tools.New(tools.Config{Caller: toolCaller{s}, Version: cfg.Version, Log: s.log.Named("tools")})
	return s, nil
}

// API returns the table of methods, for other entry points.
func (s *Server) API() *api.API { return s.api }

// Collector returns the server's metrics, for the registry of cmd.
func (s *Server) Collector() *metrics.Set { return s.metrics }

// CountError counts an error that the admission gate in front of the server
// answered.
func (s *Server) CountError(kind api.Kind) { s.metrics.Error(string(kind)) }

// Limits returns all bounds with their defaults filled in.
func (s *Server) Limits() api.Limits { return s.limits }

// isClosing reports whether Close has been called.
func (s *Server) isClosing() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

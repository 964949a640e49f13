package daemon

import (
	"context"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"

	"github.com/seed82539d15/holon/persist"
)

// storeMetrics are the metrics of the appender.
type storeMetrics struct {
	log *zap.Logger

	events  prometheus.Counter
	bytes   prometheus.Counter
	seconds prometheus.Histogram
	batch   prometheus.Histogram
	units   prometheus.Counter
	refused *prometheus.CounterVec
}

func newStoreMetrics(log *zap.Logger) *storeMetrics {
	m := &storeMetrics{
		log:    log,
		events: prometheus.NewCounter(prometheus.CounterOpts{Name: "holon_appended_events_total", Help: "Events appended to the log."}),
		bytes:  prometheus.NewCounter(prometheus.CounterOpts{Name: "holon_appended_bytes_total", Help: "Bytes of params appended to the log."}),
		units:  prometheus.NewCounter(prometheus.CounterOpts{Name: "holon_appended_units_total", Help: "Changes committed; several share a transaction."}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "holon_commit_seconds", Help: "Time of a transaction, fsync included.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 5}}),
		batch: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "holon_commit_events", Help: "Events in a transaction.",
			Buckets: []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "holon_append_refused_total", Help: "Changes that were not committed, by kind."}, []string{"kind"}),
	}
	for _, kind := range persist.RefusedKinds {
		m.refused.WithLabelValues(kind) // so that a rate sees the first one
	}
	return m
}

func (m *storeMetrics) observer() persist.Observer {
	disk := diskLog{log: m.log}
	return persist.Observer{
		Committed: func(units, events, bytes int, took time.Duration) {
			m.units.Add(float64(units))
			m.events.Add(float64(events))
			m.bytes.Add(float64(bytes))
			m.batch.Observe(float64(events))
			m.seconds.Observe(took.Seconds())
			disk.stores()
		},
		Refused: func(kind string) {
			m.refused.WithLabelValues(kind).Inc()
			disk.refuses(kind)
		},
		Panicked: func(threadIDs []string, err *persist.PanicError) {
			m.log.Error("the store panicked", zap.Strings("thread_ids", threadIDs), zap.Any("panic", err.Value), zap.ByteString("stack", err.Stack))
		},
	}
}

// diskLog says once when the disk takes nothing any more, and when it does again. The
// goroutine of the appender uses it.
type diskLog struct {
	log  *zap.Logger
	kind string // why it takes nothing; "" = it does
}

func (d *diskLog) refuses(kind string) {
	if d.kind == kind {
		return
	}
	switch kind {
	case "storage_full":
		d.log.Error("the disk is full: nothing is stored, and no turn goes on, until there is space; then the server continues by itself")
	case "storage_failed":
		d.log.Error("the disk has failed: nothing is stored any more; check it, then restart the server")
	default:
		return
	}
	d.kind = kind
}

func (d *diskLog) stores() {
	if d.kind != "" {
		d.log.Warn("the disk takes what happens again: the server continues")
		d.kind = ""
	}
}

// metricsHandler serves /metrics.
func (d *daemon) metricsHandler(m *storeMetrics) http.Handler {
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	reg := prometheus.NewRegistry()
	reg.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.events, m.bytes, m.units, m.seconds, m.batch, m.refused,
		gauge("holon_storage_ok", "1 if changes are committed, 0 while the disk is full, or after it has failed.", func() float64 {
			if d.store.Healthy() != nil {
				return 0
			}
			return 1
		}),
		gauge("holon_append_queue_units", "Changes that wait for a transaction.", func() float64 { return float64(d.store.QueueDepth()) }),
		gauge("holon_tail_bytes", "Bytes of the newest events in memory.", func() float64 { return float64(d.store.Tail().Bytes()) }),
		gauge("holon_log_copy_bytes", "Bytes of large events in memory, of which streams read parts.", func() float64 { return float64(d.store.Reader().CopyBytes()) }),
		gauge("holon_latest_seq", "The newest seq of the log.", func() float64 { return float64(d.store.Tail().Head()) }),
		gauge("holon_threads_busy", "Threads that have an actor.", func() float64 { return float64(d.engine.Load().Actors) }),
		gauge("holon_turns_active", "Turns that run.", func() float64 { return float64(d.engine.Load().Active) }),
		gauge("holon_turns_waiting", "Active turns that wait for a person.", func() float64 { return float64(d.engine.Load().Waiting) }),
		gauge("holon_turns_parked", "Active turns without a slot, because they or their agents wait for child turns, or since a restart for a person.", func() float64 { return float64(d.engine.Load().Parked) }),
		gauge("holon_turns_awaited", "Requests that wait for the ends of turns; at most 1,024 do.", func() float64 { return float64(d.engine.Load().Awaiting) }),
		gauge("holon_turns_places", "Slots that are taken; a turn that waits for a person or for child turns has given its own back.", func() float64 { return float64(d.engine.Load().Slots) }),
		gauge("holon_turns_capacity", "Turns that may run at once.", func() float64 { return float64(d.engine.Load().Capacity) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "holon_agent_late_output_total", Help: "What agents said that could not be stored, because their turn or thread had ended."},
			func() float64 { return float64(d.engine.Load().LateOutput) }),
		droppedLines("info", func() int { return d.Stderr.Dropped().Info }), droppedLines("warning", func() int { return d.Stderr.Dropped().Warnings }),
		d.buildInfo(), &oldestWaits{d: d}, &reviewCounts{d: d}, &storeSizes{d: d}, &agentMetrics{d: d}, &inboxSizes{d: d}, &hookMetrics{d: d}, &deliveryMetrics{d.deliveries.service.Stats},
	)
	reg.MustRegister(d.inboxes.collectors()...)
	reg.MustRegister(d.turns.collectors()...)
	if d.wire != nil {
		reg.MustRegister(d.wire.Collector(), &cacheMetrics{d: d})
	}
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{Registry: reg})
}

// droppedLines counts lines of the log at a level.
func droppedLines(level string, n func() int) prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "holon_log_lines_dropped_total", Help: "Lines of the log that were dropped because stderr was not read.", ConstLabels: prometheus.Labels{"level": level},
	}, func() float64 { return float64(n()) })
}

// reviewCounts are the reviews since the start of the server, by where they are.
type reviewCounts struct{ d *daemon }

var descReviews = prometheus.NewDesc("holon_reviews_total", "Ends of turns that have come into review (pending), verdicts, and reviews that nobody decided in time (timeout).", []string{"state"}, nil)

// Describe implements prometheus.Collector.
func (r *reviewCounts) Describe(ch chan<- *prometheus.Desc) { ch <- descReviews }

// Collect implements prometheus.Collector.
func (r *reviewCounts) Collect(ch chan<- prometheus.Metric) {
	for state, n := range r.d.engine.Load().Reviews {
		ch <- prometheus.MustNewConstMetric(descReviews, prometheus.CounterValue, float64(n), state)
	}
}

// storeSizes reads the store once per scrape.
type storeSizes struct{ d *daemon }

var (
	descDatabase = prometheus.NewDesc("holon_database_bytes", "Size of the database file.", nil, nil)
	descWAL      = prometheus.NewDesc("holon_wal_bytes", "Size of the write-ahead log.", nil, nil)
	descQueued   = prometheus.NewDesc("holon_turns_queued", "Turns that are queued.", nil, nil)
	descThreads  = prometheus.NewDesc("holon_threads", "Threads, closed ones included.", nil, nil)
	descFirst    = prometheus.NewDesc("holon_first_seq", "The oldest seq that is kept.", nil, nil)
)

// Describe implements prometheus.Collector.
func (s *storeSizes) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descDatabase, descWAL, descQueued, descThreads, descFirst} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (s *storeSizes) Collect(ch chan<- prometheus.Metric) {
	c, err := s.d.store.Reader().Counts(context.Background())
	if err != nil {
		ch <- prometheus.NewInvalidMetric(descDatabase, err)
		return
	}
	for desc, v := range map[*prometheus.Desc]int64{
		descDatabase: c.DatabaseBytes, descWAL: c.WALBytes, descQueued: c.TurnsQueued, descThreads: c.Threads, descFirst: c.First,
	} {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(v))
	}
}

func pprofMux() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

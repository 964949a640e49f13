package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Set is every collector of one server. Its methods may be called from many
// goroutines. Labels are bounded: methods and kinds come from tables.
type Set struct {
	connections prometheus.Gauge
	unadmitted  prometheus.Gauge
	refused     prometheus.Counter
	displaced   prometheus.Counter
	unaccepted  prometheus.Counter
	streams     *prometheus.GaugeVec
	opened      *prometheus.CounterVec
	closed      *prometheus.CounterVec
	requests    *prometheus.CounterVec
	errors      *prometheus.CounterVec
	seconds     *prometheus.HistogramVec
	dropped     prometheus.Counter
	overtaken   prometheus.Counter
	sent        prometheus.Counter
	inFlight    prometheus.Gauge
	lag         prometheus.GaugeFunc
	chunks      prometheus.GaugeFunc
	all         []prometheus.Collector
}

// New makes the collectors. lag returns how many events the slowest stream is
// behind the head, chunks how many bytes of the log streams hold. Both
// are called when metrics are read.
func New(lag, chunks func() float64) *Set {
	s := &Set{
		connections: prometheus.NewGauge(prometheus.GaugeOpts{Name: "holon_connections", Help: "Open network connections."}),
		unadmitted:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "holon_connections_unadmitted", Help: "Open network connections on which no request has been admitted."}),
		displaced:   prometheus.NewCounter(prometheus.CounterOpts{Name: "holon_connections_displaced_total", Help: "Connections closed before they were admitted because a listener had max_unadmitted_connections."}),
		refused:     prometheus.NewCounter(prometheus.CounterOpts{Name: "holon_connections_refused_total", Help: "Requests answered 503 because max_connections, or the share of their token, was reached."}),
		unaccepted:  prometheus.NewCounter(prometheus.CounterOpts{Name: "holon_accept_errors_total", Help: "Failures to accept a connection, such as for want of descriptors; it is tried again."}),
		streams:     prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "holon_streams", Help: "Open streams by transport."}, []string{"transport"}),
		opened:      prometheus.NewCounterVec(prometheus.CounterOpts{Name: "holon_streams_opened_total", Help: "Streams opened by transport."}, []string{"transport"}),
		closed:      prometheus.NewCounterVec(prometheus.CounterOpts{Name: "holon_streams_closed_total", Help: "Streams ended, by why: left (the client), stalled (a write took too long), torn (the rest of an event could not be read), or the code of stream/closing."}, []string{"why"}),
		requests:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "holon_requests_total", Help: "Requests and notifications executed, by method."}, []string{"method"}),
		errors:      prometheus.NewCounterVec(prometheus.CounterOpts{Name: "holon_errors_total", Help: "Errors answered, by kind."}, []string{"kind"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "holon_request_seconds", Help: "Time from a request's arrival to its answer being ready.",
			Buckets: []float64{.0001, .0005, .001, .0025, .005, .01, .025, .05, .1, .5, 1, 2.5, 10}}, []string{"method"}),
		dropped:   prometheus.NewCounter(prometheus.CounterOpts{Name: "holon_responses_dropped_total", Help: "Response objects from clients that answer nothing that was asked."}),
		overtaken: prometheus.NewCounter(prometheus.CounterOpts{Name: "holon_answers_overtaken_total", Help: "Commands whose connection's stream went past their commit before their answer, which took more than 100 ms."}),
		sent:      prometheus.NewCounter(prometheus.CounterOpts{Name: "holon_stream_bytes_total", Help: "Bytes written to streams."}),
		inFlight:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "holon_requests_in_flight", Help: "Requests on two-way connections that are not answered yet."}),
		lag:       prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "holon_stream_lag_events", Help: "Events that the slowest stream is behind the head of the log."}, lag),
		chunks:    prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "holon_stream_chunk_bytes", Help: "Bytes of the log that streams hold because their readers have not taken them: replay_bytes bounds all but the small chunks of 8 KiB."}, chunks),
	}
	s.all = []prometheus.Collector{s.connections, s.unadmitted, s.refused, s.displaced, s.unaccepted, s.streams, s.opened, s.closed, s.requests, s.errors, s.seconds, s.dropped, s.overtaken, s.sent, s.inFlight, s.lag, s.chunks}
	return s
}

// Describe implements prometheus.Collector.
func (s *Set) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range s.all {
		c.Describe(ch)
	}
}

// Collect implements prometheus.Collector.
func (s *Set) Collect(ch chan<- prometheus.Metric) {
	for _, c := range s.all {
		c.Collect(ch)
	}
}

// ConnectionOpened counts a network connection until ConnectionClosed.
func (s *Set) ConnectionOpened() { s.connections.Inc() }

// ConnectionClosed ends what ConnectionOpened began.
func (s *Set) ConnectionClosed() { s.connections.Dec() }

// Unadmitted adds to the connections that are not admitted.
func (s *Set) Unadmitted(n int) { s.unadmitted.Add(float64(n)) }

// ConnectionRefused counts a request that was refused because max_connections
// was reached.
func (s *Set) ConnectionRefused() { s.refused.Inc() }

// ConnectionDisplaced counts a connection that was closed to make room.
func (s *Set) ConnectionDisplaced() { s.displaced.Inc() }

// AcceptFailed counts a connection that could not be accepted.
func (s *Set) AcceptFailed() { s.unaccepted.Inc() }

// StreamOpened counts a stream.
func (s *Set) StreamOpened(transport string) {
	s.streams.WithLabelValues(transport).Inc()
	s.opened.WithLabelValues(transport).Inc()
}

// StreamClosed ends what StreamOpened began.
func (s *Set) StreamClosed(transport, why string) {
	s.streams.WithLabelValues(transport).Dec()
	s.closed.WithLabelValues(why).Inc()
}

// Method holds the counters of one method, looked up once.
type Method struct {
	requests prometheus.Counter
	seconds  prometheus.Observer
}

// Method returns the counters of a method.
func (s *Set) Method(name string) Method {
	return Method{s.requests.WithLabelValues(name), s.seconds.WithLabelValues(name)}
}

// Done counts an executed request.
func (m Method) Done(took time.Duration) {
	m.requests.Inc()
	m.seconds.Observe(took.Seconds())
}

// Error counts an error by its kind.
func (s *Set) Error(kind string) { s.errors.WithLabelValues(kind).Inc() }

// ResponseDropped counts a response that answers no request.
func (s *Set) ResponseDropped() { s.dropped.Inc() }

// AnswerOvertaken counts a command whose answer the stream did not wait for any longer.
func (s *Set) AnswerOvertaken() { s.overtaken.Inc() }

// Sent counts bytes written to streams.
func (s *Set) Sent(n int) { s.sent.Add(float64(n)) }

// InFlight adds to the requests in flight.
func (s *Set) InFlight(n int) { s.inFlight.Add(float64(n)) }

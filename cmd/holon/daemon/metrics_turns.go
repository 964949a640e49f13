package daemon

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// turnMetrics count what turns do, by agent. Its labels are bounded: the agents are those
// of the configuration, and there are at most maxCurrencies currencies. All of an agent
// exist from the start, at 0, so that a rate sees the first turn.
type turnMetrics struct {
	agents map[string]bool

	ends   *prometheus.CounterVec
	took   *prometheus.HistogramVec
	waits  *prometheus.HistogramVec
	tokens *prometheus.CounterVec
	cost   *prometheus.CounterVec

	mu         sync.Mutex
	currencies []string // that have a label
}

const (
	// otherLabel is the agent of threads whose agent is no longer configured, and the
	// currency of amounts whose currency gets no label of its own.
	otherLabel    = "other"
	maxCurrencies = 8
)

// newTurnMetrics makes the metrics of the agents, without those that run no turns.
func newTurnMetrics(agents []turns.Agent) *turnMetrics {
	m := &turnMetrics{
		agents: map[string]bool{},
		ends:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "holon_turns_ended_total", Help: "Accepted ends of turns. Attempts that were superseded, and ends in review, do not count."}, []string{"agent", "outcome"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "holon_turn_seconds", Help: "Time from the start of a turn to its end, attempts that its policy superseded and waits included.",
			Buckets: []float64{1, 5, 15, 60, 300, 900, 1800, 3600, 4 * 3600, 24 * 3600}}, []string{"agent"}),
		waits: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "holon_question_wait_seconds", Help: "Time that each question has waited for a person, whether it was answered or not.",
			Buckets: []float64{5, 15, 60, 300, 900, 3600, 4 * 3600, 24 * 3600}}, []string{"agent"}),
		tokens:     prometheus.NewCounterVec(prometheus.CounterOpts{Name: "holon_tokens_total", Help: "Tokens that attempts had used when they ended, as agents report them: input or output."}, []string{"agent", "direction"}),
		cost:       prometheus.NewCounterVec(prometheus.CounterOpts{Name: "holon_cost_total", Help: "What attempts had cost when they ended, as agents report it, in the currency."}, []string{"agent", "currency"}),
		currencies: []string{"USD"},
	}
	for _, a := range agents {
		info := a.Info()
		if info.Kind == turns.KindMailbox {
			continue
		}
		m.agents[info.Name] = true
		for _, outcome := range []turns.State{turns.Completed, turns.Failed, turns.Interrupted} {
			m.ends.WithLabelValues(info.Name, string(outcome))
		}
		m.took.WithLabelValues(info.Name)
		m.waits.WithLabelValues(info.Name)
		m.tokens.WithLabelValues(info.Name, "input")
		m.tokens.WithLabelValues(info.Name, "output")
		m.cost.WithLabelValues(info.Name, "USD")
	}
	return m
}

func (m *turnMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.ends, m.took, m.waits, m.tokens, m.cost}
}

// observe counts what one commit did.
func (m *turnMetrics) observe(s *turns.Stats) {
	agent := s.Agent
	if !m.agents[agent] {
		agent = otherLabel
	}
	for _, end := range s.Ends {
		m.ends.WithLabelValues(agent, string(end)).Inc()
	}
	for _, d := range s.Took {
		m.took.WithLabelValues(agent).Observe(d.Seconds())
	}
	for _, d := range s.Waits {
		m.waits.WithLabelValues(agent).Observe(d.Seconds())
	}
	for _, u := range s.Used { // agents report what they like: a counter takes no negative numbers
		m.tokens.WithLabelValues(agent, "input").Add(float64(max(0, u.InputTokens)))
		m.tokens.WithLabelValues(agent, "output").Add(float64(max(0, u.OutputTokens)))
		if u.Cost != nil && u.Cost.Amount > 0 && !math.IsInf(u.Cost.Amount, 0) {
			m.cost.WithLabelValues(agent, m.currency(u.Cost)).Add(u.Cost.Amount)
		}
	}
}

// currency returns the label of a cost: its currency, if that looks like one of ISO 4217 and
// there are not too many already.
func (m *turnMetrics) currency(c *items.Cost) string {
	name := c.Currency
	if len(name) != 3 {
		return otherLabel
	}
	for _, r := range name {
		if r < 'A' || r > 'Z' {
			return otherLabel
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case slices.Contains(m.currencies, name):
	case len(m.currencies) < maxCurrencies:
		m.currencies = append(m.currencies, name)
	default:
		return otherLabel
	}
	return name
}

// buildInfo returns a metric that is 1 and names the running version.
func (d *daemon) buildInfo() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "holon_build_info", Help: "1; the labels say what runs.",
		ConstLabels: prometheus.Labels{"version": d.Version, "commit": d.Commit, "go": runtime.Version()},
	}, func() float64 { return 1 })
}

// oldestWaits reads the store once per scrape.
type oldestWaits struct{ d *daemon }

var descOldestWait = prometheus.NewDesc("holon_oldest_wait_seconds", "How long the oldest question, or the oldest end of a turn in review, has waited; 0 if none waits.", []string{"what"}, nil)

// Describe implements prometheus.Collector.
func (w *oldestWaits) Describe(ch chan<- *prometheus.Desc) { ch <- descOldestWait }

// Collect implements prometheus.Collector.
func (w *oldestWaits) Collect(ch chan<- prometheus.Metric) {
	waits, err := w.d.store.Reader().OldestWaits(context.Background())
	if err != nil {
		ch <- prometheus.NewInvalidMetric(descOldestWait, err)
		return
	}
	for what, since := range map[string]time.Time{"question": waits.Question, "review": waits.Review} {
		seconds := 0.0
		if !since.IsZero() {
			seconds = max(0, time.Since(since).Seconds())
		}
		ch <- prometheus.MustNewConstMetric(descOldestWait, prometheus.GaugeValue, seconds, what)
	}
}

package daemon

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist"
	"github.com/seed82539d15/holon/threads"
)

// inboxMetrics are the metrics of inboxes.
type inboxMetrics struct {
	received, duplicates, grouped, merged, opened, expansions, wakes prometheus.Counter

	closed *prometheus.CounterVec
	posted *prometheus.CounterVec
	sizes  prometheus.Histogram
	waits  prometheus.Histogram
}

func newInboxMetrics() *inboxMetrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	return &inboxMetrics{
		received:   counter("holon_inbox_received_total", "Raw items stored."),
		duplicates: counter("holon_inbox_duplicates_total", "Raw items that were stored before."),
		grouped:    counter("holon_inbox_grouped_total", "Raw items that joined an open digest."),
		merged:     counter("holon_inbox_merged_total", "Raw items that joined a digest that had been posted before: its next snapshot supersedes an entry."),
		opened:     counter("holon_inbox_digests_opened_total", "Digests opened."),
		expansions: counter("holon_inbox_expansions_total", "Pages of raw items that inbox/expand has answered."),
		wakes:      counter("holon_inbox_wakes_total", "Turns that new entries have started."),
		closed: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "holon_inbox_digests_closed_total",
			Help: "Digests that take no items any more, by what closed them: a reason of entries, or acked."}, []string{"reason"}),
		posted: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "holon_inbox_entries_total", Help: "Entries posted, by reason."}, []string{"reason"}),
		sizes: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "holon_inbox_snapshot_items", Help: "Raw items in a snapshot of a digest.",
			Buckets: []float64{1, 2, 5, 10, 20, 50, 100, 500, 1000, 10_000}}),
		waits: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "holon_inbox_wait_seconds", Help: "Time from the arrival of each raw item to the first entry that shows it; 0 for items that are not grouped.",
			Buckets: []float64{.1, 1, 5, 15, 30, 60, 120, 300, 1800}}),
	}
}

// observe counts what one commit did.
func (m *inboxMetrics) observe(s *inbox.Stats) {
	m.received.Add(float64(s.Received))
	m.duplicates.Add(float64(s.Duplicates))
	m.grouped.Add(float64(s.Grouped))
	m.merged.Add(float64(s.Merged))
	m.opened.Add(float64(s.Opened))
	m.wakes.Add(float64(s.Woken))
	for why, n := range s.Closed {
		m.closed.WithLabelValues(why).Add(float64(n))
	}
	for why, n := range s.Posted {
		m.posted.WithLabelValues(string(why)).Add(float64(n))
	}
	for _, n := range s.Sizes {
		m.sizes.Observe(float64(n))
	}
	for _, d := range s.Waits {
		m.waits.Observe(d.Seconds())
	}
}

func (m *inboxMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.received, m.duplicates, m.grouped, m.merged, m.opened, m.expansions, m.wakes, m.closed, m.posted, m.sizes, m.waits}
}

// countedReader counts the answers of inbox/expand, which alone needs ExpandEntry.
type countedReader struct {
	inbox.Reader
	expansions prometheus.Counter
}

// ExpandEntry implements inbox.Reader.
func (r countedReader) ExpandEntry(ctx context.Context, q inbox.Expand) (inbox.Expanded, error) {
	out, err := r.Reader.ExpandEntry(ctx, q)
	if err == nil {
		r.expansions.Inc()
	}
	return out, err
}

// inboxSizes reads the store once per scrape.
type inboxSizes struct{ d *daemon }

var (
	descPending = prometheus.NewDesc("holon_inbox_pending_items", "Raw items that wait in digests.", nil, nil)
	descUnacked = prometheus.NewDesc("holon_inbox_unacked_items", "Raw items that are not acknowledged.", nil, nil)
	descStalled = prometheus.NewDesc("holon_inbox_stalled", "Threads that new entries do not wake: because a bound on wakes is reached (silent, rate, chain), or, while new entries wait, because a client has interrupted their last turn (held).", []string{"reason"}, nil)
)

// Describe implements prometheus.Collector.
func (s *inboxSizes) Describe(ch chan<- *prometheus.Desc) {
	ch <- descPending
	ch <- descUnacked
	ch <- descStalled
}

// Collect implements prometheus.Collector.
func (s *inboxSizes) Collect(ch chan<- prometheus.Metric) {
	var pending, unacked int64
	if err := s.d.store.Reader().ReadRows(context.Background(), func(r persist.Snapshot) (err error) {
		pending, unacked, err = persist.InboxTotals(r)
		return err
	}); err != nil {
		ch <- prometheus.NewInvalidMetric(descPending, err)
		return
	}
	ch <- prometheus.MustNewConstMetric(descPending, prometheus.GaugeValue, float64(pending))
	ch <- prometheus.MustNewConstMetric(descUnacked, prometheus.GaugeValue, float64(unacked))
	stalled, err := s.stalled()
	if err != nil {
		ch <- prometheus.NewInvalidMetric(descStalled, err)
		return
	}
	for reason, n := range stalled {
		ch <- prometheus.MustNewConstMetric(descStalled, prometheus.GaugeValue, float64(n), reason)
	}
}

// stalled counts the threads that are not woken, by reason.
func (s *inboxSizes) stalled() (map[string]int, error) {
	const held = string(inbox.WakesHeld)
	counts, now := map[string]int{held: 0}, time.Now()
	for _, why := range []inbox.Stall{inbox.StallSilent, inbox.StallRate, inbox.StallChain} {
		counts[string(why)] = 0
	}
	wake := s.d.engine.Inboxes().Policy
	count := func(t *threads.Thread, b *inbox.Inbox) {
		switch w := inbox.WakesOf(b, t, wake(t.Agent, b.Policy).Wake, notify.Time{}, now); {
		case w == nil:
		case w.State == inbox.WakesStalled:
			counts[string(w.Reason)]++
		case w.Waiting > 0:
			counts[held]++
		}
	}
	return counts, s.d.store.Reader().ReadRows(context.Background(), func(r persist.Snapshot) error { return persist.NotWoken(r, count) })
}

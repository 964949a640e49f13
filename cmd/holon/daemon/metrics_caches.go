package daemon

import "github.com/prometheus/client_golang/prometheus"

// cacheMetrics reads the counts of caches once per scrape.
type cacheMetrics struct{ d *daemon }

var (
	descCacheHits    = prometheus.NewDesc("holon_cache_hits_total", "Look-ups for which a cache had what was asked for, and new enough.", []string{"cache"}, nil)
	descCacheMisses  = prometheus.NewDesc("holon_cache_misses_total", "Look-ups that had to read.", []string{"cache"}, nil)
	descCacheEntries = prometheus.NewDesc("holon_cache_entries", "Entries of a cache.", []string{"cache"}, nil)
)

// Describe implements prometheus.Collector.
func (m *cacheMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descCacheHits, descCacheMisses, descCacheEntries} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m *cacheMetrics) Collect(ch chan<- prometheus.Metric) {
	send := func(name string, hits, misses, entries int) {
		ch <- prometheus.MustNewConstMetric(descCacheHits, prometheus.CounterValue, float64(hits), name)
		ch <- prometheus.MustNewConstMetric(descCacheMisses, prometheus.CounterValue, float64(misses), name)
		ch <- prometheus.MustNewConstMetric(descCacheEntries, prometheus.GaugeValue, float64(entries), name)
	}
	git := m.d.worktrees.Counts()
	send("git", git.Hits, git.Misses, git.Entries)
	for name, c := range m.d.wire.API().Caches() {
		send(name, c.Hits, c.Misses, c.Entries)
	}
}

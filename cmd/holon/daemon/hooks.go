package daemon

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed82539d15/holon/cmd/holon/config"
	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/hooks"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/persist/sqlite"
)

// newHooks makes the handler of webhooks. It reads the secrets of the sources. The
// variables that have one are then removed from the environment of the server:
// agents inherit that, and with the secret an agent could forge webhooks.
func (d *daemon) newHooks() (*hooks.Handler, error) {
	var list []hooks.Source
	for _, name := range slices.Sorted(maps.Keys(d.cfg.Sources)) {
		s, err := d.cfg.Sources[name].Hook(name, os.Getenv)
		if err != nil {
			return nil, fmt.Errorf("sources.%s: %w", name, err)
		}
		list = append(list, s)
	}
	for name, s := range d.cfg.Sources {
		if s.SecretEnv == "" {
			continue
		}
		if err := os.Unsetenv(s.SecretEnv); err != nil {
			return nil, fmt.Errorf("sources.%s: secret_env: %w", name, err)
		}
	}
	return hooks.New(hooks.Config{Sources: list, Deliver: deliverer{d.engine.Inboxes()}, Store: hookStore{d.store}, Log: d.log.Named("hooks")})
}

// hookStore implements hooks.Store.
type hookStore struct{ s *sqlite.Store }

func (h hookStore) Append(u *ledger.Unit) (ledger.Receipt, error) { return h.s.Append(u) }

func (h hookStore) Read(ctx context.Context, f func(ledger.Reader) error) error {
	return h.s.Reader().Read(ctx, f)
}

// deliverer stores what webhooks bring.
type deliverer struct{ *engine.Inboxes }

// Ingest implements hooks.Deliverer.
func (d deliverer) Ingest(ctx context.Context, threadID string, subscriptionIDs []string, items []inbox.Item) ([]inbox.Ingested, error) {
	return d.Deliver(ctx, threadID, subscriptionIDs, items)
}

// sources are the configured sources, for the methods of inboxes.
type sources struct {
	all map[string]config.WebhookSource
}

// Has implements api.Sources.
func (s sources) Has(name string) bool { _, ok := s.all[name]; return ok }

// CheckFilter implements api.Sources.
func (s sources) CheckFilter(expression string) error { return hooks.CheckFilter(expression) }

// hookMetrics are the metrics of webhooks, by source.
type hookMetrics struct{ d *daemon }

var (
	descWebhooks     = prometheus.NewDesc("holon_webhooks_total", "Webhooks answered, by source and status.", []string{"source", "status"}, nil)
	descHookFiltered = prometheus.NewDesc("holon_webhook_filtered_total", "Items that a filter left out, by source.", []string{"source"}, nil)
	descHookFailed   = prometheus.NewDesc("holon_webhook_expression_failures_total", "Expressions that failed for an item, by source.", []string{"source"}, nil)
)

// Describe implements prometheus.Collector.
func (m *hookMetrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- descWebhooks
	ch <- descHookFiltered
	ch <- descHookFailed
}

// Collect implements prometheus.Collector.
func (m *hookMetrics) Collect(ch chan<- prometheus.Metric) {
	for name, s := range m.d.hooks.Stats() {
		for status, n := range s.Answers {
			ch <- prometheus.MustNewConstMetric(descWebhooks, prometheus.CounterValue, float64(n), name, strconv.Itoa(status))
		}
		ch <- prometheus.MustNewConstMetric(descHookFiltered, prometheus.CounterValue, float64(s.Filtered), name)
		ch <- prometheus.MustNewConstMetric(descHookFailed, prometheus.CounterValue, float64(s.Failed), name)
	}
}

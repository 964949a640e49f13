package daemon

import (
	"fmt"
	"math"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed82539d15/holon/agents/echo"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// Agents and workers report what they like, and threads may have agents that are no
// longer configured: none of it makes a counter fall or the labels grow without bound.
func TestMetricsOfTurnsBearWhatAgentsReport(t *testing.T) {
	m := newTurnMetrics([]turns.Agent{echo.New("echo")})
	use := func(agent string, tokens int64, amount float64, currency string) {
		m.observe(&turns.Stats{Agent: agent, Ends: []turns.State{turns.Completed}, Used: []turns.Use{{Usage: items.Usage{
			InputTokens: tokens, OutputTokens: tokens, Cost: &items.Cost{Amount: amount, Currency: currency},
		}}}})
	}
	use("echo", 5, 0.5, "EUR")
	for _, amount := range []float64{-1, math.NaN(), math.Inf(1), math.Inf(-1), 0} {
		use("echo", math.MinInt64, amount, "EUR")
	}
	for _, odd := range []string{"", "eur", "EURO", "€", "E\nR"} {
		use("echo", 0, 1, odd)
	}
	for i := range 1000 {
		use(fmt.Sprint("gone", i), 1, 1, "GBP")
		use("echo", 0, 1, fmt.Sprintf("A%c%c", 'A'+i%26, 'A'+i/26%26))
	}
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(m.collectors()...)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	samples := map[string]map[string]float64{}
	for _, f := range families {
		samples[f.GetName()] = map[string]float64{}
		for _, s := range f.GetMetric() {
			labels := ""
			for _, l := range s.GetLabel() {
				labels += l.GetValue() + " "
			}
			samples[f.GetName()][labels] = s.GetCounter().GetValue()
		}
	}
	for name, want := range map[string]map[string]float64{
		"holon_turns_ended_total": {"echo completed ": 1011, "other completed ": 1000, "echo failed ": 0, "echo interrupted ": 0},
		"holon_tokens_total":      {"echo input ": 5, "echo output ": 5, "other input ": 1000, "other output ": 1000},
	} {
		if fmt.Sprint(samples[name]) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", name, samples[name], want)
		}
	}
	cost := samples["holon_cost_total"]
	for _, odd := range []string{"echo eur ", "echo E\nR "} {
		if _, ok := cost[odd]; ok {
			t.Errorf("%q has a label", odd)
		}
	}
	if n := len(cost); n != maxCurrencies+1 { // one label each, one of which is of agents that are gone, and the rest
		t.Errorf("%d samples of the cost: %v", n, cost)
	}
	if sum := cost["echo EUR "] + cost["echo other "]; cost["echo EUR "] != 0.5 || sum < 900 || cost["other GBP "] != 1000 || cost["echo USD "] != 0 {
		t.Errorf("the cost is %v", cost)
	}
}

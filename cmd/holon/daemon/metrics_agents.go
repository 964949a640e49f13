package daemon

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed82539d15/holon/turns"
)

// agentMetrics reads what agents say of themselves, once per scrape. The
// agents are those of the configuration, which bounds the label.
type agentMetrics struct{ d *daemon }

var (
	descAgentUp        = prometheus.NewDesc("holon_agent_up", "1 unless the agent's last start failed.", []string{"agent"}, nil)
	descAgentProcesses = prometheus.NewDesc("holon_agent_processes", "Processes of the agent.", []string{"agent"}, nil)
	descAgentSessions  = prometheus.NewDesc("holon_agent_sessions", "Sessions that are open in the agent's processes.", []string{"agent"}, nil)
)

// Describe implements prometheus.Collector.
func (m *agentMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descAgentUp, descAgentProcesses, descAgentSessions} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m *agentMetrics) Collect(ch chan<- prometheus.Metric) {
	for _, a := range m.d.engine.Agents() {
		up := 1.0
		if a.State == turns.AgentFailed {
			up = 0
		}
		for desc, v := range map[*prometheus.Desc]float64{
			descAgentUp: up, descAgentProcesses: float64(a.Processes), descAgentSessions: float64(a.Sessions),
		} {
			ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v, a.Name)
		}
	}
}

package daemon

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed82539d15/holon/cmd/holon/config"
	"github.com/seed82539d15/holon/turns"
)

// agentMetrics reads the state of the agents once per scrape. The agents are
// those of the configuration, which bounds the label.
type agentMetrics struct{ d *daemon }

var (
	descAgentUp        = prometheus.NewDesc("holon_agent_up", "1 unless the agent's last start failed.", []string{"agent"}, nil)
	descAgentProcesses = prometheus.NewDesc("holon_agent_processes", "Processes of the agent.", []string{"agent"}, nil)
	descAgentStarts    = prometheus.NewDesc("holon_agent_starts_total", "Processes of the agent that were started.", []string{"agent"}, nil)
	descAgentFailures  = prometheus.NewDesc("holon_agent_failures_total", "Processes of the agent that ended without being told to, or did not come up.", []string{"agent"}, nil)
	descAgentWaiting   = prometheus.NewDesc("holon_agent_waiting_bytes", "Bytes from the agent's processes that wait for the log.", []string{"agent"}, nil)
	descAgentLate      = prometheus.NewDesc("holon_agent_late_messages_total", "Messages of the agent that nobody could take any more.", []string{"agent"}, nil)
	descAgentMemory    = prometheus.NewDesc("holon_agent_memory_bytes", "Memory of the agent's processes and of what they have started (PSS), measured at most every 10 s. Without a sample it is not known.", []string{"agent"}, nil)
	descAgentSessions  = prometheus.NewDesc("holon_agent_sessions", "Sessions that are open in the agent's processes.", []string{"agent"}, nil)
)

// Describe implements prometheus.Collector.
func (m *agentMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descAgentUp, descAgentProcesses, descAgentMemory, descAgentSessions, descAgentStarts, descAgentFailures, descAgentWaiting, descAgentLate} {
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
		bytes := m.d.agents.memory(a.Name)
		if known := bytes > 0 || a.Processes == 0 && a.Kind != config.KindExec; known { // those of exec are not counted
			ch <- prometheus.MustNewConstMetric(descAgentMemory, prometheus.GaugeValue, float64(bytes), a.Name)
		}
	}
	for name, agent := range m.d.agents.acp {
		s := agent.Stats()
		ch <- prometheus.MustNewConstMetric(descAgentWaiting, prometheus.GaugeValue, float64(s.Waiting), name)
		for desc, v := range map[*prometheus.Desc]int64{descAgentStarts: s.Starts, descAgentFailures: s.Failures, descAgentLate: agent.Late()} {
			ch <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(v), name)
		}
	}
}

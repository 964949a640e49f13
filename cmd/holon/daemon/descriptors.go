package daemon

import (
	"slices"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/internal/limits"
)

// agentStart is how many descriptors the start of an agent's process takes for a moment.
// Later it holds four.
const agentStart = 9

// connectionBounds returns max_connections and max_unadmitted_connections. All connections of
// all listeners together leave max(32, a quarter) of the process's descriptors to the
// rest: an idle server has about 30, most of them of the store. Of the connections a
// quarter, and where descriptors are few as many as an agent needs and three probes (but at
// most half), are not for admitted ones: there a server that is full answers probes and
// refuses.
func (d *daemon) connectionBounds() (most, unadmitted int) {
	most, unadmitted = d.cfg.MaxConnections, limits.UnadmittedConnections
	if d.Descriptors == 0 {
		return most, unadmitted
	}
	listeners := len(d.cfg.Listen)
	if slices.Contains(d.cfg.Listen, stdio) {
		listeners--
	}
	if d.cfg.Pprof != "" {
		listeners++
	}
	all := d.Descriptors - max(32, d.Descriptors/4)
	unadmitted = max(1, min(unadmitted, min(max(agentStart+3, all/4), all/2)/max(1, listeners)))
	if room := max(1, all-unadmitted*listeners); room < most {
		d.log.Info("the process may have too few file descriptors for max_connections; raise the limit (ulimit -n) for more",
			zap.Int("descriptors", d.Descriptors), zap.Int("max_connections", room))
		most = room
	}
	return most, unadmitted
}

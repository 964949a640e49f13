package acp

import (
	"testing"
	"time"

	"github.com/seed82539d15/holon/internal/test/acptest"
	"github.com/seed82539d15/holon/internal/test/agenttest"
	"github.com/seed82539d15/holon/items"
)

func TestACPPassesTheSuite(t *testing.T) {
	r := bad(t, "", func(c *Config) { c.MaxProcesses = 2 })
	agenttest.Exercise(t, agenttest.Subject{
		Agent: r.Agent, Kind: Kind, Speak: "say hello\nadd  world", Hold: "say busy\nwait", Stop: r.cfg.CancelAfter + 2*time.Second,
	})
}

func TestAgentThatIsNotOursIsUnderstood(t *testing.T) {
	r := serve(t, []string{acptest.Build(t, acptest.Example)})
	sink, out := r.thread("t").prompt(t.Context(), "hello", answer(items.AllowOnce))
	if got := len(sink.Texts(items.KindAgentMessage)); got != 3 || out.StopReason != "end_turn" || len(sink.Open()) > 0 {
		t.Errorf("%d messages, %+v, open %+v", got, out, sink.Open())
	}
	asked := 0
	for _, it := range sink.Items() {
		if it.Kind == items.KindPermissionRequest && it.Status == items.StatusCompleted {
			asked++
		}
		if it.Kind == items.KindExtension {
			t.Errorf("not understood: %+v", it.Content)
		}
	}
	if asked != 1 {
		t.Errorf("%d permissions", asked)
	}
}

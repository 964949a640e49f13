package turns

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
)

// The console judges stop reasons by the same vectors (console/test/ends.test.js).
func TestStopReasonsOfTurnsThatStopEarly(t *testing.T) {
	raw, err := os.ReadFile("testdata/stop_reasons.json")
	if err != nil {
		t.Fatal(err)
	}
	var early map[string]bool
	if err := json.Unmarshal(raw, &early); err != nil {
		t.Fatal(err)
	}
	for reason, want := range early {
		if got := StopsEarly(reason); got != want {
			t.Errorf("%q: %v, want %v", reason, got, want)
		}
	}
}

func TestAResultHasTheStopReasonOfAnEnd(t *testing.T) {
	pending := &Review{State: ReviewPending}
	failed := &Failure{Kind: KindAgentFailed}
	for name, c := range map[string]struct {
		turn   Turn
		reason string
		early  bool
	}{
		"completed":                 {Turn{State: Completed, StopReason: "end_turn"}, "end_turn", false},
		"refused":                   {Turn{State: Completed, StopReason: "refusal"}, "refusal", true},
		"refused, and in review":    {Turn{State: Completed, StopReason: "refusal", Review: pending}, "refusal", true},
		"failed":                    {Turn{State: Failed, StopReason: "error", Error: failed}, "error", false},
		"failed, and in review":     {Turn{State: Failed, StopReason: "error", Error: failed, Review: pending}, "error", false},
		"interrupted":               {Turn{State: Interrupted, StopReason: "cancelled"}, "cancelled", false},
		"it waits for its children": {Turn{State: Active, StopReason: "refusal"}, "", false},
	} {
		if r := ResultOf(&c.turn, items.Said{}, notify.Time{}); r.StopReason != c.reason || r.StoppedEarly() != c.early {
			t.Errorf("%s: %q, %v, want %q, %v", name, r.StopReason, r.StoppedEarly(), c.reason, c.early)
		}
	}
}

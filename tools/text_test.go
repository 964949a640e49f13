package tools

import (
	"strings"
	"testing"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/turns"
)

func TestAnAgentIsToldThatATurnStoppedEarly(t *testing.T) {
	for reason, want := range map[string]string{
		"end_turn": "- turn_1 completed\n", "": "- turn_1 completed\n",
		"refusal":    "- turn_1 completed, but it stopped early (refusal)\n",
		"obey\n- me": "- turn_1 completed, but it stopped early (obey - me)\n",
	} {
		if got := resultsText([]turns.Result{{TurnID: "turn_1", State: turns.Completed, StopReason: reason}}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	long := resultsText([]turns.Result{{TurnID: "turn_1", State: turns.Completed, StopReason: strings.Repeat("x", 1<<20)}})
	if len(long) > 200 {
		t.Errorf("%d bytes of a stop reason are told", len(long))
	}
}

// A model is not told to try what cannot succeed later.
func TestWhatToDoAboutABound(t *testing.T) {
	full, level := api.Errorf(api.KindOverloaded, "full"), api.Errorf(api.KindOverloaded, "no thread may be deeper")
	level.Data.Retryable = false
	if got := errorText(full); got != "Error (overloaded): full. Try again later." {
		t.Errorf("it says %q", got)
	}
	if got := errorText(level); got != "Error (overloaded): no thread may be deeper." {
		t.Errorf("it says %q", got)
	}
}

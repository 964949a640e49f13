package dashboard

import (
	"encoding/json"
	"testing"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/rpc/client"
)

// A busy server costs no requests: what has ended with a restart is read again when a turn
// ends with one, and with what becomes of threads only while there are such turns.
func TestWhatARestartEndedIsReadWhenItMayHaveChanged(t *testing.T) {
	f := &feed{lostWake: make(chan struct{}, 1)}
	for _, c := range []struct {
		method, params string
		lost, want     bool
	}{
		{"turn/interrupted", `{"reason":"server restarted"}`, false, true},
		{"turn/interrupted", `{"reason":"server stopping"}`, false, true},
		{"turn/failed", `{"reason":"server restarted"}`, false, true},
		{"turn/interrupted", `{"reason":"requested by a client"}`, false, false},
		{"turn/failed", `{}`, false, false},
		{"turn/started", `{"reason":"server restarted"}`, false, false},
		{"turn/queued", `{}`, true, true},
		{"thread/closed", `{}`, true, true},
		{"item/created", `{}`, true, false},
	} {
		f.lost = c.lost
		f.noteLost(client.Event{Method: c.method, Params: json.RawMessage(c.params)})
		if got := len(f.lostWake) == 1; got != c.want {
			t.Errorf("%s %s, while some are known: %v: it is read again: %v", c.method, c.params, c.lost, got)
		}
		if len(f.lostWake) > 0 {
			<-f.lostWake
		}
	}
}

func TestWhatBecameOfALostTurnIsSaid(t *testing.T) {
	for want, r := range map[string]screen.Retried{
		"2 turns tried again.":                     {Again: 2},
		"1 turn tried again. 1 not: it is closed.": {Again: 1, Refused: 1, Why: "it is closed."},
	} {
		raw, err := json.Marshal(r)
		if got := retriedLost(raw); err != nil || got != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
}

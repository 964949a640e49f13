package turns_test

import (
	"testing"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

func TestARowSaysThatARestartEndedTheTurn(t *testing.T) {
	last := turns.RestartedInLastAttempt
	for name, c := range map[string]struct {
		end  turns.EndedEvent
		want bool
	}{
		"stop":                          {turns.EndedEvent{State: turns.Interrupted, Reason: "server stopping", By: turns.ByServer}, true},
		"start":                         {turns.EndedEvent{State: turns.Interrupted, Reason: "server restarted", By: turns.ByServer}, true},
		"start, of a log without by":    {turns.EndedEvent{State: turns.Interrupted, Reason: "server restarted"}, true},
		"start in the last attempt":     {turns.EndedEvent{State: turns.Failed, Reason: "server restarted", Error: &last}, true},
		"the same, of an older log":     {turns.EndedEvent{State: turns.Failed, Error: &last}, true},
		"a client's reason":             {turns.EndedEvent{State: turns.Interrupted, Reason: "server restarted", By: turns.ByClient}, false},
		"a token's":                     {turns.EndedEvent{State: turns.Interrupted, Reason: "server stopping", By: "token:phone"}, false},
		"an owner's":                    {turns.EndedEvent{State: turns.Interrupted, Reason: "server stopping", By: turns.ByOwner}, false},
		"another reason of the server":  {turns.EndedEvent{State: turns.Interrupted, Reason: "thread closed", By: turns.ByServer}, false},
		"completed, whatever it says":   {turns.EndedEvent{State: turns.Completed, Reason: "server restarted"}, false},
		"failed with the same kind":     {turns.EndedEvent{State: turns.Failed, Error: &turns.Failure{Kind: "unavailable", Message: "no"}}, false},
		"failed with the same message":  {turns.EndedEvent{State: turns.Failed, Error: &turns.Failure{Kind: "agent_failed", Message: last.Message}}, false},
		"failed, and nothing is known.": {turns.EndedEvent{State: turns.Failed}, false},
	} {
		h := notify.Header{Seq: 9, ThreadID: "thread_a", TurnID: "turn_a", Attempt: 1}
		row := turns.Apply(&turns.Turn{TurnID: "turn_a", State: turns.Active, RestartSeq: 3}, h, &c.end)
		if want := map[bool]int64{true: 9}[c.want]; row.RestartSeq != want {
			t.Errorf("%s: restart_seq %d, want %d", name, row.RestartSeq, want)
		}
		if row = turns.Apply(row, h, &turns.RewindEvent{NewEpoch: 2}); row.RestartSeq != 0 {
			t.Errorf("%s: it is %d when the turn is tried again", name, row.RestartSeq)
		}
	}
}

package overview

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/cmd/holon/restarts"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

func lostOf(ids ...string) restarts.Lost {
	var l restarts.Lost
	for i, id := range ids {
		l.Turns = append(l.Turns, turns.Turn{TurnID: id, RestartSeq: int64(i + 1), CompletedAt: notify.TimeOf(noon.Add(-time.Hour))})
	}
	return l
}

// What ended with a restart is below the first line until it is read to be gone, or was
// dismissed, on every screen.
func TestWhatARestartEndedIsAtTheTop(t *testing.T) {
	m := loaded(five()...)
	second := func(width, height int) string { return strings.Split(text(m, noon, width, height), "\n")[1] }
	if got := second(100, 24); strings.Contains(got, "restart") {
		t.Errorf("nothing has ended: %q", got)
	}
	press(m, noon, "R")
	if m.sure != nil {
		t.Error("R asks although nothing has ended")
	}
	m.Update(noon, Lost{lostOf("turn_a", "turn_b")})
	at := noon.Add(-time.Hour).Format("15:04")
	for width, want := range map[int]string{
		100: "2 turns ended with the restart at " + at + ": R retries them, D dismisses this line",
		65:  "2 turns ended with the restart at " + at + ": R retry, D dismiss",
		40:  "2 turns ended: R retry, D dismiss", MinWidth: "2 turns ended: R, D",
	} {
		if got := second(width, MinHeight); got != want {
			t.Errorf("%d columns: %q, want %q", width, got, want)
		}
	}
	actions := press(m, noon, "R", "n")
	if len(actions) != 1 || actions[0] != (screen.Action)(screen.Say{Text: "Nothing was retried."}) {
		t.Errorf("R and n: %v", actions)
	}
	press(m, noon, "R")
	if got := text(m, noon, 80, 24); !strings.Contains(got, "2 turns ended with the restart at "+at+". y retries all") {
		t.Errorf("it asks:\n%s", got)
	}
	actions = press(m, noon, "y")
	if again, ok := actions[0].(screen.RetryLost); len(actions) != 1 || !ok || len(again.Lost.Turns) != 2 {
		t.Errorf("R and y: %v", actions)
	}
	m.Update(noon, Lost{lostOf("turn_b")})
	if got := second(100, 24); !strings.HasPrefix(got, "1 turn ended with the restart at ") {
		t.Errorf("one is left: %q", got)
	}
	actions = press(m, noon, "D")
	dismissed, ok := actions[0].(screen.DismissLost)
	if len(actions) != 1 || !ok {
		t.Fatalf("D: %v", actions)
	}
	m.Update(noon, screen.Done{Action: dismissed, Err: errors.New("refused")})
	if got := second(100, 24); !strings.Contains(got, "restart") {
		t.Errorf("the dismissal was refused, and the line is gone: %q", got)
	}
	m.Update(noon, screen.Done{Action: dismissed})
	if got := second(100, 24); strings.Contains(got, "restart") {
		t.Errorf("it was dismissed: %q", got)
	}
}

package overview

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/notify"
)

// notTold are five threads that their inboxes do not wake, for all reasons, one of which has
// nothing new, and one that asks.
func notTold() []Thread {
	rests := func(id, title string, wakes *inbox.Wakes) Thread {
		return Thread{ID: "thread_0000" + id, Agent: "claude", LatestSeq: 50, Summary: Summary{
			Title: title, Status: "idle", Text: "Done.", Since: ago(20 * time.Minute), TurnID: "turn_" + id, SeenSeq: 50, Wakes: wakes,
		}}
	}
	stalled := func(reason inbox.Stall, waiting int) *inbox.Wakes {
		w := &inbox.Wakes{State: inbox.WakesStalled, Reason: inbox.WakesReason(reason), Since: notify.TimeOf(ago(time.Minute)), Waiting: waiting}
		if reason == inbox.StallRate {
			w.Until = notify.TimeOf(noon.Add(20 * time.Minute))
		}
		return w
	}
	held := rests("aaaaaaaa", "Watch the releases", &inbox.Wakes{State: inbox.WakesHeld, Reason: inbox.ReasonInterrupted, Waiting: 1})
	held.Summary.Interrupted, held.Summary.Text, held.Summary.Since = true, "interrupted", ago(time.Minute)
	asks := five()[0]
	asks.ID = "thread_0000dddddddd"
	return []Thread{
		held,
		rests("bbbbbbbb", "Sort the tickets", stalled(inbox.StallRate, 3)),
		rests("cccccccc", "Answer the other agent", stalled(inbox.StallChain, 2)),
		rests("eeeeeeee", "Read the mail", stalled(inbox.StallSilent, 12)),
		rests("ffffffff", "Nothing is new here", stalled(inbox.StallSilent, 0)),
		asks,
	}
}

func TestThreadsThatAreNotToldWhatIsNewSaySo(t *testing.T) {
	for _, size := range [][2]int{{40, 16}, {80, 24}, {200, 24}} {
		m := loaded(notTold()...)
		m.Select("thread_0000bbbbbbbb")
		golden(t, fmt.Sprintf("not-told-%dx%d", size[0], size[1]), text(m, noon, size[0], size[1]))
	}
	m := loaded(notTold()...)
	press(m, noon, "/", "n", "o", "t", " ", "t", "o", "l", "d", "enter")
	if got := text(m, noon, 80, 24); !strings.Contains(got, "4 of 6 threads") {
		t.Errorf("the filter does not find them:\n%s", got)
	}
}

func TestAKeyTellsAThreadWhatIsNew(t *testing.T) {
	m := loaded(notTold()...)
	m.Select("thread_0000ffffffff")
	if got := press(m, noon, screen.WakeKey); len(got) != 1 || got[0] != (screen.Say{Text: screen.NothingToTell}) {
		t.Errorf("where nothing is new the key asks for %v", got)
	}
	m.Select("thread_0000cccccccc")
	if got := press(m, noon, screen.WakeKey); len(got) != 1 || got[0] != (screen.Wake{Thread: "thread_0000cccccccc"}) {
		t.Errorf("the key asks for %v", got)
	}
}

// What only a person ends is among what waits for them, behind the questions. What they have
// interrupted themselves is not, nor what ends with time.
func TestWhatIsNotToldFollowsTheQuestions(t *testing.T) {
	m, at := loaded(notTold()...), ""
	for _, id := range []string{"thread_0000dddddddd", "thread_0000cccccccc", "thread_0000eeeeeeee", "thread_0000dddddddd"} {
		if at = m.NextWaiting(at); at != id {
			t.Fatalf("next is %s, want %s", at, id)
		}
	}
	if n := m.NeedYou(); n != 1 {
		t.Errorf("%d threads need the person, want 1", n)
	}
}

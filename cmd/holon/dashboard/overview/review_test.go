package overview

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// inReview is a thread with a result that waits for a review.
func inReview() Thread {
	return Thread{ID: "thread_0000ffffffff", Agent: "claude", LatestSeq: 70, Summary: Summary{
		Title: "Mend the build", Status: statusWaiting, Text: "1 result waits for a review", Reviews: 1, TurnID: "turn_newer", Since: ago(9 * time.Minute),
	}}
}

func turnOf(attempt int, state, review, message string) string {
	return fmt.Sprintf(`{"turn_id":"turn_r","state":%q,"attempt":%d,"message":%q,"review":{"policy":"always","state":%q}}`, state, attempt, message, review)
}

// reviews opens the review of the selected thread.
func reviews(t *testing.T, m *Model, at time.Time, turn string) {
	t.Helper()
	list := screen.Call{Name: callReview, Method: "turn/list", Params: map[string]any{"thread_id": "thread_0000ffffffff", "review": "pending", "limit": 1}}
	if got := press(m, at, "a"); !reflect.DeepEqual(got, []screen.Action{list}) {
		t.Fatalf("a asks the program for %v", got)
	}
	m.Update(at, screen.Done{Action: list, Result: json.RawMessage(`{"turns":[` + turn + `]}`)})
}

func TestAReviewIsAnsweredWithA(t *testing.T) {
	later := noon.Add(deadTime)
	m := loaded(inReview())
	reviews(t, m, noon, turnOf(2, "completed", "pending", "All tests pass."))
	for _, size := range [][2]int{{40, 10}, {80, 24}} {
		golden(t, fmt.Sprintf("review-%dx%d", size[0], size[1]), text(m, later, size[0], size[1]))
	}
	if got := press(m, noon.Add(deadTime-1), "y"); !reflect.DeepEqual(got, say("One moment: the question is new.")) {
		t.Errorf("a key before the end of the dead time gives %v", got)
	}
	want := screen.Review{Turn: "turn_r", Attempt: 2, Verdict: "approved"}
	if got := press(m, later, "y", "y"); !reflect.DeepEqual(got, []screen.Action{want}) {
		t.Errorf("y gives %v, want %v once", got, want)
	}
	m.Update(later, screen.Done{Action: want, Err: errors.New("no")})
	if got := press(m, later.Add(deadTime), "3"); !reflect.DeepEqual(got, []screen.Action{screen.Review{Turn: "turn_r", Attempt: 2, Verdict: "blocked"}}) {
		t.Errorf("after an error 3 gives %v", got)
	}
	m.Update(later, screen.Done{Action: screen.Review{Turn: "turn_r", Attempt: 2, Verdict: "blocked"}})
	if m.asked != nil {
		t.Error("the review stays after its verdict")
	}
}

func TestARejectionHasANote(t *testing.T) {
	later := noon.Add(deadTime)
	m := loaded(inReview())
	reviews(t, m, noon, turnOf(1, "completed", "pending", "All tests pass."))
	text(m, later, 80, 24)
	if got := press(m, later, "n", "enter"); got != nil {
		t.Errorf("a rejection without a note gives %v", got)
	}
	press(m, later, "y", "1")
	if screen := text(m, later, 80, 24); !strings.Contains(screen, "» y1") || !strings.Contains(screen, "Esc back") {
		t.Errorf("the note is not typed:\n%s", screen)
	}
	press(m, later, "esc")
	if m.asked == nil || m.asked.typing() {
		t.Fatal("Esc does not go back to the verdicts")
	}
	press(m, later, "2")
	m.Update(later, tea.PasteMsg{Content: "more"})
	want := screen.Review{Turn: "turn_r", Attempt: 1, Verdict: "rejected", Note: "y1more"}
	if got := press(m, later, "enter", "enter"); !reflect.DeepEqual(got, []screen.Action{want}) {
		t.Errorf("Enter gives %v, want %v once", got, want)
	}
	m.Update(later, screen.Done{Action: want, Err: errors.New("no")})
	if screen := text(m, later, 80, 24); !strings.Contains(screen, "» y1more") {
		t.Errorf("a note that was not taken is gone:\n%s", screen)
	}
}

// What was typed about one attempt is no verdict about the next.
func TestAReviewOfAnotherAttemptIsDead(t *testing.T) {
	later := noon.Add(deadTime)
	moved := inReview()
	moved.LatestSeq++
	read := func(m *Model, result string) {
		t.Helper()
		call := screen.Call{Name: callReview, Method: "turn/read", Params: map[string]any{"turn_id": "turn_r"}}
		if got := m.Update(later, Listed{Threads: []Thread{moved}}); !reflect.DeepEqual(got, []screen.Action{call}) {
			t.Fatalf("after a change the program is asked for %v", got)
		}
		m.Update(later, screen.Done{Action: call, Result: json.RawMessage(`{"turn":` + result + `}`)})
	}
	m := loaded(inReview())
	reviews(t, m, noon, turnOf(1, "completed", "pending", "Done."))
	text(m, later, 80, 24)
	press(m, later, "n", "x")
	read(m, turnOf(2, "completed", "pending", "Done again."))
	if got := press(m, later.Add(time.Hour), "enter"); !reflect.DeepEqual(got, say("Nothing was sent. That was about an earlier attempt. Esc leaves.")) {
		t.Errorf("a note about the attempt before gives %v", got)
	}

	m = loaded(inReview())
	reviews(t, m, noon, turnOf(1, "completed", "pending", "Done."))
	text(m, later, 80, 24)
	read(m, turnOf(2, "completed", "pending", "Done again."))
	text(m, later, 80, 24)
	if got := press(m, later, "y"); !reflect.DeepEqual(got, say("One moment: the question is new.")) {
		t.Errorf("a verdict at the moment of the change gives %v", got)
	}
	if got := press(m, later.Add(deadTime), "y"); !reflect.DeepEqual(got, []screen.Action{screen.Review{Turn: "turn_r", Attempt: 2, Verdict: "approved"}}) {
		t.Errorf("y gives %v", got)
	}

	m = loaded(inReview())
	reviews(t, m, noon, turnOf(1, "completed", "pending", "Done."))
	read(m, turnOf(2, "active", "", ""))
	if m.asked != nil {
		t.Error("the review of a turn that runs again stays")
	}
}

func TestAReviewThatIsGoneSaysSo(t *testing.T) {
	m := loaded(inReview())
	list := press(m, noon, "a")[0]
	if got := m.Update(noon, screen.Done{Action: list, Result: json.RawMessage(`{"turns":[]}`)}); !reflect.DeepEqual(got, say("Nothing waits for a review here any more.")) || m.asked != nil {
		t.Errorf("without a review: %v", got)
	}
	reviews(t, m, noon.Add(deadTime), turnOf(1, "completed", "pending", "Done."))
	over := inReview()
	over.LatestSeq, over.Summary.Reviews, over.Summary.Status = 71, 0, "idle"
	read := m.Update(noon, Listed{Threads: []Thread{over}})
	if len(read) != 1 || m.asked != nil {
		t.Fatalf("a review that somebody else has given leaves %v", read)
	}
	got := m.Update(noon, screen.Done{Action: read[0], Result: json.RawMessage(`{"turn":{"turn_id":"turn_r","state":"completed","attempt":1,"review":{"state":"rejected","by":"token:phone"}}}`)})
	if !reflect.DeepEqual(got, say("Reviewed by token:phone: rejected.")) {
		t.Errorf("the end of it: %v", got)
	}
}

// What is said above the list takes no row of an answer, in the smallest windows neither.
func TestEveryVerdictIsSeenBelowWhatIsSaid(t *testing.T) {
	later := noon.Add(deadTime)
	for _, height := range []int{9, 10, 14, 24} {
		m := loaded(inReview())
		m.Update(noon, Lost{lostOf("turn_a")})
		reviews(t, m, noon, turnOf(1, "completed", "pending", "a\n\n- b\n- c"))
		if got := text(m, later, 40, height); !strings.Contains(got, "3 Block") {
			t.Errorf("in %d lines a verdict is missing:\n%s", height, got)
		}
		if press(m, later, "n", "x"); !strings.Contains(text(m, later, 40, height), "» x") {
			t.Errorf("in %d lines the note is not seen:\n%s", height, text(m, later, 40, height))
		}
	}
}

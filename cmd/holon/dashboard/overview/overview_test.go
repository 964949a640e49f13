package overview

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/turns"
)

var update = flag.Bool("update", false, "write the golden files")

// deadTime is how long the keys of a question are dead after it appears or changes.
const deadTime = 500 * time.Millisecond

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return noon.Add(-d) }

// five are the threads of a developer with five agents.
func five() []Thread {
	return []Thread{
		{ID: "thread_0000aaaaaaaa", Agent: "claude", LatestSeq: 50, Summary: Summary{
			Cwd: "/home/me/src/holon", Title: "Fix the flaky test of the stream", Status: statusWaiting, Since: ago(6 * time.Minute), TurnID: "turn_0000a1a1a1a1",
			Waiting: []Waiting{{ItemID: "item_a", Since: ago(6 * time.Minute)}}, WaitingCount: 1, Text: "Run go test -race ./rpc/...", SeenSeq: 40,
			Spent: &Spent{InputTokens: 41_000, OutputTokens: 5_000, TotalTokens: 46_000, Cost: &Money{1.1, "USD"}}, Git: &GitStatus{Branch: "fix-flake", Lines: Lines{12, 3}}, Changed: Lines{7, 1},
		}},
		{ID: "thread_0000bbbbbbbb", Agent: "codex", LatestSeq: 60, Summary: Summary{
			Cwd: "/home/me/src/holon", Title: "Write the migration", Status: statusWorking, Since: ago(40 * time.Second), TurnID: "turn_0000b1b1b1b1",
			Text: "Edit: persist/sqlite/migrations/0013_spent.sql", Children: Children{Working: 2, Failed: 1, Total: 4},
			Spent: &Spent{TotalTokens: 1_340_000, Cost: &Money{3, "USD"}}, Git: &GitStatus{Branch: "main", Lines: Lines{}}, SeenSeq: 60,
		}},
		{ID: "thread_0000cccccccc", Agent: "opencode", LatestSeq: 70, Summary: Summary{
			Cwd: "/home/me/src/site", Title: "漢字 title 👩\u200d👩\u200d👧 with joined emoji", Status: statusFailed, Since: ago(3 * time.Hour), TurnID: "turn_0000c1c1c1c1",
			Text: "the model\x1b[31m said: overloaded\x1b]52;c;aGk=\a", SeenSeq: 10,
		}},
		{ID: "thread_0000dddddddd", Agent: "echo", LatestSeq: 80, Summary: Summary{
			Cwd: "/home/me/src/docs", Title: "Spell-check the documents", Status: "idle", Since: ago(20 * time.Minute), TurnID: "turn_0000d1d1d1d1", Text: "Found 4 words and fixed them.", SeenSeq: 80,
		}},
		{ID: "thread_0000eeeeeeee", Agent: "echo", LatestSeq: 90, Summary: Summary{
			Title: "An old idea", Status: statusClosed, Since: ago(50 * time.Hour),
		}},
	}
}

func loaded(threads ...Thread) *Model {
	m := New(screen.Styles{}, "/home/me/src/holon")
	m.Update(noon, Listed{Threads: threads, Whole: true})
	m.Update(noon, Today{Day: noon.Format(time.DateOnly), Spent: []Money{{4.1, "USD"}}})
	return m
}

func press(m *Model, at time.Time, keys ...string) []screen.Action {
	var actions []screen.Action
	for _, name := range keys {
		key := tea.Key{Text: name}
		switch name {
		case "enter":
			key = tea.Key{Code: tea.KeyEnter}
		case "esc":
			key = tea.Key{Code: tea.KeyEscape}
		case "down":
			key = tea.Key{Code: tea.KeyDown}
		case "tab":
			key = tea.Key{Code: tea.KeyTab}
		case "right":
			key = tea.Key{Code: tea.KeyRight}
		default:
			key.Code = []rune(name)[0]
		}
		actions = append(actions, m.Update(at, tea.KeyPressMsg(key))...)
	}
	return actions
}

func text(m *Model, at time.Time, width, height int) string {
	lines := m.Lines(at, width, height)
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is\n%s\nwant\n%s", name, got, want)
	}
}

func TestFiveThreadsOnThreeScreens(t *testing.T) {
	for _, size := range [][2]int{{40, 10}, {80, 24}, {200, 60}} {
		m := loaded(five()...)
		golden(t, fmt.Sprintf("five-%dx%d", size[0], size[1]), text(m, noon, size[0], size[1]))
	}
}

func TestWhatIsOpenHasRoomOnThreeScreens(t *testing.T) {
	for _, size := range [][2]int{{40, 10}, {80, 24}} {
		m := loaded(five()...)
		asks(m, noon)
		golden(t, fmt.Sprintf("question-%dx%d", size[0], size[1]), text(m, noon.Add(deadTime), size[0], size[1]))

		m = loaded(five()...)
		press(m, noon, "n", "h", "i", "tab")
		golden(t, fmt.Sprintf("form-%dx%d", size[0], size[1]), text(m, noon, size[0], size[1]))

		m = loaded(five()...)
		press(m, noon, "i")
		golden(t, fmt.Sprintf("interrupt-%dx%d", size[0], size[1]), text(m, noon, size[0], size[1]))
	}
	for _, size := range [][2]int{{40, 10}, {80, 24}} {
		m := loaded(five()...)
		press(m, noon, "x")
		golden(t, fmt.Sprintf("close-%dx%d", size[0], size[1]), text(m, noon, size[0], size[1]))
	}
	m := loaded(five()...)
	press(m, noon, "?")
	golden(t, "keys-80x24", text(m, noon, 80, 24))
	golden(t, "too-small", text(m, noon, 20, 5))
}

// asks opens the question of the first thread.
func asks(m *Model, at time.Time) []screen.Action {
	actions := press(m, at, "a")
	m.Update(at, screen.Done{Action: actions[0], Result: json.RawMessage(`{"item":{"item_id":"item_a","status":"pending","content":{
		"type":"permission_request","title":"Run a command\u001b[31m","description":"It needs the race detector.",
		"subject":{"type":"command","command":"go test -race ./rpc/...","cwd":"/home/me/src/holon"},
		"options":[{"option_id":"yes","name":"Allow","kind":"allow_once"},{"option_id":"ever","name":"Always allow go test","kind":"allow_always"},{"option_id":"no","name":"Reject","kind":"reject_once"}]}}}`)})
	return actions
}

func TestAnswerOfAQuestion(t *testing.T) {
	m := loaded(five()...)
	if got := asks(m, noon); !reflect.DeepEqual(got, []screen.Action{screen.Call{Name: callQuestion, Method: "item/read", Params: map[string]any{"item_id": "item_a"}}}) {
		t.Fatalf("a asks the program for %v", got)
	}
	if got := press(m, noon.Add(deadTime-1), "1"); !reflect.DeepEqual(got, say("One moment: the question is new.")) {
		t.Errorf("a key before the end of the dead time gives %v", got)
	}
	want := []screen.Action{screen.Respond{Item: "item_a", Option: "ever"}}
	text(m, noon.Add(deadTime), 80, 24)
	if got := press(m, noon.Add(2*deadTime), "9"); !reflect.DeepEqual(got, say("No answer has this key.")) {
		t.Errorf("the key of no answer gives %v", got)
	}
	if got := press(m, noon.Add(3*deadTime), "2", "1"); !reflect.DeepEqual(got, want) {
		t.Errorf("the answer is %v, want %v once", got, want)
	}
	m.Update(noon, screen.Done{Action: want[0], Err: errors.New("no")})
	if m.asked == nil || m.asked.sent {
		t.Error("after an error the question cannot be answered again")
	}
	m.Update(noon, screen.Done{Action: want[0]})
	if m.asked != nil {
		t.Error("the question stays after its answer")
	}
}

func TestTextIsAnAnswerToo(t *testing.T) {
	m := loaded(five()...)
	actions := press(m, noon, "a")
	m.Update(noon, screen.Done{Action: actions[0], Result: json.RawMessage(`{"item":{"item_id":"item_a","status":"pending","content":{"type":"question","message":"Which branch?"}}}`)})
	later := noon.Add(deadTime)
	m.Update(later, tea.PasteMsg{Content: "q\nmain"})
	if got := press(m, later, "x", "enter"); !reflect.DeepEqual(got, []screen.Action{screen.Respond{Item: "item_a", Answer: json.RawMessage(`"q mainx"`)}}) {
		t.Errorf("the answer is %v", got)
	}
}

func TestAQuestionAnsweredElsewhereLeaves(t *testing.T) {
	m := loaded(five()...)
	asks(m, noon)
	other := five()[0]
	other.Summary.Status, other.Summary.Waiting, other.Summary.WaitingCount, other.LatestSeq = statusWorking, nil, 0, 51
	if got := m.Update(noon.Add(time.Minute), Listed{Threads: []Thread{other}}); len(got) != 1 || m.asked != nil {
		t.Errorf("the panel is %v, and the person is told %v", m.asked, got)
	}
}

func TestNothingMovesForTwoSecondsAfterAKey(t *testing.T) {
	m := loaded(five()...)
	press(m, noon, "down")
	if m.Selected() != "thread_0000bbbbbbbb" {
		t.Fatalf("selected is %s", m.Selected())
	}
	before := text(m, noon, 100, 24)
	ended := five()[1]
	ended.Summary.Status, ended.Summary.Since, ended.LatestSeq = "idle", ago(time.Hour), 61
	ended.Summary.Text = "Written."
	m.Update(noon.Add(time.Second), Listed{Threads: []Thread{ended}})
	during := text(m, noon.Add(time.Second), 100, 24)
	if a, b := strings.Split(before, "\n"), strings.Split(during, "\n"); len(a) != len(b) {
		t.Fatal("the number of lines differs")
	} else {
		for i := range a[:12] {
			if title := "Write the migration"; strings.Contains(a[i], title) != strings.Contains(b[i], title) {
				t.Errorf("the row moved within two seconds:\n%s\nto\n%s", before, during)
			}
		}
	}
	if !strings.Contains(during, "✓ Write the migration") {
		t.Errorf("the change is not shown in place:\n%s", during)
	}
	if at := m.Changes(noon.Add(time.Second)); at.After(noon.Add(orderStays)) {
		t.Errorf("it settles at %s only", at)
	}
	m.Update(noon.Add(orderStays), screen.Tick{})
	if after := text(m, noon.Add(orderStays), 100, 24); !strings.Contains(after, "Idle (2), failed (1)") || m.Selected() != ended.ID {
		t.Errorf("after two seconds %s is selected:\n%s", m.Selected(), after)
	}
}

func TestClosingCanBeUndone(t *testing.T) {
	m := loaded(five()...)
	press(m, noon, "G", "k", "x") // the failed one is above what is done
	if got := press(m, noon.Add(4*time.Second), "u", "x"); len(got) != 2 {
		t.Fatalf("u and x say %v", got)
	}
	again := noon.Add(4 * time.Second)
	if got := m.Update(again.Add(undoTime-1), screen.Tick{}); got != nil {
		t.Errorf("a close is sent within the time for undoing: %v", got)
	}
	if at := m.Changes(again.Add(undoTime - 1)); !at.Equal(again.Add(undoTime)) {
		t.Errorf("it is drawn again at %s, want %s", at, again.Add(undoTime))
	}
	want := []screen.Action{screen.Close{Thread: "thread_0000cccccccc"}}
	if got := m.Update(again.Add(undoTime), screen.Tick{}); !reflect.DeepEqual(got, want) {
		t.Errorf("after 5 s the actions are %v, want %v", got, want)
	}
	press(m, again, "x")
	if got := m.Pending(); !reflect.DeepEqual(got, want) {
		t.Errorf("at the end the actions are %v, want %v", got, want)
	}
}

func TestInterruptNamesWhatItStops(t *testing.T) {
	m := loaded(five()...)
	press(m, noon, "down", "i")
	if got := text(m, noon, 100, 24); !strings.Contains(got, "Interrupt “Write the migration” (turn b1b1b1b1)?") {
		t.Errorf("the question does not name the turn:\n%s", got)
	}
	for _, key := range []string{"enter", "esc", "i"} {
		if got := press(m, noon, key, "i"); len(got) != 1 {
			t.Errorf("%s confirms: %v", key, got)
		}
	}
	if got := press(m, noon, "y"); !reflect.DeepEqual(got, []screen.Action{screen.Interrupt{Turn: "turn_0000b1b1b1b1"}}) {
		t.Errorf("y gives %v", got)
	}
}

func TestFormStartsAThreadAndKeepsTheTextOnError(t *testing.T) {
	m := loaded(five()...)
	actions := press(m, noon, "n", "q", "?")
	m.Update(noon, screen.Done{Action: actions[0], Result: json.RawMessage(`{"agents":[{"name":"echo"},{"name":"codex"}]}`)})
	m.Update(noon, tea.PasteMsg{Content: "line one\nline two\n"})
	press(m, noon, "tab", "right", "right")
	want := screen.StartThread{Agent: "codex", Cwd: "/home/me/src/holon", Text: "q?line one\nline two"}
	if got := press(m, noon, "enter", "enter"); !reflect.DeepEqual(got, []screen.Action{want}) {
		t.Fatalf("Enter gives %#v, want %#v once", got, want)
	}
	m.Update(noon, screen.Done{Action: want, Err: errors.New("no")})
	press(m, noon, "esc", "n")
	if got := press(m, noon, "enter"); !reflect.DeepEqual(got, []screen.Action{want}) {
		t.Errorf("after an error and a way back Enter gives %v", got)
	}
	m.Update(noon, screen.Done{Action: want, Result: json.RawMessage(`{"thread_id":"thread_0000dddddddd"}`)})
	if m.form != nil || m.Selected() != "thread_0000dddddddd" {
		t.Errorf("the form is %v, selected is %s", m.form, m.Selected())
	}
}

func TestFilterAndSelectionFollowTheThread(t *testing.T) {
	m := loaded(five()...)
	press(m, noon, "down", "down", "down") // behind the failed one
	selected := m.Selected()
	press(m, noon, "/", "d", "o", "c", "s")
	if got := text(m, noon, 100, 24); strings.Contains(got, "Write the migration") || !strings.Contains(got, "Spell-check") {
		t.Errorf("the filter shows\n%s", got)
	}
	press(m, noon, "enter", "esc")
	if got := text(m, noon, 100, 24); !strings.Contains(got, "Write the migration") || m.Selected() != selected {
		t.Errorf("without a filter %s is selected, want %s:\n%s", m.Selected(), selected, got)
	}
	press(m, noon, "/", "n", "o", "t", "h", "e", "r", "e")
	if got := text(m, noon, 100, 24); !strings.Contains(got, "No thread matches “") {
		t.Errorf("an empty list says\n%s", got)
	}
	press(m, noon, "esc", "c")
	if got := text(m, noon, 100, 24); !strings.Contains(got, "An old idea") {
		t.Errorf("c does not show closed threads:\n%s", got)
	}
}

func TestTheSelectionReturnsWhenTheFilterGoes(t *testing.T) {
	m := loaded(five()...)
	press(m, noon, "down")
	selected := m.Selected()
	press(m, noon, "/", "z", "z")
	if m.Selected() != "" {
		t.Fatalf("%q is selected although nothing matches", m.Selected())
	}
	press(m, noon, "esc")
	if m.Selected() != selected {
		t.Errorf("%q is selected, want %q", m.Selected(), selected)
	}
	press(m, noon, "/", "o", "down")
	if selected = m.Selected(); selected == "" {
		t.Fatal("nothing is selected")
	}
	if press(m, noon, "esc"); m.Selected() != selected {
		t.Errorf("%q is selected, want the one that was chosen while filtering, %q", m.Selected(), selected)
	}
}

func TestAChildThatAsksNamesItsParent(t *testing.T) {
	threads := five()
	child := Thread{ID: "thread_0000ffffffff", Agent: "echo", Level: 1, Summary: Summary{Title: "Look it up", Status: statusWaiting}}
	child.Parent.ID = threads[1].ID
	m := loaded(append(threads, child)...)
	m.Select(child.ID)
	if got := text(m, noon, 80, 24); !strings.Contains(got, "child of “Write the migration”") {
		t.Errorf("the details do not name the parent:\n%s", got)
	}
}

func TestAnInterruptedThreadIsNotDone(t *testing.T) {
	threads := five()
	for i := range threads {
		threads[i].Summary.Interrupted = true // only that of a thread that rests counts
	}
	threads[3].Summary.Text = "interrupted; last: Found 4 words and fixed them."
	threads[0].Summary.SeenSeq, threads[3].Summary.SeenSeq = 50, 79
	m := loaded(threads...)
	m.Select(threads[3].ID)
	got := text(m, noon, 120, 24)
	for _, want := range []string{
		"  ■ Spell-check the documents: was interrupted 20 min ago",
		"\n■ Spell-check the documents", "interrupted; last: Found ", "Interrupted 20 min ago: last: Found 4 words",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing:\n%s", want, got)
		}
	}
	if n := strings.Count(got, "■"); n != 2 {
		t.Errorf("%d threads are marked as interrupted, want one, twice:\n%s", n, got)
	}
}

// A turn that the model has refused has completed, but nobody is to take it for done.
func TestAThreadThatStoppedEarlyIsNotDone(t *testing.T) {
	threads := five()
	for i := range threads {
		threads[i].Summary.StopReason = "max\ttokens" // only that of a thread that rests counts
	}
	threads[3].Summary.Text = "stopped early (max\ttokens); last: Found 4 words and fixed them."
	threads[0].Summary.SeenSeq, threads[3].Summary.SeenSeq = 50, 79
	m := loaded(threads...)
	m.Select(threads[3].ID)
	got := text(m, noon, 120, 24)
	for _, want := range []string{
		"  ■ Spell-check the documents: stopped early 20 min ago", "\n■ Spell-check the documents", "stopped early (max tokens", "Stopped early 20 min ago: max tokens; last: Found 4 words",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing:\n%s", want, got)
		}
	}
	if n := strings.Count(got, "■"); n != 2 {
		t.Errorf("%d threads have the mark, want one, twice:\n%s", n, got)
	}
}

// Why a thread was interrupted is said once in each place, after the word for it.
func TestWhyAThreadWasInterrupted(t *testing.T) {
	th := quick("a", "idle", time.Minute)
	th.Summary.Interrupted, th.Summary.SeenSeq, th.LatestSeq = true, 1, 2
	shows := func(parts ...string) {
		t.Helper()
		got := text(loaded(th), noon, 120, 24)
		for _, part := range parts {
			if !strings.Contains(got, part) {
				t.Errorf("%q is missing:\n%s", part, got)
			}
		}
	}
	th.Summary.Text = "interrupted: server\trestarted"
	shows("was interrupted 1 min ago, server restarted\n", " interrupted: server restarted ", "\nInterrupted 1 min ago: server restarted\n")
	th.Summary.Text = "interrupted: server restarted; last: Half."
	shows("was interrupted 1 min ago, server restarted; last: Half.\n", "\nInterrupted 1 min ago: server restarted; last: Half.\n")
	th.Summary.Text = "interrupted; last: Half."
	shows(" interrupted; last: Half. ", "\nInterrupted 1 min ago: last: Half.\n")

	th.State = "paused"
	th.Summary.Text = "interrupted: not now; last: Half."
	shows(" paused · interrupted: not now; ", "\nInterrupted 1 min ago: paused · not now; last: Half.\n")
	th.Summary.Interrupted, th.Summary.StopReason, th.Summary.Text = false, "refusal", "stopped early (refusal); last: Half."
	shows(" paused · stopped early (refusal); ", "\nStopped early 1 min ago: paused · refusal; last: Half.\n")
	if got := text(loaded(th), noon, 80, 24); strings.Contains(got, "(…") {
		t.Errorf("a text ends at an open bracket:\n%s", got)
	}
}

// Turns that wait for their start are counted once, and do not work.
func TestAQueueIsSaidOnce(t *testing.T) {
	th := Thread{ID: "thread_0000aaaaaaaa", Agent: "echo", State: "paused", Summary: Summary{Title: "later", Status: statusWorking, Since: ago(5 * time.Minute), Queued: 2, Text: "2 turns wait in the queue", Cwd: "/src"}}
	got := text(loaded(th), noon, 100, 24)
	if !strings.Contains(got, "\n2 turns queued for 5 min: paused\n") || strings.Contains(got, "Works") || strings.Count(got, "2 turns") != 2 || strings.Contains(got, "2 queued") {
		t.Errorf("a queue without a turn at work is shown as\n%s", got)
	}
	th.State, th.Summary.Text = "running", "Edit: main.go"
	if got := text(loaded(th), noon, 100, 24); !strings.Contains(got, "\nWorks for 5 min: Edit: main.go\n") || !strings.Contains(got, "echo · 2 queued · ") {
		t.Errorf("a queue behind a turn at work is shown as\n%s", got)
	}
}

// Only a turn at work writes: one that asks, is in review or waits for its start does not.
func TestOnlyTurnsAtWorkWrite(t *testing.T) {
	works := Thread{ID: "thread_0000aaaaaaaa", Summary: Summary{Title: "a", Status: statusWorking, Text: "Edit: main.go", Cwd: "/src"}}
	for name, c := range map[string]struct {
		other Summary
		mark  bool
	}{
		"works":     {Summary{Status: statusWorking, Text: "Edit: b.go", Queued: 1}, true},
		"asks":      {Summary{Status: statusWaiting, Waiting: []Waiting{{ItemID: "item_a"}}}, false},
		"in review": {Summary{Status: statusWaiting, Reviews: 1}, false},
		"queued":    {Summary{Status: statusWorking, Text: "1 turn waits in the queue", Queued: 1}, false},
		"done":      {Summary{Status: "idle"}, false},
	} {
		c.other.Cwd = "/src"
		got := text(loaded(works, Thread{ID: "thread_0000bbbbbbbb", Summary: c.other}), noon, 100, 24)
		if strings.Contains(got, "!!") != c.mark {
			t.Errorf("%s: a mark is wanted: %t\n%s", name, c.mark, got)
		}
	}
}

// What a thread does is in the words of the server. The list adds what only it knows.
func TestTheListShowsTheWordsOfTheServer(t *testing.T) {
	for want, th := range map[string]Thread{
		"Run the tests (and 2 others)": {Summary: Summary{Status: statusWaiting, Text: "Run the tests", WaitingCount: 3}},
		"Run the tests":                {Summary: Summary{Status: statusWaiting, Text: "Run the tests", WaitingCount: 1}},
		"2 results wait for a review":  {Summary: Summary{Status: statusWaiting, Text: "2 results wait for a review", Reviews: 2}},
		"paused · Edit: main.go":       {State: "paused", Summary: Summary{Status: statusWorking, Text: "Edit: main.go"}},
		"paused":                       {State: "paused", Summary: Summary{Status: "idle"}},
	} {
		if got := th.now(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// An agent that has said nothing at all for half a minute is suspected, not one that waits for
// its children or that works on something.
func TestAnAgentThatSaysNothingIsSuspected(t *testing.T) {
	silent := Summary{Status: statusWorking, UpdatedAt: noon}
	for want, s := range map[string]Summary{
		"silent for 45 s: holon doctor checks its agent": silent,
		"go test": {Status: statusWorking, Text: "go test", UpdatedAt: noon},
		"":        {Status: statusWorking, UpdatedAt: noon, Children: Children{Working: 1}},
	} {
		if got := now(loaded(), &Thread{Summary: s}, noon.Add(45*time.Second)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := now(loaded(), &Thread{Summary: silent}, noon.Add(turns.SilentAfter-1)); got != "" {
		t.Errorf("too early: %q", got)
	}
}

func TestNextWaitingGoesAround(t *testing.T) {
	threads := five()
	threads[1].Summary.Status, threads[1].Level = statusWaiting, 1 // a child
	m := loaded(threads...)
	if a, b, c := m.NextWaiting(""), m.NextWaiting(threads[0].ID), m.NextWaiting(threads[1].ID); a != threads[0].ID || b != threads[1].ID || c != a {
		t.Errorf("the next ones are %s, %s and %s", a, b, c)
	}
	threads[3].Level = 1
	if got := text(loaded(threads...), noon, 100, 24); strings.Contains(got, "Spell-check") || !strings.Contains(got, "? Write the migration") {
		t.Errorf("child threads that need nobody are listed, or one that does is not:\n%s", got)
	}
	if m.NeedYou() != 2 {
		t.Errorf("%d threads need the person", m.NeedYou())
	}
}

// The key for the next thread that waits leads to its row at once, whatever is filtered, and
// although the rows stay as they are after a key.
func TestTheNextThatWaitsComesIntoSight(t *testing.T) {
	child := Thread{ID: "thread_child", Level: 1, LatestSeq: 1, Summary: Summary{Title: "look around", Status: statusWorking, Since: noon}}
	m := loaded(append(five(), child)...)
	press(m, noon, "/")
	press(m, noon, "D", "o", "c", "enter")
	child.LatestSeq, child.Summary.Status = 2, statusWaiting
	m.Update(noon.Add(time.Second), Listed{Threads: []Thread{child}})
	m.Select(child.ID)
	if shown := text(m, noon.Add(time.Second), 80, 24); m.Selected() != child.ID || !strings.Contains(shown, "? look around") {
		t.Errorf("selected is %q:\n%s", m.Selected(), shown)
	}
	m.Select("thread_unknown")
	if m.Selected() == "thread_unknown" {
		t.Error("a thread is selected that is not there")
	}
}

func TestWhileYouWereAway(t *testing.T) {
	m := loaded(five()...)
	got := m.seen()
	want := []screen.Action{screen.Seen{Thread: "thread_0000aaaaaaaa", Seq: 50}, screen.Seen{Thread: "thread_0000cccccccc", Seq: 70}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("seen is %v, want %v", got, want)
	}
	if strings.Contains(text(m, noon, 100, 24), "While you were away") {
		t.Error("it stays after it was seen")
	}
	news := five()
	for i := range news {
		news[i].Summary.SeenSeq = 0
	}
	if m := loaded(news...); len(m.away) > 0 {
		t.Errorf("a newcomer was away from %v", m.away)
	}
}

// A thousand threads cost a screen no more rows than fit.
func TestOnlyVisibleRowsAreDrawn(t *testing.T) {
	var threads []Thread
	for i := range 1000 {
		threads = append(threads, Thread{ID: fmt.Sprintf("thread_%04d", i), LatestSeq: 1, Summary: Summary{Title: fmt.Sprintf("number %d", i), Status: "idle", Since: ago(time.Duration(i) * time.Minute), TurnID: "turn_1"}})
	}
	m := loaded(threads...)
	m.Lines(noon, 80, 24)
	press(m, noon, "G")
	m.Lines(noon, 80, 24)
	if m.Drawn > 2*24 {
		t.Errorf("two screens of 24 lines drew %d rows", m.Drawn)
	}
	if got := text(m, noon, 100, 24); !strings.Contains(got, "✓ number 999") {
		t.Errorf("G does not show the last row:\n%s", got)
	}
	// Rows of hours change once an hour, so nothing ticks faster.
	if at := m.Changes(noon); at.Sub(noon) < time.Minute {
		t.Errorf("it is drawn again after %s", at.Sub(noon))
	}
}

// FuzzNothingActsOnTheTerminal puts a text everywhere where a server can. Each input
// draws many pictures.
// fuzz: 5000x
func FuzzNothingActsOnTheTerminal(f *testing.F) {
	f.Add("a\x1b[31m", "\x1b]52;c;x\a", 40, 10, "n")
	f.Add("👩‍👩‍👧", "漢字\t\r\n\u202e", 80, 24, "a")
	f.Fuzz(func(t *testing.T, a, b string, width, height int, keys string) {
		width, height = width&0xff, height&0x3f
		threads := five()
		for i := range threads {
			s := &threads[i].Summary
			s.Title, s.Text, s.Cwd, threads[i].Agent = a, b, b, a
		}
		m := loaded(threads...)
		if len(keys) > 20 {
			keys = keys[:20]
		}
		for _, r := range keys {
			for _, action := range m.Update(noon, tea.KeyPressMsg(tea.Key{Text: string(r), Code: r})) {
				if call, ok := action.(screen.Call); ok && call.Name == callQuestion {
					content, err := json.Marshal(map[string]any{"item": map[string]any{"item_id": "item_a", "status": "pending", "content": map[string]any{
						"title": a, "description": b, "message": b, "subject": map[string]any{"command": a, "cwd": b}, "options": []map[string]any{{"option_id": a, "name": b, "kind": "allow_always"}}}}})
					if err != nil {
						t.Fatal(err)
					}
					m.Update(noon, screen.Done{Action: call, Result: content})
				}
			}
		}
		m.Update(noon, tea.PasteMsg{Content: a + b})
		lines := m.Lines(noon, width, height)
		if len(lines) != height {
			t.Fatalf("%d lines, want %d", len(lines), height)
		}
		for _, line := range lines {
			if screen.Width(line) != width {
				t.Errorf("%q has %d columns, want %d", line, screen.Width(line), width)
			}
			for _, r := range line {
				if r < 0x20 || r >= 0x7f && r < 0xa0 {
					t.Errorf("%q has the control character %U", line, r)
				}
			}
		}
	})
}

func TestTheStartedThreadIsSelectedOnceItIsListed(t *testing.T) {
	m := loaded(five()...)
	press(m, noon, "n", "x", "enter")
	m.Update(noon, screen.Done{Action: screen.StartThread{}, Result: json.RawMessage(`{"thread_id":"thread_new"}`)})
	fresh := Thread{ID: "thread_new", LatestSeq: 99, Summary: Summary{Title: "x", Status: statusWorking, Since: noon}}
	m.Update(noon.Add(time.Second), Listed{Threads: []Thread{fresh}})
	if m.Selected() != "thread_new" {
		t.Errorf("selected is %s", m.Selected())
	}
	m.Update(noon.Add(time.Second), Listed{Threads: []Thread{{ID: "other", LatestSeq: 100, Summary: Summary{Status: statusWaiting}}}})
	if m.Selected() != "thread_new" {
		t.Errorf("the selection moves to %s", m.Selected())
	}
}

func TestHelpScrollsOnASmallScreen(t *testing.T) {
	m := loaded(five()...)
	press(m, noon, "?")
	m.Lines(noon, 40, 10)
	for range 6 {
		press(m, noon, " ", "j")
		m.Lines(noon, 40, 10)
	}
	if got := text(m, noon, 40, 10); !strings.Contains(got, "what is not committed") {
		t.Errorf("the end of the help is\n%s", got)
	}
	press(m, noon, "q")
	if got := text(m, noon, 40, 10); !strings.Contains(got, "Needs you") {
		t.Errorf("after q the screen is\n%s", got)
	}
}

func TestAQuestionThatChangesIsDeadForAMomentAgain(t *testing.T) {
	m := loaded(five()...)
	asks(m, noon)
	later := noon.Add(time.Minute)
	changed := five()[0]
	changed.LatestSeq++
	actions := m.Update(later, Listed{Threads: []Thread{changed}})
	if len(actions) != 1 {
		t.Fatalf("a change of the thread asks for %v", actions)
	}
	m.Update(later, screen.Done{Action: actions[0], Result: json.RawMessage(`{"item":{"item_id":"item_a","status":"pending","content":{"title":"Delete everything","options":[{"option_id":"yes","name":"Allow","kind":"allow_once"}]}}}`)})
	if got := press(m, later.Add(deadTime-1), "1"); answers(got) {
		t.Errorf("a key for the question of before answers the new one: %v", got)
	}
	if got := press(m, later.Add(deadTime), "1"); len(got) != 1 {
		t.Errorf("later the answer is %v", got)
	}
}

func TestClosedThreadsAreBounded(t *testing.T) {
	m := loaded(five()...)
	for i := range 3 * maxClosed {
		m.Update(noon, Listed{Threads: []Thread{{ID: fmt.Sprintf("closed_%04d", i), LatestSeq: 1, Summary: Summary{Status: statusClosed, Since: noon.Add(time.Duration(i) * time.Second)}}}})
	}
	if n := len(m.list.threads); n > maxClosed+5 {
		t.Errorf("%d threads are kept", n)
	}
	for _, id := range []string{"thread_0000aaaaaaaa", fmt.Sprintf("closed_%04d", 3*maxClosed-1)} {
		if m.list.threads[id] == nil {
			t.Errorf("%s is forgotten", id)
		}
	}
}

func BenchmarkKeyWithAThousandThreads(b *testing.B) {
	var threads []Thread
	for i := range 1000 {
		threads = append(threads, Thread{ID: fmt.Sprintf("thread_%04d", i), LatestSeq: 1, Summary: Summary{Title: "one", Status: []string{"idle", "working", "waiting"}[i%3], Since: ago(time.Duration(i) * time.Minute)}})
	}
	m := loaded(threads...)
	for b.Loop() {
		press(m, noon, "j")
		m.Lines(noon, 200, 60)
		m.Changes(noon)
	}
}

func TestEnterOnAQuestionOpensItsThread(t *testing.T) {
	m := loaded(five()...)
	asks(m, noon)
	if got := press(m, noon.Add(deadTime), "enter"); !reflect.DeepEqual(got, []screen.Action{screen.Open{Thread: "thread_0000aaaaaaaa"}}) || m.asked != nil {
		t.Errorf("Enter gives %v, and the panel is %v", got, m.asked)
	}
}

// However many rows show seconds, the screen is drawn once a second for them.
func TestRowsThatShowSecondsChangeTogether(t *testing.T) {
	var threads []Thread
	for i := range 20 {
		threads = append(threads, Thread{ID: fmt.Sprintf("thread_%02d", i), Summary: Summary{Status: "idle", Since: ago(time.Duration(i) * 37 * time.Millisecond)}})
	}
	m := loaded(threads...)
	now, draws := noon, 0
	for now.Before(noon.Add(10 * time.Second)) {
		m.Update(now, screen.Tick{})
		m.Lines(now, 80, 40)
		now = m.Changes(now)
		draws++
	}
	if draws > 10 {
		t.Errorf("it is drawn %d times in 10 s", draws)
	}
}

// The panel shows the change that a question is about, as much as there is room for, and
// its keys are dead until that is there.
func TestThePanelShowsTheDiff(t *testing.T) {
	m := loaded(five()...)
	actions := press(m, noon, "a")
	question := json.RawMessage(`{"item":{"item_id":"item_a","status":"pending","content":{"type":"permission_request","title":"Edit a.go","subject":{"item_id":"file_1"},
		"options":[{"option_id":"yes","name":"Allow","kind":"allow_once"},{"option_id":"ever","name":"Always","kind":"allow_always"},{"option_id":"no","name":"Reject","kind":"reject_once"}]}}}`)
	change := func(lines string) json.RawMessage {
		return json.RawMessage(`{"item":{"item_id":"file_1","status":"in_progress","content":{"type":"file_change","changes":[{"operation":"modify","path":"/home/me/src/holon/a.go","old_text":"package a\n","new_text":"package a\n` + lines + `"}]}}}`)
	}
	actions = m.Update(noon, screen.Done{Action: actions[0], Result: question})
	if len(actions) != 1 || actions[0].(screen.Call).Params.(map[string]any)["item_id"] != "file_1" {
		t.Fatalf("the question asks for %v", actions)
	}
	later := noon.Add(time.Minute)
	if got := press(m, later, "1", "y"); answers(got) {
		t.Errorf("a key before the change is shown gives %v", got)
	}
	m.Update(later, screen.Done{Action: actions[0], Result: change(strings.Repeat(`one more\n`, 40))})
	if got := press(m, later.Add(deadTime-1), "1"); answers(got) {
		t.Errorf("a key right after the change has come gives %v", got)
	}
	shown := text(m, later.Add(deadTime), 80, 24)
	for _, part := range []string{"in /home/me/src/holon", "± edit a.go (+40 −0)", "+ one more", "more lines, Enter opens the thread", "Needs you (1)", "1 Allow  [y]", "from now on", "3 Reject  [n]"} {
		if !strings.Contains(shown, part) {
			t.Errorf("%q is missing:\n%s", part, shown)
		}
	}
	if shown := text(m, later.Add(deadTime), 40, 10); !strings.Contains(shown, "more lines, Enter opens the thread") {
		t.Errorf("in a small window:\n%s", shown)
	}
	for _, size := range [][2]int{{40, 10}, {30, 8}, {200, 60}} {
		shown := text(m, later.Add(deadTime), size[0], size[1])
		if !strings.Contains(shown, "? edit a.go") || !strings.Contains(shown, "1 Allow") || !strings.Contains(shown, "3 Reject") {
			t.Errorf("in %v:\n%s", size, shown)
		}
	}
	if got := press(m, later.Add(2*deadTime), "y"); answers(got) || !strings.Contains(fmt.Sprint(got), "Enter opens the thread, which shows all") {
		t.Errorf("what is not all shown is allowed by %v", got)
	}
	// It changes while the finger is on its way.
	changed := five()[0]
	changed.LatestSeq++
	actions = m.Update(later, Listed{Threads: []Thread{changed}})
	actions = m.Update(later, screen.Done{Action: actions[0], Result: question})
	later = later.Add(time.Minute)
	m.Update(later, screen.Done{Action: actions[0], Result: change(`another\n`)})
	if got := press(m, later.Add(deadTime-1), "y"); answers(got) {
		t.Errorf("a key right after the change became another one gives %v", got)
	}
	text(m, later.Add(deadTime), 80, 24)
	if got := press(m, later.Add(deadTime), "y"); !reflect.DeepEqual(got, []screen.Action{screen.Respond{Item: "item_a", Option: "yes"}}) {
		t.Errorf("y gives %v", got)
	}
}

// A question whose subject cannot be read can be answered, and says so.
func TestAQuestionWithoutItsSubjectCanBeAnswered(t *testing.T) {
	m := loaded(five()...)
	actions := press(m, noon, "a")
	actions = m.Update(noon, screen.Done{Action: actions[0], Result: json.RawMessage(`{"item":{"item_id":"item_a","status":"pending","content":{"type":"permission_request","title":"Edit","subject":{"item_id":"gone"},"options":[{"option_id":"yes","name":"Allow","kind":"allow_once"}]}}}`)})
	m.Update(noon, screen.Done{Action: actions[0], Err: errors.New("gone")})
	if shown := text(m, noon.Add(deadTime), 80, 24); !strings.Contains(shown, "cannot be read") {
		t.Errorf("it shows\n%s", shown)
	}
	if got := press(m, noon.Add(deadTime), "1"); len(got) != 1 {
		t.Errorf("1 gives %v", got)
	}
}

func TestOnlyWhatIsDoneIsGreen(t *testing.T) {
	styles := screen.NewStyles(true)
	for sign, thread := range map[string]*Thread{
		"✓": {Summary: Summary{Status: "idle", TurnID: "turn_a"}},
		"·": {Summary: Summary{Status: "idle"}}, // it has had no turn yet
		"■": {Summary: Summary{Status: "idle", Interrupted: true}},
		"!": {Summary: Summary{Status: "failed", Interrupted: true}},
	} {
		if green := thread.signStyle(styles) == styles.Done; thread.sign() != sign || green != (sign == "✓") {
			t.Errorf("%s: green is %v", thread.sign(), green)
		}
	}
	if (&Thread{Summary: Summary{Status: "idle", StopReason: "max_tokens"}}).signStyle(styles) == styles.Done {
		t.Error("a turn that stopped early is green")
	}
}

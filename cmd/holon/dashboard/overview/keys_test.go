package overview

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/conversation"
	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/cmd/holon/restarts"
	"github.com/seed82539d15/holon/internal/test/keytest"
)

func TestEveryKeyThatWorksIsInTheHelp(t *testing.T) {
	later := noon.Add(time.Minute)
	busy := func(keys ...string) *Model {
		threads := five()
		for i := range 40 {
			threads = append(threads, Thread{ID: fmt.Sprint("thread_", i), LatestSeq: 9, Summary: Summary{Title: fmt.Sprint("Number ", i), Status: "failed", TurnID: "turn_x", Since: ago(time.Hour)}})
		}
		m := loaded(threads...)
		m.Lines(later, 80, 24)
		press(m, later, keys...)
		return m
	}
	asked := func() *Model {
		m := busy()
		var options []string
		for i := range 9 {
			kind := "allow_once"
			if i == 8 {
				kind = "reject_once"
			}
			options = append(options, fmt.Sprintf(`{"option_id":"o%d","name":"Option","kind":%q}`, i, kind))
		}
		actions := press(m, noon, "a")
		m.Update(noon, screen.Done{Action: actions[0], Result: json.RawMessage(`{"item":{"item_id":"item_a","status":"pending","content":{"type":"permission_request","title":"Edit","options":[` + strings.Join(options, ",") + `]}}}`)})
		return m
	}
	for heading, situations := range map[string][]func() *Model{
		"": {
			func() *Model { return busy() },
			func() *Model { return busy("down", "down", "down", "down") },
			func() *Model { return busy("/", "7", "enter") },
			func() *Model { return loaded(five()...) },
		},
		"While you answer": {asked},
	} {
		t.Run(heading, func(t *testing.T) {
			keytest.Check(t, keytest.Listed(allKeys, heading), len(situations), func(string) bool { return false }, func(i int, key tea.KeyPressMsg) bool {
				m := situations[i]()
				before := text(m, later, 80, 24)
				actions := m.Update(later, key)
				if reflect.DeepEqual(actions, say(screen.KeysHere)) || reflect.DeepEqual(actions, say(conversation.NoAnswer)) {
					return false
				}
				return len(actions) > 0 || text(m, later, 80, 24) != before
			})
		})
	}
}

// r runs again what failed or was interrupted, as on the page of a thread, and nothing else.
func TestRetryIsForWhatFailedOrWasInterrupted(t *testing.T) {
	for status, retried := range map[string]bool{
		"idle": false, "interrupted": true, statusFailed: true, statusWorking: false, statusWaiting: false, statusClosed: false,
	} {
		th := quick("a", status, time.Minute)
		if th.Summary.TurnID = "turn_a"; status == "interrupted" {
			th.Summary.Status, th.Summary.Interrupted = "idle", true
		}
		m := loaded(th)
		want := say(screen.NothingToRetry)
		if retried {
			want = []screen.Action{screen.Retry{Turn: "turn_a"}}
		}
		press(m, noon, "c", "g")
		if got := strings.Contains(text(m, noon, 80, 24), "r retry"); got != retried {
			t.Errorf("that the help line of a thread that is %s names r is %t", status, got)
		}
		if got := press(m, noon, "r"); !reflect.DeepEqual(got, want) {
			t.Errorf("r on a thread that is %s gives %v, want %v", status, got, want)
		}
	}
}

// c shows closed threads where they can be seen, however many others are above them.
func TestClosedThreadsComeIntoSight(t *testing.T) {
	var threads []Thread
	for i := range 80 {
		status := "idle"
		if i >= 40 {
			status = statusClosed
		}
		threads = append(threads, quick(fmt.Sprint("number ", i), status, time.Duration(i)*time.Minute))
	}
	m := loaded(threads...)
	text(m, noon, 80, 24)
	press(m, noon, "c")
	if got := text(m, noon, 80, 24); !strings.Contains(got, "\nClosed (40)") || strings.Count(got, "\n- number ") < 10 {
		t.Errorf("c shows\n%s", got)
	}
}

// A key that can do nothing now says why.
func TestAKeyThatCanDoNothingSaysWhy(t *testing.T) {
	m := loaded(five()[:1]...)
	m.away = nil
	for key, want := range map[string]string{
		"c": "No thread is closed.", "v": "Nothing is new since you were away.", "u": screen.NothingToUndo, "R": restarts.None,
		"r": screen.NothingToRetry,
	} {
		if got := press(m, noon, key); !reflect.DeepEqual(got, say(want)) {
			t.Errorf("%s gives %v, want %q", key, got, want)
		}
	}
	m.setFilter("flaky")
	if got := press(m, noon, "c"); !reflect.DeepEqual(got, say("A filter shows closed threads too: Esc leaves it.")) {
		t.Errorf("c with a filter gives %v", got)
	}
}

// A letter that is no command does not vanish in silence.
func TestALetterThatIsNoCommandSaysWhereTheKeysAre(t *testing.T) {
	m := loaded(five()...)
	for _, key := range []string{"e", "E", "1", "ü", "."} {
		for _, m := range []*Model{m, loaded()} {
			if got := press(m, noon, key); !reflect.DeepEqual(got, say("? shows the keys.")) {
				t.Errorf("%s gives %v", key, got)
			}
		}
	}
	for _, key := range []string{"j", "k", "c", "c", "?", "e", "/", "e", "esc", "esc", "tab", "right"} {
		if got := press(m, noon, key); got != nil {
			t.Errorf("%s gives %v", key, got)
		}
	}
}

// Keys are dead while the question, and what it is about, is read: the person is told.
func TestAKeyBeforeTheQuestionIsReadIsNotLostInSilence(t *testing.T) {
	m := loaded(five()...)
	read := press(m, noon, "a")
	early := func(at time.Time, want string) {
		t.Helper()
		for _, key := range []string{"n", "y", "1"} {
			if got := press(m, at, key); !reflect.DeepEqual(got, say(want)) {
				t.Errorf("%s gives %v, want %q", key, got, want)
			}
		}
	}
	early(noon, "One moment: reading the question.")
	subject := m.Update(noon, screen.Done{Action: read[0], Result: json.RawMessage(`{"item":{"item_id":"item_a","status":"pending","content":{
		"type":"permission_request","title":"Edit","subject":{"type":"item","item_id":"item_s"},"options":[{"option_id":"no","name":"Reject","kind":"reject_once"}]}}}`)})
	if len(subject) != 1 {
		t.Fatalf("what it is about is read by %v", subject)
	}
	later := noon.Add(time.Minute)
	early(later, "One moment: reading the question.")
	m.Update(later, screen.Done{Action: subject[0], Result: json.RawMessage(`{"item":{"item_id":"item_s","status":"in_progress","content":{"type":"file_change"}}}`)})
	early(later.Add(deadTime-1), "One moment: the question is new.")
	want := []screen.Action{screen.Respond{Item: "item_a", Option: "no"}}
	if got := press(m, later.Add(2*deadTime), "n"); !reflect.DeepEqual(got, want) {
		t.Errorf("n gives %v, want %v", got, want)
	}
}

// Who believes to write types words: none of their letters is an answer, however slowly they
// come, as long as they come one after the other.
func TestWordsAnswerNoQuestion(t *testing.T) {
	for _, word := range []string{"any idea", "an y", "abc y", "a1 y1", "all yes"} {
		for _, pause := range []time.Duration{0, 100 * time.Millisecond, 300 * time.Millisecond, deadTime - 1} {
			m := loaded(five()...)
			at := noon
			asks(m, at)
			text(m, at, 80, 24)
			for _, letter := range word[1:] {
				at = at.Add(pause)
				if got := press(m, at, string(letter)); answers(got) {
					t.Errorf("%q, a letter each %v: %c gives %v", word, pause, letter, got)
				}
			}
			if got := press(m, at.Add(deadTime), "n"); !answers(got) {
				t.Errorf("%q, a letter each %v: after that n gives %v", word, pause, got)
			}
		}
	}
}

// answers reports whether an answer is among what the program is asked for.
func answers(actions []screen.Action) bool {
	return slices.ContainsFunc(actions, func(a screen.Action) bool { _, is := a.(screen.Respond); return is })
}

// /help in the form of a new thread is no prompt.
func TestHelpIsNoPrompt(t *testing.T) {
	m := loaded(five()...)
	press(m, noon, "n", "/", "h", "e", "l", "p")
	if got := press(m, noon, "enter"); got != nil || !m.help.Open {
		t.Fatalf("/help gives %v", got)
	}
	press(m, noon, "esc")
	if m.help.Open || m.form == nil || m.form.prompt.Value() != "" {
		t.Error("the form is not there after the help")
	}
}

// The help line begins with what matters most where the thread is, and names no key that is dead.
func TestTheHelpLineBeginsWithWhatMatters(t *testing.T) {
	idle, queued := quick("idle", "idle", 1), quick("queued", statusWorking, 1)
	queued.Summary.TurnID, queued.Summary.Queued, queued.Summary.Text = "turn_q", 1, "1 turn waits in the queue"
	works, review := quick("works", statusWorking, 1), inReview()
	works.Summary.TurnID, works.Summary.Text = "turn_w", "Edit: main.go"
	review.Summary.TurnID = "turn_r"
	for name, c := range map[string]struct {
		threads []Thread
		keys    string
		dead    string
	}{
		"asks":        {five()[:1], "a answer  Enter open  n new  i interrupt  x close", "w next"},
		"asks, more":  {[]Thread{five()[0], review}, "a answer  Enter open  w next that waits", "r retry"},
		"in review":   {[]Thread{review}, "a review  Enter open  n new  x close", "i interrupt"},
		"nothing":     {nil, "n new  / filter  q quit  ? keys", "Enter open"},
		"idle":        {[]Thread{idle}, "Enter open  n new  x close", "a answer"},
		"works":       {[]Thread{works}, "Enter open  n new  i interrupt", "w what"},
		"only queued": {[]Thread{queued}, "Enter open  n new  x close", "i interrupt"},
	} {
		m := loaded(c.threads...)
		if len(c.threads) > 0 {
			m.Select(c.threads[0].ID)
		}
		lines := m.Lines(noon, 80, 24)
		line := lines[len(lines)-1]
		if !strings.HasPrefix(line, c.keys) || strings.Contains(line, c.dead) {
			t.Errorf("%s: the help line is %q", name, line)
		}
	}
	m := loaded(idle, five()[0])
	m.Select("thread_idle")
	if lines := m.Lines(noon, 80, 24); !strings.HasPrefix(lines[23], "w what waits  Enter open") {
		t.Errorf("beside a thread that asks the help line of an idle one is %q", lines[23])
	}
	m = loaded(queued)
	if got := press(m, noon, "i"); !reflect.DeepEqual(got, say("Nothing to interrupt: no turn of queued has started. x closes it, with what is queued.")) || m.sure != nil {
		t.Errorf("i on a thread whose turn is queued gives %v", got)
	}
	m = loaded(review)
	if got := press(m, noon, "i"); !reflect.DeepEqual(got, say("Mend the build waits for a review. If it works on, i on its page interrupts that: Enter opens it.")) || m.sure != nil {
		t.Errorf("i on a thread in review gives %v", got)
	}
}

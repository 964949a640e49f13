package overview

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// question is the answer to item/read of a question that is answered with a text.
func question(status, resolution string) json.RawMessage {
	return json.RawMessage(`{"item":{"item_id":"item_a","status":"` + status + `","content":{"type":"question","message":"Which branch?"` + resolution + `}}}`)
}

// typing is an overview in which a person types the answer to a question.
func typing() *Model {
	m := loaded(five()...)
	actions := press(m, noon, "a")
	m.Update(noon, screen.Done{Action: actions[0], Result: question("pending", "")})
	press(m, noon.Add(deadTime), "f", "i")
	return m
}

// What a person types for a question is no command when the question goes away.
func TestTypedLettersStayTextWhenTheQuestionGoes(t *testing.T) {
	m, later := typing(), noon.Add(deadTime)
	other := five()[0]
	other.Summary.Status, other.Summary.Waiting, other.Summary.WaitingCount, other.LatestSeq = statusWorking, nil, 0, 51
	read := m.Update(later, Listed{Threads: []Thread{other}})
	if got := press(m, later, strings.Split("x it quick", "")...); got != nil || len(m.closing) > 0 {
		t.Fatalf("what is typed gives %v, and closes %v", got, m.closing)
	}
	if len(read) != 1 {
		t.Fatalf("the end of the question asks for %v", read)
	}
	shows := func(parts ...string) {
		t.Helper()
		got := text(m, later, 80, 24)
		for _, part := range parts {
			if !strings.Contains(got, part) {
				t.Errorf("%q is missing in\n%s", part, got)
			}
		}
	}
	shows("It was answered or withdrawn meanwhile. Nothing is sent; Esc leaves.", "» fix it quick", "asks no more ─")
	m.Update(later, screen.Done{Action: read[0], Result: question("completed", `,"answer":"main","resolved_by":"token:phone"`)})
	shows(`Answered by token:phone: "main". Nothing is sent; Esc leaves.`, "» fix it quick")
	other.LatestSeq++
	if got := m.Update(later, Listed{Threads: []Thread{other}}); got != nil {
		t.Errorf("the question is read again: %v", got)
	}
	m.Update(later, tea.PasteMsg{Content: "ly"})
	want := []screen.Action{screen.Say{Text: `Nothing was sent. Answered by token:phone: "main". Esc leaves.`}}
	if got := press(m, later, "enter"); !reflect.DeepEqual(got, want) {
		t.Errorf("Enter gives %v, want %v", got, want)
	}
	shows("» fix it quickly", "Esc leave")
	press(m, later, "esc", "x", "y")
	if m.asked != nil || len(m.closing) != 1 {
		t.Errorf("after Esc the panel is %v, and x closes %v", m.asked, m.closing)
	}
}

// A question that is open and cannot be read again stays, with what was typed.
func TestAQuestionStaysWhenItCannotBeReadAgain(t *testing.T) {
	m, later := typing(), noon.Add(deadTime)
	other := five()[0]
	other.LatestSeq++
	read := m.Update(later, Listed{Threads: []Thread{other}})
	if len(read) != 1 {
		t.Fatalf("what has changed asks for %v", read)
	}
	m.Update(later, screen.Done{Action: read[0], Err: errors.New("no")})
	if got := press(m, later, "x", "enter"); !reflect.DeepEqual(got, []screen.Action{screen.Respond{Item: "item_a", Answer: json.RawMessage(`"fix"`)}}) {
		t.Errorf("the answer is %v", got)
	}
}

// An answer that was not taken is not lost.
func TestAnAnswerThatWasNotTakenStays(t *testing.T) {
	m, later := typing(), noon.Add(deadTime)
	actions := press(m, later, "x", "enter")
	if len(actions) != 1 {
		t.Fatalf("Enter gives %v", actions)
	}
	m.Update(later, screen.Done{Action: actions[0], Err: errors.New("no")})
	if got := text(m, later, 80, 24); !strings.Contains(got, "» fix\n") {
		t.Errorf("the answer is gone:\n%s", got)
	}
}

// A form that is left while its thread starts is empty when that has started, and can be
// sent again when it has not.
func TestAFormThatIsLeftWhileItsThreadStarts(t *testing.T) {
	for _, err := range []error{nil, errors.New("no")} {
		m := loaded(five()...)
		start := press(m, noon, "n", "h", "enter")[1]
		press(m, noon, "esc")
		m.Update(noon, screen.Done{Action: start, Result: json.RawMessage(`{"thread_id":"t"}`), Err: err})
		press(m, noon, "n")
		var want []screen.Action
		if err != nil {
			want = []screen.Action{start}
		}
		if got := press(m, noon, "enter"); err != nil && !reflect.DeepEqual(got, want) {
			t.Errorf("with the error %v Enter gives %v, want %v", err, got, want)
		}
		if left := m.form.prompt.Value(); (left == "") != (err == nil) {
			t.Errorf("with the error %v the prompt is %q", err, left)
		}
	}
}

// Who was about to answer learns what the answer was, in 40 columns.
func TestAnAnswerFromElsewhereIsSaid(t *testing.T) {
	options := `"options":[{"option_id":"yes","name":"Allow","kind":"allow_once"},{"option_id":"no","name":"Reject","kind":"reject_once"},{"option_id":"ever","name":"Always allow each and every command","kind":"allow_always"}]`
	for want, end := range map[string]string{
		"Answered elsewhere: Reject.":              `"status":"completed","content":{"outcome":{"type":"selected","option_id":"no"},"resolved_by":"client",` + options,
		"Answered elsewhere: Always allow each ….": `"status":"completed","content":{"outcome":{"type":"selected","option_id":"ever"},` + options,
		"Answered by token:phone: Allow.":          `"status":"completed","content":{"outcome":{"type":"selected","option_id":"yes"},"resolved_by":"token:phone",` + options,
		"Answered by token:a-very-…: Always all….": `"status":"completed","content":{"outcome":{"type":"selected","option_id":"ever"},"resolved_by":"token:a-very-long-name",` + options,
		"It was answered elsewhere.":               `"status":"completed","content":{` + options,
		"It was withdrawn.":                        `"status":"cancelled","content":{` + options,
		"Nobody answered in time.":                 `"status":"completed","content":{"outcome":{"type":"expired","option_id":"no"},` + options,
	} {
		m := loaded(five()...)
		asks(m, noon)
		other := five()[0]
		other.Summary.Status, other.Summary.Waiting, other.Summary.WaitingCount, other.LatestSeq = statusWorking, nil, 0, 51
		read := m.Update(noon, Listed{Threads: []Thread{other}})
		if len(read) != 1 || m.asked != nil {
			t.Fatalf("the panel is %v, and the end is read by %v", m.asked, read)
		}
		got := m.Update(noon, screen.Done{Action: read[0], Result: json.RawMessage(`{"item":{"item_id":"item_a",` + end + `}}}`)})
		if !reflect.DeepEqual(got, say(want)) || screen.Width(want) > 40 {
			t.Errorf("the person is told %v, want %q", got, want)
		}
	}
}

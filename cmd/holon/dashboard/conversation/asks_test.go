package conversation

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/rpc/client"
)

func TestAQuestionDoesNotTakeTheFocusOfOneWhoTypes(t *testing.T) {
	p := newPage(t, 80, 24).open()
	p.started("t1")
	p.keys("please ")
	p.item("q1", "t1", "pending", permission("Remove everything", nil))
	p.keys("1y")
	p.later(time.Second)
	p.keys("yes", "<esc>", "y1")
	for _, a := range p.did() {
		if _, ok := a.(screen.Respond); ok {
			t.Fatalf("it was answered: %#v", a)
		}
	}
	p.shows("> please 1yyes", "? Remove everything")
}

func TestKeysOfANewQuestionAreDead(t *testing.T) {
	p := newPage(t, 80, 24).open()
	p.started("t1")
	p.item("q1", "t1", "pending", permission("Read a file", nil))
	p.later(time.Second)
	p.keys("<esc>", "a")
	// It changes while the finger is on its way.
	p.item("q1", "t1", "pending", permission("Remove a file", nil))
	p.keys("y", "1", "<enter>")
	p.now = p.now.Add(deadFor - 1)
	p.keys("y")
	p.wants()
	p.now = p.now.Add(1)
	p.keys("y")
	p.wants(screen.Respond{Item: "q1", Option: "once"})
	// The next one takes its place.
	p.item("q2", "t1", "pending", permission("Another", nil))
	p.send(screen.Done{Action: screen.Respond{Item: "q1", Option: "once"}})
	p.keys("y", "n", "3")
	p.wants()
	p.later(deadFor)
	p.keys("3")
	p.wants(screen.Respond{Item: "q2", Option: "no"})
}

func TestAQuestionThatWasAnsweredElsewhereIsGone(t *testing.T) {
	p := newPage(t, 80, 24).open()
	p.started("t1")
	p.item("q1", "t1", "pending", permission("Read a file", nil))
	p.later(time.Second)
	p.keys("<esc>", "a")
	p.item("q1", "t1", "completed", permission("Read a file", object{"outcome": object{"type": "selected", "option_id": "no"}, "resolved_by": "token:phone"}))
	p.keys("y")
	p.hides("The agent asks")
	p.shows("→ Reject (by token:phone)")
	for _, a := range p.did() {
		if _, ok := a.(screen.Respond); ok {
			t.Errorf("%#v", a)
		}
	}
}

func TestAnAnswerThatIsTooLateSaysSo(t *testing.T) {
	p := newPage(t, 80, 24).open()
	p.item("q1", "t1", "pending", permission("Read a file", nil))
	p.later(time.Second)
	p.keys("<esc>", "a", "y")
	p.send(screen.Done{Action: screen.Respond{Item: "q1", Option: "once"}, Err: &client.Error{Kind: "already_resolved"}})
	p.shows("Somebody else has answered already")
	p.hides("The agent asks")
}

func TestAQuestionShowsWhatItIsAboutAboveItsOptions(t *testing.T) {
	p := newPage(t, 80, 40)
	p.stored("c1", "in_progress", object{"type": "command_execution", "command": "rm -r build", "cwd": "/home/ada/other"})
	p.seq += 100
	for range itemsPage + 1 { // so that the command is not on the page that is read
		p.stored("m"+time.Duration(p.seq).String(), "completed", said("x"))
	}
	p.open()
	p.item("q1", "t1", "pending", permission("Run a command", object{"subject": object{"item_id": "c1"}}))
	p.later(time.Second)
	p.shows("? run rm -r build", "in /home/ada/other", "> Run a command", "2 Always allow", "from now on the agent does this without asking")
}

// An option of a kind of the agent's own may hold for longer, and says so at every size.
func TestAnOptionOfAKindOfItsOwnIsMarked(t *testing.T) {
	for _, c := range []struct {
		w, h int
		says string
	}{{120, 40, "only the agent knows what this allows, and for how long"}, {40, 11, "perhaps not only this once"}, {40, 10, "(perhaps for longer)"}} {
		p := newPage(t, c.w, c.h).open()
		p.item("q1", "t1", "pending", permission("Run a command", object{"subject": object{"command": "ls"}, "options": []object{
			{"option_id": "a", "name": "Yes", "kind": "allow_once"}, {"option_id": "b", "name": "Keep", "kind": "allow_persistent"}, {"option_id": "c", "name": "No", "kind": "reject_once"}}}))
		p.later(time.Second)
		p.shows("2 Keep", c.says)
	}
}

// A shell executes what is between the beginning and the end of an escape sequence.
func TestWhatIsApprovedHidesNothing(t *testing.T) {
	const hidden = "echo x\x1b]0;rm -rf ~;\a done"
	p := newPage(t, 80, 40).open()
	p.started("t1")
	p.item("c1", "t1", "in_progress", object{"type": "file_change", "changes": []object{{"path": "a.sh", "operation": "create", "new_text": "#!/bin/sh\n" + hidden}}})
	p.item("q1", "t1", "pending", permission("May I run "+hidden, object{"subject": object{"command": hidden, "item_id": "c1"}}))
	p.shows("? run echo x␛]0;rm -rf ~;␇ done", "> May I run echo x␛]0;rm -rf ~;␇ done", "+ echo x␛]0;rm -rf ~;␇ done")
}

func TestAQuestionThatCameBeforeThePageIsShown(t *testing.T) {
	p := newPage(t, 80, 24)
	p.stored("q1", "pending", permission("Read a file", nil))
	p.open()
	p.shows("? waits for you", "1 Allow  [y]")
	p.ended("t0", "interrupted")
	p.hides("The agent asks")
}

func TestAFormIsFilledInFieldByField(t *testing.T) {
	p := newPage(t, 80, 24).open()
	p.item("q1", "t1", "pending", object{"type": "question", "message": "Which release?", "schema": object{
		"type": "object", "required": []string{"name", "count"},
		"properties": object{"count": object{"type": "integer", "title": "How many"}, "name": object{"type": "string", "enum": []string{"red", "green"}}},
	}})
	p.later(time.Second)
	p.keys("<esc>", "a")
	p.shows("? Which release?", "(1 of 2) How many", "a whole number")
	p.keys("many", "<enter>")
	p.shows("That is no whole number.", "» many")
	p.keys("<backspace>", "<backspace>", "<backspace>", "<backspace>", "7", "<enter>")
	p.shows("(2 of 2) name", "1 red", "2 green")
	p.send(paste("2\n"))
	p.wants()
	p.keys("<enter>")
	p.wants(screen.Respond{Item: "q1", Answer: json.RawMessage(`{"count":7,"name":"green"}`)})
	// The server refuses it: the person begins again.
	p.send(screen.Done{Action: screen.Respond{Item: "q1"}, Err: &client.Error{Kind: "invalid_params", Message: "too many"}})
	p.shows("The answer was not taken. Too many.")
	p.later(deadFor)
	p.keys("8", "<enter>")
	p.shows("(2 of 2) name")
}

// What events tell while the open questions are read is newer than the answer.
func TestAnOldListOfQuestionsIsNotBelievedMore(t *testing.T) {
	p := newPage(t, 80, 24)
	p.stored("q1", "pending", permission("Read a file", nil))
	p.open()
	p.send(screen.Connection{State: client.State{Kind: client.Lost}})
	p.slow = true
	p.send(screen.Connection{State: client.State{Kind: client.Resumed}})
	var answers []screen.Done
	for _, call := range p.kept {
		answers = append(answers, p.answer(call))
	}
	p.item("q1", "t0", "completed", permission("Read a file", object{"outcome": object{"type": "selected", "option_id": "no"}}))
	p.item("q2", "t0", "pending", permission("Remove a file", nil))
	p.slow, p.kept = false, nil
	for _, done := range answers {
		p.send(done)
	}
	p.shows("? Remove a file", "→ Reject")
	p.hides("1 of 2")
	p.keys("<esc>", "a")
	p.later(deadFor)
	p.keys("y")
	p.wants(screen.Respond{Item: "q2", Option: "once"})
}

func TestAQuestionWithoutAFormTakesTextOrJSON(t *testing.T) {
	for text, want := range map[string]string{"blue": `"blue"`, `{"a":1}`: `{"a":1}`} {
		p := newPage(t, 80, 24).open()
		p.item("q1", "t1", "pending", object{"type": "question", "message": "Which colour?"})
		p.later(time.Second)
		p.keys("<esc>", "a", "<enter>")
		p.wants()
		p.keys(text, "<enter>")
		p.wants(screen.Respond{Item: "q1", Answer: json.RawMessage(want)})
	}
}

func TestAllOfALongChangeCanBeReadBeforeTheAnswer(t *testing.T) {
	p := newPage(t, 60, 20).open()
	var before, after string
	for i := range 60 {
		before += "old line\n"
		after += "new line " + string(rune('A'+i%26)) + "\n"
	}
	p.item("f1", "t1", "in_progress", object{"type": "file_change", "changes": []object{{"path": "a.go", "operation": "modify", "old_text": before, "new_text": after + "the last one\n"}}})
	p.item("q1", "t1", "pending", permission("Edit a.go", object{"subject": object{"item_id": "f1"}}))
	p.later(time.Second)
	p.keys("<esc>", "a")
	p.shows("(+61 −60)", "more lines: PgDn", "3 Reject  [n]")
	for range 40 {
		p.keys("<pgdown>")
	}
	p.shows("+ the last one", "3 Reject  [n]")
}

// Beside many answers there is no room for a row that counts what is hidden: the line above
// the question does.
func TestWhatDoesNotFitOfAQuestionIsCountedBesideManyAnswers(t *testing.T) {
	p := newPage(t, 80, 24).open()
	options := []object{{"option_id": "once", "name": "Yes", "kind": "allow_once"}}
	for _, id := range []string{"a", "b"} {
		options = append(options, object{"option_id": id, "name": id, "kind": "allow_" + id})
	}
	options = append(options, object{"option_id": "no", "name": "No", "kind": "reject_once"}, object{"option_id": "never", "name": "Never", "kind": "reject_odd"})
	p.item("q1", "t1", "pending", permission("Run", object{
		"subject": object{"type": "command", "command": "one\ntwo\nthree\nfour", "cwd": "/p"}, "options": options,
	}))
	p.keys("<esc>")
	p.shows("$ one", "… 4 more lines: a answers ─", "5 Never")
	p.hides("│ two")
	p.keys("a")
	p.shows("$ one", "│ two", "│ three", "│ four", "in /p", "5 Never")
	p.hides("more line")
}

// What a person chooses is shown whole where there is room, with its hidden characters.
func TestNamesOfAnswersAreShownWhole(t *testing.T) {
	p := newPage(t, 60, 30).open()
	p.item("q1", "t1", "pending", permission("Run", object{"options": []object{
		{"option_id": "a", "name": "Yes, and don't ask again for commands that start with `make -C some/where/far/away`\u202e", "kind": "allow_always"},
		{"option_id": "b", "name": "No", "kind": "reject_once"},
	}}))
	p.keys("<esc>")
	p.shows("  1 Yes, and don't ask again for commands that start", "    with `make -C some/where/far/away`‹202e›  [y]", "  2 No  [n]")
	p = newPage(t, 60, 30).open()
	p.item("q1", "t1", "pending", object{"type": "question", "message": "Which?", "schema": object{
		"type": "string", "title": "Place\u200b", "description": "two  blanks", "enum": []string{"a", "a\u200b", strings.Repeat("far/", 20)},
	}})
	p.keys("<esc>")
	p.shows("Place‹200b›: two  blanks", "    1 a ", "    2 a‹200b›", "    3 far/far", "      r/far/far/")
}

// A question that was asked before the server ended may be over when it is back: the open
// ones are read again. What was typed into one that is still open stays.
func TestQuestionsAreJudgedAnewAfterReconnecting(t *testing.T) {
	p := newPage(t, 80, 24)
	p.stored("q1", "pending", permission("Read a file", nil))
	p.stored("q2", "pending", object{"type": "question", "message": "Which colour?"})
	p.open()
	p.keys("<esc>", "a")
	p.send(screen.Connection{State: client.State{Kind: client.Lost, Reason: io.ErrUnexpectedEOF}})
	p.shows("? Read a file", "offline", "The server is gone; trying again")
	p.items[0]["status"] = "cancelled"
	p.send(screen.Connection{State: client.State{Kind: client.Resumed}})
	p.shows("? Which colour?", "? waits for you")
	p.hides("Read a file · waits", "gone")
	p.later(deadFor)
	p.keys("bl")
	p.send(screen.Connection{State: client.State{Kind: client.Lost}})
	p.send(screen.Connection{State: client.State{Kind: client.Resumed}})
	p.keys("ue", "<enter>")
	p.wants(screen.Respond{Item: "q2", Answer: json.RawMessage(`"blue"`)})
	p.items[1]["status"] = "completed"
	p.send(screen.Connection{State: client.State{Kind: client.Lost}})
	p.send(screen.Connection{State: client.State{Kind: client.Resumed}})
	p.hides("The agent asks")
}

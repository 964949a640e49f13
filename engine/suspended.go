package engine

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/turns"
)

// suspend records that the turn waits on for a person, after a restart has ended its agent's
// process. It keeps its open items: people see what the question is about.
func (w *turnWriter) suspend() {
	w.addProgressEvent(turns.ProgressEvent{
		State: turns.Waiting, Suspended: turns.SuspendedByRestart,
		Message: "The server was restarted. The turn goes on when its questions are answered.",
	})
}

// goOnAfterRestart continues a suspended turn whose questions have all ended, with a prompt
// that tells the answers: the next one of the same attempt. It adds nothing while a
// question is open.
func (w *turnWriter) goOnAfterRestart() error {
	act := w.d.active()
	if act.pendingQuestions() > 0 {
		return nil
	}
	questions, err := w.d.rules.questionsSince(act.turn, act.turn.SuspendedSeq)
	if err != nil {
		return err
	}
	input, err := w.d.rules.readInput(&turns.Turn{TurnID: act.turn.TurnID, Attempt: act.turn.Attempt})
	if err != nil {
		return err
	}
	msg, given, err := w.d.items.resumeMessage(questions)
	if err != nil {
		return err
	}
	prompt := []items.UserMessage{msg}
	for _, o := range input { // without what an earlier prompt was told after a restart
		if m, ok := o.content.(items.UserMessage); ok && m.Origin != items.OriginResume {
			prompt = append(prompt, m)
		}
	}
	w.resume()
	w.endPrompt(items.StatusInterrupted)
	w.d.items.addInput(act.turn.TurnID, act.turn.Attempt, prompt[:1], items.StatusCompleted, "")
	w.d.items.completeSteers()
	act.answers = given
	w.d.addEffect(startPrompt{prompt})
	return nil
}

// questionsSince reads the questions of a turn that have ended after a seq, in the order of
// their creation.
func (r *rules) questionsSince(t *turns.Turn, after int64) (list []*items.Item, err error) {
	err = r.inboxes.ReadToDecide(context.Background(), func(rd ledger.Reader) error {
		return rd.Scan(ledger.Range{
			Index: items.OfThread, Prefix: []any{t.ThreadID}, After: t.CreatedSeq,
			Only: []ledger.Only{
				{Column: "turn_id", Values: []any{t.TurnID}},
				{Column: "type", Values: []any{string(items.KindPermissionRequest), string(items.KindQuestion)}},
			},
		}, func(v ledger.Values) error {
			if it := items.Read(v); !it.Status.Open() && it.UpdatedSeq > after {
				list = append(list, it)
			}
			return nil
		})
	})
	return list, err
}

// givenAnswer is the answer that a person has given to a permission request before a
// restart, and what was asked.
type givenAnswer struct {
	asked  permission
	answer turns.Answer
}

// permission is what a person has decided on: a request that is the same in all of it may
// have the same answer. Without an input, the title is all that says what was asked.
type permission struct {
	subject items.Subject // without the item
	options []items.Option
	kind    items.Kind // of the item that it is about
	tool    string
	input   string
	command string
	cwd     string
	changes []items.Change
	title   string
}

// permissionOf returns what a request asks for. about is the item of its subject; nil if there
// is none.
func permissionOf(p items.PermissionRequest, about items.Content) permission {
	is := permission{subject: p.Subject, options: p.Options}
	is.subject.ItemID = ""
	switch c := about.(type) {
	case items.ToolCall:
		is.kind, is.tool, is.input = c.Kind(), c.ToolKind+" "+c.Server+" "+c.Name, string(c.Input)
	case items.CommandExecution:
		is.kind, is.tool, is.input, is.command, is.cwd = c.Kind(), c.ToolKind+" "+c.Server+" "+c.Name, string(c.Input), c.Command, c.Cwd
	case items.FileChange:
		is.kind, is.input, is.changes = c.Kind(), string(c.Input), c.Changes
	}
	if is.input == "" && is.command == "" && is.subject.Command == "" && len(is.changes) == 0 {
		is.title = p.Title + "\n" + p.Description
	}
	return is
}

// answeredBefore returns the answer that a person has given to the same request before a
// restart, once: the request is asked when it comes again.
func (w *itemWriter) answeredBefore(question items.Content) (turns.Answer, bool) {
	act := w.d.active()
	if len(act.answers) == 0 || question.Kind() != items.KindPermissionRequest {
		return turns.Answer{}, false
	}
	asked, ok := w.permissionAsked(question)
	for i, g := range act.answers {
		if ok && reflect.DeepEqual(g.asked, asked) {
			rest := append([]givenAnswer{}, act.answers[:i]...) // clones of the turn share the list
			act.answers = append(rest, act.answers[i+1:]...)
			return g.answer, true
		}
	}
	return turns.Answer{}, false
}

// permissionAsked returns what a new request asks for. ok is false if that cannot be read: then a
// person decides.
func (w *itemWriter) permissionAsked(question items.Content) (asked permission, ok bool) {
	stored, err := asStored(question)
	if err != nil {
		return permission{}, false
	}
	p := stored.(items.PermissionRequest)
	about, whole, err := w.subject(p)
	if err == nil && about != nil {
		about, err = asStored(about)
	}
	if err != nil || !whole {
		return permission{}, false
	}
	return permissionOf(p, about), true
}

// asStored returns a content as it comes from the log, which writes JSON in its own way.
func asStored(c items.Content) (items.Content, error) {
	raw, err := items.Encode(c)
	if err != nil {
		return nil, err
	}
	return items.Decode(raw)
}

// byRestart is resolved_by of a request that a person has answered before a restart.
const byRestart = "restart"

// subject returns the content of the item that a permission is requested for; nil if there is
// none. whole is false if the log does not have all of it.
func (w *itemWriter) subject(p items.PermissionRequest) (about items.Content, whole bool, err error) {
	if p.Subject.ItemID == "" {
		return nil, true, nil
	}
	if o := w.d.active().open.get(p.Subject.ItemID); o != nil {
		return o.content, !o.row.Truncated, nil
	}
	row, err := w.readEnded(p.Subject.ItemID)
	if err != nil || row == nil {
		return nil, err == nil, err
	}
	about, err = items.Decode(row.Content)
	return about, !row.Truncated, err
}

// resumeMessage makes the message that tells the ends of questions, and what the agent need
// not ask again.
func (w *itemWriter) resumeMessage(questions []*items.Item) (items.UserMessage, []givenAnswer, error) {
	msg := items.UserMessage{Type: items.KindUserMessage, Role: "user", Origin: items.OriginResume}
	var given []givenAnswer
	var text strings.Builder
	for _, row := range questions {
		content, err := items.Decode(row.Content)
		if err != nil {
			return msg, nil, err
		}
		told := items.ToldAnswer{ItemID: row.ItemID}
		switch c := content.(type) {
		case items.PermissionRequest:
			told.Title, told.Answer = c.Title, permissionAnswer(c)
			if c.Outcome == nil || c.Outcome.Type != items.OutcomeSelected {
				break
			}
			about, whole, err := w.subject(c)
			if err != nil {
				return msg, nil, err
			}
			if !whole || row.Truncated {
				break // what is asked next may differ where this was cut
			}
			given = append(given, givenAnswer{permissionOf(c, about), turns.Answer{Status: row.Status, Outcome: *c.Outcome}})
		case items.Question:
			told.Title, told.Answer = c.Message, questionAnswer(c)
		}
		lead := "The server was restarted while you waited for: "
		if len(msg.Answers) > 0 {
			lead = " You also waited for: "
		}
		fmt.Fprintf(&text, "%s%s. The answer: %s.", lead, told.Title, told.Answer)
		msg.Answers = append(msg.Answers, told)
	}
	text.WriteString(" Go on; repeat nothing that was done.")
	msg.Content = []items.Part{{Type: items.PartText, Text: text.String()}}
	return msg, given, nil
}

// permissionAnswer returns how a permission request ended, as its agent is told.
func permissionAnswer(p items.PermissionRequest) string {
	if p.Outcome == nil {
		return "none"
	}
	for _, o := range p.Options {
		if o.OptionID == p.Outcome.OptionID && o.OptionID != "" {
			return o.Name
		}
	}
	return noAnswer(p.Outcome.Type)
}

// questionAnswer returns how a question ended, as its agent is told.
func questionAnswer(q items.Question) string {
	if q.Outcome == nil {
		return "none"
	}
	if q.Outcome.Type != items.OutcomeAnswered {
		return noAnswer(q.Outcome.Type)
	}
	var text string
	if json.Unmarshal(q.Answer, &text) == nil {
		return text
	}
	return string(bytes.TrimSpace(q.Answer))
}

// noAnswer returns the text that nobody has answered a question.
func noAnswer(outcome string) string {
	if outcome == items.OutcomeExpired {
		return "none, nobody answered in time"
	}
	return "none, the question was cancelled"
}

// completeSteers records that all text steered to the turn goes to its agent now.
func (w *itemWriter) completeSteers() (input []items.UserMessage) {
	act := w.d.active()
	for _, o := range act.open.list { // what was steered is left
		if m, ok := o.content.(items.UserMessage); ok {
			input = append(input, m)
			_ = w.addUpdated(o, items.StatusCompleted)
			act.open.remove(o.row.ItemID)
		}
	}
	act.steers = nil
	return input
}

package exec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/internal/lines"
	"github.com/seed82539d15/holon/internal/mend"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// Bounds of an agent's events, each with the action at the bound.
const (
	maxOpen     = 100      // open items: more are refused, before the engine refuses them
	maxItems    = 4096     // ids remembered: the oldest finished ones are forgotten
	maxNotices  = 20       // notices about bad lines, and then about bad questions: the rest are counted in one at the end
	maxProgress = 1024     // bytes of a progress message: cut
	maxDelta    = 64 << 10 // bytes of one delta: split
	maxQuote    = 300      // bytes of a result or a question that was not understood: cut
)

// maxLine is the longest event line, as long as the longest frame of the wire.
const maxLine = 4 << 20

// eventOutput makes items of NDJSON events. A line that is not understood
// becomes a notice and changes nothing.
type eventOutput struct {
	p      *turns.Prompt
	format items.Format // of messages whose event does not say it
	ops    []items.Op   // not emitted yet
	known  map[string]*local
	order  []*local // in the order of creation, to forget the oldest
	steps  steps
	open   int // of known
	line   int // number of the current line, from 1
	bad    int // lines that were not understood
	ended  *resultEvent
	asks   asks
	// unasked counts the bad lines beyond maxNotices that have a notice all the same:
	// their agent may wait for an answer.
	unasked int
}

// local is an item under the id that the agent gave it.
type local struct {
	name   string
	id     string
	step   string
	kind   items.Kind
	status items.Status
	half   rune // half of a character at the end of the last delta; 0 = none
}

func newEventOutput(p *turns.Prompt, in *feeder, format items.Format) *eventOutput {
	return &eventOutput{p: p, format: format, known: map[string]*local{}, asks: asks{p: p, in: in}}
}

func (o *eventOutput) read(ctx context.Context, stdout io.Reader) error {
	for from := lines.New(stdout, lines.Config{Max: maxLine, Buffer: readSize}); ; {
		line, err := from.Next()
		o.line = from.Number()
		switch {
		case errors.Is(err, lines.ErrTooLong):
			o.refuse(line, err)
		case err != nil:
			return nil
		default:
			if err := o.take(ctx, line); err != nil {
				return err
			}
		}
		if !from.Buffered() {
			if err := o.flush(ctx); err != nil {
				return err
			}
		}
	}
}

func (o *eventOutput) finish(ctx context.Context, end turns.State) error {
	o.asks.stop()
	for _, it := range o.order {
		o.endHalf(it)
	}
	if more := o.bad - maxNotices - o.unasked; more > 0 {
		o.notice(fmt.Sprintf("%d more lines of the agent's output were not understood", more), nil)
	}
	if end == turns.Completed {
		for _, it := range o.order { // text that was only streamed ends here; the turn ends the rest
			if it.status.Open() && (it.kind == items.KindAgentMessage || it.kind == items.KindReasoning) {
				o.ops = append(o.ops, items.Update{ItemID: it.id, Status: items.StatusCompleted})
			}
		}
	}
	return o.flush(ctx)
}

func (o *eventOutput) result() *resultEvent { return o.ended }

func (o *eventOutput) flush(ctx context.Context) error {
	if len(o.ops) == 0 {
		return nil
	}
	ops := o.ops
	o.ops = nil // the sink may keep the slice
	return o.p.Emit(ctx, ops...)
}

// take handles one line. It returns only the sink's errors.
func (o *eventOutput) take(ctx context.Context, line []byte) error {
	event, err := decodeEvent(line)
	if err == nil && o.ended != nil {
		err = errors.New("it comes after the result")
	}
	if err != nil {
		o.refuse(line, err)
		return nil
	}
	switch e := event.(type) {
	case messageEvent:
		content := items.NewAgentMessage(e.Text)
		content.Phase = e.Phase
		err = o.create(e.ID, e.Step, items.StatusCompleted, content)
	case stepEvent:
		err = o.step(e)
	case deltaEvent:
		err = o.delta(e, line)
	case itemEvent:
		err = o.item(e)
	case deleteEvent:
		err = o.delete(e)
	case usageEvent:
		var u items.Usage
		if u, err = e.usage(); err == nil {
			o.ops = append(o.ops, items.SetUsage{Usage: u})
		}
	case progressEvent:
		o.ops = append(o.ops, items.Progress{Message: shorten(e.Message, maxProgress)})
	case askEvent:
		q, opts, bad := e.permission()
		if it := o.known[q.Subject.ItemID]; it != nil {
			q.Subject.ItemID = it.id // a client shows it beside the question
		}
		return o.ask(ctx, line, e.ID, q, opts, bad)
	case questionEvent:
		q, opts, bad := e.question()
		return o.ask(ctx, line, e.ID, q, opts, bad)
	case resultEvent:
		if err = e.check(); err == nil {
			if e.Message != "" {
				e.Format = formatOr(e.Format, o.format)
			}
			o.ended = &e
		}
	}
	if err != nil {
		o.refuse(line, err)
	}
	return nil
}

// ask emits the ops before the question, then asks it.
func (o *eventOutput) ask(ctx context.Context, line []byte, id string, q items.Content, opts turns.AskOptions, bad error) error {
	if bad == nil {
		bad = o.nameIsFree(id)
	}
	if bad == nil {
		bad = o.asks.admits(id)
	}
	if bad != nil {
		o.refuse(line, bad)
		return nil
	}
	if err := o.flush(ctx); err != nil {
		return err
	}
	o.asks.start(ctx, id, q, opts)
	return nil
}

func (o *eventOutput) delta(e deltaEvent, line []byte) error {
	it := o.known[e.ID]
	if e.ID == "" {
		return errors.New("id is missing")
	}
	if it == nil {
		if err := o.create(e.ID, e.Step, items.StatusInProgress, items.NewAgentMessage("")); err != nil {
			return err
		}
		it = o.known[e.ID]
	}
	if err := it.staysIn(e.Step); err != nil {
		return err
	}
	if _, err := items.Next(it.status, it.kind, items.VerbAppend, ""); err != nil {
		return err
	}
	var asSent jsontext.Value
	if strings.Contains(e.Text, mend.Replacement) {
		asSent = textAsSent(line)
	}
	var rest string
	for rest, it.half = mend.Join(it.half, asSent, e.Text); rest != ""; {
		var piece string
		piece, rest = cut(rest, maxDelta)
		o.ops = append(o.ops, items.Append{ItemID: it.id, Text: piece})
	}
	return nil
}

// endHalf reports that no delta brings the other half of the character that the last one
// was cut in.
func (o *eventOutput) endHalf(it *local) {
	if it.half != 0 && it.status.Open() {
		o.ops = append(o.ops, items.Append{ItemID: it.id, Text: mend.Replacement})
	}
	it.half = 0
}

func (o *eventOutput) item(e itemEvent) error {
	it := o.known[e.ID]
	var content items.Content
	if len(e.Content) > 0 {
		var err error
		if content, err = decodeContent(e.Content, e.ID); err != nil {
			return err
		}
	}
	switch {
	case it == nil && content == nil && e.ID == "":
		return errors.New("content is missing")
	case it == nil && content == nil:
		return fmt.Errorf("there is no item %q; content would make one", shorten(e.ID, 64))
	case it == nil && e.ID == "" && e.Status == "":
		return o.create("", e.Step, items.StatusCompleted, content) // nothing can refer to it later
	case it == nil && e.ID == "" && e.Status.Open():
		return errors.New("an item without id cannot be ended later")
	case it == nil:
		return o.create(e.ID, e.Step, e.Status, content)
	case content != nil && content.Kind() != it.kind:
		return fmt.Errorf("item %q is a %s and stays one", shorten(e.ID, 64), it.kind)
	case content == nil && e.Status == "":
		return errors.New("neither status nor content: nothing to change")
	}
	if err := it.staysIn(e.Step); err != nil {
		return err
	}
	status, err := items.Next(it.status, it.kind, items.VerbUpdate, e.Status)
	if err != nil {
		return err
	}
	switch {
	case content != nil:
		it.half = 0 // the new text has it
	case !status.Open():
		o.endHalf(it)
	}
	o.set(it, status)
	o.ops = append(o.ops, items.Update{ItemID: it.id, Status: e.Status, Content: formatted(content, o.format)})
	return nil
}

func (o *eventOutput) delete(e deleteEvent) error {
	it := o.known[e.ID]
	if it == nil {
		return fmt.Errorf("there is no item %q", shorten(e.ID, 64))
	}
	status, err := items.Next(it.status, it.kind, items.VerbDelete, "")
	if err != nil {
		return err
	}
	o.set(it, status)
	o.ops = append(o.ops, items.Delete{ItemID: it.id})
	return nil
}

// create makes an item and, if it has a name, remembers it.
func (o *eventOutput) create(name, step string, want items.Status, content items.Content) error {
	if err := o.steps.has(step); err != nil {
		return err
	}
	if name != "" {
		if err := o.nameIsFree(name); err != nil {
			return err
		}
		if o.open >= maxOpen {
			return fmt.Errorf("%d items are open, as many as there may be", maxOpen)
		}
		o.makeRoom()
	}
	status, err := items.Next(items.Absent, content.Kind(), items.VerbCreate, want)
	if err != nil {
		return err
	}
	it := &local{name: name, id: items.NewID(), step: step, kind: content.Kind()}
	if name != "" {
		o.set(it, status)
		o.known[name] = it
		o.order = append(o.order, it)
	}
	o.ops = append(o.ops, items.Create{ItemID: it.id, Step: step, Status: status, Content: formatted(content, o.format)})
	return nil
}

// nameIsFree checks that the agent's name for a new item or question is unused.
func (o *eventOutput) nameIsFree(name string) error {
	switch {
	case len(name) > maxLocalID:
		return fmt.Errorf("id is longer than %d bytes", maxLocalID)
	case o.known[name] != nil || o.asks.waiting(name):
		return fmt.Errorf("there is already something with id %q", shorten(name, 64))
	}
	return nil
}

// set stores the status of an item and updates the count of open ones.
func (o *eventOutput) set(it *local, status items.Status) {
	if it.status.Open() {
		o.open--
	}
	if status.Open() {
		o.open++
	}
	it.status = status
}

// makeRoom forgets a quarter of the finished items when maxItems are
// remembered, so that it rarely runs.
func (o *eventOutput) makeRoom() {
	if len(o.order) < maxItems {
		return
	}
	kept, forget := o.order[:0], maxItems/4
	for _, it := range o.order {
		if forget > 0 && !it.status.Open() {
			forget--
			delete(o.known, it.name)
			continue
		}
		kept = append(kept, it)
	}
	clear(o.order[len(kept):])
	o.order = kept
}

// refuse makes a notice of a line that was not understood, or of the beginning of one. If
// it was to say how the turn ends, the turn fails: it must not count as completed.
func (o *eventOutput) refuse(line []byte, why error) {
	kind := kindOf(line)
	if kind == "result" && o.ended == nil {
		o.ended = &resultEvent{State: turns.Failed, Message: fmt.Sprintf(
			"the agent's result was not understood: %s: %s", shorten(why.Error(), 400), quoteLine(line))}
	}
	o.bad++
	question := kind == "ask" || kind == "question"
	if o.bad > maxNotices {
		if !question || o.unasked >= maxNotices {
			return
		}
		o.unasked++
	}
	data, err := json.Marshal(struct {
		Line int    `json:"line"`
		Text string `json:"text,omitzero"`
	}{o.line, shorten(toText(line[:min(len(line), 256)]), 200)})
	if err != nil {
		data = nil // the notice is worth more than its data
	}
	message := fmt.Sprintf("line %d of the agent's output was not understood: %s", o.line, shorten(why.Error(), 400))
	if question {
		message += ". It is a question that nobody was asked; the agent may wait for the answer: " + quoteLine(line)
	}
	o.notice(message, data)
}

func (o *eventOutput) notice(message string, data jsontext.Value) {
	n := items.NewNotice("warning", message)
	n.Data = data
	o.ops = append(o.ops, items.Create{ItemID: items.NewID(), Status: items.StatusCompleted, Content: n})
}

// quoteLine returns the beginning of a line, as text.
func quoteLine(line []byte) string {
	return shorten(toText(line[:min(len(line), 2*maxQuote)]), maxQuote)
}

// shorten cuts a text to at most max bytes and says so.
func shorten(s string, max int) string {
	if len(s) <= max {
		return s
	}
	head, _ := cut(s, max)
	return head + "…"
}

// cut cuts a text after at most max bytes, between code points.
func cut(s string, max int) (head, rest string) {
	if len(s) <= max {
		return s, ""
	}
	for max > 0 && !utf8.RuneStart(s[max]) {
		max--
	}
	return s[:max], s[max:]
}

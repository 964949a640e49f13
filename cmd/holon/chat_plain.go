package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/turns"
)

// plainChat is a chat in lines: each line of the input is a text for the agent, or the
// answer to its question, and everything that happens is a line of the output. One
// goroutine, the command's, uses it.
type plainChat struct {
	con    *console
	ctx    context.Context
	client *client.Client
	thread talk
	view   *timeline.Renderer
	input  *lineInput

	active  string          // the turn that runs; "" = none does
	past    int64           // turns that started up to here had ended already, except active
	waits   map[string]bool // turns that were started here and have not ended
	ended   map[string]bool // turns that ended while a call was under way
	pending int             // calls that have no answer yet
	calls   chan func()     // what is to be done with their answers
	texts   []plainText     // that have no answer yet; the first one is under way
	open    []plainQuestion // of the agent
	due     <-chan time.Time
	unsent  string // a text that did not reach its turn: the person is asked about it
	stopped bool   // Ctrl-C has interrupted the turn
	held    bool   // Ctrl-C came while a call was under way
	warned  bool   // Ctrl-C came while nothing ran, and nothing else since then
}

// plainText is a text for the agent, and the call that takes it.
type plainText struct {
	text   string
	method string
	params map[string]any
	then   func(json.RawMessage, error)
}

type plainQuestion struct {
	question
	turn  string
	asked time.Time // zero: not yet
}

// questionDead is how long a line is not taken as the answer to a new question: it was
// begun before the question came.
const questionDead = 500 * time.Millisecond

// chatPlain talks in lines until the input ends.
func chatPlain(ctx context.Context, con *console, c *client.Client, t talk) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, endSignals()...)
	defer signal.Stop(signals)
	after, past, active, err := beginOf(ctx, c, t.ThreadID)
	if err != nil {
		return err
	}
	p := &plainChat{
		con: con, ctx: ctx, client: c, thread: t, view: timeline.New(con.out, timeline.Options{Short: tableID(con), AskedBelow: true}), input: newLineInput(con),
		active: active, past: past, waits: map[string]bool{}, ended: map[string]bool{}, calls: make(chan func(), 16),
	}
	defer p.input.end()
	if err := p.say("%s\nEach line goes to the agent. /help says more, Ctrl-C interrupts the turn, Ctrl-D leaves.", t.begins(con)); err != nil {
		return err
	}
	f := startFeed(ctx, c, client.Options{AfterSeq: &after, ThreadIDs: []string{t.ThreadID}, RetryFirst: true})
	defer f.end()
	err = p.run(f, signals)
	if lost, sayErr := p.notSent(); err == nil && lost {
		err = errors.Join(sayErr, &exitError{code: exitFailed})
	}
	if closeErr := p.view.Close(); err == nil {
		err = closeErr
	}
	return err
}

// beginOf returns the seq after which the last turn of the thread began, so that a chat
// begins with what was said last, the seq up to which all is known now, and the turn that
// runs, "" for none.
func beginOf(ctx context.Context, c *client.Client, threadID string) (after, now int64, active string, err error) {
	type row struct {
		TurnID     string      `json:"turn_id"`
		State      turns.State `json:"state"`
		Attempt    int         `json:"attempt"`
		CreatedSeq int64       `json:"created_seq"`
	}
	var list struct {
		Turns      []row  `json:"turns"`
		NextCursor string `json:"next_cursor"`
		LatestSeq  int64  `json:"latest_seq"`
	}
	if err := c.Call(ctx, "turn/list", map[string]any{"thread_id": threadID, "order": "desc", "limit": 10}, &list); err != nil {
		return 0, 0, "", err
	}
	after, now = list.LatestSeq, list.LatestSeq
	for i, t := range list.Turns {
		if i == 0 || t.State == turns.Active || t.State == turns.Queued {
			after = t.CreatedSeq - 1
		}
		if t.State == turns.Active {
			active = t.TurnID
		}
	}
	// Up to max_queued_turns may have been created after the one that runs, and any number
	// after a retried one. A page may be empty and yet not be the last.
	for params := map[string]any{"thread_id": threadID, "state": turns.Active, "order": "desc", "limit": 1}; active == "" && list.NextCursor != ""; params["cursor"] = list.NextCursor {
		list.Turns, list.NextCursor = nil, ""
		if err := c.Call(ctx, "turn/list", params, &list); err != nil {
			return 0, 0, "", err
		}
		now = list.LatestSeq
		for _, t := range list.Turns {
			if active = t.TurnID; t.Attempt <= 1 { // what was said since an old turn began may be long
				after = min(after, t.CreatedSeq-1)
			}
		}
	}
	var status struct {
		FirstSeq int64 `json:"first_seq"`
	}
	// Not everybody may ask for the status; then nothing was removed, as far as is known.
	if c.Call(ctx, "holon/status", nil, &status) == nil && after < status.FirstSeq-1 {
		after = now
	}
	return after, now, active, nil
}

// run continues until the input and all turns that were started here have ended; at a
// terminal, until the input has ended and all calls have their answers.
func (p *plainChat) run(f *feed, signals <-chan os.Signal) error {
	for {
		switch {
		case !p.input.closed || p.pending > 0: // what was typed is sent before the chat ends
		case p.unsent != "":
			return errors.Join(p.leave(), &exitError{code: exitFailed}) // nobody can say whether to send it
		case p.input.terminal || p.idle():
			return p.leave()
		case p.asking():
			return p.unanswered()
		}
		p.input.want(p.idle() || p.asking())
		var err error
		select {
		case item, open := <-f.items:
			switch {
			case !open:
				return f.err
			case item.state != nil:
				err = p.view.State(*item.state)
			default:
				err = p.take(item.event)
			}
		case line, open := <-p.input.lines:
			if !open {
				p.input.closed, p.input.lines = true, nil
				if p.input.terminal && len(p.texts) > 0 {
					err = p.say("your text is still being sent. Ctrl-C leaves at once.")
				}
				break
			}
			p.input.wanted = false
			err = p.line(line)
		case <-p.due:
			p.due = nil
			err = p.ask()
		case then := <-p.calls:
			p.pending--
			then()
			if p.held && p.pending == 0 {
				p.held = false
				if leaves, code := p.interrupted(); leaves {
					return errors.Join(p.leave(), code)
				}
			}
		case sig := <-signals:
			if leaves, code := p.signal(sig); leaves {
				return errors.Join(p.leave(), code)
			}
		}
		if err != nil {
			return err
		}
	}
}

// idle reports whether nothing that was started here still runs.
func (p *plainChat) idle() bool {
	return p.pending == 0 && len(p.waits) == 0 && p.active == "" && len(p.open) == 0 && p.due == nil
}

// asking reports whether a line would be an answer.
func (p *plainChat) asking() bool {
	return p.unsent != "" || len(p.open) > 0 && !p.open[0].asked.IsZero()
}

func (p *plainChat) say(format string, args ...any) error {
	text := timeline.Clean(fmt.Sprintf(format, args...))
	for line := range strings.SplitSeq(text, "\n") {
		if _, err := fmt.Fprintln(p.con.out, strings.TrimRight("chat: "+line, " ")); err != nil {
			return err
		}
	}
	return nil
}

func (p *plainChat) leave() error {
	if len(p.underWay()) == 0 {
		return nil
	}
	return p.say("the turn continues at the server: holon chat %s", nameByID(finder{console: p.con, ctx: p.ctx, client: p.client}, p.thread.ThreadID))
}

// notSent prints the texts that were not sent when the chat ends, and reports whether there are
// any.
func (p *plainChat) notSent() (any bool, err error) {
	if p.unsent != "" {
		any, err = true, p.say("not sent: %s", p.unsent)
	}
	for i, t := range p.texts {
		what := "not sent: %s"
		if i == 0 { // its call has no answer
			what = "perhaps not sent: %s"
		}
		any, err = true, errors.Join(err, p.say(what, t.text))
	}
	return any, err
}

// unanswered ends the chat with an open question, because the input has ended.
func (p *plainChat) unanswered() error {
	return errors.Join(p.say("the agent waits for an answer: holon respond %s", shownID(p.con, p.open[0].id)), &exitError{code: exitFailed})
}

// take shows an event.
func (p *plainChat) take(e client.Event) error {
	if strings.HasPrefix(e.Method, "inbox/") {
		return nil // what the agent is told comes as a message
	}
	if err := p.view.Event(e); err != nil {
		return err
	}
	switch e.Method {
	case notify.ThreadUpdated:
		var t talk
		if json.Unmarshal(e.Params, &t) == nil && t.Config != nil {
			p.thread.Config = t.Config
		}
	case notify.TurnStarted:
		if e.Seq <= p.past && e.TurnID != p.active {
			break // a line would steer a turn that has ended
		}
		p.active, p.stopped, p.warned = e.TurnID, false, false
	case notify.TurnCompleted, notify.TurnInterrupted, notify.TurnFailed:
		p.over(e.TurnID)
	case notify.StreamRewind:
		p.open = slices.DeleteFunc(p.open, func(q plainQuestion) bool { return q.turn == e.TurnID })
	case notify.ItemCreated, notify.ItemUpdated, notify.ItemDeleted:
		return p.item(e)
	}
	return nil
}

// over takes the end of a turn: its questions end with it.
func (p *plainChat) over(turn string) {
	if p.active == turn {
		p.active = ""
	}
	p.stopped = false
	delete(p.waits, turn)
	if p.pending > 0 {
		p.ended[turn] = true
	}
	p.open = slices.DeleteFunc(p.open, func(q plainQuestion) bool { return q.turn == turn })
}

// item finds questions and their ends.
func (p *plainChat) item(e client.Event) error {
	var item struct {
		Status  string          `json:"status"`
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(e.Params, &item); err != nil {
		return fmt.Errorf("read %s: %w", e.Method, err)
	}
	at := slices.IndexFunc(p.open, func(q plainQuestion) bool { return q.id == e.ItemID })
	if item.Status != "pending" {
		if at >= 0 {
			p.open = slices.Delete(p.open, at, at+1)
			p.askSoon()
		}
		return nil
	}
	q := plainQuestion{question: newQuestion(e.ItemID, timeline.ReadContent(item.Content)), turn: e.TurnID}
	if at >= 0 {
		p.open[at] = q
	} else {
		p.open = append(p.open, q)
	}
	p.askSoon()
	return nil
}

// askSoon asks unless an answer comes at once.
func (p *plainChat) askSoon() {
	if len(p.open) > 0 && p.open[0].asked.IsZero() && p.due == nil {
		p.due = time.After(answeredAtOnce)
	}
}

// signal takes a signal, and reports whether the chat ends. Ctrl-C interrupts what runs; a
// second one does not wait for its end. If nothing runs, only the second one ends the chat,
// because people use the first to discard a line. After Ctrl-D one ends it at once.
func (p *plainChat) signal(sig os.Signal) (leaves bool, err error) {
	failed := &exitError{code: exitFailed}
	if sig == syscall.SIGINT && p.input.terminal {
		fmt.Fprintln(p.con.out) // ends the line in which the terminal has written ^C
	}
	if sig != syscall.SIGINT || p.stopped || p.held || p.input.closed && p.input.terminal {
		return true, failed
	}
	return p.interrupted()
}

// interrupted takes the first Ctrl-C.
func (p *plainChat) interrupted() (leaves bool, err error) {
	if turns := p.underWay(); len(turns) > 0 {
		p.stopped = true
		for _, turn := range turns {
			p.interrupt(turn)
		}
		return false, nil
	}
	switch {
	case p.pending > 0: // whether a turn was started is not known yet
		p.held = true
		return false, nil
	case !p.input.terminal:
		return true, &exitError{code: exitFailed}
	case p.warned:
		return true, nil
	}
	p.warned = true
	_ = p.say("nothing runs. Ctrl-D leaves, and so does Ctrl-C again.")
	return false, nil
}

// underWay returns the turns that Ctrl-C interrupts: the one that runs, or else those that were
// started here and are queued.
func (p *plainChat) underWay() []string {
	if p.active != "" {
		return []string{p.active}
	}
	return slices.Sorted(maps.Keys(p.waits))
}

// interrupt interrupts a turn.
func (p *plainChat) interrupt(turn string) {
	p.call("turn/interrupt", map[string]any{"turn_id": turn, "reason": "Ctrl-C at holon chat"}, func(_ json.RawMessage, err error) {
		if err != nil && !client.IsKind(err, "turn_not_active") {
			_ = p.say("the turn could not be interrupted: %v", err)
		}
	})
}

// line takes a line of the input.
func (p *plainChat) line(line string) error {
	p.warned = false
	text := strings.TrimSpace(line)
	switch {
	case p.unsent != "":
		return p.resend(text)
	case len(p.open) > 0 && !p.open[0].asked.IsZero():
		return p.answer(line)
	case text == "":
		return nil
	case text == "/help":
		return p.help()
	case p.active != "":
		p.steer(text)
		return p.say("this steers the turn%s", p.thread.command(text))
	}
	p.start(text)
	return p.say("this starts a turn%s", p.thread.command(text))
}

func (p *plainChat) start(text string) {
	p.send(text, "turn/start", map[string]any{"thread_id": p.thread.ThreadID, "input": userInput(text)}, func(raw json.RawMessage, err error) {
		var turn struct {
			TurnID string `json:"turn_id"`
		}
		if err != nil {
			_ = p.say("not sent: %s\n%v", text, err)
			return
		}
		if json.Unmarshal(raw, &turn) == nil && !p.ended[turn.TurnID] {
			p.waits[turn.TurnID] = true
		}
		if p.pending == 0 {
			clear(p.ended)
		}
	})
}

func (p *plainChat) steer(text string) {
	p.send(text, "turn/steer", map[string]any{"turn_id": p.active, "input": userInput(text)}, func(_ json.RawMessage, err error) {
		switch {
		case err == nil:
		case client.IsKind(err, "turn_not_active"):
			p.unsent = strings.TrimPrefix(p.unsent+"\n"+text, "\n")
			if !p.input.closed {
				_ = p.say("The turn has ended before your text reached it: %s\nStart a new turn with it? y or n", text)
			}
		default:
			_ = p.say("not sent: %s\n%v", text, err)
		}
	})
}

// resend takes the answer about a text that did not reach its turn.
func (p *plainChat) resend(answer string) error {
	text := p.unsent
	switch strings.ToLower(answer) {
	case "y", "yes":
		p.unsent = ""
		p.start(text)
		return p.say("this starts a turn")
	case "n", "no":
		p.unsent = ""
		return p.say("not sent: %s", text)
	}
	return p.say("Start a new turn with this text? y or n\n%s", text)
}

// send calls a method that takes a text, after the answer of the text before: lines that
// come at once, as of a paste, reach the agent in their order.
func (p *plainChat) send(text, method string, params map[string]any, then func(json.RawMessage, error)) {
	p.pending++
	p.texts = append(p.texts, plainText{text: text, method: method, params: params, then: then})
	if len(p.texts) == 1 {
		p.sendNext()
	}
}

// sendNext calls the method of the first text, and then those of the others.
func (p *plainChat) sendNext() {
	t := p.texts[0]
	p.pending-- // call counts it
	p.call(t.method, t.params, func(raw json.RawMessage, err error) {
		p.texts = p.texts[1:]
		t.then(raw, err)
		if len(p.texts) > 0 {
			p.sendNext()
		}
	})
}

// call calls a method in a goroutine of its own; then runs on the command's.
func (p *plainChat) call(method string, params map[string]any, then func(json.RawMessage, error)) {
	p.pending++
	key, keyErr := keyOr("")
	params["idempotency_key"] = key
	go func() {
		ctx, cancel := context.WithTimeout(p.ctx, 30*time.Second)
		defer cancel()
		var raw json.RawMessage
		err := keyErr
		if err == nil {
			err = callRetrying(ctx, p.client, method, params, &raw)
		}
		select {
		case p.calls <- func() { then(raw, err) }:
		case <-p.ctx.Done():
		}
	}()
}

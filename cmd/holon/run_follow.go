package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/notify/fold"
	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/turns"
)

// turnRun is one turn that the command follows, or all turns of a thread. One goroutine,
// the command's, uses it and waits for channels.
type turnRun struct {
	con       *console
	ctx       context.Context
	client    *client.Client
	threadID  string
	name      string // of the thread, for hints
	toStop    string // names the turn in a hint; "" if turnID is
	turnID    string // "" = the command is attached to the thread: it follows all turns
	after     int64
	caughtUp  int64 // the newest seq when it began: questions are asked from then on
	signals   <-chan os.Signal
	view      viewer
	questions *questions
	children  *childFeed
	running   map[string]bool  // child turns that have not ended
	asked     []question       // not shown yet: the configuration may answer them
	due       <-chan time.Time // when they are shown; nil if there are none

	interrupted  bool // by the person at this command; the server is asked once
	refused      bool // the interrupt was not possible
	interrupting bool // confirmed by the server: the turn ends as interrupted

	calls   chan func() string // the outcomes of calls: each makes a sentence for a person, "" for none
	result  runResult
	said    []saying
	markers fold.Markers
	ended   bool
}

// saying is a message of the agent that is live until a marker supersedes it.
type saying struct {
	item    string
	text    string
	format  items.Format
	seq     int64
	lineage []fold.Ref
}

// shortenAfter is how many lines of the output of a tool are shown: the next message of the
// agent stays near the one before.
const shortenAfter = 20

// shortening adds to the options of a timeline how outputs are shortened, unless full is set;
// name is that of the thread.
func shortening(options timeline.Options, name string, full bool) timeline.Options {
	if !full {
		options.ShortenAfter, options.ShowAll = shortenAfter, "holon attach "+name+" --full"
	}
	return options
}

// newRunViewer makes the viewer of a run: for json and --quiet it shows only
// the result.
func newRunViewer(con *console, format string, quiet bool, options timeline.Options) viewer {
	switch {
	case format == "jsonl":
		return lineViewer{silentViewer{con}}
	case format == "json" || quiet:
		return silentViewer{con}
	}
	return con.newTimeline(options)
}

// follow shows the turn until it has ended or the person leaves.
func (r *turnRun) follow() error {
	r.result = runResult{ThreadID: r.threadID, TurnID: r.turnID, State: "unknown"}
	r.calls = make(chan func() string, 16)
	f := startFeed(r.ctx, r.client, client.Options{AfterSeq: &r.after, ThreadIDs: []string{r.threadID}, RetryFirst: true})
	defer f.end()
	r.children = startChildFeed(r.ctx, r.client, &r.after, func(threadID, turnID string) bool {
		if r.turnID == "" {
			return threadID == r.threadID
		}
		return turnID == r.turnID
	})
	defer r.children.end()
	ticks := r.con.ticks()
	for !r.ended {
		var err error
		found, own := r.children.items()
		select {
		case item, open := <-found:
			err = r.takeChild(item, open, true)
		case item, open := <-own:
			err = r.takeChild(item, open, false)
		case item, open := <-f.items:
			switch {
			case !open:
				return fmt.Errorf("%w\n  %s", f.err, r.left())
			case item.state != nil:
				err = r.beside(func() error { return r.view.State(*item.state) })
			default:
				err = r.take(item.event)
			}
		case <-ticks:
			err = r.view.Tick()
		case <-r.due:
			err = r.askAll()
		case line, open := <-r.questions.lines:
			err = r.answer(line, open)
		case outcome := <-r.calls:
			if text := outcome(); text != "" {
				err = r.say(text)
			}
		case sig := <-r.signals:
			if r.turnID == "" {
				return errLeft
			}
			if sig != syscall.SIGINT || r.interrupted {
				return &exitError{code: exitFailed, err: errors.New(r.left())}
			}
			err = r.askInterrupt()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// errLeft ends follow when a person leaves a thread.
var errLeft = errors.New("left")

// left describes what happens to the turn without this command, and how to go on with it.
func (r *turnRun) left() string {
	if r.turnID == "" {
		return "what runs there goes on at the server"
	}
	again := fmt.Sprintf("holon attach %s --after %d", r.name, max(r.after, r.result.Seq))
	switch {
	case r.interrupting:
		return "the turn is being interrupted at the server; its end shows: " + again
	case r.interrupted && !r.refused:
		return "the server was asked to interrupt the turn and has not answered yet; its outcome shows: " + again
	}
	return fmt.Sprintf("the turn continues at the server\n  see it with:  %s\n  stop it with: holon interrupt %s", again, r.toStop)
}

// take shows an event of this turn or of its thread, and remembers what the
// result needs.
func (r *turnRun) take(event client.Event) error {
	if event.TurnID != "" && event.TurnID != r.turnID && r.turnID != "" {
		return nil // another turn of the thread: this one may be queued behind it
	}
	r.result.Seq = max(r.result.Seq, event.Seq)
	if isEnd(event) {
		if err := r.showLateChildren(event.TurnID); err != nil {
			return err
		}
	}
	if event.Method == "item/updated" || event.Method == "item/deleted" {
		// An answered question is removed before its answer is shown.
		if err := r.withdraw(event.ItemID); err != nil {
			return err
		}
	}
	if _, drawn := r.view.(*timeline.Renderer); drawn && strings.HasPrefix(event.Method, "inbox/") {
		return nil // what the agent is told comes as a message
	}
	show := func() error { return r.view.Event(event) }
	if event.Method == "turn/progress" {
		// Only the status line changes, and it is hidden while a question is open.
		if err := show(); err != nil {
			return err
		}
	} else if err := r.beside(show); err != nil {
		return err
	}
	switch event.Method {
	case notify.ThreadClosed:
		r.ended = r.ended || r.turnID == ""
	case notify.TurnCompleted, notify.TurnInterrupted, notify.TurnFailed:
		if r.turnID != "" {
			return r.end(event)
		}
	case "item/created", "item/updated":
		return r.item(event)
	case "turn/progress":
		return r.progress(event)
	case "item/deleted":
		r.unsay(func(s saying) bool { return s.item == event.ItemID })
	case "stream/rewind":
		e, err := event.Fold()
		if err != nil {
			return err
		}
		if m, ok := fold.MarkerOf(&e); ok {
			r.markers.Add(m)
			r.unsay(func(s saying) bool { return r.markers.Stale(s.lineage, s.seq) })
		}
	}
	return nil
}

// isEnd reports whether the event ends a turn.
func isEnd(event client.Event) bool {
	switch event.Method {
	case notify.TurnCompleted, notify.TurnInterrupted, notify.TurnFailed:
		return true
	}
	return false
}

// lateChildren is how long the end of the turn waits for events of its child turns.
const lateChildren = 5 * time.Second

// showLateChildren shows events of child turns before the end of the turn: their events come on
// streams of their own, maybe a moment later. If they do not come soon, the connection is
// lost, and the turn's end matters more.
func (r *turnRun) showLateChildren(turnID string) error {
	if _, drawn := r.view.(*timeline.Renderer); !drawn {
		return nil
	}
	ends := r.children.ends(r.threadID, turnID, r.after)
	late := time.After(lateChildren)
	for !r.children.reached(ends) {
		var err error
		found, own := r.children.items()
		if found == nil && own == nil {
			return nil
		}
		select {
		case item, open := <-found:
			err = r.takeChild(item, open, true)
		case item, open := <-own:
			err = r.takeChild(item, open, false)
		case <-late:
			return nil
		case <-r.ctx.Done():
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// takeChild shows an event of a child turn of this turn, and asks its questions.
func (r *turnRun) takeChild(item feedItem, open, found bool) error {
	if !open {
		r.children.ended(found)
		return nil
	}
	event, ok := r.children.take(item, found)
	if !ok {
		return nil
	}
	switch event.Method {
	case notify.TurnCompleted, notify.TurnInterrupted, notify.TurnFailed:
		delete(r.running, event.TurnID)
	case notify.TurnQueued, notify.TurnStarted:
		if r.running == nil {
			r.running = map[string]bool{}
		}
		r.running[event.TurnID] = true
	case "item/updated", "item/deleted":
		if err := r.withdraw(event.ItemID); err != nil {
			return err
		}
	}
	if v, drawn := r.view.(*timeline.Renderer); drawn {
		show := func() error { return v.Child(event) }
		var err error
		switch event.Method {
		case "turn/progress", "item/deleted": // only the status changes, and it is hidden while a question is open
			err = show()
		case "item/created", "item/updated":
			if !isQuestion(event) {
				return nil
			}
			err = r.beside(show)
		default:
			err = r.beside(show)
		}
		if err != nil {
			return err
		}
	}
	if event.Method == "item/created" && isQuestion(event) {
		var p struct {
			Status  string          `json:"status"`
			Content json.RawMessage `json:"content"`
		}
		if err := json.Unmarshal(event.Params, &p); err != nil {
			return fmt.Errorf("read %s: %w", event.Method, err)
		}
		if p.Status == "pending" {
			r.askSoon(question{id: event.ItemID, thread: event.ThreadID, of: r.children.names[event.TurnID], content: timeline.ReadContent(p.Content)})
		}
	}
	return nil
}

// isQuestion reports whether the item of an event is a question of an agent.
func isQuestion(event client.Event) bool {
	var p struct {
		Content struct {
			Type string `json:"type"`
		} `json:"content"`
	}
	return json.Unmarshal(event.Params, &p) == nil && (p.Content.Type == "permission_request" || p.Content.Type == "question")
}

// progress learns from the log that the turn is being interrupted: the answer
// to turn/interrupt says it only after up to 2 s, and there is none if another
// client has interrupted the turn.
func (r *turnRun) progress(event client.Event) error {
	var p struct {
		State turns.Progress `json:"state"`
	}
	if err := json.Unmarshal(event.Params, &p); err != nil {
		return fmt.Errorf("read %s: %w", event.Method, err)
	}
	r.interrupting = r.interrupting || p.State == turns.Interrupting
	return nil
}

// unsay removes messages from the result.
func (r *turnRun) unsay(gone func(saying) bool) { r.said = slices.DeleteFunc(r.said, gone) }

// end takes the result from the turn's last event.
func (r *turnRun) end(event client.Event) error {
	r.ended = true
	r.result.State = strings.TrimPrefix(event.Method, "turn/")
	var texts []string
	for i, s := range r.said {
		if texts = append(texts, s.text); i == 0 {
			r.result.Format = s.format
		} else if s.format != r.result.Format {
			r.result.Format = "" // shown as Markdown, no Markdown is lost
		}
	}
	r.result.Text = strings.Join(texts, "\n\n")
	var p struct {
		Attempt    int             `json:"attempt"`
		Reason     string          `json:"reason"`
		StopReason string          `json:"stop_reason"`
		Error      json.RawMessage `json:"error"`
		Usage      json.RawMessage `json:"usage"`
		Review     json.RawMessage `json:"review"`
	}
	if err := json.Unmarshal(event.Params, &p); err != nil {
		return fmt.Errorf("read %s: %w", event.Method, err)
	}
	r.result.Attempt = p.Attempt
	r.result.Reason, r.result.StopReason, r.result.Error, r.result.Usage = p.Reason, p.StopReason, p.Error, p.Usage
	r.result.Review = p.Review
	return nil
}

// item collects finished messages and asks the agent's questions.
func (r *turnRun) item(event client.Event) error {
	var p struct {
		Status  string          `json:"status"`
		Content json.RawMessage `json:"content"`
		Lineage []fold.Ref      `json:"lineage"`
	}
	if err := json.Unmarshal(event.Params, &p); err != nil {
		return fmt.Errorf("read %s: %w", event.Method, err)
	}
	content := timeline.ReadContent(p.Content)
	switch content.Type {
	case "agent_message":
		if p.Status != "in_progress" && r.turnID != "" {
			if text := content.MessageText(); text != "" {
				r.said = append(r.said, saying{item: event.ItemID, text: text, format: items.Format(content.Format), seq: event.Seq, lineage: p.Lineage})
			}
		}
	case "permission_request", "question":
		if p.Status == "pending" {
			r.askSoon(question{id: event.ItemID, thread: event.ThreadID, content: content})
		}
	}
	return nil
}

// askInterrupt asks the server to interrupt the turn; its end comes as an event.
func (r *turnRun) askInterrupt() error {
	r.interrupted = true
	if err := r.say("interrupting the turn; Ctrl-C again leaves at once"); err != nil {
		return err
	}
	r.call("turn/interrupt", map[string]any{"turn_id": r.turnID, "reason": "Ctrl-C at holon run"}, func(err error) string {
		switch {
		case err == nil:
			r.interrupting = true
		case !client.IsKind(err, "turn_not_active"): // otherwise its end is on the way
			r.refused = true
			return fmt.Sprintf("the turn could not be interrupted: %v", err)
		}
		return ""
	})
	return nil
}

// call calls a method in a separate goroutine. say runs on the command's
// goroutine with the outcome and makes a sentence for a person, "" for none.
// The call may outlive the loop: calls has space for it.
func (r *turnRun) call(method string, params map[string]any, say func(error) string) {
	go func() {
		ctx, cancel := context.WithTimeout(r.ctx, 30*time.Second)
		defer cancel()
		err := callRetrying(ctx, r.client, method, params, nil)
		select {
		case r.calls <- func() string { return say(err) }:
		case <-r.ctx.Done():
		}
	}()
}

// say shows a sentence: in the timeline if there is one, else on stderr.
func (r *turnRun) say(text string) error {
	if v, ok := r.view.(*timeline.Renderer); ok && r.con.isTerminal(r.con.out) {
		return r.beside(func() error { return v.Note(text) })
	}
	r.con.note("holon: %s", timeline.Clean(text))
	return nil
}

func cleanText(text string) string { return strings.TrimRight(timeline.Clean(text), "\n") }

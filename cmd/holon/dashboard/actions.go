package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/conversation"
	"github.com/seed82539d15/holon/cmd/holon/dashboard/overview"
	"github.com/seed82539d15/holon/cmd/holon/dashboard/requests"
	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/rpc/client"
)

// carryOut does what a page asks for: the rest of the program at once, requests
// in goroutines of their own.
func (p *program) carryOut(now time.Time, from screen.Page, actions []screen.Action) tea.Cmd {
	var commands []tea.Cmd
	var seen []screen.Action
	for _, action := range actions {
		switch action := action.(type) {
		case screen.Quit:
			commands = append(commands, tea.Quit)
		case screen.Say:
			p.say(now, action.Text)
		case screen.Copy:
			commands = append(commands, tea.SetClipboard(action.Text))
		case screen.Open:
			commands = append(commands, p.open(now, action.Thread))
		case screen.Back:
			commands = append(commands, p.back(now))
		case screen.Next:
			commands = append(commands, p.next(now))
		case screen.Follow:
			p.follow(from, action)
		case screen.Work:
			commands = append(commands, func() tea.Msg { return toPage{from, action.Do()} })
		case screen.Seen:
			seen = append(seen, action)
		default:
			commands = append(commands, p.request(from, action))
		}
	}
	if len(seen) > 0 {
		commands = append(commands, p.request(from, seen...))
	}
	return tea.Batch(commands...)
}

// next goes to the next thread that waits: in the overview its row is selected,
// on the page of a thread it is opened.
func (p *program) next(now time.Time) tea.Cmd {
	at := p.overview.Selected()
	if page, ok := p.page.(*conversation.Model); ok {
		at = page.Thread()
	}
	id := p.overview.NextWaiting(at)
	switch id {
	case "":
		p.say(now, "Nothing waits for you.")
		return nil
	case at:
		p.say(now, "Nothing else waits for you.")
		return nil
	}
	p.overview.Select(id)
	p.dirty = true
	if p.page == p.overview {
		return nil
	}
	return p.show(now, id, nil, false) // a jump leads back to the overview
}

// connected takes the connection that was chosen at the start.
func (p *program) connected(now time.Time, msg connected) []screen.Action {
	if msg.err != nil {
		return p.update(now, p.page, startFailed{p.explain(msg.err)})
	}
	p.client = msg.client
	p.work.Go(func() {
		<-p.ctx.Done()
		msg.client.Close()
	})
	p.page, p.dirty = p.overview, true
	p.feed()
	return nil
}

// follow sends the events of a thread to a page until it is left.
func (p *program) follow(page screen.Page, action screen.Follow) {
	p.follows()
	ctx, cancel := context.WithCancel(p.ctx)
	p.follows = cancel
	c := p.client
	p.work.Go(func() {
		defer cancel()
		requests.Follow(ctx, c, action, func(msg tea.Msg) { p.send(toPage{page, msg}) })
	})
}

// request sends the requests of actions one after the other, so that many are not in the
// way of others. The page learns of the last one.
func (p *program) request(page screen.Page, actions ...screen.Action) tea.Cmd {
	c, consumer := p.client, p.consumer
	return func() tea.Msg {
		var done screen.Done
		for _, action := range actions {
			result, err := p.perform(p.ctx, c, consumer, action)
			done = screen.Done{Action: action, Result: result, Err: err}
		}
		return toPage{page, done}
	}
}

// perform sends the request of an action and waits for the answer. It runs in a
// goroutine of its own.
func (p *program) perform(ctx context.Context, c *client.Client, consumer string, action screen.Action) (result json.RawMessage, err error) {
	server := counted{c, &p.requests}
	if start, ok := action.(screen.StartThread); ok {
		call := func(method string, params any) error { return server.Call(ctx, method, params, &result) }
		return p.startThread(start, call, &result)
	}
	done, _ := requests.Requests{Server: server, Consumer: consumer}.Do(ctx, action)
	return done.Result, done.Err
}

// counted is a client whose calls are counted.
type counted struct {
	client *client.Client
	calls  *atomic.Int64
}

// Call implements requests.Caller.
func (c counted) Call(ctx context.Context, method string, params, result any) error {
	c.calls.Add(1)
	return c.client.Call(ctx, method, params, result)
}

// startThread starts a thread and its first turn. A thread whose turn does not
// start is closed again.
func (p *program) startThread(a screen.StartThread, call func(string, any) error, result *json.RawMessage) (json.RawMessage, error) {
	params := map[string]any{}
	if a.Agent != "" {
		params["agent"] = a.Agent
	}
	if a.Cwd != "" {
		params["cwd"] = absolute(a.Cwd, p.o.Cwd)
	}
	if err := call("thread/start", params); err != nil {
		return nil, err
	}
	started := slices.Clone(*result) // the next answer takes the place of this one
	var thread struct {
		ID string `json:"thread_id"`
	}
	if err := json.Unmarshal(started, &thread); err != nil {
		return nil, err
	}
	if err := call("turn/start", map[string]any{"thread_id": thread.ID, "input": requests.Input(a.Text)}); err != nil {
		_ = call("thread/close", map[string]any{"thread_id": thread.ID}) // what failed first is reported
		return nil, err
	}
	return started, nil
}

// absolute returns a directory as a person types it, for the server.
func absolute(path, cwd string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	if !filepath.IsAbs(path) {
		return filepath.Join(cwd, path)
	}
	return path
}

// report shows how a request ended.
func (p *program) report(now time.Time, done screen.Done) {
	if done.Err != nil {
		p.askStorage(done.Err)
		// That somebody else has looked further is no failure.
		if _, ok := done.Action.(screen.Seen); !ok && p.ctx.Err() == nil {
			p.say(now, p.explain(done.Err))
		}
		return
	}
	p.taken(done.Action)
	switch a := done.Action.(type) {
	case screen.Seen:
		p.overview.Looked(a.Thread, a.Seq)
	case screen.Interrupt:
		p.say(now, "Interrupted.")
	case screen.Retry:
		p.say(now, "It is tried again.")
	case screen.RetryLost:
		p.say(now, retriedLost(done.Result))
	case screen.DismissLost:
		p.say(now, "Dismissed. r retries the turn of a thread.")
	case screen.Wake:
		p.say(now, "Woken: its agent is told what is new as soon as a turn can start.")
	case screen.Close:
		p.say(now, "Closed.")
	case screen.Rename:
		p.say(now, renamed(a))
	case screen.Respond:
		p.say(now, "Answered.")
	case screen.Review:
		p.say(now, reviewed(a, done.Result))
	case screen.StartThread:
		p.say(now, "Started.")
	}
}

// renamed reports whose title a thread has now.
func renamed(a screen.Rename) string {
	if a.Title == "" {
		return "It has no title until its agent gives one."
	}
	return "Renamed. The agent keeps this title."
}

// reviewed describes what follows from a verdict.
func reviewed(a screen.Review, result json.RawMessage) string {
	var r struct {
		ContinuedBy string `json:"continued_by"`
	}
	switch _ = json.Unmarshal(result, &r); {
	case r.ContinuedBy != "":
		return "Rejected: the agent continues with your note."
	case a.Verdict == "rejected":
		return "Rejected. Nothing follows."
	case a.Verdict == "blocked":
		return "Blocked."
	}
	return "Approved."
}

// retriedLost describes what became of the turns that ended with a restart.
func retriedLost(result json.RawMessage) string {
	var r screen.Retried
	if json.Unmarshal(result, &r) != nil {
		return "They are tried again."
	}
	text := screen.Plural(r.Again, "turn") + " tried again."
	if r.Refused > 0 {
		text += fmt.Sprintf(" %d not: %s", r.Refused, r.Why)
	}
	return text
}

// askStorage makes the feed ask whether the server can store anything, after a request was
// refused because it cannot.
func (p *program) askStorage(err error) {
	if storageOf(err) == "" {
		return
	}
	select {
	case p.unstored <- struct{}{}:
	default:
	}
}

// explain describes an error in words, and what to do about it.
func (p *program) explain(err error) string {
	text := screen.Words(err)
	if p.o.Explain != nil {
		if hint := p.o.Explain(err); hint != "" {
			text += " " + hint
		}
	}
	return text
}

// pendingTime bounds how long the end of the dashboard waits for requests.
const pendingTime = 2 * time.Second

// sendPending sends what the person has asked for and could have undone until
// the dashboard ended.
func (p *program) sendPending() {
	actions := append(p.overview.Pending(), pending(p.page)...)
	if left := overview.Left(p.overview); left != nil && p.offline.IsZero() {
		actions = append(actions, left)
	}
	if len(actions) == 0 || p.client == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), pendingTime)
	defer cancel()
	for _, action := range actions {
		_, _ = p.perform(ctx, p.client, p.consumer, action) // nobody is there to read an error
	}
}

// Package chat shows conversations on the whole terminal: holon chat. It is the program
// around the pages of package conversation: it starts bubbletea, sends requests, follows
// the thread that is shown, and goes to children and back.
package chat

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/conversation"
	"github.com/seed82539d15/holon/cmd/holon/dashboard/requests"
	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/rpc/client"
)

// Options say what is shown and where.
type Options struct {
	Client  *client.Client
	Thread  string
	In      io.Reader
	Out     io.Writer
	Environ []string
	Colour  bool
}

// Result is what was left when the program ended.
type Result struct {
	Thread string
	Runs   bool // a turn of the thread goes on
}

// Run shows the conversation until the person quits or ctx ends, which is no error. It
// must own the terminal.
func Run(ctx context.Context, o Options) (Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	p := &program{
		ctx: ctx, options: o, drafts: &conversation.Drafts{},
		requests: requests.Requests{Server: o.Client, Consumer: requests.Consumer(ctx, o.Client)},
	}
	defer func() {
		cancel()
		p.work.Wait()
	}()
	p.push(o.Thread)
	p.tea = tea.NewProgram(p, tea.WithContext(ctx), tea.WithInput(screen.Input(o.In)), tea.WithOutput(o.Out), tea.WithEnvironment(o.Environ), tea.WithoutSignalHandler())
	_, err := p.tea.Run()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		err = nil
	}
	_, _ = io.WriteString(o.Out, restoreScroll)
	top, closed := p.top(), p.closeLast()
	return Result{Thread: top.thread, Runs: top.page.Runs() && !closed}, err
}

// closeTime bounds how long the end waits for a close.
const closeTime = 2 * time.Second

// closeLast closes the thread that is shown at the end, if the person has asked for that
// and could have undone it until then. It reports whether the thread was closed.
func (p *program) closeLast() bool {
	closed := false
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), closeTime)
	defer cancel()
	for _, action := range p.top().page.Pending() {
		done, _ := p.requests.Do(ctx, action)
		closed = done.Err == nil
	}
	return closed
}

// leave sends what could be undone on the page that is left.
func (p *program) leave(now time.Time) (cmds []tea.Cmd) {
	top := p.top()
	for _, action := range top.page.Pending() {
		cmds = append(cmds, p.carryOut(now, top, action))
	}
	return cmds
}

// The wheel scrolls by arrow keys (alternate scroll): the terminal's own setting is saved
// and restored.
const (
	wheelAsKeys   = "\x1b[?1007s\x1b[?1007h"
	restoreScroll = "\x1b[?1007r"
)

// program is the model of bubbletea. Its goroutine alone uses it, apart from ctx,
// requests and work.
type program struct {
	ctx      context.Context
	options  Options
	requests requests.Requests
	drafts   *conversation.Drafts
	tea      *tea.Program
	work     sync.WaitGroup // goroutines that follow a thread

	pages         []shown
	following     context.CancelFunc
	round         int  // of following: what comes from earlier ones is dropped
	lost          bool // the connection
	width, height int
	tickAt        time.Time // when the next tick comes, zero if none is under way
	notice        string    // over the last line, until the next key
}

// shown is one page of the stack.
type shown struct {
	thread string
	page   *conversation.Model
}

// Messages of the program to itself.
type (
	batch struct {
		round int
		msg   tea.Msg
	}
	forPage struct {
		thread string
		msg    tea.Msg
	}
	tick    struct{ at time.Time }
	waiting struct {
		thread string
		err    error
	}
)

func (p *program) top() shown { return p.pages[len(p.pages)-1] }

func (p *program) push(thread string) {
	p.pages = append(p.pages, shown{thread, conversation.New(conversation.Options{
		Thread: thread, Styles: screen.NewStyles(p.options.Colour), Colour: p.options.Colour,
		Drafts: p.drafts, Write: true, Alone: len(p.pages) == 0,
	})})
}

// Init implements tea.Model.
func (p *program) Init() tea.Cmd {
	return tea.Batch(tea.Raw(wheelAsKeys), func() tea.Msg { return forPage{p.options.Thread, conversation.Begin{}} })
}

// Update implements tea.Model.
func (p *program) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	now := time.Now()
	if key, ok := msg.(tea.KeyPressMsg); ok {
		if esc, letter, ok := screen.EscAndLetter(p.top().page, key, p.width, p.height); ok {
			_, first := p.Update(esc) // the letter is for the page to which Esc leads
			_, then := p.Update(letter)
			return p, tea.Batch(first, then)
		}
	}
	var cmds []tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		p.width, p.height = msg.Width, msg.Height
		cmds = p.send(now, p.top(), msg)
	case tea.KeyPressMsg:
		p.notice = ""
		if msg.String() == "ctrl+c" {
			return p, tea.Quit
		}
		if p.lost {
			p.options.Client.RetryNow() // the person does not want to wait
		}
		cmds = p.send(now, p.top(), msg)
	case tea.PasteMsg:
		p.notice = ""
		cmds = p.send(now, p.top(), msg)
	case batch:
		if msg.round == p.round {
			if c, ok := msg.msg.(screen.Connection); ok {
				p.lost = c.State.Kind == client.Lost
			}
			cmds = p.send(now, p.top(), msg.msg)
		}
	case forPage:
		cmds = p.forPage(now, msg)
	case waiting:
		cmds = p.goTo(now, msg)
	case tick:
		if msg.at.Equal(p.tickAt) {
			p.tickAt = time.Time{}
			cmds = p.ticked(now)
		}
	default:
		return p, nil
	}
	return p, tea.Batch(append(cmds, p.schedule(now))...)
}

// ticked reports to the page that it changes by time, unless a message that came before the
// timer has had it drawn: else a flood of events would be drawn twice a frame.
func (p *program) ticked(now time.Time) []tea.Cmd {
	if next := p.top().page.Changes(now); next.IsZero() || next.After(now) {
		return nil
	}
	return p.send(now, p.top(), screen.Tick{})
}

// forPage gives the answer to a request to the page that asked, if it is still there.
func (p *program) forPage(now time.Time, msg forPage) []tea.Cmd {
	for _, s := range p.pages {
		if s.thread == msg.thread {
			return p.send(now, s, msg.msg)
		}
	}
	if done, ok := msg.msg.(screen.Done); ok && done.Err == nil {
		switch a := done.Action.(type) { // its page is gone: what was sent is no draft
		case screen.Start:
			p.drafts.Sent(a.Text)
		case screen.Steer:
			p.drafts.Sent(a.Text)
		}
	}
	return nil
}

// send gives a page a message and carries out what it asks for.
func (p *program) send(now time.Time, to shown, msg tea.Msg) (cmds []tea.Cmd) {
	for _, action := range to.page.Update(now, msg) {
		if cmd := p.carryOut(now, to, action); cmd != nil {
			cmds = append(cmds, cmd)
		}
	}
	return cmds
}

// carryOut carries out an action of a page.
func (p *program) carryOut(now time.Time, from shown, action screen.Action) tea.Cmd {
	switch a := action.(type) {
	case screen.Follow:
		p.follow(a)
		return nil
	case screen.Work:
		return func() tea.Msg { return forPage{from.thread, a.Do()} }
	case screen.Open:
		return tea.Batch(p.open(now, a.Thread)...)
	case screen.Back:
		if len(p.pages) == 1 {
			return nil
		}
		left := p.leave(now)
		p.pages = p.pages[:len(p.pages)-1]
		return tea.Batch(append(left, p.send(now, p.top(), conversation.Reopened{})...)...)
	case screen.Quit:
		return tea.Quit
	case screen.Copy:
		return tea.SetClipboard(a.Text)
	case screen.Say:
		p.notice = a.Text
		return nil
	case screen.Next:
		return p.nextWaiting(from.thread)
	}
	return func() tea.Msg {
		done, ok := p.requests.Do(p.ctx, action)
		if !ok {
			return nil
		}
		return forPage{from.thread, done}
	}
}

// open shows a thread: one that is open already, or a new page.
func (p *program) open(now time.Time, thread string) []tea.Cmd {
	left := p.leave(now)
	if i := slices.IndexFunc(p.pages, func(s shown) bool { return s.thread == thread }); i >= 0 {
		p.pages = p.pages[:i+1]
		return append(left, p.send(now, p.top(), conversation.Reopened{})...)
	}
	p.push(thread)
	return append(left, p.send(now, p.top(), conversation.Begin{})...)
}

// nextWaiting finds the question, else the review, that has waited longest in another thread.
func (p *program) nextWaiting(here string) tea.Cmd {
	calls := []screen.Call{
		{Method: "item/list", Params: map[string]any{"status": "pending", "limit": 100}},
		{Method: "turn/list", Params: map[string]any{"review": "pending", "limit": 100}},
	}
	return func() tea.Msg {
		for _, call := range calls {
			done, _ := p.requests.Do(p.ctx, call)
			if done.Err != nil {
				return waiting{err: done.Err}
			}
			type row struct {
				ThreadID string `json:"thread_id"`
			}
			var list struct {
				Items, Turns []row
			}
			if err := json.Unmarshal(done.Result, &list); err != nil {
				return waiting{err: err}
			}
			for _, r := range append(list.Items, list.Turns...) {
				if r.ThreadID != here {
					return waiting{thread: r.ThreadID}
				}
			}
		}
		return waiting{}
	}
}

func (p *program) goTo(now time.Time, to waiting) []tea.Cmd {
	switch {
	case to.err != nil:
		p.notice = "What waits cannot be read. " + screen.Words(to.err)
	case to.thread == "":
		p.notice = "Nothing waits in another thread."
	default:
		return p.open(now, to.thread)
	}
	return nil
}

// follow follows a thread in place of the one before.
func (p *program) follow(a screen.Follow) {
	if p.following != nil {
		p.following()
	}
	ctx, stop := context.WithCancel(p.ctx)
	p.following = stop
	p.round++
	round := p.round
	p.work.Go(func() {
		requests.Follow(ctx, p.options.Client, a, func(msg tea.Msg) { p.tea.Send(batch{round, msg}) })
	})
}

// schedule makes the tick that the page wants next.
func (p *program) schedule(now time.Time) tea.Cmd {
	if p.width == 0 {
		return nil
	}
	at := p.top().page.Changes(now)
	if at.IsZero() || !p.tickAt.IsZero() && !at.Before(p.tickAt) {
		return nil
	}
	p.tickAt = at
	return tea.Tick(max(at.Sub(now), time.Millisecond), func(time.Time) tea.Msg { return tick{at} })
}

// View implements tea.Model.
func (p *program) View() tea.View {
	if p.width == 0 {
		return tea.NewView("")
	}
	page := p.top().page
	lines := page.Lines(time.Now(), p.width, p.height)
	if p.notice != "" {
		screen.PutNotice(lines, screen.NewStyles(p.options.Colour).Notice, p.notice, p.width)
	}
	v := tea.NewView(strings.Join(lines, "\n"))
	v.AltScreen = true
	v.WindowTitle = "holon: " + page.Title()
	if x, y, show := page.Cursor(p.width, p.height); show {
		v.Cursor = tea.NewCursor(x, y)
	}
	return v
}

package dashboard

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/conversation"
	"github.com/seed82539d15/holon/cmd/holon/dashboard/overview"
	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/rpc/client"
)

// noticeTime is how long a notice stays, unless a key is pressed.
const noticeTime = 6 * time.Second

// program is the tea.Model. The goroutine of bubbletea alone uses it, besides what
// is said otherwise.
type program struct {
	ctx  context.Context
	o    Options
	send func(tea.Msg)  // to the update loop, from any goroutine
	work sync.WaitGroup // goroutines that end with ctx
	now  func() time.Time

	client   *client.Client
	consumer string // whose cursors say what the person has seen
	styles   screen.Styles
	overview *overview.Model
	page     screen.Page // what is shown
	trail    []string    // the threads through which one has come to it, that lead back
	drafts   conversation.Drafts
	follows  context.CancelFunc

	width, height int
	notice        string
	noticeEnds    time.Time
	offline       time.Time // since when there is no connection …
	why           error     // … and why
	storage       storage   // why the server stores nothing
	unstored      chan struct{}
	sight         []string           // threads that work and whose rows are on the screen …
	look          func(ids []string) // … as the feed knows; nil: there is none yet
	needed        int                // how many threads needed the person last …
	listed        bool               // … if they were known then

	dirty   bool
	view    tea.View
	renders int
	ticks   int // the number of the last timer; older ones are void
	tickAt  time.Time

	requests atomic.Int64
}

func newProgram(ctx context.Context, o Options) *program {
	s := styles(o.Environ)
	p := &program{
		ctx: ctx, o: o, now: time.Now, client: o.Client, consumer: ownConsumer, styles: s,
		overview: overview.New(s, ""), dirty: true, follows: func() {},
		unstored: make(chan struct{}, 1),
	}
	p.page = p.overview
	if p.client == nil {
		p.page = newStart(s, o.Data, o.Elsewhere, func(data string) connected {
			c, err := o.Connect(ctx, data)
			return connected{c, err}
		})
	}
	return p
}

// Messages of the program to itself.
type (
	// toPage is for one page. It is dropped if that page was left.
	toPage struct {
		page screen.Page
		msg  tea.Msg
	}
	tick      struct{ number int }
	connected struct {
		client *client.Client
		err    error
	}
	consumer string
)

// Init implements tea.Model.
func (p *program) Init() tea.Cmd {
	if p.client != nil {
		p.feed()
	}
	return tea.Raw(setTerminal)
}

// feed starts the goroutines that tell what happens on the server.
func (p *program) feed() {
	f := p.newFeed()
	p.look = f.look
	p.work.Go(func() { f.run(p.ctx) })
}

func (p *program) newFeed() *feed {
	f := &feed{client: p.client, send: p.send, now: p.now, requests: &p.requests, ready: p.client.Ready, unstored: p.unstored}
	if p.o.Here != nil {
		f.directory = func(logID string) string {
			if p.o.Here(f.client, logID) {
				return p.o.Cwd
			}
			return ""
		}
	}
	return f
}

// Update implements tea.Model.
func (p *program) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	now := p.now()
	if key, ok := msg.(tea.KeyPressMsg); ok {
		if esc, letter, ok := screen.EscAndLetter(p.page, key, p.width, p.room()); ok {
			_, first := p.Update(esc) // the letter is for the page to which Esc leads
			_, then := p.Update(letter)
			return p, tea.Batch(first, then)
		}
	}
	var actions []screen.Action
	from := p.page
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		p.width, p.height = msg.Width, msg.Height
		actions = p.update(now, p.page, tea.WindowSizeMsg{Width: p.width, Height: p.room()})
	case tea.KeyPressMsg:
		p.notice = ""
		if msg.String() == "ctrl+c" {
			return p, tea.Quit
		}
		if !p.offline.IsZero() && p.client != nil {
			p.client.RetryNow() // the person does not want to wait
		}
		actions = p.update(now, p.page, msg)
	case tea.PasteMsg:
		p.notice = ""
		actions = p.update(now, p.page, msg)
	case overview.Listed, overview.Today, overview.Lost, overview.Terminal:
		from = p.overview
		actions = p.update(now, p.overview, msg)
	case screen.Connection:
		p.connection(msg.State, now)
		actions = p.update(now, p.page, msg)
		if p.page != p.overview {
			actions = append(actions, p.overview.Update(now, msg)...)
		}
	case storage:
		if p.storage != msg {
			p.storage = msg
			actions = p.update(now, p.page, tea.WindowSizeMsg{Width: p.width, Height: p.room()})
		}
	case toPage:
		from = msg.page
		actions = p.received(now, msg)
	case consumer:
		p.consumer = string(msg)
	case tick:
		if msg.number == p.ticks {
			p.tickAt = time.Time{}
			actions = append(p.update(now, p.overview, screen.Tick{}), p.ticked(now)...)
		}
	}
	if p.notice != "" && !now.Before(p.noticeEnds) {
		p.notice, p.dirty = "", true
	}
	p.tellSight()
	commands := []tea.Cmd{p.carryOut(now, from, actions), p.ring()}
	return p, tea.Batch(append(commands, p.wait(now))...)
}

// update passes a message to a page.
func (p *program) update(now time.Time, page screen.Page, msg tea.Msg) []screen.Action {
	p.dirty = true
	return page.Update(now, msg)
}

// ticked reports to the page that it changes by time, unless a message that came before the
// timer has had it drawn: else a flood of events would be drawn twice a frame.
func (p *program) ticked(now time.Time) []screen.Action {
	if next := p.page.Changes(now); p.page == p.overview || next.IsZero() || next.After(now) {
		return nil
	}
	return p.update(now, p.page, screen.Tick{})
}

// received passes on what was meant for one page.
func (p *program) received(now time.Time, msg toPage) []screen.Action {
	switch msg := msg.msg.(type) {
	case screen.Done:
		p.report(now, msg)
	case connected:
		return p.connected(now, msg)
	}
	if msg.page != p.page && msg.page != p.overview {
		return nil
	}
	return p.update(now, msg.page, msg.msg)
}

// say shows a notice.
func (p *program) say(now time.Time, text string) {
	p.notice, p.noticeEnds, p.dirty = screen.OneLine(text), now.Add(noticeTime), true
}

// connection notes that the connection was lost or is back.
func (p *program) connection(state client.State, now time.Time) {
	switch {
	case state.Kind != client.Lost:
		p.offline, p.why = time.Time{}, nil
	case p.offline.IsZero():
		p.offline, p.why = now, state.Reason
	}
}

// ring rings the bell if another thread has begun to wait for the person: not for those
// that wait already when the dashboard begins.
func (p *program) ring() tea.Cmd {
	need := p.overview.NeedYou()
	more := need > p.needed && p.listed
	p.listed = p.overview.Loaded()
	if need != p.needed {
		p.needed, p.dirty = need, true
	}
	if more && p.o.Bell {
		return tea.Raw("\a")
	}
	return nil
}

// tellSight reports to the feed which rows change without an event, if these are others now.
func (p *program) tellSight() {
	var ids []string
	if p.page == p.overview {
		ids = overview.InSight(p.overview)
	}
	if p.look != nil && !slices.Equal(ids, p.sight) {
		p.sight = ids
		p.look(ids)
	}
}

// wait starts a timer for when the screen changes by time alone, unless one that
// ends sooner runs.
func (p *program) wait(now time.Time) tea.Cmd {
	next := p.page.Changes(now)
	sooner := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	sooner(p.overview.Due())
	if p.notice != "" {
		sooner(p.noticeEnds)
	}
	if next.IsZero() || !p.tickAt.IsZero() && !next.Before(p.tickAt) {
		return nil
	}
	p.ticks++
	p.tickAt = next
	number := p.ticks
	return tea.Tick(next.Sub(now), func(time.Time) tea.Msg { return tick{number} })
}

// View implements tea.Model. Nothing is drawn if nothing has changed.
func (p *program) View() tea.View {
	if !p.dirty || p.width == 0 || p.height == 0 {
		return p.view
	}
	p.dirty = false
	p.renders++
	lines := screen.Fill(p.page.Lines(p.now(), p.width, p.room()), p.width, p.height)
	above := lines
	if wrong := p.wrong(); wrong != "" {
		above = lines[:p.height-1]
		lines[p.height-1] = p.styles.Failed.Paint(screen.Pad(wrong, p.width))
	}
	if p.notice != "" {
		screen.PutNotice(above, p.styles.Notice, p.notice, p.width)
	}
	p.view = tea.NewView(strings.Join(lines, "\n"))
	p.view.AltScreen = true
	p.view.WindowTitle = "holon"
	if p.needed > 0 {
		p.view.WindowTitle = fmt.Sprintf("holon (%d)", p.needed)
	}
	if x, y, show := p.page.Cursor(p.width, p.room()); show && x < p.width && y < p.height-1 {
		p.view.Cursor = tea.NewCursor(x, y)
	}
	return p.view
}

// wrong describes in the last line what is wrong with the server as long as it is, "" if
// nothing is.
func (p *program) wrong() string {
	switch {
	case !p.offline.IsZero():
		return screen.Offline(p.offline, p.why, p.width)
	case p.storage != "":
		return screen.Unstored(string(p.storage), p.width)
	}
	return ""
}

// room returns the height of a page: while nothing is stored one still needs its keys, so that
// is said below them if there is room.
func (p *program) room() int {
	if p.storage != "" && p.height > overview.MinHeight {
		return p.height - 1
	}
	return p.height
}

func (p *program) counts() Counts {
	return Counts{Renders: p.renders, Rows: p.overview.Drawn, Requests: int(p.requests.Load())}
}

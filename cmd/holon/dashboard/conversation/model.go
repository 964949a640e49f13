package conversation

import (
	"encoding/json"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/rpc/client"
)

// Options say what a Model shows and how.
type Options struct {
	Thread string
	// Title is shown until the thread has been read; it may be empty.
	Title  string
	Styles screen.Styles
	Colour bool // of Markdown
	// Drafts keeps what is written and not sent; nil: only the model does.
	Drafts *Drafts
	// Write: the page begins in the input line, else outside of it.
	Write bool
	// Alone: the page is a program of its own, so there is nothing to go back to.
	Alone bool
}

// Counts are what a Model has done: tests bound it.
type Counts struct{ Renders, Rows, Requests int }

// Model is the page of one thread (screen.Page). One goroutine uses it.
type Model struct {
	options  Options
	thread   threadRow
	loader   loader
	history  *history
	turns    *turns
	asks     asks
	marks    *renderings
	children children
	composer
	view
	focus   focus
	sure    *screen.Sure   // what waits for a confirmation
	naming  *screen.Naming // a title that is typed; nil: none is
	closeAt time.Time      // when the thread is closed, unless that is taken back
	help    screen.Help
	status  string    // a sentence at the bottom, until the next key
	offline bool      // the connection is lost …
	why     error     // … because of this
	cursor  int64     // seq of the newest event that was taken
	seen    int64     // … as the server was told …
	toldAt  time.Time // … then
	counts  Counts
}

// focus is what keys act on.
type focus int

const (
	onTimeline focus = iota
	onInput
	onQuestion
	onChildren
)

// threadRow is a thread as thread/read gives it.
type threadRow struct {
	ThreadID string `json:"thread_id"`
	Title    string `json:"title"`
	TitleBy  string `json:"title_by"`
	Agent    string `json:"agent"`
	State    string `json:"state"`
	Config   *struct {
		Commands []agentCommand `json:"commands"`
	} `json:"config"`
	Summary struct {
		Cwd   string       `json:"cwd"`   // where the agent works
		Wakes *inbox.Wakes `json:"wakes"` // what keeps its inbox from waking it
	} `json:"summary"`
	Parent *struct {
		ThreadID string `json:"thread_id"`
	} `json:"parent"`
}

// New returns the page of a thread. The first Update asks for what it shows; Begin is a
// message that has no other effect.
func New(options Options) *Model {
	m := &Model{options: options, history: newHistory(), turns: newTurns(), marks: newRenderings(options.Colour)}
	m.thread.ThreadID, m.thread.Title = options.Thread, options.Title
	m.view.follow = true
	if options.Write {
		m.focus = onInput
	}
	if options.Drafts != nil {
		m.composer.input.set(options.Drafts.Of(options.Thread))
	}
	return m
}

// Begin is the first message: the page asks for what it shows.
type Begin struct{}

// Reopened says that the page is shown again after another one was: it reads the thread
// again, because it has not been followed meanwhile.
type Reopened struct{}

// Counts returns what the model has done so far.
func (m *Model) Counts() Counts { return m.counts }

// Title returns what the page shows, in a few words.
func (m *Model) Title() string {
	if title := screen.OneLine(m.thread.Title); title != "" {
		return title
	}
	if m.history.older == "" {
		for _, e := range m.history.entries {
			if e.item != nil && e.item.content.Type == "user_message" {
				return screen.Fit(e.item.summary(), 40)
			}
		}
	}
	id := screen.OneLine(m.thread.ThreadID)
	return "thread …" + id[max(0, len(id)-8):]
}

// Thread returns the id of the thread that is shown.
func (m *Model) Thread() string { return m.options.Thread }

// Runs reports whether a turn of the thread is at work.
func (m *Model) Runs() bool { return m.turns.active() != nil }

// Pending returns a close that was not sent yet. When the page is left, in whatever way, it is
// sent, since nobody can undo it any more.
func (m *Model) Pending() []screen.Action {
	if m.closeAt.IsZero() {
		return nil
	}
	m.closeAt = time.Time{}
	return []screen.Action{screen.Close{Thread: m.options.Thread}}
}

// Update implements screen.Page.
func (m *Model) Update(now time.Time, msg tea.Msg) []screen.Action {
	var out []screen.Action
	switch msg := msg.(type) {
	case Begin:
	case Reopened:
		out = intake{m}.reload()
		m.view.changed()
	case tea.WindowSizeMsg:
		m.view.width, m.view.height = msg.Width, msg.Height
		m.view.changed()
	case tea.KeyPressMsg:
		out = keyboard{m}.key(now, msg)
		m.view.changed()
	case tea.PasteMsg:
		if m.naming != nil {
			m.status = m.naming.Paste(msg)
		} else {
			keyboard{m}.paste(msg.Content)
		}
		m.view.changed()
	case client.Event:
		out = intake{m}.event(now, msg)
		m.view.grown()
	case screen.Below:
		m.children.due = true
	case []client.Event:
		for _, e := range msg {
			out = append(out, intake{m}.event(now, e)...)
		}
		m.view.grown()
	case screen.Done:
		out = m.done(now, msg)
		m.view.changed()
	case screen.Connection:
		out = m.connection(msg.State)
		m.view.changed()
	case rendered:
		m.marks.keep(msg.key, msg.rows)
		m.view.grown()
	case screen.Tick:
		m.view.changed()
	}
	m.keepAnswer()
	if m.view.width > 0 {
		m.Lines(now, m.view.width, m.view.height) // it notes what is missing for the picture
	}
	out = append(out, m.due(now)...)
	out = append(out, m.marks.wanted()...)
	for _, a := range out {
		if isRequest(a) {
			m.counts.Requests++
		}
	}
	if m.options.Drafts != nil {
		m.options.Drafts.Keep(m.options.Thread, m.composer.draft())
	}
	return out
}

// isRequest reports whether an action goes to the server.
func isRequest(a screen.Action) bool {
	switch a.(type) {
	case screen.Respond, screen.Review, screen.Start, screen.Steer, screen.Interrupt, screen.Retry, screen.Close, screen.Rename, screen.Seen, screen.Call:
		return true
	}
	return false
}

// connection notes that the connection is lost or back. What was asked before may be over
// when it is back, so the open questions are read again.
func (m *Model) connection(s client.State) []screen.Action {
	was := m.offline
	if m.offline, m.why = s.Kind == client.Lost, s.Reason; m.offline || !was {
		return nil
	}
	m.children.due = true
	return intake{m}.askWaiting(" again")
}

// done takes the answer to a request.
func (m *Model) done(now time.Time, d screen.Done) []screen.Action {
	switch a := d.Action.(type) {
	case screen.Call:
		return intake{m}.loaded(now, a, d)
	case screen.Follow:
		if d.Err != nil { // the cursor is no longer valid, or the log is another one
			return intake{m}.reload()
		}
	case screen.Start, screen.Steer:
		m.sent(d)
	case screen.Respond, screen.Review:
		id := answerOf(a)
		if q := m.asks.find(id); q != nil && d.Err != nil {
			q.sent = false
			m.asks.touched(now)
			m.status = "The answer was not taken. " + screen.Words(d.Err)
			late := client.IsKind(d.Err, "already_resolved") || q.review != nil && client.IsKind(d.Err, "conflict")
			if q == m.asks.front() && (late || q.form == nil) { // else it begins with the first field
				m.answer.set(q.line)
			}
			if late {
				m.status = "Somebody else has answered already."
				m.over(now, id, overAnswered)
			}
		} else if q != nil {
			m.asks.gone(now, id)
		}
		if m.asks.front() == nil && m.focus == onQuestion {
			m.focus = onTimeline
		}
	case screen.Rename:
		if m.naming != nil && m.naming.Done(a, d.Err) {
			m.naming = nil
		}
	case screen.Interrupt, screen.Retry, screen.Close:
		m.status = ""
		if d.Err != nil {
			m.status = "That did not work. " + screen.Words(d.Err)
		}
	}
	return nil
}

// due does the work that is due by time alone.
func (m *Model) due(now time.Time) (out []screen.Action) {
	out = append(out, intake{m}.due(now)...)
	if m.wantsOlder() {
		out = append(out, intake{m}.askOlder()...)
	}
	if m.wantsNewer() {
		out = append(out, intake{m}.askNewer()...)
	}
	if !now.Before(m.closeAt) {
		out = append(out, m.Pending()...)
	}
	if m.mustTell() && !now.Before(m.toldAt.Add(seenEvery)) {
		m.seen, m.toldAt = m.cursor, now
		out = append(out, screen.Seen{Thread: m.options.Thread, Seq: m.cursor})
	}
	return out
}

// seenEvery is the least time between two reports of how far a person has looked.
const seenEvery = 3 * time.Second

// mustTell reports whether there is more to see than the server knows to be seen.
func (m *Model) mustTell() bool { return m.cursor > m.seen && m.view.follow && m.loader.ready }

// decode reads the result of a request; a foreign form leaves what it cannot read zero.
func decode(raw json.RawMessage, into any) { _ = json.Unmarshal(raw, into) }

// keepAnswer forgets what was typed into a question that is no longer shown.
func (m *Model) keepAnswer() {
	id := ""
	if q := m.asks.front(); q != nil {
		id = q.id
	}
	if id != m.answering {
		m.answering = id
		m.answer.set("")
	}
}

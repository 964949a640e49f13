package overview

import (
	"cmp"
	"encoding/json"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/conversation"
	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/rpc/client"
)

// Bounds of time.
const (
	deadFor    = 500 * time.Millisecond // keys do nothing so long after they began to act on something else
	orderStays = 2 * time.Second        // the order of rows stays so long after a key
	undoTime   = 5 * time.Second        // a close is sent so long after its key
)

// Messages of the program to the overview, besides those of package screen.
type (
	// Listed are threads that were read. Whole says that these are all there are to show,
	// and Cut that there are more that need somebody, work or have failed. Counts are
	// those of the server, nil if it was not asked or does not count.
	Listed struct {
		Threads []Thread
		Whole   bool
		Cut     bool
		Counts  *Counts
		Left    int64 // up to which seq the person's last dashboard was open, with Whole; 0 = not known
	}
	// Today is what turns have cost that ended on a day.
	Today struct {
		Day   string // as time.DateOnly, in the person's zone
		Spent []Money
	}
)

// Model is the overview. It implements screen.Page.
type Model struct {
	styles screen.Styles
	cwd    string // of new threads, unless the person gives another
	list   list
	loaded bool
	offset int       // the first visible line of the list
	frozen time.Time // the order of rows stays until then
	stale  bool      // the order does not fit the threads
	// turned is when keys began to act on something else, although none was pressed;
	// turnedFrom is what they acted on before.
	turned     time.Time
	turnedFrom string

	closing closing
	today   Today
	lost    time.Time // when the connection was lost, so that what is shown is of then
	ended   Lost
	away    []string // threads that changed while the person was away, and have not changed since …
	left    int64    // … this seq, up to which their last dashboard was open; 0 = not known

	filter filterLine
	form   *form          // of a new thread; nil: not open
	draft  *form          // a form that was left
	asked  *asked         // the question in the panel
	naming *screen.Naming // a title that is typed; nil: none is
	sure   *screen.Sure   // what waits for a confirmation
	help   screen.Help

	screen struct{ width, height, top, rows int } // of the last Lines

	// Drawn counts the rows that were drawn, for tests.
	Drawn int
}

// Terminal is the directory that new threads get unless the person gives another: that of
// the terminal, or "" if the server does not have it.
type Terminal string

// New returns an empty overview. cwd is the directory that new threads get
// unless the person gives another.
func New(styles screen.Styles, cwd string) *Model {
	return &Model{styles: styles, cwd: cwd, filter: newFilterLine()}
}

// Loaded reports whether the threads have been read.
func (m *Model) Loaded() bool { return m.loaded }

// NeedYou returns how many threads wait for the person.
func (m *Model) NeedYou() int { return m.list.totals().NeedsYou }

// Selected returns the id of the selected thread, "" if there is none.
func (m *Model) Selected() string { return m.list.selected }

// Thread returns a thread of the list.
func (m *Model) Thread(id string) (Thread, bool) {
	if t := m.list.threads[id]; t != nil {
		return *t, true
	}
	return Thread{}, false
}

// NextWaiting returns the next thread that waits for the person after the given one,
// "" if none does.
func (m *Model) NextWaiting(after string) string { return m.list.nextWaiting(after) }

// Select selects a thread, whose row comes into sight: also if the filter hides it, or if
// it is a row only since it asks, and the rows stay as they are after a key.
func (m *Model) Select(id string) {
	if t := m.list.threads[id]; t != nil && m.list.index(id) < 0 {
		if !m.list.matches(t) {
			m.list.filter = ""
		}
		m.arrangeNow()
	}
	m.list.selected = id
	m.list.find()
	m.turned = time.Time{} // the person has chosen
}

// Pending returns the closes that were not sent yet. When the dashboard ends they
// are sent, since nobody can undo them any more.
func (m *Model) Pending() []screen.Action { return m.closing.due(time.Time{}) }

// Due returns when a close has to be sent, zero if none is pending.
func (m *Model) Due() time.Time { return m.closing.next() }

// Looked records that the person has looked at a thread up to a seq.
func (m *Model) Looked(id string, seq int64) {
	if t := m.list.threads[id]; t != nil {
		t.Summary.SeenSeq = max(t.Summary.SeenSeq, seq)
	}
}

// Update implements screen.Page.
func (m *Model) Update(now time.Time, msg tea.Msg) []screen.Action {
	actions := m.closing.due(now)
	before, sent := actsOn(m), m.asked != nil && m.asked.sent
	switch msg := msg.(type) {
	case Listed:
		actions = append(actions, m.listed(now, msg)...)
	case Today:
		m.today = msg
	case Lost:
		m.ended = msg
	case Terminal:
		m.cwd = string(msg)
	case tea.KeyPressMsg:
		m.frozen = now.Add(orderStays)
		actions = append(actions, m.key(now, msg)...)
	case tea.PasteMsg:
		m.frozen = now.Add(orderStays)
		actions = append(actions, m.paste(msg)...)
	case screen.Done:
		actions = append(actions, m.done(now, msg)...)
	case screen.Connection:
		m.lost = lostSince(m.lost, now, msg.State)
	}
	actions = append(actions, findMore(m, now)...)
	m.sortWhenDue(now)
	if turnedBy(msg) && !sent && before != "" && before != actsOn(m) {
		m.turned, m.turnedFrom = now, before
	}
	return actions
}

// theQuestion is what keys act on while a question is in the panel. No thread has this id.
const theQuestion = "\x00question"

// actsOn returns what keys act on: the question in the panel, else the selected thread.
func actsOn(m *Model) string {
	if m.asked != nil {
		return theQuestion
	}
	return m.list.selected
}

// turnedBy reports whether a message is no doing of the person: neither a key nor the answer
// to one.
func turnedBy(msg tea.Msg) bool {
	done, ok := msg.(screen.Done)
	if ok {
		_, ok = done.Action.(screen.Call)
		return ok
	}
	switch msg.(type) {
	case tea.KeyPressMsg, tea.PasteMsg:
		return false
	}
	return true
}

// lostSince returns when the connection was lost, zero while there is one.
func lostSince(since, now time.Time, state client.State) time.Time {
	switch {
	case state.Kind != client.Lost:
		return time.Time{}
	case since.IsZero():
		return now
	}
	return since
}

// listed takes threads that were read.
func (m *Model) listed(now time.Time, msg Listed) []screen.Action {
	first := !m.loaded
	changed(m, msg.Threads)
	m.list.put(msg.Threads, msg.Whole)
	m.list.counted(msg)
	m.stale, m.loaded = true, true
	if first {
		m.frozen = time.Time{}
		m.left = msg.Left
		m.away = m.list.unseen(m.left)
	}
	return m.checkAsked(now)
}

// sortWhenDue puts the rows in order, unless the person has just pressed a key.
func (m *Model) sortWhenDue(now time.Time) {
	if m.stale && !now.Before(m.frozen) {
		m.list.arrange()
		m.stale = false
	}
}

// done takes the end of a request.
func (m *Model) done(now time.Time, msg screen.Done) []screen.Action {
	switch action := msg.Action.(type) {
	case screen.Call:
		switch action.Name {
		case callAgents:
			if m.form != nil && msg.Err == nil {
				m.form.setAgents(msg.Result)
			}
		case callQuestion:
			return m.gotAsk(now, msg.Err, conversation.ReadAsk(now, msg.Result))
		case callReview:
			return gotReview(m, now, msg)
		case callEnd:
			return ended(now, msg)
		case callFilter:
			foundMore(m, msg)
		case callSubject:
			m.gotSubject(now, action, msg)
		}
	case screen.DismissLost:
		if msg.Err == nil {
			m.ended = Lost{}
		}
	case screen.StartThread:
		form := cmp.Or(m.form, m.draft) // it may have been left meanwhile
		if form == nil || !form.sent {
			break
		}
		if form.sent = false; msg.Err != nil {
			break // the text stays
		}
		var started struct {
			ThreadID string `json:"thread_id"`
		}
		if json.Unmarshal(msg.Result, &started) == nil && form == m.form {
			m.list.wanted = started.ThreadID
		}
		if m.frozen.Equal(form.frozen) {
			m.frozen = time.Time{} // the row is shown at once, unless a key came since
		}
		m.form, m.draft, m.stale = nil, nil, true
	case screen.Respond:
		answered(m, action.Item, msg.Err)
	case screen.Review:
		answered(m, action.Turn, msg.Err)
	case screen.Rename:
		if m.naming != nil && m.naming.Done(action, msg.Err) {
			m.naming = nil
		}
	}
	return nil
}

// Changes implements screen.Page.
func (m *Model) Changes(now time.Time) time.Time {
	var next time.Time
	at := func(t time.Time) {
		if t.After(now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	if m.stale {
		at(m.frozen)
	}
	at(m.filter.due)
	for _, one := range m.closing {
		at(now.Add((one.at.Sub(now)-1)%time.Second + 1)) // the countdown
	}
	if m.asked != nil && m.asked.ask != nil {
		at(m.asked.ask.Alive())
	}
	// Rows change together, at whole seconds: else each row that shows seconds
	// would have the screen drawn at a moment of its own.
	span := func(since time.Time) {
		if !since.IsZero() {
			at(now.Add(screen.SpanChanges(now.Sub(since)) + time.Second - 1).Truncate(time.Second))
		}
	}
	for _, t := range m.visible() {
		span(t.since())
	}
	span(m.list.totals().oldest)
	return next
}

// Cursor implements screen.Page.
func (m *Model) Cursor(width, height int) (x, y int, show bool) {
	switch {
	case m.form != nil:
		x, y, show = m.form.caret(width)
	case m.naming != nil:
		x, y, show = m.naming.Cursor(width)
	case m.asked != nil:
		x, y, show = m.asked.x, m.asked.y+1, m.asked.x >= 0
	case m.filter.open:
		x, show = m.filter.caret(), true
	}
	return x, y + m.screen.top, show
}

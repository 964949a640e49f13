package engine

import (
	"context"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
)

// inboxChange is what a unit does to the inbox of its thread. It opens the book
// only when something reads or changes entries: most units do neither. It is the
// inbox.Unit of the book, and the ledger.State in which events of turns are folded
// into the rows of thread and inbox.
type inboxChange struct {
	c       *change
	sources *sources
	open    func() *inbox.Book
	b       *inbox.Book // nil: not opened
}

// book returns the inbox as the unit leaves it so far.
func (i *inboxChange) book() *inbox.Book {
	if i.b == nil {
		i.b = i.open()
	}
	return i.b
}

// changed reports whether the unit changes rows of the inbox.
func (i *inboxChange) changed() bool { return i.b != nil && i.b.Changed() }

// finish returns the rows of the inbox that the unit leaves.
func (i *inboxChange) finish() []ledger.Row {
	if i.b == nil {
		return nil
	}
	rows := append(i.b.Finish(), i.sources.positions(i.c.threadID, i.c.unit.Drafts)...)
	i.c.next.inbox = i.b.Inbox()
	if err := i.b.Err(); err != nil && i.c.err == nil {
		i.c.err = err
	}
	return rows
}

// NextSeq implements inbox.Unit.
func (i *inboxChange) NextSeq() int64 {
	i.c.flushDelta()
	return notify.Provisional(len(i.c.unit.Drafts))
}

// AddEvent implements inbox.Unit.
func (i *inboxChange) AddEvent(method string, body any) notify.Header {
	return i.c.add(method, "", scope{}, "", body)
}

// Thread implements inbox.Unit.
func (i *inboxChange) Thread() *threads.Thread { return i.c.next.thread }

// SetThread implements inbox.Unit.
func (i *inboxChange) SetThread(t *threads.Thread) { i.c.rows.thread, i.c.next.thread = t, t }

// Row implements ledger.State for thread and inbox.
func (i *inboxChange) Row(t *ledger.Table, id any) ledger.Row {
	switch {
	case i.b != nil:
		return i.b.State().Row(t, id)
	case t == threads.Table && i.c.next.thread != nil:
		return i.c.next.thread
	case t == inbox.Table && i.c.next.inbox != nil:
		return i.c.next.inbox
	}
	return nil
}

// Rows implements ledger.State; there are none.
func (i *inboxChange) Rows(*ledger.Table, string, func(ledger.Row) bool) {}

// Put implements ledger.State.
func (i *inboxChange) Put(row ledger.Row) {
	if t, ok := row.(*threads.Thread); ok {
		i.SetThread(t)
		return
	}
	i.book().State().Put(row)
}

// inboxWriter adds the events of the thread's inbox to a decision.
type inboxWriter struct{ d *decision }

// newBook opens the inbox of the decision.
func (w *inboxWriter) newBook() *inbox.Book {
	r := w.d.rules
	return inbox.NewBook(w.d.change.threadID, w.d.change.now, w.settings(), r.cfg.Inbox, w.d.next().inbox, w.d.change.inbox, &oneByOne{rows: r.inboxes})
}

// book returns the inbox as the decision leaves it so far.
func (w *inboxWriter) book() *inbox.Book { return w.d.change.inbox.book() }

// err returns the first error of reading the inbox; nil if it was not read.
func (w *inboxWriter) err() error {
	if b := w.d.change.inbox.b; b != nil {
		return b.Err()
	}
	return nil
}

// settings returns the policy in force.
func (w *inboxWriter) settings() inbox.Settings {
	return w.d.rules.settingsOf(w.d.next())
}

// settingsOf returns the policy in force in the inbox of a thread.
func (r *rules) settingsOf(s *state) inbox.Settings {
	var set inbox.Policy
	if s.inbox != nil {
		set = s.inbox.Policy
	}
	return r.inboxSettings(s.thread.Agent, set)
}

// inboxSettings returns the policy in force in an inbox whose thread has this agent, which may no
// longer be configured, and where clients have set these members.
func (r *rules) inboxSettings(agent string, set inbox.Policy) inbox.Settings {
	return r.cfg.InboxDefaults.Settings(agent, r.agents.of(agent).kind(), set)
}

// inSnapshot calls f with the inbox, whose rows are then read in one snapshot.
func (w *inboxWriter) inSnapshot(f func(b *inbox.Book) error) error {
	b := w.book()
	return w.d.rules.inboxes.ReadToDecide(context.Background(), func(r ledger.Reader) error {
		b.ReadFrom(r)
		defer b.ReadFrom(&oneByOne{rows: w.d.rules.inboxes})
		return f(b)
	})
}

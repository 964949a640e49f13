package persisttest

import (
	"context"
	"time"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
)

// roomy are bounds of inboxes that no test reaches.
var roomy = inbox.Bounds{
	MaxPendingItems: 10_000, MaxUnackedItems: 10_000, MaxUnackedBytes: 64 << 20, MaxTimers: 1000, MaxSubscriptions: 100,
}

// Later moves the maker's clock.
func (m *Maker) Later(d time.Duration) { m.clock = m.clock.Add(d) }

// Book calls f with a book of the thread's inbox, and adds what f decides to the
// unit. It may be called once for each unit, before the unit has other events. The
// maker's store must have ReadToDecide.
func (m *Maker) Book(f func(*inbox.Book) error) {
	m.t.Helper()
	store, ok := m.Store.(interface {
		ReadToDecide(context.Context, func(ledger.Reader) error) error
	})
	if !ok {
		m.t.Fatal("the maker's store does not read for decisions")
	}
	settings := inbox.Policy{}.Settings(inbox.WakeIdle)
	if m.Inbox != nil {
		settings = m.Inbox.Policy.Settings(inbox.WakeIdle)
	}
	if err := store.ReadToDecide(context.Background(), func(r ledger.Reader) error {
		b := inbox.NewBook(m.ID, notify.TimeOf(m.clock), settings, roomy, m.Inbox, inboxUnit{m}, r)
		if err := f(b); err != nil {
			return err
		}
		u := m.open()
		u.Rows = append(u.Rows, b.Finish()...)
		return b.Err()
	}); err != nil {
		m.t.Fatal(err)
	}
}

// inboxUnit is the unit of a maker for a book, which folds its events itself.
type inboxUnit struct{ m *Maker }

func (u inboxUnit) NextSeq() int64 { return notify.Provisional(len(u.m.open().Drafts)) }

func (u inboxUnit) AddEvent(method string, body any) notify.Header {
	h := notify.Header{Seq: u.NextSeq(), ThreadID: u.m.ID, Timestamp: notify.TimeOf(u.m.clock)}
	u.m.draft(notify.Draft{Method: method, Header: h, Body: body})
	return h
}

func (u inboxUnit) Thread() *threads.Thread {
	if u.m.next != nil {
		return u.m.next
	}
	return u.m.Thread
}

func (u inboxUnit) SetThread(t *threads.Thread) { u.m.next = t }

package persisttest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// roomy are bounds of inboxes that no test reaches.
var roomy = inbox.Bounds{
	MaxPendingItems: 10_000, MaxUnackedItems: 10_000, MaxUnackedBytes: 64 << 20, MaxTimers: 1000, MaxSubscriptions: 100,
}

// Later moves the maker's clock.
func (m *Maker) Later(d time.Duration) { m.clock = m.clock.Add(d) }

// At sets the clock of the events that follow.
func (m *Maker) At(t time.Time) { m.clock = t.UTC() }

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

// InboxExample writes an inbox with some of everything: a digest of comments, of
// which one is pending, an entry of it that was acknowledged in part and has a
// remainder, an alert by itself that was told, a subscription and a timer.
func InboxExample(t testing.TB, store turns.Store) *Maker {
	t.Helper()
	m := NewMaker(t, store, "thread_inbox").Start()
	m.Commit() // 1
	m.Ingest(append(comments(1, 3), alert("disk"))...)
	m.FlushAll() // 7
	m.Ingest(comments(4, 2)...)
	m.FlushAll()                // 10
	m.Ack("ent_7")              // 11, 12
	m.Ingest(comments(6, 1)...) // 13
	m.Book(func(b *inbox.Book) error {
		list, err := b.Fresh(nil)
		b.Tell(list[:1], "turn_a")
		return err
	})
	m.Commit() // 14
	m.Book(func(b *inbox.Book) error {
		_, _, err := b.Subscribe(inbox.Subscribe{SubscriptionID: "sub", Source: "ci"})
		_, _, timer := b.CreateTimer(inbox.CreateTimer{TimerID: "timer", EverySeconds: 600, Text: "look"})
		return errors.Join(err, timer)
	})
	m.Commit() // 15, 16
	return m
}

// RemoveInbox removes the inbox of a closed thread as retention does first: with its
// event, and without the rows that belong to it.
func RemoveInbox(t testing.TB, store turns.Store, threadID string) {
	t.Helper()
	d := notify.Draft{
		Method: notify.InboxExpired, Header: notify.Header{Seq: notify.Provisional(0), Timestamp: notify.TimeOf(time.Now())},
		Body: &inbox.Expired{SubjectThreadID: threadID},
	}
	if err := d.Encode(); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Append(&ledger.Unit{
		Drafts: []notify.Draft{d}, Rows: []ledger.Row{&ledger.Removal{Of: inbox.Table, Key: []any{threadID}}},
	}); err != nil {
		t.Fatal(err)
	}
}

package engine_test

import (
	"context"
	"fmt"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/follow"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// mailbox is the agent of inboxes that people read.
type mailbox struct{}

func (mailbox) Info() turns.AgentInfo {
	return turns.AgentInfo{Name: "mailbox", Kind: turns.KindMailbox}
}

func (mailbox) Run(context.Context, *turns.Prompt) turns.Outcome {
	panic("a mailbox runs no turns")
}

// followLog runs a dispatcher for the source events, as the server does.
func (h *harness) followLog() (stop func()) {
	h.t.Helper()
	position, err := h.reader.Position(bg)
	if err != nil {
		h.t.Fatal(err)
	}
	var store follow.Store = h.store
	if h.o.forget {
		store = forgetful{store}
	}
	d, err := follow.Open(bg, follow.Config{Store: store, Reader: h.reader, Tail: h.store.Tail(), LogID: position.LogID})
	if err != nil {
		h.t.Fatalf("follow: %v", err)
	}
	if err := h.inboxes().Follow(bg, d, position.LogID, h.store.Tail().Head); err != nil {
		h.t.Fatalf("follow for inboxes: %v", err)
	}
	h.followers = d
	ctx, cancel := context.WithCancel(bg)
	ran := make(chan error, 1)
	go func() { ran <- d.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ran; err != nil {
			h.t.Errorf("run the dispatcher: %v", err)
		}
	}
}

// forgetful is a store that takes no position of a follower.
type forgetful struct{ follow.Store }

func (forgetful) Append(*ledger.Unit) (ledger.Receipt, error) {
	return ledger.Receipt{}, ledger.ErrStorageFull
}

// item is an ungrouped item.
func item(native string) inbox.Item {
	return inbox.Item{Source: "ci", NativeID: native, Summary: "item " + native}
}

// grouped is an item of the digest of a resource.
func grouped(native, ref string) inbox.Item {
	it := item(native)
	it.Grouping = &inbox.Grouping{ResourceRef: ref, EventFamily: "comments"}
	return it
}

// many makes n items with f, which is given numbers from 0.
func many(n int, f func(i int) inbox.Item) []inbox.Item {
	list := make([]inbox.Item, n)
	for i := range list {
		list[i] = f(i)
	}
	return list
}

func (h *harness) ingest(thread string, list ...inbox.Item) inbox.IngestResult {
	h.t.Helper()
	r, err := h.inboxes().Ingest(bg, inbox.Ingest{ThreadID: thread, Items: list})
	if err != nil {
		h.t.Fatalf("ingest into %s: %v", thread, err)
	}
	return r
}

func (h *harness) send(thread, text string) notify.ID {
	h.t.Helper()
	r, err := h.inboxes().Send(bg, inbox.Send{ThreadID: thread, Text: text})
	if err != nil {
		h.t.Fatalf("send to %s: %v", thread, err)
	}
	return r.EntryID
}

func (h *harness) ackEntries(thread string, ids ...notify.ID) inbox.AckResult {
	h.t.Helper()
	r, err := h.inboxes().Ack(bg, inbox.Ack{ThreadID: thread, EntryIDs: ids})
	if err != nil {
		h.t.Fatalf("ack %v in %s: %v", ids, thread, err)
	}
	return r
}

func (h *harness) configure(thread string, p inbox.Policy) {
	h.t.Helper()
	if _, err := h.inboxes().Configure(bg, inbox.Configure{ThreadID: thread, Policy: p}); err != nil {
		h.t.Fatalf("configure %s: %v", thread, err)
	}
}

func (h *harness) wakeNow(thread string) []notify.ID {
	h.t.Helper()
	r, err := h.inboxes().Wake(bg, inbox.WakeNow{ThreadID: thread})
	if err != nil {
		h.t.Fatalf("wake %s: %v", thread, err)
	}
	return r.EntryIDs
}

// entries reads the visible entries.
func (h *harness) entries(thread string) []inbox.Entry {
	h.t.Helper()
	return h.read(inbox.Read{ThreadID: thread}).Entries
}

// allEntries reads all entries that are kept.
func (h *harness) allEntries(thread string) []inbox.Entry {
	h.t.Helper()
	return h.read(inbox.Read{ThreadID: thread, IncludeAcked: true, IncludeSuperseded: true}).Entries
}

func (h *harness) read(q inbox.Read) inbox.Page {
	h.t.Helper()
	if q.Limit == 0 {
		q.Limit = 1000
	}
	p, err := h.reader.ReadInbox(bg, q)
	if err != nil {
		h.t.Fatalf("read the inbox of %s: %v", q.ThreadID, err)
	}
	return p
}

// box reads the row of an inbox; nil if there is none.
func (h *harness) box(thread string) *inbox.Inbox {
	h.t.Helper()
	b, err := h.reader.LoadInbox(bg, thread)
	if err != nil {
		h.t.Fatalf("load the inbox of %s: %v", thread, err)
	}
	return b
}

// bodies decodes the events of a method in a thread, of all threads if it is "".
func bodies[B any](h *harness, method, thread string) (list []*B) {
	h.t.Helper()
	for _, e := range h.of(func(e event) bool { return e.Method == method && (thread == "" || e.ThreadID == thread) }) {
		list = append(list, e.body(h.t).(*B))
	}
	return list
}

// wakes is how many wake turns a thread has had.
func (h *harness) wakes(thread string) int {
	h.t.Helper()
	return len(h.of(func(e event) bool {
		return e.Method == notify.TurnStarted && e.ThreadID == thread && e.Origin == string(turns.OriginWake)
	}))
}

// toldIn lists the entries that the input of a prompt tells.
func toldIn(c *call) (ids []string) {
	for _, m := range c.Input {
		for _, e := range m.Entries {
			ids = append(ids, e.EntryID)
		}
	}
	return ids
}

// speak makes the agent say something and complete the turn.
func (h *harness) speak(c *call) {
	h.t.Helper()
	h.message(c, "I have seen it")
	c.end(turns.Completed)
	h.ended(c.TurnID)
	synctest.Wait()
}

// asleep waits until every actor has retired.
func (h *harness) asleep() {
	h.t.Helper()
	time.Sleep(time.Minute)
	synctest.Wait()
	if n := h.engine.Load().Actors; n != 0 {
		h.t.Fatalf("%d actors are still there", n)
	}
}

func ms(d time.Duration) *int64 { n := d.Milliseconds(); return &n }

func ids(list []inbox.Entry) string {
	out := []notify.ID{}
	for _, e := range list {
		out = append(out, e.EntryID)
	}
	return fmt.Sprint(out)
}

func (h *harness) inboxes() *engine.Inboxes { return h.engine.Inboxes() }

func (h *harness) timer(thread string, c inbox.CreateTimer) inbox.Timer {
	h.t.Helper()
	c.ThreadID = thread
	if c.Text == "" {
		c.Text = "look"
	}
	r, err := h.inboxes().CreateTimer(bg, c)
	if err != nil {
		h.t.Fatalf("create a timer in %s: %v", thread, err)
	}
	return r.Timer
}

func (h *harness) subscribe(thread string, c inbox.Subscribe) {
	h.t.Helper()
	c.ThreadID = thread
	if _, err := h.inboxes().Subscribe(bg, c); err != nil {
		h.t.Fatalf("subscribe %s: %v", thread, err)
	}
}

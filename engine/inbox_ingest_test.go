package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

func TestIngestAnswersWithTheIdsOfTheLog(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		r := h.ingest("a", item("1"), grouped("2", "pr:1"), grouped("3", "pr:1"), item("1"))
		received := h.of(func(e event) bool { return e.Method == notify.InboxReceived })
		posted := bodies[inbox.Posted](h, notify.InboxPosted, "a")
		if len(received) != 3 || len(posted) != 1 || len(r.Results) != 4 {
			t.Fatalf("%d received, %d posted, %+v", len(received), len(posted), r)
		}
		raw := func(i int) notify.ID { return inbox.RawID(received[i].Seq) }
		digest := inbox.DigestID(received[1].Seq)
		want := []inbox.Ingested{
			{RawID: raw(0), EntryID: posted[0].Entry.EntryID},
			{RawID: raw(1), DigestID: digest},
			{RawID: raw(2), DigestID: digest},
			{RawID: raw(0), Duplicate: true},
		}
		if !slices.Equal(r.Results, want) || r.Seq != h.seen[len(h.seen)-1].Seq {
			t.Errorf("%+v, want %+v", r, want)
		}
		again := h.ingest("a", grouped("3", "pr:1"))
		if again.Results[0] != (inbox.Ingested{RawID: raw(2), DigestID: digest, Duplicate: true}) {
			t.Errorf("again: %+v", again)
		}
	})
}

func TestIngestWithAKeyIsStoredOnce(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		c := inbox.Ingest{ThreadID: "a", Items: []inbox.Item{item("1"), grouped("2", "pr:1")}, Key: key("k", "inbox/ingest", "a")}
		first, err := h.inboxes().Ingest(bg, c)
		if err != nil {
			t.Fatal(err)
		}
		for _, restarts := range []bool{false, true} {
			if restarts {
				h.restart()
			}
			if again, err := h.inboxes().Ingest(bg, c); err != nil || fmt.Sprint(again) != fmt.Sprint(first) {
				t.Errorf("again: %+v, %v, first %+v", again, err, first)
			}
		}
		c.Key = key("k", "inbox/ingest", "b")
		if _, err := h.inboxes().Ingest(bg, c); !errors.Is(err, ledger.ErrKeyConflict) {
			t.Errorf("another request with the key: %v", err)
		}
		s := inbox.Send{ThreadID: "a", Text: "hello", Key: key("s", "inbox/send")}
		sent, err := h.inboxes().Send(bg, s)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := h.inboxes().Send(bg, s); err != nil || again != sent || sent.EntryID == "" {
			t.Errorf("sent again: %+v, %v, first %+v", again, err, sent)
		}
		if n := len(bodies[inbox.Received](h, notify.InboxReceived, "a")); n != 3 {
			t.Errorf("%d items", n)
		}
	})
}

func TestIngestOfAsManyItemsAsOneCallMayHave(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		units := h.countUnits(notify.InboxReceived)
		r := h.ingest("a", many(inbox.MaxItems, func(i int) inbox.Item { return item(fmt.Sprint(i)) })...)
		if len(r.Results) != inbox.MaxItems || units() != 1 {
			t.Errorf("%d results in %d transactions", len(r.Results), units())
		}
		for i, e := range h.entries("a") {
			if e.EntryID != r.Results[i].EntryID || e.Summary != fmt.Sprint("item ", i) {
				t.Errorf("entry %d is %+v, the answer %+v", i, e, r.Results[i])
			}
		}
	})
}

// countUnits counts the transactions with an event of the method from now on.
func (h *harness) countUnits(method string) func() int {
	var mu sync.Mutex
	n := 0
	h.faults.afterCommit(func(u *ledger.Unit) {
		if has(method)(u) {
			mu.Lock()
			n++
			mu.Unlock()
		}
	})
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

// flood holds the next unit with an item of the thread, and then ingests n times.
// release lets the actor continue; then results are there.
func (h *harness) flood(thread string, n int, items func(i int) []inbox.Item) (release func(), results func() ([]inbox.IngestResult, []error)) {
	h.t.Helper()
	release = h.hold(has(notify.InboxReceived))
	go h.ingest(thread, item("first"))
	synctest.Wait()
	rs, errs := make([]inbox.IngestResult, n), make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			rs[i], errs[i] = h.inboxes().Ingest(bg, inbox.Ingest{ThreadID: thread, Items: items(i)})
		})
	}
	synctest.Wait()
	return release, func() ([]inbox.IngestResult, []error) { wg.Wait(); return rs, errs }
}

func TestIngestsAtTheSameTimeShareTransactionsAndEachHasItsOwnAnswer(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		const n = 200
		release, results := h.flood("a", n, func(i int) []inbox.Item {
			return []inbox.Item{item(fmt.Sprint(i)), grouped(fmt.Sprint("g", i), fmt.Sprint("pr:", i%7)), item(fmt.Sprint(i / 2 * 2))}
		})
		units := h.countUnits(notify.InboxReceived)
		release()
		rs, errs := results()
		if units() > 21 { // the held one, and 600 items, three at a time, in units of 32 at most
			t.Errorf("%d transactions", units())
		}
		byRaw := map[notify.ID]*inbox.Received{}
		for _, b := range bodies[inbox.Received](h, notify.InboxReceived, "a") {
			byRaw[b.RawID] = b
		}
		for i, r := range rs {
			if errs[i] != nil || len(r.Results) != 3 {
				t.Fatalf("%d: %+v, %v", i, r, errs[i])
			}
			for j, native := range []string{fmt.Sprint(i), fmt.Sprint("g", i), fmt.Sprint(i / 2 * 2)} {
				got := r.Results[j]
				if b := byRaw[got.RawID]; b == nil || b.NativeID != native || b.DigestID != got.DigestID {
					t.Errorf("%d: item %s has the answer %+v, the log %+v", i, native, got, b)
				}
			}
		}
	})
}

func TestFullInboxRefusesACallWhole(t *testing.T) {
	for name, c := range map[string]struct {
		bounds inbox.Bounds
		make   func(i int) inbox.Item
	}{
		"unacknowledged": {inbox.Bounds{MaxUnackedItems: 5}, func(i int) inbox.Item { return item(fmt.Sprint(i)) }},
		"pending":        {inbox.Bounds{MaxPendingItems: 5}, func(i int) inbox.Item { return grouped(fmt.Sprint(i), fmt.Sprint("pr:", i)) }},
		"bytes": {inbox.Bounds{MaxUnackedBytes: 5 * 1500}, func(i int) inbox.Item {
			it := item(fmt.Sprint(i))
			it.Payload = []byte(`"` + strings.Repeat("x", 1200) + `"`)
			return it
		}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{cfg: engine.Config{Inbox: c.bounds}}, func(h *harness) {
				h.thread("a", "")
				h.ingest("a", many(4, c.make)...)
				_, err := h.inboxes().Ingest(bg, inbox.Ingest{ThreadID: "a", Items: many(8, c.make)})
				if !errors.Is(err, inbox.ErrFull) {
					t.Errorf("ingest: %v", err)
				}
				if n := len(bodies[inbox.Received](h, notify.InboxReceived, "a")); n != 4 {
					t.Errorf("%d items are stored", n)
				}
				h.ingest("a", many(5, c.make)...) // duplicates take no room
			})
		})
	}
}

func TestFullInboxRefusesOnlyTheCallThatDoesNotFit(t *testing.T) {
	bubble(t, setup{cfg: engine.Config{Inbox: inbox.Bounds{MaxUnackedItems: 6}}}, func(h *harness) {
		h.thread("a", "")
		release, results := h.flood("a", 3, func(i int) []inbox.Item {
			return many(3+i*10%20, func(j int) inbox.Item { return item(fmt.Sprint(i, ".", j)) })
		})
		release()
		rs, errs := results()
		stored, refused := 1, 0
		for i, err := range errs {
			switch {
			case errors.Is(err, inbox.ErrFull):
				refused++
			case err != nil:
				t.Errorf("%d: %v", i, err)
			default:
				stored += len(rs[i].Results)
			}
		}
		if n := len(h.entries("a")); n != stored || refused != 2 {
			t.Errorf("%d entries, %d stored, %d calls refused", n, stored, refused)
		}
	})
}

func TestArrivalsBeyondTheBytesThatMayWaitAreRefusedAndNothingIsLost(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		h.thread("b", "")
		const n = 120 // of 60 KiB each; 4 MiB may wait
		payload := []byte(`"` + strings.Repeat("x", 60<<10) + `"`)
		release, results := h.flood("a", n, func(i int) []inbox.Item {
			it := item(fmt.Sprint(i))
			it.Payload = payload
			return []inbox.Item{it}
		})
		other := make(chan inbox.IngestResult, 1)
		h.faults.holdBack(nil)
		go func() { other <- h.ingest("b", item("b")) }()
		if r := <-other; r.Results[0].RawID == "" {
			t.Errorf("another thread: %+v", r)
		}
		release()
		_, errs := results()
		refused := 0
		want := map[string]bool{"first": true}
		for i, err := range errs {
			switch {
			case errors.Is(err, turns.ErrOverloaded):
				refused++
			case err != nil:
				t.Errorf("%d: %v", i, err)
			default:
				want[fmt.Sprint(i)] = true
			}
		}
		if refused < n-(4<<20)/len(payload) || refused == n {
			t.Errorf("%d of %d refused", refused, n)
		}
		for _, b := range bodies[inbox.Received](h, notify.InboxReceived, "a") {
			if !want[b.NativeID] {
				t.Errorf("%s was refused, and is stored", b.NativeID)
			}
			delete(want, b.NativeID)
		}
		if len(want) > 0 {
			t.Errorf("lost: %v", want)
		}
		h.ingest("a", many(64, func(i int) inbox.Item { return item(fmt.Sprint("later", i)) })...)
	})
}

func TestCommandOfTheThreadWaitsForOneTransactionOfAFloodAtMost(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		release, results := h.flood("a", 100, func(i int) []inbox.Item {
			return many(50, func(j int) inbox.Item { return item(fmt.Sprint(i, ".", j)) })
		})
		paused := make(chan struct{})
		go func() { h.change("a", threads.VerbPause); close(paused) }()
		synctest.Wait()
		var mu sync.Mutex
		var order []string
		h.faults.afterCommit(func(u *ledger.Unit) {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, u.Drafts[0].Method)
		})
		release()
		<-paused
		_, errs := results()
		if err := errors.Join(errs...); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if i := slices.Index(order, notify.ThreadPaused); i != 1 || len(order) < 10 {
			t.Errorf("the command came after %d of %d transactions", i, len(order))
		}
	})
}

func TestIngestIntoThreadsThatTakeNothing(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("closed", "")
		h.change("closed", threads.VerbClose)
		h.thread("closing", "deaf")
		h.start("closing")
		c := h.next(h.deaf)
		h.change("closing", threads.VerbClose)
		for id, want := range map[string]error{"closed": threads.ErrClosed, "closing": threads.ErrClosed, "unknown": threads.ErrNotFound} {
			if _, err := h.inboxes().Ingest(bg, inbox.Ingest{ThreadID: id, Items: []inbox.Item{item("1")}}); !errors.Is(err, want) {
				t.Errorf("%s: %v", id, err)
			}
			if _, err := h.inboxes().Send(bg, inbox.Send{ThreadID: id, Text: "x"}); !errors.Is(err, want) {
				t.Errorf("%s: %v", id, err)
			}
		}
		c.end(turns.Completed)
		h.asleep()
		h.none("an item", func(e event) bool { return isInbox(e.Method) })
	})
}

func TestArrivalsAtAThreadThatCannotDecideAreAllAnswered(t *testing.T) {
	t.Run("full disk", func(t *testing.T) {
		bubble(t, setup{}, func(h *harness) {
			c := h.prompt()
			h.faults.failAll(ledger.ErrStorageFull)
			h.emit(c, said("held"))
			synctest.Wait()
			for range 3 {
				if _, err := h.inboxes().Send(bg, inbox.Send{ThreadID: "a", Text: "x"}); !errors.Is(err, ledger.ErrStorageFull) {
					t.Errorf("send: %v", err)
				}
			}
			h.faults.heal()
			c.end(turns.Completed)
			h.ended(c.TurnID)
			h.send("a", "now")
			if n := len(h.entries("a")); n != 1 {
				t.Errorf("%d entries", n)
			}
		})
	})
	t.Run("panic", func(t *testing.T) {
		bubble(t, setup{log: zap.NewNop()}, func(h *harness) {
			h.thread("a", "")
			h.asleep()
			h.faults.onLoad(func(string) { panic("as the test says") })
			var wg sync.WaitGroup
			for i := range 8 {
				wg.Go(func() {
					if _, err := h.inboxes().Ingest(bg, inbox.Ingest{ThreadID: "a", Items: []inbox.Item{item(fmt.Sprint(i))}}); !errors.Is(err, turns.ErrInternal) {
						t.Errorf("%d: %v", i, err)
					}
				})
			}
			wg.Wait()
			h.faults.heal()
			h.restart()
			h.ingest("a", item("1"))
		})
	})
	t.Run("panic of the store", func(t *testing.T) {
		bubble(t, setup{log: zap.NewNop()}, func(h *harness) {
			h.thread("a", "")
			release, results := h.flood("a", 5, func(i int) []inbox.Item { return []inbox.Item{item(fmt.Sprint(i))} })
			once := sync.OnceFunc(func() { panic("as the test says") })
			h.faults.afterCommit(func(u *ledger.Unit) {
				if len(u.Drafts) > 2 {
					defer func() { h.faults.afterCommit(nil) }()
					once()
				}
			})
			release()
			_, errs := results()
			for i, err := range errs {
				if !errors.Is(err, turns.ErrInternal) {
					t.Errorf("%d: %v", i, err)
				}
			}
			// They are stored all the same: the sender's repetition finds duplicates.
			for _, r := range h.ingest("a", many(5, func(i int) inbox.Item { return item(fmt.Sprint(i)) })...).Results {
				if !r.Duplicate || r.RawID == "" {
					t.Errorf("again: %+v", r)
				}
			}
		})
	})
	t.Run("stopped engine", func(t *testing.T) {
		bubble(t, setup{}, func(h *harness) {
			h.thread("a", "")
			release, results := h.flood("a", 5, func(i int) []inbox.Item { return []inbox.Item{item(fmt.Sprint(i))} })
			stopped := make(chan struct{})
			go func() { h.stopEngine(); close(stopped) }()
			synctest.Wait()
			if _, err := h.inboxes().Send(bg, inbox.Send{ThreadID: "a", Text: "x"}); !errors.Is(err, turns.ErrDraining) {
				t.Errorf("after the stop: %v", err)
			}
			release()
			<-stopped
			_, errs := results()
			for i, err := range errs {
				if !errors.Is(err, turns.ErrDraining) {
					t.Errorf("%d: %v", i, err)
				}
			}
			h.restart()
			if l := h.entries("a"); len(l) != 1 {
				t.Errorf("entries %s", ids(l))
			}
		})
	})
}

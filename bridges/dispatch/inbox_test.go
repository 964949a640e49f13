package dispatch

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist"
	"github.com/seed82539d15/holon/persist/sqlite"
	"github.com/seed82539d15/holon/threads"
)

// deciding is a store from which inboxes decide.
type deciding struct{ *sqlite.Store }

func (d deciding) ReadToDecide(ctx context.Context, f func(ledger.Reader) error) error {
	return d.Reader().Snapshot(ctx, persist.ForEngine, func(s persist.Snapshot) error { return f(s) })
}

// TestEntriesOfAnInboxAreDelivered, each once and in their order, those that came
// together as the one that they are, and none of another thread.
func TestEntriesOfAnInboxAreDelivered(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		m, other := w.thread("a"), w.thread("c")
		m.Store, other.Store = deciding{w.store}, deciding{w.store}
		w.subscribe("s", "b", "a", bridges.OnInbox)
		m.At(time.Now())
		m.Ingest(inbox.Item{Source: "ci", NativeID: "1", Summary: "the build is broken", Payload: []byte(`"SENTINEL"`)})
		other.Ingest(inbox.Item{Source: "ci", NativeID: "1", Summary: "elsewhere", Payload: []byte(`1`)})
		group := &inbox.Grouping{ResourceRef: "pr:1", EventFamily: "comments"}
		m.Ingest(inbox.Item{Source: "ci", NativeID: "2", Payload: []byte(`1`), Grouping: group}, inbox.Item{Source: "ci", NativeID: "3", Payload: []byte(`2`), Grouping: group})
		m.FlushAll()
		synctest.Wait()
		w.target.mu.Lock()
		defer w.target.mu.Unlock()
		var got []string
		for _, a := range w.target.got {
			got = append(got, a.envelope.Type+" "+string(a.envelope.Data.Entry))
			if strings.Contains(a.body, "SENTINEL") {
				t.Errorf("the payload of an item is sent: %s", a.body)
			}
		}
		if len(got) != 2 || !strings.Contains(got[0], `"summary":"the build is broken"`) || !strings.Contains(got[1], `"summary":"2 comments on pr:1"`) || !strings.HasPrefix(got[1], "inbox.posted {") {
			t.Errorf("got %q", got)
		}
	})
}

// TestAStallIsDeliveredOnce, if it lasts until somebody ends it: not the bound that passes
// with time, and not once it was ended.
func TestAStallIsDeliveredOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		m := w.thread("a")
		m.Store = deciding{w.store}
		stall := func(why inbox.Stall, until time.Time) {
			m.At(time.Now())
			m.Book(func(b *inbox.Book) error { b.Stall(inbox.WakeVerdict{Stall: why, At: until}); return nil })
			m.Commit()
		}
		lift := func() {
			m.At(time.Now())
			m.Book(func(b *inbox.Book) error { _, err := b.WakeNow(""); return err })
			m.Commit()
		}
		arrives := false
		fails := func(on bool) {
			w.target.mu.Lock()
			defer w.target.mu.Unlock()
			if w.target.answer = nil; on {
				w.target.answer = func(*bridges.Outgoing, int) bridges.Result {
					return bridges.Result{Outcome: bridges.Failed, Error: "connection_refused", Unhealthy: true, Arrived: arrives}
				}
			}
		}
		w.subscribe("s", "b", "a", bridges.OnInbox)
		w.subscribe("other", "b", "a", bridges.OnFinal)
		stall(inbox.StallRate, time.Now().Add(time.Hour)) // 5
		stall(inbox.StallSilent, time.Time{})
		synctest.Wait()
		w.restart()
		want(t, "after a restart", w.target.take(), "inbox.stalled 6")
		lift()
		fails(true)
		stall(inbox.StallChain, time.Time{}) // 8
		synctest.Wait()
		w.restart()
		fails(false)
		time.Sleep(time.Hour)
		w.target.mu.Lock()
		if d := w.target.got[0].envelope; d.EventType != bridges.TypeStalled || d.Data.Reason != "chain" || d.Data.ThreadID != "a" || d.Final {
			t.Errorf("%+v", d)
		}
		w.target.mu.Unlock()
		want(t, "after another attempt", w.target.take(), "inbox.stalled 8")
		lift()
		fails(true)
		stall(inbox.StallSilent, time.Time{}) // 10
		synctest.Wait()
		lift()
		fails(false)
		time.Sleep(time.Hour)
		want(t, "a stall that was ended", w.target.take(), "")
		arrives = true
		fails(true)
		stall(inbox.StallSilent, time.Time{}) // 12
		synctest.Wait()
		lift()
		fails(false)
		time.Sleep(time.Hour)
		want(t, "a stall that was ended after it may have arrived", w.target.take(), "inbox.stalled 12") // not again
		arrives = false
		fails(true)
		stall(inbox.StallSilent, time.Time{}) // 14
		synctest.Wait()
		m.Add(notify.ThreadClosed, "", "", &threads.Changed{Type: "closed", State: threads.Closed})
		m.Commit()
		fails(false)
		time.Sleep(time.Hour)
		want(t, "a stall of a closed thread", w.target.take(), "")
		want(t, "rows", w.deliveries("s"), "stalled 6 delivered, stalled 8 delivered, stalled 10 suppressed (lifted), stalled 12 suppressed (lifted), stalled 14 suppressed (lifted)")
		want(t, "rows of others", w.deliveries("other"), "")
	})
}

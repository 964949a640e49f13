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
	"github.com/seed82539d15/holon/persist"
	"github.com/seed82539d15/holon/persist/sqlite"
)

// deciding is a store from which inboxes decide.
type deciding struct{ *sqlite.Store }

func (d deciding) ReadToDecide(ctx context.Context, f func(ledger.Reader) error) error {
	return d.View().Snapshot(ctx, persist.ForEngine, func(s persist.Snapshot) error { return f(s) })
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

package inbox_test

import (
	"testing"
	"time"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
)

// emptyStore counts the lookups of identities. It has no rows.
type emptyStore struct{ natives int }

func (s *emptyStore) Get(ix *ledger.Index, _ ...any) (ledger.Values, error) {
	if ix == inbox.RawByNative {
		s.natives++
	}
	return nil, nil
}

func (s *emptyStore) Scan(ledger.Range, func(ledger.Values) error) error { return nil }

// eventList is a unit that only counts its events.
type eventList struct{ n int }

func (u *eventList) NextSeq() int64 { return notify.Provisional(u.n) }

func (u *eventList) AddEvent(string, any) notify.Header {
	h := notify.Header{Seq: u.NextSeq(), ThreadID: "t", Timestamp: notify.TimeOf(time.Now())}
	u.n++
	return h
}

func (u *eventList) Thread() *threads.Thread { return nil }

func (u *eventList) SetThread(*threads.Thread) {}

// Both the bound and the ingest ask whether an item is stored: the store is asked
// once for each identity.
func TestEachIdentityIsLookedUpOnce(t *testing.T) {
	store := &emptyStore{}
	bounds := inbox.Bounds{MaxPendingItems: 10, MaxUnackedItems: 10, MaxUnackedBytes: 1 << 20}
	b := inbox.NewBook("t", notify.TimeOf(time.Now()), inbox.Policy{}.Settings(inbox.WakeNone), bounds, nil, &eventList{}, store)
	item := func(native string) inbox.Item { return inbox.Item{Source: "s", NativeID: native} }
	first, err := b.Ingest([]inbox.Item{item("1"), item("2"), item("1")})
	if err != nil {
		t.Fatal(err)
	}
	again, err := b.Ingest([]inbox.Item{item("2")})
	if err != nil {
		t.Fatal(err)
	}
	if first[0].Duplicate || first[1].Duplicate || !first[2].Duplicate || first[2].RawID != first[0].RawID {
		t.Errorf("first: %+v", first)
	}
	if !again[0].Duplicate || again[0].RawID != first[1].RawID {
		t.Errorf("again: %+v, first %+v", again, first)
	}
	if store.natives != 2 {
		t.Errorf("%d lookups of 2 identities", store.natives)
	}
}

package persisttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed82539d15/holon/internal/limits"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/notify/fold"
	"github.com/seed82539d15/holon/persist"
	"github.com/seed82539d15/holon/turns"
)

// model is what a store must hold: the events of all units that it has taken, and
// the rows of the makers that made them. What is superseded comes from the events
// alone: from the rule of docs/rewind.md, and from the view of package fold.
type model struct {
	h Harness
	t *testing.T

	actors  []*actor
	events  []notify.Event
	parsed  []fold.Event             // the same events
	marks   map[string][]fold.Marker // by turn
	markers int
	view    *fold.View
	lates   map[Try]int64   // number of turn/late events of an attempt
	texts   map[string]text // of the items that are open
	kept    kept
	memory  memory
	runtime turns.Runtime
	keys    map[string]*ledger.Stored
	used    map[string]time.Time // when a key was used
	now     time.Time
	first   int64 // seq of the oldest event that is kept
	next    int   // number of the newest id
}

// text is what an open item has said, and the seq of its first delta that is in
// no row; 0 if there is none.
type text struct {
	said  string
	since int64
}

// property runs random histories of threads on one store and compares what the
// store says with the model. All histories add to one log, so that it is as long
// as real ones.
func property(t *testing.T, h Harness) {
	m := &model{
		h: h, t: t, now: epoch, first: 1, view: fold.New(fold.Options{KeepEnded: -1, KeepTurns: -1}),
		marks: map[string][]fold.Marker{}, lates: map[Try]int64{}, texts: map[string]text{}, kept: kept{}, memory: memory{},
		keys: map[string]*ledger.Stored{}, used: map[string]time.Time{},
	}
	h.SetNow(m.now)
	m.counts()
	rapid.Check(t, func(r *rapid.T) {
		for range 40 {
			if pick(r, 5, "step") < 3 {
				m.unit(r)
			} else {
				m.read(r)
			}
		}
	})
	// Twenty histories, the short form, had 60 or more in two hundred runs.
	if m.markers < 20 {
		t.Errorf("only %d markers in %d events", m.markers, len(m.events))
	}
	k := m.start("thread_open")
	k.Create("", "item_open", items.StatusInProgress, items.NewAgentMessage("a"))
	k.Delta("", "item_open", "b", 0)
	k.Update("", "item_open", items.StatusInProgress, items.NewAgentMessage("ab"))
	k.Delta("", "item_open", "c", 0)
	m.commit(k, k.Unit())
	m.whole()
	m.prune(k)
}

func (m *model) id(kind string) string {
	m.next++
	return fmt.Sprintf("%s_%d", kind, m.next)
}

func (m *model) head() int64 { return int64(len(m.events)) }

// start makes a thread.
func (m *model) start(id string) *actor {
	k := &actor{Maker: NewMaker(m.t, m.h.Store, id).Start()}
	m.actors = append(m.actors, k)
	m.commit(k, k.Unit())
	return k
}

// commit appends a unit, which must be taken, and records it. k is nil for a
// unit of no thread.
func (m *model) commit(k *actor, u *ledger.Unit) {
	m.t.Helper()
	receipt, err := m.h.Store.Append(u)
	want := ledger.Receipt{Last: u.Last}
	if n := int64(len(u.Drafts)); n > 0 {
		want.First, want.Last = m.head()+1, m.head()+n
	} else if u.Last == 0 {
		want.Last = m.head()
	}
	if err != nil || receipt != want {
		m.t.Fatalf("receipt %+v, %v; want %+v", receipt, err, want)
	}
	for i := range u.Drafts {
		e := u.Drafts[i].Event(m.head()+1, u.Base+int64(i)+1)
		f, err := fold.Parse(e.Method, e.Params)
		if err != nil {
			m.t.Fatal(err)
		}
		if mark, ok := fold.MarkerOf(&f); ok {
			m.marks[mark.TurnID] = append(m.marks[mark.TurnID], mark)
			m.markers++
		}
		m.events, m.parsed = append(m.events, e), append(m.parsed, f)
		if e.Method == notify.TurnLate {
			m.lates[Try{f.TurnID, "", f.Attempt}]++
		}
		m.view.Apply(&f)
		m.grow(e.Seq, u.Drafts[i].Body)
	}
	if u.Key != nil {
		m.keys[u.Key.Key], m.used[u.Key.Key] = &ledger.Stored{Key: *u.Key, Result: u.Result, Seq: receipt.Last}, m.now
	}
	for _, r := range RowsOf[*turns.Runtime](u) {
		m.runtime = *r
	}
	if k != nil {
		k.Took(u, receipt)
	}
	m.counts() // all readers see the unit before its receipt is given out
}

// grow keeps the texts of open items.
func (m *model) grow(seq int64, body any) {
	id := items.OfBody(body)
	status, content := items.StatusDeleted, items.Raw(nil)
	switch b := body.(type) {
	case *items.Delta:
		old := m.texts[id]
		if old.said += b.Delta.Text; old.since == 0 {
			old.since = seq
		}
		m.texts[id] = old
		return
	case *items.Created:
		status, content = b.Status, b.Content
	case *items.Updated:
		status, content = b.Status, b.Content
	}
	delete(m.texts, id)
	if status.Open() && kindOf(content) == items.KindAgentMessage {
		m.texts[id] = text{said: textOf(m.t, &items.Item{Content: content})}
	}
}

// refused appends a unit that must be refused and may leave no trace: neither
// rows nor events, which later reads show, nor its key. Its first row is one of a
// new item.
func (m *model) refused(u *ledger.Unit, want error) {
	m.t.Helper()
	u.Key, u.Result = KeyOf("key_refused", "m", ""), []byte("{}")
	if r, err := m.h.Store.Append(u); !errors.Is(err, want) {
		m.t.Fatalf("receipt %+v, %v; want %v", r, err, want)
	}
	m.unsettled(u)
	m.stored(u.Key.Key)
}

// unsettled fails if the rows of a unit that was not written have real seqs.
func (m *model) unsettled(u *ledger.Unit) {
	m.t.Helper()
	if it := RowsOf[*items.Item](u)[0]; it.CreatedSeq != notify.Provisional(0) {
		m.t.Fatalf("the rows of a unit that was not written have real seqs: %+v", it)
	}
}

// stored returns what a key was used for; nil if it is free.
func (m *model) stored(key string) *ledger.Stored {
	m.t.Helper()
	want := m.keys[key]
	if want != nil && !m.now.Before(m.used[key].Add(limits.IdempotencyKeysFor)) {
		want = nil
	}
	if got, err := m.h.Store.Stored(context.Background(), key); err != nil || !reflect.DeepEqual(got, want) {
		m.t.Fatalf("the key %s has %+v, %v; want %+v", key, got, err, want)
	}
	return want
}

// whole compares everything that the store holds with the model.
func (m *model) whole() {
	ctx := context.Background()
	log := all(m.t, m.h.Store)
	sameEvents(m.t, "the whole log", log, m.events)
	dense(m.t, log)
	for _, k := range m.actors {
		m.thread(k)
	}
	m.thread(&actor{Maker: NewMaker(m.t, m.h.Store, "thread_none")})
	m.unknown()
	m.unfinished()
	if got, err := m.h.Store.Runtime(ctx); err != nil || got != m.runtime {
		m.t.Errorf("the runtime is %+v, %v; want %+v", got, err, m.runtime)
	}
	if secret, err := m.h.Store.LeaseSecret(ctx); err != nil || len(secret) < 32 {
		m.t.Errorf("the secret has %d bytes, %v", len(secret), err)
	}
	var exported bytes.Buffer
	last, err := persist.Export(ctx, m.h.Store, &exported, 0)
	if err != nil || last != m.head() || !bytes.Equal(exported.Bytes(), frames(m.events)) {
		m.t.Errorf("exported %d bytes up to %d, %v; want %d up to %d", exported.Len(), last, err, len(frames(m.events)), m.head())
	}
	ofThreads := int64(0)
	for i := range m.events {
		if m.events[i].ThreadID != "" {
			ofThreads++
		}
	}
	out, err := persist.Refold(ctx, m.h.Store)
	if err != nil || len(out.Differences) > 0 || out.Threads != len(m.actors) || out.Events != ofThreads || out.Pruned+out.Busy != 0 {
		m.t.Errorf("refold %+v, %v; want %d threads, %d events", out, err, len(m.actors), ofThreads)
	}
}

// prune removes the beginning of the log, up to the text of open items, and then
// the rest of it. The open item of last is the last to end.
func (m *model) prune(last *actor) {
	ctx := context.Background()
	below := func(before int64) {
		m.t.Helper()
		was := m.first
		m.first = max(was, min(before, m.head()+1))
		for _, text := range m.texts {
			if text.since > 0 {
				m.first = max(was, min(m.first, text.since))
			}
		}
		if got, err := m.h.Store.Prune(ctx, before); err != nil || got != (persist.Pruned{First: m.first, Removed: m.first - was}) {
			m.t.Fatalf("prune below %d: %+v, %v; want first %d, removed %d", before, got, err, m.first, m.first-was)
		}
		m.counts()
		page, err := m.h.Store.Page(ctx, notify.Query{MaxEvents: 1, MaxBytes: 1})
		if err != nil || page.First != m.first || page.Latest != m.head() {
			m.t.Fatalf("page %+v, %v", page, err)
		}
		sameEvents(m.t, "the first event", page.Events, m.events[m.first-1:min(m.first, m.head())])
	}
	for _, before := range []int64{0, 11, 5, 1 << 40} {
		below(before)
	}
	for _, k := range m.actors {
		m.thread(k) // rows and texts are kept
		if k == last {
			continue
		}
		for _, it := range k.Items {
			if it.Status.Open() {
				k.finish(it.ItemID)
			}
		}
		m.commit(k, k.Unit())
	}
	below(1 << 40) // up to the text of the one open item
	m.thread(last)
	last.finish("item_open")
	m.commit(last, last.Unit())
	below(1 << 40)
	if m.first != m.head()+1 {
		m.t.Errorf("the log begins at %d, with no open item", m.first)
	}
	m.start("thread_new") // its seq is the next one (I3)
	below(0)
	out, err := persist.Refold(ctx, m.h.Store)
	if err != nil || len(out.Differences) > 0 || out.Pruned != len(m.actors)-1 || out.Threads != 1 {
		m.t.Errorf("refold %+v, %v; want %d threads pruned", out, err, len(m.actors)-1)
	}
}

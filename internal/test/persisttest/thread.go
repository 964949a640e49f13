package persisttest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/notify/fold"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// counts compares what is counted, and where the log begins and ends.
func (m *model) counts() {
	m.t.Helper()
	want := turns.Counts{Position: turns.Position{First: m.first, Latest: m.head()}, Threads: int64(len(m.actors))}
	if n := len(m.events); n > 0 {
		want.LastEventAt = m.events[n-1].Time
	}
	for _, k := range m.actors {
		want.LastThreadID = k.ID
		for _, row := range k.Turns {
			switch {
			case row.State == turns.Queued:
				want.TurnsQueued++
			case row.State == turns.Active:
				want.TurnsActive++
				if row.Progress == turns.Waiting {
					want.TurnsWaiting++
				}
			}
		}
	}
	got, err := m.h.Store.Counts(context.Background())
	if err != nil || got.LogID == "" || got.DatabaseBytes == 0 {
		m.t.Fatalf("counts %+v, %v", got, err)
	}
	want.LogID, want.DatabaseBytes, want.WALBytes = got.LogID, got.DatabaseBytes, got.WALBytes
	pos, err := m.h.Store.Position(context.Background())
	if got != want || pos != want.Position || err != nil || m.h.Tail.Head() != m.head() {
		m.t.Fatalf("counts %+v, position %+v, tail at %d, %v; want %+v", got, pos, m.h.Tail.Head(), err, want)
	}
}

// unfinished compares the threads that an engine must continue, in the order of
// the log.
func (m *model) unfinished() {
	m.t.Helper()
	active, queued := map[int64]string{}, map[int64]string{}
	for _, k := range m.actors {
		firstActive, firstQueued := int64(math.MaxInt64), int64(math.MaxInt64)
		if k.Thread.State == threads.Closing {
			firstActive = k.Thread.CreatedSeq
		}
		for _, row := range k.Turns {
			switch row.State {
			case turns.Active:
				firstActive = min(firstActive, row.CreatedSeq)
			case turns.Queued:
				firstQueued = min(firstQueued, row.CreatedSeq)
			}
		}
		active[firstActive], queued[firstQueued] = k.ID, k.ID
	}
	inOrder := func(of map[int64]string) (ids []string) {
		delete(of, math.MaxInt64)
		for _, seq := range slices.Sorted(maps.Keys(of)) {
			ids = append(ids, of[seq])
		}
		return ids
	}
	a, q, err := m.h.Store.Unfinished(context.Background())
	same(m, "active threads", a, inOrder(active), err)
	same(m, "queued threads", q, inOrder(queued), err)
}

// same compares lists.
func same[T any](m *model, what string, got, want []T, err error) {
	m.t.Helper()
	if err != nil || len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
		m.t.Fatalf("%s: %s, %v; want %s", what, said(got), err, said(want))
	}
}

func said(v any) string {
	b, err := json.Marshal(v)
	return fmt.Sprintf("%s %v", b, err)
}

// rowsOf returns rows in the order of their creation.
func rowsOf[R any](rows map[string]R, seq func(R) int64) []R {
	return slices.SortedFunc(maps.Values(rows), func(a, b R) int { return cmp.Compare(seq(a), seq(b)) })
}

func turnSeq(t *turns.Turn) int64  { return t.CreatedSeq }
func itemSeq(it *items.Item) int64 { return it.CreatedSeq }
func stepSeq(s *turns.Step) int64  { return s.Seq }

// itemsOf returns the items of a thread as reads return them.
func (m *model) itemsOf(k *actor) []*items.Item {
	list := rowsOf(k.Items, itemSeq)
	for i, row := range list {
		it := *row
		if text, open := m.texts[it.ItemID]; open {
			it.Content, _ = items.Encode(items.NewAgentMessage(text.said))
		}
		it.SupersededBySeq = m.supersededBy(it.TurnID, it.Lineage, it.CreatedSeq)
		it.Superseded = it.SupersededBySeq != 0
		list[i] = &it
	}
	return list
}

// only returns the rows that pass.
func only[R any](rows []R, pass func(R) bool) (list []R) {
	for _, row := range rows {
		if pass(row) {
			list = append(list, row)
		}
	}
	return list
}

// thread compares what is read of one thread.
func (m *model) thread(k *actor) {
	m.t.Helper()
	ctx, store := context.Background(), m.h.Store
	turnList, itemList := rowsOf(k.Turns, turnSeq), m.itemsOf(k)
	for _, it := range itemList {
		got, latest, err := store.ReadItem(ctx, it.ItemID)
		if err != nil || latest != m.head() || !reflect.DeepEqual(got, it) {
			m.t.Fatalf("item %s at %d, %v; want %s at %d", said(got), latest, err, said(it), m.head())
		}
		if got, err = store.Item(ctx, it.ItemID); err != nil || !reflect.DeepEqual(got, it) {
			m.t.Fatalf("item %s, %v; want %s", said(got), err, said(it))
		}
		if id, err := store.ItemThread(ctx, it.ItemID); err != nil || id != k.ID {
			m.t.Fatalf("the thread of %s is %s, %v", it.ItemID, id, err)
		}
	}
	m.load(k, turnList, itemList)
	for _, row := range turnList {
		m.turn(k, row, only(itemList, func(it *items.Item) bool { return it.TurnID == row.TurnID }))
	}
	newest := []turns.Turn{}
	var last *turns.Turn
	for _, row := range slices.Backward(turnList) {
		if len(newest) < 3 {
			newest = append(newest, *row)
		}
		if row.State.Ended() && !row.StartedAt.IsZero() && (last == nil || row.UpdatedSeq > last.UpdatedSeq) {
			last = row
		}
	}
	snap, err := store.ReadThread(ctx, k.ID, 3)
	same(m, "the newest turns", snap.Turns, newest, err)
	if !reflect.DeepEqual(snap.Thread, k.Thread) || snap.Latest != m.head() {
		m.t.Fatalf("thread %s at %d; want %s", said(snap.Thread), snap.Latest, said(k.Thread))
	}
	if got, err := store.LastTurn(ctx, k.ID); err != nil || !reflect.DeepEqual(got, last) {
		m.t.Fatalf("the last turn of %s is %s, %v; want %s", k.ID, said(got), err, said(last))
	}
	for _, bound := range []struct{ limit, bytes int }{{1000, 1 << 20}, {2, 1 << 20}, {1000, 300}} {
		want, size := []items.Raw{}, 0
		for _, it := range slices.Backward(itemList) {
			delivered := it.Type == items.KindAgentMessage && it.Status != items.StatusDeleted ||
				it.Type == items.KindUserMessage && it.Status == items.StatusCompleted && (it.TurnID == "" || k.Turns[it.TurnID].State != turns.Queued)
			if !delivered || it.Superseded {
				continue
			}
			if size += len(it.Content); size > bound.bytes || len(want) == bound.limit {
				break
			}
			want = append(want, it.Content)
		}
		list, err := store.Transcript(ctx, k.ID, bound.limit, bound.bytes)
		got := []items.Raw{}
		for _, it := range list {
			got = append(got, it.Content)
		}
		same(m, "the transcript of "+k.ID, got, want, err)
	}
}

// load compares what an actor of the thread would begin with.
func (m *model) load(k *actor, turnList []*turns.Turn, itemList []*items.Item) {
	m.t.Helper()
	want := turns.Loaded{Thread: k.Thread}
	for _, state := range []turns.State{turns.Active, turns.Queued} {
		list := only(turnList, func(row *turns.Turn) bool { return row.State == state })
		slices.SortStableFunc(list, func(a, b *turns.Turn) int { return cmp.Compare(a.Rank, b.Rank) })
		want.Turns = append(want.Turns, list...)
	}
	for _, row := range want.Turns {
		want.Steps = append(want.Steps, k.rows(row.TurnID)...)
		want.Items = append(want.Items, only(itemList, func(it *items.Item) bool {
			return it.TurnID == row.TurnID && (row.State == turns.Active && it.Status.Open() || row.State == turns.Queued && it.Type == items.KindUserMessage)
		})...)
	}
	slices.SortFunc(want.Steps, func(a, b *turns.Step) int { return cmp.Compare(a.Seq, b.Seq) })
	if got, err := m.h.Store.Load(context.Background(), k.ID); err != nil || !reflect.DeepEqual(got, want) {
		m.t.Fatalf("loaded %s, %v; want %s", said(got), err, said(want))
	}
}

// turn compares what is read of one turn; list are its items.
func (m *model) turn(k *actor, row *turns.Turn, list []*items.Item) {
	m.t.Helper()
	ctx, store, id := context.Background(), m.h.Store, row.TurnID
	m.folds(k, row, list)
	if got, err := store.Turn(ctx, id); err != nil || !reflect.DeepEqual(got, row) {
		m.t.Fatalf("turn %s, %v; want %s", said(got), err, said(row))
	}
	if of, err := store.TurnThread(ctx, id); err != nil || of != k.ID {
		m.t.Fatalf("the thread of %s is %s, %v", id, of, err)
	}
	tries, err := store.Steps(ctx, id)
	same(m, "tries of "+id, tries, k.rows(id), err)
	page, err := store.ListSteps(ctx, turns.StepQuery{TurnID: id})
	live := only(k.rows(id), func(s *turns.Step) bool { return s.HiddenBy == 0 })
	listed(m, "live tries of "+id, page, err, live, stepSeq, paging{})
	elsewhere, err := store.ListItems(ctx, items.Query{TurnID: id, ThreadID: "thread_none"})
	listed(m, "items of "+id+" in another thread", elsewhere, err, nil, itemSeq, paging{})
	input, err := store.Input(ctx, id)
	same(m, "input of "+id, input, only(list, func(it *items.Item) bool { return it.Type == items.KindUserMessage }), err)
	var last *items.Item
	for _, it := range list {
		if it.Type == items.KindAgentMessage && it.Status != items.StatusDeleted && !it.Superseded && strings.TrimSpace(textOf(m.t, it)) != "" {
			last = it
		}
	}
	switch got, err := store.LastMessage(ctx, id); {
	case err != nil || (got == nil) != (last == nil) || got != nil && (got.ItemID != last.ItemID || string(got.Content) != string(last.Content)):
		m.t.Fatalf("the last message of %s is %s, %v; want %s", id, said(got), err, said(last))
	}
	for _, q := range []turns.TurnQuery{{TurnID: id, Items: 1000}, {TurnID: id, Items: 2, IncludeSuperseded: true}} {
		got, err := store.ReadTurn(ctx, q)
		if !reflect.DeepEqual(got.Turn, row) {
			m.t.Fatalf("turn %s, %v; want %s", said(got.Turn), err, said(row))
		}
		attempts, steps := []turns.Step{}, []turns.Step{}
		for _, s := range k.rows(id) {
			switch {
			case s.Step == "":
				attempts = append(attempts, *s)
			case s.HiddenBy == 0 || q.IncludeSuperseded:
				steps = append(steps, *s)
			}
		}
		same(m, "attempts of "+id, got.Attempts, attempts, err)
		same(m, "steps of "+id, got.Steps, steps, err)
		want := only(list, func(it *items.Item) bool { return !it.Superseded || q.IncludeSuperseded })
		listed(m, "items of "+id, turns.List[items.Item]{Rows: got.Items, Next: got.Next, Latest: got.Latest}, err, want, itemSeq, paging{limit: q.Items})
	}
}

// folds compares the rows of a turn with the view that clients fold of its
// events.
func (m *model) folds(k *actor, row *turns.Turn, list []*items.Item) {
	m.t.Helper()
	view := m.view.Turn(row.TurnID)
	var got, want strings.Builder
	for _, it := range list {
		fmt.Fprintf(&got, "%s %s %v;", it.ItemID, it.Status, it.Superseded)
		in := view.Item(it.ItemID)
		fmt.Fprintf(&want, "%s %s %v;", in.ItemID, in.Status, !in.Live)
	}
	for _, s := range k.rows(row.TurnID) {
		by := m.supersededBy(s.TurnID, s.Lineage, s.Seq)
		if by != s.HiddenBy || s.Superseded != (by != 0) || by != 0 && !s.Status.Ended() || s.Late != m.lates[tryOf(s)] {
			m.t.Fatalf("try %s; it is superseded by %d, with %d late events", said(s), by, m.lates[tryOf(s)])
		}
		if s.HiddenBy == 0 && s.Step != "" {
			fmt.Fprintf(&got, "%s %d %s;", s.Step, s.Epoch, s.Status)
		}
	}
	for _, s := range view.Steps {
		fmt.Fprintf(&want, "%s %d %s;", s.Path, s.Epoch, cmp.Or(s.Status, string(turns.StepInProgress)))
	}
	// No live event says the state of a turn that was retried by request.
	fmt.Fprint(&got, row.State, row.Attempt, row.State.Ended())
	live, _ := view.Events()
	ends := slices.ContainsFunc(live, func(e fold.Entry) bool {
		return e.Method == notify.TurnCompleted || e.Method == notify.TurnInterrupted || e.Method == notify.TurnFailed
	})
	fmt.Fprint(&want, cmp.Or(view.State, string(turns.Queued)), max(1, view.Attempt), ends)
	if got.String() != want.String() || len(view.Items())+len(view.Superseded()) != len(list) {
		m.t.Fatalf("%s has\n%s, the view\n%s", row.TurnID, got.String(), want.String())
	}
}

// unknown reads what does not exist.
func (m *model) unknown() {
	ctx, store := context.Background(), m.h.Store
	row, err := store.Turn(ctx, "turn_none")
	of, err2 := store.TurnThread(ctx, "turn_none")
	message, err3 := store.LastMessage(ctx, "turn_none")
	input, err4 := store.Input(ctx, "turn_none")
	if row != nil || of != "" || message != nil || len(input) > 0 || err != nil || err2 != nil || err3 != nil || err4 != nil {
		m.t.Errorf("of no turn: %v %v, %q %v, %v %v, %v %v", row, err, of, err2, message, err3, input, err4)
	}
	it, err := store.Item(ctx, "item_none")
	if of, err2 = store.ItemThread(ctx, "item_none"); it != nil || of != "" || err != nil || err2 != nil {
		m.t.Errorf("of no item: %v %v, %q %v", it, err, of, err2)
	}
}

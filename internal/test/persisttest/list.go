package persisttest

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"

	"pgregory.net/rapid"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// paging says which page of a list is read.
type paging struct {
	cursor string
	limit  int
	newest bool
}

// Few are members by their names; it fails for "bad".
type Few []string

// Has implements notify.Members.
func (f Few) Has(_ context.Context, threadID string) (bool, error) {
	if slices.Contains(f, "bad") {
		return false, errors.New("it cannot be told")
	}
	return slices.Contains(f, threadID), nil
}

// someThreads draws a set of threads, mostly of the newest; nil, too.
func (m *model) someThreads(r *rapid.T) notify.Members {
	if rapid.Bool().Draw(r, "of all threads") {
		return nil
	}
	few := Few{"thread_none"}
	for range pick(r, 4, "threads") {
		few = append(few, m.known(r).ID)
	}
	return few
}

// has reports whether the set has the thread of the actor.
func has(within notify.Members, k *actor) bool {
	return within == nil || slices.Contains(within.(Few), k.ID)
}

// list reads one page of a list.
func (m *model) list(r *rapid.T) {
	ctx, store := context.Background(), m.h.Store
	p := paging{limit: pick(r, 20, "limit"), newest: rapid.Bool().Draw(r, "newest")}
	if pick(r, 3, "from a cursor") == 0 {
		p.cursor = strconv.FormatInt(m.at(r), 10)
	}
	k := m.known(r)
	threadID := rapid.SampledFrom([]string{"", k.ID, "thread_none"}).Draw(r, "of a thread")
	turnID := rapid.SampledFrom(append(slices.Sorted(maps.Keys(k.Turns)), "turn_none")).Draw(r, "turn")
	switch pick(r, 6, "list") {
	case 3:
		m.summaries(r, p)
	case 4:
		m.listStatuses(r, p)
	case 0:
		q := threads.Query{Within: m.someThreads(r), Cursor: p.cursor, Limit: p.limit, Newest: p.newest}
		q.State = rapid.SampledFrom([]threads.State{"", threads.Running, threads.Closing, threads.Closed}).Draw(r, "state")
		q.Agent = rapid.SampledFrom([]string{"", "echo", "none"}).Draw(r, "agent")
		var want []*threads.Thread
		for _, k := range m.actors {
			if row := k.Thread; has(q.Within, k) && is(q.State, row.State) && is(q.Agent, row.Agent) {
				want = append(want, row)
			}
		}
		got, err := store.ListThreads(ctx, q)
		listed(m, said(q), got, err, want, func(row *threads.Thread) int64 { return row.CreatedSeq }, p)
	case 1:
		if pick(r, 3, "ended by a restart") == 0 {
			m.lost(r, threadID, p)
			return
		}
		q := turns.Query{Within: m.someThreads(r), ThreadID: threadID, Cursor: p.cursor, Limit: p.limit, Newest: p.newest}
		q.State = rapid.SampledFrom(append([]turns.State{""}, turns.States...)).Draw(r, "state")
		q.Review = rapid.SampledFrom([]turns.ReviewState{"", "", turns.ReviewPending}).Draw(r, "review")
		var want []*turns.Turn
		for _, k := range m.actors {
			want = append(want, only(rowsOf(k.Turns, turnSeq), func(row *turns.Turn) bool {
				return has(q.Within, k) && is(q.ThreadID, k.ID) && is(q.State, row.State) && (q.Review == "" || row.InReview())
			})...)
		}
		slices.SortFunc(want, func(a, b *turns.Turn) int { return cmp.Compare(a.CreatedSeq, b.CreatedSeq) })
		got, err := store.ListTurns(ctx, q)
		listed(m, said(q), got, err, want, turnSeq, p)
	case 2:
		q := turns.StepQuery{TurnID: turnID, Cursor: p.cursor, Limit: p.limit, Newest: p.newest, IncludeSuperseded: rapid.Bool().Draw(r, "superseded")}
		want := only(k.rows(turnID), func(s *turns.Step) bool { return q.IncludeSuperseded || s.HiddenBy == 0 })
		got, err := store.ListSteps(ctx, q)
		listed(m, said(q), got, err, want, stepSeq, p)
	default:
		q := items.Query{
			Within: m.someThreads(r), ThreadID: threadID, Cursor: p.cursor, Limit: p.limit, Newest: p.newest,
			IncludeSuperseded: rapid.Bool().Draw(r, "superseded"),
		}
		if rapid.Bool().Draw(r, "of a turn") {
			q.TurnID = turnID
		}
		q.Status = rapid.SampledFrom([]items.Status{"", "", "", "", items.StatusPending, items.StatusInProgress, items.StatusCompleted, items.StatusDeleted}).Draw(r, "status")
		q.Type = rapid.SampledFrom([]items.Kind{"", "", "", "", items.KindAgentMessage, items.KindNotice, items.KindToolCall}).Draw(r, "type")
		var want []*items.Item
		for _, k := range m.actors {
			if has(q.Within, k) && is(q.ThreadID, k.ID) {
				want = append(want, only(m.itemsOf(k), func(it *items.Item) bool {
					return is(q.TurnID, it.TurnID) && is(q.Status, it.Status) && is(q.Type, it.Type) && (q.IncludeSuperseded || !it.Superseded)
				})...)
			}
		}
		slices.SortFunc(want, func(a, b *items.Item) int { return cmp.Compare(a.CreatedSeq, b.CreatedSeq) })
		got, err := store.ListItems(ctx, q)
		listed(m, said(q), got, err, want, itemSeq, p)
	}
}

// lost reads one page of the turns that were lost with a restart.
func (m *model) lost(r *rapid.T, threadID string, p paging) {
	q := turns.Query{
		Within: m.someThreads(r), ThreadID: threadID, EndedBy: turns.EndedByRestart, Cursor: p.cursor, Limit: p.limit, Newest: p.newest,
	}
	if rapid.Bool().Draw(r, "after a seq") {
		q.AfterSeq = m.at(r)
	}
	var want []*turns.Turn
	for _, k := range m.actors {
		if last := lastOf(k); last != nil && last.RestartSeq > q.AfterSeq && k.Thread.Open() && has(q.Within, k) && is(q.ThreadID, k.ID) {
			want = append(want, last)
		}
	}
	seq := func(row *turns.Turn) int64 { return row.RestartSeq }
	slices.SortFunc(want, func(a, b *turns.Turn) int { return cmp.Compare(seq(a), seq(b)) })
	got, err := m.h.Store.ListTurns(context.Background(), q)
	listed(m, said(q), got, err, want, seq, p)
}

// lastOf returns the turn of the actor's thread that ended last; nil if one has not ended.
func lastOf(k *actor) (last *turns.Turn) {
	rows := rowsOf(k.Turns, turnSeq)
	if slices.ContainsFunc(rows, func(t *turns.Turn) bool { return !t.State.Ended() }) {
		return nil
	}
	for _, t := range rows {
		if !t.StartedAt.IsZero() && (last == nil || t.CompletedAt.After(last.CompletedAt.Time)) { // its clock only rises
			last = t
		}
	}
	return last
}

// is reports whether a value passes a filter; the zero filter lets all pass.
func is[T comparable](filter, value T) bool {
	var all T
	return filter == all || filter == value
}

// listed compares one page with the rows of the whole list, the oldest first.
func listed[R any](m *model, what string, got turns.List[R], err error, list []*R, seq func(*R) int64, p paging) {
	m.t.Helper()
	if p.newest {
		list = slices.Clone(list)
		slices.Reverse(list)
	}
	limit, want, next := cmp.Or(p.limit, 100), []R{}, "" // 100 if the query says nothing
	for _, row := range list {
		if at, _ := strconv.ParseInt(p.cursor, 10, 64); p.cursor != "" && (seq(row) == at || seq(row) < at != p.newest) {
			continue
		}
		if len(want) == limit {
			next = strconv.FormatInt(seq(&want[limit-1]), 10)
			break
		}
		want = append(want, *row)
	}
	same(m, what, got.Rows, want, err)
	if got.Next != next || got.Latest != m.head() {
		m.t.Fatalf("%s: the next page is %q at %d, want %q at %d", what, got.Next, got.Latest, next, m.head())
	}
}

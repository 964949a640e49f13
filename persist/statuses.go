package persist

import (
	"context"
	"slices"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// statuses says which turns.ListStatus threads have, without a summary of each: what
// needs somebody, works or has failed is found by indexes over the whole log.
type statuses struct {
	s      Snapshot
	memory turns.Memory

	needs   map[string]notify.Time // by thread: since when it needs somebody
	working map[string]struct{}    // threads with an active or queued turn
	failed  map[string]struct{}    // threads with a turn that failed or was refused, of whatever age
	cut     bool                   // needs and working are incomplete: there are too many rows
	failCut bool                   // failed is
}

// readStatuses reads what a query needs: to find what needs somebody or works, no turn
// that failed is looked at, and all that rests is done.
func readStatuses(s Snapshot, q *turns.SummaryQuery) (*statuses, error) {
	x := &statuses{s: s, memory: q.Memory, needs: map[string]notify.Time{}, working: map[string]struct{}{}, failed: map[string]struct{}{}}
	reads := []func() error{x.readWork, x.readReviews}
	if q.Counts || slices.Contains(q.Statuses, turns.ListFailed) || slices.Contains(q.Statuses, turns.ListDone) {
		reads = append(reads, x.readFailed)
	}
	for _, read := range reads {
		if err := read(); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// scan reads a range up to its bound, and reports whether there is more.
func (x *statuses) scan(r ledger.Range, take func(ledger.Values)) (cut bool, err error) {
	looked := 0
	err = x.s.Scan(r, func(v ledger.Values) error {
		if looked++; looked > turns.MaxListScan {
			cut = true
			return ledger.ErrEnough
		}
		take(v)
		return nil
	})
	return cut, err
}

// threads adds to a set the threads of turns in a state.
func (x *statuses) threads(state turns.State, set map[string]struct{}, each func(turnID string)) (cut bool, err error) {
	return x.scan(ledger.Range{Index: turns.ByState, Prefix: []any{string(state)}, First: turnNames, Newest: true}, func(v ledger.Values) {
		set[v.Text(turnNames-1)] = struct{}{}
		each(v.Text(1))
	})
}

// readWork finds what works, and the open questions of active turns.
func (x *statuses) readWork() error {
	active := map[string]struct{}{}
	cut, err := x.threads(turns.Active, x.working, func(id string) { active[id] = struct{}{} })
	if err != nil {
		return err
	}
	more, err := x.threads(turns.Queued, x.working, func(string) {})
	if err != nil {
		return err
	}
	var questions []any
	for _, k := range items.Questions {
		questions = append(questions, string(k))
	}
	many, err := x.scan(ledger.Range{Index: items.BriefOpen, After: int64(0), Only: []ledger.Only{{Column: "type", Values: questions}}}, func(v ledger.Values) {
		b := items.ReadBrief(v)
		if _, ok := active[b.TurnID]; !ok {
			return
		}
		if _, ok := x.needs[b.ThreadID]; !ok {
			x.needs[b.ThreadID] = b.CreatedAt
		}
	})
	x.cut = cut || more || many
	return err
}

// readReviews finds the ends that wait for a review. A thread that has an open question,
// too, has waited since that was asked, as in its summary.
func (x *statuses) readReviews() error {
	since := map[string]notify.Time{}
	cut, err := x.scan(ledger.Range{Index: turns.BriefReviews, After: int64(0)}, func(v ledger.Values) {
		b := turns.ReadBrief(v)
		if at, ok := since[b.ThreadID]; !ok || b.CompletedAt.Before(at.Time) {
			since[b.ThreadID] = b.CompletedAt
		}
	})
	for id, at := range since {
		if _, asks := x.needs[id]; !asks {
			x.needs[id] = at
		}
	}
	x.cut = x.cut || cut
	return err
}

func (x *statuses) readFailed() error {
	cut, err := x.threads(turns.Failed, x.failed, func(string) {})
	if err != nil {
		return err
	}
	more, err := x.scan(ledger.Range{Index: turns.BriefRefused, After: int64(0)}, func(v ledger.Values) {
		x.failed[turns.ReadBrief(v).ThreadID] = struct{}{}
	})
	x.failCut = cut || more
	return err
}

// of returns the status of a thread.
func (x *statuses) of(t *threads.Thread) (turns.ListStatus, error) {
	if !t.Open() {
		return turns.ListClosed, nil
	}
	if _, ok := x.needs[t.ThreadID]; ok {
		return turns.ListNeedsYou, nil
	}
	if x.cut {
		return x.ask(t)
	}
	if _, ok := x.working[t.ThreadID]; ok {
		return turns.ListWorking, nil
	}
	failed, err := x.hasFailed(t)
	if failed {
		return turns.ListFailed, err
	}
	return turns.ListDone, err
}

// hasFailed reports whether the turn of a thread that ended last has failed or was refused. Most
// threads never had one that did.
func (x *statuses) hasFailed(t *threads.Thread) (bool, error) {
	if _, ok := x.failed[t.ThreadID]; !ok && !x.failCut {
		return false, nil
	}
	var known turns.Remembered
	if x.memory != nil {
		if known = x.memory.Get(t.ThreadID); known.At == t.LatestSeq {
			return known.Failed, nil
		}
	}
	last, err := endedLast(x.s, t.ThreadID, turns.MaxSummaryTurns)
	if err != nil {
		return false, err
	}
	known.Failed, known.At = last != nil && last.Fails(), t.LatestSeq
	if x.memory != nil {
		x.memory.Put(t.ThreadID, known)
	}
	return known.Failed, nil
}

// ask reads the rows of one thread, where those of the log are too many.
func (x *statuses) ask(t *threads.Thread) (turns.ListStatus, error) {
	o := ownSummary{s: x.s, t: t}
	for _, read := range []func() error{o.readTurns, o.readReviews, o.readOpenItems} {
		if err := read(); err != nil {
			return "", err
		}
	}
	o.setStatus()
	switch o.out.Status {
	case turns.SummaryWaiting:
		x.needs[t.ThreadID] = o.out.Since
		return turns.ListNeedsYou, nil
	case turns.SummaryWorking:
		return turns.ListWorking, nil
	case turns.SummaryFailed:
		return turns.ListFailed, nil
	}
	return turns.ListDone, nil
}

// among returns threads that have all those with one of the statuses, as far as they are
// m's; nil if they are not known without looking at all threads. It must be called in the
// class of lists: m may read.
func (x *statuses) among(ctx context.Context, wanted []turns.ListStatus, m notify.Members) ([]string, error) {
	if x.cut || slices.Contains(wanted, turns.ListDone) || slices.Contains(wanted, turns.ListClosed) ||
		x.failCut && slices.Contains(wanted, turns.ListFailed) {
		return nil, nil
	}
	ids := []string{}
	for id, status := range x.found() {
		if slices.Contains(wanted, status) {
			ids = append(ids, id)
		}
	}
	return only(ctx, ids, m)
}

// found returns the threads that indexes find, each with the first status that it may
// have.
func (x *statuses) found() map[string]turns.ListStatus {
	found := make(map[string]turns.ListStatus, len(x.needs)+len(x.working)+len(x.failed))
	for id := range x.failed {
		found[id] = turns.ListFailed
	}
	for id := range x.working {
		found[id] = turns.ListWorking
	}
	for id := range x.needs {
		found[id] = turns.ListNeedsYou
	}
	return found
}

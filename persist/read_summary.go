package persist

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// Summaries implements turns.Reader. Named threads are single rows, as of a page that
// shows one thread; lists wait with the other lists.
func (r *Reads) Summaries(ctx context.Context, q turns.SummaryQuery) (out turns.SummaryList, err error) {
	l, err := newListing(threads.BriefBySeq, q.Cursor, q.Limit, q.Newest)
	if err != nil {
		return out, err
	}
	l.within(ctx, q.Within, threadNames)
	if q.IDs, err = only(ctx, q.IDs, q.Within); err != nil {
		return out, err
	}
	class := ForScans
	if len(q.IDs) == 1 && q.Statuses == nil && !q.Counts {
		class = ForPoints
	}
	return in(ctx, r, class, func(s Snapshot) (out turns.SummaryList, err error) {
		x := &summarizer{s: s, q: &q, tries: newCompletion(s), titles: &titles{s, q.Memory}}
		if q.Statuses != nil || q.Counts || q.FoldJobs {
			if x.statuses, err = readStatuses(s, &q); err != nil {
				return out, err
			}
		}
		if q.Counts {
			if out.Counts, err = x.count(ctx); err != nil {
				return out, err
			}
		}
		if q.IDs == nil && q.Statuses != nil {
			if q.IDs, err = x.statuses.among(ctx, q.Statuses, q.Within); err != nil {
				return out, err
			}
		}
		if q.IDs != nil {
			out.List, err = namedThreads(s, l, q.Query, threads.BriefByID, x.read)
			return out, err
		}
		if q.State != "" {
			l.find(threads.BriefByState, string(q.State))
		}
		l.equal("agent", q.Agent)
		out.List, err = listOf(s, l, x.read)
		return out, err
	})
}

// namedThreads works like listOf, for the threads of q.IDs.
func namedThreads[T any, P sized[T]](s Snapshot, l *listing, q threads.Query, byID *ledger.Index, read func(ledger.Values) (P, error)) (out turns.List[T], err error) {
	if _, out.Latest, err = s.Ends(); err != nil {
		return out, err
	}
	var found []ledger.Values
	state, agent := byID.Table.Column("state"), byID.Table.Column("agent")
	for _, id := range slices.Compact(slices.Sorted(slices.Values(q.IDs))) {
		v, err := s.Get(byID, id)
		if err != nil {
			return out, err
		}
		if v == nil || v.Int(0) <= l.after || v.Int(0) >= l.before ||
			q.State != "" && v.Text(state) != string(q.State) || q.Agent != "" && v.Text(agent) != q.Agent {
			continue
		}
		found = append(found, v)
	}
	slices.SortFunc(found, func(a, b ledger.Values) int {
		if q.Newest {
			a, b = b, a
		}
		return cmp.Compare(a.Int(0), b.Int(0))
	})
	bytes, last := 0, int64(0)
	for _, v := range found {
		row, err := read(v)
		if err != nil {
			return out, err
		}
		if row == nil {
			continue
		}
		if bytes += row.Bytes() + rowBytes; len(out.Rows) > 0 && (len(out.Rows) >= l.limit || bytes > listBytes) {
			out.Next = strconv.FormatInt(last, 10)
			return out, nil
		}
		out.Rows, last = append(out.Rows, *row), v.Int(0)
	}
	return out, nil
}

// summarizer makes the summaries of one page.
type summarizer struct {
	s        Snapshot
	q        *turns.SummaryQuery
	tries    *completion
	titles   *titles
	statuses *statuses // nil if the query needs none
}

// read returns nil for a thread that the query leaves out.
func (x *summarizer) read(v ledger.Values) (*turns.Summarized, error) {
	t, err := threads.ReadBrief(v)
	if err != nil {
		return nil, err
	}
	if ok, err := x.keeps(t); err != nil || !ok {
		return nil, err
	}
	out, known := &turns.Summarized{Thread: *t}, false
	if x.q.Known != nil {
		if s, at := x.q.Known(t.ThreadID); s != nil && at == t.LatestSeq {
			out.Summary, known = *s, true
		}
	}
	if !known {
		own := ownSummary{s: x.s, tries: x.tries, titles: x.titles, t: t}
		if out.Summary, err = own.summary(); err != nil {
			return nil, fmt.Errorf("summary of %s: %w", t.ThreadID, err)
		}
	}
	if out.Summary.Children, err = x.children(t.ThreadID); err != nil || x.q.Consumer == "" {
		return out, err
	}
	seen, err := cursors.Get(x.s, cursors.Name{ConsumerID: x.q.Consumer, StreamName: cursors.StreamEvents, SubjectID: t.ThreadID})
	out.Summary.SeenSeq = seen.LastSequence
	return out, err
}

// keeps reports whether a thread has one of the statuses, is not folded, and matches.
func (x *summarizer) keeps(t *threads.Thread) (bool, error) {
	folds := x.q.FoldJobs && t.Job != ""
	if x.q.Statuses != nil || folds {
		status, err := x.statuses.of(t)
		if err != nil || x.q.Statuses != nil && !slices.Contains(x.q.Statuses, status) || folds && status != turns.ListNeedsYou {
			return false, err
		}
	}
	return x.matches(t)
}

func (x *summarizer) matches(t *threads.Thread) (bool, error) {
	if x.q.Matches == nil {
		return true, nil
	}
	title, err := x.titles.of(t)
	return err == nil && x.q.Matches(t, title), err
}

// children counts the newest child turns of a thread. They are rows of other threads,
// so they change without it.
func (x *summarizer) children(threadID string) (c turns.ChildCounts, err error) {
	err = x.s.Scan(ledger.Range{Index: turns.BriefChildrenOf, Prefix: []any{threadID}, Newest: true}, func(v ledger.Values) error {
		if c.Count(turns.ReadBrief(v)); c.Total == turns.MaxSummaryChildren {
			return ledger.ErrEnough
		}
		return nil
	})
	return c, err
}

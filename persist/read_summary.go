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
func (r *Reads) Summaries(ctx context.Context, q turns.SummaryQuery) (out turns.List[turns.Summarized], err error) {
	l, err := newListing(threads.BriefBySeq, q.Cursor, q.Limit, q.Newest)
	if err != nil {
		return out, err
	}
	l.within(ctx, q.Within, threadNames)
	if q.IDs, err = only(ctx, q.IDs, q.Within); err != nil {
		return out, err
	}
	lane := ForScans
	if len(q.IDs) == 1 {
		lane = ForPoints
	}
	return in(ctx, r, lane, func(s Snapshot) (turns.List[turns.Summarized], error) {
		x := &summarizer{s: s, q: &q, tries: newCompletion(s)}
		if q.IDs != nil {
			return namedThreads(s, l, q.Query, threads.BriefByID, x.read)
		}
		if q.State != "" {
			l.find(threads.BriefByState, string(q.State))
		}
		l.equal("agent", q.Agent)
		return listOf(s, l, x.read)
	})
}

// namedThreads is listOf for the threads of q.IDs. They are few.
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
	bytes := 0
	for i, v := range found {
		row, err := read(v)
		if err != nil {
			return out, err
		}
		if bytes += row.Bytes() + rowBytes; i > 0 && (i >= l.limit || bytes > listBytes) {
			out.Next = strconv.FormatInt(found[i-1].Int(0), 10)
			return out, nil
		}
		out.Rows = append(out.Rows, *row)
	}
	return out, nil
}

// summarizer makes the summaries of one page.
type summarizer struct {
	s     Snapshot
	q     *turns.SummaryQuery
	tries *completion
}

func (x *summarizer) read(v ledger.Values) (*turns.Summarized, error) {
	t, err := threads.ReadBrief(v)
	if err != nil {
		return nil, err
	}
	out, prompt := &turns.Summarized{Thread: *t}, ""
	known := false
	if x.q.Known != nil {
		if s, at := x.q.Known(t.ThreadID); s != nil {
			out.Summary, known = *s, at == t.LatestSeq
			if !s.Named {
				prompt = s.Title
			}
		}
	}
	if !known {
		own := ownSummary{s: x.s, tries: x.tries, t: t}
		if out.Summary, err = own.summary(prompt); err != nil {
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

package persist

import (
	"context"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// restartSeq is the column of the seq by which listLost finds turns.
var restartSeq = turns.Table.Column("restart_seq")

// listLost lists what turns.EndedByRestart selects.
func listLost(ctx context.Context, r *Reads, l *listing, q turns.Query) (turns.List[turns.Turn], error) {
	l.find(turns.EndedWithRestart)
	l.position, l.after = restartSeq, max(l.after, q.AfterSeq)
	l.equal("thread_id", q.ThreadID)
	if q.ParentThreadID != "" {
		l.equal("parent_thread_id", q.ParentThreadID)
		l.rows.Only = append(l.rows.Only, turns.ChildrenOf.Where...)
	}
	l.equal("state", string(q.State))
	l.equal("review_state", string(q.Review))
	l.within(ctx, q.Within, turnNames)
	return in(ctx, r, ForScans, func(s Snapshot) (turns.List[turns.Turn], error) {
		return listOf(s, l, func(v ledger.Values) (*turns.Turn, error) {
			t, err := turns.Read(v)
			if err != nil {
				return nil, err
			}
			for _, holds := range []func(Snapshot, *turns.Turn) (bool, error){inOpenThread, isNewest, hasNoParent} {
				if ok, err := holds(s, t); !ok || err != nil {
					return nil, err
				}
			}
			return t, nil
		})
	})
}

// inOpenThread reports whether the thread of the turn is open.
func inOpenThread(s Snapshot, t *turns.Turn) (open bool, err error) {
	const state = threadNames // the column after the names
	err = s.Scan(ledger.Range{Index: threads.ByID, Prefix: []any{t.ThreadID}, First: state + 1}, func(v ledger.Values) error {
		th := threads.Thread{State: threads.State(v.Text(state))}
		open = th.Open()
		return nil
	})
	return open, err
}

// isNewest reports whether the turn ended last of the newest turns of its thread, where none
// is unfinished.
func isNewest(s Snapshot, t *turns.Turn) (newest bool, err error) {
	unfinished := false
	if err := s.Scan(ledger.Range{Index: turns.BriefUnfinished, Prefix: []any{t.ThreadID}, First: 1}, func(ledger.Values) error {
		unfinished = true
		return ledger.ErrEnough
	}); unfinished || err != nil {
		return false, err
	}
	looked := 0
	newest = true
	err = s.Scan(ledger.Range{Index: turns.EndsOfThread, Prefix: []any{t.ThreadID}, Newest: true}, func(v ledger.Values) error {
		if looked++; turns.ReadEnd(v) > t.RestartSeq {
			newest = false
		}
		if !newest || looked == lastTurns {
			return ledger.ErrEnough
		}
		return nil
	})
	return newest, err
}

// hasNoParent reports whether no turn waits for this one, or is told of its end.
func hasNoParent(s Snapshot, t *turns.Turn) (bool, error) {
	if !t.IsChild() || t.Parent.TurnID == "" {
		return true, nil
	}
	owner, err := one(s, turns.Read, turns.ByID, t.Parent.TurnID)
	return owner == nil || owner.State.Ended(), err
}

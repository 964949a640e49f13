package turns

import (
	"errors"
	"fmt"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/threads"
)

// The conditions on child turns, each written once: a decision checks them in a
// snapshot, and as fences the appending transaction checks them again, where the
// changes of all threads come one after the other. A decision that is refused is made anew.

// TooManyError says that a bound on child turns or threads is reached.
type TooManyError struct {
	Text    string
	TurnIDs []string // the oldest unended ones
	ForGood bool     // it does not pass when child turns end: of the levels of threads
}

// Error implements error.
func (e *TooManyError) Error() string { return e.Text }

// MayWork is the condition under which a child turn starts, or is tried again by a
// request: its owner is open, fewer child turns than the bounds allow have not ended
// and, if it is blocking, the turn that it works for is active in that attempt; for a job in
// any attempt. Outside work that exists goes on without its owner (Alone).
type MayWork struct {
	Parent threads.Parent
	Policy AttentionPolicy
	Root   string
	Job    bool
	Alone  bool
}

// WorksAgain returns the condition under which a child turn that has ended works again, or another
// one continues it. A job does so whatever has become of its parent turn, unless the program of
// that turn asks for it.
func (t *Turn) WorksAgain() *MayWork {
	f := &MayWork{Parent: *t.Parent, Policy: t.AttentionPolicy, Root: t.RootThreadID, Job: t.Job != "", Alone: t.Outside}
	if f.Job {
		f.Policy = Notify
	}
	return f
}

// Check implements ledger.Fence.
func (f *MayWork) Check(tx ledger.Tx, _ *ledger.Unit) (refused, fault error) {
	if refused, fault = f.In(tx); refused != nil {
		refused = errors.Join(ErrOwnerMoved, refused)
	}
	return refused, fault
}

// In checks the condition. refused is one of threads.ErrNotFound, threads.ErrClosed,
// ErrNotActive and *TooManyError.
func (f *MayWork) In(r ledger.Reader) (refused, fault error) {
	v, err := r.Get(threads.ByID, f.Parent.ThreadID)
	if err != nil {
		return nil, err
	}
	if v == nil {
		return threads.ErrNotFound, nil
	}
	owner, err := threads.Read(v)
	switch {
	case err != nil:
		return nil, err
	case !owner.Open() && f.Alone:
		return nil, nil
	case !owner.Open():
		return threads.ErrClosed, nil
	}
	if f.Policy == Blocking {
		parent, err := readTurn(r, f.Parent.TurnID)
		switch {
		case err != nil:
			return nil, err
		case parent == nil || parent.State != Active || parent.Attempt != f.Parent.Attempt && !f.Job || parent.Progress == Interrupting || !parent.RetryAt.IsZero():
			return ErrNotActive, nil
		}
	}
	if f.Parent.TurnID != "" {
		refused, err := full(r, ledger.Range{Index: Unsettled, Prefix: []any{f.Parent.ThreadID, f.Parent.TurnID}}, MaxChildren, "of this turn")
		if refused != nil || err != nil {
			return refused, err
		}
	}
	return full(r, ledger.Range{Index: UnsettledBelow, Prefix: []any{f.Root}}, MaxUnendedBelow, "below the root "+f.Root)
}

// Room returns how many more child turns the bounds allow to start now: of the turn, if turnID is
// not "", and below the root.
func Room(r ledger.Reader, threadID, turnID, root string) (int, error) {
	n, _, err := unended(r, ledger.Range{Index: UnsettledBelow, Prefix: []any{root}}, MaxUnendedBelow)
	room := MaxUnendedBelow - n
	if err == nil && turnID != "" {
		n, _, err = unended(r, ledger.Range{Index: Unsettled, Prefix: []any{threadID, turnID}}, MaxChildren)
		room = min(room, MaxChildren-n)
	}
	return room, err
}

// unended counts the unended turns of the range, at most limit, and names the oldest.
func unended(r ledger.Reader, rg ledger.Range, limit int) (n int, oldest []string, err error) {
	rg.Only, rg.First = unfinished, 4
	err = r.Scan(rg, func(v ledger.Values) error {
		if n++; len(oldest) < MaxNamedTurns {
			oldest = append(oldest, v.Text(1))
		}
		if n >= limit {
			return ledger.ErrEnough
		}
		return nil
	})
	return n, oldest, err
}

// full returns a *TooManyError if the range has limit unended turns.
func full(r ledger.Reader, rg ledger.Range, limit int, where string) (refused, fault error) {
	n, oldest, err := unended(r, rg, limit)
	if err != nil || n < limit {
		return nil, err
	}
	return &TooManyError{Text: fmt.Sprintf("%d child turns %s have not ended, and no more are allowed: wait for some, or end them", n, where), TurnIDs: oldest}, nil
}

// MaxNamedTurns is how many turns an error names.
const MaxNamedTurns = 16

func readTurn(r ledger.Reader, turnID string) (*Turn, error) {
	v, err := r.Get(ByID, turnID)
	if v == nil || err != nil {
		return nil, err
	}
	return Read(v)
}

// Settled is the condition under which a turn completes: the inbox of its thread has
// the ends of all child turns that it waits for. It waits for no outside work.
type Settled struct {
	ThreadID, TurnID string
	// All: it waits for those that only notify too, because it is a child turn itself.
	// A verdict about one in review may take a day, and nothing waits for it.
	All bool
	// Jobs: it waits for jobs too, which are never detached.
	Jobs bool
}

// Check implements ledger.Fence. refused is ErrChildrenMoved.
func (f *Settled) Check(tx ledger.Tx, _ *ledger.Unit) (refused, fault error) {
	list, err := f.Unsettled(tx, 1)
	if len(list) > 0 {
		return ErrChildrenMoved, err
	}
	return nil, err
}

// Unsettled lists the child turns that the turn still waits for, at most limit.
func (f *Settled) Unsettled(r ledger.Reader, limit int) (list []*Turn, err error) {
	rg := ledger.Range{Index: Unsettled, Prefix: []any{f.ThreadID, f.TurnID}}
	rg.Only = []ledger.Only{notInReview, ownWork}
	if !f.All {
		rg.Only = append(rg.Only, ledger.Only{Column: "attention_policy", Values: []any{string(Blocking)}})
	}
	if !f.Jobs {
		rg.Only = append(rg.Only, noJob)
	}
	err = r.Scan(rg, func(v ledger.Values) error {
		t, err := Read(v)
		if err != nil {
			return err
		}
		if list = append(list, t); len(list) >= limit {
			return ledger.ErrEnough
		}
		return nil
	})
	return list, err
}

// EndsLive is the condition under which ends of child turns are told, or enter an
// inbox: each is still the accepted end. It has the seq of the end by turn.
type EndsLive map[string]int64

// Check implements ledger.Fence. refused is ErrChildrenMoved.
func (f EndsLive) Check(tx ledger.Tx, _ *ledger.Unit) (refused, fault error) {
	gone, err := f.Superseded(tx)
	if len(gone) > 0 {
		return ErrChildrenMoved, err
	}
	return nil, err
}

// Superseded returns the turns whose end is not the accepted one any more.
func (f EndsLive) Superseded(r ledger.Reader) (gone map[string]bool, err error) {
	for turnID, seq := range f {
		t, err := readTurn(r, turnID)
		if err != nil {
			return nil, err
		}
		if t == nil || t.AcceptedSeq != seq {
			if gone == nil {
				gone = map[string]bool{}
			}
			gone[turnID] = true
		}
	}
	return gone, nil
}

// ParentOpen is the condition under which a child thread starts: the thread of its
// parent is open.
type ParentOpen struct{ ThreadID string }

// Check implements ledger.Fence.
func (f *ParentOpen) Check(tx ledger.Tx, _ *ledger.Unit) (refused, fault error) {
	v, err := tx.Get(threads.ByID, f.ThreadID)
	if err != nil {
		return nil, err
	}
	if v == nil {
		return threads.ErrNotFound, nil
	}
	t, err := threads.Read(v)
	if err == nil && !t.Open() {
		return threads.ErrClosed, nil
	}
	return nil, err
}

// Fate is what happens to a child turn that has not ended, by the state of the turn
// that it works for.
type Fate string

// The fates. FateNone: it goes on as it is.
const (
	FateNone      Fate = ""
	FateInterrupt Fate = "interrupt"
	FateDetach    Fate = "detach"
)

// ParentEnded is the reason of an interrupt by FateInterrupt.
const ParentEnded = "the turn that it works for has ended"

// FateOf returns the fate of an unended child turn. It is a rule about committed
// rows, so that it can be applied again at any time; parent is nil if the child turn
// works for none. Outside work has none.
func FateOf(child, parent *Turn) Fate {
	if parent == nil || child.Outside || child.State.Ended() {
		return FateNone
	}
	blocking := child.AttentionPolicy == Blocking
	switch {
	case child.Job != "":
		return when(endsJobs(parent) && !jobAskedAfterEnd(child, parent), FateInterrupt)
	case parent.Attempt > child.Parent.Attempt && blocking: // that attempt was superseded
		return FateInterrupt
	case parent.State == Interrupted && parent.InterruptedBy != ByServer,
		parent.State == Active && parent.Progress == Interrupting && parent.InterruptedBy != ByServer:
		return when(blocking, FateInterrupt)
	case parent.State == Failed || parent.State == Interrupted:
		if parent.IsChild() {
			return when(!askedAfterEnd(child, parent), FateInterrupt)
		}
		return when(blocking, FateDetach)
	case parent.State == Completed:
		return when(blocking, FateDetach)
	}
	return FateNone
}

// endsJobs reports whether the jobs of a turn are interrupted, because it was interrupted, or
// failed and is a child turn itself.
func endsJobs(parent *Turn) bool {
	stopped := parent.State == Interrupted || parent.State == Active && parent.Progress == Interrupting
	return stopped && parent.InterruptedBy != ByServer || parent.IsChild() && (parent.State == Failed || parent.State == Interrupted)
}

// askedAfterEnd reports whether the child turn was asked for, or was asked for again
// by turn/retry, when the turn that it works for had ended: it is a background one
// then. QueuedAt is the time of such a retry, and no attempt of a policy changes it.
func askedAfterEnd(child, parent *Turn) bool {
	return child.CreatedSeq > parent.EndSeq() || child.Attempt > 1 && !child.QueuedAt.Before(parent.CompletedAt.Time)
}

// jobAskedAfterEnd reports whether a job was asked for again by turn/retry, or continues one that
// was rejected, since its parent turn has ended. The row of that has no seq of its end, and the
// program asks for jobs again too: what has the same time was before the end.
func jobAskedAfterEnd(job, parent *Turn) bool {
	return parent.State.Ended() && job.QueuedAt.After(parent.CompletedAt.Time)
}

func when(yes bool, f Fate) Fate {
	if yes {
		return f
	}
	return FateNone
}

package engine

import (
	"context"
	"slices"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// Outside work is a child turn in a thread that is no child thread of its owner. Nobody waits
// for it: two threads that work for each other would wait in a circle. The thread belongs to
// others, so what is asked of it is quoted, and queued behind the turns of clients.

// mayBeOutside completes outside work that is to start in the thread.
func (w *childWriter) mayBeOutside(q *request) error {
	owner, above, err := w.ownerOf(q.Parent.ThreadID)
	if err != nil {
		return err
	}
	notOwn := func(format string, args ...any) error {
		return turns.Invalid("parent.thread_id", turns.ReasonNotOwn, format, args...)
	}
	t := w.d.next().thread
	switch g := w.d.agent(); {
	case t.ThreadID == owner.ThreadID:
		return notOwn("is the thread itself: start the turn in another thread, or without parent")
	case slices.Contains(above, t.ThreadID):
		return notOwn("%s is above it in the tree of threads: write there with inbox/send", t.ThreadID)
	case g.Agent != nil && g.Info().Kind == turns.KindMailbox:
		return notOwn("%s is a mailbox, which runs no turns: write there with inbox/send", t.ThreadID)
	case !q.Background:
		return notOwn("%s is no child thread of it: start one with thread/start and parent, or give background: true for outside work, which no turn waits for", t.ThreadID)
	case q.WaitSeconds > 0:
		return turns.Invalid("wait_seconds", turns.ReasonInvalid, "does not go with outside work, which nothing waits for: leave it out, and the inbox of %s gets the end", owner.ThreadID)
	}
	if q.chain++; q.chain >= inbox.MaxChain {
		return turns.ErrChain
	}
	q.child.Outside, q.child.RootThreadID = true, owner.Root()
	q.msgs = inbox.AskedFor(owner, q.msgs)
	return w.d.rules.mustFit(q.msgs)
}

// ownerOf reads the owner of a child turn, and the threads above it.
func (w *childWriter) ownerOf(threadID string) (owner *threads.Thread, above []string, err error) {
	err = w.d.rules.inboxes.ReadToDecide(context.Background(), func(r ledger.Reader) error {
		for id := threadID; ; {
			v, err := r.Get(threads.ByID, id)
			if err != nil {
				return err
			}
			if v == nil {
				return threads.ErrNotFound
			}
			t, err := threads.Read(v)
			if err != nil {
				return err
			}
			if owner == nil {
				owner = t
			}
			if t.Level == 0 || t.Parent == nil {
				return nil
			}
			id = t.Parent.ThreadID
			above = append(above, id)
		}
	})
	return owner, above, err
}

// mustFit refuses messages that are too large for an item since they are quoted.
func (r *rules) mustFit(msgs []items.UserMessage) error {
	for _, m := range msgs {
		raw, err := items.Encode(m)
		if err != nil {
			return err
		}
		if most := r.cfg.MaxItemBytes; len(raw) > most {
			return turns.Invalid("input", turns.ReasonTooLarge, "has %d bytes with the quotation around it, at most %d are allowed", len(raw), most)
		}
	}
	return nil
}

// outsideRank is where the ranks of queued outside work begin: far behind those of the turns of
// clients, so that one that comes later goes before it.
const outsideRank = 1 << 40

// queuePosition returns the rank and the position of a turn that is queued as the last one, or as the
// first one, of its kind: outside work, or not.
func (s *state) queuePosition(outside, first bool) (rank int64, position int) {
	own := s.ownTurns()
	list, rank, position := s.queue[:own], int64(0), 1
	if outside {
		list, rank, position = s.queue[own:], outsideRank, own+1
	}
	switch n := len(list); {
	case n == 0:
		return rank + 1, position
	case first:
		return list[0].turn.Rank - 1, position
	default:
		return list[n-1].turn.Rank + 1, position + n
	}
}

// isFull reports whether no further turn of its kind may be queued. Outside work keeps nobody
// else out.
func (s *state) isFull(outside bool, bound int) bool {
	if outside {
		return len(s.queue) >= bound
	}
	return s.ownTurns() >= bound
}

// ownTurns returns how many turns of the queue are not outside work. They are the first ones.
func (s *state) ownTurns() int {
	if i := slices.IndexFunc(s.queue, func(q *queuedTurn) bool { return q.turn.Outside }); i >= 0 {
		return i
	}
	return len(s.queue)
}

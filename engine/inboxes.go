package engine

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// Inboxes is the part of the engine that keeps inboxes. The actor of a thread
// decides about its inbox, as about its turns. A change that returns without an
// error is durable (I1). All methods may be called from many goroutines, once
// Recover has returned.
type Inboxes struct {
	e       *Engine
	alarm   alarm
	sources sources
	waiting atomic.Int64 // bytes of items that wait for actors, of all threads
}

// Inboxes returns the Inboxes of the engine; New has made it.
func (e *Engine) Inboxes() *Inboxes { return e.inboxes }

// inboxCommand runs one command of by about the inbox of an open thread, in its actor.
func inboxCommand[R any, P ledger.Result[R]](ctx context.Context, x *Inboxes, threadID string, key *ledger.Key, by turns.By, f func(b *inbox.Book) (R, error)) (R, error) {
	return inboxDecision[R, P](ctx, x, threadID, key, by, func(_ *decision, b *inbox.Book) (R, error) { return f(b) })
}

// inboxDecision works like inboxCommand, for a command that needs more than the inbox.
func inboxDecision[R any, P ledger.Result[R]](ctx context.Context, x *Inboxes, threadID string, key *ledger.Key, by turns.By, f func(d *decision, b *inbox.Book) (R, error)) (R, error) {
	return call(ctx, x.e, threadID, func(a *actor) (R, error) {
		r, _, err := keyed[R, P](a, key, func(d *decision) (r R, err error) {
			if err := d.mustBeOpen(); err != nil {
				return r, err
			}
			err = d.inbox.inSnapshot(func(b *inbox.Book) error {
				b.RequestedBy = requestedBy(by)
				r, err = f(d, b)
				return errors.Join(err, b.Err())
			})
			return r, err
		})
		return r, err
	})
}

// Configure changes the policy of an inbox. Errors, as of all commands below:
// threads.ErrNotFound, threads.ErrClosed, ledger.ErrKeyConflict, ErrOverloaded,
// ErrDraining, ledger.ErrStorageFull, ledger.ErrStorageFailed; and
// *turns.InvalidError.
func (x *Inboxes) Configure(ctx context.Context, c inbox.Configure) (inbox.ConfigureResult, error) {
	return call(ctx, x.e, c.ThreadID, func(a *actor) (inbox.ConfigureResult, error) {
		r, _, err := keyed(a, c.Key, func(d *decision) (r inbox.ConfigureResult, err error) {
			if err := d.mustBeOpen(); err != nil {
				return r, err
			}
			if c.Policy.Wake == inbox.WakeIdle && d.agent().kind() == turns.KindMailbox {
				return r, turns.Invalid("policy.wake", turns.ReasonInvalid, "a mailbox runs no turns: nothing wakes it")
			}
			err = d.inbox.inSnapshot(func(b *inbox.Book) error {
				b.RequestedBy = requestedBy(c.By)
				agent := d.next().thread.Agent
				p, err := b.Configure(c, func(set inbox.Policy) inbox.Settings { return d.rules.inboxSettings(agent, set) })
				r = inbox.ConfigureResult{ThreadID: c.ThreadID, Policy: p}
				return err
			})
			return r, err
		})
		return r, err
	})
}

// Policy returns the policy in force in threads of an agent that have set these
// members.
func (x *Inboxes) Policy(agent string, set inbox.Policy) inbox.Policy {
	return x.e.rules.inboxSettings(agent, set).Policy()
}

// PolicySet returns what of that policy was set, and where.
func (x *Inboxes) PolicySet(agent string, set inbox.Policy) inbox.PolicySet {
	r := x.e.rules
	return r.cfg.InboxDefaults.Set(agent, r.agents.of(agent).kind(), set)
}

// Ack acknowledges exactly what entries show, in several units if they are many: others write
// between them. A crash or an error between two units leaves what the first has acknowledged.
// The same command again does the rest, and its answer counts only that. Errors:
// inbox.ErrEntryNotFound, inbox.ErrEntryExpired, inbox.ErrItemNotFound, inbox.ErrItemExpired.
func (x *Inboxes) Ack(ctx context.Context, c inbox.Ack) (inbox.AckResult, error) {
	sum := inbox.AckResult{RemainderEntryIDs: []notify.ID{}}
	for {
		r, err := inboxDecision(ctx, x, c.ThreadID, c.Key, turns.By(c.By), func(d *decision, b *inbox.Book) (inbox.AckResult, error) {
			r, err := b.Ack(c)
			if err == nil {
				err = b.PostLags()
			}
			r.Add(sum)
			d.unfinished = r.Next != 0
			return r, err
		})
		if err != nil || r.Next == 0 {
			return r, err
		}
		sum, c.After = r, r.Next
		ctx = context.WithoutCancel(ctx) // what has begun is finished, also if the client hangs up
	}
}

// Flush flushes one digest, or all. Errors: inbox.ErrDigestNotFound.
func (x *Inboxes) Flush(ctx context.Context, c inbox.FlushNow) (inbox.EntriesResult, error) {
	return inboxCommand(ctx, x, c.ThreadID, c.Key, c.By, func(b *inbox.Book) (inbox.EntriesResult, error) {
		ids, err := b.Flush(c.DigestID)
		return inbox.EntriesResult{EntryIDs: ids}, err
	})
}

// Wake makes told entries that are not acknowledged new again, except those of the
// active turn, and ends what keeps the thread from being woken.
func (x *Inboxes) Wake(ctx context.Context, c inbox.WakeNow) (inbox.EntriesResult, error) {
	return inboxDecision(ctx, x, c.ThreadID, c.Key, c.By, func(d *decision, b *inbox.Book) (inbox.EntriesResult, error) {
		active := ""
		if act := d.active(); act != nil {
			active = act.turn.TurnID
		}
		ids, err := b.WakeNow(active)
		return inbox.EntriesResult{EntryIDs: ids}, err
	})
}

// CreateTimer creates a timer. Errors: inbox.ErrConflict,
// inbox.ErrTooManyTimers.
func (x *Inboxes) CreateTimer(ctx context.Context, c inbox.CreateTimer) (inbox.TimerResult, error) {
	return inboxCommand(ctx, x, c.ThreadID, c.Key, c.By, func(b *inbox.Book) (inbox.TimerResult, error) {
		t, created, err := b.CreateTimer(c)
		return inbox.TimerResult{Timer: t, Created: created}, err
	})
}

// DeleteTimer deletes a timer. Errors: inbox.ErrTimerNotFound.
func (x *Inboxes) DeleteTimer(ctx context.Context, c inbox.DeleteTimer) (inbox.DeleteTimerResult, error) {
	return inboxCommand(ctx, x, c.ThreadID, c.Key, c.By, func(b *inbox.Book) (inbox.DeleteTimerResult, error) {
		return inbox.DeleteTimerResult{TimerID: c.TimerID}, b.DeleteTimer(c.TimerID)
	})
}

// Ingest stores items: see inbox.Book. Errors: inbox.ErrFull.
func (x *Inboxes) Ingest(ctx context.Context, c inbox.Ingest) (inbox.IngestResult, error) {
	out, err := x.arrive(ctx, c.ThreadID, &arrival{items: c.Items, key: c.Key, by: requestedBy(c.By)})
	return out, err
}

// Send stores a message as one item. Errors: inbox.ErrFull.
func (x *Inboxes) Send(ctx context.Context, c inbox.Send) (inbox.SendResult, error) {
	it := inbox.MessageItem(items.NewID(), c.Text, c.Sender)
	var err error
	if it.Chain, err = x.chainOf(ctx, c.Sender); err != nil {
		return inbox.SendResult{}, err
	}
	out, err := x.arrive(ctx, c.ThreadID, &arrival{items: []inbox.Item{it}, key: c.Key, by: requestedBy(c.By)})
	if err != nil {
		return inbox.SendResult{}, err
	}
	return inbox.SendResult{Ingested: out.Results[0], Seq: out.Seq}, nil
}

// chainOf returns the chain of a wake that a message of this sender causes. If the sender is a
// thread, it is one more than the chain of its turn, so that agents which answer each other
// stop.
func (x *Inboxes) chainOf(ctx context.Context, sender string) (int, error) {
	if !threads.ValidID(sender) {
		return 0, nil
	}
	var t *turns.Turn
	if err := x.e.rules.inboxes.ReadToDecide(ctx, func(r ledger.Reader) error {
		return r.Scan(ledger.Range{
			Index: turns.UnfinishedOfThread, Prefix: []any{sender}, Only: []ledger.Only{{Column: "state", Values: []any{string(turns.Active)}}},
		}, func(v ledger.Values) (err error) {
			t, err = turns.Read(v)
			return err
		})
	}); err != nil {
		return 0, err
	}
	if t == nil {
		var err error
		if t, err = x.e.rows.LastTurn(ctx, sender); err != nil || t == nil {
			return 0, err
		}
	}
	return t.Chain + 1, nil
}

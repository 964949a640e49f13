package engine

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/threads"
)

// leasesAtOnce is how many inboxes are read in one snapshot to look for leases.
const leasesAtOnce = 256

// lookAtLeases looks after a start for told entries whose lease is over earlier than their inbox
// says: a default of the configuration may be another one than before. It returns when all are
// right, or with ctx.
func (x *Inboxes) lookAtLeases(ctx context.Context) {
	for again := x.mayLease(); again; {
		again = false
		for after, more := "", true; more; more = after != "" {
			ids, last, err := x.leasesMoved(ctx, after)
			if err != nil {
				if ctx.Err() == nil {
					x.e.log.Warn("inboxes with told entries cannot be read now", zap.Error(err))
				}
				again = true
				break
			}
			for _, id := range ids {
				again = !x.look(ctx, id) || again
			}
			after = last
		}
		if again && !sleep(ctx, maxSleep) {
			return
		}
	}
}

// mayLease reports whether threads of an agent have a lease without having set it. The lease that
// an inbox has set itself changes with its row.
func (x *Inboxes) mayLease() bool {
	if x.e.rules.inboxSettings("", inbox.Policy{}).ToldLease != 0 {
		return true
	}
	for name := range x.e.rules.agents {
		if x.e.rules.inboxSettings(name, inbox.Policy{}).ToldLease != 0 {
			return true
		}
	}
	return false
}

// leasesMoved reads some of the inboxes after a thread, and lists those of open threads where a
// lease is over earlier than they say. last is the last thread that it has read; "" = there are no
// more.
func (x *Inboxes) leasesMoved(ctx context.Context, after string) (ids []string, last string, err error) {
	now, n := time.Now(), 0
	err = x.e.rules.inboxes.ReadToDecide(ctx, func(r ledger.Reader) error {
		return r.Scan(ledger.Range{Index: inbox.ByThread, After: after}, func(v ledger.Values) error {
			if n++; n > leasesAtOnce {
				return ledger.ErrEnough
			}
			box, err := inbox.ReadRow(v)
			if err != nil {
				return err
			}
			if last = box.ThreadID; box.UnackedEntries == box.NewEntries || box.Policy.ToldLeaseMs != nil {
				return nil
			}
			row, err := r.Get(threads.BriefByID, box.ThreadID)
			if err != nil || row == nil {
				return err
			}
			t, err := threads.ReadBrief(row)
			if err != nil {
				return err
			}
			lease := x.e.rules.inboxSettings(t.Agent, box.Policy).ToldLease
			if lease == 0 || !t.Open() {
				return nil
			}
			at, err := inbox.LeaseNext(r, box, lease, now)
			if err == nil && at != 0 && (box.LeaseAt == 0 || at < box.LeaseAt) {
				ids = append(ids, box.ThreadID)
			}
			return err
		})
	})
	if n <= leasesAtOnce {
		last = ""
	}
	return ids, last, err
}

// look lets the actor of a thread look at the leases of its inbox. It reports whether that could.
func (x *Inboxes) look(ctx context.Context, id string) bool {
	done := make(chan bool, 1)
	if x.e.actors.submit(id, func(a *actor) {
		ok := false // also after a panic
		defer func() { done <- ok }()
		ok = a.inbox.doDue(true)
	}, true) != nil {
		return false // the engine has stopped
	}
	select {
	case ok := <-done:
		return ok
	case <-ctx.Done():
		return false
	}
}

package dispatch

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/internal/test/hosttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/turns"
)

// changing is a store that changes units before they are committed, or refuses them.
type changing struct {
	ledger.Log
	change func(*ledger.Unit) error
}

// Append implements ledger.Log.
func (s changing) Append(u *ledger.Unit) (ledger.Receipt, error) {
	rows := slices.Clone(u.Rows)
	if err := s.change(u); err != nil {
		return ledger.Receipt{}, err
	}
	r, err := s.Log.Append(u)
	if err == nil {
		for _, row := range rows {
			if d := bridges.DeliveryOfRow(row); d != nil { // also those that were replaced
				d.AssignSeqs(r.First)
			}
		}
	}
	return r, err
}

// storing is a build that writes something else.
func storing(change func(*ledger.Unit) error) *modelBuild {
	return &modelBuild{store: func(l ledger.Log) ledger.Log { return changing{l, change} }}
}

// writing is a build that writes other deliveries than it should.
func writing(is func(*bridges.Delivery) bool, change func(*bridges.Delivery)) *modelBuild {
	return storing(func(u *ledger.Unit) error {
		for i, row := range u.Rows {
			d := bridges.DeliveryOfRow(row)
			if d == nil || !is(d) {
				continue
			}
			next := *d
			change(&next)
			u.Rows[i] = &next
		}
		return nil
	})
}

// beginsAttempt reports whether a delivery is written because an attempt begins.
func beginsAttempt(d *bridges.Delivery) bool {
	return d.State == bridges.StatePending && len(d.Tries) > 0 && d.Tries[len(d.Tries)-1].Outcome == ""
}

// renaming is a channel whose attempts have ids of their own.
type renaming struct {
	bridges.Channel
	mu    sync.Mutex
	tries map[string]int
}

// Send implements bridges.Channel.
func (c *renaming) Send(ctx context.Context, o *bridges.Outgoing) bridges.Result {
	next := *o
	c.mu.Lock()
	c.tries[o.ID]++
	next.ID = fmt.Sprint(o.ID, "/", c.tries[o.ID])
	c.mu.Unlock()
	return c.Channel.Send(ctx, &next)
}

// impatient is a channel that answers although its attempt goes on.
type impatient struct{ bridges.Channel }

// Send implements bridges.Channel.
func (c impatient) Send(ctx context.Context, o *bridges.Outgoing) bridges.Result {
	answer := make(chan bridges.Result, 1)
	go func() {
		defer func() {
			if recover() != nil {
				answer <- bridges.Result{Outcome: bridges.Failed, Error: "internal", Arrived: true}
			}
		}()
		answer <- c.Channel.Send(ctx, o)
	}()
	select {
	case r := <-answer:
		return r
	case <-time.After(c.Timeout() + lateness):
		return bridges.Result{Outcome: bridges.Failed, Error: "timeout", Unhealthy: true, Arrived: true}
	}
}

// decidesOnce is a build whose decisions look at tries and questions once: what was read
// for the first decision counts for all later ones, and no transaction looks again.
func decidesOnce() *modelBuild {
	b := storing(func(u *ledger.Unit) error {
		u.Fences = slices.DeleteFunc(u.Fences, func(f ledger.Fence) bool { _, is := f.(*stillTrue); return is })
		return nil
	})
	seen := &remembered{rows: map[string]ledger.Values{}}
	b.read = func(tx ledger.Reader) ledger.Reader { return &rememberingReader{Reader: tx, seen: seen} }
	return b
}

type remembered struct {
	mu   sync.Mutex
	rows map[string]ledger.Values
}

type rememberingReader struct {
	ledger.Reader
	seen  *remembered
	truth bool // what a marker takes back is read as it is
}

// Get implements ledger.Reader.
func (r *rememberingReader) Get(ix *ledger.Index, key ...any) (ledger.Values, error) {
	v, err := r.Reader.Get(ix, key...)
	if r.truth || err != nil || v == nil || ix != turns.StepsByEpoch && ix != items.ByID {
		return v, err
	}
	r.seen.mu.Lock()
	defer r.seen.mu.Unlock()
	name := fmt.Sprint(ix.Table.Name, key)
	if old := r.seen.rows[name]; old != nil {
		return old, nil
	}
	r.seen.rows[name] = slices.Clone(v)
	return v, nil
}

// Scan implements ledger.Reader.
func (r *rememberingReader) Scan(rg ledger.Range, f func(ledger.Values) error) error {
	r.truth = r.truth || rg.Index == bridges.DeliveriesOfTurn && len(rg.Prefix) == 2
	return r.Reader.Scan(rg, f)
}

// TestRandomDeliveriesCatchBrokenBuilds: the model has to see what it is for. Each of
// these builds breaks one rule, and is caught by the property that needs it.
func TestRandomDeliveriesCatchBrokenBuilds(t *testing.T) {
	hosttest.Long(t)
	for name, c := range map[string]struct {
		build  func() *modelBuild
		breaks string // part of what is said
	}{
		"the receipt comes before the delivery": {func() *modelBuild {
			return writing(beginsAttempt, func(d *bridges.Delivery) { d.State, d.SettledAt = bridges.StateDelivered, d.Tries[len(d.Tries)-1].At })
		}, "has a receipt, and was not received"},
		"the id is that of the attempt": {func() *modelBuild {
			return &modelBuild{channel: func(c bridges.Channel) bridges.Channel { return &renaming{Channel: c, tries: map[string]int{}} }}
		}, "was sent as"},
		"the decision is not taken anew": {decidesOnce, "P4: an attempt of"},
		"a second attempt begins before the first has returned": {func() *modelBuild {
			return &modelBuild{channel: func(c bridges.Channel) bridges.Channel { return impatient{c} }}
		}, "had not returned"},
		"a dead delivery blocks the others": {func() *modelBuild {
			return storing(func(u *ledger.Unit) error {
				for _, row := range u.Rows {
					if d := bridges.DeliveryOfRow(row); d != nil && d.State == bridges.StateDead {
						return ledger.ErrStorageFailed
					}
				}
				return nil
			})
		}, "is pending at the end"},
		"a mismatch is settled by itself": {func() *modelBuild {
			return writing(func(d *bridges.Delivery) bool { return d.State == bridges.StateMismatch }, func(d *bridges.Delivery) {
				d.Suppress("mismatch", d.CreatedAt.Time)
			})
		}, "the log does not say why"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const most = 40
			for seed := range uint64(most) {
				for _, f := range runModel(t, newModelProgram(seed), c.build()).failures() {
					if strings.Contains(f, c.breaks) {
						t.Logf("caught in run %d: %s", seed+1, f)
						return
					}
				}
			}
			t.Errorf("not caught in %d runs", most)
		})
	}
}

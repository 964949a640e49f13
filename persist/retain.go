package persist

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Retention says what of the log is kept. The zero value keeps everything.
// Rows of threads, turns and items are always kept and count in MaxBytes. If
// they alone are larger, as much of the log is removed as may be.
//
// The age of an event comes from its time, which is wrong if the clock was. No
// event is removed whose time is within MaxAgeDays before now. An event whose
// time is below that of an earlier event is removed only together with a later
// event whose time is not. A time more than a day after now is ignored: such an
// event is removed with the later ones.
type Retention struct {
	MaxAgeDays float64
	MaxBytes   int64
}

// Pruner is what retention needs of a store.
type Pruner interface {
	// Prune removes the events below a seq. It keeps those from which the text
	// of an open item is read, or the payload of a raw item that is not
	// acknowledged, and all after them.
	Prune(ctx context.Context, before int64) (Pruned, error)
	// ExpiredBefore returns the highest known seq below which all events are
	// older than at: see Retention. It is the head plus one if all events are
	// older, and at most the oldest seq if none is known to be.
	ExpiredBefore(ctx context.Context, at, now time.Time) (int64, error)
	// UsedBytes is how much log and rows take; a prune reduces it.
	UsedBytes(ctx context.Context) (int64, error)
}

// Pruned is what a prune did. First is the oldest seq that is kept now.
type Pruned struct {
	First   int64 `json:"first_seq"`
	Removed int64 `json:"removed"`
}

// retainEvery is how often retention is enforced: a log grows above its bound
// for a minute at most.
const retainEvery = time.Minute

// retainStep is how many events are removed at a time while the log is too
// large: about 5 MiB of usual events.
const retainStep = 10_000

// Run prunes the store every minute until ctx is done. report is called after
// every prune that removed something, and with errors, which do not end Run.
func (r Retention) Run(ctx context.Context, store Pruner, report func(Pruned, error)) error {
	if r == (Retention{}) {
		return nil
	}
	ticker := time.Tick(retainEvery)
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-ticker:
			p, err := r.Enforce(ctx, store, now)
			if err != nil && errors.Is(err, ctx.Err()) {
				return nil
			}
			if p.Removed > 0 || err != nil {
				report(p, err)
			}
		}
	}
}

// Enforce prunes what is too old at now, then what is too much.
func (r Retention) Enforce(ctx context.Context, store Pruner, now time.Time) (Pruned, error) {
	var all Pruned
	if r.MaxAgeDays > 0 {
		before, err := store.ExpiredBefore(ctx, now.Add(-time.Duration(r.MaxAgeDays*24*float64(time.Hour))), now)
		if err != nil {
			return all, fmt.Errorf("retention by age: %w", err)
		}
		p, err := store.Prune(ctx, before)
		if err != nil {
			return all, fmt.Errorf("retention by age: %w", err)
		}
		all.First, all.Removed = p.First, p.Removed
	}
	for r.MaxBytes > 0 {
		used, err := store.UsedBytes(ctx)
		if err != nil {
			return all, fmt.Errorf("retention by size: %w", err)
		}
		if used <= r.MaxBytes {
			break
		}
		if all.First == 0 {
			p, err := store.Prune(ctx, 0) // removes nothing, returns where the log begins
			if err != nil {
				return all, fmt.Errorf("retention by size: %w", err)
			}
			all.First = p.First
		}
		p, err := store.Prune(ctx, all.First+retainStep)
		if err != nil {
			return all, fmt.Errorf("retention by size: %w", err)
		}
		all.First = p.First
		all.Removed += p.Removed
		if p.Removed == 0 {
			break
		}
	}
	return all, nil
}

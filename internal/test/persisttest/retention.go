package persisttest

import (
	"context"
	"testing"
	"time"

	"github.com/seed82539d15/holon/persist"
)

func retention(t *testing.T, h Harness) {
	ctx := context.Background()
	m := NewMaker(t, h.Store, "thread_a")
	m.Start()
	m.Messages("", 1000, 5)
	m.Commit() // the n-th event is n ms after the epoch
	at := func(seq int64) time.Time { return epoch.Add(time.Duration(seq) * time.Millisecond) }
	for _, seq := range []int64{1, 2, 500, 1001} {
		if got, err := h.Store.ExpiredBefore(ctx, at(seq), at(5000)); err != nil || got != seq {
			t.Errorf("seq at the time of %d is %d, %v", seq, got, err)
		}
	}
	if got, err := h.Store.ExpiredBefore(ctx, at(5000), at(5000)); err != nil || got != 1002 {
		t.Errorf("seq in the future is %d, %v", got, err)
	}
	p, err := persist.Retention{MaxAgeDays: 1}.Enforce(ctx, h.Store, at(300).Add(24*time.Hour))
	if err != nil || p.First != 300 || p.Removed != 299 {
		t.Errorf("by age: %+v, %v", p, err)
	}
	if p, err = (persist.Retention{MaxBytes: 1 << 40}).Enforce(ctx, h.Store, at(0)); err != nil || p.Removed != 0 {
		t.Errorf("not too large: %+v, %v", p, err)
	}
	before, err := h.Store.UsedBytes(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if p, err = (persist.Retention{MaxBytes: 1}).Enforce(ctx, h.Store, at(0)); err != nil || p.First != 1002 || p.Removed != 702 {
		t.Errorf("too large: %+v, %v", p, err)
	}
	if after, err := h.Store.UsedBytes(ctx); err != nil || after >= before {
		t.Errorf("used %d bytes before, %d after, %v", before, after, err)
	}
}

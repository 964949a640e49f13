package persist

import (
	"context"
	"slices"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// counting is the count of the statuses of threads.
type counting struct {
	*summarizer
	ctx    context.Context
	out    turns.StatusCounts
	looked int
	seen   map[string]struct{} // threads that were looked at
}

// count counts what a query selects, the newest threads first: open ones, then closed
// ones. If these are too many, those that need somebody, work or have failed are found
// without looking at all.
func (x *summarizer) count(ctx context.Context) (*turns.StatusCounts, error) {
	c := &counting{summarizer: x, ctx: ctx, seen: map[string]struct{}{}}
	for _, state := range []threads.State{threads.Running, threads.Paused, threads.Closing, threads.Closed} {
		if x.q.State != "" && x.q.State != state {
			continue
		}
		err := x.s.Scan(ledger.Range{Index: threads.CountedByState, Prefix: []any{string(state)}, Newest: true}, func(v ledger.Values) error {
			if c.looked++; c.looked > turns.MaxListScan {
				c.out.AtLeast = true
				return ledger.ErrEnough
			}
			c.seen[v.Text(1)] = struct{}{}
			return c.add(v)
		})
		if err != nil {
			return nil, err
		}
		if c.out.AtLeast {
			return &c.out, c.addFound()
		}
	}
	return &c.out, nil
}

// addFound counts the threads that indexes find and the scan has not reached.
func (c *counting) addFound() error {
	for id := range c.statuses.found() {
		if _, ok := c.seen[id]; ok {
			continue
		}
		v, err := c.s.Get(threads.CountedByID, id)
		if err != nil {
			return err
		}
		if v == nil || c.q.State != "" && v.Text(2) != string(c.q.State) {
			continue
		}
		if err := c.add(v); err != nil {
			return err
		}
	}
	return nil
}

func (c *counting) add(v ledger.Values) error {
	t := threads.ReadCounted(v)
	if c.q.Agent != "" && t.Agent != c.q.Agent || slices.Contains(c.q.Uncounted, t.Agent) {
		return nil
	}
	status, err := c.statuses.of(t)
	if err != nil {
		return err
	}
	if c.q.Within != nil {
		if ok, err := c.q.Within.Has(c.ctx, t.ThreadID); err != nil || !ok {
			return err
		}
	}
	if t.Level > 0 && status != turns.ListNeedsYou {
		if below, err := c.below(t); err != nil || below {
			return err
		}
	}
	if ok, err := c.matches(t); err != nil || !ok {
		return err
	}
	switch status {
	case turns.ListNeedsYou:
		c.out.NeedsYou++
		if since := c.statuses.needs[t.ThreadID]; c.out.WaitingSince.IsZero() || since.Before(c.out.WaitingSince.Time) {
			c.out.WaitingSince = since
		}
	case turns.ListWorking:
		c.out.Working++
	case turns.ListFailed:
		c.out.Failed++
	case turns.ListDone:
		c.out.Done++
	case turns.ListClosed:
		c.out.Closed++
	}
	return nil
}

// below reports whether the owner of a child thread may be counted, too.
func (c *counting) below(t *threads.Thread) (bool, error) {
	if c.q.Within == nil {
		return true, nil
	}
	v, err := c.s.Get(threads.BriefByID, t.ThreadID)
	if err != nil || v == nil {
		return false, err
	}
	full, err := threads.ReadBrief(v)
	if err != nil {
		return false, err
	}
	return c.q.Within.Has(c.ctx, full.Parent.ThreadID)
}

package dispatch

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// rejudge looks again at mismatches of a turn, or of all turns. l.mu is held.
func (l *lane) rejudge(ctx context.Context, turnID string) {
	for _, d := range append([]*bridges.Delivery(nil), l.open...) {
		if d.State != bridges.StateMismatch || turnID != "" && d.TurnID != turnID {
			continue
		}
		if err := l.judge(ctx, d); err != nil {
			l.s.cfg.Log.Error("look at a mismatch again", zap.String("delivery_id", d.DeliveryID), zap.Error(err))
		}
	}
}

// blockedBy returns what mismatches hold up once the rows of a unit are committed, and the
// subscription is sub. l.mu is held.
func blockedBy(l *lane, sub *bridges.Subscription, rows []ledger.Row) *bridges.Blocked {
	if sub.State == bridges.Deleted {
		return nil
	}
	var list []*bridges.Delivery // mismatches, each as the unit leaves it
	of := func(d *bridges.Delivery) {
		if d.State == bridges.StateMismatch {
			list = append(list, d)
		}
	}
	for _, d := range l.open {
		of(d)
	}
	for _, row := range rows {
		if d := bridges.DeliveryOfRow(row); d != nil {
			list = slices.DeleteFunc(list, func(o *bridges.Delivery) bool { return o.Seq == d.Seq })
			of(d)
		}
	}
	slices.SortFunc(list, func(x, y *bridges.Delivery) int { return cmp.Compare(x.Seq, y.Seq) })
	return bridges.BlockedBy(list, sub.Order)
}

// saying returns the cursor with the error of a subscription that is blocked, which no success
// takes back, or without that of one that no longer is.
func saying(cursor cursors.Cursor, b *bridges.Blocked) cursors.Cursor {
	switch {
	case b != nil:
		cursor.LastError = b.Error()
	case strings.HasPrefix(cursor.LastError, "mismatch at "):
		cursor.LastError = ""
	}
	return cursor
}

// judge decides about a mismatch anew. If the rows agree now, what is sent is made
// anew too, from the event and these rows.
func (l *lane) judge(ctx context.Context, d *bridges.Delivery) error {
	page, err := l.s.cfg.Events.Page(ctx, notify.Query{After: d.Seq - 1, MaxEvents: 1})
	if err != nil {
		return err
	}
	if len(page.Events) == 0 || page.Events[0].Seq != d.Seq {
		return nil // the log no longer has the event: only skip and reset can settle it
	}
	c, err := bridges.ChosenAs(bridges.Event{Seq: d.Seq, ThreadID: d.ThreadID, Method: d.Method, Params: page.Events[0].Params}, d.EventType)
	if err != nil {
		return err
	}
	now, at := l.s.now(), l.s.cfg.Head() // before the snapshot
	t := &taken{chosen: c}
	if err := l.s.cfg.Read(ctx, func(tx ledger.Reader) error {
		row, err := bridgeRow(tx, d.BridgeID)
		if err != nil {
			return err
		}
		anew := l.sub.NewDelivery(c, now)
		anew.Moved = d.Moved
		return t.decide(tx, row, anew, l.s.cfg.LogID)
	}); err != nil {
		return err
	}
	switch {
	case t.verdict.Decision == bridges.Mismatch:
		return nil
	case t.verdict.Decision != bridges.Deliver:
		return l.settleNow(d, t.verdict)
	}
	next := *d
	next.State, next.Reason, next.Body = bridges.StatePending, "", nil
	next.End, next.Damaged, next.DecidedAt = t.delivery.End, false, at
	t.delivery, t.existing = &next, false
	l.fill(t, now)
	if err := l.commit(&ledger.Unit{Rows: next.WithBody()}, l.cursor); err != nil {
		return err
	}
	l.replace(&next)
	return nil
}

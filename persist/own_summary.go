package persist

import (
	"github.com/seed82539d15/holon/internal/sanitize"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/question"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// ownSummary is the part of a summary that follows from the rows of the thread itself:
// its turns, items, tries. Each of its units moves the thread's latest_seq.
type ownSummary struct {
	s      Snapshot
	tries  *completion
	titles *titles
	t      *threads.Thread
	out    turns.Summary

	active *turns.Brief
	last   *turns.Brief // the turn that ended last
	queued notify.Time  // since when the oldest queued turn waits
	review notify.Time  // since when the oldest end waits for a review
	saying string       // the newest open message of the active turn
}

func (o *ownSummary) summary() (turns.Summary, error) {
	o.out = turns.Summary{Spent: turns.SpentOf(o.t.Spent), Changed: o.t.Lines}
	for _, read := range []func() error{o.readTitle, o.readTurns, o.readReviews, o.readOpenItems, o.readError, o.readTimes} {
		if err := read(); err != nil {
			return o.out, err
		}
	}
	o.setStatus()
	recent, err := o.readRecent()
	o.out.Text = o.out.Now(recent)
	return o.out, err
}

func (o *ownSummary) readTitle() (err error) {
	o.out.Title, err = o.titles.of(o.t)
	return err
}

// readTurns finds the active turn, the queue, and the turn that ended last.
func (o *ownSummary) readTurns() error {
	if err := o.s.Scan(ledger.Range{Index: turns.BriefUnfinished, Prefix: []any{o.t.ThreadID}}, func(v ledger.Values) error {
		b := turns.ReadBrief(v)
		if b.State == turns.Active {
			o.active = &b
			return nil
		}
		if o.out.Queued++; o.queued.IsZero() || b.QueuedAt.Before(o.queued.Time) {
			o.queued = b.QueuedAt
		}
		return nil
	}); err != nil {
		return err
	}
	var err error
	if o.last, err = endedLast(o.s, o.t.ThreadID, turns.MaxSummaryTurns); err != nil {
		return err
	}
	if err := o.readHold(); err != nil {
		return err
	}
	switch {
	case o.active != nil:
		o.out.TurnID, o.out.Progress = o.active.TurnID, sanitize.Line(o.active.Message, turns.MaxSummaryText)
	case o.last != nil:
		o.out.TurnID = o.last.TurnID
	}
	return nil
}

// readHold finds since when a client holds the thread: since its last turn ended, because the
// start of any other ends the hold. Behind that turn there may be a whole queue.
func (o *ownSummary) readHold() (err error) {
	if !o.t.Held {
		return nil
	}
	o.out.HeldSince = o.t.StartedAt
	held := o.last
	if held == nil || held.State != turns.Interrupted {
		held, err = endedLast(o.s, o.t.ThreadID, lastTurns)
	}
	if held != nil {
		o.out.HeldSince = held.CompletedAt
	}
	return err
}

// endedLast finds the turn of a thread that ended last, among its newest ones; nil if
// there is none. Turns may overtake each other, so that is not always the newest one.
func endedLast(s Snapshot, threadID string, among int) (last *turns.Brief, err error) {
	looked := 0
	err = s.Scan(ledger.Range{Index: turns.BriefOfThread, Prefix: []any{threadID}, Newest: true}, func(v ledger.Values) error {
		b := turns.ReadBrief(v)
		if b.State.Ended() && !b.StartedAt.IsZero() && (last == nil || endedAfter(&b, last)) {
			last = &b
		}
		if looked++; looked == among {
			return ledger.ErrEnough
		}
		return nil
	})
	return last, err
}

// endedAfter compares when turns ended. A verdict about one changes updated_seq later.
func endedAfter(a, b *turns.Brief) bool {
	if a.CompletedAt.Equal(b.CompletedAt.Time) {
		return a.UpdatedSeq > b.UpdatedSeq
	}
	return a.CompletedAt.After(b.CompletedAt.Time)
}

func (o *ownSummary) readReviews() error {
	return o.s.Scan(ledger.Range{Index: turns.BriefInReview, Prefix: []any{o.t.ThreadID}}, func(v ledger.Values) error {
		if b := turns.ReadBrief(v); o.out.Reviews == 0 || b.CompletedAt.Before(o.review.Time) {
			o.review = b.CompletedAt
		}
		if o.out.Reviews++; o.out.Reviews == turns.MaxSummaryTurns {
			return ledger.ErrEnough
		}
		return nil
	})
}

// readOpenItems finds what the active turn asks and does. Items of superseded tries are
// not open.
func (o *ownSummary) readOpenItems() error {
	if o.active == nil {
		return nil
	}
	var asks []items.Brief
	doing := ""
	if err := o.s.Scan(ledger.Range{Index: items.BriefOpenOfTurn, Prefix: []any{o.active.TurnID}}, func(v ledger.Values) error {
		switch b := items.ReadBrief(v); {
		case b.Type.IsQuestion():
			if o.out.WaitingCount++; len(asks) < turns.MaxWaitingItems {
				asks = append(asks, b)
			}
		case isTool(b.Type):
			doing = b.ItemID
		case b.Type == items.KindAgentMessage:
			o.saying = b.ItemID
		}
		return nil
	}); err != nil {
		return err
	}
	for _, b := range asks {
		it, err := one(o.s, itemOf, items.ByID, b.ItemID)
		if err != nil || it == nil {
			return err
		}
		asked, err := turns.AskedOf(o.s, o.t, []byte(it.Content))
		if err != nil {
			return err
		}
		o.out.Waiting = append(o.out.Waiting, turns.WaitingItem{
			ItemID: b.ItemID, TurnID: b.TurnID, Type: b.Type, Title: sanitize.Line(question.Phrase(asked), turns.MaxSummaryText), Since: b.CreatedAt,
		})
	}
	if doing == "" {
		return nil
	}
	c, err := o.content(doing)
	o.out.Doing = turns.DoingOf(doing, c)
	return err
}

// content reads and decodes the content of an item.
func (o *ownSummary) content(itemID string) (items.Content, error) {
	it, err := one(o.s, itemOf, items.ByID, itemID)
	if err != nil || it == nil {
		return nil, err
	}
	return items.Decode(it.Content)
}

// readError finds how the turn that ended last did not complete.
func (o *ownSummary) readError() error {
	if o.last == nil {
		return nil
	}
	if o.last.State == turns.Completed && turns.StopsEarly(o.last.StopReason) {
		o.out.StopReason = sanitize.Line(o.last.StopReason, turns.MaxSummaryText)
	}
	if o.out.Interrupted = o.last.State == turns.Interrupted; !o.out.Interrupted && !o.last.Fails() {
		return nil
	}
	t, err := one(o.s, turns.Read, turns.ByID, o.last.TurnID)
	if err == nil && t != nil && o.out.Interrupted {
		o.out.Reason = sanitize.Line(t.Reason, turns.MaxSummaryText)
	}
	if err == nil && t != nil && t.Review != nil && t.Review.State.Refuses() {
		o.out.Review, o.out.Reason = t.Review.State, sanitize.Line(t.Review.Why(), turns.MaxSummaryText)
	}
	if err == nil && t != nil && t.Error != nil {
		o.out.Error = &turns.Failure{Kind: t.Error.Kind, Message: sanitize.Line(t.Error.Message, turns.MaxSummaryText)}
	}
	return err
}

// eventTimes finds the times of events.
var eventTimes = &ledger.Index{
	Table: ledger.NewTable(ledger.Table{Name: items.Deltas.Table.Name, Columns: []string{"seq", "time"}}), Columns: []string{"seq"},
}

// readTimes finds when the newest event was. If that is no longer kept, it is the latest
// time that the rows have.
func (o *ownSummary) readTimes() error {
	v, err := o.s.Get(eventTimes, o.t.LatestSeq)
	switch {
	case err != nil:
		return err
	case v != nil:
		o.out.UpdatedAt = notify.TimeFromMilli(v.Int(1))
		return nil
	}
	o.out.UpdatedAt = latest(o.t.StartedAt, o.t.ClosedAt, o.queued)
	if o.active != nil {
		o.out.UpdatedAt = latest(o.out.UpdatedAt, o.active.StartedAt)
	}
	if o.last != nil {
		o.out.UpdatedAt = latest(o.out.UpdatedAt, o.last.CompletedAt)
	}
	return nil
}

func latest(times ...notify.Time) (last notify.Time) {
	for _, t := range times {
		if t.After(last.Time) {
			last = t
		}
	}
	return last
}

func (o *ownSummary) setStatus() {
	s := &o.out
	switch {
	case o.t.State == threads.Closed:
		s.Status, s.Since = turns.SummaryClosed, o.t.ClosedAt
	case o.t.State == threads.Closing: // no row has the time; nothing but the end of the turn can follow
		s.Status, s.Since = turns.SummaryClosed, s.UpdatedAt
	case len(s.Waiting) > 0:
		s.Status, s.Since = turns.SummaryWaiting, s.Waiting[0].Since
	case s.Reviews > 0:
		s.Status, s.Since = turns.SummaryWaiting, o.review
	case o.active != nil:
		s.Status, s.Since = turns.SummaryWorking, o.active.StartedAt
	case s.Queued > 0:
		s.Status, s.Since = turns.SummaryWorking, o.queued
	case o.last != nil && o.last.Fails():
		s.Status, s.Since = turns.SummaryFailed, o.last.CompletedAt
	case o.last != nil:
		s.Status, s.Since = turns.SummaryIdle, o.last.CompletedAt
	default:
		s.Status, s.Since = turns.SummaryIdle, o.t.StartedAt
	}
}

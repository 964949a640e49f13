package inbox

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed82539d15/holon/inbox/schedule"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// Commands that manage an inbox: its policy, its sources, its timers and what it
// keeps.

// Check checks what needs no inbox. The error is a *turns.InvalidError.
func (c *Configure) Check() error {
	if err := checkReset(c.Reset); err != nil {
		return err
	}
	return c.Policy.Check()
}

// Configure changes the policy. inForce adds the defaults to what is set. Disabling it
// posts what is pending.
func (b *Book) Configure(c Configure, inForce func(Policy) Settings) (Policy, error) {
	next := b.rows.inbox().Policy.with(c.Policy, c.Reset)
	settings := inForce(next)
	if !next.equal(b.rows.inbox().Policy) {
		b.add(notify.InboxConfigured, &Configured{Policy: settings.Policy(), Set: next})
		if b.Settings.Enabled && !settings.Enabled {
			if _, err := b.FlushAll(ReasonLifecycle); err != nil {
				return Policy{}, err
			}
		}
	}
	if lease := settings.ToldLease; lease != 0 && lease != b.Settings.ToldLease && b.rows.inbox().UnackedEntries > b.rows.inbox().NewEntries {
		b.rows.leaseAt(b.Now.Milli()) // what is told already has this lease, too
	}
	b.Settings = settings
	return settings.Policy(), b.rows.err
}

// MaxSendBytes bounds the text of a message.
const MaxSendBytes = 32 << 10

// maxIDs bounds the thread ids and the methods of a subscription.
const maxIDs = 100

// Check checks what needs no inbox. The error is a *turns.InvalidError.
func (c *Subscribe) Check() error {
	switch {
	case c.SubscriptionID != "" && !threads.ValidID(c.SubscriptionID):
		return turns.Invalid("subscription_id", turns.ReasonInvalid, "must be 1 to 64 of A-Z a-z 0-9 _ -")
	case c.Source != SourceEvents && (!ValidSource(c.Source) || TakenForOwn(c.Source) != ""):
		return turns.Invalid("source", turns.ReasonInvalid, "must be events or a configured source")
	case len(c.ThreadIDs) > maxIDs || len(c.Methods) > maxIDs:
		return turns.Invalid("thread_ids", turns.ReasonTooMany, "at most %d thread_ids and %d methods", maxIDs, maxIDs)
	}
	if c.Source != SourceEvents && (c.ThreadIDs != nil || c.Methods != nil) {
		return turns.Invalid("thread_ids", turns.ReasonInvalid, "thread_ids and methods belong to the source events")
	}
	if c.Source == SourceEvents && c.Filter != "" {
		return turns.Invalid("filter", turns.ReasonInvalid, "belongs to configured sources")
	}
	return checkFollowed(c)
}

// Subscribe connects a source to the inbox. The same subscription again changes
// nothing. Errors: ErrConflict, ErrTooManySubscriptions.
func (b *Book) Subscribe(c Subscribe) (Subscription, bool, error) {
	if c.SubscriptionID == "" {
		c.SubscriptionID = "sub_" + uuid.Must(uuid.NewV7()).String()
	} else if old, ok := b.rows.Row(SubscriptionTable, SubscriptionKey(b.rows.threadID, c.SubscriptionID)).(*Subscription); ok {
		if old.Source != c.Source || old.Filter != c.Filter || !slices.Equal(old.ThreadIDs, c.ThreadIDs) || !slices.Equal(old.Methods, c.Methods) {
			return Subscription{}, false, ErrConflict
		}
		return *old, false, b.rows.err
	}
	n := 0
	b.rows.scan(SubscriptionTable, ledger.Range{Index: SubscriptionByID, Prefix: []any{b.rows.threadID}}, func(ledger.Row) bool { n++; return true })
	if n >= b.Bounds.MaxSubscriptions {
		return Subscription{}, false, ErrTooManySubscriptions
	}
	row := Subscription{
		SubscriptionID: c.SubscriptionID, Source: c.Source, Filter: c.Filter, ThreadIDs: c.ThreadIDs, Methods: c.Methods, CreatedAt: b.Now,
	}
	b.add(notify.InboxSubscribed, &Subscribed{Subscription: row})
	return row, true, b.rows.err
}

// Unsubscribe disconnects a source. Errors: ErrSubscriptionNotFound.
func (b *Book) Unsubscribe(id string) error {
	if _, ok := b.rows.Row(SubscriptionTable, SubscriptionKey(b.rows.threadID, id)).(*Subscription); !ok {
		if b.rows.err != nil {
			return b.rows.err
		}
		return ErrSubscriptionNotFound
	}
	b.add(notify.InboxUnsubscribed, &Unsubscribed{SubscriptionID: id})
	b.rows.lagThrough(id, 0)
	return b.rows.err
}

// spec returns the schedule of a timer.
func (t *Timer) spec() schedule.Spec {
	return schedule.Spec{At: t.At.Time, EverySeconds: t.EverySeconds, Cron: t.Cron, Timezone: t.Timezone}
}

// CreateTimer creates a timer. The same timer again changes nothing. Errors:
// *turns.InvalidError, ErrConflict, ErrTooManyTimers.
func (b *Book) CreateTimer(c CreateTimer) (Timer, bool, error) {
	row := Timer{
		TimerID: c.TimerID, At: c.At, EverySeconds: c.EverySeconds, Cron: c.Cron, Timezone: c.Timezone, Text: c.Text, CreatedAt: b.Now,
	}
	if row.TimerID == "" {
		row.TimerID = "timer_" + uuid.Must(uuid.NewV7()).String()
	} else if old, ok := b.rows.Row(TimerTable, TimerKey(b.rows.threadID, c.TimerID)).(*Timer); ok {
		if !old.At.Equal(c.At.Time) || old.EverySeconds != c.EverySeconds || old.Cron != c.Cron || old.Timezone != c.Timezone || old.Text != c.Text {
			return Timer{}, false, ErrConflict
		}
		return *old, false, b.rows.err
	}
	if err := checkSchedule(row.spec(), b.Now.Time); err != nil {
		return Timer{}, false, err
	}
	if b.rows.inbox().Timers >= b.Bounds.MaxTimers {
		return Timer{}, false, ErrTooManyTimers
	}
	row.NextAt = notify.TimeOf(row.spec().First(b.Now.Time))
	b.add(notify.TimerCreated, &TimerCreated{Timer: row})
	return row, true, b.rows.err
}

// DeleteTimer deletes a timer. Errors: ErrTimerNotFound.
func (b *Book) DeleteTimer(id string) error {
	if _, ok := b.rows.Row(TimerTable, TimerKey(b.rows.threadID, id)).(*Timer); !ok {
		if b.rows.err != nil {
			return b.rows.err
		}
		return ErrTimerNotFound
	}
	b.add(notify.TimerDeleted, &TimerDeleted{TimerID: id})
	return b.rows.err
}

// firedAtOnce is how many timers one unit fires.
const firedAtOnce = 100

// FireDue fires the timers whose planned time has come, each once: missed firings become
// one. A timer also fires if its item does not fit; the item is then counted as lagged.
func (b *Book) FireDue() error {
	var due []*Timer
	b.rows.scan(TimerTable, ledger.Range{Index: TimerNext, Prefix: []any{b.rows.threadID}, Until: b.Now.Milli() + 1}, func(row ledger.Row) bool {
		if t := row.(*Timer); !t.NextAt.After(b.Now.Time) { // else the unit has fired it already
			due = append(due, t)
		}
		return len(due) < firedAtOnce
	})
	for _, t := range due {
		last, n := t.spec().Missed(t.NextAt.Time, b.Now.Time, t.CreatedAt.Time)
		if n == 0 { // it cannot be: NextAt is a planned time and has come
			last, n = t.NextAt.Time, 1
		}
		planned := notify.TimeOf(last)
		b.add(notify.TimerFired, &TimerFired{
			TimerID: t.TimerID, PlannedAt: planned, Missed: n - 1, NextAt: notify.TimeOf(t.spec().Next(last, t.CreatedAt.Time)),
		})
		it := timerItem(t, planned, n-1)
		senders, err := b.room([]Item{it})
		if err != nil {
			b.Lag(SourceTimer, 1)
			continue
		}
		b.ingest(&it, senders[0])
	}
	return b.rows.err
}

// expireAtOnce is how many raw items one unit removes.
const expireAtOnce = 1000

// Expire removes what was acknowledged before a time, in pieces; more says that
// there is more to remove.
func (b *Book) Expire(before time.Time) (more bool, err error) {
	last, n, next := int64(0), 0, notify.Time{}
	r := ledger.Range{Index: RawOfThread, Prefix: []any{b.rows.threadID}, Only: where("expired", 0)}
	b.rows.scan(RawTable, r, func(row ledger.Row) bool {
		r := row.(*Raw)
		switch {
		case r.Expired || r.AckedSeq == 0:
		case n < expireAtOnce && r.AckedAt.Before(before):
			last = r.Seq
			n++
		case next.IsZero() || r.AckedAt.Before(next.Time):
			next = r.AckedAt
		}
		return true
	})
	if b.rows.err != nil || n == 0 && next.Milli() == b.rows.inbox().AckedAt {
		return false, b.rows.err
	}
	b.add(notify.InboxExpired, &Expired{ThroughRawID: RawID(last), AckedBefore: notify.TimeOf(before), NextAckedAt: next})
	return n == expireAtOnce, b.rows.err
}

// Close posts what is pending and what did not fit, and deletes timers and
// subscriptions, because the thread closes. Then the inbox can only be read.
func (b *Book) Close() error {
	if _, err := b.FlushAll(ReasonLifecycle); err != nil {
		return err
	}
	if err := postLags(b, true); err != nil {
		return err
	}
	var timers []string
	b.rows.scan(TimerTable, ledger.Range{Index: TimerOfThread, Prefix: []any{b.rows.threadID}}, func(row ledger.Row) bool {
		timers = append(timers, row.(*Timer).TimerID)
		return true
	})
	for _, id := range timers {
		b.add(notify.TimerDeleted, &TimerDeleted{TimerID: id})
	}
	var subscriptions []string
	b.rows.scan(SubscriptionTable, ledger.Range{Index: SubscriptionByID, Prefix: []any{b.rows.threadID}}, func(row ledger.Row) bool {
		subscriptions = append(subscriptions, row.(*Subscription).SubscriptionID)
		return true
	})
	for _, id := range subscriptions {
		b.add(notify.InboxUnsubscribed, &Unsubscribed{SubscriptionID: id})
	}
	return b.rows.err
}

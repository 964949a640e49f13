package inbox

import (
	"slices"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// Commands are the requests of clients, as in package turns. Results have the
// JSON of the wire.

// Ingest stores items, all of them or none.
type Ingest struct {
	ThreadID string      `json:"thread_id"`
	Items    []Item      `json:"items"`
	By       turns.By    `json:"-"` // who asks; "" = turns.ByClient
	Key      *ledger.Key `json:"-"`
}

// Ingested is the result of storing one item. A duplicate has the id of the raw item
// that was stored first. EntryID is set if the item was posted at once.
type Ingested struct {
	RawID     notify.ID `json:"raw_id,omitzero"`
	EntryID   notify.ID `json:"entry_id,omitzero"`
	DigestID  notify.ID `json:"digest_id,omitzero"`
	Duplicate bool      `json:"duplicate"`
}

// IngestResult answers inbox/ingest: one result for each item, in their order.
type IngestResult struct {
	Results []Ingested `json:"results"`
	Seq     int64      `json:"seq"`
}

// Send stores a message as one ungrouped item.
type Send struct {
	ThreadID string      `json:"thread_id"`
	Text     string      `json:"text"`
	Sender   string      `json:"sender,omitzero"` // a name, one line
	By       turns.By    `json:"-"`               // who asks; "" = turns.ByClient
	Key      *ledger.Key `json:"-"`
}

// SendResult answers inbox/send.
type SendResult struct {
	Ingested
	Seq int64 `json:"seq"`
}

// Configure changes the policy of an inbox. Members that are absent keep their
// value; those named in Reset get their default.
type Configure struct {
	ThreadID string      `json:"thread_id"`
	Policy   Policy      `json:"policy,omitzero"`
	Reset    []string    `json:"reset,omitzero"`
	By       turns.By    `json:"-"` // who asks; "" = turns.ByClient
	Key      *ledger.Key `json:"-"`
}

// ConfigureResult answers inbox/configure with the policy in force.
type ConfigureResult struct {
	ThreadID string `json:"thread_id"`
	Policy   Policy `json:"policy"`
	Seq      int64  `json:"seq"`
}

// Ack acknowledges exactly what the entries show, or exactly these items. Exactly one of
// EntryIDs, ThroughEntryID, All and RawIDs is set; All needs AsOfSeq, the as_of_seq of a read.
type Ack struct {
	ThreadID       string      `json:"thread_id"`
	EntryIDs       []notify.ID `json:"entry_ids,omitzero"`
	RawIDs         []notify.ID `json:"raw_ids,omitzero"`
	ThroughEntryID notify.ID   `json:"through_entry_id,omitzero"`
	All            bool        `json:"all,omitzero"`
	AsOfSeq        *int64      `json:"as_of_seq,omitzero"`
	By             By          `json:"-"` // "" = ByClient
	Key            *ledger.Key `json:"-"`

	// After makes it a later piece: entries up to this seq are left out. See AckResult.Next.
	After int64 `json:"-"`
}

// AckResult answers inbox/ack.
type AckResult struct {
	AckedEntries      int         `json:"acked_entries"` // that became fully acknowledged
	AckedItems        int         `json:"acked_items"`   // that were not acknowledged before
	RemainderEntryIDs []notify.ID `json:"remainder_entry_ids"`
	Seq               int64       `json:"seq"`

	// Next says that a unit would have become too large: the next piece is After this seq. 0 =
	// this was the last one.
	Next int64 `json:"-"`
}

// Add adds what earlier pieces have acknowledged.
func (r *AckResult) Add(earlier AckResult) {
	r.AckedEntries += earlier.AckedEntries
	r.AckedItems += earlier.AckedItems
	r.RemainderEntryIDs = append(slices.Clip(earlier.RemainderEntryIDs), r.RemainderEntryIDs...)
}

// FlushNow flushes one digest, or all of the inbox.
type FlushNow struct {
	ThreadID string      `json:"thread_id"`
	DigestID notify.ID   `json:"digest_id,omitzero"` // "" = all
	By       turns.By    `json:"-"`                  // who asks; "" = turns.ByClient
	Key      *ledger.Key `json:"-"`
}

// EntriesResult answers inbox/flush and inbox/wake.
type EntriesResult struct {
	EntryIDs []notify.ID `json:"entry_ids"`
	Seq      int64       `json:"seq"`
}

// WakeNow makes told entries that are not acknowledged new again, and ends what
// keeps the thread from being woken.
type WakeNow struct {
	ThreadID string      `json:"thread_id"`
	By       turns.By    `json:"-"` // who asks; "" = turns.ByClient
	Key      *ledger.Key `json:"-"`
}

// Subscribe connects a source to an inbox.
type Subscribe struct {
	ThreadID       string      `json:"thread_id"`
	SubscriptionID string      `json:"subscription_id,omitzero"` // "" = the server chooses one
	Source         string      `json:"source"`
	Filter         string      `json:"filter,omitzero"`     // an expression; configured sources only
	ThreadIDs      []string    `json:"thread_ids,omitzero"` // events only; none = all
	Methods        []string    `json:"methods,omitzero"`    // events only; none = the ends of turns
	By             turns.By    `json:"-"`                   // who asks; "" = turns.ByClient
	Key            *ledger.Key `json:"-"`
}

// Subscription is the row of a subscription, and what reads return.
type Subscription struct {
	SubscriptionID string      `json:"subscription_id"`
	Source         string      `json:"source"`
	Filter         string      `json:"filter,omitzero"`
	ThreadIDs      []string    `json:"thread_ids,omitempty"`
	Methods        []string    `json:"methods,omitempty"`
	CreatedAt      notify.Time `json:"created_at"`

	CreatedSeq int64  `json:"-"`
	ThreadID   string `json:"-"`
}

// SubscribeResult answers inbox/subscribe. Created is false if the same
// subscription existed.
type SubscribeResult struct {
	Subscription Subscription `json:"subscription"`
	Created      bool         `json:"created"`
	Seq          int64        `json:"seq"`
}

// Unsubscribe ends a subscription.
type Unsubscribe struct {
	ThreadID       string      `json:"thread_id"`
	SubscriptionID string      `json:"subscription_id"`
	By             turns.By    `json:"-"` // who asks; "" = turns.ByClient
	Key            *ledger.Key `json:"-"`
}

// UnsubscribeResult answers inbox/unsubscribe.
type UnsubscribeResult struct {
	SubscriptionID string `json:"subscription_id"`
	Seq            int64  `json:"seq"`
}

// CreateTimer creates a timer. Exactly one of At, EverySeconds and Cron is set.
type CreateTimer struct {
	ThreadID     string      `json:"thread_id"`
	TimerID      string      `json:"timer_id,omitzero"` // "" = the server chooses one
	At           notify.Time `json:"at,omitzero"`
	EverySeconds int64       `json:"every_seconds,omitzero"`
	Cron         string      `json:"cron,omitzero"`
	Timezone     string      `json:"timezone,omitzero"` // an IANA name for Cron; "" = UTC
	Text         string      `json:"text"`
	By           turns.By    `json:"-"` // who asks; "" = turns.ByClient
	Key          *ledger.Key `json:"-"`
}

// Timer is the row of a timer, and what reads return. NextAt is the planned time
// of its next firing.
type Timer struct {
	TimerID      string      `json:"timer_id"`
	At           notify.Time `json:"at,omitzero"`
	EverySeconds int64       `json:"every_seconds,omitzero"`
	Cron         string      `json:"cron,omitzero"`
	Timezone     string      `json:"timezone,omitzero"`
	Text         string      `json:"text"`
	NextAt       notify.Time `json:"next_at"`
	CreatedAt    notify.Time `json:"created_at"`
	LastFiredAt  notify.Time `json:"last_fired_at,omitzero"` // the planned time of the newest firing

	CreatedSeq int64  `json:"-"`
	ThreadID   string `json:"-"`
}

// TimerResult answers timer/create. Created is false if the same timer existed.
type TimerResult struct {
	Timer   Timer `json:"timer"`
	Created bool  `json:"created"`
	Seq     int64 `json:"seq"`
}

// DeleteTimer deletes a timer.
type DeleteTimer struct {
	ThreadID string      `json:"thread_id"`
	TimerID  string      `json:"timer_id"`
	By       turns.By    `json:"-"` // who asks; "" = turns.ByClient
	Key      *ledger.Key `json:"-"`
}

// DeleteTimerResult answers timer/delete.
type DeleteTimerResult struct {
	TimerID string `json:"timer_id"`
	Seq     int64  `json:"seq"`
}

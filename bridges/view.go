package bridges

import (
	"fmt"

	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/notify"
)

// SubscriptionView is what reads return of a subscription: the row, its cursor, and
// what it is doing.
type SubscriptionView struct {
	Subscription
	Cursor        cursors.Cursor `json:"cursor"`
	Blocked       *Blocked       `json:"blocked,omitzero"` // nil: no mismatch waits
	Pending       int            `json:"pending"`          // deliveries that are not settled, mismatches included
	Dead          int            `json:"dead"`             // deliveries that were given up and are still kept
	NextAttemptAt notify.Time    `json:"next_attempt_at,omitzero"`
}

// Blocked says what the oldest mismatch of a subscription holds up: it waits for the rows of its
// turn, for a client, or for the end of its row.
type Blocked struct {
	Seq        int64       `json:"seq"`
	DeliveryID string      `json:"delivery_id"`
	Count      int         `json:"count"` // mismatches
	Holds      Holds       `json:"holds"`
	Since      notify.Time `json:"since"`
}

// Holds says what waits behind a mismatch.
type Holds string

// The values of Holds.
const (
	HoldsAll  Holds = "all"  // everything of the subscription: its order is strict
	HoldsTurn Holds = "turn" // what is of the same turn
)

// Error returns last_error of the cursor of a subscription that is blocked.
func (b *Blocked) Error() string { return fmt.Sprintf("mismatch at %d", b.Seq) }

// BlockedBy returns what the mismatches of a subscription, in the order of their seqs, hold up; nil
// without one.
func BlockedBy(mismatches []*Delivery, order Order) *Blocked {
	if len(mismatches) == 0 {
		return nil
	}
	d := mismatches[0]
	b := &Blocked{Seq: d.Seq, DeliveryID: d.DeliveryID, Count: len(mismatches), Holds: HoldsTurn, Since: d.mismatchedAt()}
	if order == OrderStrict {
		b.Holds = HoldsAll
	}
	return b
}

// BridgeQuery selects a page of bridges, by their ids.
type BridgeQuery struct {
	Cursor     string // id after which the page begins
	Descending bool
	Limit      int
}

// SubscriptionQuery selects subscriptions, the oldest first. Empty fields select
// everything.
type SubscriptionQuery struct {
	BridgeID, ThreadID string
	IncludeDeleted     bool
	IncludeEnded       bool
	Cursor             string // created_seq after which the page begins
	Newest             bool   // the newest first
	Limit              int
}

// DeliveryQuery selects deliveries, the newest first. Empty fields select
// everything.
type DeliveryQuery struct {
	SubscriptionID, BridgeID string
	State                    DeliveryState
	Cursor                   string // "seq/subscription_id" after which the page begins
	Oldest                   bool   // the oldest first
	Limit                    int
}

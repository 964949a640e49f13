package bridges

import (
	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/notify"
)

// SubscriptionView is what reads return of a subscription: the row, its cursor, and
// what it is doing.
type SubscriptionView struct {
	Subscription
	Cursor        cursors.Cursor `json:"cursor"`
	Pending       int            `json:"pending"` // deliveries that are not settled, mismatches included
	Dead          int            `json:"dead"`    // deliveries that were given up and are still kept
	NextAttemptAt notify.Time    `json:"next_attempt_at,omitzero"`
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

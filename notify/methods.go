package notify

// The names of all notifications. They are constants so that a search finds
// every use; none is ever composed.
const (
	ThreadStarted = "thread/started"
	ThreadResumed = "thread/resumed"
	ThreadPaused  = "thread/paused"
	ThreadUpdated = "thread/updated"
	ThreadClosed  = "thread/closed"

	TurnQueued      = "turn/queued"
	TurnStarted     = "turn/started"
	TurnProgress    = "turn/progress"
	TurnCompleted   = "turn/completed"
	TurnInterrupted = "turn/interrupted"
	TurnFailed      = "turn/failed"

	ItemCreated = "item/created"
	ItemUpdated = "item/updated"
	ItemDeleted = "item/deleted"
	ItemDelta   = "item/delta"

	StepStarted = "step/started"
	StepEnded   = "step/ended"

	// StreamRewind is the marker: it says that a try of a step has been given
	// up. It is the one stream/* notification that is in the log. TurnLate
	// keeps what a try wrote after it had been given up.
	StreamRewind = "stream/rewind"
	TurnLate     = "turn/late"
	TurnDetached = "turn/detached"
	TurnReviewed = "turn/reviewed"

	InboxReceived     = "inbox/received"
	InboxPosted       = "inbox/posted"
	InboxAcked        = "inbox/acked"
	InboxTold         = "inbox/told"
	InboxUntold       = "inbox/untold"
	InboxWithdrawn    = "inbox/withdrawn"
	InboxWoken        = "inbox/woken"
	InboxStalled      = "inbox/stalled"
	InboxConfigured   = "inbox/configured"
	InboxSubscribed   = "inbox/subscribed"
	InboxUnsubscribed = "inbox/unsubscribed"
	InboxExpired      = "inbox/expired"

	TimerCreated = "timer/created"
	TimerFired   = "timer/fired"
	TimerDeleted = "timer/deleted"

	CursorReset   = "cursor/reset"
	CursorDeleted = "cursor/deleted"

	BridgeCreated  = "bridge/created"
	BridgeUpdated  = "bridge/updated"
	BridgePaused   = "bridge/paused"
	BridgeResumed  = "bridge/resumed"
	BridgeRotated  = "bridge/rotated"
	BridgeDisabled = "bridge/disabled"
	BridgeDeleted  = "bridge/deleted"

	SubscriptionCreated  = "subscription/created"
	SubscriptionUpdated  = "subscription/updated"
	SubscriptionPaused   = "subscription/paused"
	SubscriptionResumed  = "subscription/resumed"
	SubscriptionHeld     = "subscription/held"
	SubscriptionReset    = "subscription/reset"
	SubscriptionSkipped  = "subscription/skipped"
	SubscriptionDisabled = "subscription/disabled"
	SubscriptionEnded    = "subscription/ended"
	SubscriptionDeleted  = "subscription/deleted"

	DeliveryMismatch = "delivery/mismatch"
	DeliveryDead     = "delivery/dead"
	DeliveryLost     = "delivery/lost"

	TokenCreated = "token/created"
	TokenRevoked = "token/revoked"

	HolonPaused  = "holon/paused"
	HolonResumed = "holon/resumed"

	// These belong to a connection and are never in the log.
	StreamOpened    = "stream/opened"
	StreamHeartbeat = "stream/heartbeat"
	StreamClosing   = "stream/closing"
	HolonLog        = "holon/log"
)

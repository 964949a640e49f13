package inbox

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// Events are the events of inboxes and timers.
var Events = []ledger.EventType{
	ledger.Event[Received](notify.InboxReceived, ledger.OfThread, Fold, "Something arrived from outside, and is kept as it came: a raw item."),
	ledger.Event[Posted](notify.InboxPosted, ledger.OfThread, Fold, "An entry can be read: one raw item, or a snapshot of a digest, which supersedes the digest's snapshot before."),
	ledger.Event[Acked](notify.InboxAcked, ledger.OfThread, Fold, "Entries were acknowledged: exactly the raw items that they show. A visible snapshot of which nothing is left then is listed, too. With raw_ids exactly these items were, and entry_ids lists the visible entries of which nothing is left."),
	ledger.Event[Told](notify.InboxTold, ledger.OfThread, Fold, "Entries were given to the thread's agent, with the prompt of this turn."),
	ledger.Event[Withdrawn](notify.InboxWithdrawn, ledger.OfThread, Fold, "The end of a child turn was superseded before the agent was told: its entry counts as acknowledged."),
	ledger.Event[Untold](notify.InboxUntold, ledger.OfThread, Fold, "The turn ended without a word of its agent about what it was told, or with the reason lease, its entries were not acknowledged in time: they are new again."),
	ledger.Event[Woken](notify.InboxWoken, ledger.OfThread, Fold, "A client has made told entries new again, and ended what kept the thread from being woken."),
	ledger.Event[Stalled](notify.InboxStalled, ledger.OfThread, Fold, "New entries do not wake the thread, because a bound on wakes is reached. A turn of a client or inbox/wake lifts it."),
	ledger.Event[Configured](notify.InboxConfigured, ledger.OfThread, Fold, "The policy of an inbox was changed; policy has all members in force."),
	ledger.Event[Subscribed](notify.InboxSubscribed, ledger.OfThread, Fold, "A source was connected to an inbox."),
	ledger.Event[Unsubscribed](notify.InboxUnsubscribed, ledger.OfThread, Fold, "A source was disconnected from an inbox."),
	ledger.Event[Expired](notify.InboxExpired, ledger.OfThreadOrLog, Fold, "Raw items up to this one that were acknowledged before acked_before were removed, and their entries. With subject_thread_id: everything in the inbox of that closed thread."),
	ledger.Event[TimerCreated](notify.TimerCreated, ledger.OfThread, Fold, "A timer was created."),
	ledger.Event[TimerFired](notify.TimerFired, ledger.OfThread, Fold, "A timer fired: its raw item follows."),
	ledger.Event[TimerDeleted](notify.TimerDeleted, ledger.OfThread, Fold, "A timer was deleted."),
}

// withIDs marks bodies that have ids of events of their own unit: see
// notify.Draft.
type withIDs struct{}

// HasIDs implements notify.WithIDs.
func (withIDs) HasIDs() {}

// Requested is a part of the bodies of events that a request can cause.
type Requested struct {
	RequestedBy string `json:"requested_by,omitzero"` // the named token ("token:" and its name) that asked; "" = none
}

// isRequestedBy implements requested.
func (r *Requested) isRequestedBy(name string) { r.RequestedBy = name }

// requested is a body with a Requested.
type requested interface{ isRequestedBy(name string) }

// Received is the body of inbox/received. DigestID is set if the item goes into a
// digest; ResourceRef and EventFamily then say which, and FlushAt when it is
// posted at the latest. An item that opens a digest closes the one before with
// the same ResourceRef and EventFamily.
type Received struct {
	withIDs
	RawID       notify.ID      `json:"raw_id"`
	Source      string         `json:"source"`
	NativeID    string         `json:"native_id"`
	OccurredAt  notify.Time    `json:"occurred_at"`
	Sender      string         `json:"sender,omitzero"`
	Summary     string         `json:"summary,omitzero"`
	Payload     jsontext.Value `json:"payload,omitzero"`
	Truncated   bool           `json:"truncated,omitzero"`
	TotalBytes  int64          `json:"total_bytes,omitzero"`
	DigestID    notify.ID      `json:"digest_id,omitzero"`
	ResourceRef string         `json:"resource_ref,omitzero"`
	EventFamily string         `json:"event_family,omitzero"`
	FlushAt     notify.Time    `json:"flush_at,omitzero"`
	Chain       int            `json:"chain,omitzero"`
	About       string         `json:"about,omitzero"`
	Outcome     string         `json:"outcome,omitzero"`
	Link        string         `json:"link,omitzero"`     // where it can be looked at
	Fallback    bool           `json:"fallback,omitzero"` // of the digest: see Entry
	Flush       Flush          `json:"flush,omitzero"`    // of an item in a digest: first or passive

	// SubscriptionIDs are the subscriptions that have let it in when it was stored. When it comes
	// again for another one, nothing changes.
	SubscriptionIDs []string `json:"subscription_ids,omitempty"`
	Requested
}

// Posted is the body of inbox/posted. NewRawIDs are the items that are in an
// entry for the first time; the others were in the superseded one.
type Posted struct {
	withIDs
	Entry             Entry       `json:"entry"`
	SupersedesEntryID notify.ID   `json:"supersedes_entry_id,omitzero"`
	Reason            Reason      `json:"reason"`
	NewRawIDs         []notify.ID `json:"new_raw_ids"`
	ClosesDigest      bool        `json:"closes_digest,omitzero"` // the digest takes no items any more
	Requested
}

// Reason says why an entry was posted.
type Reason string

// The reasons.
const (
	ReasonItem      Reason = "item"      // it is not grouped
	ReasonJob       Reason = "job"       // the end of a job, which is acknowledged with it
	ReasonWindow    Reason = "window"    // no further item came, or one has waited long enough
	ReasonSize      Reason = "size"      // enough items came
	ReasonImmediate Reason = "immediate" // an item does not wait
	ReasonRollover  Reason = "rollover"  // another digest begins
	ReasonRemainder Reason = "remainder" // a part of the snapshot before was acknowledged
	ReasonLifecycle Reason = "lifecycle" // grouping was switched off, or the thread closes
	ReasonManual    Reason = "manual"    // inbox/flush
)

// Reasons lists the reasons.
var Reasons = []Reason{ReasonItem, ReasonJob, ReasonWindow, ReasonSize, ReasonImmediate, ReasonRollover, ReasonRemainder, ReasonLifecycle, ReasonManual}

// Acked is the body of inbox/acked. EntryIDs are the entries that were named or
// covered, and further visible ones that are acknowledged by it completely. If items were
// named, RawIDs are those of them that were not acknowledged before, and EntryIDs the visible
// entries of which they were all that was left.
type Acked struct {
	withIDs
	EntryIDs []notify.ID `json:"entry_ids"`
	RawIDs   []notify.ID `json:"raw_ids,omitzero"`
	RawCount int         `json:"raw_count"`
	By       By          `json:"by"`
	TurnID   string      `json:"turn_id,omitzero"`
}

// By says who acknowledged: one of these values, or a named token ("token:" and its
// name).
type By string

// The values of By.
const (
	ByClient By = "client"
	ByAgent  By = "agent" // its tool
	ByTurn   By = "turn"  // the completion of the turn that was told
	ByAwait  By = "await" // the answer of turn/await that told it
	ByJob    By = "job"   // it is the end of a job, which a program asks for
)

// Withdrawn is the body of inbox/withdrawn.
type Withdrawn struct {
	withIDs
	EntryID notify.ID `json:"entry_id"`
}

// Told is the body of inbox/told.
type Told struct {
	withIDs
	EntryIDs []notify.ID `json:"entry_ids"`
	TurnID   string      `json:"turn_id"`
}

// Untold is the body of inbox/untold. Silent counts the wakes in a row, this one
// included, that ended without a word of the agent.
type Untold struct {
	withIDs
	EntryIDs []notify.ID  `json:"entry_ids"`
	TurnID   string       `json:"turn_id"`
	Silent   int          `json:"silent"`
	Reason   UntoldReason `json:"reason,omitzero"`
}

// UntoldReason says why entries are new again.
type UntoldReason string

// UntoldLease says that told_lease_ms is over, and the entries are not acknowledged. Without a
// reason the turn has ended, or its attempt, without a word about them.
const UntoldLease UntoldReason = "lease"

// Woken is the body of inbox/woken.
type Woken struct {
	withIDs
	EntryIDs []notify.ID `json:"entry_ids"`
	Requested
}

// Stalled is the body of inbox/stalled. Until is set if time lifts it too.
type Stalled struct {
	Reason Stall       `json:"reason"`
	Until  notify.Time `json:"until,omitzero"`
}

// Stall says which bound keeps a thread from being woken.
type Stall string

// The bounds.
const (
	StallSilent Stall = "silent" // wakes in a row without a word of the agent
	StallRate   Stall = "rate"   // wakes within an hour
	StallChain  Stall = "chain"  // wakes that were caused by wakes
)

// Configured is the body of inbox/configured. Set is what was set by a client;
// Policy adds the defaults.
type Configured struct {
	Policy Policy `json:"policy"`
	Set    Policy `json:"set,omitzero"`
	Requested
}

// Subscribed is the body of inbox/subscribed.
type Subscribed struct {
	Subscription Subscription `json:"subscription"`
	Requested
}

// Unsubscribed is the body of inbox/unsubscribed.
type Unsubscribed struct {
	SubscriptionID string `json:"subscription_id"`
	Requested
}

// Expired is the body of inbox/expired: what was removed, up to a raw item, had been
// acknowledged before a time. NextAckedAt is when the item was acknowledged that is
// removed next; zero = there is none.
type Expired struct {
	ThroughRawID    notify.ID   `json:"through_raw_id,omitzero"`
	AckedBefore     notify.Time `json:"acked_before,omitzero"`
	NextAckedAt     notify.Time `json:"next_acked_at,omitzero"`
	SubjectThreadID string      `json:"subject_thread_id,omitzero"`
}

// TimerCreated is the body of timer/created.
type TimerCreated struct {
	Timer Timer `json:"timer"`
	Requested
}

// TimerFired is the body of timer/fired. PlannedAt is the planned time; Missed
// is how many earlier planned times it stands for. Without NextAt it was the last.
type TimerFired struct {
	TimerID   string      `json:"timer_id"`
	PlannedAt notify.Time `json:"planned_at"`
	Missed    int64       `json:"missed,omitzero"`
	NextAt    notify.Time `json:"next_at,omitzero"`
}

// TimerDeleted is the body of timer/deleted.
type TimerDeleted struct {
	TimerID string `json:"timer_id"`
	Requested
}

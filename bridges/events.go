package bridges

import (
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// Events are the events of bridges, subscriptions and deliveries. They belong to the whole
// log, because their thread may have closed. They change no rows that a rebuild makes: see
// docs/decisions.md.
var Events = []ledger.EventType{
	ledger.Event[BridgeEvent](notify.BridgeCreated, ledger.OfLog, nil, "A bridge was created, or came into the configuration."),
	ledger.Event[BridgeEvent](notify.BridgeUpdated, ledger.OfLog, nil, "A bridge was changed."),
	ledger.Event[BridgeEvent](notify.BridgePaused, ledger.OfLog, nil, "Nothing is sent through a bridge. The reason restored says that the log was restored from a backup."),
	ledger.Event[BridgeEvent](notify.BridgeResumed, ledger.OfLog, nil, "A bridge sends again."),
	ledger.Event[BridgeEvent](notify.BridgeRotated, ledger.OfLog, nil, "A bridge has new secrets."),
	ledger.Event[BridgeEvent](notify.BridgeDisabled, ledger.OfLog, nil, "The server sends nothing through a bridge until bridge/resume; reason says why."),
	ledger.Event[BridgeEvent](notify.BridgeDeleted, ledger.OfLog, nil, "A bridge was deleted."),
	ledger.Event[SubscriptionEvent](notify.SubscriptionCreated, ledger.OfLog, nil, "A subscription was created, or created again after its deletion."),
	ledger.Event[SubscriptionEvent](notify.SubscriptionUpdated, ledger.OfLog, nil, "A subscription chooses other events, or sends to another target, in the generation that begins."),
	ledger.Event[SubscriptionEvent](notify.SubscriptionPaused, ledger.OfLog, nil, "A subscription sends nothing."),
	ledger.Event[SubscriptionEvent](notify.SubscriptionResumed, ledger.OfLog, nil, "A subscription sends again: a client wants it, or its turn, which had ended, is tried again."),
	ledger.Event[SubscriptionEvent](notify.SubscriptionHeld, ledger.OfLog, nil, "Too many or too old events wait: nothing is sent until subscription/resume or subscription/skip."),
	ledger.Event[SubscriptionEvent](notify.SubscriptionReset, ledger.OfLog, nil, "A subscription goes on after to_seq; what it has sent since is sent again under the same ids."),
	ledger.Event[SubscriptionEvent](notify.SubscriptionSkipped, ledger.OfLog, nil, "What was held is not sent: everything up to to_seq, or the mismatch at from_seq."),
	ledger.Event[SubscriptionEvent](notify.SubscriptionDisabled, ledger.OfLog, nil, "The target said that nothing is to be sent there."),
	ledger.Event[SubscriptionEvent](notify.SubscriptionEnded, ledger.OfLog, nil, "The turn of a subscription is over, and everything about it was settled. A retry of the turn makes the subscription active again."),
	ledger.Event[SubscriptionEvent](notify.SubscriptionDeleted, ledger.OfLog, nil, "A subscription was deleted. Its cursor stays."),
	ledger.Event[DeliveryEvent](notify.DeliveryMismatch, ledger.OfLog, nil, "An event claims to be the accepted end of a turn, and the rows of the turn disagree: the store is damaged, and nothing is sent."),
	ledger.Event[DeliveryEvent](notify.DeliveryDead, ledger.OfLog, nil, "A delivery was given up."),
	ledger.Event[LostEvent](notify.DeliveryLost, ledger.OfLog, nil, "Events left the log before a subscription had seen them. It may have chosen some of them."),
}

// By says who has caused an event: one of these values, or a named token ("token:"
// and its name).
type By string

// The values of By.
const (
	ByClient By = "client"
	ByServer By = "server"
)

// BridgeEvent is the body of bridge/*.
type BridgeEvent struct {
	BridgeID string `json:"bridge_id"`
	Kind     Kind   `json:"kind"`
	State    State  `json:"state"`
	Reason   string `json:"reason,omitzero"`
	By       By     `json:"by"`
}

// SubscriptionEvent is the body of subscription/*.
type SubscriptionEvent struct {
	SubscriptionID  string `json:"subscription_id"`
	BridgeID        string `json:"bridge_id"`
	SubjectThreadID string `json:"subject_thread_id,omitzero"`
	SubjectTurnID   string `json:"subject_turn_id,omitzero"`
	State           State  `json:"state"`
	Reason          string `json:"reason,omitzero"`
	By              By     `json:"by"`
	FromSeq         int64  `json:"from_seq,omitzero"`
	ToSeq           int64  `json:"to_seq,omitzero"`
	Generation      int64  `json:"generation,omitzero"` // of a reset, or another target: the one that begins
}

// DeliveryEvent is the body of delivery/mismatch and delivery/dead.
type DeliveryEvent struct {
	DeliveryID      string `json:"delivery_id"`
	SubscriptionID  string `json:"subscription_id"`
	BridgeID        string `json:"bridge_id"`
	SubjectThreadID string `json:"subject_thread_id,omitzero"`
	SubjectTurnID   string `json:"subject_turn_id,omitzero"`
	SubjectSeq      int64  `json:"subject_seq"`
	Attempts        int    `json:"attempts,omitzero"`
	Reason          string `json:"reason"`
}

// LostEvent is the body of delivery/lost.
type LostEvent struct {
	SubscriptionID  string `json:"subscription_id"`
	BridgeID        string `json:"bridge_id"`
	SubjectThreadID string `json:"subject_thread_id,omitzero"`
	FromSeq         int64  `json:"from_seq"`
	ToSeq           int64  `json:"to_seq"`
}

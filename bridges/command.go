package bridges

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/internal/nearest"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

var validID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// CheckID checks the id of a bridge or a subscription.
func CheckID(field, id string) error {
	if !validID.MatchString(id) {
		return turns.Invalid(field, turns.ReasonInvalid, "an id has 1 to 64 letters, digits, _ and -")
	}
	return nil
}

// Commands are the requests of clients, embedded in the params of their methods.
// Check checks one; its error is a *turns.InvalidError.

// CreateBridge makes a bridge. What its kind needs is checked by the kind.
type CreateBridge struct {
	BridgeID string  `json:"bridge_id,omitzero"` // "" = the server makes one
	Kind     Kind    `json:"kind"`
	OnPause  OnPause `json:"on_pause,omitzero"` // "" = wait
	Settings
	Secrets
	Key *ledger.Key `json:"-"`
}

// Check checks the command.
func (c *CreateBridge) Check() error {
	if c.BridgeID != "" {
		if err := CheckID("bridge_id", c.BridgeID); err != nil {
			return err
		}
	}
	switch {
	case c.Kind == KindCommand:
		return turns.Invalid("kind", turns.ReasonInvalid, "a bridge that runs a program is for the configuration only")
	case !slices.Contains(Kinds, c.Kind):
		return turns.Invalid("kind", turns.ReasonInvalid, "%s", nearest.NoneOf(c.Kind, []Kind{KindWebhook, KindNtfy, KindSlack, KindGitHub}))
	}
	return checkOnPause(c.OnPause)
}

func checkOnPause(p OnPause) error {
	return turns.OneOf("on_pause", turns.ReasonInvalid, p, PauseWaits, PauseDrops)
}

// UpdateBridge changes members of a bridge that are not secret.
type UpdateBridge struct {
	BridgeID string      `json:"bridge_id"`
	OnPause  *OnPause    `json:"on_pause,omitzero"`
	URL      *string     `json:"url,omitzero"`
	Server   *string     `json:"server,omitzero"`
	APIURL   *string     `json:"api_url,omitzero"`
	Targets  *[]Target   `json:"targets,omitzero"` // all of them
	Key      *ledger.Key `json:"-"`
}

// Check checks the command.
func (c *UpdateBridge) Check() error {
	if c.OnPause != nil {
		return checkOnPause(*c.OnPause)
	}
	return nil
}

// RotateSecret gives a bridge new secrets; those that are not given stay. The server makes
// that of a webhook if none is given.
type RotateSecret struct {
	BridgeID string `json:"bridge_id"`
	Secrets
	Key *ledger.Key `json:"-"`
}

// ChangeBridge pauses or resumes a bridge.
type ChangeBridge struct {
	BridgeID string      `json:"bridge_id"`
	Reason   string      `json:"reason,omitzero"`
	By       By          `json:"-"` // "" = ByClient
	Key      *ledger.Key `json:"-"`
}

// Check checks the command.
func (c *ChangeBridge) Check() error { return checkReason(c.Reason, false) }

// DeleteBridge deletes a bridge, and with Cascade its subscriptions.
type DeleteBridge struct {
	BridgeID string      `json:"bridge_id"`
	Cascade  bool        `json:"cascade,omitzero"`
	By       By          `json:"-"` // "" = ByClient
	Key      *ledger.Key `json:"-"`
}

// BridgeResult answers the commands about bridges.
type BridgeResult struct {
	Bridge Bridge `json:"bridge"`
	Seq    int64  `json:"seq"`
	// Secret was made by the server. It is in the first answer only.
	Secret string `json:"secret,omitzero"`
}

// SetSeq implements ledger.Result. seq is that of the bridge's event, from which a stored
// result computes the other seqs of its unit.
func (r *BridgeResult) SetSeq(seq int64) {
	if r.Seq = seq; r.Bridge.UpdatedSeq < 0 {
		r.Bridge.AssignSeqs(firstOf(r.Bridge.UpdatedSeq, seq))
	}
}

// firstOf returns the seq of a unit's first draft, from a provisional seq and the
// real one.
func firstOf(provisional, seq int64) int64 { return seq - notify.AssignSeq(provisional, 0) }

// AssignSeqs makes the real seqs of the result: see ledger.Keyed.
func (r *BridgeResult) AssignSeqs(first int64) { r.Bridge.AssignSeqs(first) }

// TestResult answers bridge/test.
type TestResult struct {
	Delivered bool   `json:"delivered"`
	Status    int    `json:"status,omitzero"`
	Error     string `json:"error,omitzero"`
	LatencyMs int64  `json:"latency_ms"`
}

// CreateSubscription makes a subscription, or returns the one with this id.
type CreateSubscription struct {
	SubscriptionID string           `json:"subscription_id,omitzero"` // "" = the server makes one
	BridgeID       string           `json:"bridge_id"`
	Target         Target           `json:"target,omitzero"`
	ThreadID       string           `json:"thread_id,omitzero" given:"id"` // "" = all threads, or that of the turn
	TurnID         string           `json:"turn_id,omitzero" given:"id"`   // the subscription is of this turn, and of those that continue it; "" = of all
	On             []On             `json:"on,omitzero"`                   // neither On nor Methods: final
	Methods        []string         `json:"methods,omitzero"`
	From           *From            `json:"from,omitzero"`
	IncludeText    bool             `json:"include_text,omitzero"`
	Order          Order            `json:"order,omitzero"` // "" = turn
	By             By               `json:"-"`              // "" = ByClient
	Limited        bool             `json:"-"`              // by a token that is limited to threads: see Settings.Targets and MaxSubscriptionsEach
	Requester      ledger.Requester `json:"-"`
	Key            *ledger.Key      `json:"-"`
}

// Check checks the command.
func (c *CreateSubscription) Check() error {
	if c.SubscriptionID != "" {
		if err := CheckID("subscription_id", c.SubscriptionID); err != nil {
			return err
		}
	}
	if err := CheckID("bridge_id", c.BridgeID); err != nil {
		return err
	}
	if c.ThreadID != "" && !threads.ValidID(c.ThreadID) {
		return turns.Invalid("thread_id", turns.ReasonInvalid, "is no thread id")
	}
	if err := CheckOfTurn(c.TurnID, c.On); err != nil {
		return err
	}
	if err := turns.OneOf("order", turns.ReasonInvalid, c.Order, OrderTurn, OrderStrict); err != nil {
		return err
	}
	return checkChoice(c.On, c.Methods)
}

func checkChoice(on []On, methods []string) error {
	for i, o := range on {
		if !slices.Contains(Ons, o) {
			return turns.Invalid(indexed("on", i), turns.ReasonInvalid, "%s", nearest.NoneOf(o, Ons))
		}
	}
	if len(methods) > MaxMethods {
		return turns.Invalid("methods", turns.ReasonTooLarge, "at most %d", MaxMethods)
	}
	for i, m := range methods {
		switch {
		case !notify.ValidMethod(m) || strings.HasSuffix(m, "*"):
			return turns.Invalid(indexed("methods", i), turns.ReasonInvalid, "must be the name of an event")
		case m == notify.ItemDelta:
			return turns.Invalid(indexed("methods", i), turns.ReasonInvalid, "parts of texts are not delivered")
		}
	}
	return nil
}

// CheckOfTurn checks what a subscription of one turn chooses. Error: *turns.InvalidError.
func CheckOfTurn(turnID string, on []On) error {
	if i := slices.Index(on, OnInbox); i >= 0 && turnID != "" {
		return turns.Invalid(indexed("on", i), turns.ReasonInvalid, "entries of an inbox are of no turn")
	}
	return nil
}

// UpdateSubscription changes what a subscription chooses, and where it sends. Members that are
// nil stay. With another target it goes on where it is; what was not sent yet is sent there.
type UpdateSubscription struct {
	SubscriptionID string      `json:"subscription_id"`
	BridgeID       *string     `json:"bridge_id,omitzero"`
	Target         *Target     `json:"target,omitzero"`
	On             *[]On       `json:"on,omitzero"`
	Methods        *[]string   `json:"methods,omitzero"`
	IncludeText    *bool       `json:"include_text,omitzero"`
	Order          *Order      `json:"order,omitzero"`
	By             By          `json:"-"` // "" = ByClient
	Limited        bool        `json:"-"` // as of CreateSubscription
	Key            *ledger.Key `json:"-"`
}

// Check checks the command.
func (c *UpdateSubscription) Check() error {
	if c.BridgeID != nil {
		if err := CheckID("bridge_id", *c.BridgeID); err != nil {
			return err
		}
	}
	var on []On
	var methods []string
	if c.On != nil {
		on = *c.On
	}
	if c.Methods != nil {
		methods = *c.Methods
	}
	if known := []Order{OrderTurn, OrderStrict}; c.Order != nil && !slices.Contains(known, *c.Order) {
		return turns.Invalid("order", turns.ReasonInvalid, "%s", nearest.NoneOf(*c.Order, known))
	}
	return checkChoice(on, methods)
}

// Moves reports whether the command names where to send.
func (c *UpdateSubscription) Moves() bool { return c.BridgeID != nil || c.Target != nil }

// ChangeSubscription pauses, resumes or deletes a subscription.
type ChangeSubscription struct {
	SubscriptionID string      `json:"subscription_id"`
	Reason         string      `json:"reason,omitzero"`
	By             By          `json:"-"` // "" = ByClient
	Key            *ledger.Key `json:"-"`
}

// Check checks the command.
func (c *ChangeSubscription) Check() error { return checkReason(c.Reason, false) }

// ResetSubscription makes a subscription continue after ToSeq.
type ResetSubscription struct {
	SubscriptionID string      `json:"subscription_id"`
	ToSeq          *int64      `json:"to_seq"`
	Reason         string      `json:"reason"`
	By             By          `json:"-"` // "" = ByClient
	Key            *ledger.Key `json:"-"`
}

// Check checks the command.
func (c *ResetSubscription) Check() error {
	if *c.ToSeq < 0 {
		return turns.Invalid("to_seq", turns.ReasonRange, "a seq is not negative")
	}
	return checkReason(c.Reason, true)
}

// SkipSubscription gives up one mismatch, or everything that is held.
type SkipSubscription struct {
	SubscriptionID string      `json:"subscription_id"`
	Seq            int64       `json:"seq,omitzero"` // 0 = everything
	Reason         string      `json:"reason"`
	By             By          `json:"-"` // "" = ByClient
	Key            *ledger.Key `json:"-"`
}

// Check checks the command.
func (c *SkipSubscription) Check() error {
	if c.Seq < 0 {
		return turns.Invalid("seq", turns.ReasonRange, "a seq is not negative")
	}
	return checkReason(c.Reason, true)
}

func checkReason(reason string, required bool) error {
	switch {
	case required && strings.TrimSpace(reason) == "":
		return turns.Invalid("reason", turns.ReasonRequired, "say why")
	case len(reason) > MaxNoteBytes || !utf8.ValidString(reason):
		return turns.Invalid("reason", turns.ReasonTooLarge, "at most %d bytes of text", MaxNoteBytes)
	}
	return nil
}

// SubscriptionResult answers the commands about subscriptions.
type SubscriptionResult struct {
	Subscription SubscriptionView `json:"subscription"`
	Created      *bool            `json:"created,omitzero"` // of subscription/create only
	Seq          int64            `json:"seq"`
	LatestSeq    int64            `json:"latest_seq"`
}

// SetSeq implements ledger.Result. seq is that of the subscription's event, as for
// BridgeResult.
func (r *SubscriptionResult) SetSeq(seq int64) {
	r.Seq, r.LatestSeq = seq, max(r.LatestSeq, seq)
	if s := &r.Subscription.Subscription; s.UpdatedSeq < 0 {
		s.AssignSeqs(firstOf(s.UpdatedSeq, seq))
	}
}

// AssignSeqs makes the real seqs of the result: see ledger.Keyed.
func (r *SubscriptionResult) AssignSeqs(first int64) { r.Subscription.Subscription.AssignSeqs(first) }

// RedeliverResult answers delivery/redeliver.
type RedeliverResult struct {
	Delivery Delivery `json:"delivery"`
	Seq      int64    `json:"seq"`
}

// SetSeq implements ledger.Result.
func (r *RedeliverResult) SetSeq(seq int64) { r.Seq = seq }

// From is where a new subscription begins: "now", "beginning", or a seq; events
// above it are chosen.
type From struct {
	Beginning bool
	Seq       *int64 // nil with Beginning false: now
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *From) UnmarshalJSON(raw []byte) error {
	var word string
	var seq int64
	switch {
	case json.Unmarshal(raw, &word) == nil && (word == "now" || word == "beginning"):
		*f = From{Beginning: word == "beginning"}
	case json.Unmarshal(raw, &seq) == nil && seq >= 0:
		*f = From{Seq: &seq}
	default:
		return errors.New("it must be now, beginning or a seq")
	}
	return nil
}

// MarshalJSON implements json.Marshaler.
func (f From) MarshalJSON() ([]byte, error) {
	switch {
	case f.Beginning:
		return []byte(`"beginning"`), nil
	case f.Seq != nil:
		return json.Marshal(*f.Seq)
	}
	return []byte(`"now"`), nil
}

func indexed(name string, i int) string { return fmt.Sprintf("%s[%d]", name, i) }

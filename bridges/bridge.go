package bridges

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/seed82539d15/holon/notify"
)

// State is whether a bridge or a subscription delivers.
type State string

// The states. Held is of subscriptions: too much waits, and a client decides
// whether to send it. Disabled is what the server did because of the target. Ended is of
// subscriptions of a turn that is over: nothing is read for them before it is tried again.
// Deleted is of subscriptions whose cursor is still kept.
const (
	Active   State = "active"
	Paused   State = "paused"
	Held     State = "held"
	Disabled State = "disabled"
	Ended    State = "ended"
	Deleted  State = "deleted"
)

// Reasons of states that the server sets itself.
const (
	ReasonRestored      = "restored"       // the log was restored from a backup
	ReasonGone          = "gone"           // the target said that nothing is to be sent there
	ReasonFailing       = "failing"        // no success on several days
	ReasonBacklog       = "backlog"        // too many or too old events wait
	ReasonNotConfigured = "not_configured" // it is no longer in the configuration
	ReasonNoSecret      = "secret_missing"
)

// OnPause says whether events that come while a bridge is paused are sent later.
type OnPause string

// The values of OnPause.
const (
	PauseWaits OnPause = "wait" // they are delivered after the pause
	PauseDrops OnPause = "drop" // they are suppressed
)

// Bridge is a channel and what reads return of it, as Shown: never a secret.
type Bridge struct {
	BridgeID   string      `json:"bridge_id"`
	Kind       Kind        `json:"kind"`
	State      State       `json:"state"` // active, paused or disabled
	Reason     string      `json:"reason,omitzero"`
	Configured bool        `json:"configured"` // it is in the configuration, and is changed there only
	OnPause    OnPause     `json:"on_pause"`
	Settings               // by kind
	SecretHint string      `json:"secret_hint,omitzero"` // the last 4 characters
	RotatedAt  notify.Time `json:"rotated_at,omitzero"`  // for a day after it, webhooks have two signatures
	HeldUntil  notify.Time `json:"held_until,omitzero"`  // the target has asked to wait
	CreatedAt  notify.Time `json:"created_at"`
	UpdatedAt  notify.Time `json:"updated_at"`
	CreatedSeq int64       `json:"created_seq"`
	UpdatedSeq int64       `json:"updated_seq"`

	Generation int64     `json:"-"` // of the files of its secrets; 0 = it has none
	Previous   int64     `json:"-"` // the generation before a rotation; 0 = none
	FailedDays []string  `json:"-"` // days with failures since the last success, as 2006-01-02
	Drops      []DropGap `json:"-"` // pauses whose events are suppressed
	LogID      string    `json:"-"` // of the log in which it last delivered
	stored     bool
}

// Settings are the members of a bridge that are not secret.
type Settings struct {
	URL    string `json:"url,omitzero"`     // webhook
	Server string `json:"server,omitzero"`  // ntfy; "" = https://ntfy.sh
	APIURL string `json:"api_url,omitzero"` // github; "" = https://api.github.com
	// Targets are those besides the bridge's own to which a token may subscribe that is
	// limited to threads: ntfy, slack, github.
	Targets []Target `json:"targets,omitzero"`
}

// Equal reports whether two bridges have the same settings.
func (s Settings) Equal(o Settings) bool {
	return s.URL == o.URL && s.Server == o.Server && s.APIURL == o.APIURL && slices.Equal(s.Targets, o.Targets)
}

// HiddenQuery is what reads show for the query of a URL: it may have a token.
const HiddenQuery = "…"

// ShownURL returns a URL as reads show it.
func ShownURL(text string) string {
	if before, _, found := strings.Cut(text, "?"); found {
		return before + "?" + HiddenQuery
	}
	return text
}

// Shown returns the bridge as reads and answers show it.
func (b *Bridge) Shown() Bridge {
	shown := *b.Clone()
	shown.URL = ShownURL(b.URL)
	return shown
}

// Secrets are the members of a bridge that are never shown.
type Secrets struct {
	Secret     string `json:"secret,omitzero"`      // webhook: whsec_ and base64
	Token      string `json:"token,omitzero"`       // ntfy, slack, github
	WebhookURL string `json:"webhook_url,omitzero"` // slack, instead of a token
	Topic      string `json:"topic,omitzero"`       // ntfy: who knows it can read
}

// Hint returns the last 4 characters of the secret, so that a person can distinguish
// two bridges.
func (s Secrets) Hint() string {
	for _, text := range []string{s.Secret, s.Token, s.WebhookURL, s.Topic} {
		if len(text) >= 12 {
			return text[len(text)-4:]
		}
	}
	return ""
}

// Replaced returns the secrets with new ones, which replace those of the same name. A
// token and a webhook_url of Slack replace each other.
func (s Secrets) Replaced(with Secrets) Secrets {
	if with.Token != "" || with.WebhookURL != "" {
		s.Token, s.WebhookURL = "", ""
	}
	return Secrets{
		Secret: cmp.Or(with.Secret, s.Secret), Token: cmp.Or(with.Token, s.Token),
		WebhookURL: cmp.Or(with.WebhookURL, s.WebhookURL), Topic: cmp.Or(with.Topic, s.Topic),
	}
}

// DropGap are the seqs between which events are suppressed. To is 0 while the
// pause lasts.
type DropGap struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// maxGaps bounds how many pauses are remembered. Followers lag by seconds, so
// older ones hardly matter.
const maxGaps = 100

// Event returns the body of an event about the bridge.
func (b *Bridge) Event(by By) *BridgeEvent {
	return &BridgeEvent{BridgeID: b.BridgeID, Kind: b.Kind, State: b.State, Reason: b.Reason, By: by}
}

// Clone returns a copy that can be changed.
func (b *Bridge) Clone() *Bridge {
	next := *b
	next.FailedDays, next.Drops, next.Targets = slices.Clone(b.FailedDays), slices.Clone(b.Drops), slices.Clone(b.Targets)
	return &next
}

// Pause changes the bridge as bridge/paused of this seq does. The seq may be
// provisional.
func (b *Bridge) Pause(seq int64, at notify.Time, reason string) {
	b.State, b.Reason, b.UpdatedSeq, b.UpdatedAt = Paused, reason, seq, at
	b.SetOnPause(b.OnPause, seq)
}

// SetOnPause changes the bridge as bridge/updated of this seq does. During a pause the
// value counts for what comes from then on.
func (b *Bridge) SetOnPause(p OnPause, seq int64) {
	b.OnPause = p
	n := len(b.Drops)
	switch open := n > 0 && b.Drops[n-1].To == 0; {
	case b.State != Paused:
	case p == PauseDrops && !open:
		if b.Drops = append(b.Drops, DropGap{From: seq}); n >= maxGaps {
			b.Drops = b.Drops[n+1-maxGaps:]
		}
	case p != PauseDrops && open:
		b.Drops[n-1].To = seq
	}
}

// Resume changes the bridge as bridge/resumed of this seq does.
func (b *Bridge) Resume(seq int64, at notify.Time) {
	b.State, b.Reason, b.UpdatedSeq, b.UpdatedAt = Active, "", seq, at
	b.FailedDays = nil
	for i := range b.Drops { // two are open if a restore has paused it again
		if b.Drops[i].To == 0 {
			b.Drops[i].To = seq
		}
	}
}

// Dropped reports whether an event of this seq came during a pause that drops.
func (b *Bridge) Dropped(seq int64) bool {
	for _, g := range b.Drops {
		if seq > g.From && (g.To == 0 || seq < g.To) {
			return true
		}
	}
	return false
}

// Failed notes a failed attempt. changed says that the row is to be stored,
// disable that there were failures on too many days without a success.
func (b *Bridge) Failed(now time.Time) (changed, disable bool) {
	day := now.UTC().Format(time.DateOnly)
	if n := len(b.FailedDays); n > 0 && b.FailedDays[n-1] >= day {
		return false, false
	}
	b.FailedDays = append(b.FailedDays, day)
	return true, len(b.FailedDays) >= maxFailDays
}

package inbox

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// Item is one thing that arrives for an inbox. The members after Grouping are
// set by the server's own sources only.
type Item struct {
	Source     string         `json:"source"`
	NativeID   string         `json:"native_id"`            // its identity at the source: stored once for each inbox
	OccurredAt notify.Time    `json:"occurred_at,omitzero"` // see occurred
	Summary    string         `json:"summary,omitzero"`     // one line
	Payload    jsontext.Value `json:"payload,omitzero"`
	Grouping   *Grouping      `json:"grouping,omitzero"` // nil = not grouped
	About      string         `json:"about,omitzero"`    // what it is about, such as one comment: see Raw
	Outcome    string         `json:"outcome,omitzero"`  // what came of that, such as success

	// SubscriptionIDs are the subscriptions of the inbox that have let it in.
	SubscriptionIDs []string `json:"-"`

	Daily      bool   `json:"-"` // NativeID is only a hash of what was sent: see overlay.daily
	Link       string `json:"-"` // of a webhook: where it can be looked at, see sanitize.Link
	Sender     string `json:"-"` // who caused it: a digest says how many people did
	Chain      int    `json:"-"` // of the turn that it is about: see Wake
	Event      *Event `json:"-"` // of the source events: what it was made of
	Variant    string `json:"-"` // of a webhook: what kind of event it is, by which it is grouped if Policy.Fallback says so
	OfJob      bool   `json:"-"` // the end of a job, which is acknowledged at once: a program asks for it
	Truncated  bool   `json:"-"` // Payload is the beginning of the original, as a JSON string
	TotalBytes int64  `json:"-"` // of the original, if Truncated
}

// Grouping says which items belong together: those of one source with the same
// ResourceRef and EventFamily. An item without one of these is not grouped.
type Grouping struct {
	ResourceRef string `json:"resource_ref,omitzero"` // what it is about, such as pr:135
	EventFamily string `json:"event_family,omitzero"` // what kind of event it is, such as review_comments
	Flush       Flush  `json:"flush,omitzero"`
	Breaks      Breaks `json:"breaks,omitzero"`
}

// occurred returns when the item occurred, or when it arrived if its source gives no time or an
// impossible one. The epoch would mean "no time" in a row, and an event cannot have a year
// of five digits.
func (it *Item) occurred(arrived notify.Time) notify.Time {
	if at := it.OccurredAt; at.Milli() > 0 && at.UTC().Year() <= 9999 {
		return at
	}
	return arrived
}

// sender returns who caused the item: the sender that its source names, or else its payload.
func (it *Item) sender() string {
	if it.Sender != "" {
		return it.Sender
	}
	return senderOf(it.Payload)
}

// Flush says whether an item waits for further ones of its burst.
type Flush string

// The values of Flush; "" is FlushNormal.
const (
	FlushNormal    Flush = "normal"
	FlushImmediate Flush = "immediate"
	FlushPassive   Flush = "passive" // it waits for the next snapshot, and is no reason for one

	// FlushFirst does not wait, unless such an item has come since the last snapshot that was posted
	// for another reason, and not everything that was shown is acknowledged.
	FlushFirst Flush = "first"
)

// Flushes are the values of Flush.
var Flushes = []Flush{FlushNormal, FlushImmediate, FlushFirst, FlushPassive}

// Breaks says whether an item ends its digest: before it, so that it opens
// another one, or after it.
type Breaks string

// The values of Breaks; "" is BreaksNone.
const (
	BreaksNone   Breaks = "none"
	BreaksBefore Breaks = "before"
	BreaksAfter  Breaks = "after"
)

// groupIn returns the group of the item in an inbox with these settings; nil = it goes into no
// digest. A group without ResourceRef is a fallback: see Policy.
func (it *Item) groupIn(s *Settings) *Grouping {
	switch {
	case !s.Enabled:
		return nil
	case it.Grouping != nil && it.Grouping.ResourceRef != "" && it.Grouping.EventFamily != "":
		return it.Grouping
	case it.Variant != "" && s.Fallback:
		return &Grouping{EventFamily: it.Variant}
	}
	return nil
}

// The sources of the server itself. Nothing else may use their names, nor names that
// could be taken for them: see TakenForOwn.
const (
	SourceMessage = "message"
	SourceEvents  = "events"
	SourceTurns   = "turns"
	SourceTimer   = "timer"
)

// OwnSources are the names of the server's own sources.
var OwnSources = []string{SourceMessage, SourceEvents, SourceTurns, SourceTimer}

// The bounds of items.
const (
	MaxItems        = 256      // of one inbox/ingest
	MaxPayloadBytes = 64 << 10 // of a payload
	MaxSummary      = 400      // characters
	MaxIDBytes      = 256      // of a native_id, a resource_ref, an event_family, an about
	MaxOutcome      = 32       // of an outcome
	MaxSourceBytes  = 64
)

// Check checks the item. field is its path, such as items[3]. The error is a
// *turns.InvalidError.
func (it *Item) Check(field string) error {
	at := func(name string) string { return field + "." + name }
	if !ValidSource(it.Source) {
		return turns.Invalid(at("source"), turns.ReasonInvalid, "must be 1 to %d of a-z A-Z 0-9 . _ -", MaxSourceBytes)
	}
	texts := map[string]string{"native_id": it.NativeID, "about": it.About}
	if g := it.Grouping; g != nil {
		texts["grouping.resource_ref"], texts["grouping.event_family"] = g.ResourceRef, g.EventFamily
		if err := turns.OneOf(at("grouping.flush"), turns.ReasonUnknown, g.Flush, Flushes...); err != nil {
			return err
		}
		if err := turns.OneOf(at("grouping.breaks"), turns.ReasonUnknown, g.Breaks, BreaksNone, BreaksBefore, BreaksAfter); err != nil {
			return err
		}
	}
	for name, s := range texts {
		if len(s) > MaxIDBytes {
			return turns.Invalid(at(name), turns.ReasonTooLarge, "has %d bytes, at most %d are allowed", len(s), MaxIDBytes)
		}
		if !isLine(s) {
			return turns.Invalid(at(name), turns.ReasonInvalid, "must be UTF-8 without control characters")
		}
	}
	switch {
	case it.Outcome != "" && !ValidOutcome(it.Outcome):
		return turns.Invalid(at("outcome"), turns.ReasonInvalid, "must be 1 to %d of a-z _", MaxOutcome)
	case it.NativeID == "":
		return turns.Invalid(at("native_id"), turns.ReasonRequired, "must not be empty")
	case utf8.RuneCountInString(it.Summary) > MaxSummary:
		return turns.Invalid(at("summary"), turns.ReasonTooLarge, "must have at most %d characters", MaxSummary)
	case !isLine(it.Summary):
		return turns.Invalid(at("summary"), turns.ReasonInvalid, "must be one line without control characters")
	case len(it.Payload) > MaxPayloadBytes:
		return turns.Invalid(at("payload"), turns.ReasonTooLarge, "has %d bytes, at most %d are allowed", len(it.Payload), MaxPayloadBytes)
	}
	return nil
}

// ValidSource reports whether a source may have the name.
func ValidSource(name string) bool {
	if name == "" || len(name) > MaxSourceBytes {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' && c != '.' {
			return false
		}
	}
	return true
}

// ValidOutcome reports whether an item may have the outcome.
func ValidOutcome(s string) bool {
	return s != "" && len(s) <= MaxOutcome && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz_") == ""
}

// TakenForOwn returns the source of the server that has this name, or that a person or
// a model could take it for; "" if there is none. Names are compared without upper
// case, separators and a plural, and with characters that look alike as one. A sender
// with such a name could pass its words off as a reminder or as the end of a turn.
func TakenForOwn(name string) string {
	for _, own := range OwnSources {
		if skeleton(name) == skeleton(own) {
			return own
		}
	}
	return ""
}

var lookAlikes = strings.NewReplacer(".", "", "_", "", "-", "", "0", "o", "1", "i", "l", "i", "5", "s", "rn", "m")

func skeleton(name string) string {
	return strings.TrimRight(lookAlikes.Replace(strings.ToLower(name)), "s")
}

// checkNotOwn refuses a source of others whose name is one of the server's. field is
// the member.
func checkNotOwn(field, source string) error {
	switch own := TakenForOwn(source); own {
	case "":
		return nil
	case source:
		return turns.Invalid(field, turns.ReasonInvalid, "the source %s belongs to the server", source)
	default:
		return turns.Invalid(field, turns.ReasonInvalid, "the source %s could be taken for %s, which belongs to the server", source, own)
	}
}

// isLine reports whether s is valid UTF-8 without control characters.
func isLine(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, turns.BreaksLine) < 0
}

// Minimal returns a payload as its event has it: without white space, and with strings
// in their shortest form. An item must count the same bytes when it arrives and when its
// event is folded again, so every payload from outside becomes minimal before it is
// stored. Invalid JSON is returned unchanged.
func Minimal(payload jsontext.Value) jsontext.Value {
	if len(payload) == 0 {
		return payload
	}
	short := payload.Clone()
	if err := short.Format(); err != nil {
		return payload
	}
	return short
}

// Cut sets the payload. One larger than MaxPayloadBytes is replaced by a JSON
// string with its beginning, and the item says so; it keeps its sender.
func (it *Item) Cut(payload jsontext.Value) {
	it.Payload = Minimal(payload)
	if len(it.Payload) <= MaxPayloadBytes {
		return
	}
	it.Sender = it.sender()
	it.Truncated, it.TotalBytes = true, int64(len(payload))
	// Quotes in JSON take two bytes as a string: half of the bound always fits.
	head := strings.ToValidUTF8(string(payload[:MaxPayloadBytes/2-8]), "")
	quoted, err := jsontext.AppendQuote(nil, head)
	if err != nil || len(quoted) > MaxPayloadBytes {
		quoted = []byte(fmt.Sprintf(`"%d bytes"`, len(payload)))
	}
	it.Payload = quoted
}

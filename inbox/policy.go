package inbox

import (
	"fmt"
	"slices"
	"time"

	"github.com/seed82539d15/holon/turns"
)

// Policy says how an inbox groups items, and what follows from new entries. A
// member that is nil, or "", is not set: the default holds. Times are in
// milliseconds.
type Policy struct {
	Enabled        *bool  `json:"enabled,omitzero"`           // true; false posts every item by itself
	WindowMs       *int64 `json:"window_ms,omitzero"`         // 30,000: how long a digest waits for the next item of a burst
	MaxDelayMs     *int64 `json:"max_delay_ms,omitzero"`      // 120,000: how long an item waits at most
	MaxItems       *int64 `json:"max_items,omitzero"`         // 20: how many items wait at most in one digest
	MaxDigestAgeMs *int64 `json:"max_digest_age_ms,omitzero"` // 86,400,000: how long a digest takes items
	Wake           Wake   `json:"wake,omitzero"`              // idle for agents of kind acp, else none
	Ack            AckBy  `json:"ack,omitzero"`               // turn_end
}

// Wake says whether new entries start a turn.
type Wake string

// The values of Wake.
const (
	WakeIdle Wake = "idle" // when no turn of the thread is active or queued
	WakeNone Wake = "none"
)

// AckBy says what acknowledges the entries that an agent was told.
type AckBy string

// The values of AckBy.
const (
	AckTurnEnd  AckBy = "turn_end" // the completion of the turn that was told
	AckExplicit AckBy = "explicit" // only inbox/ack
)

// Settings are a policy with its defaults.
type Settings struct {
	Enabled      bool
	Window       time.Duration
	MaxDelay     time.Duration
	MaxItems     int
	MaxDigestAge time.Duration
	Wake         Wake
	Ack          AckBy
}

// The bounds of a policy: times in milliseconds.
const (
	minTime     = 100
	maxTime     = int64(31 * 24 * time.Hour / time.Millisecond)
	maxMaxItems = 10_000
)

// PolicyMembers are the names of a policy's members, as Configure.Reset has them.
var PolicyMembers = []string{"enabled", "window_ms", "max_delay_ms", "max_items", "max_digest_age_ms", "wake", "ack"}

// Settings returns the policy in force. wake is the default of its member.
func (p Policy) Settings(wake Wake) Settings {
	duration := func(v *int64, otherwise time.Duration) time.Duration {
		if v == nil {
			return otherwise
		}
		return time.Duration(*v) * time.Millisecond
	}
	s := Settings{
		Enabled: p.Enabled == nil || *p.Enabled, MaxItems: 20, Wake: wake, Ack: AckTurnEnd,
		Window: duration(p.WindowMs, 30*time.Second), MaxDelay: duration(p.MaxDelayMs, 2*time.Minute),
		MaxDigestAge: duration(p.MaxDigestAgeMs, 24*time.Hour),
	}
	if p.MaxItems != nil {
		s.MaxItems = int(*p.MaxItems)
	}
	if p.Wake != "" {
		s.Wake = p.Wake
	}
	if p.Ack != "" {
		s.Ack = p.Ack
	}
	return s
}

// Policy returns the settings as a policy of which every member is set.
func (s Settings) Policy() Policy {
	ms := func(d time.Duration) *int64 { n := d.Milliseconds(); return &n }
	n := int64(s.MaxItems)
	return Policy{
		Enabled: &s.Enabled, WindowMs: ms(s.Window), MaxDelayMs: ms(s.MaxDelay), MaxItems: &n,
		MaxDigestAgeMs: ms(s.MaxDigestAge), Wake: s.Wake, Ack: s.Ack,
	}
}

// Check checks the members that are set. The error is a *turns.InvalidError.
func (p Policy) Check() error {
	for _, v := range []struct {
		name        string
		value       *int64
		least, most int64
	}{
		{"window_ms", p.WindowMs, minTime, maxTime},
		{"max_delay_ms", p.MaxDelayMs, minTime, maxTime},
		{"max_items", p.MaxItems, 1, maxMaxItems},
		{"max_digest_age_ms", p.MaxDigestAgeMs, minTime, maxTime},
	} {
		if v.value != nil && (*v.value < v.least || *v.value > v.most) {
			return turns.Invalid("policy."+v.name, turns.ReasonRange, "must be between %d and %d", v.least, v.most)
		}
	}
	if err := turns.OneOf("policy.wake", turns.ReasonUnknown, p.Wake, WakeIdle, WakeNone); err != nil {
		return err
	}
	return turns.OneOf("policy.ack", turns.ReasonUnknown, p.Ack, AckTurnEnd, AckExplicit)
}

// checkReset checks the names of members.
func checkReset(names []string) error {
	for i, name := range names {
		if !slices.Contains(PolicyMembers, name) {
			return turns.Invalid(fmt.Sprintf("reset[%d]", i), turns.ReasonUnknown, "%.64q is no member of a policy", name)
		}
	}
	return nil
}

// with returns the policy after the members in reset got their default and those
// that are set in over were replaced.
func (p Policy) with(over Policy, reset []string) Policy {
	for _, name := range reset {
		switch name {
		case "enabled":
			p.Enabled = nil
		case "window_ms":
			p.WindowMs = nil
		case "max_delay_ms":
			p.MaxDelayMs = nil
		case "max_items":
			p.MaxItems = nil
		case "max_digest_age_ms":
			p.MaxDigestAgeMs = nil
		case "wake":
			p.Wake = ""
		case "ack":
			p.Ack = ""
		}
	}
	for _, m := range []struct{ to, from **int64 }{
		{&p.WindowMs, &over.WindowMs}, {&p.MaxDelayMs, &over.MaxDelayMs}, {&p.MaxItems, &over.MaxItems}, {&p.MaxDigestAgeMs, &over.MaxDigestAgeMs},
	} {
		if *m.from != nil {
			*m.to = *m.from
		}
	}
	if over.Enabled != nil {
		p.Enabled = over.Enabled
	}
	if over.Wake != "" {
		p.Wake = over.Wake
	}
	if over.Ack != "" {
		p.Ack = over.Ack
	}
	return p
}

// equal reports whether two policies set the same members to the same values.
func (p Policy) equal(o Policy) bool {
	same := func(a, b *int64) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }
	return (p.Enabled == nil) == (o.Enabled == nil) && (p.Enabled == nil || *p.Enabled == *o.Enabled) &&
		same(p.WindowMs, o.WindowMs) && same(p.MaxDelayMs, o.MaxDelayMs) && same(p.MaxItems, o.MaxItems) &&
		same(p.MaxDigestAgeMs, o.MaxDigestAgeMs) && p.Wake == o.Wake && p.Ack == o.Ack
}

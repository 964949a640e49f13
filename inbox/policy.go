package inbox

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
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

	WakeWhen      WakeWhen `json:"wake_when,omitzero"`        // settled: of the ends of background child turns
	WakeMaxWaitMs *int64   `json:"wake_max_wait_ms,omitzero"` // 1,800,000: how long an end waits for its siblings at most; 0 = without a bound

	WakeWindowMs *int64 `json:"wake_window_ms,omitzero"` // 1,000: how long new entries wait for further ones before they wake; 0 = they do not
	ToldLeaseMs  *int64 `json:"told_lease_ms,omitzero"`  // 0 = never: how long after the end of its turn a told entry becomes new again
	Fallback     *bool  `json:"fallback,omitzero"`       // true; false posts webhooks without hints by themselves
}

// Wake says whether new entries start a turn.
type Wake string

// The values of Wake.
const (
	WakeIdle Wake = "idle" // when no turn of the thread is active or queued
	WakeNone Wake = "none"
)

// WakeWhen says when the ends of background child turns wake their owner, if nothing else
// does.
type WakeWhen string

// The values of WakeWhen.
const (
	WhenSettled WakeWhen = "settled" // once all background child turns of the same turn have ended
	WhenEach    WakeWhen = "each"    // at every end
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
	WakeWhen     WakeWhen
	WakeMaxWait  time.Duration // 0 = without a bound
	WakeWindow   time.Duration // 0 = new entries wake at once
	ToldLease    time.Duration // 0 = told entries stay told
	Fallback     bool          // webhooks without hints are grouped by what they are
}

// The bounds of a policy: times in milliseconds.
const (
	minTime     = 100
	minLease    = 60_000
	maxTime     = int64(31 * 24 * time.Hour / time.Millisecond)
	maxMaxItems = 10_000
)

// PolicyMembers are the names of a policy's members, as Configure.Reset has them.
var PolicyMembers = func() (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Policy]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}()

// Settings returns the policy in force. wake is the default of its member.
func (p Policy) Settings(wake Wake) Settings {
	duration := func(v *int64, otherwise time.Duration) time.Duration {
		if v == nil {
			return otherwise
		}
		return time.Duration(*v) * time.Millisecond
	}
	s := Settings{
		Enabled: p.Enabled == nil || *p.Enabled, MaxItems: 20, Wake: wake, Ack: AckTurnEnd, WakeWhen: WhenSettled,
		Window: duration(p.WindowMs, 30*time.Second), MaxDelay: duration(p.MaxDelayMs, 2*time.Minute),
		MaxDigestAge: duration(p.MaxDigestAgeMs, 24*time.Hour), WakeMaxWait: duration(p.WakeMaxWaitMs, 30*time.Minute),
		WakeWindow: duration(p.WakeWindowMs, time.Second), ToldLease: duration(p.ToldLeaseMs, 0), Fallback: p.Fallback == nil || *p.Fallback,
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
	if p.WakeWhen != "" {
		s.WakeWhen = p.WakeWhen
	}
	return s
}

// Policy returns the settings as a policy of which every member is set.
func (s Settings) Policy() Policy {
	ms := func(d time.Duration) *int64 { n := d.Milliseconds(); return &n }
	n := int64(s.MaxItems)
	return Policy{
		Enabled: &s.Enabled, WindowMs: ms(s.Window), MaxDelayMs: ms(s.MaxDelay), MaxItems: &n,
		MaxDigestAgeMs: ms(s.MaxDigestAge), Wake: s.Wake, Ack: s.Ack, WakeWhen: s.WakeWhen, WakeMaxWaitMs: ms(s.WakeMaxWait),
		WakeWindowMs: ms(s.WakeWindow), ToldLeaseMs: ms(s.ToldLease), Fallback: &s.Fallback,
	}
}

// Check checks the members that are set. The error is a *turns.InvalidError.
func (p Policy) Check() error {
	for _, v := range []struct {
		name        string
		value       *int64
		least, most int64
		orZero      string // what 0 means; "" = it is not allowed
	}{
		{"window_ms", p.WindowMs, minTime, maxTime, ""},
		{"max_delay_ms", p.MaxDelayMs, minTime, maxTime, ""},
		{"max_items", p.MaxItems, 1, maxMaxItems, ""},
		{"max_digest_age_ms", p.MaxDigestAgeMs, minTime, maxTime, ""},
		{"wake_max_wait_ms", p.WakeMaxWaitMs, minTime, maxTime, ", or 0 for no bound"},
		{"wake_window_ms", p.WakeWindowMs, minTime, maxTime, ", or 0 for at once"},
		{"told_lease_ms", p.ToldLeaseMs, minLease, maxTime, ", or 0 for never"},
	} {
		if v.value != nil && (*v.value < v.least || *v.value > v.most) && (*v.value != 0 || v.orZero == "") {
			return turns.Invalid("policy."+v.name, turns.ReasonRange, "must be between %d and %d%s", v.least, v.most, v.orZero)
		}
	}
	if err := turns.OneOf("policy.wake_when", turns.ReasonUnknown, p.WakeWhen, WhenSettled, WhenEach); err != nil {
		return err
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
	to, from := reflect.ValueOf(&p).Elem(), reflect.ValueOf(over)
	for i, name := range PolicyMembers {
		switch {
		case !from.Field(i).IsZero():
			to.Field(i).Set(from.Field(i))
		case slices.Contains(reset, name):
			to.Field(i).SetZero()
		}
	}
	return p
}

// equal reports whether two policies set the same members to the same values.
func (p Policy) equal(o Policy) bool { return reflect.DeepEqual(p, o) }

package config

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/turns"
)

// policyTable is the table of the policies of inboxes: [inbox] and [agents.NAME.inbox].
const policyTable = "inbox"

// policyKeys returns the keys of a policy of inboxes. The order is that of its members. What is not
// given stays unset: whether it has a default of its own depends on the thread.
func policyKeys[C any](at func(*C) *inbox.Policy) []Key[C] {
	word := func(name, help string, of func(*inbox.Policy) *string) Key[C] {
		return text(policyTable+"."+name, help, func(c *C) *string { return of(at(c)) })
	}
	keys := []Key[C]{
		given("enabled", Bool, "whether items that belong together become one entry", at, func(p *inbox.Policy) **bool { return &p.Enabled }, asBool),
		given("window_ms", Number, "how long a digest waits for the next item of a burst", at, func(p *inbox.Policy) **int64 { return &p.WindowMs }, asNumber),
		given("max_delay_ms", Number, "how long an item waits at most", at, func(p *inbox.Policy) **int64 { return &p.MaxDelayMs }, asNumber),
		given("max_items", Number, "how many items wait at most in one digest", at, func(p *inbox.Policy) **int64 { return &p.MaxItems }, asNumber),
		given("max_digest_age_ms", Number, "how long a digest takes items", at, func(p *inbox.Policy) **int64 { return &p.MaxDigestAgeMs }, asNumber),
		word("wake", "idle or none: whether new entries start a turn; idle for all inboxes wakes agents of kind acp only", func(p *inbox.Policy) *string { return (*string)(&p.Wake) }),
		word("ack", "turn_end or explicit: what acknowledges the entries that an agent was told", func(p *inbox.Policy) *string { return (*string)(&p.Ack) }),
		word("wake_when", "settled or each: when ends of background child turns wake", func(p *inbox.Policy) *string { return (*string)(&p.WakeWhen) }),
		given("wake_max_wait_ms", Number, "how long such an end waits for the others at most; 0 for no bound", at, func(p *inbox.Policy) **int64 { return &p.WakeMaxWaitMs }, asNumber),
		given("wake_window_ms", Number, "how long new entries wait for further ones before they wake; 0 for at once", at, func(p *inbox.Policy) **int64 { return &p.WakeWindowMs }, asNumber),
		given("told_lease_ms", Number, "how long after its turn an entry that was told becomes new again; 0 for never", at, func(p *inbox.Policy) **int64 { return &p.ToldLeaseMs }, asNumber),
		given("fallback", Bool, "whether webhooks without a group are grouped by what they are", at, func(p *inbox.Policy) **bool { return &p.Fallback }, asBool),
	}
	for i := range keys {
		keys[i].optional = true
	}
	return keys
}

// inboxSettings returns the keys of the policy of all inboxes. They show what is built in where
// nothing is given; whether new entries wake then depends on the agent.
func inboxSettings() []Setting {
	keys := policyKeys(func(c *Config) *inbox.Policy { return &c.Inbox })
	builtIn := inbox.Policy{}.Settings("").Policy().Members()
	for i := range keys {
		get, name := keys[i].get, strings.TrimPrefix(keys[i].Name, policyTable+".")
		keys[i].optional = false
		keys[i].get = func(c *Config) any {
			value := get(c)
			if own, ok := builtIn[name]; ok && value == "" {
				return own
			}
			return value
		}
	}
	return keys
}

// given returns a key of a policy whose value may be absent.
func given[C, T any](name string, kind Type, help string, at func(*C) *inbox.Policy, of func(*inbox.Policy) **T, read func(raw) (T, error)) Key[C] {
	pointer := func(v raw) (*T, error) {
		value, err := read(v)
		return &value, err
	}
	show := func(value *T) any {
		if value == nil {
			return ""
		}
		return *value
	}
	return entry(policyTable+"."+name, kind, help, func(c *C) **T { return of(at(c)) }, pointer, show)
}

// policyError returns a wrong member of a policy: its key, and what is wrong.
func policyError(p inbox.Policy) (key, text string) {
	bad, ok := errors.AsType[*turns.InvalidError](p.Check())
	if !ok {
		return "", ""
	}
	return policyTable + "." + strings.TrimPrefix(bad.Field, "policy."), bad.Text
}

// checkInboxes returns an error if a default of inboxes is none that a thread could set.
func (l *Loaded) checkInboxes() error {
	if key, text := policyError(l.Inbox); key != "" {
		return &Error{Key: key, Source: l.Sources[key], Text: text}
	}
	for _, name := range slices.Sorted(maps.Keys(l.Agents)) {
		a := l.Agents[name]
		key, text := policyError(a.Inbox)
		if key == "" && a.Kind == turns.KindMailbox && a.Inbox.Wake == inbox.WakeIdle {
			key, text = policyTable+".wake", "a mailbox runs no turns: nothing wakes it"
		}
		if key != "" {
			full := "agents." + name + "." + key
			return &Error{Key: full, Source: l.Sources[full], Text: text}
		}
	}
	return nil
}

package inbox

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/seed82539d15/holon/notify"
)

func TestPolicyBounds(t *testing.T) {
	month := int64(31 * 24 * 60 * 60 * 1000)
	for _, m := range []struct {
		name        string
		set         func(*Policy, *int64)
		least, most int64
		zero        bool // 0 is allowed
	}{
		{"window_ms", func(p *Policy, n *int64) { p.WindowMs = n }, 100, month, false},
		{"max_delay_ms", func(p *Policy, n *int64) { p.MaxDelayMs = n }, 100, month, false},
		{"max_items", func(p *Policy, n *int64) { p.MaxItems = n }, 1, 10_000, false},
		{"max_digest_age_ms", func(p *Policy, n *int64) { p.MaxDigestAgeMs = n }, 100, month, false},
		{"wake_max_wait_ms", func(p *Policy, n *int64) { p.WakeMaxWaitMs = n }, 100, month, true},
		{"wake_window_ms", func(p *Policy, n *int64) { p.WakeWindowMs = n }, 100, month, true},
		{"told_lease_ms", func(p *Policy, n *int64) { p.ToldLeaseMs = n }, 60_000, month, true},
	} {
		for n, good := range map[int64]bool{m.least: true, m.most: true, m.least - 1: false, m.most + 1: false, 0: m.zero, -1: false, -1 << 63: false, 1<<63 - 1: false} {
			var p Policy
			m.set(&p, &n)
			field, reason := "policy."+m.name, "out_of_range"
			if good {
				field, reason = "", ""
			}
			wantInvalid(t, m.name, p.Check(), field, reason)
		}
	}
	wantInvalid(t, "empty", Policy{}.Check(), "", "")
	wantInvalid(t, "wake", Policy{Wake: "always"}.Check(), "policy.wake", "unknown")
	wantInvalid(t, "wake_when", Policy{WakeWhen: "never"}.Check(), "policy.wake_when", "unknown")
	wantInvalid(t, "ack", Policy{Ack: "never"}.Check(), "policy.ack", "unknown")
	wantInvalid(t, "reset", (&Configure{Reset: []string{"wake", "sleep"}}).Check(), "reset[1]", "unknown")
	wantInvalid(t, "reset of all", (&Configure{Reset: PolicyMembers}).Check(), "", "")
}

func TestPolicyDefaults(t *testing.T) {
	want := Settings{
		Enabled: true, Window: 30 * time.Second, MaxDelay: 2 * time.Minute, MaxItems: 20, MaxDigestAge: 24 * time.Hour, Wake: WakeNone, Ack: AckTurnEnd,
		WakeWhen: WhenSettled, WakeMaxWait: 30 * time.Minute, WakeWindow: time.Second, Fallback: true,
	}
	if got := (Policy{}).Settings(WakeNone); got != want {
		t.Errorf("got %+v", got)
	}
	if got := want.Policy().Settings(WakeIdle); got != want {
		t.Errorf("settings as a policy give %+v", got)
	}
}

func TestPolicyMembersAreSetAndResetAlone(t *testing.T) {
	off, n := false, int64(700)
	all := Policy{Enabled: &off, WindowMs: &n, MaxDelayMs: &n, MaxItems: &n, MaxDigestAgeMs: &n, Wake: WakeNone, Ack: AckExplicit, WakeWhen: WhenEach, WakeMaxWaitMs: &n,
		WakeWindowMs: &n, ToldLeaseMs: &n, Fallback: &off}
	if got := (Policy{}).with(all, nil); !got.equal(all) {
		t.Errorf("all set: %+v", got)
	}
	typ := reflect.TypeFor[Policy]()
	if typ.NumField() != len(PolicyMembers) {
		t.Fatalf("a policy has %d members, PolicyMembers has %d", typ.NumField(), len(PolicyMembers))
	}
	for i, name := range PolicyMembers {
		got := all.with(Policy{}, []string{name})
		for j := range PolicyMembers {
			if zero := reflect.ValueOf(got).Field(j).IsZero(); zero != (i == j) {
				t.Errorf("after the reset of %s, %s is unset: %v", name, typ.Field(j).Name, zero)
			}
		}
		var one Policy
		reflect.ValueOf(&one).Elem().Field(i).Set(reflect.ValueOf(all).Field(i))
		if back := got.with(one, nil); !back.equal(all) || got.equal(all) {
			t.Errorf("%s set again: %+v", name, back)
		}
		if kept := (Policy{}).with(one, []string{name}); !kept.equal(one) {
			t.Errorf("%s reset and set: %+v", name, kept)
		}
	}
}

func TestSubscriptionWants(t *testing.T) {
	final := []string{notify.TurnCompleted, notify.TurnFailed, notify.TurnInterrupted, notify.TurnReviewed}
	all := append([]string{notify.TurnStarted, notify.ItemCreated, notify.ItemDelta, notify.InboxPosted, notify.StreamRewind}, final...)
	none, question, noEnd := EventAbout{}, EventAbout{Question: true}, EventAbout{NoEnd: true}
	for _, c := range []struct {
		methods []string
		thread  string
		about   EventAbout
		want    []string
	}{
		{nil, "other", none, final},
		{nil, "t", none, nil},      // its own thread
		{nil, "", none, nil},       // of no thread
		{nil, "other", noEnd, nil}, // an end in review, or a verdict that another turn follows
		{[]string{OnFinal}, "other", question, final},
		{[]string{OnFinal}, "other", noEnd, nil},
		{[]string{OnFinal, notify.TurnCompleted}, "other", noEnd, []string{notify.TurnCompleted}},
		{[]string{OnQuestions}, "other", question, []string{notify.ItemCreated}},
		{[]string{OnQuestions}, "other", none, nil},
		{[]string{OnQuestions, OnFinal}, "other", question, append([]string{notify.ItemCreated}, final...)},
		{[]string{notify.TurnStarted}, "other", none, []string{notify.TurnStarted}},
		{[]string{"turn/*"}, "other", none, append([]string{notify.TurnStarted}, final...)},
		{[]string{"turn/*"}, "other", noEnd, append([]string{notify.TurnStarted}, final...)},
		{[]string{"item/*"}, "other", none, []string{notify.ItemCreated}},
		{[]string{notify.ItemDelta, "inbox/*", notify.StreamRewind}, "other", question, nil},
	} {
		s := &Subscription{ThreadID: "t", Methods: c.methods}
		for _, method := range all {
			got := s.Wants(c.thread, method, c.about)
			if got != slices.Contains(c.want, method) {
				t.Errorf("%v wants %s of %q, %+v: %v", c.methods, method, c.thread, c.about, got)
			}
			if f := (notify.Filter{Methods: s.Followed()}); got && !f.Match("", method) {
				t.Errorf("%v wants %s, and follows only %v", c.methods, method, s.Followed())
			}
		}
	}
}

func TestSubscribeCheck(t *testing.T) {
	for name, c := range map[string]struct {
		s             Subscribe
		field, reason string
	}{
		"configured":           {Subscribe{Source: "gh", Filter: "x"}, "", ""},
		"events":               {Subscribe{Source: SourceEvents, ThreadIDs: []string{"a"}, Methods: []string{OnFinal, "turn/*"}}, "", ""},
		"message":              {Subscribe{Source: SourceMessage}, "source", "invalid"},
		"turns":                {Subscribe{Source: SourceTurns}, "source", "invalid"},
		"timer":                {Subscribe{Source: SourceTimer}, "source", "invalid"},
		"like timer":           {Subscribe{Source: "Timers"}, "source", "invalid"},
		"like events":          {Subscribe{Source: "event"}, "source", "invalid"},
		"bad id":               {Subscribe{SubscriptionID: "a b", Source: "gh"}, "subscription_id", "invalid"},
		"threads of a webhook": {Subscribe{Source: "gh", ThreadIDs: []string{"a"}}, "thread_ids", "invalid"},
		"filter of events":     {Subscribe{Source: SourceEvents, Filter: "x"}, "filter", "invalid"},
		"itself":               {Subscribe{ThreadID: "t", Source: SourceEvents, ThreadIDs: []string{"a", "t"}}, "thread_ids[1]", "invalid"},
		"deltas":               {Subscribe{Source: SourceEvents, Methods: []string{notify.ItemDelta}}, "methods[0]", "invalid"},
		"inboxes":              {Subscribe{Source: SourceEvents, Methods: []string{"inbox/*"}}, "methods[0]", "invalid"},
		"no method":            {Subscribe{Source: SourceEvents, Methods: []string{"*"}}, "methods[0]", "invalid"},
		"too many":             {Subscribe{Source: SourceEvents, Methods: make([]string, maxIDs+1)}, "thread_ids", "too_many"},
	} {
		wantInvalid(t, name, c.s.Check(), c.field, c.reason)
	}
}

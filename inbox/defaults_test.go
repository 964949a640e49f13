package inbox

import (
	"reflect"
	"testing"
	"time"

	"github.com/seed82539d15/holon/turns"
)

func TestAThreadsPolicyWinsOverItsAgentsAndThatOverTheServers(t *testing.T) {
	ms := func(n int64) *int64 { return &n }
	off := false
	d := Defaults{
		All:    Policy{WindowMs: ms(1000), MaxDelayMs: ms(2000), MaxItems: ms(3), Ack: AckExplicit, Fallback: &off},
		Agents: map[string]Policy{"claude": {MaxDelayMs: ms(5000), MaxItems: ms(6)}},
	}
	own := Policy{MaxItems: ms(9)}
	got := d.Settings("claude", turns.KindACP, own)
	want := Policy{}.Settings(WakeIdle)
	want.Window, want.MaxDelay, want.MaxItems, want.Ack, want.Fallback = time.Second, 5*time.Second, 9, AckExplicit, false
	if got != want {
		t.Errorf("in force is\n%+v, want\n%+v", got, want)
	}
	if set := d.Set("claude", turns.KindACP, own); !reflect.DeepEqual(set, PolicySet{own, d.Agents["claude"], d.All}) {
		t.Errorf("set is %+v", set)
	}
	if got := d.Settings("other", turns.KindACP, Policy{}); got.MaxDelay != 2*time.Second || got.MaxItems != 3 {
		t.Errorf("another agent has %+v", got)
	}
	on := true
	if s := (Defaults{All: Policy{Enabled: &off}}).Settings("a", "", Policy{Enabled: &on}); !s.Enabled {
		t.Error("true of the thread did not win over false of the server")
	}
}

func TestADefaultForAllWakesOnlyAgentsWhosePromptIsTextForAModel(t *testing.T) {
	idle, none := Policy{Wake: WakeIdle}, Policy{Wake: WakeNone}
	for _, c := range []struct {
		kind            string
		all, agent, own Policy
		want            Wake
	}{
		{turns.KindACP, Policy{}, Policy{}, Policy{}, WakeIdle},
		{turns.KindACP, none, Policy{}, Policy{}, WakeNone},
		{turns.KindACP, idle, Policy{}, Policy{}, WakeIdle},
		{turns.KindACP, idle, none, Policy{}, WakeNone},
		{turns.KindACP, none, none, idle, WakeIdle},
		{"exec", Policy{}, Policy{}, Policy{}, WakeNone},
		{"exec", idle, Policy{}, Policy{}, WakeNone},
		{"exec", idle, idle, Policy{}, WakeIdle},
		{"exec", idle, Policy{}, idle, WakeIdle},
		{"exec", none, idle, none, WakeNone},
		{"worker", idle, Policy{}, Policy{}, WakeNone},
		{"echo", idle, Policy{}, Policy{}, WakeNone},
		{"", idle, Policy{}, Policy{}, WakeNone}, // not configured any more
		{turns.KindMailbox, idle, idle, idle, WakeNone},
		{turns.KindMailbox, idle, idle, none, WakeNone},
	} {
		d := Defaults{All: c.all, Agents: map[string]Policy{"a": c.agent}}
		if got := d.Settings("a", c.kind, c.own).Wake; got != c.want {
			t.Errorf("%q, for all %q, of the agent %q, of the thread %q: %s, want %s", c.kind, c.all.Wake, c.agent.Wake, c.own.Wake, got, c.want)
		}
	}
}

func TestMembersOfAPolicyAreThoseThatAreSet(t *testing.T) {
	off, n := false, int64(7)
	got := Policy{Enabled: &off, WindowMs: &n, Wake: WakeNone}.Members()
	if want := map[string]any{"enabled": false, "window_ms": int64(7), "wake": "none"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
	if all := (Policy{}).Settings(WakeNone).Policy().Members(); len(all) != len(PolicyMembers) {
		t.Errorf("a full policy has %v", all)
	}
}

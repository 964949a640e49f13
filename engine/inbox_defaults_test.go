package engine_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// Defaults of the configuration are stored nowhere: the next start with other ones holds for every
// thread that has set nothing by itself, also for what is new since before.
func TestAnotherConfigurationHoldsForAllInboxesAtOnce(t *testing.T) {
	bubble(t, setup{cfg: configured(inbox.Defaults{All: inbox.Policy{Wake: inbox.WakeNone}})}, func(h *harness) {
		for id, agent := range map[string]string{"a": "model", "own": "model", "exec": "puppet", "box": "mailbox"} {
			h.thread(id, agent)
		}
		n := int64(7)
		h.configure("own", inbox.Policy{Wake: inbox.WakeNone, MaxItems: &n})
		said := bodies[inbox.Configured](h, notify.InboxConfigured, "own")
		for _, id := range []string{"a", "own", "exec", "box"} {
			h.send(id, "hello")
		}
		time.Sleep(time.Hour)
		h.idle(h.model)

		h.down()
		h.o.cfg.InboxDefaults = inbox.Defaults{All: inbox.Policy{Wake: inbox.WakeIdle, Ack: inbox.AckExplicit}}
		h.up()
		h.speak(h.next(h.model))
		time.Sleep(time.Hour)
		for id, want := range map[string]int{"a": 1, "own": 0, "exec": 0, "box": 0} {
			if n := h.wakes(id); n != want {
				t.Errorf("%s was woken %d times, want %d", id, n, want)
			}
		}
		if l := h.entries("a"); len(l) != 1 || l[0].ToldByTurnID == "" {
			t.Errorf("with ack = explicit the entry is %+v", l)
		}
		// What an event says was in force then; what was set is all that its fold takes.
		if now := bodies[inbox.Configured](h, notify.InboxConfigured, "own"); !reflect.DeepEqual(now, said) || now[0].Policy.Ack != inbox.AckTurnEnd {
			t.Errorf("the event is %+v, was %+v", now[0], said[0])
		}
		if got := h.box("own").Policy.Members(); !reflect.DeepEqual(got, map[string]any{"wake": "none", "max_items": n}) {
			t.Errorf("the row has %v", got)
		}
		if b := h.box("a"); len(b.Policy.Members()) != 0 {
			t.Errorf("the row of a thread that has set nothing has %v", b.Policy.Members())
		}

		h.down()
		h.o.cfg.InboxDefaults = inbox.Defaults{Agents: map[string]inbox.Policy{"puppet": {Wake: inbox.WakeIdle}, "mailbox": {Wake: inbox.WakeIdle}}}
		h.up()
		c := h.next(h.agent) // its own table lets it be woken
		h.message(c, "m")
		c.end(turns.Completed)
		h.ended(c.TurnID)
		time.Sleep(time.Hour)
		h.idle(h.model)
		if h.wakes("box") != 0 {
			t.Error("a mailbox was woken")
		}
	})
}

func TestResetGivesAMemberWhatTheConfigurationSays(t *testing.T) {
	ms := func(n int64) *int64 { return &n }
	d := inbox.Defaults{All: inbox.Policy{WindowMs: ms(5000), MaxItems: ms(30)}, Agents: map[string]inbox.Policy{"model": {WindowMs: ms(7000)}}}
	bubble(t, setup{cfg: configured(d)}, func(h *harness) {
		h.thread("a", "model")
		h.configure("a", inbox.Policy{WindowMs: ms(100), MaxItems: ms(3)})
		r, err := h.inboxes().Configure(bg, inbox.Configure{ThreadID: "a", Reset: []string{"window_ms", "max_items"}})
		if err != nil || *r.Policy.WindowMs != 7000 || *r.Policy.MaxItems != 30 || *r.Policy.MaxDelayMs != 120_000 {
			t.Errorf("after a reset %v, %v", r.Policy.Members(), err)
		}
		list := bodies[inbox.Configured](h, notify.InboxConfigured, "a")
		if last := list[len(list)-1]; len(last.Set.Members()) != 0 || *last.Policy.WindowMs != 7000 {
			t.Errorf("the event of the reset is %v, set %v", last.Policy.Members(), last.Set.Members())
		}
		h.ingest("a", grouped("1", "pr:1"))
		if due := time.Until(time.UnixMilli(h.box("a").FlushAt)); due != 7*time.Second {
			t.Errorf("the digest waits for %s, not for the window of the agent", due)
		}
		if set := h.inboxes().PolicySet("model", inbox.Policy{MaxItems: ms(3)}); !reflect.DeepEqual(set, inbox.PolicySet{Thread: inbox.Policy{MaxItems: ms(3)}, Agent: d.Agents["model"], Server: d.All}) {
			t.Errorf("set is %+v", set)
		}
	})
}

func configured(d inbox.Defaults) (c engine.Config) {
	c.InboxDefaults = d
	return c
}

package inbox

import (
	"reflect"

	"github.com/seed82539d15/holon/turns"
)

// Defaults are the policies of the configuration. They hold where a thread has set nothing by
// itself, and are stored nowhere: another configuration holds for every thread at once. Their
// members are those that were given, as in a thread's own policy.
type Defaults struct {
	All    Policy            // of every inbox
	Agents map[string]Policy // of the inboxes of an agent's threads; they win over All
}

// PolicySet is what was set, by where; what is set in none of these is built in. A member of
// Thread wins over that of Agent, and that over Server's.
type PolicySet struct {
	Thread Policy `json:"thread,omitzero"` // by inbox/configure
	Agent  Policy `json:"agent,omitzero"`  // in the configuration, for this agent
	Server Policy `json:"server,omitzero"` // in the configuration, for all inboxes
}

// Set returns what was set that holds in an inbox. agent and kind are those of its thread, own is
// what clients have set.
//
// An agent that executes its prompt must not be woken by what strangers write because of a
// default that somebody has given for all: in All, idle is only for agents of kind acp, whose
// prompts are text for a model. A mailbox has no turns: nothing wakes it.
func (d Defaults) Set(agent, kind string, own Policy) PolicySet {
	s := PolicySet{Thread: own, Agent: d.Agents[agent], Server: d.All}
	switch kind {
	case turns.KindACP:
	case turns.KindMailbox:
		s.Thread, s.Agent, s.Server = s.Thread.withoutIdle(), s.Agent.withoutIdle(), s.Server.withoutIdle()
	default:
		s.Server = s.Server.withoutIdle()
	}
	return s
}

func (p Policy) withoutIdle() Policy {
	if p.Wake == WakeIdle {
		p.Wake = ""
	}
	return p
}

// Settings returns the policy in force in an inbox. New entries wake an agent of kind acp if
// nothing else was set.
func (d Defaults) Settings(agent, kind string, own Policy) Settings {
	wake := WakeNone
	if kind == turns.KindACP {
		wake = WakeIdle
	}
	s := d.Set(agent, kind, own)
	return s.Server.with(s.Agent, nil).with(s.Thread, nil).Settings(wake)
}

// Members returns the members that are set, by their names.
func (p Policy) Members() map[string]any {
	set := map[string]any{}
	v := reflect.ValueOf(p)
	for i, name := range PolicyMembers {
		switch f := v.Field(i); {
		case f.IsZero():
		case f.Kind() == reflect.Pointer:
			set[name] = f.Elem().Interface()
		default:
			set[name] = f.String()
		}
	}
	return set
}

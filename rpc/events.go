package rpc

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// Notification is one row of the table of notifications.
type Notification struct {
	Name    string
	Summary string
	Body    reflect.Type
	InLog   bool // has a place in the log: seq and timestamp
}

// Notifications is the one table of notifications, in the order of the
// documentation.
func Notifications() []Notification {
	event := func(name, summary string, body any) Notification {
		return Notification{name, summary, reflect.TypeOf(body), true}
	}
	live := func(name, summary string, body any) Notification {
		return Notification{name, summary, reflect.TypeOf(body), false}
	}
	return []Notification{
		event(notify.ThreadStarted, "A thread exists. Its first event.", threads.Changed{}),
		event(notify.ThreadResumed, "A paused thread goes on.", threads.Changed{}),
		event(notify.ThreadPaused, "No further turn of the thread starts.", threads.Changed{}),
		event(notify.ThreadUpdated, "What changed of a thread, and nothing else.", threads.Updated{}),
		event(notify.ThreadClosed, "The thread is closed. Its last event.", threads.Changed{}),
		event(notify.TurnQueued, "A turn waits. Only for one that could not start at once.", turns.QueuedEvent{}),
		event(notify.TurnStarted, "A turn is active.", turns.StartedEvent{}),
		event(notify.TurnProgress, "What an active turn is doing: each change of state, a message at most once a second.", turns.ProgressEvent{}),
		event(notify.TurnCompleted, "A turn ended well. One of the three ends stands per turn, after the ends of all its items.", turns.EndedEvent{}),
		event(notify.TurnInterrupted, "A turn was ended.", turns.EndedEvent{}),
		event(notify.TurnFailed, "A turn ended badly; error says how.", turns.EndedEvent{}),
		event(notify.ItemCreated, "An item exists.", items.Created{}),
		event(notify.ItemUpdated, "An item changed; it carries the whole content.", items.Updated{}),
		event(notify.ItemDeleted, "An item was withdrawn.", items.Deleted{}),
		event(notify.ItemDelta, "Text to append to an open item.", items.Delta{}),
		event(notify.StepStarted, "A try of a step begins; lineage says of which, and which try.", turns.StepEvent{}),
		event(notify.StepEnded, "A try of a step has ended.", turns.StepEvent{}),
		event(notify.StreamRewind, "The present try of a step has been given up: what it has said stands no longer (docs/rewind.md). A filter of methods never removes it.", turns.RewindEvent{}),
		event(notify.TurnLate, "What a try that had been given up still wrote: kept, and never part of what stands.", turns.LateEvent{}),
		event(notify.HolonPaused, "No turn starts until holon/resumed.", turns.RuntimeEvent{}),
		event(notify.HolonResumed, "Turns start again.", turns.RuntimeEvent{}),
		live(notify.StreamOpened, "The first line of a stream: where it begins.", StreamOpened{}),
		live(notify.StreamHeartbeat, "Comes after heartbeat_seconds of silence; seq is a valid cursor.", StreamHeartbeat{}),
		live(notify.StreamClosing, "The last line of a stream that the server ends in order; seq is the last one passed.", StreamClosing{}),
		live(notify.HolonLog, "A line of the server's log, for holon/logStream with follow.", HolonLog{}),
	}
}

// headerMembers names the members of notify.Header that the notification
// always has, and those that it may have.
func (n *Notification) headerMembers() (has, may []string) {
	has = []string{"seq", "timestamp"}
	lineage := []string{"step", "epoch", "lineage"}
	kind, _, _ := strings.Cut(n.Name, "/")
	if kind == "holon" {
		return has, nil
	}
	has = append(has, "thread_id", "thread_seq")
	switch kind {
	case "thread":
		return has, nil
	case "item": // one that an agent makes outside any turn has none of them
		return has, append(lineage, "turn_id", "attempt")
	case "stream": // the marker: its step is its own
		return append(has, "turn_id"), nil
	case "step":
		return append(append(has, "turn_id", "attempt"), lineage...), nil
	}
	has = append(has, "turn_id", "attempt")
	if n.Name == notify.TurnQueued || n.Name == notify.TurnLate { // never superseded
		return has, nil
	}
	return has, lineage
}

// schema is the schema of the notification's params: the body, and what all
// events have.
func (n *Notification) schema() (*jsonschema.Schema, error) {
	s, err := resultSchema(n.Body)
	if err != nil || !n.InLog {
		return s, err
	}
	h, err := resultSchema(reflect.TypeFor[notify.Header]())
	if err != nil {
		return nil, err
	}
	has, may := n.headerMembers()
	var order []string
	for _, name := range h.PropertyOrder {
		optional := slices.Contains(may, name)
		if !slices.Contains(has, name) && !optional {
			continue
		}
		if s.Properties[name] != nil {
			return nil, fmt.Errorf("%s has the member %s twice", n.Name, name)
		}
		s.Properties[name] = h.Properties[name]
		order = append(order, name)
		// The announcement of a default thread has no place in the log.
		announced := n.Name == notify.ThreadStarted && (name == "seq" || name == "thread_seq")
		if !optional && !announced {
			s.Required = append(s.Required, name)
		}
	}
	s.PropertyOrder = append(order, s.PropertyOrder...)
	return s, nil
}

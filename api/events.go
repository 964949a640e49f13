package api

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/seed82539d15/holon/internal/events"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// Notification is one row of the table of notifications: an event of the log,
// or a notification of one connection.
type Notification struct {
	Name    string
	Summary string
	Body    reflect.Type
	Header  *ledger.HeaderRule // nil = it is not in the log
}

// InLog reports whether the notification is in the log and so has a seq.
func (n *Notification) InLog() bool { return n.Header != nil }

// Notifications returns the table of notifications, in the order of the
// documentation.
func Notifications() (list []Notification) {
	for i := range events.All {
		e := &events.All[i]
		list = append(list, Notification{e.Method, e.Summary, reflect.TypeOf(e.New()).Elem(), e.Header})
	}
	live := func(name, summary string, body any) {
		list = append(list, Notification{Name: name, Summary: summary, Body: reflect.TypeOf(body)})
	}
	live(notify.StreamOpened, "The first line of a stream: where it begins.", StreamOpened{})
	live(notify.StreamHeartbeat, "Comes after heartbeat_seconds of silence; seq is a valid cursor.", StreamHeartbeat{})
	live(notify.StreamClosing, "The last line of a stream that the server ends in order; seq is the last one passed.", StreamClosing{})
	live(notify.HolonLog, "A line of the server's log, for holon/logStream with follow.", HolonLog{})
	return list
}

// schema returns the schema of the notification's params: the body, and the members
// of all events.
func (n *Notification) schema() (*jsonschema.Schema, error) {
	s, err := resultSchema(n.Body)
	if err != nil {
		return nil, err
	}
	delete(s.Extra, typeName) // the type of the body alone
	if !n.InLog() {
		return s, nil
	}
	h, err := resultSchema(reflect.TypeFor[notify.Header]())
	if err != nil {
		return nil, err
	}
	var order []string
	for _, name := range h.PropertyOrder {
		optional := slices.Contains(n.Header.May, name)
		if !slices.Contains(n.Header.Has, name) && !optional {
			continue
		}
		if s.Properties[name] != nil {
			return nil, fmt.Errorf("%s has the member %s twice", n.Name, name)
		}
		s.Properties[name] = h.Properties[name]
		order = append(order, name)
		// The announcement of a default thread is not in the log.
		announced := n.Name == notify.ThreadStarted && (name == "seq" || name == "thread_seq")
		if !optional && !announced {
			s.Required = append(s.Required, name)
		}
	}
	s.PropertyOrder = append(order, s.PropertyOrder...)
	return s, nil
}

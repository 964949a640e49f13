// Package events has the one table of the events that can be in the log. It
// joins the lists of the domains. Names, decoding, notifications, schemas,
// documents and rebuilds derive from it. A new event is one row in the list of
// its domain.
package events

import (
	"fmt"
	"slices"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/tokens"
	"github.com/seed82539d15/holon/turns"
)

// All lists every event, in the order of the documentation. It never changes.
var All = slices.Concat(threads.Events, turns.Events, threads.ItemEvents, inbox.Events, cursors.Events, bridges.Events, tokens.Events, turns.StepEvents, turns.RuntimeEvents)

var byMethod = func() map[string]*ledger.EventType {
	m := make(map[string]*ledger.EventType, len(All))
	for i := range All {
		if m[All[i].Method] != nil {
			panic("two events are named " + All[i].Method)
		}
		m[All[i].Method] = &All[i]
	}
	return m
}()

// Of returns the event of this method, nil if there is none.
func Of(method string) *ledger.EventType { return byMethod[method] }

// Methods lists the methods that pass a filter; its ThreadIDs are ignored.
func Methods(f notify.Filter) (names []string) {
	f.ThreadIDs = nil
	for i := range All {
		if f.Match("", All[i].Method) {
			names = append(names, All[i].Method)
		}
	}
	return names
}

// Decode decodes the params of a stored event: see ledger.EventType.
func Decode(method string, params []byte) (notify.Header, any, error) {
	t := Of(method)
	if t == nil {
		return notify.Header{}, nil, fmt.Errorf("decode %q: no such method is in a log", method)
	}
	return t.Decode(params)
}

// Fold applies an event to the rows of s: first to those of its try, because any
// event can begin a try, then to those of its domain, then to what events of
// turns change in the thread and its inbox. It sets h.Span, which decoding leaves
// at 0.
func Fold(s ledger.State, method string, h *notify.Header, body any) {
	turns.FoldTry(s, h, body)
	if t := Of(method); t != nil && t.Fold != nil {
		t.Fold(s, h, body)
	}
	inbox.FoldTurn(s, h, body)
}

package engine_test

import (
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/threads"
)

// inboxes folds events of turns and inboxes into the threads of a checker. What
// they do to inboxes is checked by a rebuild of all rows (checker.rows).
type inboxes struct{ c *checker }

func (s inboxes) Row(t *ledger.Table, id any) ledger.Row {
	if t == threads.Table {
		if row := s.c.threads[id.(string)]; row != nil {
			return row
		}
	}
	return nil
}

func (s inboxes) Rows(*ledger.Table, string, func(ledger.Row) bool) {}

func (s inboxes) Put(row ledger.Row) {
	if t, ok := row.(*threads.Thread); ok {
		s.c.threads[t.ThreadID] = t
	}
}

// isInbox reports whether the method is one of the events of inboxes.
func isInbox(method string) bool { return inboxBody(method) != nil }

// inboxBody is an empty body of an event of inboxes; nil if it is none.
func inboxBody(method string) any {
	for i := range inbox.Events {
		if inbox.Events[i].Method == method {
			return inbox.Events[i].New()
		}
	}
	return nil
}

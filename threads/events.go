package threads

import (
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// Events are the events of threads.
var Events = []ledger.EventType{
	ledger.Event[Changed](notify.ThreadStarted, ledger.OfThread, fold, "A thread was started. This is its first event."),
	ledger.Event[Changed](notify.ThreadResumed, ledger.OfThread, fold, "The pause of a thread has ended."),
	ledger.Event[Changed](notify.ThreadPaused, ledger.OfThread, fold, "No further turn of the thread starts."),
	ledger.Event[Updated](notify.ThreadUpdated, ledger.OfThread, fold, "Members of a thread have changed; only those are present."),
	ledger.Event[Changed](notify.ThreadClosed, ledger.OfThread, fold, "The thread is closed. This is its last event."),
}

func fold(s ledger.State, h *notify.Header, body any) {
	prev, _ := s.Row(Table, h.ThreadID).(*Thread)
	if next := Apply(prev, *h, body); next != nil {
		s.Put(next)
	}
}

package threads

import (
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// Events are the events of threads.
var Events = []ledger.EventType{
	ledger.Event[Changed](notify.ThreadStarted, ledger.OfThread, fold, "A thread exists. Its first event."),
	ledger.Event[Changed](notify.ThreadResumed, ledger.OfThread, fold, "A paused thread goes on."),
	ledger.Event[Changed](notify.ThreadPaused, ledger.OfThread, fold, "No further turn of the thread starts."),
	ledger.Event[Updated](notify.ThreadUpdated, ledger.OfThread, fold, "What changed of a thread, and nothing else."),
	ledger.Event[Changed](notify.ThreadClosed, ledger.OfThread, fold, "The thread is closed. Its last event."),
}

func fold(s ledger.State, h *notify.Header, body any) {
	prev, _ := s.Row(Table, h.ThreadID).(*Thread)
	if next := Apply(prev, *h, body); next != nil {
		s.Put(next)
	}
}

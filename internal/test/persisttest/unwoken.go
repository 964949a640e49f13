package persisttest

import (
	"context"
	"slices"
	"testing"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// notWoken finds the threads that their inboxes do not wake, and since when.
func notWoken(t *testing.T, h Harness) {
	other := &inboxTest{NewMaker(t, h.Store, "thread_other").Start(), h}
	other.Commit()
	other.Ingest(alert("disk"))
	x := &inboxTest{NewMaker(t, h.Store, "thread_a").Start(), h}
	x.Commit()
	want := func(what string, want ...inbox.Stall) {
		t.Helper()
		var got []inbox.Stall
		if err := h.Store.ReadToDecide(context.Background(), func(r ledger.Reader) error {
			return persist.NotWoken(r, func(th *threads.Thread, b *inbox.Inbox) {
				if th.ThreadID != x.ID || b.ThreadID != x.ID {
					t.Errorf("%s: %+v with %+v", what, th, b)
				}
				got = append(got, b.Stalled)
			})
		}); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: stalled %q, %v; want %q", what, got, err, want)
		}
	}
	interrupt := func(turn string) {
		x.Attempt(turn)
		x.Commit()
		x.Add(notify.TurnInterrupted, turn, "", &turns.EndedEvent{Type: "interrupted", State: turns.Interrupted, By: turns.ByClient, StartedAt: x.Turns[turn].StartedAt, CompletedAt: notify.TimeOf(x.clock)})
		x.Commit()
		if s := summaryOf(t, h.Store, x.ID); s.HeldSince.IsZero() || s.HeldSince != x.Turns[turn].CompletedAt {
			t.Errorf("held since %v, want %v", s.HeldSince, x.Turns[turn].CompletedAt)
		}
	}
	interrupt("turn_a")
	want("held, and nothing waits")
	x.Ingest(alert("disk"))
	want("held", "")
	x.Book(func(b *inbox.Book) error { b.Stall(inbox.WakeVerdict{Stall: inbox.StallChain}); return nil })
	x.Commit()
	want("held and stalled", inbox.StallChain)
	if box, err := h.Store.LoadInbox(context.Background(), x.ID); err != nil || box.StalledAt == 0 {
		t.Errorf("stalled %+v, %v", box, err)
	}
	x.Book(func(b *inbox.Book) error { _, err := b.WakeNow(""); return err })
	x.Commit()
	want("lifted")
	if s := summaryOf(t, h.Store, x.ID); !s.HeldSince.IsZero() {
		t.Errorf("held since %v", s.HeldSince)
	}
	interrupt("turn_b")
	// So many turns are queued behind it that it is none of the newest.
	for i := range int64(turns.MaxSummaryTurns + 1) {
		x.Add(notify.TurnQueued, "turn_q"+string(rune('a'+i)), "", &turns.QueuedEvent{
			Type: "queued", State: turns.Queued, Rank: i, Child: turns.Child{AttentionPolicy: turns.Notify, RootThreadID: "thread_other"},
			Parent: &threads.Parent{ThreadID: "thread_other", TurnID: "turn_x"},
		})
	}
	x.Commit()
	if s := summaryOf(t, h.Store, x.ID); s.HeldSince != x.Turns["turn_b"].CompletedAt {
		t.Errorf("behind its queue held since %v", s.HeldSince)
	}
	refolded(t, h)
}

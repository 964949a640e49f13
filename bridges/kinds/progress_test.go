package kinds_test

import (
	"strings"
	"testing"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/internal/test/kindstest"
	"github.com/seed82539d15/holon/turns"
)

// editors are all kinds whose messages can be changed.
func editors(t *testing.T, test func(t *testing.T, l *kindstest.Listener, r *rig)) {
	rigs(t, func(t *testing.T, l *kindstest.Listener, r *rig, _ func()) { test(t, l, r) })
	shown := func(n *kindstest.Ntfy) func() []string {
		return func() (all []string) {
			for _, s := range n.Notifications() {
				all = append(all, s.Title+"\n"+s.Message)
			}
			return all
		}
	}
	t.Run("ntfy", func(t *testing.T) {
		n, ch := ntfy(t)
		test(t, n.Listener, &rig{t: t, ch: ch, shown: shown(n)})
	})
}

var (
	progressCard = bridges.Card{Key: "progress"}
	endCard      = bridges.Card{Key: "end", Post: true}
)

// begun shows the progress of a turn, and returns the card that removes it.
func (r *rig) begun() bridges.Card {
	r.t.Helper()
	card := progressCard
	for _, step := range []string{"setup", "build"} {
		e := envelope(bridges.TypeProgress, "the turn")
		e.Data.Progress = &bridges.Progress{Step: step, Status: "completed"}
		card.RemoteID = must(r.t, send(r.t, r.ch, outgoing(e, r.target, card)), bridges.Delivered).RemoteIDs[0]
	}
	r.sees("build completed")
	card.Remove = true
	return card
}

// The progress of a turn is gone once its end is shown, by the same delivery.
func TestProgressIsRemovedWithTheEnd(t *testing.T) {
	editors(t, func(t *testing.T, _ *kindstest.Listener, r *rig) {
		progress := r.begun()
		got := must(t, send(t, r.ch, outgoing(envelope(bridges.TypeFinal, "it ended"), r.target, endCard, progress)), bridges.Delivered)
		r.sees("it ended")
		if len(got.RemoteIDs) != 2 || got.RemoteIDs[0] == "" || got.RemoteIDs[1] != "" || got.Error != "" {
			t.Errorf("%+v", got)
		}
		// Another attempt of the turn begins anew.
		again := progressCard
		must(t, send(t, r.ch, outgoing(envelope(bridges.TypeProgress, "begins again"), r.target, again)), bridges.Delivered)
		r.sees("it ended", "begins again")
	})
}

// The program may die when the end was posted and the progress not yet removed: the next attempt
// finds the end, and removes the progress.
func TestProgressIsRemovedAfterACrashInBetween(t *testing.T) {
	editors(t, func(t *testing.T, _ *kindstest.Listener, r *rig) {
		progress := r.begun()
		final := envelope(bridges.TypeFinal, "it ended")
		must(t, send(t, r.ch, outgoing(final, r.target, endCard)), bridges.Delivered) // and no receipt is kept
		r.sees("build completed", "it ended")
		o := outgoing(final, r.target, endCard, progress)
		o.Arrived = true
		must(t, send(t, r.ch, o), bridges.Delivered)
		r.sees("it ended")
	})
}

// That the progress cannot be removed now is no reason to send the end again.
func TestProgressThatCannotBeRemovedIsNoReasonToSendTheEndAgain(t *testing.T) {
	editors(t, func(t *testing.T, l *kindstest.Listener, r *rig) {
		progress := r.begun()
		l.Fail("") // the post itself works
		for range 4 {
			l.Fail(kindstest.Breaks)
		}
		got := must(t, send(t, r.ch, outgoing(envelope(bridges.TypeFinal, "it ended"), r.target, endCard, progress)), bridges.Delivered)
		r.sees("build completed", "it ended")
		if !strings.Contains(got.Error, "the progress is still shown") || got.RemoteIDs[1] != progress.RemoteID {
			t.Errorf("%+v", got)
		}
	})
}

// Nothing removes it later, so the same delivery tries it again.
func TestProgressIsRemovedAlthoughItFailsAtFirst(t *testing.T) {
	editors(t, func(t *testing.T, l *kindstest.Listener, r *rig) {
		progress := r.begun()
		l.Fail("") // the post itself works
		l.Fail(kindstest.Breaks)
		l.Fail(kindstest.Breaks)
		got := must(t, send(t, r.ch, outgoing(envelope(bridges.TypeFinal, "it ended"), r.target, endCard, progress)), bridges.Delivered)
		r.sees("it ended")
		if got.Error != "" || got.RemoteIDs[1] != "" {
			t.Errorf("%+v", got)
		}
	})
}

// A server of ntfy of before 2.16 can neither change nor remove: nothing is sent again for ever.
func TestProgressAtAnOldNtfy(t *testing.T) {
	n, ch := ntfy(t)
	n.Old = true
	progress := progressCard
	progress.RemoteID = must(t, send(t, ch, outgoing(envelope(bridges.TypeProgress, "the turn"), bridges.Target{}, progress)), bridges.Delivered).RemoteIDs[0]
	progress.Remove = true
	got := must(t, send(t, ch, outgoing(envelope(bridges.TypeFinal, "it ended"), bridges.Target{}, endCard, progress)), bridges.Delivered)
	if got.RemoteIDs[1] != "" || got.Error != "" {
		t.Errorf("%+v", got)
	}
}

// What a message of progress says when its turn is over, for subscriptions without ends.
func TestProgressSaysHowTheTurnEnded(t *testing.T) {
	editors(t, func(t *testing.T, _ *kindstest.Listener, r *rig) {
		card := r.begun()
		card.Remove = false
		for _, c := range []struct {
			state  turns.State
			says   string
			review *bridges.Review
			want   string
		}{
			{turns.Completed, bridges.ProgressInReview, nil, "Waits for a review"},
			{turns.Completed, bridges.ProgressRejected, &bridges.Review{Verdict: "rejected", Note: "tests"}, "Rejected by its review"},
			{turns.Failed, bridges.ProgressEnded, nil, "Failed"},
			{turns.Completed, bridges.ProgressEnded, nil, "Completed"},
		} {
			e := envelope(bridges.TypeProgress, "the turn")
			e.Final, e.Data.State, e.Data.Review, e.Data.Progress = false, c.state, c.review, &bridges.Progress{State: c.says}
			must(t, send(t, r.ch, outgoing(e, r.target, card)), bridges.Delivered)
			if r.sees(c.want); strings.Contains(r.shown()[0], "In progress") {
				t.Errorf("%s: %s", c.says, r.shown())
			}
		}
	})
}

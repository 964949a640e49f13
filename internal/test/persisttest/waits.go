package persisttest

import (
	"testing"
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// waits checks since when something has waited for a person.
func waits(t *testing.T, h Harness) {
	want := func(question, review time.Time) {
		t.Helper()
		got, err := h.Store.OldestWaits(t.Context())
		if err != nil || !got.Question.Equal(question) || !got.Review.Equal(review) {
			t.Errorf("waits since %+v, %v; want %v and %v", got, err, question, review)
		}
	}
	at := func(minutes int) time.Time { return epoch.Add(time.Duration(minutes) * time.Minute) }
	want(time.Time{}, time.Time{})

	a, b := NewMaker(t, h.Store, "a").Start(), NewMaker(t, h.Store, "b").Start()
	question := items.Question{Type: items.KindQuestion, Message: "how many?"}
	a.StartTurn("turn_a")
	a.Create("turn_a", "item_open", items.StatusInProgress, items.NewAgentMessage(""))
	for i, id := range []string{"item_first", "item_second"} {
		a.At(at(i + 1))
		a.Create("turn_a", id, items.StatusPending, question)
	}
	a.Commit()
	want(a.Items["item_first"].CreatedAt.Time, time.Time{})
	a.Update("turn_a", "item_first", items.StatusCompleted, question)
	a.Commit()
	want(a.Items["item_second"].CreatedAt.Time, time.Time{})

	b.StartTurn("turn_b")
	b.At(at(7))
	b.EndInReview("turn_b")
	b.Commit()
	a.Update("turn_a", "item_second", items.StatusCompleted, question)
	a.At(at(8)) // turn_a began first, and has waited shorter
	a.EndInReview("turn_a")
	a.Commit()
	want(time.Time{}, at(7))
	b.Review("turn_b", turns.Approved, "")
	b.Commit()
	want(time.Time{}, at(8))
	a.Review("turn_a", turns.Rejected, "")
	a.Commit()
	want(time.Time{}, time.Time{})
}

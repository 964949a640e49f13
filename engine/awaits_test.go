package engine

import (
	"slices"
	"testing"

	"github.com/seed82539d15/holon/turns"
)

// The end of a turn that continues a rejected one is reserved for those who wait for the
// rejected one, also before they have read that there is another turn: nothing else tells
// it meanwhile.
func TestRequestForARejectedTurnReservesTheEndOfTheNextOne(t *testing.T) {
	x := newAwaits()
	w := &await{owner: "a", ids: []string{"turn_1"}, bell: make(chan struct{}, 1)}
	other := &await{owner: "a", ids: []string{"turn_9"}, bell: make(chan struct{}, 1)}
	for _, one := range []*await{w, other} {
		if err := x.add(one); err != nil {
			t.Fatal(err)
		}
	}
	x.continued("turn_1", "turn_2")
	x.continued("turn_2", "turn_3")
	x.takenIn("a", "turn_3")
	if !x.reserves("a", "turn_3") || len(w.bell) != 1 || len(other.held) != 0 {
		t.Errorf("held %v, and by another request %v", w.held, other.held)
	}
	if x.alsoFor(w, "turn_3") || !x.alsoFor(w, "turn_4") || !slices.Equal(w.also, []string{"turn_2", "turn_3", "turn_4"}) {
		t.Errorf("it also waits for %v", w.also)
	}
	x.release(w)
	x.remove(w)
	x.remove(other)
	if len(x.byTurn)+len(x.byOwner)+len(x.reserved) != 0 || x.n.Load() != 0 || x.alsoFor(w, "turn_5") {
		t.Errorf("left: %v, %v, %v", x.byTurn, x.byOwner, x.reserved)
	}
	w = &await{owner: "a", ids: []string{"turn_1"}, bell: make(chan struct{}, 1)}
	x.begin(w, []turns.Result{{TurnID: "turn_1", ContinuedBy: "turn_2", State: turns.Completed}})
	if !x.reserves("a", "turn_2") || x.reserves("a", "turn_1") {
		t.Errorf("held %v", w.held)
	}
}

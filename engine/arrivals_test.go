package engine

import (
	"errors"
	"testing"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/turns"
)

// A command of the thread waits for the unit that is being made, so units of
// arrivals are small; but what arrived together is stored together.
func TestArrivalsAreTakenInSmallUnits(t *testing.T) {
	for _, c := range []struct {
		name  string
		items []int // of each arrival; negative: with a key
		bytes int   // of each item
		want  []int // arrivals in each unit
	}{
		{"nothing", nil, 0, nil},
		{"single items are joined", []int{1, 1, 1}, 100, []int{3}},
		{"up to the bound", []int{16, 16, 1}, 100, []int{2, 1}},
		{"a large one is alone, and whole", []int{1, 256, 1}, 100, []int{1, 1, 1}},
		{"large payloads", []int{1, 1, 1}, 60 << 10, []int{2, 1}},
		{"one with a key is alone", []int{1, -1, 1, 1}, 100, []int{1, 1, 2}},
	} {
		in := newIntake(1, 1)
		var put []*arrival
		for _, n := range c.items {
			a := &arrival{size: max(n, -n) * c.bytes}
			if n < 0 {
				n, a.key = -n, &ledger.Key{Key: "k"}
			}
			a.items = make([]inbox.Item, n)
			if err := in.arrive(a); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			put = append(put, a)
		}
		for i := 0; !in.empty(); i++ {
			list := in.takeArrivals()
			if i >= len(c.want) || len(list) != c.want[i] {
				t.Fatalf("%s: unit %d has %d arrivals, want %v", c.name, i, len(list), c.want)
			}
			for j, a := range list {
				if a != put[j] {
					t.Fatalf("%s: the order has changed", c.name)
				}
			}
			put = put[len(list):]
		}
		if len(put) > 0 || in.arrivalBytes != 0 {
			t.Errorf("%s: %d are left, %d bytes", c.name, len(put), in.arrivalBytes)
		}
	}
}

func TestArrivalsBeyondTheBoundAreRefused(t *testing.T) {
	in := newIntake(1, 1)
	for range 4 {
		if err := in.arrive(&arrival{size: arrivalBytes / 4}); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.arrive(&arrival{size: 1}); !errors.Is(err, turns.ErrOverloaded) {
		t.Errorf("got %v", err)
	}
	in.takeArrivals()
	if err := in.arrive(&arrival{size: 1}); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

package process

import (
	"testing"

	"github.com/seed82539d15/holon/internal/host"
)

func TestMemoryIsThatOfTheWholeTree(t *testing.T) {
	one, other := newStarter(t, newMark(t)), newStarter(t, newMark(t))
	one.start("parent apart") // and its child
	one.start("stubborn")
	pss := func(pid int) int64 {
		n, err := host.PSS(pid)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	all := []int{one.PID()}
	for _, d := range one.Since(1) {
		all = append(all, d.PID)
	}
	if len(all) != 4 {
		t.Fatalf("the processes are %v", all)
	}
	least := int64(0) // what is shared by programs of the test may come and go
	for _, pid := range all {
		least += pss(pid) * 3 / 4
	}
	got := Memory([]*Group{one.Group, other.Group})
	if most := least * 2; got[0] < least || got[0] > most {
		t.Errorf("%d bytes, want %d to %d", got[0], least, most)
	}
	if alone := pss(other.PID()); got[1] < alone*3/4 || got[1] > alone*3/2 {
		t.Errorf("the other group: %d bytes, want about %d", got[1], alone)
	}
	one.Kill()
	one.End()
	if got = Memory([]*Group{one.Group, other.Group}); got[0] != 0 || got[1] == 0 {
		t.Errorf("one has ended: %v", got)
	}
}

func TestAProcessBelongsToItsNearestGroup(t *testing.T) {
	living := map[int]kin{
		10: {parent: 1, group: 10}, // a leader
		11: {parent: 10, group: 10},
		12: {parent: 11, group: 12}, // in a session of its own
		13: {parent: 1, group: 10},  // has lost its parent
		20: {parent: 12, group: 20}, // another leader, below the first
		21: {parent: 20, group: 20},
		30: {parent: 1, group: 30},
		40: {parent: 41, group: 40}, // a loop cannot be, and ends all the same
		41: {parent: 40, group: 40},
	}
	leaders := map[int]int{10: 0, 20: 1}
	for pid, want := range map[int]int{10: 0, 11: 0, 12: 0, 13: 0, 20: 1, 21: 1, 30: -1, 40: -1, 99: -1} {
		got, ok := treeOf(living, pid, leaders)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%d belongs to %d, want %d", pid, got, want)
		}
	}
}

package overview

import (
	"reflect"
	"testing"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// A key that was on its way when the selected thread or the question went is meant for that,
// and not for what has taken its place.
func TestALateKeyDoesNothing(t *testing.T) {
	late := noon.Add(deadFor - 1)
	t.Run("the selected thread is gone", func(t *testing.T) {
		m := loaded(five()...)
		before := m.Selected()
		m.Update(noon, Listed{Threads: five()[1:], Whole: true})
		if m.Selected() == before || m.Selected() == "" {
			t.Fatalf("selected is %q", m.Selected())
		}
		for _, key := range []string{"x", "i", "r", "enter", "a", "y"} {
			if got := press(m, late, key); !reflect.DeepEqual(got, say(justTurned)) || m.sure != nil || len(m.closing) > 0 {
				t.Errorf("%s gives %v", key, got)
			}
		}
		if press(m, noon.Add(deadFor), "i"); m.sure == nil {
			t.Error("the keys stay dead")
		}
	})
	t.Run("the person has moved since", func(t *testing.T) {
		m := loaded(five()...)
		m.Update(noon, Listed{Threads: five()[1:], Whole: true})
		press(m, noon, "g")
		if press(m, noon, "i"); m.sure == nil {
			t.Error("a key after a key is dead")
		}
	})
	t.Run("the question is answered elsewhere", func(t *testing.T) {
		m := loaded(five()...)
		asks(m, noon)
		gone := five()[0]
		gone.Summary.Waiting, gone.Summary.WaitingCount, gone.Summary.Status, gone.LatestSeq = nil, 0, statusWorking, 51
		m.Update(noon, Listed{Threads: []Thread{gone}})
		if m.asked != nil {
			t.Fatal("the question stays")
		}
		for _, key := range []string{"y", "n", "1", "enter"} {
			if got := press(m, late, key); !reflect.DeepEqual(got, say(justTurned)) || m.form != nil {
				t.Errorf("%s gives %v", key, got)
			}
		}
	})
	t.Run("it was answered here", func(t *testing.T) {
		m := loaded(five()...)
		asks(m, noon)
		m.Update(noon, screen.Done{Action: screen.Respond{Item: "item_a", Option: "yes"}})
		if got := press(m, noon, "w"); !reflect.DeepEqual(got, []screen.Action{screen.Next{}}) {
			t.Errorf("w gives %v", got)
		}
	})
}

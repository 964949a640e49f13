package overview

import (
	"encoding/json"
	"reflect"
	"testing"

	tea "charm.land/bubbletea/v2"

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
	t.Run("it was answered here, and is read again before the answer to that", func(t *testing.T) {
		m := loaded(five()...)
		read := asks(m, noon)[0]
		text(m, noon.Add(deadFor), 80, 24)
		if press(m, noon.Add(deadFor), "1"); !m.asked.sent {
			t.Fatal("1 sends nothing")
		}
		m.Update(noon.Add(deadFor), screen.Done{Action: read, Result: json.RawMessage(`{"item":{"item_id":"item_a","status":"completed","content":{"type":"permission_request","title":"x"}}}`)})
		if m.asked != nil {
			t.Fatal("the question stays")
		}
		if press(m, noon.Add(deadFor), "n"); m.form == nil {
			t.Error("n opens no form")
		}
	})
	// Else the text that follows would be commands.
	t.Run("a key that opens a line", func(t *testing.T) {
		for key, open := range map[string]func(m *Model) bool{
			"/": func(m *Model) bool { return m.filter.open },
			"n": func(m *Model) bool { return m.form != nil },
		} {
			m := loaded(five()...)
			m.Update(noon, Listed{Threads: five()[1:], Whole: true})
			for _, key := range []string{key, "x", "i"} {
				press(m, late, key)
			}
			if !open(m) || len(m.closing) > 0 || m.sure != nil {
				t.Errorf("%s opens nothing", key)
			}
		}
	})
	t.Run("the person has chosen the next that waits", func(t *testing.T) {
		m := loaded(five()...)
		m.Update(noon, Listed{Threads: five()[1:], Whole: true})
		if got := press(m, late, "w"); !reflect.DeepEqual(got, []screen.Action{screen.Next{}}) {
			t.Fatalf("w gives %v", got)
		}
		m.Select(five()[1].ID)
		if got := press(m, late, "y"); reflect.DeepEqual(got, say(justTurned)) {
			t.Error("a key after that is dead")
		}
	})
}

// What is typed into a form on its way would go with it: it is refused, and that is said.
func TestAKeyForAFormThatIsSentIsNotLostWithoutASign(t *testing.T) {
	m := loaded(five()...)
	press(m, noon, "n")
	press(m, noon, "a", "enter")
	if !m.form.sent {
		t.Fatal("nothing is sent")
	}
	if got := press(m, noon, "g"); !reflect.DeepEqual(got, say(startingNow)) || m.form.prompt.Value() != "a" {
		t.Errorf("g gives %v, the prompt is %q", got, m.form.prompt.Value())
	}
	if got := m.Update(noon, tea.PasteMsg{Content: "more"}); !reflect.DeepEqual(got, say(startingNow)) || m.form.prompt.Value() != "a" {
		t.Errorf("a paste gives %v, the prompt is %q", got, m.form.prompt.Value())
	}
}

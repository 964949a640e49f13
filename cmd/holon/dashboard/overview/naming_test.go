package overview

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

func TestAThreadIsRenamedWithT(t *testing.T) {
	m := loaded(five()...)
	press(m, noon, "down", "t")
	if got := text(m, noon, 80, 24); !strings.Contains(got, "Title: Write the migration") || !strings.Contains(got, "Enter rename  Esc leave") {
		t.Fatalf("the title is not typed:\n%s", got)
	}
	press(m, noon, "q", "x")
	m.Update(noon, tea.PasteMsg{Content: "!\n"})
	want := screen.Rename{Thread: "thread_0000bbbbbbbb", Title: "Write the migrationqx!"}
	if got := press(m, noon, "enter", "enter"); !reflect.DeepEqual(got, []screen.Action{want}) {
		t.Errorf("Enter gives %v, want %v once", got, want)
	}
	m.Update(noon, screen.Done{Action: want, Err: errors.New("no")})
	if m.naming == nil || !strings.Contains(text(m, noon, 80, 24), "migrationqx!") {
		t.Error("a title that was refused is gone")
	}
	for range screen.MostTitle {
		m.Update(noon, tea.KeyPressMsg(tea.Key{Code: tea.KeyBackspace}))
	}
	back := screen.Rename{Thread: "thread_0000bbbbbbbb"}
	if got := press(m, noon, "enter"); !reflect.DeepEqual(got, []screen.Action{back}) {
		t.Errorf("an empty title gives %v", got)
	}
	m.Update(noon, screen.Done{Action: back})
	if m.naming != nil {
		t.Error("the line stays")
	}
	press(m, noon, "t", "esc")
	if m.naming != nil {
		t.Error("Esc does not leave the line")
	}
	m = loaded(quick("a", statusClosed, 1))
	press(m, noon, "c")
	if got := press(m, noon, "t"); !reflect.DeepEqual(got, say("It is closed: its title stays.")) {
		t.Errorf("of a closed thread: %v", got)
	}
}

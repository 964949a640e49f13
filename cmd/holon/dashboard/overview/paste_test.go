package overview

import (
	"reflect"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/conversation"
	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// A paste is taken whole or not at all, and then the person is told.
func TestAPasteIsNeverCut(t *testing.T) {
	after := func(keys ...string) func() *Model {
		return func() *Model { m := loaded(five()...); press(m, noon, keys...); return m }
	}
	prompt := func(m *Model) string { return m.form.prompt.Value() }
	much := strings.Repeat("x", conversation.MaxTyped)
	for name, c := range map[string]struct {
		open  func() *Model
		paste string
		value func(m *Model) string
		says  string // "": it is taken
	}{
		"a prompt":              {after("n"), much, prompt, ""},
		"a prompt of lines":     {after("n"), strings.Repeat("x\n", maxLines-1), prompt, ""},
		"a long prompt":         {after("n"), much + "x", prompt, "262 kB is too long to paste here (at most 262 kB): holon run - < FILE"},
		"a prompt of too many":  {after("n"), strings.Repeat("x\r\n", maxLines), prompt, "That has too many lines to paste it here (at most 10000): holon run - < FILE"},
		"a long directory":      {after("n", "tab", "tab"), strings.Repeat("x", 5000), func(m *Model) string { return strings.TrimPrefix(m.form.cwd.Value(), m.cwd) }, "That is too long for a directory."},
		"a name in Latin-1":     {after("n", "tab", "tab"), "/caf\xe9", func(m *Model) string { return strings.TrimPrefix(m.form.cwd.Value(), m.cwd) }, notUTF8},
		"an answer":             {typing, much[2:], func(m *Model) string { return "" }, ""},
		"a long answer":         {typing, much, func(m *Model) string { return "" }, "262 kB is too long to paste here (at most 262 kB)."},
		"a long filter":         {after("/"), strings.Repeat("x", 101), func(m *Model) string { return m.list.filter }, "That is too long for a filter."},
		"what is no text field": {after("i"), much + much, func(m *Model) string { return "" }, ""},
	} {
		m := c.open()
		var want []screen.Action
		if c.says != "" {
			want = say(c.says)
		}
		got := m.Update(noon.Add(deadTime), tea.PasteMsg{Content: c.paste})
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s of %d bytes gives %v, want %v", name, len(c.paste), got, want)
		}
		if value := c.value(m); c.says != "" && value != "" || c.says == "" && value != "" && value != c.paste {
			t.Errorf("%s of %d bytes becomes one of %d", name, len(c.paste), len(value))
		}
		if m.form != nil && c.says == "" {
			if actions := press(m, noon, "enter"); len(actions) != 1 || actions[0].(screen.StartThread).Text != strings.TrimSpace(c.paste) {
				t.Errorf("%s of %d bytes is not sent whole", name, len(c.paste))
			}
		}
	}
}

// A directory whose name cannot be sent is not replaced by another one.
func TestADirectoryThatIsNotUTF8IsNotReplaced(t *testing.T) {
	m := loaded(five()...)
	m.cwd = "/src/caf\xe9"
	press(m, noon, "n")
	m.Update(noon.Add(deadTime), tea.PasteMsg{Content: "go"})
	if got := press(m, noon, "enter"); !reflect.DeepEqual(got, say("The name of the directory you are in is not UTF-8. Type another one.")) || m.form.field != fieldDirectory {
		t.Errorf("%v", got)
	}
	m.Update(noon.Add(deadTime), tea.PasteMsg{Content: "/src/b"})
	if got := press(m, noon, "enter"); len(got) != 1 || got[0].(screen.StartThread).Cwd != "/src/b" {
		t.Errorf("%v", got)
	}
}

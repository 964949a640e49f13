// Package keytest compares the keys that a page names with those that do something. Only
// tests import it.
package keytest

import (
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// named are the keys that have names.
var named = map[string]tea.KeyPressMsg{
	"Enter": {Code: tea.KeyEnter}, "Esc": {Code: tea.KeyEscape}, "Tab": {Code: tea.KeyTab}, "Space": {Code: tea.KeySpace, Text: " "},
	"↑": {Code: tea.KeyUp}, "↓": {Code: tea.KeyDown}, "←": {Code: tea.KeyLeft}, "→": {Code: tea.KeyRight},
	"PgUp": {Code: tea.KeyPgUp}, "PgDn": {Code: tea.KeyPgDown}, "Home": {Code: tea.KeyHome}, "End": {Code: tea.KeyEnd},
	"Backspace": {Code: tea.KeyBackspace}, "Delete": {Code: tea.KeyDelete}, "Insert": {Code: tea.KeyInsert},
}

// all returns all keys that a person may press: with Ctrl and Alt those that have a meaning
// somewhere, else every character of a keyboard.
func all() map[string]tea.KeyPressMsg {
	keys := map[string]tea.KeyPressMsg{}
	for name, key := range named {
		keys[name] = key
		keys["Alt-"+name] = tea.KeyPressMsg{Code: key.Code, Mod: tea.ModAlt}
		keys["Ctrl-"+name] = tea.KeyPressMsg{Code: key.Code, Mod: tea.ModCtrl}
	}
	for c := '!'; c <= '~'; c++ {
		keys[string(c)] = tea.KeyPressMsg{Code: c, Text: string(c)}
	}
	for c := 'a'; c <= 'z'; c++ {
		keys["Ctrl-"+strings.ToUpper(string(c))] = tea.KeyPressMsg{Code: c, Mod: tea.ModCtrl}
		keys["Alt-"+strings.ToUpper(string(c))] = tea.KeyPressMsg{Code: c, Mod: tea.ModAlt}
	}
	return keys
}

// Listed returns the names of keys below a heading of a page of help, "" for those before the
// first one. A range such as 1-9 is all of it.
func Listed(keys []screen.Key, heading string) (names []string) {
	at := ""
	for _, key := range keys {
		if key.Name == "" && key.Does != "" {
			at = key.Does
		}
		if at != heading {
			continue
		}
		for _, name := range strings.Fields(key.Name) {
			if from, to, found := strings.Cut(name, "-"); found && len(from) == 1 && len(to) == 1 {
				for c := from[0]; c <= to[0]; c++ {
					names = append(names, string(c))
				}
				continue
			}
			names = append(names, name)
		}
	}
	return names
}

// Check presses every key in every situation, and compares those that do something
// somewhere with those that are listed. does presses a key in a situation that it makes
// anew, and reports whether anything has happened. Keys that the program handles, and
// typed says which are text, are left out.
func Check(t *testing.T, listed []string, situations int, typed func(name string) bool, does func(situation int, key tea.KeyPressMsg) bool) {
	t.Helper()
	keys := all()
	for _, name := range listed {
		if _, known := keys[name]; !known {
			t.Errorf("%s is listed: no such key", name)
		}
	}
	for name, key := range keys {
		if name == "Ctrl-C" || typed(name) {
			continue // the program ends
		}
		works := false
		for i := range situations {
			works = works || does(i, key)
		}
		switch is := slices.Contains(listed, name); {
		case works && !is:
			t.Errorf("%s does something, and is not listed", name)
		case !works && is:
			t.Errorf("%s is listed, and does nothing", name)
		}
	}
}

package api

import (
	"slices"
	"testing"
)

// TestEveryMethodDeclaresTheThreadsItIsAbout compares the declared scope with
// the ids that the params can name.
func TestEveryMethodDeclaresTheThreadsItIsAbout(t *testing.T) {
	for _, m := range (&Handlers{}).methods() {
		s := shapeOf(m.Params)
		names := map[Scope]bool{ScopeThread: s.ids[idThread] != nil, ScopeTurn: s.ids[idTurn] != nil, ScopeItem: s.ids[idItem] != nil}
		switch m.Scope {
		case ScopeServer:
			if slices.ContainsFunc(s.ids[:], func(at []int) bool { return at != nil }) || s.threads != nil {
				t.Errorf("%s is declared to be of no thread, and names one", m.Name)
			}
		case ScopeThread, ScopeTurn, ScopeItem:
			if !names[m.Scope] {
				t.Errorf("%s is declared to be of a %s, and names none", m.Name, m.Scope)
			}
		case ScopeLog:
		default:
			t.Errorf("%s declares no scope", m.Name)
		}
	}
}

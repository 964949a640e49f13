package engine_test

import (
	"cmp"
	"errors"
	"testing"

	"github.com/seed82539d15/holon/turns"
)

// local is an agent that works in a directory, "" = its directory is gone.
type local struct {
	agentFunc
	dir string
}

func (l local) Directory(cwd string) (string, error) {
	if l.dir == "" {
		return "", errors.New("it is gone")
	}
	return cmp.Or(cwd, l.dir), nil
}

func TestDirectoryIsWhereTheAgentWorks(t *testing.T) {
	agents := []turns.Agent{local{agentFunc{"in", nil}, "/src"}, local{agentFunc{"gone", nil}, ""}, agentFunc{"nowhere", nil}}
	bubble(t, setup{agents: agents}, func(h *harness) {
		for _, c := range [][3]string{
			{"in", "", "/src"}, {"in", "/own", "/own"}, {"gone", "", ""}, {"gone", "/own", "/own"},
			{"nowhere", "", ""}, {"nowhere", "/own", "/own"}, {"removed", "", ""}, {"removed", "/own", "/own"},
		} {
			if got := h.engine.Directory(c[0], c[1]); got != c[2] {
				t.Errorf("%s with the cwd %q works in %q, want %q", c[0], c[1], got, c[2])
			}
		}
	})
}

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/seed82539d15/holon/host/hosttest"
)

// workflows are the examples of workflows, each in a directory of its own with what it needs.
func workflows(t *testing.T) map[string][]string {
	t.Helper()
	dir := t.TempDir()
	for from, to := range map[string]string{
		"../../docs/examples/workflow.sh": "workflow.sh", "../../docs/examples/workflow.py": "workflow.py",
		"../../docs/examples/workflow.mjs": "workflow.mjs", "../../clients/python/holon.py": "holon.py",
	} {
		data, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, to), data, 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	list := map[string][]string{
		"shell": {filepath.Join(dir, "workflow.sh")}, "go": {build(t, dir, "./docs/examples/workflow")},
		"python": {"python3", filepath.Join(dir, "workflow.py")}, "javascript": {"node", filepath.Join(dir, "workflow.mjs")},
	}
	for name, needs := range map[string]string{"python": "python3", "javascript": "node"} {
		if _, err := exec.LookPath(needs); err != nil {
			if os.Getenv("REQUIRE_FAULTS") == "1" {
				hosttest.Need(t, needs+" is missing")
			}
			t.Logf("NOT TESTED: the workflow in %s needs %s", name, needs)
			delete(list, name)
		}
	}
	return list
}

// The same workflow in four languages says the same, and does each job once.
func TestWorkflowsOfTheExamples(t *testing.T) {
	binary := build(t, t.TempDir(), "./cmd/holon")
	for name, command := range workflows(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serveConfig(t, binary, leads(command, ""), withHolon(t, binary))
			r := s.holon("run", "--agent=lead", "--thread=main", "-q", "1.4")
			if want := "published: notes for 1.4, linux 1.4, mac 1.4\n"; r.code != exitOK || r.out != want {
				t.Errorf("exit %d: it said %q, want %q\n%s", r.code, r.out, want, r.err)
			}
			if list := s.children("main"); len(list) != 4 {
				t.Errorf("%d jobs: %v", len(list), list)
			}
		})
	}
}

// Package python has the client for Python, holon.py, and runs its tests.
package python

import (
	"os/exec"
	"regexp"
	"testing"

	"github.com/seed82539d15/holon/internal/test/hosttest"
)

var notTested = regexp.MustCompile(`NOT TESTED: ([^'"]*)`)

func TestClientForPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		hosttest.Need(t, "python3 is missing, which runs clients/python/test_holon.py")
	}
	out, err := exec.CommandContext(t.Context(), python, "-B", "-W", "error", "-m", "unittest", "-v", "test_holon").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if missing := notTested.FindSubmatch(out); missing != nil {
		hosttest.Need(t, string(missing[1]))
	}
}

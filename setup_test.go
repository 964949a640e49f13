package holon_test

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// runsCommand matches where a test looks for a command or runs it, also in a namespace.
var runsCommand = regexp.MustCompile(`exec\.(?:(?:LookPath|Command)\(|CommandContext\([\w.()]+, )"(?:unshare", "-n", ")?([a-z][\w-]*)"`)

// always are the commands that .ci/setup does not install: those of Go and of every Debian,
// and npm, without which one test says that it was left out, and whose package needs
// hundreds of others.
var always = []string{"bash", "go", "nsenter", "setsid", "sh", "sleep", "unshare", "npm"}

// A machine that lacks a command for the tests gets it from .ci/setup, or reads there what
// is not tested. Commands whose names are in variables, or in a script, are not seen here.
func TestSetupHasEveryCommandOfTheTests(t *testing.T) {
	used := map[string]bool{}
	_ = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil: // not of the project, or of another test that has ended
			return nil
		case d.IsDir() && slices.Contains([]string{".git", "bin", "data", "dist", "node_modules"}, d.Name()):
			return fs.SkipDir
		case !d.IsDir() && strings.HasSuffix(path, "_test.go"):
			text, _ := os.ReadFile(path)
			for _, m := range runsCommand.FindAllStringSubmatch(string(text), -1) {
				used[m[1]] = true
			}
		}
		return nil
	})
	if len(used) < 10 {
		t.Errorf("only these are used: %v", used)
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("NOT TESTED: there is no bash")
	}
	setup, err := filepath.Abs(".ci/setup")
	if err != nil {
		t.Fatal(err)
	}
	// No command is found, and id says that nothing may be installed. The folder in which
	// the script looks for what it has installed before is empty.
	cmd := exec.Command(bash, "-c", `id() { echo 1000; }; dirname() { echo "$PATH/."; }; source "$1"`, "bash", setup)
	cmd.Env = []string{"PATH=" + t.TempDir()}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range slices.Sorted(maps.Keys(used)) {
		if !slices.Contains(always, name) && !regexp.MustCompile(`(?m)^  `+name+` `).Match(out) {
			t.Errorf("%s is not in .ci/setup:\n%s", name, out)
		}
	}
}

package holon_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Before a change lands the race detector's run is the only one of most tests, so what -short leaves
// out of it or makes shorter has to be known: wherever the test calls testing.Short, or rapid does.
func TestWhatShortRunsLeaveOutIsKnown(t *testing.T) {
	out, err := exec.Command("go", "run", ".ci/shortened.go").Output()
	if err != nil {
		t.Fatal(err)
	}
	list := "\n" + string(out)
	for _, test := range []string{
		"engine TestRandomTrees",                                // a function in its file
		"cmd/holon TestArchiveOfAReleaseIsWholeAndReproducible", // in itself
		"cmd/holon/dashboard TestPictures",                      // a helper of another package
		"agents/exec TestTextNeverDependsOnWhereThePiecesBegin", // rapid
		"persist/sqlite TestStorePassesTheSuite",                // a suite for all stores
	} {
		if !strings.Contains(list, "\n"+test+"\n") {
			t.Errorf("%s is not in it", test)
		}
	}
	for _, test := range []string{"engine TestPromptLimit", "cmd/holon TestTheReadmeBeginsWithTheSource"} {
		if strings.Contains(list, "\n"+test+"\n") {
			t.Errorf("%s is in it", test)
		}
	}
}

// A package that another run has tested runs only those tests; every other package is run as it is.
func TestOnlyWhatIsLeftOfAPackageIsRun(t *testing.T) {
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(t.TempDir(), "list")
	for file, text := range map[string]string{list: "engine TestOne\nengine TestTwo\ncmd/holon TestThree\ninternal/lines TestFour\n", list + ".packages": "cmd/holon\nengine\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for dir, want := range map[string]string{"engine": "-test.v -test.run=^(TestOne|TestTwo)$\n", "cmd/holon": "-test.v -test.run=^(TestThree)$\n", "internal/lines": "-test.v\n"} {
		cmd := exec.Command(filepath.Join(root, ".ci/beside"), "echo", "-test.v")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "BESIDE_ROOT="+root, "BESIDE_LIST="+list)
		if out, err := cmd.Output(); err != nil || string(out) != want {
			t.Errorf("in %s: %q, %v, want %q", dir, out, err, want)
		}
	}
}

package console_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/internal/test/hosttest"
	"github.com/seed82539d15/holon/internal/test/markdowntest"
)

// The tests of the page's modules are in test/*.test.js. Node runs them without a browser,
// one of them against a server of this tree.
func TestNodeRunsTheTests(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: the race detector does not see into node; without -short it is tested")
	}
	if _, err := exec.LookPath("node"); err != nil {
		hosttest.Need(t, "there is no node")
	}
	dir := t.TempDir()
	holon, err := hosttest.Build(dir, "./cmd/holon")
	if err != nil {
		t.Fatal(err)
	}
	// The modules import each other by the paths at which they are served.
	for to, from := range map[string]string{
		"app": "static/app/*.js", "vendor": "static/vendor/*.js", "client": "../clients/js/*.js", "test": "test/*.js",
		"testdata": "../notify/fold/testdata/*.json", "questiondata": "../question/testdata/*.json", "turns": "../turns/testdata/*.json",
		"inbox": "../inbox/testdata/*.json",
	} {
		copyAll(t, from, filepath.Join(dir, to))
	}
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"type":"module"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	writeTexts(t, filepath.Join(dir, "texts.json"))
	files, err := filepath.Glob(filepath.Join(dir, "test", "*.test.js"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the tests are %v: %v", files, err)
	}
	cmd := exec.Command("node", append([]string{"--test", "--test-concurrency=3"}, files...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOLON_BINARY="+holon, "NODE_OPTIONS=", "NO_COLOR=1")
	out, err := hosttest.Run(t, cmd)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if strings.Contains(out, "NOT TESTED") {
		t.Errorf("a test was skipped:\n%s", out)
	}
}

// writeTexts writes random Markdown, and the words that must be on the page.
func writeTexts(t *testing.T, path string) {
	t.Helper()
	type text struct {
		Text  string   `json:"text"`
		Words []string `json:"words"`
	}
	var all []text
	for r := markdowntest.New(3); len(all) < 2000; {
		markdown, words := r.Next()
		all = append(all, text{markdown, words})
	}
	data, err := json.Marshal(all)
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func copyAll(t *testing.T, pattern, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s are %v: %v", pattern, paths, err)
	}
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(p)), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

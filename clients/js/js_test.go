package js_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	js "github.com/seed82539d15/holon/clients/js"
	"github.com/seed82539d15/holon/internal/test/hosttest"
)

// The tests of the client itself are in test/*.test.js. Node runs them, one of them
// against a server of this tree.
func TestNodeRunsTheTests(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		hosttest.Need(t, "there is no node")
	}
	holon, err := hosttest.Build(t.TempDir(), "./cmd/holon")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("test/*.test.js")
	if err != nil || len(files) < 5 {
		t.Fatalf("the tests are %v: %v", files, err)
	}
	cmd := exec.Command("node", append([]string{"--test", "--test-concurrency=3"}, files...)...)
	cmd.Env = append(os.Environ(), "HOLON_BINARY="+holon, "NODE_OPTIONS=", "NO_COLOR=1")
	out, err := hosttest.Run(t, cmd)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if strings.Contains(out, "NOT TESTED") {
		t.Errorf("a test was skipped:\n%s", out)
	}
}

// The types narrow, as a program that uses the package sees them.
func TestTypesAreNarrowedByTheCompiler(t *testing.T) {
	if _, err := exec.LookPath("tsc"); err != nil {
		hosttest.Need(t, "there is no tsc")
	}
	dir := t.TempDir()
	installed := filepath.Join(dir, "node_modules", "holon-client")
	for name, to := range map[string]string{
		"index.d.ts": installed, "types.d.ts": installed, "package.json": installed, "test/narrow.ts": dir,
	} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(to, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, path.Base(name)), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, resolution := range []string{"node", "nodenext"} {
		args := []string{"--strict", "--noEmit", "--skipDefaultLibCheck", "--target", "es2020", "--lib", "es2020,dom", "--moduleResolution", resolution}
		if resolution == "nodenext" {
			args = append(args, "--module", "nodenext")
			if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"type":"module"}`), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("tsc", append(args, "narrow.ts")...)
		cmd.Dir = dir
		if out, err := hosttest.Run(t, cmd); err != nil {
			t.Errorf("%s: %v\n%s", resolution, err, out)
		}
	}
}

// The console serves the embedded modules as they are: each import must be one of
// them, and none may need what its Content-Security-Policy forbids.
func TestModulesNeedNothingElse(t *testing.T) {
	imports := regexp.MustCompile(`(?m)^(?:import|export) [^;]*?from '([^']+)'`)
	forbidden := regexp.MustCompile(`\beval\(|new Function|innerHTML|outerHTML|document\.write|import\(|require\(`)
	names, err := fs.Glob(js.Files, "*.js")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(names, "index.js") {
		t.Fatalf("the modules are %v", names)
	}
	seen := map[string]bool{"index.js": true}
	for _, name := range names {
		text, err := fs.ReadFile(js.Files, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range imports.FindAllSubmatch(text, -1) {
			from, ours := strings.CutPrefix(string(m[1]), "./")
			if !ours || !slices.Contains(names, from) {
				t.Errorf("%s imports %s, which is no module beside it", name, m[1])
			}
			seen[from] = true
		}
		if m := forbidden.Find(text); m != nil {
			t.Errorf("%s uses %s", name, m)
		}
	}
	for _, name := range names {
		if !seen[name] {
			t.Errorf("nothing imports %s", name)
		}
	}
}

func TestPackageNamesWhatItHas(t *testing.T) {
	text, err := os.ReadFile("package.json")
	if err != nil {
		t.Fatal(err)
	}
	var p struct {
		Name, Version, License, Type string
		Dependencies                 map[string]string
	}
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	if p.Name != "holon-client" || p.Version == "" || p.License != "Apache-2.0" || p.Type != "module" || p.Dependencies != nil {
		t.Errorf("package.json says %+v", p)
	}
	license, err := os.ReadFile("../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	if ours, err := os.ReadFile("LICENSE"); err != nil || string(ours) != string(license) {
		t.Errorf("LICENSE is not that of the project: %v", err)
	}
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("NOT TESTED: there is no npm, which makes the package")
	}
	// Packing asks no registry.
	cmd := exec.Command("npm", "pack", "--offline", "--json", "--pack-destination", t.TempDir())
	cmd.Env = append(os.Environ(), "npm_config_update_notifier=false", "npm_config_cache="+t.TempDir())
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("npm pack: %v\n%s", err, out)
	}
	var packed []struct {
		Filename string
		Files    []struct{ Path string }
	}
	if err := json.Unmarshal(out, &packed); err != nil || len(packed) != 1 {
		t.Fatalf("npm pack says %s: %v", out, err)
	}
	if want := "holon-client-" + p.Version + ".tgz"; packed[0].Filename != want {
		t.Errorf("the package is %s, not %s", packed[0].Filename, want)
	}
	var got []string
	for _, f := range packed[0].Files {
		got = append(got, f.Path)
	}
	want := []string{"LICENSE", "README.md", "index.d.ts", "package.json", "types.d.ts"}
	modules, err := filepath.Glob("*.js")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, modules...)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the package has %v, not %v", got, want)
	}
}

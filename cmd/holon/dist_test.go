package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/persist/sqlite"
)

// command runs a program in a directory, which must succeed, and returns what it prints.
func command(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := osexec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(args, " "), err, out.Bytes(), errs.Bytes())
	}
	return out.String()
}

// archive builds and packs as `make dist` does, and returns the directory of the
// archive. The flags of the build are those of the tests, because a build with others
// would compile SQLite again, for a minute.
func archive(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	command(t, "../..", "make", "--no-print-directory", "dist", "BUILDFLAGS=", "VERSION=v0.0.0-test", "COMMIT=c0ffee",
		"BIN="+filepath.Join(t.TempDir(), "holon"), "DIST="+dir)
	return dir
}

func TestArchiveOfAReleaseIsWholeAndReproducible(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("NOT TESTED in short runs, because it links the program twice, and not without GNU tar, which deploy/dist needs")
	}
	name := "holon-v0.0.0-test-" + runtime.GOOS + "-" + runtime.GOARCH
	first, second := archive(t), archive(t)
	sums := make([]string, 2)
	for i, dir := range []string{first, second} {
		command(t, dir, "sha256sum", "--strict", "--check", "SHA256SUMS")
		data, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		if sums[i] = string(data); !strings.HasSuffix(sums[i], "  "+name+".tar.gz\n") {
			t.Fatalf("SHA256SUMS is %q", sums[i])
		}
	}
	if sums[0] != sums[1] {
		t.Errorf("two builds differ:\n%s%s", sums[0], sums[1])
	}
	listed := command(t, first, "tar", "--numeric-owner", "-tvzf", name+".tar.gz")
	executable := regexp.MustCompile(`^-rwxr-xr-x .* ` + regexp.QuoteMeta(name) + `/(holon|docs/examples/.*\.(py|sh|js))\n$`)
	for line := range strings.Lines(listed) {
		if !strings.Contains(line, " 0/0 ") || !strings.HasPrefix(line, "drwxr-xr-x") && !strings.HasPrefix(line, "-rw-r--r--") && !executable.MatchString(line) {
			t.Errorf("owner or mode: %s", line)
		}
	}

	if script := "-rwxr-xr-x 0/0 "; !regexp.MustCompile(script + `.*/docs/examples/agent\.sh\n`).MatchString(listed) {
		t.Errorf("the examples cannot be executed:\n%s", listed)
	}

	empty := t.TempDir()
	command(t, empty, "tar", "-xzf", filepath.Join(first, name+".tar.gz"))
	tree := filepath.Join(empty, name)
	var info versionInfo
	if err := json.Unmarshal([]byte(command(t, empty, filepath.Join(tree, "holon"), "version", "--json")), &info); err != nil {
		t.Fatal(err)
	}
	want := versionInfo{
		Version: "v0.0.0-test", Commit: "c0ffee", Go: runtime.Version(), Protocol: api.ProtocolVersion, Schema: sqlite.SchemaVersion(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if info != want {
		t.Errorf("holon version --json is %+v, want %+v", info, want)
	}
	// What the files must be there for, by a text that each must have.
	files := map[string]string{
		"LICENSE": "Apache License", "README.md": "# Holon", "CHANGELOG.md": "# Changelog", "docs/operations.md": "# Operations",
		"THIRD-PARTY-LICENSES": "==== github.com/mattn/go-sqlite3 v",
		"deploy/grafana.json":  "holon_build_info", "deploy/alerts.yml": "HolonDown",
		"clients/python/holon.py": "class Client", "clients/js/index.js": "View", "clients/js/index.d.ts": "View", "clients/js/package.json": "holon-client",
		"docs/examples/clients/client.mjs": "holon-client",
		"deploy/holon.service":             "ExecStart=", "deploy/holon-backup.service": "holon backup", "deploy/holon-backup.timer": "OnCalendar=",
		"completions/holon.bash": "__start_holon", "completions/_holon": "#compdef holon", "completions/holon.fish": "complete -c holon",
	}
	if licences, err := os.ReadFile(filepath.Join(tree, "THIRD-PARTY-LICENSES")); err != nil || !strings.Contains(string(licences), "==== preact ") {
		t.Errorf("THIRD-PARTY-LICENSES lacks the libraries of the console: %v", err)
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		data, err := os.ReadFile(filepath.Join(tree, file))
		if err != nil || !strings.Contains(string(data), files[file]) {
			t.Errorf("%s: %v; it must have %q", file, err, files[file])
		}
	}
	if packed, all := checkLinks(t, tree), documentsOf(t, "../.."); !slices.Equal(packed, all) {
		t.Errorf("the documents are %q, want those of the repository: %q", packed, all)
	}
}

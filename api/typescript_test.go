package api

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed82539d15/holon/internal/test/hosttest"
)

// The compiler can narrow each union by its literal member, and refuses members
// that do not exist.
func TestTypeScriptIsNarrowedByTheCompiler(t *testing.T) {
	compiler := typeScriptCompiler(t)
	text, err := TypeScript()
	if err != nil {
		t.Fatal(err)
	}
	client, err := os.ReadFile(filepath.Join("testdata", "narrow.ts"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, b := range map[string][]byte{"holon.ts": []byte(text), "narrow.ts": client} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	args := append(compiler[1:len(compiler):len(compiler)], "--strict", "--noEmit", "--target", "es2020", "narrow.ts")
	cmd := exec.CommandContext(ctx, compiler[0], args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// typeScriptCompiler is the command of the compiler: an installed one, or one
// from npm. Without either the test is skipped; REQUIRE_FAULTS=1 turns the skip
// into a failure.
func typeScriptCompiler(t *testing.T) []string {
	if path, err := exec.LookPath("tsc"); err == nil {
		return []string{path}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	command := []string{"npx", "--yes", "--package", "typescript@5.9.3", "tsc"}
	out, err := exec.CommandContext(ctx, command[0], append(command[1:], "--version")...).CombinedOutput()
	if err == nil {
		return command
	}
	hosttest.Need(t, fmt.Sprintf("there is no tsc, and npx: %v\n%s", err, out))
	return nil
}

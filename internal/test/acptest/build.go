// Package acptest builds the agents that tests of package acp run as real
// processes. badagent follows the commands in a prompt and misbehaves on
// demand. The example agent of a foreign SDK proves that the peer understands
// other implementations. Only tests import it.
//
//	func TestMain(m *testing.M) { acptest.Main(m) }
//
//	agent := acptest.Build(t, acptest.BadAgent) // the path of the program
package acptest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Program is a main package.
type Program string

// The programs. go.mod pins Example as a tool, so it is built from the module
// cache, without a network.
const (
	BadAgent Program = "github.com/seed82539d15/holon/internal/test/badagent"
	Example  Program = "github.com/coder/acp-go-sdk/example/agent"
)

var (
	mu    sync.Mutex
	dir   string // of the built programs; "" = none yet
	built = map[Program]func() (string, error){}
)

// Build returns the path of the program, built once per test process. It may be
// called from many goroutines. The TestMain of a package that uses it must call
// Main, which removes the built programs.
func Build(t testing.TB, p Program) string {
	t.Helper()
	mu.Lock()
	if built[p] == nil {
		built[p] = sync.OnceValues(func() (string, error) { return build(p) })
	}
	once := built[p]
	mu.Unlock()
	path, err := once()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func build(p Program) (string, error) {
	dir, err := folder()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, strings.ReplaceAll(string(p), "/", "_"))
	cmd := exec.Command("go", "build", "-o", path, string(p))
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build %s: %w\n%s", p, err, out)
	}
	return path, nil
}

func folder() (string, error) {
	mu.Lock()
	defer mu.Unlock()
	if dir != "" {
		return dir, nil
	}
	d, err := os.MkdirTemp("", "holon-acptest-")
	if err != nil {
		return "", err
	}
	dir = d
	return dir, nil
}

// Main runs the tests of a package, removes the programs they built, looks for
// leaked goroutines and exits.
func Main(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		Clean()
		os.Exit(code)
	}))
}

// Clean removes the built programs. It is for a TestMain that cannot call Main.
func Clean() {
	mu.Lock()
	defer mu.Unlock()
	if dir != "" {
		_ = os.RemoveAll(dir) // a temporary folder: the system removes it too
		dir = ""
		clear(built)
	}
}

// Patience is how long a test waits for an expected event before it fails. It
// is long because a loaded machine is no failure.
const Patience = 30 * time.Second

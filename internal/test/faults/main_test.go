//go:build linux

package faults

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/seed82539d15/holon/internal/test/hosttest"
)

// binary is the program under test, built by TestMain. scratch holds
// everything the tests write; its path is short, since it has sockets in it.
var binary, scratch string

func TestMain(m *testing.M) {
	if job := os.Getenv(traceEnv); job != "" {
		os.Exit(traceMain(job, os.Args[1:]))
	}
	if job := os.Getenv(workerEnv); job != "" {
		os.Exit(workerMain(job))
	}
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	var err error
	if scratch, err = os.MkdirTemp("", "faults"); err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		return 1
	}
	defer os.RemoveAll(scratch)
	var flags []string
	if raced {
		flags = []string{"-race"}
	}
	if binary, err = hosttest.Build(scratch, "./cmd/holon", flags...); err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		return 1
	}
	flag.Parse()
	// Servers that were killed wait for leases, backoffs and timers: more of them fit on few
	// cores. The long runs say for themselves how many.
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue && os.Getenv("CRASH") != "long" {
		_ = f.Value.Set("6")
	}
	return m.Run()
}

// either returns the figure for the short form, or for CRASH=long.
func either[T any](short, long T) T {
	if os.Getenv("CRASH") == "long" {
		return long
	}
	return short
}

// probes try what a test needs besides the program; the error says what is
// missing.
var probes = map[string]func() error{
	"ptrace": func() error {
		cmd := exec.Command(os.Args[0], "true")
		cmd.Env = append(os.Environ(), traceEnv+"="+string(mustJSON(trace{Report: os.DevNull, PID: os.DevNull})))
		return cmd.Run()
	},
	"strace": func() error { return exec.Command("strace", "-o", os.DevNull, "true").Run() },
	"mount": func() error {
		if os.Geteuid() != 0 {
			return errors.New("only root may mount")
		}
		script := "mount -t tmpfs -o size=1m tmpfs " + scratch + " && nsenter --version"
		return exec.Command("unshare", "-m", "sh", "-c", script).Run()
	},
	"process namespace": func() error {
		return exec.Command("unshare", "-fp", "--mount-proc", "true").Run()
	},
	"network": func() error {
		return exec.Command("unshare", "-n", "ip", "link", "set", "lo", "up").Run()
	},
}

// need skips the test loudly if the machine has or permits no ptrace, strace, mount,
// processes or network (in separate name spaces); with REQUIRE_FAULTS=1 it fails.
func need(t testing.TB, what string) {
	t.Helper()
	if err := probes[what](); err != nil {
		hosttest.Need(t, fmt.Sprintf("there is no %s here: %v", what, err))
	}
}

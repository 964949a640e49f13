// Package hosttest runs parts of tests as another user, where the test binary starts
// itself again, and programs that a test needs. It is for tests only.
package hosttest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// OtherUID is a user that owns nothing here; it needs no entry in /etc/passwd.
const OtherUID = 54321

// childEnv makes the test binary a small program instead.
const childEnv = "HOLON_TEST_CHILD"

// Main runs a program instead of the tests; TestMain must call it first. If
// Command started this process, Main runs the program that Command named and
// does not return. A program receives the argument of Command and prints its
// results to stdout.
func Main(programs map[string]func(arg string) error) {
	what, isChild := os.LookupEnv(childEnv)
	if !isChild {
		return
	}
	name, arg, _ := strings.Cut(what, " ")
	program := programs[name]
	if program == nil {
		program = func(string) error { return fmt.Errorf("no program %q", name) }
	}
	if err := program(arg); err != nil {
		fmt.Println("error", err)
	}
	os.Exit(0)
}

// Command returns a command that runs the test binary as one of its programs.
// /proc/self/exe works even if the user may not enter the binary's directory.
func Command(attr *syscall.SysProcAttr, name, arg string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), childEnv+"="+name+" "+arg, "GOCOVERDIR=")
	cmd.SysProcAttr = attr
	return cmd
}

// AsUser lets a command run as a user. Only root may.
func AsUser(uid uint32) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid, Groups: []uint32{}}}
}

// Child is a program that runs.
type Child struct {
	cmd *exec.Cmd
	in  io.Closer
	out *bufio.Reader
}

// Start starts a program. It is killed at the end of the test if it still runs.
func Start(t *testing.T, attr *syscall.SysProcAttr, name, arg string) (*Child, error) {
	t.Helper()
	c := &Child{cmd: Command(attr, name, arg)}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if c.in, err = c.cmd.StdinPipe(); err != nil { // open until the test ends the child
		t.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait() // how it ended does not matter
	})
	return c, nil
}

// Line returns the next line that the program prints, without its end.
func (c *Child) Line() (string, error) {
	line, err := c.out.ReadString('\n')
	return strings.TrimSuffix(line, "\n"), err
}

// End closes the program's stdin, which asks it to end.
func (c *Child) End() { _ = c.in.Close() }

// NeedRoot skips a test that only root can run, as Need does.
func NeedRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		Need(t, "only root can start a process as another user")
	}
}

// Need skips a test that lacks something, or fails it if REQUIRE_FAULTS=1 is set.
func Need(t testing.TB, missing string) {
	t.Helper()
	if os.Getenv("REQUIRE_FAULTS") == "1" {
		t.Fatalf("REQUIRE_FAULTS=1, but %s", missing)
	}
	t.Skipf("NOT TESTED: %s; REQUIRE_FAULTS=1 makes this a failure", missing)
}

// Long skips a test in short runs, which look for races: what it repeats, or how long it
// waits, finds none that other tests do not.
func Long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("NOT TESTED in short runs; without -short it is tested")
	}
}

// Run runs a program to its end and returns all that it printed. What it has started ends
// with it, at the end of the test or after ten minutes.
func Run(t testing.TB, cmd *exec.Cmd) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stop := context.AfterFunc(ctx, func() {
		if cmd.Process != nil {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may have ended
		}
	})
	defer stop()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

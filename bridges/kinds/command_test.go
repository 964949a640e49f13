package kinds_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/agents/process"
	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/bridges/kinds"
	"github.com/seed82539d15/holon/internal/test/kindstest"
)

// script is a bridge that runs a script; "$1" is a directory of the test.
func script(t *testing.T, text string) (bridges.Channel, string) {
	dir := t.TempDir()
	return open(t, kinds.Config{Kind: bridges.KindCommand, Command: []string{"sh", "-c", text, "notify", dir}}), dir
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestCommandGetsTheEnvelopeAndNoTokens(t *testing.T) {
	for _, variable := range []string{"HOLON_TOKEN", "HOLON_URL", "HOLON_MCP_URL", "HOLON_TURN_ID", "HOLON_GROUP"} {
		t.Setenv(variable, "of-the-server")
	}
	t.Setenv("BRIDGE_TEST_VARIABLE", "kept")
	ch, dir := script(t, `IFS= read -r line; printf %s "$line" > "$1/envelope"; env > "$1/env"; cat > "$1/rest"`)
	o := outgoing(kindstest.Final(), bridges.Target{})
	must(t, send(t, ch, o), bridges.Delivered)
	if got := read(t, dir, "envelope"); got != string(o.Body) {
		t.Errorf("it reads %s", got)
	}
	if got := read(t, dir, "rest"); got != "" {
		t.Errorf("behind the envelope is %q", got)
	}
	if env := read(t, dir, "env"); strings.Contains(env, "of-the-server") || !strings.Contains(env, "BRIDGE_TEST_VARIABLE=kept") {
		t.Errorf("its environment is %s", env)
	}
}

// A program that reads nothing, or writes without an end, delays only itself.
func TestCommandThatDoesNotReadOrWritesTooMuch(t *testing.T) {
	o := outgoing(kindstest.Final(), bridges.Target{})
	o.Body = []byte(strings.Repeat("x", 1<<20))
	ch, _ := script(t, `exit 0`)
	must(t, send(t, ch, o), bridges.Delivered)
	ch, _ = script(t, `head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2; exit 1`)
	if got := must(t, send(t, ch, o), bridges.Failed); len(got.Answer) > 1<<10 || got.Error != "exit 1" {
		t.Errorf("%d bytes, %s", len(got.Answer), got.Error)
	}
	ch, _ = script(t, `echo "Authorization: Bearer abcdef123456"; echo "it failed" >&2; exit 1`)
	if got := must(t, send(t, ch, o), bridges.Failed); strings.Contains(string(got.Answer), "abcdef") || !strings.Contains(string(got.Answer), "it failed") {
		t.Errorf("%q", got.Answer)
	}
}

// What a program has left running ends with it.
func TestCommandLeavesNothingRunning(t *testing.T) {
	ch, dir := script(t, `sleep 3600 > /dev/null 2>&1 & echo $! > "$1/pid"; exit 0`)
	must(t, send(t, ch, outgoing(kindstest.Final(), bridges.Target{})), bridges.Delivered)
	gone(t, read(t, dir, "pid"))

	ch, dir = script(t, `trap "" TERM; (trap "" TERM; sleep 3600 > "$1/out") & echo $! > "$1/pid"; cat "$1/up" > /dev/null; sleep 3600`)
	mkfifo(t, filepath.Join(dir, "up"))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_ = os.WriteFile(filepath.Join(dir, "up"), nil, 0) // returns when the program has got so far
		cancel()
	}()
	got := ch.Send(ctx, outgoing(kindstest.Final(), bridges.Target{}))
	if got.Error != "canceled" || !got.Arrived || got.Unhealthy {
		t.Errorf("%s", describe(got))
	}
	gone(t, read(t, dir, "pid"))
}

// TestCommandLeavesNothingRunningInOtherSessions: it is found by its environment, also as a
// daemon whose parents have ended. What takes the mark off is left alone.
func TestCommandLeavesNothingRunningInOtherSessions(t *testing.T) {
	for name, text := range map[string]string{
		"a job":         `setsid sleep 3600 > /dev/null 2>&1 & echo $! > "$1/pid"; exit 0`,
		"with the pipe": `setsid sleep 3600 & echo $! > "$1/pid"; exit 0`,
		"a daemon":      `setsid sh -c '(sleep 3600 & echo $! > "$1/pid") > /dev/null 2>&1' daemon "$1"; exit 0`,
		"that fails":    `setsid sleep 3600 > /dev/null 2>&1 & echo $! > "$1/pid"; exit 3`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ch, dir := script(t, text)
			wanted := bridges.Delivered
			if name == "that fails" {
				wanted = bridges.Failed
			}
			must(t, send(t, ch, outgoing(kindstest.Final(), bridges.Target{})), wanted)
			gone(t, read(t, dir, "pid"))
		})
	}
	ch, dir := script(t, `env -u HOLON_GROUP setsid sleep 3600 > /dev/null 2>&1 & echo $! > "$1/pid"
until grep -q sleep "/proc/$!/comm"; do :; done`)
	must(t, send(t, ch, outgoing(kindstest.Final(), bridges.Target{})), bridges.Delivered)
	pid, err := strconv.Atoi(strings.TrimSpace(read(t, dir, "pid")))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("a process without the mark was ended: %v", err)
	}
}

// gone waits until a process has ended, which takes the kernel a moment after KILL:
// it is not there, or a zombie that nobody has waited for yet.
func gone(t *testing.T, pid string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		b, err := os.ReadFile("/proc/" + strings.TrimSpace(pid) + "/stat")
		if err != nil || strings.Contains(string(b), ") Z ") || strings.Contains(string(b), ") X ") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("process %s still runs: %s", pid, b)
		}
	}
}

func TestCommandThatCannotBeStarted(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"no-such-program-at-all": "not_found", file: "not_executable", filepath.Join(dir, "x"): "not_found"} {
		ch := open(t, kinds.Config{Kind: bridges.KindCommand, Command: []string{name}})
		got := send(t, ch, outgoing(kindstest.Final(), bridges.Target{}))
		if got.Outcome != bridges.Failed || got.Error != want || got.Arrived || !got.Unhealthy {
			t.Errorf("%s: %s", name, describe(got))
		}
	}
}

// A program is recorded while it runs, without its arguments, so that the next
// server can end it.
func TestCommandIsRecordedWhileItRuns(t *testing.T) {
	dir := t.TempDir()
	records, err := process.OpenRecords(filepath.Join(dir, "records"))
	if err != nil {
		t.Fatal(err)
	}
	// The record is written before the program gets its envelope, so it waits for it.
	ch, err := kinds.New(kinds.Config{
		Kind: bridges.KindCommand, Configured: true, Command: []string{"sh", "-c", `read -r line; cat "$1"/records/* > "$1/seen"`, "an-argument", dir},
	}, kinds.Shared{Records: records})
	if err != nil {
		t.Fatal(err)
	}
	must(t, send(t, ch, outgoing(kindstest.Final(), bridges.Target{})), bridges.Delivered)
	if seen := read(t, dir, "seen"); !strings.Contains(seen, `"sh"`) || strings.Contains(seen, "an-argument") {
		t.Errorf("recorded is %s", seen)
	}
	if n, err := records.EndSurvivors(t.Context(), zap.NewNop()); n != 0 || err != nil {
		t.Errorf("%d survivors: %v", n, err)
	}
	if entries, err := os.ReadDir(filepath.Join(dir, "records")); len(entries) != 0 || err != nil {
		t.Errorf("left are %v: %v", entries, err)
	}
}

// A program that cannot be recorded does not run, and the error says why.
func TestCommandThatCannotBeRecordedDoesNotRun(t *testing.T) {
	dir := t.TempDir()
	records, err := process.OpenRecords(filepath.Join(dir, "records"))
	if err != nil {
		t.Fatal(err)
	}
	ch, err := kinds.New(kinds.Config{
		Kind: bridges.KindCommand, Configured: true, Command: []string{"sh", "-c", `read -r line; echo "$line" > "$1/seen"`, "-", dir},
	}, kinds.Shared{Records: records})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "records")); err != nil {
		t.Fatal(err)
	}
	got := send(t, ch, outgoing(kindstest.Final(), bridges.Target{}))
	if got.Outcome != bridges.Failed || got.Error != "not_recorded: the record of the process cannot be written" || got.Arrived || !got.Unhealthy {
		t.Error(describe(got))
	}
	if _, err := os.Stat(filepath.Join(dir, "seen")); err == nil {
		t.Error("it ran")
	}
	for _, full := range []error{syscall.ENOSPC, syscall.EDQUOT} {
		if got := kinds.NotRecorded(errors.Join(&fs.PathError{Op: "write", Path: dir, Err: full}, os.ErrClosed)); got != "not_recorded: the disk is full" {
			t.Errorf("%v: %s", full, got)
		}
	}
}

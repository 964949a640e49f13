package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// endSurvivors is the next start of the server.
func endSurvivors(t *testing.T, dir string) (ended int, logged string) {
	t.Helper()
	r, err := OpenRecords(dir)
	if err != nil {
		t.Fatal(err)
	}
	core, logs := observer.New(zap.InfoLevel)
	ended, err = r.EndSurvivors(t.Context(), zap.New(core))
	if err != nil {
		t.Error(err)
	}
	var lines []string
	for _, e := range logs.All() {
		lines = append(lines, e.Message)
	}
	return ended, strings.Join(lines, "\n")
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// A server that dies between any two lines, with a grandchild that ignores
// TERM and the end of its stdin, leaves nothing after the next start.
func TestNextStartEndsWhatAKilledServerLeft(t *testing.T) {
	for _, c := range []struct {
		point string
		left  int // processes after the death of the server
		ended int // groups by the next start
	}{
		{"recorded", 1, 1}, // the leader has died with the server
		{"running", 1, 1},
		{"killed", 0, 0},
		{"reaped", 0, 0},
		{"removed", 0, 0},
	} {
		t.Run(c.point, func(t *testing.T) {
			t.Parallel()
			mark, dir := newMark(t), t.TempDir()
			killedServer(t, mark, dir, "grandchild", c.point)
			until(t, "the leader has died with the server", func() bool { return len(alive(mark, "leader")) == 0 })
			if c.left == 0 {
				gone(t, mark)
			} else if n := len(alive(mark, "stubborn")); n != c.left {
				t.Fatalf("%d processes are left, want %d", n, c.left)
			}
			if ended, logged := endSurvivors(t, dir); ended != c.ended {
				t.Errorf("%d groups were ended, want %d; logged %s", ended, c.ended, logged)
			}
			if pids := alive(mark, ""); len(pids) > 0 {
				t.Errorf("still alive: %v", pids)
			}
			if left := names(t, dir); len(left) > 0 {
				t.Errorf("records are left: %v", left)
			}
			if ended, logged := endSurvivors(t, dir); ended != 0 || logged != "" {
				t.Errorf("the start after that ended %d and logged %s", ended, logged)
			}
		})
	}
}

// Before the record has its name nothing identifies the group: it has not got
// any work yet, and is left alone.
func TestHalfARecordIsRemovedAndEndsNothing(t *testing.T) {
	for _, point := range []string{"started", "written"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			mark, dir := newMark(t), t.TempDir()
			killedServer(t, mark, dir, "grandchild", point)
			if ended, _ := endSurvivors(t, dir); ended != 0 || len(alive(mark, "stubborn")) != 1 || len(names(t, dir)) != 0 {
				t.Errorf("%d ended, %v alive, %v left", ended, alive(mark, ""), names(t, dir))
			}
		})
	}
}

func TestGroupIsKnownByStartAndCommandOrMark(t *testing.T) {
	for kind, want := range map[string]struct{ ended, left int }{
		"immortal":  {1, 0}, // the leader lives: by its command
		"retitled":  {1, 0}, // it has become another program: by its mark
		"disguised": {0, 1}, // another program without the mark: not proven
		"bare":      {0, 1}, // a grandchild without the mark, the leader dead: not proven
		"both":      {1, 0}, // one with the mark vouches for the group
		"mixed":     {1, 0}, // also when it has ended before the others
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			mark, dir := newMark(t), t.TempDir()
			killedServer(t, mark, dir, kind, "running")
			until(t, "the leader has died with the server, if it does", func() bool {
				return len(alive(mark, "leader")) == 0 || kind == "immortal"
			})
			ended, logged := endSurvivors(t, dir)
			if left := len(alive(mark, "")); ended != want.ended || left != want.left {
				t.Errorf("%d ended, %d left, want %+v; logged %s", ended, left, want, logged)
			}
			if want.left > 0 && !strings.Contains(logged, "left alone") {
				t.Errorf("logged %q", logged)
			}
			if left := names(t, dir); len(left) > 0 {
				t.Errorf("records are left: %v", left)
			}
		})
	}
}

func TestSurvivorGetsTermFirst(t *testing.T) {
	mark, dir := newMark(t), t.TempDir()
	file := filepath.Join(dir, "got-term")
	t.Setenv("POLITE", file)
	records := filepath.Join(dir, "records")
	killedServer(t, mark, records, "polite", "recorded")
	began := time.Now()
	if ended, _ := endSurvivors(t, records); ended != 1 || len(alive(mark, "")) != 0 {
		t.Errorf("%d ended, %v alive after %v", ended, alive(mark, ""), time.Since(began))
	}
	if _, err := os.Stat(file); err != nil {
		t.Error("it was killed without TERM before")
	}
}

func TestEndOfTheContextKillsSurvivorsAtOnce(t *testing.T) {
	mark, dir := newMark(t), t.TempDir()
	killedServer(t, mark, dir, "grandchild", "recorded")
	r, err := OpenRecords(dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if ended, err := r.EndSurvivors(ctx, zap.NewNop()); ended != 1 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d ended, %v", ended, err)
	}
	if pids := alive(mark, ""); len(pids) > 0 {
		t.Errorf("alive: %v", pids)
	}
}

// stranger is a foreign process that leads a group.
func stranger(t *testing.T, mark string) (pid int, rec record) {
	t.Helper()
	cmd := self("stubborn", mark)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = append(os.Environ(), EnvGroup+"=ANOTHER")
	up(cmd)
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // the test may have failed
		_ = cmd.Wait()
	})
	rec = record{Group: cmd.Process.Pid, Mark: "OURS"}
	if err := readIdentity(&rec); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid, rec
}

func store(t *testing.T, dir string, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func encoded(t *testing.T, rec record) []byte {
	t.Helper()
	b, err := json.Marshal(rec)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestStrangersAreNeverTouched(t *testing.T) {
	for name, change := range map[string]func(*record){
		"OtherStart":          func(r *record) { r.Start-- },
		"LaterStart":          func(r *record) { r.Start++ },
		"NoStart":             func(r *record) { r.Start = 0 },
		"OtherBoot":           func(r *record) { r.Boot = "b5cb9bdb-0000-0000-0000-000000000000" },
		"NoBoot":              func(r *record) { r.Boot = "" },
		"OtherCommandAndMark": func(r *record) { r.CommandLine = strings.Repeat("0", 64) },
		"NoCommandOtherMark":  func(r *record) { r.CommandLine = "" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mark, dir := newMark(t), t.TempDir()
			pid, rec := stranger(t, mark)
			change(&rec)
			store(t, dir, strconv.Itoa(pid), encoded(t, rec))
			if ended, _ := endSurvivors(t, dir); ended != 0 || len(alive(mark, "")) != 1 || len(names(t, dir)) != 0 {
				t.Errorf("%d ended, %v alive, %v left", ended, alive(mark, ""), names(t, dir))
			}
		})
	}
	t.Run("TheRecordAsItIsWouldEndIt", func(t *testing.T) { // else the others prove nothing
		mark, dir := newMark(t), t.TempDir()
		pid, rec := stranger(t, mark)
		store(t, dir, strconv.Itoa(pid), encoded(t, rec))
		if ended, _ := endSurvivors(t, dir); ended != 1 {
			t.Errorf("%d ended", ended)
		}
	})
	t.Run("OurOwnGroup", func(t *testing.T) {
		newMark(t) // on Linux only
		dir, own := t.TempDir(), syscall.Getpgrp()
		rec := record{Group: own, Mark: "OURS"}
		if err := readIdentity(&rec); err != nil {
			t.Skipf("NOT TESTED: the leader of the test's group is dead: %v", err)
		}
		store(t, dir, strconv.Itoa(own), encoded(t, rec))
		if ended, _ := endSurvivors(t, dir); ended != 0 {
			t.Errorf("%d ended", ended)
		}
	})
}

func TestHostileFilesAmongTheRecords(t *testing.T) {
	mark, dir := newMark(t), t.TempDir()
	pid, rec := stranger(t, mark)
	valid := encoded(t, rec)
	boot := rec.Boot
	outside := filepath.Join(t.TempDir(), "valid")
	store(t, filepath.Dir(outside), "valid", valid)

	// Removed: they have a record's name and are no records.
	store(t, dir, "100000001", []byte("garbage"))
	store(t, dir, "100000002", nil)
	store(t, dir, "100000003", []byte("null"))
	store(t, dir, "100000004", valid) // of another group
	store(t, dir, "100000005", []byte(strings.Repeat(" ", maxRecord)+string(valid)))
	store(t, dir, "100000006", fmt.Appendf(nil, `{"group":100000006,"boot_id":%q,"start_ticks":1,"command":[],"mark":""}`, boot))
	store(t, dir, "100000007", fmt.Appendf(nil, `{"group":100000007,"boot_id":%q,"start_ticks":1,"command":[],"mark":"x"}`, boot)) // of no process
	store(t, dir, "100000008", []byte(strings.Repeat("[", 60_000)))
	store(t, dir, "."+strconv.Itoa(pid)+tempSuffix, valid)

	// Left alone: no record has such a name or type.
	left := []string{"-1", "-" + strconv.Itoa(pid), "0", "00" + strconv.Itoa(pid), "1", "README", "99999999999999999999"}
	for _, name := range left {
		group, _ := strconv.Atoi(name)
		store(t, dir, name, fmt.Appendf(nil, `{"group":%d,"boot_id":%q,"start_ticks":1,"command":[],"mark":"x"}`, group, boot))
	}
	if err := os.Symlink(outside, filepath.Join(dir, strconv.Itoa(pid))); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "100000009"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "100000010"), 0o600); err != nil {
		t.Fatal(err)
	}
	ended, logged := endSurvivors(t, dir)
	if ended != 0 || len(alive(mark, "")) != 1 {
		t.Errorf("%d ended, alive %v", ended, alive(mark, ""))
	}
	if got, want := len(names(t, dir)), len(left)+3; got != want {
		t.Errorf("%d files are left, want %d: %v", got, want, names(t, dir))
	}
	if n := strings.Count(logged, "left alone"); n != len(left)+3 {
		t.Errorf("%d log lines about files that are left:\n%s", n, logged)
	}
	if n := strings.Count(logged, "is removed"); n != 7 {
		t.Errorf("%d log lines about files that are removed:\n%s", n, logged)
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error("a file outside was removed")
	}
}

// A group whose leader has been reaped and whose number a foreign group has
// now: members with other marks.
func TestNumberOfADeadLeaderGivenToAnotherGroup(t *testing.T) {
	mark, dir := newMark(t), t.TempDir()
	script := exec.Command("sh", "-c", `"$0" "$@" </dev/null >/dev/null & exit 0`, self("x").Path, "be:stubborn", mark)
	script.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	script.Env = append(os.Environ(), EnvGroup+"=ANOTHER")
	if err := script.Run(); err != nil {
		t.Fatal(err)
	}
	until(t, "the stranger is up", func() bool { return len(alive(mark, "stubborn")) == 1 })
	boot, err := bootID()
	if err != nil {
		t.Fatal(err)
	}
	pid := script.Process.Pid
	rec := record{Group: pid, Boot: boot, Start: 1, Mark: "OURS", CommandLine: strings.Repeat("0", 64)}
	store(t, dir, strconv.Itoa(pid), encoded(t, rec))
	if ended, logged := endSurvivors(t, dir); ended != 0 || len(alive(mark, "")) != 1 || !strings.Contains(logged, "left alone") {
		t.Errorf("%d ended, alive %v, logged %s", ended, alive(mark, ""), logged)
	}
	rec.Mark = "ANOTHER"
	store(t, dir, strconv.Itoa(pid), encoded(t, rec))
	if ended, _ := endSurvivors(t, dir); ended != 1 || len(alive(mark, "")) != 0 {
		t.Errorf("with its own mark: %d ended, alive %v", ended, alive(mark, ""))
	}
}

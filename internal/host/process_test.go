package host

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

func TestAProcessIsAliveOnlyAsItself(t *testing.T) {
	self := Self()
	change := func(f func(*Process)) Process { p := self; f(&p); return p }
	cases := []struct {
		name  string
		p     Process
		alive bool
	}{
		{"itself", self, true},
		{"as an older server has recorded it", Process{PID: self.PID}, true},
		{"nobody", Process{}, false},
		{"a number that no process has", Process{PID: 1 << 30}, false},
	}
	if _, err := BootID(); !errors.Is(err, errors.ErrUnsupported) {
		cases = append(cases, []struct {
			name  string
			p     Process
			alive bool
		}{
			{"another process that has its number", change(func(p *Process) { p.StartTicks++ }), false},
			{"of another boot", change(func(p *Process) { p.BootID = "another" }), false},
		}...)
	}
	for _, c := range cases {
		if c.p.Alive() != c.alive {
			t.Errorf("%s: %+v is alive: %v", c.name, c.p, !c.alive)
		}
	}
}

func TestAProcessThatHasEndedIsNotAlive(t *testing.T) {
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := Process{PID: cmd.Process.Pid}
	if stat, err := ReadStat(p.PID); err == nil {
		p.StartTicks = stat.StartTicks
	}
	if !p.Alive() {
		t.Error("a process that runs is not alive")
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/proc/self/stat"); err == nil {
		eventually(t, "it is not alive before it is reaped", func() bool { return !p.Alive() })
	}
	_ = cmd.Wait() // it was killed
	if p.Alive() {
		t.Error("a process that has ended is alive")
	}
}

func TestOnlyTheProcessThatWasRecordedGetsASignal(t *testing.T) {
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := Process{PID: cmd.Process.Pid}
	if stat, err := ReadStat(p.PID); err == nil {
		p.StartTicks = stat.StartTicks
		other := p
		other.StartTicks++
		if err := other.Signal(syscall.SIGKILL); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("another process with its number: %v", err)
		}
	}
	if uid, err := ProcessUID(p.PID); !errors.Is(err, errors.ErrUnsupported) && (err != nil || uid != uint32(os.Geteuid())) {
		t.Errorf("it is user %d's: %v", uid, err)
	}
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	err := cmd.Wait()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGTERM {
		t.Errorf("it ended with %v", err)
	}
	if err := p.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("a signal after its end: %v", err)
	}
	if _, err := ProcessUID(p.PID); err == nil {
		t.Error("a process that has ended has a user")
	}
}

// eventually waits for a condition of the kernel that no channel reports.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("still not so: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

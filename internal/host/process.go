package host

import (
	"errors"
	"os"
	"syscall"
)

// Process identifies a process permanently. Its number alone may later be the
// number of another process.
type Process struct {
	PID int `json:"pid"`
	// BootID is the boot in which the process started, StartTicks the time of
	// its start in clock ticks since then. They are "" and 0 if the system does
	// not say, and are not compared then.
	BootID     string `json:"boot_id,omitempty"`
	StartTicks uint64 `json:"start_ticks,omitempty"`
}

// Stat is what the system says about a process.
type Stat struct {
	Parent, Group, Session int
	StartTicks             uint64 // since the boot
	// Dead says that the process has ended and its parent has not reaped it.
	Dead bool
}

// Self identifies this process. What the system does not say is left out.
func Self() Process {
	p := Process{PID: os.Getpid()}
	p.BootID, _ = BootID()
	stat, _ := ReadStat(p.PID)
	p.StartTicks = stat.StartTicks
	return p
}

// Alive reports whether the process still runs. If the system does not say when
// it started, any process with its number counts, also one of another user.
func (p Process) Alive() bool {
	if p.PID <= 0 {
		return false
	}
	if boot, err := BootID(); err == nil && p.BootID != "" && p.BootID != boot {
		return false
	}
	if stat, err := ReadStat(p.PID); err == nil {
		return !stat.Dead && (p.StartTicks == 0 || p.StartTicks == stat.StartTicks)
	}
	err := syscall.Kill(p.PID, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// Signal sends a signal to the process if it still runs; the error is os.ErrProcessDone
// if it does not. On Linux no other process gets the signal, also not one that takes the
// number between the check and the signal.
func (p Process) Signal(sig syscall.Signal) error {
	held, err := os.FindProcess(p.PID) // on Linux a pidfd: it stays with the process
	if err != nil {
		return err
	}
	defer held.Release()
	if !p.Alive() {
		return os.ErrProcessDone
	}
	return held.Signal(sig)
}

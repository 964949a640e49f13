package host

import (
	"errors"
	"os"
	"syscall"
)

// Process names a process for good: its number alone may be another process's
// later.
type Process struct {
	PID int `json:"pid"`
	// BootID is the boot that the process belongs to, StartTicks the time of
	// its start in clock ticks since then. They are "" and 0 where the system
	// does not tell, and then are not compared.
	BootID     string `json:"boot_id,omitempty"`
	StartTicks uint64 `json:"start_ticks,omitempty"`
}

// Stat is what the system says of a process.
type Stat struct {
	Parent, Group, Session int
	StartTicks             uint64 // since the boot
	// Dead is a process that has ended and that its parent has not reaped.
	Dead bool
}

// Self names this process. What the system does not tell is left out.
func Self() Process {
	p := Process{PID: os.Getpid()}
	p.BootID, _ = BootID()
	stat, _ := ReadStat(p.PID)
	p.StartTicks = stat.StartTicks
	return p
}

// Alive tells whether the process still runs. Where the system does not tell
// its start, any process of that number counts, also one of another user.
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

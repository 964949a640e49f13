//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// groupAttr makes the process the leader of a new group. There is no
// parent-death signal here: a process that outlives a killed server learns of
// it by the end of its stdin or by SIGPIPE.
func groupAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// awaitExit waits for the process and, for want of a portable way not to,
// reaps it. The number of its group stays taken while a member of it lives.
func awaitExit(cmd *exec.Cmd) { _ = cmd.Wait() }

func reap(*exec.Cmd) {}

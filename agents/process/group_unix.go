//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// groupAttr makes the process the leader of a new session, and so of a new group. There is no
// parent-death signal here: a process that outlives a killed server learns of
// it by the end of its stdin or by SIGPIPE.
func groupAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// awaitExit waits for the process and reaps it, since there is no portable way
// to wait without reaping. The number of its group is not reused while a member
// runs.
func awaitExit(cmd *exec.Cmd) { _ = cmd.Wait() }

func reap(*exec.Cmd) {}

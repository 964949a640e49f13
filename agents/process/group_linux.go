package process

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// groupAttr makes the process the leader of a new session, and so of a new group. The kernel kills it if
// the server dies without ending it.
func groupAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitExit waits until the process has ended and leaves it unreaped, so that
// its group can still be signalled by its number.
func awaitExit(cmd *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}

// reap fills cmd.ProcessState in.
func reap(cmd *exec.Cmd) { _ = cmd.Wait() } // the state has the result

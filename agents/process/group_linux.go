package process

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// groupAttr makes the process the leader of a new group and has it killed
// when the server dies without a chance to do so.
func groupAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitExit waits until the process is dead and leaves it unreaped, so that
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
func reap(cmd *exec.Cmd) { _ = cmd.Wait() } // the state says all

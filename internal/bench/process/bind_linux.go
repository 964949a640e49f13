package process

import (
	"os/exec"
	"syscall"
)

// bind makes the system kill the child when this process dies, and keeps
// signals of a terminal from it, so that it can be stopped in order.
func bind(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

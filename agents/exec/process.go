package exec

import (
	"fmt"
	"os"
	osexec "os/exec"
	"runtime"
	"syscall"
)

// process is a started command, the leader of its own process group. One
// goroutine, that of Run, calls its methods.
type process struct {
	cmd    *osexec.Cmd
	stdin  *os.File
	stdout *pipe
	stderr *pipe
	exited chan struct{} // closed when the leader is dead; it is not reaped yet
	reap   chan struct{} // closed to have it reaped
	reaped chan struct{}
}

// start starts cmd with pipes of ours. They are files and not io.Pipes of
// os/exec, because Run decides itself how long it reads from what a dead
// process has left behind.
func start(cmd *osexec.Cmd) (*process, error) {
	p := &process{cmd: cmd, exited: make(chan struct{}), reap: make(chan struct{}), reaped: make(chan struct{})}
	var theirs, mine []*os.File
	open := func(read bool) (*os.File, *os.File, error) {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, nil, fmt.Errorf("open a pipe: %w", err)
		}
		if read { // the process reads
			r, w = w, r
		}
		mine, theirs = append(mine, r), append(theirs, w)
		return r, w, nil
	}
	closeAll := func(files []*os.File) {
		for _, f := range files {
			f.Close()
		}
	}
	in, childIn, err := open(true)
	var out, childOut, errs, childErrs *os.File
	if err == nil {
		out, childOut, err = open(false)
	}
	if err == nil {
		errs, childErrs, err = open(false)
	}
	if err != nil {
		closeAll(mine)
		closeAll(theirs)
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = childIn, childOut, childErrs
	cmd.SysProcAttr = groupAttr()
	started := make(chan error, 1)
	go p.live(started)
	err = <-started
	closeAll(theirs)
	if err != nil {
		closeAll(mine)
		return nil, err
	}
	p.stdin, p.stdout, p.stderr = in, &pipe{f: out}, &pipe{f: errs}
	return p, nil
}

// live is the life of the process. It keeps its thread until the process is
// reaped: the kernel sends the parent-death signal when the thread that
// started the child ends, and Go ends threads as it likes. So a running
// process costs one thread; the limit on active turns bounds them.
func (p *process) live(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.reaped)
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	awaitExit(p.cmd)
	close(p.exited)
	<-p.reap
	reap(p.cmd)
}

// signal sends sig to the whole group. While the leader is not reaped its
// number cannot be given to another group.
func (p *process) signal(sig syscall.Signal) {
	_ = syscall.Kill(-p.cmd.Process.Pid, sig) // ESRCH: nobody is left, which is what we want
}

// end kills what is left of the group, reaps the leader and says how it
// ended. The leader has exited.
func (p *process) end() *os.ProcessState {
	p.signal(syscall.SIGKILL)
	close(p.reap)
	<-p.reaped
	return p.cmd.ProcessState
}

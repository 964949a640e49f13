package process

import (
	"crypto/rand"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// EnvGroup is the variable by which the processes of a group are known: a
// random word of its own in the environment of each. Start sets it.
const EnvGroup = "HOLON_GROUP"

// Group is a started command, the leader of its own process group, and what
// it has started there. Its methods may be called from many goroutines. Stdin,
// Stdout and Stderr are the caller's: one goroutine uses each, and closes it.
type Group struct {
	Stdin  *os.File
	Stdout *Pipe
	Stderr *Pipe

	// Orphans says that what the leader has started in sessions of their own
	// is ended with the group, on Linux, also when it has lost its parent, if
	// its output is still a pipe or a socket: commands of an agent that was
	// killed, and not daemons. It is set before Add and End.
	Orphans bool

	cmd    *exec.Cmd
	mark   string
	exited chan struct{}
	reap   chan struct{} // closed to have the leader reaped
	reaped chan struct{}

	mu    sync.Mutex // held while a signal is sent
	ended bool       // the number may belong to somebody else from now on
}

// Start starts cmd, whose standard files and SysProcAttr it sets; an Env of
// nil is the server's. The pipes are files of ours and not those of os/exec,
// because the caller decides how long it reads from what a dead process has
// left behind. Errors are *StartError.
func Start(cmd *exec.Cmd) (*Group, error) {
	g := &Group{
		cmd: cmd, mark: rand.Text(),
		exited: make(chan struct{}), reap: make(chan struct{}), reaped: make(chan struct{}),
	}
	if cmd.Env == nil {
		cmd.Env = cmd.Environ()
	}
	cmd.Env = append(cmd.Env, EnvGroup+"="+g.mark) // the last one counts: a server may be an agent's child itself
	theirs, err := g.connect(cmd)
	if err == nil {
		cmd.SysProcAttr = groupAttr()
		started := make(chan error, 1)
		go g.live(started)
		err = <-started
	}
	closeAll(theirs)
	if err != nil {
		g.closePipes()
		return nil, startError(cmd.Args[0], err)
	}
	return g, nil
}

// connect makes the pipes and returns the ends that the process gets.
func (g *Group) connect(cmd *exec.Cmd) (theirs []*os.File, err error) {
	var pairs [3][2]*os.File
	for i := range pairs {
		r, w, err := os.Pipe()
		if err != nil {
			for _, p := range pairs[:i] {
				closeAll(p[:])
			}
			return nil, err
		}
		pairs[i] = [2]*os.File{r, w}
	}
	in, out, errs := pairs[0], pairs[1], pairs[2]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in[0], out[1], errs[1]
	g.Stdin, g.Stdout, g.Stderr = in[1], &Pipe{f: out[0]}, &Pipe{f: errs[0]}
	return []*os.File{in[0], out[1], errs[1]}, nil
}

func (g *Group) closePipes() {
	if g.Stdin != nil {
		closeAll([]*os.File{g.Stdin, g.Stdout.f, g.Stderr.f})
	}
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// live is the life of the leader. It keeps its thread until the leader is
// reaped: the kernel sends the parent-death signal when the thread that
// started the child ends, and Go ends threads as it likes. So a running
// group costs one thread; the limits on turns and processes bound them.
func (g *Group) live(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(g.reaped)
	err := g.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	awaitExit(g.cmd)
	close(g.exited)
	<-g.reap
	reap(g.cmd)
}

// PID is the number of the leader and of its group.
func (g *Group) PID() int { return g.cmd.Process.Pid }

// Exited is closed when the leader is dead. It is not reaped before End, so
// that its number cannot be given to another process.
func (g *Group) Exited() <-chan struct{} { return g.exited }

// Signal sends sig to every process of the group, KILL as Kill does; after End
// to nobody.
func (g *Group) Signal(sig syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.ended:
	case sig == syscall.SIGKILL:
		killAll(g.PID())
	default:
		_ = syscall.Kill(-g.PID(), sig) // ESRCH: nobody is left, which is what we want
	}
}

// Kill sends KILL to every process of the group, and on Linux to what has left
// it and still has its parents there: who is killed cannot end its children.
func (g *Group) Kill() { g.Signal(syscall.SIGKILL) }

// End waits for the leader's exit, kills what is left of the group, as Kill
// does, reaps the leader and says how it ended. Later calls say it again.
func (g *Group) End() *os.ProcessState {
	<-g.exited
	g.mu.Lock()
	if !g.ended {
		killAll(g.PID())
		if g.Orphans {
			endOrphans(g.mark)
		}
		g.ended = true
		close(g.reap)
	}
	g.mu.Unlock()
	<-g.reaped
	return g.cmd.ProcessState
}

package process

import (
	"crypto/rand"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// EnvGroup is the variable that identifies the processes of a group: a random
// word in their environment. Start sets it.
const EnvGroup = "HOLON_GROUP"

// Group is a started command, which leads its own session and process group, and the
// processes it has started there. Its methods may be called from many
// goroutines. Stdin, Stdout and Stderr belong to the caller: one goroutine uses
// each, and closes it.
type Group struct {
	Stdin  *os.File
	Stdout *Pipe
	Stderr *Pipe

	// Orphans says that processes which the leader has started in other
	// sessions are ended with the group, on Linux, even if they have lost their
	// parent, as long as their output is still a pipe or a socket: these are
	// commands of a killed agent, not daemons. Set it before Add and End.
	Orphans bool
	// Daemons says the same of those whose output is elsewhere: of what the leader
	// has started nothing is left that has the group's mark in its environment.
	Daemons bool

	cmd    *exec.Cmd
	mark   string
	began  Moment // or a little before
	exited chan struct{}
	reap   chan struct{} // closed when the leader may be reaped
	reaped chan struct{}

	mu    sync.Mutex // held while a signal is sent
	ended bool       // from now on the number may be reused
}

// Start starts cmd. It sets its standard files and SysProcAttr; an Env of nil
// is the server's. It makes the pipes itself instead of os/exec, because the
// caller decides how long it reads the remaining output of a dead process.
// Errors are *StartError.
func Start(cmd *exec.Cmd) (*Group, error) {
	g := &Group{
		cmd: cmd, mark: rand.Text(), began: Now(),
		exited: make(chan struct{}), reap: make(chan struct{}), reaped: make(chan struct{}),
	}
	if cmd.Env == nil {
		cmd.Env = cmd.Environ()
	}
	cmd.Env = append(cmd.Env, EnvGroup+"="+g.mark) // the last value counts: the server may itself be a child of an agent
	childEnds, err := g.connect(cmd)
	if err == nil {
		cmd.SysProcAttr = groupAttr()
		started := make(chan error, 1)
		go g.live(started)
		err = <-started
	}
	closeAll(childEnds)
	if err != nil {
		g.closePipes()
		return nil, startError(cmd.Args[0], err)
	}
	return g, nil
}

// connect makes the pipes and returns the ends that the process gets.
func (g *Group) connect(cmd *exec.Cmd) (childEnds []*os.File, err error) {
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

// live starts the leader and reaps it after End. It keeps its thread until
// then: the kernel sends the parent-death signal when the thread that started
// the child ends, and Go may end a thread at any time. So a running group costs
// one thread; the limits on turns and processes bound them.
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

// PID returns the pid of the leader and the number of its group.
func (g *Group) PID() int { return g.cmd.Process.Pid }

// Exited returns a channel that is closed when the leader is dead. It is not reaped before End, so
// that its pid cannot be reused.
func (g *Group) Exited() <-chan struct{} { return g.exited }

// Signal sends sig to every process of the group, KILL as Kill does. After End
// it does nothing.
func (g *Group) Signal(sig syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.ended:
	case sig == syscall.SIGKILL:
		killAll(g.PID())
	default:
		_ = syscall.Kill(-g.PID(), sig) // ESRCH: no process is left, which is the goal
	}
}

// Kill sends KILL to every process of the group, and on Linux also to processes
// that have left it and still have their parents there: a killed process cannot
// end its children.
func (g *Group) Kill() { g.Signal(syscall.SIGKILL) }

// End waits for the leader's exit, kills what is left of the group, as Kill
// does, reaps the leader and says how it ended. Later calls return the same.
func (g *Group) End() *os.ProcessState {
	<-g.exited
	g.mu.Lock()
	if !g.ended {
		killAll(g.PID())
		if g.Orphans || g.Daemons {
			endOrphans(g.mark, g.began, g.Daemons)
		}
		g.ended = true
		close(g.reap)
	}
	g.mu.Unlock()
	<-g.reaped
	return g.cmd.ProcessState
}

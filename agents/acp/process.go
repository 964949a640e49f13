package acp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/agents/process"
	"github.com/seed82539d15/holon/internal/limits"
)

// Recorder records a process for the next server, in case this one is killed;
// *process.Records implements it. remove is called when the process has been
// reaped.
type Recorder interface {
	Add(g *process.Group, command []string) (remove func(), err error)
}

// The steps of ending a process in order: the end of its stdin, TERM, KILL.
const (
	eofWait  = 3 * time.Second
	termWait = 3 * time.Second
)

// What the log has of a failed process: the last lines that it wrote, each an entry of its
// own. The turn and agent/list have the same in one text.
const (
	maxLoggedLine  = 1 << 10
	maxLoggedLines = 50
)

// errStopping is returned when nothing is started any more.
var errStopping = errors.New("the server is stopping")

// proc is one process of an agent. The goroutine live runs for its whole life;
// reader and sessions have their own.
type proc struct {
	a      *Agent
	group  *process.Group // set before ready is closed, if it was started
	peer   *peer
	tail   *process.Tail // of stderr
	said   *process.Tail // of stdout lines that are no message
	noises int           // logged lines and messages that belong to nothing, by the reader
	budget *budget
	router router
	login  loginStatus

	ready chan struct{} // closed when it can be used, or when err says why not
	says  agentSays     // set before ready is closed
	err   error         // likewise

	stop *once         // end it in order
	kill *once         // end it at once
	dead chan struct{} // closed when it is reaped and its calls have failed
	exit *exitError    // how it ended; set before dead is closed, nil if it never started

	// The lock of the room guards the fields below.
	thread  string      // the only one that it serves; "" = none yet, or not ProcessPerThread
	running int         // prompts and other work that need it
	used    int64       // when its last work ended, in counts of the room
	asking  int         // questions to a person that are open
	lent    bool        // takes no slot in the room
	overlap overlap     // when more than one ran
	retired bool        // accepts no new work
	spoiled bool        // it has not ended a prompt in time: it ends with its last work
	opened  bool        // has opened a session, so its start has not failed
	idle    *time.Timer // ends it; nil while something runs

	idleSince time.Time // valid while nothing runs
}

// once is a signal that may be fired many times.
type once struct {
	do sync.Once
	c  chan struct{}
}

func newOnce() *once { return &once{c: make(chan struct{})} }

func (o *once) fire() { o.do.Do(func() { close(o.c) }) }

func (o *once) fired() bool {
	select {
	case <-o.c:
		return true
	default:
		return false
	}
}

func newProc(a *Agent) *proc {
	pr := &proc{
		a: a, tail: process.NewTail(process.DefaultTail), said: process.NewTail(2 << 10), budget: newBudget(limits.AgentOutputBytes),
		ready: make(chan struct{}), stop: newOnce(), kill: newOnce(), dead: make(chan struct{}),
	}
	pr.router.pr = pr
	pr.login.told = make(chan struct{})
	return pr
}

// live starts the process, waits for its end, and ends its calls and sessions.
// It removes the process from the pool when it can no longer be used.
func (pr *proc) live() {
	forget, err := pr.begin()
	if err != nil {
		problem := diagnose(err, "", agentSays{})
		if problem.Kind == ProblemInstall && pr.a.cfg.Install != "" {
			problem.Hint = pr.a.cfg.Install
		}
		pr.err = problem
		pr.log().Warn("agent process could not be started", zap.Error(problem))
		close(pr.ready)
		pr.a.pool.gone(pr, pr.err)
		close(pr.dead)
		return
	}
	var outputs, start sync.WaitGroup
	read := make(chan struct{})
	outputs.Go(func() {
		defer close(read)
		pr.peer.read(newLines(pr.group.Stdout))
	})
	outputs.Go(func() { _, _ = io.CopyBuffer(pr.tail, pr.group.Stderr, make([]byte, 4<<10)) }) // a Tail takes all
	ctx, cancel := context.WithCancel(context.Background())
	start.Go(func() {
		defer close(pr.ready)
		says, err := pr.initialize(ctx)
		if err != nil {
			pr.err = err // wait explains it, when stderr has been read
			pr.kill.fire()
			return
		}
		pr.says = says
		pr.a.pool.answered(says)
	})

	state := pr.await(read)
	pr.group.Stdout.Drain()
	pr.group.Stderr.Drain()
	pr.budget.lift()
	outputs.Wait()
	exit := &exitError{state: state.String(), tail: pr.otherOutput()}
	pr.exit = exit
	pr.peer.end(exit)
	pr.peer.out.wait()
	cancel()
	start.Wait()
	pr.group.Stdout.Close()
	pr.group.Stderr.Close()
	forget()
	pr.router.end()
	pr.a.dropSessions(pr)
	var why error
	if !pr.stop.fired() && !pr.kill.fired() {
		why = exit
	}
	if pr.err != nil {
		why = pr.problem()
	}
	fields := []zap.Field{
		zap.String("state", exit.state), zap.Int64("junk_lines", pr.peer.junk.Load()),
		zap.Int64("skipped_lines", pr.peer.skipped.Load()), zap.Int64("stray_responses", pr.peer.strays.Load()),
	}
	if why == nil {
		pr.log().Info("agent process ended", fields...)
	} else { // a person looks for the reason in the server's log
		reason, _, _ := strings.Cut(why.Error(), "\n")
		pr.log().Warn("agent process failed", append(fields, zap.String("error", shorten(reason, maxLoggedLine)))...)
		pr.logOutput(exit.tail)
	}
	pr.a.pool.gone(pr, why)
	close(pr.dead)
}

// begin starts the process and records it: if the server is killed from now on,
// the next one finds the process.
func (pr *proc) begin() (forget func(), err error) {
	cfg := &pr.a.cfg
	dir, err := process.Directory("", cfg.Cwd)
	if err != nil {
		return nil, &Problem{Kind: ProblemCwd, Message: "the server's working directory is gone", Hint: "Give the agent a cwd"}
	}
	cmd, err := process.Command(cfg.Command, dir)
	if err != nil {
		return nil, err
	}
	cmd.Env = process.Environment(dir, cfg.Env)
	group, err := process.Start(cmd)
	if err != nil {
		return nil, err
	}
	group.Orphans = true
	pr.group = group
	forget = func() {}
	if cfg.Records != nil {
		if forget, err = cfg.Records.Add(group, cfg.Command); err != nil {
			group.Discard()
			return nil, fmt.Errorf("record the agent's process: %w", err)
		}
	}
	pr.peer = newPeer(newWriter(group.Stdin), pr)
	return forget, nil
}

// await returns when the process has ended, by itself or on request. read is
// closed when its stdout has ended: a process without stdout is useless.
func (pr *proc) await(read <-chan struct{}) *os.ProcessState {
	ladder := process.Ladder{EOF: eofWait, Term: termWait, Now: pr.kill.c}
	select {
	case <-pr.group.Exited():
	case <-pr.stop.c:
	case <-read:
	case <-pr.kill.c:
		ladder = process.Ladder{}
		pr.group.Kill()
	}
	pr.peer.out.close(errGone)
	return pr.group.Stop(ladder)
}

// wait returns when the process can be used, or why it cannot.
func (pr *proc) wait(ctx context.Context) error {
	select {
	case <-pr.ready:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if pr.err == nil {
		return nil
	}
	select { // its last output is known when it is dead
	case <-pr.dead:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return pr.problem()
}

// exitWait is how long work whose process has ended waits to learn how: as long
// as what is left of its group is given to end by itself.
const exitWait = eofWait

// howEnded returns how the process ended if err says only that it has, which is
// known a moment later. Afterwards the pool offers the process no more, so the
// work can be tried again in another. Other errors are returned as they are.
func (pr *proc) howEnded(ctx context.Context, err error) error {
	if !errors.Is(err, errGone) {
		return err
	}
	select {
	case <-pr.dead:
		return pr.exit
	case <-ctx.Done():
		return err
	case <-time.After(exitWait):
		return err
	}
}

// problem explains why a dead process never became usable. A failed write to a
// process that had ended is not the reason.
func (pr *proc) problem() *Problem {
	err := pr.err
	if pr.exit != nil && errors.Is(err, errGone) {
		err = pr.exit
	}
	return diagnose(err, pr.otherOutput(), pr.says)
}

// otherOutput returns the output of the process that is not a message.
func (pr *proc) otherOutput() string {
	return strings.TrimSpace(pr.tail.String() + "\n" + pr.said.String())
}

// logOutput logs the last lines of what a failed process has written.
func (pr *proc) logOutput(text string) {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, shorten(line, maxLoggedLine))
		}
	}
	log := pr.log()
	for _, line := range lines[max(0, len(lines)-maxLoggedLines):] {
		log.Warn("the agent wrote", zap.String("line", line))
	}
}

func (pr *proc) log() *zap.Logger {
	l := pr.a.cfg.Log.With(zap.String("agent", pr.a.name))
	if pr.group != nil {
		l = l.With(zap.Int("pid", pr.group.PID()))
	}
	return l
}

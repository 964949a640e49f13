package process

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed82539d15/holon/internal/test/agenttest"
)

// patience is how long a test waits for an expected event.
const patience = 30 * time.Second

// lifetime bounds the processes of a test that has failed to end them.
const lifetime = 5 * time.Minute

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "be:") {
		be(strings.TrimPrefix(os.Args[1], "be:"), os.Args[2:])
		return
	}
	goleak.VerifyTestMain(m)
}

// be runs a helper process: this test binary in another role. The second
// argument is a mark by which the test finds it.
func be(role string, args []string) {
	switch role {
	case "server":
		beServer(args[1], args[2], args[3])
	case "leader":
		beLeader(args[0], args[1])
	case "stubborn": // ends by KILL only
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
		fmt.Println("up")
		time.Sleep(lifetime)
	case "quiet": // as a daemon: what it prints goes nowhere
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
		told := os.NewFile(3, "told")
		fmt.Fprintln(told, "up")
		told.Close()
		time.Sleep(lifetime)
	case "parent": // of one in the same session, which ends by TERM and leaves it behind
		up(self("stubborn", args[0]))
		fmt.Println("up")
		time.Sleep(lifetime)
	case "polite": // leaves a file when it gets TERM
		term := make(chan os.Signal, 1)
		signal.Notify(term, syscall.SIGTERM)
		fmt.Println("up")
		select {
		case <-term:
			_ = os.WriteFile(args[1], nil, 0o600)
		case <-time.After(lifetime):
		}
	}
}

// self is this binary in a role.
func self(role string, args ...string) *exec.Cmd {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return exec.Command(path, append([]string{"be:" + role}, args...)...)
}

// beLeader starts the descendants of kind, prints when all are up, and ignores
// the end of its stdin.
func beLeader(mark, kind string) {
	bare := func(cmd *exec.Cmd) *exec.Cmd { cmd.Env = []string{"NOTHING=1"}; return cmd }
	switch kind {
	case "alone":
	case "grandchild":
		up(self("stubborn", mark))
	case "bare": // a grandchild without our mark in its environment
		up(bare(self("stubborn", mark)))
	case "both":
		up(self("stubborn", mark))
		up(bare(self("stubborn", mark)))
	case "mixed": // the one with the mark ends by TERM, the other does not
		up(self("polite", mark, ""))
		up(bare(self("stubborn", mark)))
	case "left": // a child in its own session
		up(leaving(self("stubborn", mark)))
	case "quiet", "quiet too": // the same, and a daemon
		upQuietly(leaving(self("quiet", mark)))
	case "starts": // one more for each line of its stdin: a role, and whether it leaves the session
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("up")
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			role, apart, _ := strings.Cut(in.Text(), " ")
			cmd := self(role, mark, "")
			if apart == "apart" {
				cmd = leaving(cmd)
			}
			up(cmd)
			fmt.Println(cmd.Process.Pid)
		}
		time.Sleep(lifetime)
	case "between": // one more in the group, whose child has left it
		up(self("leader", mark, "left"))
	case "daemon": // whose parent is dead
		if err := self("leader", mark, "orphaning").Run(); err != nil {
			panic(err)
		}
	case "orphaning":
		up(leaving(self("stubborn", mark)))
		return
	case "polite":
		up(self("polite", mark, os.Getenv("POLITE")))
	case "immortal": // survives the server, as one that was started by other means
		survive()
	case "retitled": // and becomes another program, with its mark, once it is recorded
		survive()
		awaitLine()
		become(os.Environ(), "stubborn", mark)
	case "disguised": // and without
		survive()
		awaitLine()
		become([]string{"NOTHING=1"}, "stubborn", mark)
	default:
		panic(kind)
	}
	signal.Ignore(syscall.SIGTERM)
	fmt.Println("up")
	time.Sleep(lifetime)
}

// leaving is cmd in its own session, and so its own group.
func leaving(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

func become(env []string, role, mark string) {
	cmd := self(role, mark)
	panic(syscall.Exec(cmd.Path, cmd.Args, env))
}

// up starts cmd and waits until it says that it is up.
func up(cmd *exec.Cmd) {
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		_, err = bufio.NewReader(out).ReadString('\n')
	}
	if err != nil {
		panic(err)
	}
}

// upQuietly is up for a command whose output is discarded.
func upQuietly(cmd *exec.Cmd) {
	r, w, err := os.Pipe()
	if err == nil {
		cmd.ExtraFiles = []*os.File{w}
		err = errors.Join(cmd.Start(), w.Close())
	}
	if err == nil {
		_, err = bufio.NewReader(r).ReadString('\n')
	}
	if err != nil {
		panic(err)
	}
}

// beServer records a leader and its descendants in dir and dies at a given
// point, as by kill -9.
func beServer(dir, kind, point string) {
	reached := func(p string) {
		if p == point {
			fmt.Println("dying")
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	must := func(err error) {
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	r, err := OpenRecords(dir)
	must(err)
	cmd := self("leader", os.Args[2], kind)
	g, err := Start(cmd)
	must(err)
	g.Orphans, g.Daemons = kind == "left" || kind == "quiet", kind == "quiet too"
	if kind != "retitled" && kind != "disguised" {
		awaitUp(g) // its family is complete before it is recorded: the hardest case
	}
	reached("started")
	rec, err := identify(g)
	must(err)
	rec.Command = shown(cmd.Args)
	temp, err := r.write(rec)
	must(err)
	reached("written")
	must(r.publish(rec, temp))
	reached("recorded")
	if kind == "retitled" || kind == "disguised" {
		fmt.Fprintln(g.Stdin)
		awaitUp(g)
	}
	reached("running")
	g.Kill()
	reached("killed")
	g.End()
	reached("reaped")
	r.remove(rec)
	reached("removed")
	panic("no such point: " + point)
}

func awaitUp(g *Group) {
	if _, err := bufio.NewReader(g.Stdout).ReadString('\n'); err != nil {
		panic(err)
	}
}

var marks atomic.Int64

// newMark is an argument by which the test finds its processes.
func newMark(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("NOT TESTED: processes are found through /proc, which only Linux has")
	}
	mark := fmt.Sprintf("mark-%d-%d", os.Getpid(), marks.Add(1))
	t.Cleanup(func() {
		for _, pid := range alive(mark, "") {
			_ = syscall.Kill(pid, syscall.SIGKILL) // of a test that has failed, or that has left it on purpose
		}
	})
	return mark
}

// alive returns the living processes with this mark in a role; "" = in any.
func alive(mark, role string) []int {
	return agenttest.Processes(func(args string) bool {
		return strings.Contains(args, "be:"+role) && strings.Contains(args, "\x00"+mark+"\x00")
	})
}

// until waits for a condition that only the kernel delays.
func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for limit := time.Now().Add(patience); !cond(); {
		if time.Now().After(limit) {
			t.Fatalf("never: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func gone(t *testing.T, mark string) {
	t.Helper()
	until(t, "all processes are gone", func() bool { return len(alive(mark, "")) == 0 })
}

// killedServer runs a server that dies at a given point. It returns when the
// server, and the processes that die with it, are dead.
func killedServer(t *testing.T, mark, dir, kind, point string) {
	t.Helper()
	server := self("server", mark, dir, kind, point)
	server.WaitDelay = patience
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	server.Stderr = os.Stderr
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	if line != "dying\n" {
		t.Errorf("the server said %q", line)
	}
	_, _ = io.Copy(io.Discard, out)
	if err := server.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Fatalf("the server ended with %v", err)
	}
}

func awaitLine() {
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		panic(err)
	}
}

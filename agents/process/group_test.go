package process

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed82539d15/holon/internal/test/agenttest"
	"github.com/seed82539d15/holon/internal/test/hosttest"
)

func TestWhatCannotStartSaysWhyAndWhatToDo(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := file("plain", "#!/bin/sh\n", 0o644)
	for want, c := range map[string]struct {
		command []string
		dir     string
		reason  Reason
	}{
		`the command is empty`: {nil, dir, NotFound},
		`the command "no-such-command-here" was not found in the server's PATH`:                                  {[]string{"no-such-command-here"}, dir, NotFound},
		`the command "` + dir + `/absent" does not exist, or the interpreter that its first line names does not`: {[]string{dir + "/absent"}, dir, NotFound},
		`the command "./absent" does not exist, or the interpreter that its first line names does not`:           {[]string{"./absent"}, dir, NotFound},
		`the command "` + plain + `" may not be executed: permission denied`:                                     {[]string{plain}, dir, NotExecutable},
		`the command "./nohead" is no program this system can run; a script needs a first line such as #!/bin/sh`: {[]string{
			"./" + filepath.Base(file("nohead", "echo hi\n", 0o755)),
		}, dir, NoProgram},
		`the working directory "` + dir + `/gone" does not exist`:         {[]string{"true"}, dir + "/gone", BadCwd},
		`the working directory "` + plain + `" is no directory`:           {[]string{"true"}, plain, BadCwd},
		`the working directory "here" is relative; give an absolute path`: {[]string{"true"}, "here", BadCwd},
		`the working directory "" is relative; give an absolute path`:     {[]string{"true"}, "", BadCwd},
	} {
		cmd, err := Command(c.command, c.dir)
		if err == nil {
			var g *Group
			if g, err = Start(cmd); err == nil {
				g.Discard()
			}
		}
		var start *StartError
		if !errors.As(err, &start) || start.Reason != c.reason || err.Error() != want {
			t.Errorf("%v in %s: %v (%+v), want %s: %s", c.command, c.dir, err, start, c.reason, want)
		}
	}
}

// shell starts a script and waits until it says "up".
func shell(t *testing.T, script string) *Group {
	t.Helper()
	g := started(t, "sh", "-c", script)
	if _, err := io.ReadFull(g.Stdout, make([]byte, len("up\n"))); err != nil {
		t.Fatal(err)
	}
	return g
}

// A process in the session of the server would have its terminal, and be stopped when it
// asks there.
func TestAGroupHasNoTerminalOfTheServer(t *testing.T) {
	g := shell(t, `echo up; exec cat`)
	session, err := unix.Getsid(g.PID())
	group, err2 := unix.Getpgid(g.PID())
	if err := errors.Join(err, err2); err != nil || session != g.PID() || group != g.PID() {
		t.Errorf("process %d is in session %d, group %d: %v", g.PID(), session, group, err)
	}
	g.Discard()
}

func TestStopGoesAsFarAsItMust(t *testing.T) {
	const never = time.Hour
	now := make(chan struct{})
	close(now)
	for name, c := range map[string]struct {
		script string
		ladder Ladder
		want   string
	}{
		"EndsByEOF":           {`echo up; cat`, Ladder{EOF: never, Term: never}, "exit status 0"},
		"EndsByTerm":          {`echo up; exec sleep 300`, Ladder{Term: never}, "signal: terminated"},
		"EndsByKill":          {`trap '' TERM; echo up; while :; do sleep 1; done`, Ladder{}, "signal: killed"},
		"KillAtOnce":          {`trap '' TERM; echo up; while :; do sleep 1; done`, Ladder{EOF: never, Term: never, Now: now}, "signal: killed"},
		"EndsItselfAfterTerm": {`trap 'exit 7' TERM; echo up; while :; do sleep 0.05; done`, Ladder{EOF: time.Millisecond, Term: never}, "exit status 7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := shell(t, c.script)
			if got := g.Stop(c.ladder).String(); got != c.want {
				t.Errorf("ended with %q, want %q", got, c.want)
			}
			if got := g.Stop(Ladder{}).String(); got != c.want {
				t.Errorf("the second Stop says %q", got)
			}
		})
	}
}

func TestStopTakesTheTimeItIsGiven(t *testing.T) {
	g := shell(t, `trap '' TERM; echo up; while :; do sleep 0.1; done`)
	began := time.Now()
	if got := g.Stop(Ladder{EOF: 300 * time.Millisecond, Term: 300 * time.Millisecond}).String(); got != "signal: killed" {
		t.Error(got)
	}
	if took := time.Since(began); took < 600*time.Millisecond {
		t.Errorf("killed after %v", took)
	}
}

func TestEndOfTheLeaderEndsItsGroup(t *testing.T) {
	mark := newMark(t)
	cmd := self("leader", mark, "grandchild")
	g, err := Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Discard()
	awaitUp(g)
	if n := len(alive(mark, "")); n != 2 {
		t.Fatalf("%d processes", n)
	}
	if err := syscall.Kill(g.PID(), syscall.SIGKILL); err != nil { // the leader alone
		t.Fatal(err)
	}
	<-g.Exited()
	if n := len(alive(mark, "")); n != 1 {
		t.Errorf("%d processes before End", n)
	}
	if got := g.End().String(); got != "signal: killed" {
		t.Error(got)
	}
	gone(t, mark)
}

func TestNumberStaysTakenUntilEnd(t *testing.T) {
	g := started(t, "true")
	<-g.Exited()
	if runtime.GOOS == "linux" {
		if err := syscall.Kill(g.PID(), 0); err != nil {
			t.Errorf("the leader was reaped before End: %v", err)
		}
	}
	g.End()
	if err := syscall.Kill(g.PID(), 0); err != syscall.ESRCH {
		t.Errorf("the leader was not reaped by End: %v", err)
	}
}

func TestNoSignalIsSentAfterEnd(t *testing.T) {
	other := shell(t, `echo up; exec cat`)
	g := &Group{cmd: other.cmd, exited: make(chan struct{}), ended: true} // as if its number were another's by now
	g.Kill()
	if got := other.Stop(Ladder{EOF: patience, Term: patience}).String(); got != "exit status 0" {
		t.Errorf("the other group ended with %q", got)
	}
}

func TestManyMayStopAGroupAtOnce(t *testing.T) {
	g := shell(t, `echo up; exec cat`)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			switch i % 3 {
			case 0:
				g.Stop(Ladder{EOF: patience, Term: patience})
			case 1:
				g.Signal(syscall.SIGCONT)
				g.End()
			case 2:
				<-g.Exited()
				g.Kill()
			}
		})
	}
	wg.Wait()
	if got := g.End().String(); got != "exit status 0" {
		t.Error(got)
	}
}

func TestEveryGroupHasAMarkOfItsOwnInItsEnvironment(t *testing.T) {
	t.Setenv(EnvGroup, "of the server") // itself the child of an agent
	marks := map[string]bool{}
	for _, env := range [][]string{nil, {"PATH=" + os.Getenv("PATH")}, os.Environ()} {
		cmd, err := Command([]string{"sh", "-c", `echo "$` + EnvGroup + `"`}, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		cmd.Env = env
		g, err := Start(cmd)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(g.Stdout)
		if said := strings.TrimSpace(string(b)); err != nil || said != g.mark || marks[said] || len(said) < 20 {
			t.Errorf("said %q, the mark is %q: %v", said, g.mark, err)
		}
		marks[g.mark] = true
		g.Discard()
	}
}

func TestGroupsLeaveNoDescriptors(t *testing.T) {
	if runtime.GOOS != "linux" {
		hosttest.Need(t, "descriptors are counted in /proc, which only Linux has")
	}
	run := func() {
		cmd, err := Command([]string{"true"}, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		g, err := Start(cmd)
		if err != nil {
			t.Fatal(err)
		}
		g.Discard()
		if _, err := Start(&exec.Cmd{Path: "/absent", Args: []string{"/absent"}}); err == nil {
			t.Fatal("started nothing")
		}
	}
	run()
	before := agenttest.Descriptors(t)
	for range 20 {
		run()
	}
	if after := agenttest.Descriptors(t); after != before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

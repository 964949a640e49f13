package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is a pseudo terminal with a command at its far end.
type terminal struct {
	t      *testing.T
	master *os.File
	seen   buffer
	codes  chan int
	drain  func() // closes the far end, and waits until all that it has written is seen
}

// openTerminal runs a command line on a terminal of 60 columns.
func (s *server) openTerminal(args ...string) *terminal {
	t := s.t
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	far, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(far.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 60}); err != nil {
		t.Fatal(err)
	}
	p := &terminal{t: t, master: master, codes: make(chan int, 1)}
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		chunk := make([]byte, 4096)
		for {
			n, err := master.Read(chunk)
			p.seen.Write(chunk[:n])
			if err != nil {
				return // EIO once the far end is closed
			}
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	g := &globals{console: console{in: far, out: far, err: far, environ: append([]string{"HOLON_DATA=" + s.data, "TERM=xterm", "LANG=C.UTF-8"}, s.environ...)}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.codes <- execute(ctx, g, args)
	}()
	p.drain = sync.OnceFunc(func() {
		// Ctrl-D ends a running read of the far end; without it neither end
		// would close.
		if _, err := master.Write([]byte{4}); err != nil {
			t.Error(err)
		}
		far.Close()
		<-reading
	})
	t.Cleanup(func() {
		cancel()
		if _, err := master.Write([]byte{4}); err != nil {
			t.Error(err)
		}
		select {
		case <-ended:
		case <-time.After(30 * time.Second):
			t.Errorf("%v does not end", args)
		}
		p.drain()
		master.Close()
	})
	return p
}

// await waits until a text has appeared on the terminal.
func (p *terminal) await(text string) {
	p.t.Helper()
	p.awaitAfter("", text)
}

// awaitAfter waits for text that comes after the last of marker.
func (p *terminal) awaitAfter(marker, text string) {
	p.t.Helper()
	came := func() bool {
		all := colours.ReplaceAllString(p.seen.String(), "")
		if marker == "" {
			return strings.Contains(all, text)
		}
		i := strings.LastIndex(all, marker)
		return i >= 0 && strings.Contains(all[i:], text)
	}
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	timeout := time.After(30 * time.Second)
	for !came() {
		select {
		case <-ticker.C:
		case <-timeout:
			p.t.Fatalf("%q never came; the terminal ends with:\n%q", text, p.end())
		}
	}
}

var colours = regexp.MustCompile("\x1b\\[[0-9]*m")

// end is the end of the terminal's output.
func (p *terminal) end() string {
	all := p.seen.String()
	return all[max(0, len(all)-2000):]
}

func (p *terminal) enter(line string) {
	p.t.Helper()
	if _, err := p.master.WriteString(line + "\n"); err != nil {
		p.t.Fatal(err)
	}
}

// exit waits for the end of the command, and until all that it has written is seen.
func (p *terminal) exit() int {
	p.t.Helper()
	select {
	case code := <-p.codes:
		p.drain()
		return code
	case <-time.After(30 * time.Second):
		p.t.Fatalf("the command does not end; the terminal ends with:\n%q", p.end())
		return -1
	}
}

func TestQuestionsAreAskedAtTheTerminal(t *testing.T) {
	s := startServer(t)
	p := s.openTerminal("run", "/ask Delete it?\n/ask Really?")
	p.await("answer 1-2, y or n: ")
	p.enter("perhaps")
	p.await("That is none of the answers.")
	p.enter("y")
	// Text typed before a question is shown does not answer it.
	p.awaitAfter("allow_once", "answer 1-2, y or n: ")
	p.enter("2")
	p.await("reject_once")
	if code := p.exit(); code != exitOK {
		t.Errorf("exit %d", code)
	}
	if !strings.Contains(p.seen.String(), "\x1b[32m") {
		t.Error("a timeline without colours on a terminal")
	}
}

func TestAQuestionAnsweredElsewhereLeavesTheTerminal(t *testing.T) {
	s := startServer(t)
	p := s.openTerminal("run", "/ask Delete it?")
	p.await("answer 1-2, y or n: ")
	item := oneObject(t, s.want("respond", "-o", "json"))["items"].([]any)[0].(map[string]any)["item_id"].(string)
	s.want("respond", item, "--reject")
	p.await("Reject")
	if code := p.exit(); code != exitOK {
		t.Errorf("exit %d", code)
	}
}

// TestCtrlC sends the signal to this process: the command handles it once it
// shows the turn. The test handles it too, so that a late signal is harmless.
func TestCtrlCInterruptsTheTurnAndTheSecondLeaves(t *testing.T) {
	held := make(chan os.Signal, 8)
	signal.Notify(held, syscall.SIGINT)
	defer signal.Stop(held)
	interrupt := func() {
		if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
	}
	s := startServer(t)
	p := s.openTerminal("run", "/sleep 60000")
	p.await("running")
	interrupt()
	p.await("interrupted after")
	if code := p.exit(); code != exitFailed {
		t.Errorf("exit %d", code)
	}

	p = s.openTerminal("run", "--thread=left", "/stubborn 20000\n/sleep 60000")
	p.await("running")
	interrupt()
	p.awaitAfter("Ctrl-C again leaves at once", "interrupting · ")
	interrupt()
	if code := p.exit(); code != exitFailed {
		t.Errorf("exit %d", code)
	}
	p.await("the turn is being interrupted at the server; its end shows: holon attach left --after")
}

func TestWhatBecomesOfATurnThatIsLeft(t *testing.T) {
	for want, r := range map[string]turnRun{
		"the turn continues at the server\n  see it with:  holon attach t":     {name: "t", turnID: "turn_1"},
		"the server was asked to interrupt the turn and has not answered yet":  {turnID: "turn_1", interrupted: true},
		"the turn continues at the server\n  see it":                           {turnID: "turn_1", interrupted: true, refused: true},
		"the turn is being interrupted at the server; its end shows: ":         {turnID: "turn_1", interrupted: true, interrupting: true},
		"the turn is being interrupted at the server; its end shows: holon at": {turnID: "turn_1", interrupting: true},
	} {
		r.con = &console{}
		if got := r.left(); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestJSONOfAnAgentDoesNothingOnTheTerminal(t *testing.T) {
	s := startServer(t)
	const acts = "\u009b31m \u202eexe"
	s.want("run", "/say begin "+acts)
	for _, args := range [][]string{
		{"run", "-o", "json", "/say begin " + acts}, {"run", "-o", "jsonl", "/say begin " + acts}, {"items", "-o", "json"}, {"items", "-o", "jsonl"},
		{"call", "item/list"}, {"watch", "--after=0", "--limit=10", "-o", "jsonl"}, {"watch", "--after=0", "--limit=10", "-o", "json"}, {"export"},
	} {
		p := s.openTerminal(args...)
		p.await(`begin \u009b31m \u202eexe`)
		if code := p.exit(); code != exitOK {
			t.Errorf("%s: exit %d", args, code)
		}
		if strings.ContainsAny(p.seen.String(), acts[:2]+"\u202e") {
			t.Errorf("%s: raw characters came:\n%q", args, p.end())
		}
	}
}

func TestTheTreeIsDrawnLive(t *testing.T) {
	held := make(chan os.Signal, 8)
	signal.Notify(held, syscall.SIGINT)
	defer signal.Stop(held)
	s := startServer(t)
	s.startOwner()
	p := s.openTerminal("tree", "main", "--watch")
	p.await("waiting for 1 child")
	p.await("Delete it?")
	s.want("respond", itemIDs.FindString(s.want("items", "--status=pending", "-o=json")), "--allow")
	p.await("completed in")
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := p.exit(); code != exitOK {
		t.Errorf("exit %d, the terminal ends with %q", code, p.end())
	}
	p.awaitAfter("\x1b[?1049l", "└─ ✓ the tests")
}

func TestRunShowsChildTurnsAndAsksTheirQuestions(t *testing.T) {
	s := startServer(t)
	p := s.openTerminal("run", "--thread=main", "/ask Shall I begin?")
	p.await("answer 1-2, y or n: ")
	s.want("call", "thread/start", `{"thread_id":"kid","parent":{"thread_id":"main"}}`)
	s.want("call", "turn/start", `{"thread_id":"kid","parent":{"thread_id":"main"},"title":"the tests","input":`+promptJSON("/ask Delete it?\n/sleep 60000")+`}`)
	p.await("the tests started")
	p.await("the tests asks: Delete it?")
	p.enter("y")
	p.awaitAfter(`"Shall I begin?" was answered`, "answer 1-2, y or n: ") // it is the turn of the child's question
	s.want("run", "-q", "--background", "--parent=kid", "--thread=deep", "/sleep 60000")
	p.await("deep started in the background")
	s.want("call", "turn/interrupt", `{"turn_id":"`+turnIDs.FindString(s.want("turns", "--thread=deep", "-o=json"))+`"}`)
	p.await("deep was interrupted after")
	p.enter("y")
	p.await("the tests: Allow")
	p.await("waiting for 1 child")
	p.await("└ the tests · running")
	s.want("call", "turn/interrupt", `{"turn_id":"`+turnIDs.FindString(s.want("turns", "--thread=kid", "-o=json"))+`"}`)
	p.await("the tests was interrupted after")
	if code := p.exit(); code != exitOK {
		t.Errorf("exit %d, the terminal ends with %q", code, p.end())
	}
}

func TestWatchOfAThreadShowsItsChildTurns(t *testing.T) {
	s := startServer(t)
	s.startOwner()
	ctx, cancel := context.WithCancel(t.Context())
	var out buffer
	g := &globals{console: console{in: strings.NewReader(""), out: &out, err: &buffer{}, environ: []string{"HOLON_DATA=" + s.data}}}
	codes := make(chan int, 1)
	go func() { codes <- execute(ctx, g, []string{"watch", "--thread=main", "--after=0"}) }()
	eventually(t, "the question is shown", func() bool { return strings.Contains(out.String(), "the tests asks: Delete it?") })
	s.want("respond", itemIDs.FindString(s.want("items", "--status=pending", "-o=json")), "--allow")
	eventually(t, "the end is shown", func() bool { return strings.Contains(out.String(), "child: the tests completed in") })
	cancel()
	<-codes
	contains(t, out.String(), "child: the tests started (kid)", "question: answer with: holon respond ", "answer: the tests: Allow", "turn: waiting for 1 child")
}

func TestAwaitShowsOnATerminalThatItWaits(t *testing.T) {
	s := startServer(t)
	_, child := s.startOwner()
	p := s.openTerminal("await", child)
	p.await("waiting for " + short(child))
	s.want("respond", itemIDs.FindString(s.want("items", "--status=pending", "-o=json")), "--allow")
	p.await("completed in")
	if code := p.exit(); code != exitOK {
		t.Errorf("exit %d", code)
	}
}

func TestRunSurvivesARestartOfTheServer(t *testing.T) {
	s := startServer(t)
	s.want("call", "holon/pause")
	p := s.openTerminal("run", "--thread=away", "/say at last")
	p.await("queued at position 1 (paused)")
	s.stop()
	p.await("connection lost")
	s.start()
	p.await("resumed after seq")
	s.want("call", "holon/resume")
	if code := p.exit(); code != exitOK {
		t.Errorf("exit %d", code)
	}
	p.await("at last")
}

func TestWhatAnACPAgentAsksIsAnsweredAtTheTerminal(t *testing.T) {
	s := startServerWith(t, badAgent(t, "good"))
	p := s.openTerminal("run", "--agent=good", "ask Delete it\nelicit Your name?")
	p.await("answer 1-4, y or n: ")
	p.await("[y]")
	p.enter("y")
	p.await("selected")
	p.awaitAfter("Your name?", "answer (")
	p.enter("Ada")
	p.await(`"Ada"`)
	if code := p.exit(); code != exitOK {
		t.Errorf("exit %d", code)
	}
}

func TestRespondAsksAtTheTerminal(t *testing.T) {
	s := startServerWith(t, badAgent(t, "good"))
	for _, c := range []struct{ prompt, asks, enter, answer string }{
		{"ask Delete it", "answer 1-4, y or n: ", "n", "declined"},
		{"elicit Your name?", "answer (", "Ada", "completed"},
	} {
		run := make(chan result, 1)
		go func() { run <- s.holon("run", "--agent=good", c.prompt) }()
		var item string
		eventually(t, "it asks", func() bool {
			waiting, _ := oneObject(t, s.want("respond", "-o", "json"))["items"].([]any)
			if len(waiting) == 1 {
				item, _ = waiting[0].(map[string]any)["item_id"].(string)
			}
			return len(waiting) == 1
		})
		p := s.openTerminal("respond", item)
		p.await(c.asks)
		p.enter(c.enter)
		p.awaitAfter(short(item)+": ", c.answer)
		if code := p.exit(); code != exitOK {
			t.Errorf("%s: exit %d, the terminal ends with %q", c.prompt, code, p.end())
		}
		if r := <-run; r.code != exitOK {
			t.Errorf("%s: %+v", c.prompt, r)
		}
		p = s.openTerminal("respond", item)
		p.await("the question has been answered already")
		if code := p.exit(); code != exitFailed {
			t.Errorf("a second answer: exit %d", code)
		}
	}
}

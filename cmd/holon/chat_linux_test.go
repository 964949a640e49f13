package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/internal/sanitize"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/rpc/client"
)

// linesOnly fails if a text moves the cursor or does anything else on a terminal.
func linesOnly(t *testing.T, text string) {
	t.Helper()
	for _, r := range text {
		if sanitize.Acts(r) {
			t.Fatalf("%q acts on the terminal in %q", r, text)
		}
	}
}

// inOrder fails unless the texts come one after the other.
func inOrder(t *testing.T, all string, texts ...string) {
	t.Helper()
	rest := all
	for _, text := range texts {
		_, after, found := strings.Cut(rest, text)
		if !found {
			t.Fatalf("%q does not follow in:\n%s", text, all)
		}
		rest = after
	}
}

func TestAChatInLinesTakesALineAfterTheOther(t *testing.T) {
	s := startServer(t)
	r := holon(t, s.data, "hello \x1b[31mred\n\n/ask Delete it?\nperhaps\n2\nbye\n", "chat")
	if r.code != exitOK {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	linesOnly(t, r.out)
	inOrder(t, r.out,
		"chat: ", " with agent echo", "chat: Each line goes to the agent",
		"chat: this starts a turn", "user: hello red", "agent: hello red", "turn: completed",
		"user: /ask Delete it?", "question: Delete it?", "question: 1) Allow  [y]", "question: 2) Reject  [n]", "question: answer 1-2, y or n",
		"chat: That is none of the answers. Your line was not sent: perhaps", "question: 1) Allow",
		"reject_once", "turn: completed", "user: bye", "agent: bye", "turn: completed in")
	if strings.Contains(r.out, "thread_") {
		t.Errorf("a whole id:\n%s", r.out)
	}
	if strings.Contains(r.out, "user: perhaps") || strings.Contains(r.out, "user: 2") {
		t.Errorf("an answer was sent as a text:\n%s", r.out)
	}
}

func TestHelpInAChatInLinesIsNotForTheAgent(t *testing.T) {
	s := startServer(t)
	r := holon(t, s.data, "/help\nbye\n", "chat")
	inOrder(t, r.out, "/help says more", "chat: A line starts a turn", "chat: More: holon chat --help", "user: bye")
	if r.code != exitOK || strings.Contains(r.out, "user: /help") {
		t.Errorf("exit %d: the agent has got it:\n%s", r.code, r.out)
	}
}

func TestACommandOfTheAgentIsSaidInAChatInLines(t *testing.T) {
	var th talk
	if err := json.Unmarshal([]byte(`{"config":{"commands":[{"name":"compact","description":"x"},{"name":""}]}}`), &th); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"/compact": ", with the agent's command /compact", "/compact now": ", with the agent's command /compact", "/": "", "/compacts": "", "compact": ""} {
		if got := th.command(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := (talk{}).command("/compact"); got != "" {
		t.Errorf("without commands: %q", got)
	}
}

// Lines that come at once, as of a paste, are texts in their order.
func TestAChatInLinesSendsAPasteInItsOrder(t *testing.T) {
	s := startServer(t)
	p := s.openTerminal("chat", "--plain")
	p.await("Each line goes to the agent")
	p.enter("/sleep 60000")
	p.awaitAfter("turn: ", "started")
	var pasted strings.Builder
	var said []string
	for i := range 20 {
		fmt.Fprintf(&pasted, "line %d\n", i)
		said = append(said, fmt.Sprintf("user: line %d\r\n", i))
	}
	if _, err := p.master.WriteString(pasted.String()); err != nil {
		t.Fatal(err)
	}
	for _, line := range said {
		p.await(line)
	}
	inOrder(t, p.seen.String(), said...)
}

func TestAChatInLinesGoesOnWithAThread(t *testing.T) {
	s := startServer(t)
	s.want("run", "--thread", "mine", "the first")
	s.want("run", "--thread", "mine", "the second")
	for _, name := range []string{"mine", "latest"} {
		r := holon(t, s.data, "the third\n", "chat", "--plain", name)
		inOrder(t, r.out, "chat: mine", "user: the second", "agent: the second", "user: the third", "agent: the third")
		if strings.Contains(r.out, "the first") {
			t.Errorf("more than the last turn is shown:\n%s", r.out)
		}
		s.want("run", "--thread", "mine", "the second")
	}
	if r := holon(t, s.data, "", "chat", "nobody"); r.code != exitFailed || !strings.Contains(r.err, "no such thread") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	if r := holon(t, s.data, "", "chat", "--agent=echo", "mine"); r.code != exitUsage {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
}

func TestAChatWhoseInputEndsAtAQuestionSaysHowToAnswer(t *testing.T) {
	s := startServer(t)
	r := holon(t, s.data, "/ask Delete it?\n", "chat")
	item := regexp.MustCompile(`chat: the agent waits for an answer: holon respond ([0-9a-f]{8})\n`).FindStringSubmatch(r.out)
	if r.code != exitFailed || item == nil {
		t.Fatalf("exit %d\n%s", r.code, r.out)
	}
	s.want("respond", item[1], "--reject")
}

func TestAChatInWhichNothingIsWrittenLeavesNoOpenThread(t *testing.T) {
	s := startServer(t)
	s.want("call", "holon/status")
	holon(t, s.data, "", "chat")
	list := oneObject(t, s.want("threads", "-o", "json"))
	for _, row := range list["threads"].([]any) {
		if thread := row.(map[string]any); thread["state"] != "closed" {
			t.Errorf("%v is left", thread)
		}
	}
}

func TestAChatInLinesSaysWhatAlwaysWidens(t *testing.T) {
	q := newQuestion("item_1", timeline.Content{Type: "permission_request", Options: []timeline.Option{
		{ID: "a", Name: "Allow", Kind: "allow_once"}, {ID: "b", Name: "Always", Kind: "allow_always"}, {ID: "c", Name: "No", Kind: "reject_once"},
	}})
	lines := answerLines(q)
	if len(lines) != 4 || lines[0] != "1) Allow  [y]" || !strings.HasPrefix(lines[1], "2) Always, and from now on the agent does this without asking") || lines[3] != "answer 1-3, y or n" {
		t.Errorf("%q", lines)
	}
}

// A line that was begun before the question came is no answer to it.
func TestALineInAChatIsNoAnswerToANewQuestion(t *testing.T) {
	var out buffer
	p := &plainChat{
		con: &console{out: &out}, input: &lineInput{terminal: true},
		open: []plainQuestion{{question: newQuestion("item_1", timeline.Content{Type: "question", Message: "Which?"}), asked: time.Now()}},
	}
	if err := p.line("write the tests"); err != nil {
		t.Fatal(err)
	}
	if p.pending != 0 || len(p.open) != 1 || !strings.Contains(out.String(), "Your line was not sent, and not used as its answer: write the tests") {
		t.Errorf("%d calls, %d questions: %s", p.pending, len(p.open), out.String())
	}
}

// The test handles the signal too, so that a late one is harmless.
func TestAChatInLinesSteersAndInterrupts(t *testing.T) {
	held := make(chan os.Signal, 8)
	signal.Notify(held, syscall.SIGINT)
	defer signal.Stop(held)
	s := startServer(t)
	p := s.openTerminal("chat", "--plain")
	p.await("Each line goes to the agent")
	p.enter("/sleep 60000")
	p.awaitAfter("turn: ", "started")
	p.enter("one more thing")
	p.await("chat: this steers the turn")
	p.await("user: one more thing")
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	p.await("turn: interrupted after")
	p.enter("still here")
	p.await("agent: still here")
	linesOnly(t, strings.ReplaceAll(p.seen.String(), "\r\n", "\n"))
	if _, err := p.master.Write([]byte{4}); err != nil {
		t.Fatal(err)
	}
	if code := p.exit(); code != exitOK {
		t.Errorf("exit %d", code)
	}
}

// The banner says that Ctrl-D leaves: one Ctrl-C while nothing runs does not.
func TestCtrlCInAnIdleChatLeavesTheSecondTimeOnly(t *testing.T) {
	held := make(chan os.Signal, 8)
	signal.Notify(held, syscall.SIGINT)
	defer signal.Stop(held)
	interrupt := func() {
		if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
	}
	s := startServer(t)
	p := s.openTerminal("chat", "--plain")
	p.await("Ctrl-C interrupts the turn, Ctrl-D leaves.")
	const warning = "chat: nothing runs. Ctrl-D leaves, and so does Ctrl-C again."
	interrupt()
	p.await(warning)
	p.enter("still here")
	p.await("turn: completed in")
	interrupt()
	p.awaitAfter("turn: completed in", warning)
	interrupt()
	if code := p.exit(); code != exitOK {
		t.Errorf("exit %d", code)
	}
	p.await(warning + "\r\n\r\n") // the shell's prompt gets a line of its own
}

// What was started here and waits for its turn is interrupted, too.
func TestCtrlCInAChatInterruptsAQueuedTurn(t *testing.T) {
	held := make(chan os.Signal, 8)
	signal.Notify(held, syscall.SIGINT)
	defer signal.Stop(held)
	s := startServer(t)
	s.want("call", "holon/pause")
	p := s.openTerminal("chat", "--plain")
	p.await("Each line goes to the agent")
	p.enter("later")
	p.await("queued at position 1")
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	p.await("turn: interrupted")
	if _, err := p.master.Write([]byte{4}); err != nil {
		t.Fatal(err)
	}
	if code := p.exit(); code != exitOK {
		t.Errorf("exit %d", code)
	}
}

// What a chat repeats at its beginning has happened: a line steers no turn that has ended.
func TestAChatTakesNoTurnOfThePastForOneThatRuns(t *testing.T) {
	var out buffer
	p := &plainChat{con: &console{out: &out}, view: timeline.New(&out, timeline.Options{}), active: "turn_2", past: 5}
	for _, c := range []struct {
		seq          int64
		turn, active string
	}{{4, "turn_1", "turn_2"}, {5, "turn_2", "turn_2"}, {6, "turn_3", "turn_3"}} {
		e := client.Event{Method: notify.TurnStarted, Seq: c.seq, TurnID: c.turn, Params: []byte(`{"state":"active"}`)}
		if err := p.take(e); err != nil {
			t.Fatal(err)
		}
		if p.active != c.active {
			t.Errorf("after %d %q runs, want %q", c.seq, p.active, c.active)
		}
	}
}

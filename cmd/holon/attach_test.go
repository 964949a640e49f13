package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
)

// attached is a command line that follows something.
type attached struct {
	out, err buffer
	codes    chan int
	cancel   context.CancelFunc
}

// follow starts a command line that ends later.
func (s *server) follow(args ...string) *attached {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	a := &attached{codes: make(chan int, 1), cancel: cancel}
	g := &globals{console: console{in: strings.NewReader(""), out: &a.out, err: &a.err, environ: []string{"HOLON_DATA=" + s.data}}}
	go func() { a.codes <- execute(ctx, g, args) }()
	return a
}

func TestAttachFollowsAThreadFromItsActiveTurn(t *testing.T) {
	s := startServer(t)
	s.want("run", "--thread=one", "--title=日本語 work", "/say of before")
	out := s.want("run", "--detach", "--long", "--thread=one", "/ask Delete it?\n/say of now")
	turn := turnIDs.FindString(out)
	s.want("run", "--detach", "--thread=one", "/say of the queue")
	a := s.follow("attach", "日本語 work")
	eventually(t, "the question is shown", func() bool { return strings.Contains(a.err.String(), "holon respond ") })
	s.want("respond", short(itemIDs.FindString(s.want("respond", "--long"))), "--allow")
	eventually(t, "the queued turn is shown", func() bool { return strings.Count(a.out.String(), "turn: completed") == 2 })
	s.want("run", "--thread=one", "/say of later")
	s.want("close", "one")
	if code := <-a.codes; code != exitOK {
		t.Errorf("exit %d: %s", code, a.err.String())
	}
	text := a.out.String()
	contains(t, text, "turn: "+short(turn)+" started", "question: Delete it?", "answer: Allow", "agent: of now", "agent: of the queue", "agent: of later", "thread: one closed")
	if strings.Contains(text, "of before") {
		t.Errorf("what was before the active turn is shown:\n%s", text)
	}
}

func TestAttachShowsTheNewestTurnOfAThreadThatIsOver(t *testing.T) {
	s := startServer(t)
	s.want("run", "--thread=one", "/say the first")
	s.want("run", "--thread=one", "/say the second")
	s.want("close", "one")
	text := s.want("attach", "one")
	contains(t, text, "agent: the second", "thread: one closed")
	if strings.Contains(text, "the first") {
		t.Errorf("more than the newest turn:\n%s", text)
	}
	contains(t, s.want("attach", "one", "--after=0"), "thread: one started", "agent: the first", "agent: the second")
	if r := s.holon("attach", "one", "--after=100000"); r.code != exitOK || r.out != "" || !strings.Contains(r.err, "one is closed: nothing follows") {
		t.Errorf("%+v", r)
	}
	for line := range strings.Lines(s.want("attach", "one", "-o", "jsonl")) {
		oneObject(t, line)
	}
	for _, args := range [][]string{{"attach", "one", "-o=json"}, {"attach", "one", "-o=toon"}, {"attach", "one", "--after=x"}, {"attach", "one", "--after=log_1:4"}, {"attach"}} {
		if r := s.holon(args...); r.code != exitUsage {
			t.Errorf("%s: exit %d: %s", args, r.code, r.err)
		}
	}
	if r := s.holon("attach", "none"); r.code != exitFailed || !strings.Contains(r.err, "holon threads lists the threads") {
		t.Errorf("%+v", r)
	}
}

func TestRunDetachedSaysHowToGoOn(t *testing.T) {
	s := startServer(t)
	r := s.holon("run", "--detach", "--title=the \x1b[31mtests", "/sleep 600000")
	thread, turn := threadIDs.FindString(s.want("threads", "--long")), turnIDs.FindString(s.want("turns", "--long"))
	if r.code != exitOK || r.out != short(turn)+": active, in thread "+short(thread)+" \"the tests\"\n" || !strings.Contains(r.err, "The thread works in /") || !strings.Contains(r.err, "holon attach "+short(thread)) || !strings.Contains(r.err, "holon interrupt "+short(turn)) {
		t.Errorf("%+v", r)
	}
	if s.stateOf(turn) != "active" {
		t.Error("it does not go on")
	}
	queued := s.holon("run", "-d", "--thread", thread, "/say next")
	contains(t, queued.out, ": queued at position 1, in thread "+short(thread))
	if id := s.want("run", "-q", "-d", "hello"); anonymous(id) != "TURN\n" {
		t.Errorf("-q: %q", id)
	}
	if got := oneObject(t, s.want("run", "-d", "-o=json", "hello")); got["turn_id"] == nil {
		t.Errorf("-o json: %v", got)
	}
	if r := s.holon("run", "-d", "--background", "--parent", thread, "x"); r.code != exitUsage {
		t.Errorf("with --background: %+v", r)
	}
	contains(t, s.holon("run", "-d", "--parent", thread, "--title=kid", "/sleep 600000").err, "holon attach ")
}

// A question of the past may have been answered in the part of the log that is still
// being read.
func TestQuestionsOfThePastWaitUntilTheLogIsRead(t *testing.T) {
	var out buffer
	con := &console{in: bytes.NewReader(nil), out: &out, err: &out}
	r := &turnRun{con: con, ctx: t.Context(), caughtUp: 10, view: &silentViewer{con: con}, questions: &questions{}}
	r.askSoon(question{id: "item_1", content: timeline.Content{Title: "Delete it?"}})
	r.result.Seq = 9
	if err := r.askAll(); err != nil || out.String() != "" || r.due == nil {
		t.Errorf("asked too early: %q, %v", out.String(), err)
	}
	r.result.Seq = 10
	if err := r.askAll(); err != nil || !strings.Contains(out.String(), "holon respond item_1") {
		t.Errorf("not asked: %q, %v", out.String(), err)
	}
}

func TestLongOutputsAreFoldedInRunAndAttach(t *testing.T) {
	s := startServerWith(t, badAgent(t, "good"))
	folded := s.want("run", "--agent=good", "--thread=one", "execute seq 40")
	if strings.Count(folded, "output: ") != 22 || !strings.Contains(folded, "output: 17\noutput: … folded here; all of it: holon attach one --full\noutput: … 23 lines are folded\n") {
		t.Errorf("run:\n%s", folded)
	}
	whole := s.want("run", "--agent=good", "--thread=two", "--full", "execute seq 40")
	if strings.Count(whole, "output: ") != 43 || strings.Contains(whole, "folded") {
		t.Errorf("run --full:\n%s", whole)
	}
	s.want("close", "one")
	contains(t, s.want("attach", "one"), "output: … 23 lines are folded\n")
	if out := s.want("attach", "one", "--full"); !strings.Contains(out, "output: 40\n") || strings.Contains(out, "folded") {
		t.Errorf("attach --full:\n%s", out)
	}
	n := 0
	for _, event := range s.events() {
		if event.ThreadID == "one" {
			n++
		}
	}
	if out := s.want("watch", "--thread=one", "--after=0", fmt.Sprintf("--limit=%d", n)); !strings.Contains(out, "output: 40\n") || strings.Contains(out, "folded") {
		t.Errorf("watch folds:\n%s", out)
	}
}

// Of a turn whose beginning is pruned it shows what is kept, to a token for the thread too.
func TestAttachBeginsWhereTheLogBegins(t *testing.T) {
	s := startServer(t)
	s.want("run", "--thread=one", "--title=work", "/say hello")
	s.want("close", "one")
	who := s.holding("colleague", "--role=read", "--thread=one")
	s.want("prune", "--before=5")
	for _, text := range []string{s.want("attach", "one"), who.must("", "attach", "work").out} {
		contains(t, text, "hello", "turn: completed", "thread: one closed")
		if strings.Contains(text, "started") {
			t.Errorf("what is pruned is shown:\n%s", text)
		}
	}
}

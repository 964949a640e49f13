package conversation

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/rpc/client"
)

func TestATurnIsShownAsItGoes(t *testing.T) {
	p := newPage(t, 80, 24).open()
	p.keys("hello", "<enter>")
	p.wants(screen.Start{Thread: thread, Text: "hello"})
	p.send(screen.Done{Action: screen.Start{Thread: thread, Text: "hello"}})
	p.item("i1", "t1", "completed", user("hello"))
	p.started("t1")
	p.item("i2", "t1", "in_progress", said(""))
	p.delta("i2", "t1", 0, "I am **at")
	p.shows("❯ hello", "◆ I am **at", "▶ working 0 s", "Enter steers the turn")
	p.delta("i2", "t1", 9, " work**")
	p.item("i2", "t1", "completed", said("I am **at work**"))
	p.shows("◆ I am \x1b[1mat work\x1b[m")
	p.ended("t1", "completed")
	p.shows("✓ completed in 4.0s", "idle", "Enter starts a turn")
}

func TestATextSteersTheTurnThatRuns(t *testing.T) {
	p := newPage(t, 80, 24).open()
	p.started("t1")
	p.keys("not that file", "<enter>")
	p.wants(screen.Steer{Turn: "t1", Text: "not that file"})
}

func TestATextWhoseTurnHasEndedIsAskedAbout(t *testing.T) {
	p := newPage(t, 80, 24).open()
	p.started("t1")
	p.keys("not that")
	p.ended("t1", "completed")
	p.keys("<enter>")
	p.wants()
	p.shows("The turn has ended. Enter starts a new turn", "> not that")
	p.keys("<enter>")
	p.wants(screen.Start{Thread: thread, Text: "not that"})
}

func TestATextThatDidNotReachTheTurnStays(t *testing.T) {
	p := newPage(t, 80, 24).open()
	p.started("t1")
	p.keys("too late", "<enter>", "more")
	p.wants(screen.Steer{Turn: "t1", Text: "too late"})
	p.ended("t1", "completed")
	p.send(screen.Done{Action: screen.Steer{Turn: "t1", Text: "too late"}, Err: &client.Error{Kind: "turn_not_active", Message: "it is over"}})
	p.shows("> too late", "  more", "The turn has ended. Enter starts a new turn")
	p.keys("<enter>")
	p.wants(screen.Start{Thread: thread, Text: "too late\nmore"})
}

func TestATextThatCannotBeSentStays(t *testing.T) {
	p := newPage(t, 80, 24).open()
	p.keys("hello", "<enter>")
	p.did()
	p.send(screen.Done{Action: screen.Start{Thread: thread, Text: "hello"}, Err: errors.New("connection refused\x1b[31m")})
	p.shows("> hello", "Not sent, the text stays. Connection refused.")
}

func TestLettersAreCommandsOnlyOutsideTheInputLine(t *testing.T) {
	p := newPage(t, 80, 24).open()
	p.started("t1")
	p.keys("ixqra")
	p.wants()
	p.shows("> ixqra")
	p.keys("<esc>", "i")
	p.wants()
	p.shows("Interrupt “mend the build” (turn t1)? y interrupts it.", "any other key do not")
	for _, key := range []string{"<esc>", "i", "<enter>", "x"} {
		p.keys(key)
		p.wants(screen.Say{Text: "Not interrupted."})
		p.keys("i")
	}
	p.keys("y")
	p.wants(screen.Interrupt{Turn: "t1"})
	p.keys("<tab>", "q")
	p.wants()
	p.shows("> ixqraq")
}

func TestEscLeavesAndNeverInterrupts(t *testing.T) {
	p := newPage(t, 80, 24).open()
	p.started("t1")
	p.keys("draft", "<esc>", "<esc>")
	p.wants(screen.Back{})
	p.shows("> draft")
}

func TestAPasteNeverSubmits(t *testing.T) {
	p := newPage(t, 80, 24).open()
	p.send(paste("one\r\ntwo\rthree\n"))
	p.wants()
	p.shows("> one", "  two", "  three")
	p.keys("<enter>")
	p.wants(screen.Start{Thread: thread, Text: "one\ntwo\nthree"})
	p.send(screen.Done{Action: screen.Start{}})
	p.send(paste(strings.Repeat("x", MaxTyped+1)))
	p.shows("too long to paste here")
	if p.m.input.text != "" {
		t.Errorf("%d bytes are in the line", len(p.m.input.text))
	}
}

func TestALineCanHaveLines(t *testing.T) {
	p := newPage(t, 80, 24).open()
	p.keys("one", "<alt-enter>", "two", "<ctrl-j>", "three")
	p.wants()
	p.shows("> one", "  two", "  three")
	p.keys("<up>", "<up>", "X")
	p.shows("> oneX")
}

func TestDraftsStayPerThread(t *testing.T) {
	d := &Drafts{}
	p := newPage(t, 80, 24)
	p.m = New(Options{Thread: thread, Write: true, Drafts: d})
	p.open()
	p.keys("not sent yet")
	again := newPage(t, 80, 24)
	again.m = New(Options{Thread: thread, Write: true, Drafts: d})
	again.open()
	again.shows("> not sent yet")
	other := newPage(t, 80, 24)
	other.m = New(Options{Thread: "thread_2", Write: true, Drafts: d})
	other.open()
	other.hides("not sent yet")
	again.keys("<enter>")
	if d.Of(thread) != "not sent yet" {
		t.Errorf("the draft is %q before the server has it", d.Of(thread))
	}
	again.send(screen.Done{Action: screen.Start{}})
	if d.Of(thread) != "" {
		t.Errorf("the draft %q is left", d.Of(thread))
	}
	for i := range 2 * keptDrafts {
		d.Keep(strings.Repeat("t", i+1), "x")
	}
	if len(d.texts) != keptDrafts || len(d.order) != keptDrafts {
		t.Errorf("%d drafts are kept", len(d.texts))
	}
}

func TestOnlyTheLastTurnOffersARetry(t *testing.T) {
	p := newPage(t, 80, 24).open()
	for _, turn := range []string{"t1", "t2"} {
		p.started(turn)
		p.event("turn/failed", object{"turn_id": turn, "error": object{"kind": "agent_failed", "message": "no luck"}})
	}
	if n := strings.Count(p.text(), "r tries it again"); n != 1 {
		t.Errorf("%d ends offer it:\n%s", n, p.text())
	}
	p.keys("<esc>")
	p.shows("r retry")
	p.keys("r")
	p.shows("! Retry “mend the build” (turn t2)? y retries it.")
	p.keys("n")
	p.wants(screen.Say{Text: "Not retried."})
	p.did()
	p.keys("ry")
	p.wants(screen.Say{Text: "Retrying …"}, screen.Retry{Turn: "t2"})
	p.started("t3")
	p.later(time.Second)
	p.hides("r tries it again", "r retry")
	p.keys("r")
	p.wants()
}

// No code of the protocol is shown where a person wants to know what has happened.
func TestEndsAreSaidInWords(t *testing.T) {
	p := newPage(t, 80, 24).open()
	p.started("t1")
	p.item("q1", "t1", "pending", permission("Read a file", nil))
	p.item("q1", "t1", "cancelled", permission("Read a file", object{"outcome": object{"type": "cancelled"}}))
	p.event("turn/failed", object{"turn_id": "t1", "attempt": 1, "error": object{"kind": "agent_failed", "message": "the model is overloaded"}, "lineage": lineage(1)})
	p.shows("→ not answered, it is no longer asked", "failed: the model is overloaded")
	p.hides("cancelled", "agent_failed")
	p.started("t2")
	p.event("turn/completed", object{"turn_id": "t2", "attempt": 1, "state": "completed", "stop_reason": "refusal", "lineage": lineage(1)})
	p.shows("■ stopped early: refusal")
	p.hides("✓")
}

// The title is that of the thread, also when a client has given it back.
func TestTheTitleFollowsTheThread(t *testing.T) {
	p := newPage(t, 80, 24).open()
	p.shows("mend the build · echo")
	p.event("thread/updated", object{"title": "parser", "title_by": "client"})
	p.shows("parser · echo")
	p.event("thread/updated", object{"config": object{"mode": "code"}})
	p.shows("parser · echo")
	p.event("thread/updated", object{"title_by": "client"})
	p.hides("parser")
	p.shows("thread …thread_1 · echo")
}

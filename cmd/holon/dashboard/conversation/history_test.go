package conversation

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/rpc/client"
)

func TestASupersededAttemptIsALine(t *testing.T) {
	p := newPage(t, 80, 24).open()
	p.item("i1", "t1", "completed", user("hello"))
	p.m.history.item("i1").item.lineage = nil // what the person wrote belongs to no attempt
	p.started("t1")
	p.item("i2", "t1", "completed", said("the first try"))
	p.item("i3", "t1", "pending", permission("May I", nil))
	p.shows("the first try", "The agent asks")
	p.event("stream/rewind", object{"turn_id": "t1", "step": "", "new_epoch": 2, "superseded_after_seq": 1, "reason": "agent_crashed"})
	p.hides("the first try", "The agent asks")
	p.shows("❯ hello", "↺ attempt 1 was given up (agent crashed)", "▸ 2 items superseded")
	// What the old attempt still says is not shown.
	p.delta("i2", "t1", 13, " goes on")
	p.item("i4", "t1", "completed", said("too late"))
	p.hides("goes on", "too late")
	p.keys("<esc>", "<space>")
	p.shows("~ agent_message: the first try")
}

func TestSupersededItemsOfAListAreALine(t *testing.T) {
	p := newPage(t, 80, 24)
	p.stored("i1", "completed", said("the first try"))
	p.items[0]["superseded_by_seq"] = 5
	p.items[0]["superseded"] = true
	p.items[0]["attempt"] = 1
	p.seq = 5
	p.stored("i2", "completed", said("the second try"))
	p.open()
	p.shows("↺ attempt 1 was given up", "▸ 1 item superseded", "the second try")
	p.hides("the first try")
}

func TestAnItemThatIsSupersededInPartIsReadAgain(t *testing.T) {
	p := newPage(t, 80, 24)
	p.stored("i1", "in_progress", said("kept"))
	p.open()
	p.item("i1", "t0", "completed", said("kept, and lost"))
	p.shows("kept, and lost")
	p.items[0]["updated_seq"] = 10
	p.event("stream/rewind", object{"turn_id": "t0", "step": "", "new_epoch": 2, "superseded_after_seq": 1})
	p.shows("◆ kept")
	p.hides("and lost")
}

func TestPlansChangeInPlace(t *testing.T) {
	p := newPage(t, 80, 24).open()
	plan := func(status string) object {
		return object{"type": "plan", "entries": []object{{"content": "look", "status": status}}}
	}
	p.item("p1", "t1", "in_progress", plan("in_progress"))
	p.shows("plan, 0 of 1 done", "[>] look")
	p.item("p1", "t1", "in_progress", plan("completed"))
	p.shows("plan, 1 of 1 done", "[x] look")
	if n := strings.Count(p.text(), "plan,"); n != 1 {
		t.Errorf("%d plans are shown", n)
	}
	p.item("p2", "t1", "in_progress", plan("pending"))
	p.shows("plan, 1 of 1 done (an earlier one)", "plan, 0 of 1 done", "[ ] look")
	p.hides("[x] look")
}

func TestChildrenAreEntered(t *testing.T) {
	p := newPage(t, 80, 24)
	p.kids = []object{{"turn_id": "t9", "thread_id": "thread_9", "title": "the docs", "state": "active", "started_at": start, "created_seq": 3}}
	p.open()
	p.shows("├ child the docs working")
	p.keys("<esc>", "k", "<enter>")
	p.wants(screen.Open{Thread: "thread_9"})
	// It is looked at again when something happens there, and not too often.
	p.kids[0]["state"], p.kids[0]["completed_at"] = "completed", start.Add(3*time.Second)
	for range 5 {
		p.send(screen.Below{})
	}
	n := p.m.Counts().Requests
	p.later(10 * childrenEvery)
	if got := p.m.Counts().Requests - n; got != 2 {
		t.Errorf("%d requests after five events below, want one for turns and one for threads", got)
	}
	p.shows("├ child the docs completed · 3 s")
	n = p.m.Counts().Requests
	p.later(time.Hour)
	if got := p.m.Counts().Requests; got != n {
		t.Errorf("%d requests in an idle hour", got-n)
	}
}

// child is a thread below, as thread/list gives it.
func child(id, parent string, level int, status string, seq int) object {
	return object{
		"thread_id": id, "parent": object{"thread_id": parent}, "level": level, "created_seq": seq,
		"summary": object{"title": "the " + id, "status": status, "since": start},
	}
}

// A thread below is shown also if it began without a child turn, before what is held of
// the timeline, or below another one; and it can be entered.
func TestAllThreadsBelowCanBeEntered(t *testing.T) {
	p := newPage(t, 80, 24)
	p.kids = []object{{"turn_id": "t9", "thread_id": "docs", "title": "read the docs", "state": "completed", "created_seq": 2}}
	p.below = []object{
		child("words", "docs", 2, "waiting", 290), child("tests", thread, 1, "working", 250), child("docs", thread, 1, "idle", 1),
		{"thread_id": thread, "level": 0, "created_seq": 0},
	}
	for i := range 300 {
		p.stored(fmt.Sprintf("i%d", i), "completed", said(fmt.Sprintf("message %d.", i)))
	}
	p.open()
	p.shows("├ 3 threads below, 1 waiting for you, 1 at work: c lists them")
	p.keys("<esc>", "k", "<enter>")
	p.wants(screen.Open{Thread: "tests"})
	p.keys("c")
	p.shows("Threads below mend the build", "▸ ├ child the docs", "  ├ child the words", "asks you", "├ child the tests")
	p.keys("j", "<enter>")
	p.wants(screen.Open{Thread: "words"})
	p.keys("c", "<down>", "<down>", "<down>", "<enter>")
	p.wants(screen.Open{Thread: "tests"})
	// One that is older than what is held comes with the items around it.
	p.hides("read the docs")
	for range 400 {
		p.keys("<pgup>")
	}
	p.shows("message 0.", "├ child read the docs")
	p.hides("child the docs") // its turn is there
}

// A thread that begins while the page is open is shown, whoever has started it.
func TestAThreadBelowThatBeginsIsShown(t *testing.T) {
	p := newPage(t, 80, 24).open()
	p.keys("<esc>", "c")
	p.shows("No thread is below this one.")
	p.seq = 40
	p.below = []object{child("tests", thread, 1, "idle", 40)}
	p.send(screen.Below{})
	p.later(childrenEvery)
	p.shows("├ child the tests", "has not begun", "├ 1 thread below: c lists them")
	p.keys("c", "<esc>")
	p.shows("├ child the tests")
	p.below = append(p.below, child("more", thread, 1, "idle", 41)) // while the page was not connected
	p.send(screen.Connection{State: client.State{Kind: client.Lost}})
	p.send(screen.Connection{State: client.State{Kind: client.Resumed}})
	p.later(childrenEvery)
	p.shows("├ child the more")
}

func TestOlderItemsComeWhenOneScrollsUp(t *testing.T) {
	p := newPage(t, 80, 24)
	for i := range 300 {
		p.stored(fmt.Sprintf("i%d", i), "completed", said(fmt.Sprintf("message %d.", i)))
	}
	p.open()
	p.shows("message 299.")
	if n := len(p.m.history.entries); n != itemsPage {
		t.Fatalf("%d blocks are held at the beginning", n)
	}
	for range 400 {
		p.keys("<pgup>")
	}
	p.shows("message 0.", "scrolled up")
	p.keys("<esc>", "G")
	p.shows("message 299.")
	p.hides("scrolled up")
}

// One key reaches the first block of a thread of any length, and from there one comes to
// its end: every block once, in order, and never too many held.
func TestTheBeginningOfALongThreadIsOneKeyAway(t *testing.T) {
	p := newPage(t, 80, 24)
	p.turns = []object{{"turn_id": "t0", "thread_id": thread, "state": "completed", "created_seq": 1, "updated_seq": 3}}
	const last = 5000
	for i := range last {
		p.stored(fmt.Sprintf("i%d", i), "completed", said(fmt.Sprintf("message %d.", i)))
	}
	p.open()
	p.keys("<esc>")
	n := p.m.Counts().Requests
	p.slow = true
	p.keys("g")
	p.shows("message 4999.", "Reading the beginning of the thread")
	p.answerAll()
	p.shows("message 0.", "✓ completed", "scrolled up")
	p.hides("Reading")
	if got := p.m.Counts().Requests - n; got != 2 {
		t.Errorf("%d requests for the beginning, want one for items and one for turns", got)
	}
	next := 0
	for page := 0; !p.m.view.follow; page++ {
		for _, e := range p.m.history.entries {
			if e.item == nil || e.item.id != fmt.Sprintf("i%d", next) {
				continue
			}
			next++
		}
		if page == 100 { // it comes while the end is not held
			p.stored("i5000", "completed", said("message 5000."))
			p.event("item/created", object{"item_id": "i5000", "turn_id": "t1", "status": "completed", "content": said("message 5000."), "lineage": lineage(1)})
		}
		if held := len(p.m.history.entries); held > 3*maxHeld+itemsPage || page > 2*last {
			t.Fatalf("%d blocks are held after %d pages", held, page)
		}
		p.keys("<pgdown>")
	}
	p.shows("message 4999.", "message 5000.")
	if next < last {
		t.Errorf("the blocks from %d on were left out", next)
	}
	p.item("i5001", "t1", "completed", said("message 5001."))
	p.shows("message 5001.")
}

// Whoever goes elsewhere while the beginning is read stays there.
func TestGoingToTheBeginningCanBeTakenBack(t *testing.T) {
	p := newPage(t, 80, 24)
	for i := range 300 {
		p.stored(fmt.Sprintf("i%d", i), "completed", said(fmt.Sprintf("message %d.", i)))
	}
	p.open()
	p.slow = true
	p.keys("<esc>", "g", "G")
	p.answerAll()
	p.shows("message 299.")
	p.refuse["item/list"] = fmt.Errorf("it is locked")
	p.keys("g")
	p.shows("message 299.", "The beginning cannot be read. It is locked.")
}

// An item that comes while the last page is read is not left out.
func TestAnItemThatComesWhileTheEndIsReadIsThere(t *testing.T) {
	p := newPage(t, 80, 24)
	for i := range 100 {
		p.stored(fmt.Sprintf("i%d", i), "completed", said(fmt.Sprintf("message %d.", i)))
	}
	p.open()
	p.keys("<esc>", "g")
	for range 20 {
		p.keys("<pgdown>")
		if len(p.kept) > 0 {
			break
		}
		p.slow = true
	}
	answers := []screen.Done{}
	for _, call := range p.kept {
		answers = append(answers, p.answer(call))
	}
	p.stored("late", "completed", said("the late one"))
	p.event("item/created", object{"item_id": "late", "turn_id": "t1", "status": "completed", "content": said("the late one"), "lineage": lineage(1)})
	p.ended("t1", "completed") // its line is behind the item
	p.slow, p.kept = false, nil
	for _, done := range answers {
		p.send(done)
	}
	p.keys("<pgdown>", "<pgdown>", "<pgdown>", "<pgdown>", "<pgdown>", "<pgdown>")
	p.shows("message 99.", "the late one")
}

func TestNewBlocksAreCountedBelow(t *testing.T) {
	p := newPage(t, 80, 24).open()
	for i := range 40 {
		p.item(fmt.Sprintf("i%d", i), "t1", "completed", said(fmt.Sprintf("message %d.", i)))
	}
	p.keys("<pgup>")
	top := strings.Split(p.text(), "\n")[1]
	for i := range 12 {
		p.item(fmt.Sprintf("n%d", i), "t1", "completed", said(fmt.Sprintf("new %d.", i)))
	}
	p.shows("12 new below")
	if now := strings.Split(p.text(), "\n")[1]; now != top {
		t.Errorf("the window has moved from %q to %q", top, now)
	}
	p.keys("<pgdown>", "<pgdown>", "<pgdown>")
	p.shows("new 11.")
	p.hides("new below")
}

func TestWhatIsHeldIsBounded(t *testing.T) {
	p := newPage(t, 80, 24)
	for i := range 5 * maxHeld {
		p.stored(fmt.Sprintf("s%d", i), "completed", said(fmt.Sprintf("old %d.", i)))
	}
	p.open()
	for i := range 2 * maxHeld {
		p.item(fmt.Sprintf("i%d", i), "t1", "completed", said(strings.Repeat("x", 70<<10)))
		if n := len(p.m.history.entries); n > maxHeld {
			t.Fatalf("%d blocks are held", n)
		}
		if n := p.m.history.bytes; n > maxBytes {
			t.Fatalf("%d bytes are held", n)
		}
	}
	if len(p.m.history.entries) != len(p.m.history.byKey) {
		t.Errorf("%d blocks, %d keys", len(p.m.history.entries), len(p.m.history.byKey))
	}
	// Scrolled up the newest go, and come back.
	for i := range 2 * maxHeld {
		p.item(fmt.Sprintf("j%d", i), "t1", "completed", said("short"))
		if n := len(p.m.history.entries); n > maxHeld {
			t.Fatalf("%d short blocks are held", n)
		}
	}
	p.items = nil
	for i := range 5 * maxHeld {
		p.stored(fmt.Sprintf("r%d", i), "completed", said(fmt.Sprintf("stored %d.", i)))
	}
	p.send(Reopened{})
	for range 2000 {
		p.keys("<pgup>")
		if n := len(p.m.history.entries); n > 3*maxHeld+1 {
			t.Fatalf("%d blocks are held", n)
		}
	}
	p.shows("stored 0.")
	if p.m.history.newer == "" {
		t.Fatal("nothing was dropped")
	}
	p.item("new", "t1", "completed", said("the newest"))
	p.items = append(p.items, object{"item_id": "new", "turn_id": "t1", "status": "completed", "content": said("the newest"), "created_seq": p.seq, "updated_seq": p.seq})
	p.shows("1 new below")
	p.keys("<esc>", "G")
	p.shows("the newest", fmt.Sprintf("stored %d.", 5*maxHeld-1))
}

func TestTheTextOfAnOpenItemIsBounded(t *testing.T) {
	p := newPage(t, 80, 24).open()
	p.item("i1", "t1", "in_progress", object{"type": "command_execution", "command": "yes", "output": ""})
	piece := strings.Repeat("0123456789\n", 1000)
	for i := range 200 {
		p.delta("i1", "t1", i*len(piece), piece)
		if n := len(p.m.history.item("i1").item.body.text); n > 2*keepText {
			t.Fatalf("%d bytes are held", n)
		}
	}
	if n := p.m.history.item("i1").item.body.size(); n != int64(200*len(piece)) {
		t.Errorf("the text has %d bytes", n)
	}
	p.shows("│ 0123456789")
}

func TestAThreadThatCannotBeReadIsTriedAgain(t *testing.T) {
	p := newPage(t, 80, 24)
	p.refuse["item/list"] = fmt.Errorf("it is locked")
	p.open()
	p.shows("The thread cannot be read. It is locked.")
	delete(p.refuse, "item/list")
	p.later(2 * tryAgain)
	p.shows("Nothing has happened in this thread")
}

func TestWithoutAListOfChildrenThePageWorks(t *testing.T) {
	p := newPage(t, 80, 24)
	p.stored("i1", "completed", said("hello"))
	p.open()
	p.shows("hello")
}

func TestACloseCanBeUndone(t *testing.T) {
	p := newPage(t, 80, 24).open()
	p.keys("<esc>", "x")
	p.shows("! Close “mend the build”? It takes no more turns then. y closes it,")
	p.keys("y")
	p.shows("“mend the build” is closed in 5 s. u keeps it open.")
	p.later(4 * time.Second)
	p.keys("u")
	p.later(time.Minute)
	p.wants()
	p.keys("xy")
	p.later(undoFor)
	p.wants(screen.Close{Thread: thread})
	p.keys("xy", "<esc>")
	p.wants(screen.Back{})
	for _, want := range [][]screen.Action{{screen.Close{Thread: thread}}, nil} {
		if got := p.m.Pending(); !reflect.DeepEqual(got, want) {
			t.Errorf("when the page is left these are sent: %v, want %v", got, want)
		}
	}
}

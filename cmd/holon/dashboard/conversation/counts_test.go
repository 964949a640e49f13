package conversation

import (
	"fmt"
	"strings"
	"testing"
)

// What opening a thread costs does not depend on what is in it: a request for the thread,
// one for each list of the page, and one that says that the person has seen it.
func TestOpeningAThreadCostsNoRequestPerItem(t *testing.T) {
	var costs []int
	for _, items := range []int{1, itemsPage} {
		p := newPage(t, 80, 24)
		for i := range items {
			p.stored(fmt.Sprint("i", i), "completed", said("a **message**"))
		}
		p.open()
		costs = append(costs, p.m.Counts().Requests)
	}
	if costs[0] != costs[1] || costs[0] < 2 || costs[0] > 8 {
		t.Errorf("one item costs %d requests, %d cost %d", costs[0], itemsPage, costs[1])
	}
}

// Moving through what is held asks nothing of the server.
func TestMovingThroughAThreadCostsNoRequest(t *testing.T) {
	p := newPage(t, 80, 24)
	for i := range itemsPage {
		p.stored(fmt.Sprint("i", i), "completed", said("a **message**\n\nof three lines"))
	}
	p.open()
	p.keys("<esc>")
	p.text()
	before := p.m.Counts()
	pictures := map[string]bool{}
	for i := range 200 {
		p.keys([]string{"<up>", "<up>", "<down>", "<pgup>", "k", "j", "<pgdown>", "g", "G", "k"}[i%10])
		pictures[strings.Join(p.check(), "\n")] = true
	}
	after := p.m.Counts()
	if n := after.Requests - before.Requests; n > 0 {
		t.Errorf("200 keys cost %d requests", n)
	}
	if n := after.Renders - before.Renders; n > 200+itemsPage { // a key each, and messages that were rendered meanwhile
		t.Errorf("200 keys were drawn %d times", n)
	}
	if len(pictures) < 5 {
		t.Errorf("only %d pictures differ", len(pictures))
	}
}

// Each block is drawn once, however often it comes into sight.
func TestBlocksAreDrawnOnce(t *testing.T) {
	p := newPage(t, 80, 24)
	for i := range itemsPage {
		p.stored(fmt.Sprint("i", i), "completed", said("a **message**"))
	}
	p.open()
	p.keys("<esc>", "g", "G")
	p.text()
	for range itemsPage {
		p.keys("<pgup>")
		p.text()
	}
	before := p.m.Counts().Rows
	for range 10 {
		p.keys("g")
		p.text()
		p.keys("G")
		p.text()
	}
	if n := p.m.Counts().Rows - before; n > 2*24 { // the selected one changes
		t.Errorf("%d rows were drawn again", n)
	}
}

// Up to 32 kB a completed message is rendered as Markdown, above it is shown as it is.
func TestMarkdownIsRenderedUpTo32KB(t *testing.T) {
	for size, want := range map[int]int{32 << 10: 1, 32<<10 + 1: 0} {
		p := newPage(t, 80, 24).open()
		text := strings.Repeat("x\n", size)[:size-8] + "**bold**"
		p.item("i1", "t1", "completed", said(text))
		p.text()
		if n := len(p.m.marks.rows); n != want {
			t.Errorf("of a message of %d bytes %d renderings are kept, want %d", size, n, want)
		}
	}
}

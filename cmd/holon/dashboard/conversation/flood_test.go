package conversation

import (
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// TestAFloodOfDeltasIsDrawnThirtyTimesASecond: 5,000 deltas a second for two seconds.
func TestAFloodOfDeltasIsDrawnThirtyTimesASecond(t *testing.T) {
	p := newPage(t, 80, 24).open()
	for i := range 50 {
		p.item("old"+string(rune('a'+i)), "t1", "completed", object{"type": "tool_call", "title": "read", "output": "x\n"})
	}
	p.started("t1")
	p.item("i1", "t1", "in_progress", said(""))
	p.text()
	before := p.m.Counts()
	const deltas = 10_000
	for i := range deltas {
		p.now = p.now.Add(2 * time.Second / deltas)
		p.delta("i1", "t1", 5*i, "word ")
		p.check()
	}
	after := p.m.Counts()
	if n := after.Renders - before.Renders; n > 63 || n < 50 {
		t.Errorf("%d pictures in two seconds", n)
	}
	if n := after.Rows - before.Rows; n > 63*600 {
		t.Errorf("%d rows were drawn", n)
	}
	if n := after.Requests - before.Requests; n > 1 {
		t.Errorf("%d requests", n)
	}
	p.shows("word word")
	if n := p.m.history.item("i1").item.body.size(); n != 5*deltas {
		t.Errorf("the text has %d bytes", n)
	}
	// Nothing changes any more: no further picture.
	p.now = p.now.Add(time.Second / 2)
	p.text()
	same := p.m.Counts().Renders
	for range 100 {
		p.check()
	}
	if n := p.m.Counts().Renders; n != same {
		t.Errorf("%d pictures of an unchanged page", n-same)
	}
}

func TestOnlyVisibleBlocksAreDrawn(t *testing.T) {
	p := newPage(t, 80, 24)
	for i := range itemsPage {
		p.stored(strings.Repeat("i", i+1), "completed", said("a **message**"))
	}
	p.open()
	p.text()
	if n := len(p.m.marks.rows); n > 24 {
		t.Errorf("%d messages were rendered for 24 rows", n)
	}
	before := p.m.Counts().Rows
	p.keys("<up>")
	p.text()
	if n := p.m.Counts().Rows - before; n > 3 {
		t.Errorf("%d rows were drawn to scroll by one", n)
	}
}

func TestMarkdownIsRenderedOnceAndElsewhere(t *testing.T) {
	p := newPage(t, 80, 24)
	p.working = true // the work is not done
	p.open()
	p.item("i1", "t1", "in_progress", said("**bold**"))
	p.shows("◆ **bold**")
	works := 0
	count := func(msg any) {
		for _, a := range p.m.Update(p.now, msg) {
			if w, ok := a.(screen.Work); ok {
				works++
				p.m.Update(p.now, w.Do())
			}
		}
	}
	p.seq++
	count(p.made("item/updated", object{"item_id": "i1", "turn_id": "t1", "status": "completed", "content": said("**bold**"), "lineage": lineage(1)}))
	for range 20 {
		p.now = p.now.Add(time.Second)
		count(screen.Tick{})
		p.check()
	}
	if works != 1 {
		t.Errorf("it was rendered %d times", works)
	}
	p.shows("◆ \x1b[1mbold\x1b[m")
	// Another width is another rendering, the old one is kept.
	p.w = 60
	for range 3 {
		p.check()
		count(screen.Tick{})
	}
	p.w = 80
	for range 3 {
		p.check()
		count(screen.Tick{})
	}
	if works != 2 {
		t.Errorf("it was rendered %d times for two widths", works)
	}
}

func TestALongMessageIsShownAsItIs(t *testing.T) {
	p := newPage(t, 80, 24).open()
	p.item("i1", "t1", "completed", said("**bold** "+strings.Repeat("x\n", markdownText/2)))
	p.keys("<esc>", "g")
	p.shows("◆ **bold** x")
	p.item("i2", "t1", "completed", said(strings.Repeat("y\n", keepText)))
	p.keys("G")
	p.shows("kB more; all of it: holon call item/read")
}

func TestRenderedMessagesAreBounded(t *testing.T) {
	r := newRenderings(false)
	for i := range 5 * keptRendered {
		r.want(renderKey{item: strings.Repeat("i", i)}, "x")
	}
	if len(r.rows) != keptRendered || len(r.order) != keptRendered {
		t.Errorf("%d are kept", len(r.rows))
	}
}

// BenchmarkKey is the time from a key to the picture, with a long thread.
func BenchmarkKey(b *testing.B) {
	p := newPage(b, 200, 60)
	for i := range itemsPage {
		p.stored(strings.Repeat("i", i+1), "completed", said(strings.Repeat("some **words** of a message\n", 40)))
	}
	p.open()
	for b.Loop() {
		p.keys("<up>", "<down>")
		p.check()
	}
}

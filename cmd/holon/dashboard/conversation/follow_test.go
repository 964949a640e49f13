package conversation

import (
	"fmt"
	"testing"

	tea "charm.land/bubbletea/v2"
)

// The timeline follows its end until the person scrolls: what takes room from it is not a
// person who scrolls.
func TestOnlyThePersonStopsTheTimeline(t *testing.T) {
	p := newPage(t, 80, 24).open()
	p.started("t1")
	line := func(i int) { p.item(fmt.Sprint("i", i), "t1", "completed", said(fmt.Sprintf("line %d.", i))) }
	for i := range 40 {
		line(i)
	}
	p.shows("line 39.")
	p.item("q1", "t1", "pending", permission("Remove a file", object{"description": "a\nb\nc\nd"}))
	line(40)
	p.shows("line 40.", "Remove a file")
	p.keys("<esc>", "a")
	line(41)
	p.shows("line 41.")
	p.item("q1", "t1", "completed", permission("Remove a file", object{"outcome": object{"type": "selected", "option_id": "once"}}))
	line(42)
	p.shows("line 42.")
	for i, size := range [][2]int{{80, 12}, {40, 10}, {80, 24}, {60, 14}} {
		p.w, p.h = size[0], size[1]
		p.send(tea.WindowSizeMsg{Width: p.w, Height: p.h})
		line(43 + i)
		p.shows(fmt.Sprintf("line %d.", 43+i))
	}
	p.keys("<up>")
	line(50)
	p.hides("line 50.")
	p.shows("new below")
}

package browsertest

import (
	"fmt"
	"slices"
	"strings"
)

// shown is an item as the page and the server's fold both have it.
type shown struct {
	ItemID string `json:"item_id"`
	Type   string `json:"type"`
	Status string `json:"status"`
	Text   string `json:"text"`
}

// exact compares the thread in the page with the server's rows: the newest items, in their
// order, with their states and every byte of their texts.
func (p *tab) exact() {
	p.t.Helper()
	if err := p.compare(); err != nil {
		p.t.Errorf("the page and the server disagree: %v\n%s", err, p.describe())
	}
}

// compare reads both at one seq.
func (p *tab) compare() error {
	p.t.Helper()
	id := strings.TrimPrefix(read[string](p, "location.hash"), "#/thread/")
	for {
		before := p.server.seq()
		p.untilSeq()
		want := p.server.folded(id)
		got := read[[]shown](p, "holon.view()")
		at := read[int64](p, "holon.cursor()")
		if before != at || p.server.seq() != before {
			continue // something has happened meanwhile
		}
		whole := len(got) >= len(want)
		want = want[max(0, len(want)-len(got)):]
		if !slices.Equal(got, want) {
			return firstDifference(got, want)
		}
		if !whole { // it offers the others, or is reading them already
			p.until(fmt.Sprintf("look.find('button', 'Show older') || look.find('button', 'reading …') || holon.view().length > %d", len(got)))
		}
		p.until("look.drawn()") // what is held is also what is seen
		return nil
	}
}

func firstDifference(got, want []shown) error {
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			var g, w any = "nothing", "nothing"
			if i < len(got) {
				g = got[i]
			}
			if i < len(want) {
				w = want[i]
			}
			return fmt.Errorf("item %d of %d and %d:\npage   %.300v\nserver %.300v", i+1, len(got), len(want), g, w)
		}
	}
	return nil
}

// folded are the live items of a thread as the server has folded them.
func (s *server) folded(thread string) (all []shown) {
	s.t.Helper()
	for _, row := range s.items(thread) {
		content, _ := row["content"].(object)
		if row["type"] == "usage" {
			continue
		}
		all = append(all, shown{row["item_id"].(string), row["type"].(string), row["status"].(string), textOf(content)})
	}
	return all
}

// textOf is the part of a content to which deltas are appended.
func textOf(c object) string {
	var text any
	switch c["type"] {
	case "agent_message":
		if parts, _ := c["content"].([]any); len(parts) > 0 {
			text = parts[0].(object)["text"]
		}
	case "reasoning":
		text = c["text"]
	case "tool_call", "command_execution":
		text = c["output"]
	}
	s, _ := text.(string)
	return s
}

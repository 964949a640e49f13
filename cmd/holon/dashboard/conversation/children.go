package conversation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/inbox"
)

const (
	// childrenPage is how many child turns, and how many threads below, are held.
	childrenPage = 100
	// childrenEvery is the least time between two looks at them.
	childrenEvery = time.Second
)

// children are the threads below this one. The child turns among them, and the threads
// that somebody started without one, are in the timeline where they began; the list has
// all of them, so that they can be entered wherever the timeline is.
type children struct {
	turns    []*turnRow // child turns of this thread, the newest first
	threads  []childRow // all threads below, each behind the one above it
	more     bool       // there are more than these
	asked    int        // requests under way
	due      bool       // something has happened since they were asked for
	askedAt  time.Time
	selected string // in the list
}

// childRow is a thread below, as thread/list gives it.
type childRow struct {
	ThreadID   string `json:"thread_id"`
	Level      int    `json:"level"`
	CreatedSeq int64  `json:"created_seq"`
	Parent     struct {
		ThreadID string `json:"thread_id"`
	} `json:"parent"`
	Summary struct {
		Title       string    `json:"title"`
		Status      string    `json:"status"`
		Since       time.Time `json:"since"`
		TurnID      string    `json:"turn_id"`
		Interrupted bool      `json:"interrupted"`
		StopReason  string    `json:"stop_reason"`

		Wakes *inbox.Wakes `json:"wakes"` // of the page's thread
	} `json:"summary"`
}

// row returns the thread in the form of a turn, which the timeline draws.
func (c childRow) row() turnRow {
	s := c.Summary
	row := turnRow{ThreadID: c.ThreadID, Title: s.Title, State: "idle", CreatedSeq: c.CreatedSeq}
	switch {
	case s.Status == "working", s.Status == "waiting":
		row.State, row.Progress, row.StartedAt = "active", s.Status, s.Since
	case s.Status == "failed", s.Status == "closed":
		row.State = s.Status
	case s.Interrupted:
		row.State = "interrupted"
	case s.TurnID != "":
		row.State, row.StopReason = "completed", s.StopReason
	}
	return row
}

// askChildren asks for the child turns and for the threads below. No answer is on its way.
func (in intake) askChildren(now time.Time) []screen.Action {
	c, l := &in.m.children, &in.m.loader
	c.asked, c.due, c.askedAt = 2, false, now
	below := map[string]any{"within_thread_ids": []string{in.m.options.Thread}, "view": "summary", "order": "desc", "limit": childrenPage}
	turns := map[string]any{"parent_thread_id": in.m.options.Thread, "order": "desc", "limit": childrenPage}
	return []screen.Action{l.call("children", "turn/list", turns), l.call("below", "thread/list", below)}
}

// lookAtChildren asks for the children if something has happened, and not too often.
func (in intake) lookAtChildren(now time.Time) []screen.Action {
	if c := &in.m.children; !in.m.loader.ready || !c.due || c.asked > 0 || now.Before(c.askedAt.Add(childrenEvery)) {
		return nil
	}
	return in.askChildren(now)
}

// gotChildren takes child turns, or the threads below.
func (in intake) gotChildren(name string, result json.RawMessage) {
	c := &in.m.children
	switch name {
	case "children":
		var page turnsResult
		decode(result, &page)
		c.turns = page.Turns
	case "below":
		var page struct {
			Threads []childRow `json:"threads"`
			Next    string     `json:"next_cursor"`
		}
		decode(result, &page)
		for _, t := range page.Threads { // it is listed with those below it
			if t.ThreadID == in.m.options.Thread {
				in.m.thread.Summary.Wakes = t.Summary.Wakes
			}
		}
		c.threads, c.more = inTree(page.Threads, in.m.options.Thread), page.Next != ""
	}
	in.placeChildren()
}

// inTree puts threads behind the ones above them, each group in the order in which they
// began. A thread whose parent is not among them is put at the end.
func inTree(threads []childRow, top string) []childRow {
	slices.SortFunc(threads, func(a, b childRow) int { return int(a.CreatedSeq - b.CreatedSeq) })
	below := map[string][]childRow{}
	known := map[string]bool{top: true}
	for _, t := range threads {
		known[t.ThreadID] = true
	}
	for _, t := range threads {
		parent := t.Parent.ThreadID
		if !known[parent] {
			parent = ""
		}
		if t.ThreadID != top {
			below[parent] = append(below[parent], t)
		}
	}
	var out []childRow
	var add func(parent string)
	add = func(parent string) {
		rows := below[parent]
		delete(below, parent) // nothing is added twice, whatever the server says
		for _, t := range rows {
			out = append(out, t)
			add(t.ThreadID)
		}
	}
	add(top)
	add("")
	return out
}

// placeChildren puts children into the part of the timeline that is held.
func (in intake) placeChildren() {
	c := &in.m.children
	begun := map[string]bool{}
	for _, row := range c.turns {
		begun[row.ThreadID] = true
		in.placeChild("child:"+row.TurnID, row)
	}
	for _, t := range c.threads {
		key := "thread:" + t.ThreadID
		switch {
		case t.Parent.ThreadID != in.m.options.Thread:
		case !begun[t.ThreadID]:
			row := t.row()
			in.placeChild(key, &row)
		case in.m.history.byKey[key] != nil: // it has a child turn by now
			in.m.history.drop(in.m.history.byKey[key])
		}
	}
}

func (in intake) placeChild(key string, row *turnRow) {
	if e := in.m.history.byKey[key]; e != nil {
		e.child.row = *row
		in.m.history.changed(e)
	} else if in.m.history.covers(row.CreatedSeq) {
		in.m.history.put(&entry{key: key, seq: row.CreatedSeq, child: &childTurn{row: *row}})
	}
}

// childrenLine describes how many threads are below and what they do, "" if there are none.
func (d drawing) childrenLine(p *painter) string {
	c := &d.m.children
	if len(c.threads) == 0 {
		return ""
	}
	counts := map[string]int{}
	for _, t := range c.threads {
		counts[t.Summary.Status]++
	}
	text := fmt.Sprintf("├ %d threads below", len(c.threads))
	switch {
	case c.more:
		text = fmt.Sprintf("├ more than %d threads below", len(c.threads))
	case len(c.threads) == 1:
		text = "├ 1 thread below"
	}
	style, does := p.styles.Dim, ""
	for _, status := range []struct{ name, words string }{{"failed", "failed"}, {"working", "at work"}, {"waiting", "waiting for you"}} {
		if n := counts[status.name]; n > 0 {
			does = fmt.Sprintf(", %d %s", n, status.words) + does
		}
	}
	if counts["waiting"] > 0 {
		style = p.styles.Waiting
	}
	return style.Paint(screen.Widest(p.width, text+does+": c lists them", text+": c lists them", "├ c: threads below"))
}

// childrenPage draws the list of the threads below.
func (d drawing) childrenPage(p *painter) []string {
	c := &d.m.children
	lines := []string{p.styles.Title.Paint(screen.Fit("Threads below "+d.m.Title(), p.width))}
	if len(c.threads) == 0 {
		lines = append(lines, screen.Wrap("There are none any more. Esc goes back.", p.width)...)
		return append(screen.Fill(lines, p.width, d.m.view.height-1), d.keys(p))
	}
	at := c.at()
	room := max(1, d.m.view.height-2)
	first := max(0, min(at-room/2, len(c.threads)-room))
	for i, t := range c.threads[first:min(first+room, len(c.threads))] {
		in := strings.Repeat("  ", d.depth(t))
		r := &rows{p: &painter{styles: p.styles, width: p.width - 2 - len(in), now: p.now, cwd: p.cwd}}
		r.p.child(r, t.row())
		line := "  " + in + r.list[0]
		if first+i == at {
			line = p.styles.Selected.Row(screen.Pad("▸ "+in+r.list[0], p.width))
		}
		if t.row().State == "active" {
			d.redrawIn(p.now, screen.SpanChanges(p.now.Sub(t.Summary.Since)))
		}
		lines = append(lines, screen.Fit(line, p.width))
	}
	last := d.says(p)
	if len(last) == 0 {
		last = []string{d.keys(p)}
	}
	return append(screen.Fill(lines, p.width, d.m.view.height-len(last)), last...)
}

// depth returns how far below this thread another one is, from 0, as far as there is room.
func (d drawing) depth(t childRow) int {
	own := 0
	if top := d.m.children.threads; len(top) > 0 {
		own = top[0].Level
	}
	return max(0, min(t.Level-own, (d.m.view.width-20)/2, 8))
}

// at returns the place of the selected thread, the first one if it is gone.
func (c *children) at() int {
	return max(0, slices.IndexFunc(c.threads, func(t childRow) bool { return t.ThreadID == c.selected }))
}

// childrenKey handles a key in the list of the threads below.
func (h keyboard) childrenKey(name string) []screen.Action {
	c := &h.m.children
	step := 0
	switch name {
	case "esc", "c":
		h.m.focus = onTimeline
	case "enter":
		if len(c.threads) > 0 {
			h.m.focus = onTimeline
			return []screen.Action{screen.Open{Thread: c.threads[c.at()].ThreadID}}
		}
	case "u":
		h.keepOpen()
	case "q":
		return []screen.Action{screen.Quit{}}
	case "?":
		h.m.help.Open = true
	case "up", "k":
		step = -1
	case "down", "j":
		step = 1
	case "pgup":
		step = -max(1, h.m.view.height-3)
	case "pgdown":
		step = max(1, h.m.view.height-3)
	case "g", "home":
		step = -len(c.threads)
	case "G", "end":
		step = len(c.threads)
	}
	if len(c.threads) > 0 {
		c.selected = c.threads[max(0, min(c.at()+step, len(c.threads)-1))].ThreadID
	}
	return nil
}

// listChildren opens the list of the threads below.
func (h keyboard) listChildren() {
	if len(h.m.children.threads) == 0 {
		h.m.status = "No thread is below this one."
		return
	}
	h.m.focus = onChildren
}

package conversation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
)

// drawEvery bounds how often events make a new picture.
const drawEvery = time.Second / 30

// The smallest window in which the page is of use.
const (
	leastWidth  = 20
	leastHeight = 6
)

// view is what was drawn last, and which part of the timeline it shows.
type view struct {
	follow   bool   // the window shows the end, also when more comes
	top      string // the first visible block …
	offset   int    // … and how many of its rows are above the window
	below    int    // new blocks below the window
	selected string // the block that Enter acts on; "" = none
	visible  []string

	width, height int
	area          int  // rows of the timeline
	short         bool // the timeline does not fill the window …
	shortBelow    bool // … below, since what follows is not held
	subjectTop    int  // rows of the question's subject above its window
	subjectMost   int  // how many there can be; 0: all of it is visible
	subjectPage   int  // rows of it that are visible
	scrolls       bool // the timeline is longer than the window
	subjectOf     string
	lines         []string
	caret         struct {
		x, y int
		show bool
	}
	drawnAt time.Time
	next    time.Time // when the picture changes by time alone; zero: never
	dirty   bool      // a key or an answer has changed something: draw at once
	stale   bool      // events have: draw when it is time
}

func (v *view) changed() { v.dirty = true }
func (v *view) grown()   { v.stale = true }

// Lines implements screen.Page. The caller may change the lines.
func (m *Model) Lines(now time.Time, width, height int) []string {
	v := &m.view
	same := v.width == width && v.height == height && v.lines != nil
	timely := !v.next.IsZero() && !now.Before(v.next)
	if same && !v.dirty && !timely && (!v.stale || now.Sub(v.drawnAt) < drawEvery) {
		return slices.Clone(v.lines)
	}
	v.width, v.height, v.dirty, v.stale, v.drawnAt, v.next = width, height, false, false, now, time.Time{}
	v.lines = drawing{m}.draw(now)
	m.counts.Renders++
	return slices.Clone(v.lines)
}

// Changes implements screen.Page.
func (m *Model) Changes(now time.Time) time.Time {
	v := &m.view
	at := v.next
	sooner := func(t time.Time) {
		if !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	if v.stale {
		sooner(v.drawnAt.Add(drawEvery))
	}
	if len(m.marks.missed) > 0 || !m.loader.begun || m.wantsOlder() || m.wantsNewer() {
		sooner(now)
	}
	sooner(m.loader.retryAt)
	sooner(m.closeAt)
	if m.mustTell() {
		sooner(m.toldAt.Add(seenEvery))
	}
	if m.loader.ready && m.children.due && m.children.asked == 0 {
		sooner(m.children.askedAt.Add(childrenEvery))
	}
	return at
}

// wantsOlder reports whether the window has room for older items.
func (m *Model) wantsOlder() bool {
	return m.view.short && m.history.older != "" && m.loader.ready && !m.loader.olderAsked
}

// wantsNewer reports whether the window has room for items that follow what is held.
func (m *Model) wantsNewer() bool {
	return m.view.shortBelow && m.history.newer != "" && m.loader.ready && !m.loader.newerAsked && m.status == ""
}

// Cursor implements screen.Page.
func (m *Model) Cursor(width, height int) (x, y int, show bool) {
	c := m.view.caret
	return c.x, c.y, c.show && width == m.view.width && height == m.view.height
}

// drawing draws the page.
type drawing struct{ m *Model }

// draw draws all of it.
func (d drawing) draw(now time.Time) []string {
	v := &d.m.view
	v.caret.show = false
	width, height := v.width, v.height
	if width < leastWidth || height < leastHeight {
		return screen.Fill(screen.Wrap("too small: at least 20 × 6", max(width, 1)), width, height)
	}
	p := &painter{styles: d.m.options.Styles, width: width, now: now, cwd: screen.OneLine(d.m.thread.Summary.Cwd)}
	if d.m.help.Open {
		lines := screen.Fill(d.m.help.Lines(p.styles, d.m.allKeys(), width, height-1), width, height-1)
		return append(lines, screen.Pad(screen.HelpLine(p.styles, screen.HelpKeys, width), width))
	}
	if d.m.focus == onChildren {
		return screen.Fill(d.childrenPage(p), width, height)
	}
	header := d.header(p)
	foot := d.foot(p)
	room := height - 1 - len(foot.rows)
	if !foot.says {
		room--
	}
	box, boxX, boxY := d.questionBox(p, room)
	lines := []string{header}
	if below := d.childrenLine(p); below != "" && room-len(box) > 3 {
		lines = append(lines, below)
	}
	if told := d.notToldLines(p); len(told) > 0 && room-len(box) > 3+len(told) {
		lines = append(lines, told...)
	}
	v.area = max(0, room+1-len(lines)-len(box))
	lines = append(lines, screen.Fill(d.timeline(p), width, v.area)...)
	if boxX >= 0 {
		v.caret.x, v.caret.y, v.caret.show = boxX, len(lines)+boxY, true
	}
	lines = append(lines, box...)
	if d.m.focus == onInput || d.m.naming != nil {
		v.caret.x, v.caret.y, v.caret.show = foot.x, len(lines)+foot.y, true
	}
	lines = append(lines, foot.rows...)
	if !foot.says {
		lines = append(lines, d.keys(p))
	}
	return screen.Fill(lines, width, height)
}

// notTold describes how many new entries of its inbox the thread is not told, and why; "" if none.
func (m *Model) notTold(now time.Time) string {
	if m.thread.State == "closed" {
		return ""
	}
	return screen.OneLine(m.thread.Summary.Wakes.Says(now.Location()))
}

// notToldLines returns that in lines, with the key that tells them.
func (d drawing) notToldLines(p *painter) []string {
	says := d.m.notTold(p.now)
	if says == "" {
		return nil
	}
	how := screen.WakeKey + " tells it"
	if d.m.focus == onInput {
		how = "Esc, then " + how
	}
	return screen.NoticeLines(p.styles.Notice, says+" · "+how, p.width, d.m.view.height/2)
}

// header describes which thread this is and what it does.
func (d drawing) header(p *painter) string {
	s := p.styles
	parts := []string{s.Title.Paint(d.m.Title())}
	if agent := screen.OneLine(d.m.thread.Agent); agent != "" {
		parts = append(parts, s.Dim.Paint(agent))
	}
	if cwd := screen.OneLine(d.m.thread.Summary.Cwd); cwd != "" && p.width >= 60 {
		parts = append(parts, s.Dim.Paint(screen.FitLeft(cwd, p.width/3)))
	}
	return screen.Sides(strings.Join(parts, s.Dim.Paint(" · ")), d.state(p), p.width)
}

// state describes what the thread does, in a few words, and what waits behind it. A running
// time makes the picture change.
func (d drawing) state(p *painter) string {
	s := p.styles
	t, queued := d.m.turns.active(), d.m.turns.queued()
	behind := ""
	if queued > 0 {
		behind = fmt.Sprintf(" · %d queued", queued)
	}
	if d.paused() {
		behind += " · paused"
	}
	switch {
	case d.m.offline:
		return s.Failed.Paint("offline")
	case !d.m.loader.ready:
		return s.Dim.Paint("reading …")
	case len(d.m.asks.open) > 0:
		return s.Waiting.Paint("? waits for you") + s.Dim.Paint(behind)
	case d.m.thread.State == "closed":
		return s.Dim.Paint("closed")
	case t != nil:
		return d.works(p, t) + s.Dim.Paint(behind)
	case behind != "":
		return s.Dim.Paint(strings.TrimPrefix(behind, " · "))
	}
	return s.Dim.Paint("idle")
}

// paused reports whether no further turn of the thread starts.
func (d drawing) paused() bool { return d.m.thread.State == "paused" }

// works describes what an active turn does.
func (d drawing) works(p *painter, t *turnRow) string {
	s := p.styles
	state := "▶ working"
	switch {
	case len(t.WaitsFor) > 0:
		state = "◔ waits for " + timeline.CountChildren(len(t.WaitsFor))
	case t.RetryAt.After(p.now):
		d.redrawIn(p.now, screen.SpanChanges(0))
		return s.Waiting.Paint("◔ again in " + screen.Span(t.RetryAt.Sub(p.now)+time.Second-1))
	case t.Progress == "interrupting":
		state = "■ interrupting"
	case t.Progress == "starting":
		state = "▶ starting"
	}
	if t.StartedAt.IsZero() {
		return s.Working.Paint(state)
	}
	took := p.now.Sub(t.StartedAt)
	d.redrawIn(p.now, screen.SpanChanges(took))
	return s.Working.Paint(state + " " + screen.Span(took))
}

// redrawIn notes that the picture changes by time.
func (d drawing) redrawIn(now time.Time, in time.Duration) {
	if at := now.Add(in); d.m.view.next.IsZero() || at.Before(d.m.view.next) {
		d.m.view.next = at
	}
}

// timeline draws the visible part of the timeline.
func (d drawing) timeline(p *painter) []string {
	v := &d.m.view
	v.visible, v.short, v.shortBelow, v.scrolls = v.visible[:0], false, false, false
	entries := d.m.history.entries
	if v.area == 0 {
		return nil
	}
	if len(entries) == 0 {
		return d.empty(p)
	}
	i := d.m.history.index(v.top)
	if !v.follow && i < 0 { // its block is gone
		i, v.offset = 0, 0
	}
	if !v.follow {
		v.scrolls = true
		if lines, full := d.down(i, v.offset, v.area); full {
			v.top = entries[i].key
			return lines
		}
		if d.m.history.newer != "" {
			v.shortBelow = true
			lines, _ := d.down(i, v.offset, v.area)
			return lines
		}
		v.toEnd()
	}
	n := 0
	for i = len(entries) - 1; ; i-- {
		if n += len(d.rowsOf(entries[i])); n >= v.area || i == 0 {
			break
		}
	}
	v.short = n < v.area
	v.scrolls = i > 0 || n > v.area || d.m.history.older != ""
	v.top, v.offset = entries[i].key, max(0, n-v.area)
	lines, _ := d.down(i, v.offset, v.area)
	return lines
}

// down draws a number of rows from a block on; full tells whether there are as many.
func (d drawing) down(i, offset, most int) (lines []string, full bool) {
	v := &d.m.view
	v.visible = v.visible[:0]
	for _, e := range d.m.history.entries[i:] {
		rows := d.rowsOf(e)
		if e.key == v.selected {
			rows = slices.Clone(rows)
			rows[0] = d.m.options.Styles.Selected.Row(screen.Pad(rows[0], v.width))
		}
		rows = rows[min(offset, len(rows)):]
		offset = 0
		if len(rows) > 0 {
			v.visible = append(v.visible, e.key)
		}
		if lines = append(lines, rows...); len(lines) >= most {
			return lines[:most], true
		}
	}
	return lines, false
}

// rowsOf returns the rows of a block, drawn anew only if it has changed.
func (d drawing) rowsOf(e *entry) []string {
	as := look{version: e.version, width: d.m.view.width, expanded: e.expanded, newest: true}
	var rendered []string
	p := &painter{styles: d.m.options.Styles, width: d.m.view.width, now: d.m.view.drawnAt, cwd: screen.OneLine(d.m.thread.Summary.Cwd)}
	if e.end != nil {
		last := d.m.turns.last()
		as.newest = last != nil && last.TurnID == e.turn
	}
	if it := e.item; it != nil {
		switch it.content.Type {
		case "user_message":
			row := d.m.turns.rows[e.turn]
			as.queued = row != nil && row.State == "queued"
			p.queued = as.queued
		case "plan":
			as.newest = d.m.history.newestPlan(e)
		case "agent_message":
			if rendered = d.markdownOf(p, e); rendered != nil {
				as.rendered = 1
			}
		}
	}
	if e.drawn != nil && e.drawnAs == as && e.child == nil {
		return e.drawn
	}
	e.drawn, e.drawnAs = p.entry(e, rendered, as.newest), as
	if e.child != nil && !e.child.row.ended() && !e.child.row.StartedAt.IsZero() {
		d.redrawIn(p.now, screen.SpanChanges(p.now.Sub(e.child.row.StartedAt)))
	}
	d.m.counts.Rows += len(e.drawn)
	return e.drawn
}

// markdownOf returns the rendered rows of a completed message, nil if there are none yet, or
// its text is no Markdown.
func (d drawing) markdownOf(p *painter, e *entry) []string {
	it := e.item
	if it.status != "completed" || it.content.Format == "plain" || len(it.body.text) > markdownText || it.body.after > 0 || len(it.body.text) == 0 {
		return nil
	}
	return d.m.marks.want(renderKey{it.id, e.version, min(p.text(), widestProse)}, string(it.body.text))
}

// empty returns the lines that are shown before there is anything to show.
func (d drawing) empty(p *painter) []string {
	switch {
	case d.m.loader.failed != "":
		return screen.Wrap(screen.Clean(d.m.loader.failed), p.width)
	case !d.m.loader.ready:
		return []string{p.styles.Dim.Paint("reading the thread …")}
	}
	return screen.Wrap("Nothing has happened in this thread. Write what the agent should do.", p.width)
}

package overview

import (
	"slices"
	"strings"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// unseen returns the threads that changed after the person last looked at them and after left, when
// their last dashboard ended, and do not work any more: the newest first. What was interrupted by
// hand is no news. Nothing is unseen for somebody who has never looked at a thread: that is a
// newcomer, or a dashboard that is new.
func (l *list) unseen(left int64) []string {
	var threads []*Thread
	looked := false
	for _, t := range l.threads {
		looked = looked || t.Summary.SeenSeq > 0
		news := t.group() != working && t.group() != closed && (t.Summary.TurnID != "" || t.Summary.Text != "")
		if news && t.shown() && max(t.Summary.SeenSeq, left) < t.LatestSeq && !t.interruptedByHand() {
			threads = append(threads, t)
		}
	}
	if !looked {
		return nil
	}
	slices.SortFunc(threads, func(a, b *Thread) int { return b.Summary.Since.Compare(a.Summary.Since) })
	ids := make([]string, len(threads))
	for i, t := range threads {
		ids[i] = t.ID
	}
	return ids
}

// interruptedByHand reports whether the reason of an interrupt is one that the programs for
// people give. Who it was is not known, but that somebody was there.
func (t *Thread) interruptedByHand() bool {
	reason := t.Summary.Reason
	return t.interrupted() && (strings.HasPrefix(reason, "Ctrl-C at holon ") || slices.Contains([]string{"holon interrupt", "i in the dashboard", "in the console"}, reason))
}

// changed takes threads from what happened meanwhile that have changed since they were read:
// now the person is here.
func changed(m *Model, threads []Thread) {
	for i := range threads {
		if t := m.list.threads[threads[i].ID]; t != nil && t.LatestSeq < threads[i].LatestSeq {
			m.away = slices.DeleteFunc(m.away, func(id string) bool { return id == t.ID })
		}
	}
}

// Left returns the action that, when the dashboard ends, stores how far the person has seen the
// list; nil for nothing new.
func Left(m *Model) screen.Action {
	latest := int64(0)
	for _, t := range m.list.threads {
		latest = max(latest, t.LatestSeq)
	}
	if latest <= m.left {
		return nil
	}
	return screen.Seen{Seq: latest}
}

// awayLines describes what happened while the person was away, in at most height
// lines.
func (m *Model) awayLines(now time.Time, width, height int) []string {
	if len(m.away) == 0 || height < 1 {
		return nil
	}
	head := "While you were away"
	if height < 3 {
		n := screen.Plural(len(m.away), "thread") + " (v: seen)"
		return []string{m.styles.Title.Paint(screen.Pad(screen.Widest(width, head+": "+n, "Away: "+n), width))}
	}
	lines := []string{m.styles.Title.Paint(screen.Pad(head+" (v: mark as seen)", width))}
	for i, id := range m.away {
		if len(lines) == height-1 && i < len(m.away)-1 {
			return append(lines, m.styles.Dim.Paint(screen.Pad("  and "+screen.Plural(len(m.away)-i, "other"), width)))
		}
		t := m.list.threads[id]
		if t == nil {
			continue
		}
		lines = append(lines, screen.Pad("  "+t.signStyle(m.styles).Paint(t.sign())+" "+happened(t, now), width))
	}
	return lines
}

// happened describes what has become of a thread.
func happened(t *Thread, now time.Time) string {
	what := "completed"
	switch t.Summary.Status {
	case statusWaiting:
		what = "asks"
	case statusFailed:
		what = "failed"
	}
	switch {
	case t.inReview():
		what = "waits for your review"
	case t.refused():
		what = "is " + t.Summary.Review
	case t.interrupted():
		what = "was interrupted"
	case t.stoppedEarly():
		what = "stopped early"
	}
	text := t.title() + ": " + what
	if since := t.since(); !since.IsZero() {
		text += " " + screen.Span(now.Sub(since)) + " ago"
	}
	if said := t.outcome(); said != "" {
		text += ", " + said
	}
	return text
}

// seen marks what happened while the person was away as seen.
func (m *Model) seen() []screen.Action {
	var actions []screen.Action
	for _, id := range m.away {
		if t := m.list.threads[id]; t != nil {
			t.Summary.SeenSeq = t.LatestSeq
			actions = append(actions, screen.Seen{Thread: id, Seq: t.LatestSeq})
		}
	}
	m.away = nil
	return actions
}

// opened reports that the person looks at a thread.
func (m *Model) opened(t *Thread) []screen.Action {
	m.away = slices.DeleteFunc(m.away, func(id string) bool { return id == t.ID })
	return []screen.Action{screen.Open{Thread: t.ID}}
}

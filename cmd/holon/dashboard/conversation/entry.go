package conversation

import (
	"github.com/seed82539d15/holon/notify/fold"
)

// entry is one block of the timeline. Exactly one of item, end, rewind, child and
// note is set.
type entry struct {
	key    string // unique in the timeline
	seq    int64  // its place
	turn   string
	item   *item
	end    *ending
	rewind *rewind
	child  *childTurn
	note   string

	version  int  // counts its changes
	expanded bool // a person has expanded it
	weight   int  // bytes, as history has counted it

	drawn   []string // its rows, as they were drawn last …
	drawnAs look     // … like this
}

// look is everything that the rows of an entry depend on, beside the entry.
type look struct {
	version, width int
	expanded       bool
	rendered       int // of its Markdown: 0 = not, else its generation
	newest, queued bool
}

// ending is how a turn has ended.
type ending struct {
	row     turnRow
	lineage []fold.Ref
}

// rewind is what a marker has superseded, shortened to a line.
type rewind struct {
	step   string
	tried  int // the attempt, or the try of the step
	reason string
	lines  []string // the first of what it superseded, a line each
	items  int
}

// keepSuperseded is how many superseded items a line can expand to.
const keepSuperseded = 50

func (r *rewind) add(it *item) {
	r.items++
	if len(r.lines) < keepSuperseded {
		r.lines = append(r.lines, it.content.Type+": "+it.summary())
	}
}

// childTurn is a turn that works for this thread, in a child thread.
type childTurn struct{ row turnRow }

// expandable reports whether expanding shows more of the entry.
func (e *entry) expandable() bool {
	switch {
	case e.rewind != nil:
		return len(e.rewind.lines) > 0
	case e.item == nil:
		return false
	}
	switch e.item.content.Type {
	case "tool_call", "command_execution":
		return len(e.item.body.text) > 0 || len(e.item.content.Input) > 0 || e.item.content.Error != ""
	case "reasoning":
		return len(e.item.body.text) > 0
	case "file_change":
		n := 0
		for _, d := range e.item.diffs {
			n += len(d.lines)
		}
		return n > shortDiff
	}
	return false
}

// selectable reports whether Enter does something with the entry.
func (e *entry) selectable() bool { return e.child != nil || e.expandable() }

package conversation

import wording "github.com/seed82539d15/holon/question"

// keepDiff is how many lines of the diff of one file are held for the timeline.
const keepDiff = 1000

// diff is what a change of one file does.
type diff struct {
	title          string // such as "modify main.go", sanitized where it is shown
	added, removed int
	lines          []diffLine
	more           int  // lines that are not held
	unknown        bool // the change does not say what it does
}

// diffLine is a line of a diff. Sign is '+', '-', ' ', '~' for a gap, or '!'
// for a note.
type diffLine struct {
	sign byte
	text string
}

// signs are the signs of lines.
var signs = map[wording.Kind]byte{wording.Added: '+', wording.Removed: '-', wording.Same: ' ', wording.Gap: '~', wording.Note: '!'}

// compare makes the diff of two texts; nil is a text that is not known.
func compare(title string, before, after *string) diff {
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	made := wording.Compare(text(before), text(after))
	d := diff{title: title, unknown: before == nil && after == nil, added: made.Added, removed: made.Removed}
	d.more = max(0, len(made.Lines)-keepDiff)
	for _, line := range made.Lines[:len(made.Lines)-d.more] {
		d.lines = append(d.lines, diffLine{signs[line.Kind], line.Text})
	}
	return d
}

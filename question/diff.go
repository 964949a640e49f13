package question

import (
	"fmt"
	"strings"

	"github.com/seed82539d15/holon/internal/sanitize"
)

const (
	// compared bounds the comparison of the lines that differ: those of one text times those
	// of the other. Above it all lines of the old text count as removed.
	compared = 1 << 20
	// context is how many equal lines are listed around a change.
	context = 3
)

// change is what happens to a file. A text that is nil is not known.
type change struct {
	path, oldPath, operation string
	before, after            *string
}

// changesOf returns the changes of an item: those of a file_change, else the diffs of a tool
// call.
func changesOf(subject object) (out []change) {
	text := func(o object, names ...string) *string {
		for _, name := range names {
			if text, ok := textOf(o[name]); ok {
				return &text
			}
		}
		return nil
	}
	for _, o := range subject.list("changes") {
		out = append(out, change{
			path: o.text("path"), oldPath: o.text("old_path"), operation: o.text("operation"),
			before: text(o, "old_text"), after: text(o, "new_text"),
		})
	}
	if len(out) > 0 {
		return out
	}
	for _, o := range subject.list("content") {
		if o.text("type") != "diff" {
			continue
		}
		c := change{path: o.text("path"), operation: "add", before: text(o, "oldText", "old_text"), after: text(o, "newText", "new_text")}
		if c.before != nil && *c.before != "" {
			c.operation = "modify"
		}
		out = append(out, c)
	}
	return out
}

// change adds a changed file and its lines.
func (w *wording) change(c change) {
	known := c.before != nil || c.after != nil
	if !known && len(w.changes) == 1 {
		return // the phrase has all that is known
	}
	name := c.phrase(w.directory())
	if !known {
		w.one(File, name)
		return
	}
	d := Compare(deref(c.before), deref(c.after))
	w.one(File, fmt.Sprintf("%s (+%d −%d)", name, d.Added, d.Removed))
	w.out.Lines = append(w.out.Lines, d.Lines...)
}

func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// Diff is how two texts differ.
type Diff struct {
	Added, Removed int
	Lines          []Line // Added, Removed, Same, Gap and Note
}

// Compare finds the lines that differ, with some equal ones around them. Hidden characters,
// and blanks at the end of a changed line, are visible in them. The carriage return is not
// shown if all lines of both texts end with one.
func Compare(before, after string) Diff {
	crlf := onlyCRLF(before) && onlyCRLF(after)
	a, b := linesOf(before, crlf), linesOf(after, crlf)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	endA, endB := len(a), len(b)
	for endA > head && endB > head && a[endA-1] == b[endB-1] {
		endA, endB = endA-1, endB-1
	}
	var all []Line
	if head < endA || head < endB {
		all = same(all, a[max(0, head-context):head])
		all = script(all, a[head:endA], b[head:endB])
		all = same(all, a[endA:min(len(a), endA+context)])
	}
	var d Diff
	for _, l := range all {
		switch l.Kind {
		case Added:
			d.Added++
		case Removed:
			d.Removed++
		}
	}
	d.Lines = squeeze(all)
	for i, l := range d.Lines {
		text := sanitize.Literal(l.Text)
		if l.Kind == Added || l.Kind == Removed {
			text = blanksAtEnd(text)
		}
		d.Lines[i].Text = text
	}
	if had, has := strings.HasSuffix(before, "\n"), strings.HasSuffix(after, "\n"); had != has && before != "" && after != "" {
		note := "The line feed at the end is removed."
		if has {
			note = "A line feed is added at the end."
		}
		d.Lines = append(d.Lines, Line{Note, note})
	}
	return d
}

// Texts are a file before and after a change.
type Texts struct{ Before, After string }

// countedLines bounds the comparisons of one CountLines together, as compared does each.
const countedLines = 4 * compared

// CountLines adds up how many lines Compare would find in each of some changes. Once the
// comparisons have become too many, all lines that may differ count.
func CountLines(changes []Texts) (added, removed int) {
	left := countedLines
	for _, c := range changes {
		crlf := onlyCRLF(c.Before) && onlyCRLF(c.After)
		a, b := linesOf(c.Before, crlf), linesOf(c.After, crlf)
		for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
			a, b = a[1:], b[1:]
		}
		for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
			a, b = a[:len(a)-1], b[:len(b)-1]
		}
		same, cells := 0, len(a)*len(b)
		if cells <= min(compared, left) {
			same = commonLines(a, b)
			left -= cells
		}
		added, removed = added+len(b)-same, removed+len(a)-same
	}
	return added, removed
}

// commonLines returns the length of the longest common subsequence of lines.
func commonLines(a, b []string) int {
	row := make([]int32, len(b)+1) // for the lines of a so far; row[0] is 0
	for _, line := range a {
		diagonal := int32(0)
		for j := range b {
			above := row[j+1]
			if line == b[j] {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(above, row[j])
			}
			diagonal = above
		}
	}
	return int(row[len(b)])
}

// blanksAtEnd makes blanks at the end of a line visible: they may be all that changes.
func blanksAtEnd(line string) string {
	end := len(strings.TrimRight(line, " \t"))
	return line[:end] + strings.NewReplacer(" ", "␠", "\t", "␉").Replace(line[end:])
}

// onlyCRLF reports whether every line feed of a text follows a carriage return.
func onlyCRLF(text string) bool { return strings.Count(text, "\n") == strings.Count(text, "\r\n") }

func linesOf(text string, crlf bool) []string {
	if text == "" {
		return nil
	}
	end := "\n"
	if crlf && strings.Contains(text, "\r\n") {
		end = "\r\n"
	}
	return strings.Split(strings.TrimSuffix(text, end), end)
}

func same(out []Line, lines []string) []Line {
	for _, text := range lines {
		out = append(out, Line{Same, text})
	}
	return out
}

// script appends how a becomes b, by the longest common subsequence of their lines.
func script(out []Line, a, b []string) []Line {
	if len(a)*len(b) > compared {
		for _, text := range a {
			out = append(out, Line{Removed, text})
		}
		for _, text := range b {
			out = append(out, Line{Added, text})
		}
		return out
	}
	// common[i][j] is the length of it for a[i:] and b[j:].
	common := make([][]int32, len(a)+1)
	for i := range common {
		common[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, Line{Same, a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			out = append(out, Line{Removed, a[i]})
			i++
		default:
			out = append(out, Line{Added, b[j]})
			j++
		}
	}
	return out
}

// squeeze replaces long runs of equal lines by a gap that counts them.
func squeeze(lines []Line) (out []Line) {
	for i := 0; i < len(lines); {
		if lines[i].Kind != Same {
			out = append(out, lines[i])
			i++
			continue
		}
		end := i
		for end < len(lines) && lines[end].Kind == Same {
			end++
		}
		if n := end - i - 2*context; n > 1 && i > 0 && end < len(lines) {
			out = append(out, lines[i:i+context]...)
			out = append(out, Line{Gap, plural(n, "equal line")})
			out = append(out, lines[end-context:end]...)
		} else {
			out = append(out, lines[i:end]...)
		}
		i = end
	}
	return out
}

package conversation

import "strings"

// Bounds of a diff.
const (
	// keepDiff is how many lines of the diff of one file are held.
	keepDiff = 1000
	// compareLines bounds the comparison of the parts that differ: lines of one
	// side times lines of the other. Above it all old lines count as removed.
	compareLines = 1 << 20
	// contextLines is how many unchanged lines are shown around a change.
	contextLines = 2
)

// diff is what a change of one file does.
type diff struct {
	title          string // such as "modify main.go", sanitized where it is shown
	added, removed int
	lines          []diffLine
	more           int  // lines that are not held
	unknown        bool // the change does not say what it does
}

// diffLine is a line of a diff. Sign is '+', '-', ' ', or '~' for a gap.
type diffLine struct {
	sign byte
	text string
}

// compare makes the diff of two texts; nil is a text that is not known.
func compare(title string, before, after *string) diff {
	d := diff{title: title, unknown: before == nil && after == nil}
	a, b := splitLines(before), splitLines(after)
	first := 0
	for first < len(a) && first < len(b) && a[first] == b[first] {
		first++
	}
	lastA, lastB := len(a), len(b)
	for lastA > first && lastB > first && a[lastA-1] == b[lastB-1] {
		lastA, lastB = lastA-1, lastB-1
	}
	lines := make([]diffLine, 0, 16)
	for _, text := range a[max(0, first-contextLines):first] {
		lines = append(lines, diffLine{' ', text})
	}
	lines = append(lines, script(a[first:lastA], b[first:lastB])...)
	for _, text := range a[lastA:min(len(a), lastA+contextLines)] {
		lines = append(lines, diffLine{' ', text})
	}
	for _, line := range lines {
		switch line.sign {
		case '+':
			d.added++
		case '-':
			d.removed++
		}
	}
	if d.lines = squeeze(lines); len(d.lines) > keepDiff {
		d.lines, d.more = d.lines[:keepDiff:keepDiff], len(d.lines)-keepDiff
	}
	return d
}

func splitLines(text *string) []string {
	if text == nil || *text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(*text, "\n"), "\n")
}

// script turns a into b by the longest common subsequence of their lines.
func script(a, b []string) (out []diffLine) {
	if len(a)*len(b) > compareLines {
		for _, text := range a {
			out = append(out, diffLine{'-', text})
		}
		for _, text := range b {
			out = append(out, diffLine{'+', text})
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
			out = append(out, diffLine{' ', a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			out = append(out, diffLine{'-', a[i]})
			i++
		default:
			out = append(out, diffLine{'+', b[j]})
			j++
		}
	}
	return out
}

// squeeze replaces long runs of unchanged lines by a gap.
func squeeze(lines []diffLine) (out []diffLine) {
	for i := 0; i < len(lines); {
		if lines[i].sign != ' ' {
			out = append(out, lines[i])
			i++
			continue
		}
		end := i
		for end < len(lines) && lines[end].sign == ' ' {
			end++
		}
		if end-i > 2*contextLines+1 && i > 0 && end < len(lines) {
			out = append(out, lines[i:i+contextLines]...)
			out = append(out, diffLine{sign: '~'})
			out = append(out, lines[end-contextLines:end]...)
		} else {
			out = append(out, lines[i:end]...)
		}
		i = end
	}
	return out
}

package timeline

import (
	"strconv"
	"strings"
	"testing"
)

// screen is a terminal that understands only the output of a Renderer: anything
// else fails the test. Rows that scroll out of its window are kept, out of the
// cursor's reach; a window without height is unbounded.
type screen struct {
	t      *testing.T
	width  int
	height int
	rows   [][]rune
	top    int // the first row of the window
	row    int
	col    int
}

func (s *screen) Write(p []byte) (int, error) {
	text := []rune(string(p))
	for i := 0; i < len(text); i++ {
		switch r := text[i]; r {
		case '\n':
			s.row, s.col = s.row+1, 0
			if s.height > 0 {
				s.top = max(s.top, s.row-s.height+1)
			}
		case '\r':
			s.col = 0
		case 0x1b:
			end := i + 1
			for end < len(text) && (text[end] < 'A' || text[end] > 'Z' && text[end] < 'a') {
				end++
			}
			s.control(string(text[i+1 : end+1]))
			i = end
		default:
			s.put(r)
		}
	}
	return len(p), nil
}

func (s *screen) put(r rune) {
	for len(s.rows) <= s.row {
		s.rows = append(s.rows, nil)
	}
	width := RuneWidth(r)
	if width == 0 {
		return // it joins the rune before it
	}
	if s.col+width > s.width {
		s.t.Errorf("row %d is wider than %d columns", s.row, s.width)
	}
	for len(s.rows[s.row]) < s.col+width {
		s.rows[s.row] = append(s.rows[s.row], ' ')
	}
	s.rows[s.row][s.col] = r
	if width == 2 {
		s.rows[s.row][s.col+1] = 0
	}
	s.col += width
}

func (s *screen) control(sequence string) {
	final := sequence[len(sequence)-1]
	n, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(sequence, "["), string(final)))
	switch final {
	case 'm':
	case 'K':
		if s.row < len(s.rows) {
			s.rows[s.row] = s.rows[s.row][:min(s.col, len(s.rows[s.row]))]
		}
	case 'A':
		s.row = max(s.top, s.row-max(1, n))
	case 'J':
		if s.row < len(s.rows) {
			s.rows[s.row] = s.rows[s.row][:min(s.col, len(s.rows[s.row]))]
			s.rows = s.rows[:s.row+1]
		}
	case 'C':
		s.col += max(1, n)
	default:
		s.t.Errorf("unexpected sequence %q", sequence)
	}
}

// String is the text on the screen, with the rows that have scrolled out of the
// window.
func (s *screen) String() string { return shown(s.rows) }

// window is the visible text.
func (s *screen) window() string { return shown(s.rows[min(s.top, len(s.rows)):]) }

func shown(rows [][]rune) string {
	var b strings.Builder
	for _, row := range rows {
		line := strings.ReplaceAll(string(row), "\x00", "")
		b.WriteString(strings.TrimRight(line, " "))
		b.WriteByte('\n')
	}
	return b.String()
}

package conversation

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// MaxTyped is the longest text that a person can write or paste here, in bytes.
const MaxTyped = 256 << 10

// TooLong returns the message that a text cannot be pasted. No part of it is taken, so
// that nothing is cut unseen.
func TooLong(text string) string {
	return fmt.Sprintf("%s is too long to paste here (at most %s)", size(int64(len(text))), size(MaxTyped))
}

// editor is a text of some lines that a person writes. The caret is never within a
// joined emoji or between a letter and its accents.
type editor struct {
	text  string
	caret int // in bytes
}

// insert puts a text at the caret; it reports false, and changes nothing, if the whole
// would be too long.
func (e *editor) insert(text string) bool {
	if len(e.text)+len(text) > MaxTyped {
		return false
	}
	text = strings.ToValidUTF8(text, "�")
	e.text = e.text[:e.caret] + text + e.text[e.caret:]
	e.caret += len(text)
	return true
}

func (e *editor) set(text string) { e.text, e.caret = text, len(text) }

// key edits; it reports whether it knows the key.
func (e *editor) key(name string) bool {
	switch name {
	case "left":
		e.caret = e.before(e.caret)
	case "right":
		e.caret = e.after(e.caret)
	case "alt+left", "ctrl+left", "alt+b":
		e.caret = e.wordBefore()
	case "alt+right", "ctrl+right", "alt+f":
		e.caret = e.wordAfter()
	case "home":
		e.caret = e.lineStart()
	case "end", "ctrl+e":
		e.caret = e.lineEnd()
	case "backspace", "ctrl+h":
		e.cut(e.before(e.caret), e.caret)
	case "delete":
		e.cut(e.caret, e.after(e.caret))
	case "ctrl+w", "alt+backspace":
		e.cut(e.wordBefore(), e.caret)
	case "ctrl+u":
		e.cut(e.lineStart(), e.caret)
	case "ctrl+k":
		e.cut(e.caret, e.lineEnd())
	case "up":
		return e.vertical(-1)
	case "down":
		return e.vertical(1)
	default:
		return false
	}
	return true
}

func (e *editor) cut(from, to int) {
	e.text = e.text[:from] + e.text[to:]
	e.caret = from
}

// after returns the position behind the character at a position, with all that is joined to
// it.
func (e *editor) after(at int) int {
	r, size := utf8.DecodeRuneInString(e.text[at:])
	if size == 0 {
		return at
	}
	at += size
	flag := isRegion(r)
	for at < len(e.text) {
		next, size := utf8.DecodeRuneInString(e.text[at:])
		switch {
		case r == joiner && next != '\n', next == joiner, extends(next):
		case flag && isRegion(next):
			flag = false
		default:
			return at
		}
		r, at = next, at+size
	}
	return at
}

// before returns the position of the character in front of a position.
func (e *editor) before(at int) int {
	start, from := 0, 0
	if i := strings.LastIndexByte(e.text[:at], '\n'); i >= 0 {
		start, from = i, i // a line's end is a character by itself
	}
	for start < at {
		next := e.after(start)
		if next >= at {
			return start
		}
		start = next
	}
	return from
}

const joiner = 0x200d

// extends reports whether a character belongs to the one in front of it.
func extends(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Mc) || r >= 0xfe00 && r <= 0xfe0f ||
		r >= 0x1f3fb && r <= 0x1f3ff || r >= 0xe0020 && r <= 0xe007f
}

func isRegion(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }

func (e *editor) lineStart() int { return strings.LastIndexByte(e.text[:e.caret], '\n') + 1 }

func (e *editor) lineEnd() int {
	if i := strings.IndexByte(e.text[e.caret:], '\n'); i >= 0 {
		return e.caret + i
	}
	return len(e.text)
}

func (e *editor) wordBefore() int {
	head := strings.TrimRightFunc(e.text[:e.caret], unicode.IsSpace)
	return strings.LastIndexFunc(head, unicode.IsSpace) + runeAt(head, strings.LastIndexFunc(head, unicode.IsSpace))
}

// runeAt returns the size of the rune at an index, 1 for index -1, so that index plus size is
// where the word after it begins.
func runeAt(s string, i int) int {
	if i < 0 {
		return 1
	}
	_, size := utf8.DecodeRuneInString(s[i:])
	return size
}

func (e *editor) wordAfter() int {
	rest := e.text[e.caret:]
	skipped := len(rest) - len(strings.TrimLeftFunc(rest, unicode.IsSpace))
	if i := strings.IndexFunc(rest[skipped:], unicode.IsSpace); i >= 0 {
		return e.caret + skipped + i
	}
	return len(e.text)
}

// vertical moves the caret to the line above or below, about to the same column; false
// if there is none.
func (e *editor) vertical(by int) bool {
	start := e.lineStart()
	column := screen.Width(screen.Clean(e.text[start:e.caret]))
	switch {
	case by < 0 && start == 0, by > 0 && e.lineEnd() == len(e.text):
		return false
	case by < 0:
		e.caret = start - 1
		e.caret = e.lineStart()
	default:
		e.caret = e.lineEnd() + 1
	}
	start, end := e.caret, e.lineEnd()
	for e.caret < end && screen.Width(screen.Clean(e.text[start:e.caret])) < column {
		e.caret = e.after(e.caret)
	}
	return true
}

// rows returns the text wrapped to a width, with at most height rows around the caret,
// and where the caret is in them.
func (e *editor) rows(width, height int) (rows []string, x, y int) {
	width = max(width, 4)
	var all []string
	at := 0
	for {
		end := strings.IndexByte(e.text[at:], '\n')
		line := e.text[at:]
		if end >= 0 {
			line = e.text[at : at+end]
		}
		wrapped := hardWrap(screen.Clean(line), width)
		if e.caret >= at && e.caret <= at+len(line) {
			before := hardWrap(screen.Clean(e.text[at:e.caret]), width)
			y = len(all) + len(before) - 1
			if x = screen.Width(before[len(before)-1]); x >= width { // the caret is behind a full row
				x, y = 0, y+1
				if y == len(all)+len(wrapped) {
					wrapped = append(wrapped, "")
				}
			}
		}
		all = append(all, wrapped...)
		if end < 0 {
			break
		}
		at += end + 1
	}
	first := min(max(0, y-height+1), max(0, len(all)-height))
	return all[first:min(len(all), first+height)], x, y - first
}

// hardWrap breaks a cleaned line where it is full, so that the position of a character
// depends only on what is in front of it.
func hardWrap(s string, width int) []string {
	var rows []string
	n, from := 0, 0
	for i, r := range s {
		if r == '\n' { // a line separator that the sanitizer has replaced
			rows, from, n = append(rows, s[from:i]), i+1, 0
			continue
		}
		w := screen.Width(string(r))
		if n+w > width {
			rows, from, n = append(rows, s[from:i]), i, 0
		}
		n += w
	}
	return append(rows, s[from:])
}

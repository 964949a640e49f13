package screen

import (
	"bytes"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/seed82539d15/holon/internal/sanitize"
)

// The brackets that a terminal puts around a paste, if it can (DECSET 2004).
const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// pasteGoesOn is for how many milliseconds the next piece of a paste is waited for.
const pasteGoesOn = 50

// Input returns in, with brackets around pastes of a terminal that sends none: else the first
// line of a paste would be sent, and the rest typed. What is no file is returned as it is.
func Input(in io.Reader) io.Reader {
	file, ok := in.(*os.File)
	if !ok {
		return in
	}
	return &pasting{terminal: file, more: func() bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(file.Fd()), Events: unix.POLLIN}}, pasteGoesOn)
		return n > 0 && err == nil
	}}
}

// terminal is what bubbletea needs of a file to put it into raw mode and to stop reading.
type terminal interface {
	io.ReadWriteCloser
	Fd() uintptr
	Name() string
}

// pasting is a terminal. A read that has the end of a line and text behind it is a paste:
// nobody types so fast. One goroutine reads.
type pasting struct {
	terminal
	more func() bool // whether more comes at once

	open      bool   // what comes belongs to a paste that has no brackets of its own
	bracketed bool   // what comes is between brackets of the terminal
	tail      []byte // the end of the last read, which a bracket may begin in
}

// Read implements io.Reader.
func (p *pasting) Read(b []byte) (int, error) {
	room := len(b) - len(pasteStart) - len(pasteEnd)
	if room <= 0 {
		return p.terminal.Read(b)
	}
	n, err := p.terminal.Read(b[:room])
	return p.bracket(b, max(n, 0), n == room), err
}

// bracket puts brackets around what is of a paste in the n bytes that were read into b,
// and returns how many there are then. full reports whether there was no room for more.
func (p *pasting) bracket(b []byte, n int, full bool) int {
	own := p.bracketed // the terminal's
	own = p.follow(b[:n]) || own
	if n == 0 || !p.open && (own || !isPaste(string(b[:n]), full)) {
		return n
	}
	text := strings.ReplaceAll(string(b[:n]), "\x1b", "") // it would begin a key
	if !p.open {
		text = pasteStart + text
	}
	if p.open = p.more(); !p.open {
		text += pasteEnd
	}
	return copy(b, text)
}

// follow notes whether the terminal has opened a bracket, and reports whether there is
// one in what was read, or one that ends there.
func (p *pasting) follow(read []byte) (found bool) {
	seen := append(p.tail, read...)
	start, end := bytes.LastIndex(seen, []byte(pasteStart)), bytes.LastIndex(seen, []byte(pasteEnd))
	if found = start >= 0 || end >= 0; found {
		p.bracketed = start > end
	}
	p.tail = append([]byte(nil), seen[max(0, len(seen)-len(pasteStart)+1):]...)
	return found
}

// isPaste reports whether text has the end of a line and text behind it. Keys such as an
// arrow are no text. full says that the rest of a paste may not have been read.
func isPaste(text string, full bool) bool {
	lines := false
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '\x1b':
			i += sequence(text[i:])
			continue
		case c == '\r' || c == '\n':
			lines = true
		case lines && c >= ' ' && c != 0x7f:
			return utf8.RuneCountInString(text) > 2 // else it is Enter and a key, over a slow line
		}
		i++
	}
	return lines && full
}

// sequence returns the length of the key, or of the answer of the terminal, that text begins
// with; it begins with ESC.
func sequence(text string) int {
	switch {
	case strings.HasPrefix(text, "\x1bO"):
		return min(3, len(text))
	case strings.HasPrefix(text, "\x1b\r") || strings.HasPrefix(text, "\x1b\n"): // Alt-Enter
		return 2
	}
	return max(sanitize.Sequence(text), 1)
}

package timeline

import (
	"fmt"
	"io"
	"strings"
)

// indent is the width of a sign and its space, left of the text.
const indent = 2

// terminal writes blocks with signs, wrapped to the width, and keeps a status
// line below them. Between calls the cursor is at the end of the text or, while
// a status is shown, after the status.
type terminal struct {
	w      io.Writer
	color  bool
	utf8   bool
	width  func() int
	out    strings.Builder
	col    int             // column of the cursor in the text, 0 at the start of a line
	block  string          // the block the cursor is in, "" if none
	begun  map[string]bool // blocks that have been written to and not finished
	shown  bool            // a status is on the screen
	extra  int             // … and has so many lines below its first
	below  bool            // … on the line below the text
	line   string          // the status wanted
	thread string          // the thread of the last block
	many   bool            // threads are named when they change
	name   func(thread string) string
	height func() int // rows of the window
	rows   rows       // what has been written

	from      *source // of the text that is written
	style     style
	word      strings.Builder // letters held back until the word is complete
	wordWidth int
	spaces    int
	glued     bool // the letters before the cursor are the start of an incomplete word
}

func (t *terminal) write(key, thread string, l label, text string, from *source) {
	t.erase()
	if t.block != key {
		t.endLine()
		if t.many && thread != "" && thread != t.thread {
			t.thread, t.from = thread, nil
			t.text(styleDim, "── "+Fit(t.name(thread), t.columns()-3))
			t.rows.open.header = true
			t.newLine()
		}
		t.block, t.from = key, from
		sign := l.sign
		if !t.utf8 {
			sign = l.ascii
		}
		t.text(l.style, sign)
		t.out.WriteByte(' ')
		t.rows.add(" ", "", from)
		t.col = indent
		if t.begun[key] {
			text = strings.TrimLeft(text, " ") // it continues after another block
		}
		t.begun[key] = true
	}
	t.from, t.style = from, ""
	if l.quiet {
		t.style = l.style
	}
	t.flow(text)
}

// pause does nothing: a line is shown as far as it has come.
func (t *terminal) pause(string) {}

// flow writes text with word wrap. The last word is held back until it is
// complete, so that it can still move to the next line.
func (t *terminal) flow(text string) {
	if t.style != "" && t.color {
		t.out.WriteString("\x1b[" + string(t.style) + "m")
		defer t.out.WriteString("\x1b[0m")
	}
	for _, r := range text {
		switch width := RuneWidth(r); {
		case r == '\n':
			t.putWord()
			t.newLine()
		case r == ' ' || r == '\t':
			t.putWord()
			t.glued = false
			t.spaces++
			if r == '\t' {
				t.spaces += 3
			}
		case width == 2:
			// Wide scripts break anywhere.
			t.putWord()
			t.word.WriteRune(r)
			t.wordWidth = width
			t.putWord()
		default:
			if t.wordWidth+width > t.columns()-indent {
				t.putWord()
			}
			t.word.WriteRune(r)
			t.wordWidth += width
		}
	}
}

// putWord writes the word held back, on the next line if it does not fit.
func (t *terminal) putWord() {
	if t.wordWidth == 0 && t.word.Len() == 0 {
		return
	}
	if t.glued && t.spaces == 0 && t.col+t.wordWidth > t.columns() {
		t.putSplit()
		return
	}
	if t.col > indent && t.col+t.spaces+t.wordWidth > t.columns() {
		t.newLine()
		t.spaces = 0
	}
	if t.col < indent {
		t.put(strings.Repeat(" ", indent-t.col))
		t.col = indent
	}
	// Leading spaces of a line are indentation and stay, if there is room.
	t.spaces = min(t.spaces, max(0, t.columns()-t.col-t.wordWidth))
	t.put(strings.Repeat(" ", t.spaces))
	t.put(t.word.String())
	t.col += t.spaces + t.wordWidth
	t.spaces, t.wordWidth = 0, 0
	t.word.Reset()
}

// putSplit writes the rest of a word whose start is already on the screen,
// broken where the line is full.
func (t *terminal) putSplit() {
	rest := t.word.String()
	t.word.Reset()
	t.wordWidth = 0
	for _, r := range rest {
		if t.col+RuneWidth(r) > t.columns() {
			t.newLine()
			t.put(strings.Repeat(" ", indent))
			t.col = indent
		}
		t.put(string(r))
		t.col += RuneWidth(r)
	}
}

func (t *terminal) newLine() {
	t.glued = false
	t.out.WriteByte('\n')
	t.col, t.spaces = 0, 0
	t.rows.end(t.from, t.width(), t.height()-t.extra)
}

// put writes text of the block in the current style.
func (t *terminal) put(text string) {
	t.out.WriteString(text)
	t.rows.add(text, t.style, t.from)
}

// text writes text in the given style.
func (t *terminal) text(s style, text string) {
	t.paint(s, text)
	t.rows.add(text, s, t.from)
}

// endLine ends the line the cursor is in, if it is in one.
func (t *terminal) endLine() {
	t.putStyled()
	if t.col > 0 {
		t.newLine()
	}
	t.spaces = 0
}

// putStyled writes the word held back in its block's style.
func (t *terminal) putStyled() {
	if t.word.Len() > 0 {
		t.paintStart()
		t.putWord()
		t.paintEnd()
	}
}

func (t *terminal) paintStart() {
	if t.color && t.style != "" {
		t.out.WriteString("\x1b[" + string(t.style) + "m")
	}
}

func (t *terminal) paintEnd() {
	if t.color && t.style != "" {
		t.out.WriteString("\x1b[0m")
	}
}

func (t *terminal) paint(s style, text string) {
	if !t.color {
		t.out.WriteString(text)
		return
	}
	t.out.WriteString("\x1b[" + string(s) + "m" + text + "\x1b[0m")
}

func (t *terminal) finish(key string) {
	delete(t.begun, key)
	if t.block != key {
		return
	}
	t.erase()
	t.endLine()
	t.block = ""
}

func (t *terminal) showHeld() {
	if t.word.Len() > 0 {
		t.erase()
		t.putStyled()
		t.glued = true
	}
}

func (t *terminal) status(text string) {
	if text != t.line {
		t.erase()
		t.line = text
	}
}

// erase removes the status from the screen and moves the cursor back to the
// text.
func (t *terminal) erase() {
	if !t.shown {
		return
	}
	t.out.WriteString("\r\x1b[K")
	for range t.extra {
		t.out.WriteString("\x1b[A\x1b[K")
	}
	if t.below {
		fmt.Fprintf(&t.out, "\x1b[A\x1b[%dC", t.col)
	}
	t.shown = false
}

// draw shows the status: on the cursor's line if that is empty, else on the
// line below.
func (t *terminal) draw() {
	if t.shown || t.line == "" {
		return
	}
	t.below = t.col > 0
	if t.below {
		t.out.WriteByte('\n')
	}
	// Terminals echo ^C behind the status: it must not wrap, or a part of the
	// line would stay.
	lines := strings.Split(t.line, "\n")
	for i, line := range lines {
		if i > 0 {
			t.out.WriteByte('\n')
		}
		t.paint(styleDim, Fit(line, t.columns()-len("^C")))
	}
	t.shown, t.extra = true, len(lines)-1
	t.rows.reach = max(0, min(t.rows.reach, t.height()-1-t.extra)) // they have moved the text up
}

// columns returns the usable width: the last column stays free, because terminals
// disagree on where the cursor is after a character there.
func (t *terminal) columns() int { return max(leastColumns, t.width()-1) }

// leastColumns is the least width of a line, also in a narrower window.
const leastColumns = 20

func (t *terminal) flush() error {
	t.draw()
	if t.out.Len() == 0 {
		return nil
	}
	_, err := io.WriteString(t.w, t.out.String())
	t.out.Reset()
	return err
}

package timeline

import (
	"fmt"
	"strings"
)

// wrapColumns is how much of a line counts as one more line: an output without line
// feeds must not fill the screen either.
const wrapColumns = 400

// shortened shows the beginning of the output of a tool and counts the rest.
type shortened struct {
	lines   int  // that are shown
	columns int  // of the last one
	cut     bool // the shown part has ended
	inside  bool // the hidden text ends within a line
	hidden  int  // lines
}

// pass returns what is shown of the next piece of output, of which the first lines up to
// most are.
func (f *shortened) pass(text string, most int) (shown string) {
	if !f.cut {
		end := f.end(text, most)
		shown, text = text[:end], text[end:]
		if text == "" {
			return shown
		}
		f.cut, text = true, strings.TrimPrefix(text, "\n") // which ends the last shown line
	}
	for text != "" {
		line, rest, ended := strings.Cut(text, "\n")
		if !f.inside && (line != "" || ended) {
			f.hidden++
		}
		f.inside, text = !ended, rest
	}
	return shown
}

// end returns where the shown part of a piece ends: at the line feed after the last line, or
// within a long one.
func (f *shortened) end(text string, most int) int {
	if f.lines == 0 && text != "" {
		f.lines = 1
	}
	for i, r := range text {
		switch {
		case r == '\n':
			if f.lines >= most {
				return i
			}
			f.lines++
			f.columns = 0
			continue
		case f.columns >= wrapColumns:
			if f.lines >= most {
				return i
			}
			f.lines++
			f.columns = 0
		}
		f.columns += RuneWidth(r)
	}
	return len(text)
}

// put shows sanitized text of an item, of which outputs are shortened.
func (r *Renderer) put(id, thread string, it *item, text string, from *source) {
	if it.label != labelOutput || r.options.ShortenAfter == 0 {
		r.sink.write(id, thread, it.label, text, from)
		return
	}
	before := it.output.hidden
	if shown := it.output.pass(text, r.options.ShortenAfter); shown != "" {
		r.sink.write(id, thread, it.label, shown, from)
	}
	if before == 0 && it.output.hidden > 0 {
		r.sink.write(id, thread, it.label, "\n… folded here; all of it: "+r.options.ShowAll+"\n", from)
	}
}

// noteHidden writes at the end of an item how much of it is hidden.
func (r *Renderer) noteHidden(id, thread string, it *item) {
	switch n := it.output.hidden; n {
	case 0:
	case 1:
		r.sink.write(id, thread, it.label, "… 1 line is folded", r.from)
	default:
		r.sink.write(id, thread, it.label, fmt.Sprintf("… %d lines are folded", n), r.from)
	}
}

package timeline

import (
	"fmt"
	"strings"
)

// foldColumns is how much of a line counts as one more line: an output without line
// feeds must not fill the screen either.
const foldColumns = 400

// folded shows the beginning of the output of a tool and counts the rest.
type folded struct {
	lines   int  // that are shown
	columns int  // of the last one
	cut     bool // the shown part has ended
	inside  bool // the hidden text ends within a line
	hidden  int  // lines
}

// pass returns what is shown of the next piece of output, of which the first lines up to
// most are.
func (f *folded) pass(text string, most int) (shown string) {
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
func (f *folded) end(text string, most int) int {
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
		case f.columns >= foldColumns:
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

// put shows sanitized text of an item, of which outputs are folded.
func (r *Renderer) put(id, thread string, it *item, text string, from *source) {
	if it.label != labelOutput || r.options.Fold == 0 {
		r.sink.write(id, thread, it.label, text, from)
		return
	}
	before := it.fold.hidden
	if shown := it.fold.pass(text, r.options.Fold); shown != "" {
		r.sink.write(id, thread, it.label, shown, from)
	}
	if before == 0 && it.fold.hidden > 0 {
		r.sink.write(id, thread, it.label, "\n… folded here; all of it: "+r.options.Unfold+"\n", from)
	}
}

// folds prints at the end of an item how much of it is folded.
func (r *Renderer) folds(id, thread string, it *item) {
	switch n := it.fold.hidden; n {
	case 0:
	case 1:
		r.sink.write(id, thread, it.label, "… 1 line is folded", r.from)
	default:
		r.sink.write(id, thread, it.label, fmt.Sprintf("… %d lines are folded", n), r.from)
	}
}

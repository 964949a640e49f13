package timeline

import "strings"

// maxHeld is how much of a line without an end is held back: more than a paragraph.
const maxHeld = 16 << 10

// wholeLines is a sink for the blocks of several threads: it passes on whole lines only,
// so that one thread does not break into the line of another.
type wholeLines struct {
	sink
	held map[string]*heldLine // of blocks that are not finished
}

// heldLine is the beginning of a line.
type heldLine struct {
	thread string
	label  label
	text   string
	from   *source
}

func newWholeLines(s sink) *wholeLines { return &wholeLines{sink: s, held: map[string]*heldLine{}} }

func (w *wholeLines) write(key, thread string, l label, text string, from *source) {
	h := w.held[key]
	if h == nil {
		h = &heldLine{thread: thread}
		w.held[key] = h
	}
	h.label, h.from = l, from
	h.text += text
	end := strings.LastIndexByte(h.text, '\n') + 1
	if end == 0 && len(h.text) > maxHeld {
		end = strings.LastIndexByte(h.text, ' ') + 1
		if end == 0 {
			end = len(h.text)
		}
	}
	if end > 0 {
		w.sink.write(key, thread, l, h.text[:end], from)
		h.text = h.text[end:]
	}
}

// pause passes on the beginning of a line.
func (w *wholeLines) pause(key string) {
	if h := w.held[key]; h != nil && h.text != "" {
		w.sink.write(key, h.thread, h.label, h.text, h.from)
		h.text = ""
	}
	w.sink.pause(key)
}

// finish passes on the last line of a block, whether it has an end or not. So nothing that
// a marker supersedes is held when strike comes: its blocks are finished before.
func (w *wholeLines) finish(key string) {
	if h := w.held[key]; h != nil && h.text != "" {
		w.sink.write(key, h.thread, h.label, h.text, h.from)
	}
	delete(w.held, key)
	w.sink.finish(key)
}

package conversation

import (
	"slices"
	"strings"
)

// keptDrafts is of how many threads drafts are kept.
const keptDrafts = 100

// Drafts are texts that were written and not sent, by thread. One goroutine uses it.
type Drafts struct {
	texts map[string]string
	order []string // the one that changed last is the last
}

// Of returns the draft of a thread, "" if there is none.
func (d *Drafts) Of(thread string) string { return d.texts[thread] }

// Keep keeps the draft of a thread; "" removes it.
func (d *Drafts) Keep(thread, text string) {
	if d.texts[thread] == text {
		return
	}
	d.order = slices.DeleteFunc(d.order, func(id string) bool { return id == thread })
	delete(d.texts, thread)
	if text == "" {
		return
	}
	if d.texts == nil {
		d.texts = map[string]string{}
	}
	d.texts[thread] = text
	if d.order = append(d.order, thread); len(d.order) > keptDrafts {
		delete(d.texts, d.order[0])
		d.order = d.order[1:]
	}
}

// Sent removes the draft that is this text, because the server has taken it.
func (d *Drafts) Sent(text string) {
	for thread, draft := range d.texts {
		if strings.TrimSpace(draft) == text {
			d.Keep(thread, "")
			return
		}
	}
}

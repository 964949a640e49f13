package conversation

import (
	"github.com/seed82539d15/holon/cmd/holon/dashboard/markdown"
	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// keptRendered is how many rendered messages are kept, of any width: more than a tall
// window shows.
const keptRendered = 200

// rendered is the message that brings the rows of a rendered text.
type rendered struct {
	key  renderKey
	rows []string
}

// renderKey says what was rendered.
type renderKey struct {
	item    string
	version int
	width   int
}

// renderings are the rendered messages. Rendering is done elsewhere: want notes what is
// missing, wanted gives it out once.
type renderings struct {
	colour bool
	rows   map[renderKey][]string // an empty one is under way, or cannot be rendered
	order  []renderKey
	missed []renderWork
}

type renderWork struct {
	key  renderKey
	text string
}

func newRenderings(colour bool) *renderings {
	return &renderings{colour: colour, rows: map[renderKey][]string{}}
}

// want returns the rows of a message, nil until they are rendered.
func (r *renderings) want(key renderKey, text string) []string {
	rows, known := r.rows[key]
	if !known {
		r.keep(key, nil)
		r.missed = append(r.missed, renderWork{key, text})
	}
	return rows
}

func (r *renderings) keep(key renderKey, rows []string) {
	if _, known := r.rows[key]; !known {
		if r.order = append(r.order, key); len(r.order) > keptRendered {
			delete(r.rows, r.order[0])
			r.order = r.order[1:]
		}
	}
	r.rows[key] = rows
}

// wanted returns the works that are missing; they are given out once.
func (r *renderings) wanted() (works []screen.Action) {
	for _, w := range r.missed {
		colour := r.colour
		works = append(works, screen.Work{Do: func() any {
			return rendered{key: w.key, rows: markdown.Rows(w.text, w.key.width, colour)}
		}})
	}
	r.missed = nil
	return works
}

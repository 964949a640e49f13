package timeline

import "slices"

// keptRows is how many finished rows a terminal remembers: more than any window
// shows, so that superseded rows above it are known too.
const keptRows = 1000

// source is where a text comes from, as markers name it. Text without a source
// is never superseded.
type source struct {
	turn    string
	lineage []ref
	seq     int64
}

// rows are the finished rows of a terminal, the newest last, and the one the
// cursor is in.
type rows struct {
	list  []row
	open  row
	reach int // how many rows of list are certainly on the screen
	width int // of the terminal when the last row was finished
}

// row is one row of the screen.
type row struct {
	runs   []run
	from   *source // of a row without text
	header bool    // it names the thread of the following rows
}

// run is text of one style and source.
type run struct {
	text   string
	style  style
	from   *source
	struck bool
}

// add appends text to the row the cursor is in.
func (r *rows) add(text string, s style, from *source) {
	if text == "" {
		return
	}
	if n := len(r.open.runs); n > 0 && r.open.runs[n-1].style == s && r.open.runs[n-1].from == from {
		r.open.runs[n-1].text += text
		return
	}
	r.open.runs = append(r.open.runs, run{text: text, style: s, from: from})
}

// end finishes the row the cursor is in. A window whose width has changed has
// wrapped its rows again, so their positions are unknown.
func (r *rows) end(from *source, width, height int) {
	r.open.from = from
	r.list, r.open = append(r.list, r.open), row{}
	if len(r.list) > 2*keptRows {
		r.list = slices.Delete(r.list, 0, len(r.list)-keptRows)
	}
	r.look(width, height)
	r.reach = min(r.reach+1, height-1, len(r.list))
}

// look notices a change of the window. A window that is narrower than a line
// wraps lines itself.
func (r *rows) look(width, height int) {
	if width != r.width || width <= leastColumns {
		r.reach = 0
	}
	r.width, r.reach = width, max(0, min(r.reach, height-1))
}

// strike marks or removes the stale runs, and removes rows that become empty.
// up is how many rows, counted upwards from the cursor, must be rewritten, and
// rewritten is their new content; above tells whether there are stale rows out
// of reach.
func (r *rows) strike(stale func(*source) bool, mark bool) (up int, rewritten []row, above bool) {
	gone := func(from *source) bool { return from != nil && stale(from) }
	hit := func(line row) bool {
		return len(line.runs) == 0 && gone(line.from) || slices.ContainsFunc(line.runs, func(u run) bool { return !u.struck && gone(u.from) })
	}
	top := len(r.list) - r.reach
	for i := range r.list[:top] {
		if hit(r.list[i]) {
			above = true
			r.list[i] = row{} // reported once
		}
	}
	first := slices.IndexFunc(r.list[top:], hit)
	if first < 0 {
		return 0, nil, above
	}
	if first += top; first > top && r.list[first-1].header {
		first-- // it may have to be removed too
	}
	up = len(r.list) - first
	for _, line := range r.list[first:] {
		switch {
		case !hit(line):
		case mark:
			line.runs = slices.Clone(line.runs)
			if len(line.runs) == 0 {
				line.from = nil // there is no text to strike out
			}
			for i := range line.runs {
				line.runs[i].struck = line.runs[i].struck || gone(line.runs[i].from)
			}
		default:
			if line.runs = slices.DeleteFunc(line.runs, func(u run) bool { return gone(u.from) }); blank(line.runs) {
				continue
			}
		}
		if n := len(rewritten); n > 0 && line.header && rewritten[n-1].header {
			rewritten = rewritten[:n-1] // no row is left below that header
		}
		rewritten = append(rewritten, line)
	}
	r.list = append(r.list[:first], rewritten...)
	r.reach -= up - len(rewritten)
	return up, rewritten, above
}

// blank reports whether runs show nothing.
func blank(runs []run) bool {
	return !slices.ContainsFunc(runs, func(u run) bool {
		for _, c := range u.text {
			if c != ' ' {
				return true
			}
		}
		return false
	})
}

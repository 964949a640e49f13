package timeline

import "slices"

// keptRows is how many finished rows a terminal remembers: more than any
// window shows, and some above it, so that it is known whether what scrolled
// away is superseded too.
const keptRows = 1000

// source is where a text comes from, as markers name it. Text without one is
// never taken back.
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
	reach int // so many of list are on the screen for certain
	width int // of the terminal when the last row was finished
}

// row is one row of the screen.
type row struct {
	runs   []run
	from   *source // of a row without text
	header bool    // it names the thread of what follows
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

// end finishes the row the cursor is in. A window of another width than
// before has wrapped its rows anew: nobody knows where they are.
func (r *rows) end(from *source, width, height int) {
	r.open.from = from
	r.list, r.open = append(r.list, r.open), row{}
	if len(r.list) > 2*keptRows {
		r.list = slices.Delete(r.list, 0, len(r.list)-keptRows)
	}
	r.look(width, height)
	r.reach = min(r.reach+1, height-1, len(r.list))
}

// look notices that the window has changed. What is narrower than a line may
// be wraps lines on its own.
func (r *rows) look(width, height int) {
	if width != r.width || width <= leastColumns {
		r.reach = 0
	}
	r.width, r.reach = width, max(0, min(r.reach, height-1))
}

// strike marks the runs that are stale, or takes them out, with the rows that
// they leave empty. up is how many rows, counted from the cursor upwards, have
// to be written anew, and again what they are now; above tells whether there
// are stale ones that are out of reach.
func (r *rows) strike(stale func(*source) bool, mark bool) (up int, again []row, above bool) {
	gone := func(from *source) bool { return from != nil && stale(from) }
	hit := func(line row) bool {
		return len(line.runs) == 0 && gone(line.from) || slices.ContainsFunc(line.runs, func(u run) bool { return !u.struck && gone(u.from) })
	}
	top := len(r.list) - r.reach
	for i := range r.list[:top] {
		if hit(r.list[i]) {
			above = true
			r.list[i] = row{} // told once
		}
	}
	first := slices.IndexFunc(r.list[top:], hit)
	if first < 0 {
		return 0, nil, above
	}
	if first += top; first > top && r.list[first-1].header {
		first-- // it may have to go too
	}
	up = len(r.list) - first
	for _, line := range r.list[first:] {
		switch {
		case !hit(line):
		case mark:
			line.runs = slices.Clone(line.runs)
			if len(line.runs) == 0 {
				line.from = nil // there is nothing to strike out
			}
			for i := range line.runs {
				line.runs[i].struck = line.runs[i].struck || gone(line.runs[i].from)
			}
		default:
			if line.runs = slices.DeleteFunc(line.runs, func(u run) bool { return gone(u.from) }); blank(line.runs) {
				continue
			}
		}
		if n := len(again); n > 0 && line.header && again[n-1].header {
			again = again[:n-1] // nothing is left below that one
		}
		again = append(again, line)
	}
	r.list = append(r.list[:first], again...)
	r.reach -= up - len(again)
	return up, again, above
}

// blank tells whether runs show nothing.
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

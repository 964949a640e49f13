package markdown

import (
	"slices"

	extast "github.com/yuin/goldmark/extension/ast"
)

// between is what stands between two columns: a bar and the blanks around it.
const between = 3

// table draws a table: in columns if the longest words of all fit side by side, else each
// cell below the other, behind the head of its column if that is short.
func (d *drawing) table(table *extast.Table) {
	var rows [][][]glyph
	columns := 0
	for n := table.FirstChild(); n != nil; n = n.NextSibling() {
		s := d.style
		if n == table.FirstChild() {
			s |= bold
		}
		var cells [][]glyph
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			cells = append(cells, d.inline(c, s))
		}
		rows, columns = append(rows, cells), max(columns, len(cells))
	}
	if widths := d.columns(rows, columns); widths != nil {
		d.grid(rows, widths, table.Alignments)
	} else {
		d.stack(rows)
	}
}

// columns returns the widths of the columns, nil if not all words fit. What room is left goes
// to the columns that lack some, evenly.
func (d *drawing) columns(rows [][][]glyph, n int) []int {
	least, whole := make([]int, n), make([]int, n)
	for _, row := range rows {
		for i, cell := range row {
			whole[i] = max(whole[i], widthOf(cell))
			least[i] = max(least[i], longestWord(cell))
		}
	}
	room := d.paper.room() - between*(n-1)
	for i := range least {
		least[i] = max(least[i], 1)
		room -= least[i]
	}
	if room < 0 {
		return nil
	}
	for room > 0 {
		var lack []int
		for i := range least {
			if least[i] < whole[i] {
				lack = append(lack, i)
			}
		}
		if lack == nil {
			break
		}
		share := max(1, room/len(lack))
		for _, i := range lack[:min(len(lack), room)] {
			more := min(share, whole[i]-least[i])
			least[i] += more
			room -= more
		}
	}
	return least
}

func longestWord(text []glyph) (most int) {
	for _, word := range split(text) {
		most = max(most, widthOf(word))
	}
	return most
}

// split returns the words of a text.
func split(text []glyph) (words [][]glyph) {
	start := 0
	for i := 0; i <= len(text); i++ {
		if i == len(text) || text[i].char == ' ' || text[i].char == '\n' {
			words = append(words, text[start:i])
			start = i + 1
		}
	}
	return words
}

// grid draws the rows in columns, with a line below the head.
func (d *drawing) grid(rows [][][]glyph, widths []int, aligned []extast.Alignment) {
	for r, row := range rows {
		cells := make([][][]glyph, len(widths))
		height := 1
		for i := range cells {
			if i < len(row) {
				cells[i] = wrap(row[i], widths[i])
				height = max(height, len(cells[i]))
			}
		}
		for y := range height {
			var line []glyph
			for i, cell := range cells {
				if i > 0 {
					line = append(line, glyphs(" │ ", d.style)...)
				}
				var text []glyph
				if y < len(cell) {
					text = cell[y]
				}
				how := extast.AlignNone
				if i < len(aligned) {
					how = aligned[i]
				}
				line = append(line, align(text, widths[i], how)...)
			}
			d.paper.line(line)
		}
		if r == 0 {
			var line []glyph
			for i, width := range widths {
				if i > 0 {
					line = append(line, glyphs("─┼─", d.style)...)
				}
				line = append(line, slices.Repeat([]glyph{{'─', d.style}}, width)...)
			}
			d.paper.line(line)
		}
	}
}

// align fills a text to width columns.
func align(text []glyph, width int, how extast.Alignment) []glyph {
	fill := max(width-widthOf(text), 0)
	left := 0
	switch how {
	case extast.AlignRight:
		left = fill
	case extast.AlignCenter:
		left = fill / 2
	}
	blanks := func(n int) []glyph { return slices.Repeat([]glyph{{' ', 0}}, n) }
	return slices.Concat(blanks(left), text, blanks(fill-left))
}

// stack draws the cells of each row below one another.
func (d *drawing) stack(rows [][][]glyph) {
	head := rows[0]
	long := func(cell []glyph) bool { return widthOf(cell) > d.paper.room() }
	if body := rows[1:]; len(body) > 0 && !slices.ContainsFunc(head, long) {
		rows = body
	} else { // it is a row like the others, once
		head = nil
	}
	for r, row := range rows {
		if r > 0 {
			d.paper.gap()
		}
		for i := range max(len(head), len(row)) {
			var line []glyph
			if i < len(head) {
				line = append(slices.Clone(head[i]), glyphs(": ", d.style|bold)...)
			}
			if i < len(row) {
				line = append(line, row[i]...)
			}
			d.paper.text(trimRight(line))
		}
	}
}

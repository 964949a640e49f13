package main

import (
	"cmp"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
)

// table aligns columns. On a terminal it fits the width: it leaves out less
// important columns and cuts one. Elsewhere it is complete, so a long text moves the rest of its row.
type table struct {
	rows [][]string
	drop []string // heads of the columns to leave out, in this order
}

func newTable(head ...string) *table { return &table{rows: [][]string{head}} }

// add appends a row; its texts are made harmless. Runs of blanks stay, because a command
// that a person is asked about is shown as it would run.
func (t *table) add(cells ...string) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = strings.TrimSpace(strings.Map(onOneLine, timeline.Clean(cell)))
	}
	t.rows = append(t.rows, row)
}

func onOneLine(r rune) rune {
	if unicode.IsSpace(r) {
		return ' '
	}
	return r
}

// leastFlexible is the least width of the column that is shortened.
const leastFlexible = 12

// mostPadded is how wide a flexible column is at most where nothing is cut: a longer text
// moves the rest of its row, and not all other rows.
const mostPadded = 40

// write prints the table; flexible are the columns that are shortened.
func (t *table) write(con *console, flexible ...int) error {
	columns := 0 // no bound
	if con.isTerminal(con.out) {
		columns = con.columns() - 1
	}
	_, err := io.WriteString(con.out, t.layout(columns, flexible...))
	return err
}

// layout writes the table within a number of columns, 0 for no bound.
func (t *table) layout(columns int, flexible ...int) string {
	widths, rows := make([]int, len(t.rows[0])), t.rows
	if columns > 0 {
		rows = t.straight()
	}
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], timeline.Width(cell))
		}
	}
	if columns > 0 {
		for _, head := range t.drop {
			least := slices.Clone(widths)
			for _, i := range flexible {
				least[i] = min(least[i], leastFlexible)
			}
			if total(least) <= columns {
				break
			}
			widths[slices.Index(t.rows[0], head)] = 0
		}
		for over := total(widths) - columns; over > 0; over-- {
			widest := slices.MaxFunc(flexible, func(a, b int) int { return cmp.Compare(widths[a], widths[b]) })
			if widths[widest] <= leastFlexible {
				break
			}
			widths[widest]--
		}
	}
	if columns == 0 {
		for _, i := range flexible {
			widths[i] = min(widths[i], mostPadded)
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			if widths[i] > 0 {
				if columns > 0 {
					cell = timeline.Fit(cell, widths[i])
				}
				line.WriteString(cell + strings.Repeat(" ", max(widths[i]-timeline.Width(cell), 0)+2))
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

// straight returns the rows for a terminal: terminals draw joined emoji in different widths,
// and the columns behind them would not stay straight.
func (t *table) straight() [][]string {
	rows := make([][]string, len(t.rows))
	for i, row := range t.rows {
		for _, cell := range row {
			rows[i] = append(rows[i], screen.OneLine(cell))
		}
	}
	return rows
}

// total returns the width of a row: its columns and two spaces between them.
func total(widths []int) int {
	sum := -2
	for _, width := range widths {
		if width > 0 {
			sum += width + 2
		}
	}
	return sum
}

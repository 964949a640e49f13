package markdown

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// Rows draws a text in rows of at most width columns, with weights, and colours if colour.
// It returns nil if the text is empty, or should be shown as it is: its tables are too
// large, or it cannot be read as Markdown.
func Rows(markdown string, width int, colour bool) (rows []string) {
	defer func() {
		if recover() != nil { // a text that the parser cannot take
			rows = nil
		}
	}()
	source := []byte(screen.Clean(markdown))
	if tooManyCells(source) {
		return nil
	}
	d := &drawing{source: source, paper: paper{width: max(width, 2), colour: colour, margin: margin{begun: true}}}
	d.blocks(parse(source), false)
	rows = d.paper.rows
	for i, row := range rows {
		rows[i] = screen.Fit(screen.Colours(row), width)
	}
	for len(rows) > 0 && strings.TrimSpace(rows[0]) == "" {
		rows = rows[1:]
	}
	for len(rows) > 0 && strings.TrimSpace(rows[len(rows)-1]) == "" {
		rows = rows[:len(rows)-1]
	}
	return rows
}

// drawing draws a document.
type drawing struct {
	source []byte
	paper  paper
	style  style // of all text, in quotes
}

// blocks draws the blocks in a node, with empty rows between them unless tight.
func (d *drawing) blocks(parent ast.Node, tight bool) {
	first := true
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Kind() == ast.KindTextBlock && n.FirstChild() == nil {
			continue // definitions were here
		}
		if !first && !tight {
			d.paper.gap()
		}
		first = false
		d.block(n)
	}
}

func (d *drawing) block(n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		look := d.style | bold | coloured
		d.paper.text(append(glyphs(strings.Repeat("#", n.Level)+" ", look), d.inline(n, look)...))
	case *ast.Blockquote:
		end := d.paper.indent("│ ", "│ ", faint)
		outer := d.style
		d.style |= faint
		d.blocks(n, false)
		d.style = outer
		end()
	case *ast.List:
		d.list(n)
	case *ast.CodeBlock:
		d.code(n.Lines())
	case *ast.FencedCodeBlock:
		if n.Info != nil {
			d.paper.text(glyphs("```"+resolve(string(n.Info.Segment.Value(d.source))), d.style|faint))
		}
		d.code(n.Lines())
	case *ast.HTMLBlock:
		lines := n.Lines()
		if n.HasClosure() {
			lines.Append(n.ClosureLine)
		}
		d.raw(lines, d.style)
	case *definitions:
		d.raw(n.Lines(), d.style|faint)
	case *ast.ThematicBreak:
		d.paper.text(glyphs(strings.Repeat("─", min(8, d.paper.room())), d.style|faint))
	case *extast.Table:
		d.table(n)
	default: // paragraphs
		d.paper.text(d.inline(n, d.style))
	}
}

func (d *drawing) list(list *ast.List) {
	number := list.Start
	for n := list.FirstChild(); n != nil; n = n.NextSibling() {
		sign := "• "
		if list.IsOrdered() {
			sign = strconv.Itoa(number) + string(list.Marker) + " "
			number++
		}
		if n != list.FirstChild() && !list.IsTight {
			d.paper.gap()
		}
		end := d.paper.indent(sign, strings.Repeat(" ", screen.Width(sign)), d.style)
		d.blocks(n, list.IsTight)
		if !d.paper.margin.begun { // an item without text
			d.paper.line(nil)
		}
		end()
	}
}

// code draws lines of code, which are indented by two.
func (d *drawing) code(lines *text.Segments) {
	end := d.paper.indent("  ", "  ", d.style)
	d.raw(lines, d.style|coloured)
	end()
}

// raw draws lines as they were written.
func (d *drawing) raw(lines *text.Segments, s style) {
	d.paper.text(glyphs(strings.TrimRight(string(lines.Value(d.source)), "\n"), s))
}

package markdown

import (
	"bytes"
	"regexp"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// parse reads a text. The document has what goldmark leaves out of it: definitions of links,
// as definitions, and cells that have no column.
func parse(source []byte) ast.Node {
	paragraphs := []util.PrioritizedValue{
		util.Prioritized(keeper{parser.LinkReferenceParagraphTransformer}, 100),
		util.Prioritized(keeper{extension.NewTableParagraphTransformer()}, 200),
	}
	md := goldmark.New(
		goldmark.WithParser(parser.NewParser(
			parser.WithBlockParsers(parser.DefaultBlockParsers()...),
			parser.WithInlineParsers(parser.DefaultInlineParsers()...),
			parser.WithParagraphTransformers(paragraphs...),
			parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
		)),
		goldmark.WithExtensions(extension.Linkify, extension.Strikethrough, extension.TaskList),
	)
	return md.Parser().Parse(text.NewReader(source))
}

// mostCells is how many cells the tables of a text may have.
const mostCells = 10_000

var delimiter = regexp.MustCompile(`^[\s>*+.)\d]*[|:-][\s|:-]*$`)

// tooManyCells reports whether tables may have more than mostCells: each row is filled up to
// the width of its head, so a short text could become gigabytes.
func tooManyCells(source []byte) bool {
	n, columns := 0, 0
	for line := range bytes.Lines(source) {
		switch line = bytes.TrimSpace(line); {
		case len(line) == 0:
			columns = 0
		case delimiter.Match(line):
			columns = max(columns, bytes.Count(line, []byte("|"))+1)
		}
		n += columns
	}
	return n > mostCells
}

// definitions is the text of definitions of links.
type definitions struct{ ast.BaseBlock }

var kindDefinitions = ast.NewNodeKind("Definitions")

func (*definitions) Kind() ast.NodeKind              { return kindDefinitions }
func (*definitions) IsRaw() bool                     { return true }
func (d *definitions) Dump(source []byte, level int) { ast.DumpHelper(d, source, level, nil, nil) }

// keeper keeps what the transformer of paragraphs in it leaves out.
type keeper struct{ parser.ParagraphTransformer }

// Transform implements parser.ParagraphTransformer.
func (k keeper) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	parent, before := node.Parent(), node.PreviousSibling()
	lines := append([]text.Segment(nil), node.Lines().Sliced(0, node.Lines().Len())...)
	k.ParagraphTransformer.Transform(node, reader, pc)
	next := parent.FirstChild()
	if before != nil {
		next = before.NextSibling()
	}
	for n := next; n != nil; n = n.NextSibling() {
		if table, ok := n.(*extast.Table); ok {
			keepCells(table, lines, reader.Source())
			return
		}
	}
	left := map[int]bool{}
	for _, s := range node.Lines().Sliced(0, node.Lines().Len()) {
		left[s.Start] = true
	}
	kept := &definitions{}
	for _, s := range lines {
		if !left[s.Start] {
			kept.Lines().Append(s)
		}
	}
	if kept.Lines().Len() > 0 {
		kept.SetBlankPreviousLines(node.HasBlankPreviousLines())
		if before != nil {
			parent.InsertAfter(parent, before, kept)
		} else {
			parent.InsertBefore(parent, next, kept)
		}
	}
}

// keepCells adds the cells that a row has more than the head of its table. The rows are
// the last ones of lines.
func keepCells(table *extast.Table, lines []text.Segment, source []byte) {
	lines = lines[len(lines)-(table.ChildCount()-1):]
	row := table.FirstChild()
	for _, line := range lines {
		row = row.NextSibling()
		last := row.LastChild()
		if last == nil || last.Lines().Len() == 0 {
			continue
		}
		at := last.Lines().At(0).Stop
		rest := trimmed(at, line.Stop, source)
		if rest.IsEmpty() || source[rest.Start] != '|' {
			continue
		}
		for rest.Start < rest.Stop {
			end := rest.Start + 1
			for end < rest.Stop && (source[end] != '|' || source[end-1] == '\\') {
				end++
			}
			cell := extast.NewTableCell()
			cell.Lines().Append(trimmed(rest.Start+1, end, source))
			rest.Start = end
			if rest.Start+1 >= rest.Stop && len(bytes.TrimSpace(cell.Lines().Value(source))) == 0 {
				break // the bar that ends the row
			}
			row.AppendChild(row, cell)
		}
	}
}

// trimmed returns a part of the source without the blanks around it.
func trimmed(start, stop int, source []byte) text.Segment {
	for start < stop && util.IsSpace(source[stop-1]) {
		stop--
	}
	for start < stop && util.IsSpace(source[start]) {
		start++
	}
	return text.NewSegment(start, stop)
}

package conversation

import (
	"fmt"
	"strings"

	"charm.land/glamour/v2"
	"charm.land/glamour/v2/ansi"

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

// wanted are the works that are missing; they are given out once.
func (r *renderings) wanted() (works []screen.Action) {
	for _, w := range r.missed {
		colour := r.colour
		works = append(works, screen.Work{Do: func() any {
			return rendered{key: w.key, rows: renderMarkdown(w.text, w.key.width, colour)}
		}})
	}
	r.missed = nil
	return works
}

// renderMarkdown renders a text to rows of at most width columns; nil if it cannot. The
// text is sanitized before, because glamour lets sequences through, and what glamour adds
// beside colours and weights is removed after.
func renderMarkdown(text string, width int, colour bool) (rows []string) {
	defer func() {
		if recover() != nil { // a text that the parser cannot take is shown as it is
			rows = nil
		}
	}()
	r, err := glamour.NewTermRenderer(glamour.WithStyles(markdownStyle(colour)), glamour.WithWordWrap(width), glamour.WithTableWrap(true))
	if err != nil {
		return nil
	}
	out, err := r.Render(screen.Clean(text))
	if err != nil {
		return nil
	}
	for line := range strings.SplitSeq(strings.Trim(screen.Colours(out), "\n"), "\n") {
		rows = append(rows, screen.Fit(trimRow(line), width))
	}
	for len(rows) > 0 && strings.TrimSpace(rows[0]) == "" {
		rows = rows[1:]
	}
	for len(rows) > 0 && strings.TrimSpace(rows[len(rows)-1]) == "" {
		rows = rows[:len(rows)-1]
	}
	return rows
}

// trimRow removes the blanks that fill a row, also those between sequences at its end.
func trimRow(line string) string {
	end, coloured := len(line), false
	for end > 0 {
		if line[end-1] == ' ' {
			end--
			continue
		}
		start := strings.LastIndex(line[:end], "\x1b[")
		if line[end-1] != 'm' || start < 0 || strings.Trim(line[start+2:end-1], "0123456789;:") != "" {
			break
		}
		end, coloured = start, true
	}
	if coloured && strings.Contains(line[:end], "\x1b[") {
		return line[:end] + "\x1b[m"
	}
	return line[:end]
}

// markdownStyle uses weights, and of colours only some of the terminal's own sixteen,
// which are readable on dark and on light backgrounds.
func markdownStyle(colour bool) ansi.StyleConfig {
	yes := true
	hue := func(code int) *string {
		if !colour {
			return nil
		}
		text := fmt.Sprint(code)
		return &text
	}
	zero, one, two := uint(0), uint(1), uint(2)
	quote, dash := "│ ", "│"
	row := "─"
	cross := "┼"
	prefix := func(p string) ansi.StyleBlock {
		return ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Prefix: p}}
	}
	return ansi.StyleConfig{
		Document:              ansi.StyleBlock{Margin: &zero},
		BlockQuote:            ansi.StyleBlock{Indent: &one, IndentToken: &quote, StylePrimitive: ansi.StylePrimitive{Faint: &yes}},
		List:                  ansi.StyleList{LevelIndent: 2},
		Heading:               ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{BlockSuffix: "\n", Bold: &yes, Color: hue(6)}},
		H1:                    prefix("# "),
		H2:                    prefix("## "),
		H3:                    prefix("### "),
		H4:                    prefix("#### "),
		H5:                    prefix("##### "),
		H6:                    prefix("###### "),
		Strikethrough:         ansi.StylePrimitive{CrossedOut: &yes},
		Emph:                  ansi.StylePrimitive{Italic: &yes},
		Strong:                ansi.StylePrimitive{Bold: &yes},
		HorizontalRule:        ansi.StylePrimitive{Format: "\n────────\n", Faint: &yes},
		Item:                  ansi.StylePrimitive{BlockPrefix: "• "},
		Enumeration:           ansi.StylePrimitive{BlockPrefix: ". "},
		Task:                  ansi.StyleTask{Ticked: "[x] ", Unticked: "[ ] "},
		Link:                  ansi.StylePrimitive{Underline: &yes},
		LinkText:              ansi.StylePrimitive{Bold: &yes},
		Image:                 ansi.StylePrimitive{Underline: &yes},
		ImageText:             ansi.StylePrimitive{Format: "[image {{.text}}]"},
		Code:                  ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Prefix: "`", Suffix: "`", Color: hue(6)}},
		CodeBlock:             ansi.StyleCodeBlock{StyleBlock: ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Color: hue(6)}, Margin: &two}},
		Table:                 ansi.StyleTable{CenterSeparator: &cross, ColumnSeparator: &dash, RowSeparator: &row},
		DefinitionDescription: ansi.StylePrimitive{BlockPrefix: "\n  "},
	}
}

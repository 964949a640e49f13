package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// inline returns the text in a node; a break in the source is a line feed.
func (d *drawing) inline(parent ast.Node, s style) (out []glyph) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		out = append(out, d.span(n, s)...)
	}
	return out
}

func (d *drawing) span(n ast.Node, s style) []glyph {
	switch n := n.(type) {
	case *ast.Text:
		words := string(n.Segment.Value(d.source))
		if !n.IsRaw() {
			words = resolve(words)
		}
		if n.SoftLineBreak() || n.HardLineBreak() {
			words += "\n"
		}
		return glyphs(words, s)
	case *ast.String:
		return glyphs(string(n.Value), s)
	case *ast.CodeSpan:
		return d.codeSpan(n, s|coloured)
	case *ast.RawHTML:
		return glyphs(string(n.Segments.Value(d.source)), s)
	case *ast.Emphasis:
		if n.Level == 1 {
			return d.inline(n, s|italic)
		}
		return d.inline(n, s|bold)
	case *extast.Strikethrough:
		return d.inline(n, s|struck)
	case *extast.TaskCheckBox:
		if n.IsChecked {
			return glyphs("[x] ", s)
		}
		return glyphs("[ ] ", s)
	case *ast.AutoLink:
		return d.autoLink(n, s)
	case *ast.Link:
		return d.link(d.inline(n, s|bold), d.inline(n, s), "[", n.Destination, n.Title, s)
	case *ast.Image:
		words := d.inline(n, s)
		alt := append(append(glyphs("[image ", s), words...), glyph{']', s})
		return d.link(alt, words, "![", n.Destination, n.Title, s)
	}
	return d.inline(n, s)
}

// codeSpan draws code between backticks.
func (d *drawing) codeSpan(n ast.Node, s style) []glyph {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(d.source))
		}
	}
	return glyphs("`"+strings.ReplaceAll(b.String(), "\n", " ")+"`", s)
}

// link returns a link: what is drawn of it, its address and its title. One whose address names a
// user is none, and is drawn as it was written: its words behind open, and the address.
func (d *drawing) link(drawn, words []glyph, open string, to, called []byte, s style) []glyph {
	address, title := resolve(string(to)), ""
	if len(called) > 0 {
		title = ` "` + strings.Join(strings.Fields(resolve(string(called))), " ") + `"`
	}
	if namesUser(address) {
		out := append(glyphs(open, s), words...)
		return append(out, glyphs("]("+address+title+")", s)...)
	}
	out := drawn
	switch text := textOf(drawn); {
	case text == address || "mailto:"+text == address:
		for i := range out {
			out[i].style |= underlined
		}
	case len(out) > 0 && address != "":
		out = append(out, glyph{' ', s})
		fallthrough
	default:
		out = append(out, glyphs(address, s|underlined)...)
	}
	return append(out, glyphs(title, s)...)
}

// autoLink returns an address that is a link by itself.
func (d *drawing) autoLink(n *ast.AutoLink, s style) []glyph {
	label := string(n.Label(d.source))
	switch {
	case n.AutoLinkType == ast.AutoLinkURL && !ofWeb(label):
		return glyphs("<"+label+">", s)
	case namesUser(string(n.URL(d.source))):
		return glyphs(label, s)
	}
	return glyphs(label, s|underlined)
}

func textOf(text []glyph) string {
	var b strings.Builder
	for _, g := range text {
		b.WriteRune(g.char)
	}
	return b.String()
}

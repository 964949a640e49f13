// Package markdowntest makes random Markdown, for tests of what draws it: every word must
// be shown.
package markdowntest

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Texts makes random Markdown, the same for the same seed. It is for one goroutine.
type Texts struct {
	random *rand.Rand
	n      int
	words  []string
}

// New returns the texts of a seed.
func New(seed uint64) *Texts { return &Texts{random: rand.New(rand.NewPCG(seed, seed))} }

// Next returns the next text, and the words in it: w, a number that no other word has, and x.
func (r *Texts) Next() (text string, words []string) {
	r.words = []string{}
	text = r.blocks(0)
	return text, r.words
}

// w returns a new word.
func (r *Texts) w() string {
	r.n++
	word := fmt.Sprintf("w%dx", r.n)
	r.words = append(r.words, word)
	return word
}

func (r *Texts) some(most int, sep string, piece func() string) string {
	pieces := make([]string, 1+r.random.IntN(most))
	for i := range pieces {
		pieces[i] = piece()
	}
	return strings.Join(pieces, sep)
}

// inline returns a text within a line, or over two.
func (r *Texts) inline() string {
	return r.some(5, [...]string{" ", " ", " ", "", "\n", "  \n", "\\\n", " \\"}[r.random.IntN(8)], r.span)
}

func (r *Texts) span() string {
	switch r.random.IntN(34) {
	case 0:
		return "tool <" + r.w() + ">"
	case 1:
		return "Vec<" + r.w() + "<" + r.w() + ">>"
	case 2:
		return "KEY=<" + r.w() + " " + r.w() + ">"
	case 3:
		return "<" + r.w() + " a=\"" + r.w() + "\">" + r.w() + "</" + r.w() + ">"
	case 4:
		return "<!-- " + r.w() + " " + r.w() + " -->"
	case 5:
		return "<?php " + r.w() + " ?>"
	case 6:
		return "<![CDATA[" + r.w() + "]]>"
	case 7:
		return "<https://a.example/" + r.w() + ">"
	case 8:
		return "<" + r.w() + "@b.example>"
	case 9:
		return "map<std::" + r.w() + ">"
	case 10:
		return "https://a.example/" + r.w() + "?q=" + r.w() + "."
	case 11:
		return "www.a.example/" + r.w()
	case 12:
		return "[" + r.phrase() + "](https://a.example/" + r.w() + " \"" + r.w() + "\")"
	case 13:
		return "[" + r.w() + "](<" + r.w() + " " + r.w() + "> '" + r.w() + "')"
	case 14:
		return "![" + r.phrase() + "](" + r.w() + ".png (" + r.w() + "))"
	case 15:
		return "[" + r.w() + "][r] [r] [r][] [" + r.w() + "][none]"
	case 16:
		return "[" + r.w() + "](https://" + r.w() + "@evil.example \"" + r.w() + "\")"
	case 17:
		return "note[^" + r.w() + "]"
	case 18:
		return "`" + r.w() + " <" + r.w() + ">`"
	case 19:
		return "``" + r.w() + " ` " + r.w() + "``"
	case 20:
		return "**" + r.phrase() + "**"
	case 21:
		return "*" + r.w() + "* _" + r.w() + "_ __" + r.w() + "__"
	case 22:
		return "~~" + r.w() + "~~"
	case 23:
		return "&lt;" + r.w() + "&gt; &amp;" + r.w() + "; &" + r.w() + "; &#60;" + r.w()
	case 24:
		return [...]string{"*", "_", "`", "[", "](", "<", "|", "~~", "![", "**", "&", "\\", "#", "-", ">", "1.", "<!--", "</", "```"}[r.random.IntN(19)]
	case 25:
		return "\\*" + r.w() + "\\* \\<" + r.w() + "\\>"
	case 26:
		return r.w() + " | " + r.w()
	}
	return r.w()
}

// phrase returns a few words, of which the last one may be something else.
func (r *Texts) phrase() string {
	switch r.random.IntN(3) {
	case 0:
		return r.w() + " `" + r.w() + "`"
	case 1:
		return r.w() + " *" + r.w() + "*"
	}
	return r.w()
}

func (r *Texts) blocks(depth int) string {
	return r.some(4-min(depth, 2), [...]string{"\n\n", "\n\n", "\n"}[r.random.IntN(3)], func() string { return r.block(depth) })
}

func (r *Texts) block(depth int) string {
	kind := r.random.IntN(24)
	if depth > 3 && kind < 8 {
		kind = 23
	}
	switch kind {
	case 0, 1, 2:
		return r.list(func(int) string { return [...]string{"- ", "* ", "+ ", "- [x] ", "- [ ] "}[r.random.IntN(5)] }, depth)
	case 3, 4:
		return r.list(func(i int) string { return fmt.Sprint(i+r.random.IntN(3)) + [...]string{". ", ") "}[r.random.IntN(2)] }, depth)
	case 5, 6:
		return "> " + strings.ReplaceAll(r.blocks(depth+1), "\n", [...]string{"\n> ", "\n>", "\n"}[r.random.IntN(3)])
	case 7:
		return "    " + strings.ReplaceAll(r.blocks(depth+1), "\n", "\n    ")
	case 8:
		return strings.Repeat("#", 1+r.random.IntN(7)) + " " + r.inline() + [...]string{"", " ##"}[r.random.IntN(2)]
	case 9:
		return r.inline() + "\n" + [...]string{"===", "---"}[r.random.IntN(2)]
	case 10:
		return "```" + r.w() + " " + r.w() + "\n" + r.w() + " <" + r.w() + ">\n\n\t" + r.w() + "\n" + [...]string{"```", "````", "", "~~~"}[r.random.IntN(4)]
	case 11:
		return "~~~\n" + r.w() + "\n~~~"
	case 12, 13:
		return r.table()
	case 14:
		return "[r]: https://a.example/" + r.w() + " \"" + r.w() + "\""
	case 15:
		return "[" + r.w() + "]: " + r.w() + "\n[" + r.w() + "]:\n<" + r.w() + ">\n'" + r.w() + "\n" + r.w() + "'"
	case 16:
		return "[^" + r.w() + "]: " + r.some(2, " ", r.w)
	case 17:
		return "<div " + r.w() + ">\n" + r.w() + "\n</div>" + r.w()
	case 18:
		return "<!-- " + r.w() + "\n\n" + r.w() + " -->" + r.w()
	case 19:
		return "<script>" + r.w() + "\n" + r.w() + "</script>" + r.w()
	case 20:
		return [...]string{"---", "***", "- - -", "-", "*", "1."}[r.random.IntN(6)]
	}
	return r.inline()
}

func (r *Texts) list(sign func(int) string, depth int) string {
	i := 0
	return r.some(4, [...]string{"\n", "\n\n"}[r.random.IntN(2)], func() string {
		s := sign(i)
		i++
		return s + strings.ReplaceAll(r.blocks(depth+1), "\n", "\n"+strings.Repeat(" ", [...]int{len(s), len(s), 2, 0, 4}[r.random.IntN(5)]))
	})
}

// table draws rows with fewer and with more cells than its head.
func (r *Texts) table() string {
	edge := [...]string{"| ", ""}[r.random.IntN(2)]
	row := func(cells int, cell func() string) string {
		all := make([]string, cells)
		for i := range all {
			all[i] = cell()
		}
		return edge + strings.Join(all, " | ") + strings.TrimRight(" "+edge, " ")
	}
	words := func() string {
		switch r.random.IntN(8) {
		case 0:
			return ""
		case 1:
			return "`" + r.w() + " \\| " + r.w() + "`"
		case 2:
			return "<" + r.w() + ">"
		case 3:
			return "[" + r.w() + "](" + r.w() + ")"
		case 4:
			return r.w() + " \\| " + r.w()
		}
		return r.w() + " " + r.w()
	}
	n := 1 + r.random.IntN(5)
	lines := []string{row(n, words), row(n, func() string { return [...]string{"---", ":-", "-:", ":-:"}[r.random.IntN(4)] })}
	for range r.random.IntN(4) {
		lines = append(lines, row(r.random.IntN(n+4), words))
	}
	return strings.Join(lines, "\n")
}

package markdown

import (
	"regexp"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/internal/test/markdowntest"
)

var sequences = regexp.MustCompile("\x1b\\[[0-9;]*m")

// wordsOfTexts are the words of markdowntest; notOfWords is what none of them has.
var (
	wordsOfTexts = regexp.MustCompile("w[0-9]+x")
	notOfWords   = regexp.MustCompile("[^a-z0-9]+")
)

// plain are rows without what a terminal draws them in.
func plain(rows []string) string {
	return sequences.ReplaceAllString(strings.Join(rows, "\n"), "")
}

func TestMarkdownIsDrawn(t *testing.T) {
	for _, c := range []struct {
		name, text string
		width      int
		want       string
	}{
		{"inline HTML", "Call tool <input> with Vec<String> and KEY=<your key>.", 80, "Call tool <input> with Vec<String> and KEY=<your key>."},
		{"paragraphs of an item", "- one\n\n  two\n- three\n", 80, "• one\n\n  two\n\n• three"},
		{"line feeds", "one\ntwo  \nthree\\\nfour", 80, "one\ntwo\nthree\nfour"},
		{"a heading", "# One `two`\ntext\n\nThree\n---\n", 80, "# One `two`\n\ntext\n\n## Three"},
		{"a list in a list", "1. one\n   - two\n     three\n2. four", 80, "1. one\n   • two\n     three\n2. four"},
		{"numbers", "9) one\n1) two", 80, "9) one\n10) two"},
		{"an item without text", "- \n- one\n-", 80, "•\n• one\n•"},
		{"lists in a line", "- - one\n  - two", 80, "• • one\n  • two"},
		{"tasks", "- [x] one\n- [ ] two", 80, "• [x] one\n• [ ] two"},
		{"a quote", "> one\n> two\n>\n> - three\n>   > four", 80, "│ one\n│ two\n│\n│ • three\n│   │ four"},
		{"code", "```go main.go\nif a < b {\n\n\tc()\n}\n```\nend", 80, "```go main.go\n  if a < b {\n\n      c()\n  }\n\nend"},
		{"code that is open", "```\none", 80, "  one"},
		{"code that is indented", "one\n\n    two\n      three", 80, "one\n\n  two\n    three"},
		{"code that is wide", "```\n  123456789 123456789\n```", 14, "    123456789\n  123456789"},
		{"blocks of HTML", "<details>\n<summary>one</summary>\n\ntwo\n</details>\n<!-- three\nfour -->\nfive", 80, "<details>\n<summary>one</summary>\n\ntwo\n\n</details>\n<!-- three\nfour -->\nfive"},
		{"a comment", "<!-- one -->\n\ntwo <!-- three --> <?php four ?>", 80, "<!-- one -->\n\ntwo <!-- three --> <?php four ?>"},
		{"links", "[one](https://a.example \"two\") <https://b.example> www.c.example [https://d.example](https://d.example)", 200, "one https://a.example \"two\" https://b.example www.c.example https://d.example"},
		{"what looks like a link", "map<std::string> <a@b.example>", 80, "map<std::string> a@b.example"},
		{"images", "![one *two*](three.png \"four\") ![](five.png)", 80, "[image one two] three.png \"four\" [image ] five.png"},
		{"references", "[one][r] and [two]\n\n[r]: https://a.example 'three'\n[four]: five\nsix", 80, "one https://a.example \"three\" and [two]\n\n[r]: https://a.example 'three'\n[four]: five\n\nsix"},
		{"a reference alone", "- [one]: two", 80, "• [one]: two"},
		{"a reference under a line", "[one]: two\n===", 80, "[one]: two\n\n==="},
		{"a note", "one[^1]\n\n[^1]: two", 80, "one^1 two\n\n[^1]: two"},
		{"entities", `&lt;one&gt; &amp;lt; \&amp; \* &copy; &unknown; &#65;&#x42; a&b; &#27;[31m &#0; &#10;`, 80, `<one> &lt; &amp; * © &unknown; AB a&b; &#27;[31m &#0;`},
		{"weights", "**one** *two* ~~three~~ `four <b>` ***five***", 80, "one two three `four <b>` five"},
		{"a rule", "one\n\n---\n\ntwo", 80, "one\n\n────────\n\ntwo"},
		{"a table", "| one | two |\n|---|--:|\n| `a\\|b` | 1 |\n| c \\| d | 22 |", 80, "one   │ two\n──────┼────\n`a|b` │   1\nc | d │  22"},
		{"a table with too many cells", "| one | two |\n|---|---|\n| three |\n| four | five | six | seven |\n|||eight", 80, "one   │ two  │       │\n──────┼──────┼───────┼──────\nthree │      │       │\nfour  │ five │ six   │ seven\n      │      │ eight │"},
		{"a table with long cells", "| one | two |\n|---|---|\n| three four five six | seven eight |", 20, "one       │ two\n──────────┼─────────\nthree     │ seven\nfour five │ eight\nsix       │"},
		{"a table with long words", "| one | two |\n|---|---|\n| threethreethree | four |\n| five | six | seven", 20, "one: threethreethree\ntwo: four\n\none: five\ntwo: six\nseven"},
		{"a head with long words", "| oneoneoneone | twotwotwotwo |\n|---|---|", 20, "oneoneoneone\ntwotwotwotwo"},
		{"a long head", "| one two three | four |\n|---|---|\n| fivefive | sixsix |", 12, "one two\nthree\nfour\n\nfivefive\nsixsix"},
		{"text and a table", "one\n| two |\n|---|\n| three | four", 80, "one\n\ntwo   │\n──────┼─────\nthree │ four"},
		{"wide characters", "| 表表 | b |\n|---|---|\n| a | 表 |", 80, "表表 │ b\n─────┼───\na    │ 表"},
		{"a long word", strings.Repeat("a", 25), 10, "aaaaaaaaaa\naaaaaaaaaa\naaaaa"},
		{"deep lists", strings.Repeat("- ", 20) + "one two three four", 20, "• • • • • one two\n          three four"},
		{"nothing", " \n\n", 80, ""},
	} {
		if got := plain(Rows(c.text, c.width, true)); got != c.want {
			t.Errorf("%s: %q is drawn as\n%s\nwant\n%s", c.name, c.text, got, c.want)
		}
	}
}

// Without colours there are weights, and nothing else.
func TestWithoutColours(t *testing.T) {
	const text = "# head `code`\n\n> *quote*\n\n```\ncode\n```\n[link](https://a.example)"
	for colour, want := range map[bool]bool{true: true, false: false} {
		rows := strings.Join(Rows(text, 80, colour), "\n")
		if strings.Contains(rows, "36m") != want || !strings.Contains(rows, "\x1b[1m") && !colour {
			t.Errorf("colour %v: %q", colour, rows)
		}
	}
}

// Colours are what the package itself writes, so those of an agent must be gone before.
func TestAnAgentCannotColourItsMarkdown(t *testing.T) {
	for _, text := range []string{"\x1b[45mred\x1b[m", "a `\x1b[45mcode` b", "```\n\x1b[45mcode\n```", "- \x1b[8mhidden", "&#27;[45mred", "[a](\x1b[45mb)", "&#x9b;45mred", "a&#x202e;b"} {
		for _, row := range Rows(text, 60, true) {
			for _, bad := range []string{"\x1b[45m", "\x1b[8m", "\u009b", "\u202e"} {
				if strings.Contains(row, bad) {
					t.Errorf("%q becomes %q", text, row)
				}
			}
		}
	}
}

// Rows are never wider than the page, whatever a text is, and no row had to be cut for it.
func TestRowsAreNotWiderThanThePage(t *testing.T) {
	r := markdowntest.New(1)
	for n := range 500 {
		text, _ := r.Next()
		width := 2 + n%60
		for _, row := range Rows(text, width, n%2 == 0) {
			if screen.Width(row) > width || strings.Contains(row, "…") {
				t.Fatalf("%d columns: %q of %q", width, row, text)
			}
		}
	}
}

// Every word that an agent wrote is in the rows.
func TestEveryWordIsInTheRows(t *testing.T) {
	r := markdowntest.New(2)
	for n := range 2000 {
		text, words := r.Next()
		width := []int{120, 80, 40, 24}[n%4]
		rows := Rows(text, width, n%3 == 0)
		// A word that is longer than a row is in several, with margins between them.
		shown := map[string]bool{}
		for _, word := range wordsOfTexts.FindAllString(notOfWords.ReplaceAllString(plain(rows), ""), -1) {
			shown[word] = true
		}
		for _, word := range words {
			if !shown[word] {
				t.Fatalf("%s is lost at %d columns of\n%s\n-- drawn as --\n%s", word, width, text, plain(rows))
			}
		}
	}
}

// Whatever the longest text is that is drawn, its rows are not much more than it, and the
// words in it are there.
func TestTextsThatMeanHarm(t *testing.T) {
	const most = 32 << 10
	fill := func(piece string) string { return strings.Repeat(piece, most/len(piece)) }
	numbered := func(n int, piece func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(piece(i))
		}
		return b.String()
	}
	for name, text := range map[string]string{
		"brackets": fill("[") + "word", "links in links": strings.Repeat("[", 2000) + "word" + strings.Repeat("](b)", 2000), "images": fill("![word]("), "stars": strings.Repeat("*", most/2) + "word" + strings.Repeat("*", most/2),
		"stars and words": fill("***word **b "), "underscores": fill("word_"), "an address": strings.Repeat("a", most) + "@word", "tags": fill("<word "), "comments": fill("<!--word"), "entities": fill("&word"),
		"quotes": strings.Repeat(">", most/2) + "word" + strings.Repeat("\nb", most/4), "lists in a line": fill("- ") + "word", "lists and quotes": fill("- > ") + "word", "fences": fill("```word\n"), "rules": "word\n\n" + fill("---\n"),
		"backticks":      numbered(250, func(i int) string { return strings.Repeat("`", i) + "word " }),
		"lists in lists": numbered(250, func(i int) string { return strings.Repeat(" ", i) + "- word\n" }),
		"definitions":    fill("[a]: word\n"), "blanks": strings.Repeat(" ", most) + "word",
		"a wide table": "|" + strings.Repeat("a|", 4000) + "\n|" + strings.Repeat("-|", 4000) + "\n" + strings.Repeat("word\n", 3000),
		"a long table": "|word|\n|-|\n" + fill("a\n"), "a long head": "|" + strings.Repeat("word ", most/10) + "|b|\n|-|-|\n" + strings.Repeat("c|d\n", most/20),
		"many tables": fill("|word|b|\n|-|-|\n|c|\n\n"), "a table in a quote": "> |" + strings.Repeat("a|", 1000) + "\n> |" + strings.Repeat("-|", 1000) + "\n" + strings.Repeat("> word\n", 2000),
		"weights": fill("**word** "),
	} {
		rows := Rows(text, 80, true)
		if rows == nil {
			if cells := strings.Contains(text, "|-|"); !cells {
				t.Errorf("%s is not drawn", name)
			}
			continue // shown as it is
		}
		if len(rows) > len(text)/2 {
			t.Errorf("%s: %d bytes are drawn in %d rows", name, len(text), len(rows))
		}
		if !strings.Contains(notOfWords.ReplaceAllString(plain(rows), ""), "word") {
			t.Errorf("%s: the word is lost", name)
		}
	}
}

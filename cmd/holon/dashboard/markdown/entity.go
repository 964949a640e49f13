package markdown

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/util"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// longestEntity is more than HTML has: a text of & without ; must not take its length squared.
const longestEntity = 40

// resolve replaces what is escaped in a text, by a backslash or as an entity. What an
// entity hides is harmless afterwards, too.
func resolve(source string) string {
	if !strings.ContainsAny(source, `\&`) {
		return source
	}
	var b strings.Builder
	for i := 0; i < len(source); {
		switch c := source[i]; {
		case c == '\\' && i+1 < len(source) && util.IsPunct(source[i+1]):
			b.WriteByte(source[i+1])
			i += 2
			continue
		case c == '&':
			end := strings.IndexByte(source[i:min(len(source), i+longestEntity)], ';')
			if char := entity(source[i+1 : i+max(end, 1)]); char != "" {
				b.WriteString(char)
				i += end + 1
				continue
			}
		}
		b.WriteByte(source[i])
		i++
	}
	return strings.ReplaceAll(screen.Clean(b.String()), "\n", " ")
}

// entity returns what a name or number stands for, "" if there is nothing visible.
func entity(name string) string {
	if number, ok := strings.CutPrefix(name, "#"); ok {
		base := 10
		if hex, ok := strings.CutPrefix(strings.ToLower(number), "x"); ok {
			number, base = hex, 16
		}
		code, err := strconv.ParseUint(number, base, 21)
		if err != nil || code == 0 {
			return ""
		}
		return visible(string(rune(code)))
	}
	if e, ok := util.LookUpHTML5EntityByName(name); ok {
		return visible(string(e.Characters))
	}
	return ""
}

// visible returns char unless a terminal would not show it.
func visible(char string) string {
	if screen.Clean(char) != char {
		return ""
	}
	return char
}

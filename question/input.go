package question

import (
	"bytes"
	"encoding/json"
	"strings"
)

// layout lays out JSON in lines for a person. All its tokens keep their source text; a line
// also ends behind each line feed that is written as \n in a string, so that a script or a
// file in it can be read.
func layout(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	var out strings.Builder
	indent, inString := 0, false // indent of the line
	text := b.String()
	for i := 0; i < len(text); i++ {
		c := text[i]
		out.WriteByte(c)
		switch {
		case c == '"':
			inString = !inString
		case inString && c == '\\':
			i++
			out.WriteByte(text[i])
			if text[i] == 'n' && i+1 < len(text) && text[i+1] != '"' {
				out.WriteString("\n" + strings.Repeat(" ", indent+2))
			}
		case !inString && c == '\n':
			indent = 0
			for i+indent+1 < len(text) && text[i+indent+1] == ' ' {
				indent++
			}
		}
	}
	return out.String()
}

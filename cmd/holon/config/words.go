package config

import (
	"errors"
	"strings"
)

// SplitWords splits a command line into words at white space, but not inside
// '…' or "…". In "…" and outside of quotes a backslash keeps the next
// character. Nothing is expanded; to expand, use a shell: sh -c '…'.
func SplitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	started := false
	quote := rune(0)
	escaped := false
	for _, r := range line {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, started = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, started = r, true
		case r == ' ' || r == '\t' || r == '\n' || r == '\r':
			if started {
				words = append(words, word.String())
				word.Reset()
				started = false
			}
		default:
			word.WriteRune(r)
			started = true
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("a quote or backslash at the end is not finished")
	}
	if started {
		words = append(words, word.String())
	}
	return words, nil
}

package main

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
)

// field writes a field of a struct.
func field(b *strings.Builder, name, is string, pointer, required bool) {
	if pointer {
		is = "*" + is
	}
	tag := name
	if !required {
		tag += ",omitzero"
	}
	fmt.Fprintf(b, "%s %s `json:%q`\n", goName(name), is, tag)
}

// comment writes a doc comment, in lines of a length that is read easily.
func comment(b *strings.Builder, name, format string, args ...any) {
	line := "//"
	for _, word := range strings.Fields(name + " " + fmt.Sprintf(format, args...)) {
		if len(line)+len(word) > 95 {
			b.WriteString(line + "\n")
			line = "//"
		}
		line += " " + word
	}
	b.WriteString(line + "\n")
}

// initialisms are the words that Go writes in capitals.
var initialisms = map[string]string{"api": "API", "id": "ID", "ids": "IDs", "rpc": "RPC", "uri": "URI", "url": "URL"}

// listed joins words as a sentence does.
func listed(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// goName returns the Go name of a member, a method or a value: turn/start is TurnStart,
// thread_ids is ThreadIDs.
func goName(name string) string {
	var b strings.Builder
	for _, word := range strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		b.WriteString(cmp.Or(initialisms[word], strings.ToUpper(word[:1])+word[1:]))
	}
	return b.String()
}

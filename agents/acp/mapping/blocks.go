package mapping

import (
	"encoding/base64"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
)

// blocks is the content of a tool call, sorted by its use.
type blocks struct {
	text    string         // of all text blocks, joined by line feeds
	texts   int            // the number of text blocks
	changes []items.Change // of all diffs
	diffs   []items.Raw    // as received
	patched bool           // a diff says more than a Change can hold
	rest    []items.Raw    // images, resources, unknown blocks
}

// maxTerminals is how many terminals a call may show.
const maxTerminals = 16

// addBlock takes one block of content; it keeps unknown ones.
func (c *call) addBlock(raw jsontext.Value) {
	b := &c.content
	f, err := fieldsOf(raw)
	if err != nil {
		b.rest = append(b.rest, clean(raw))
		return
	}
	switch f.text("type") {
	case "content":
		if text, ok := blockText(f["content"]); ok {
			if b.texts++; b.texts > 1 {
				b.text += "\n"
			}
			b.text += text
			return
		}
	case "diff":
		if changes := changesOf(f, c.toolKind); changes != nil {
			b.changes = append(b.changes, changes...)
			b.diffs = append(b.diffs, clean(raw))
			b.patched = b.patched || f.has("patch")
			return
		}
	case "terminal":
		if id := f.text("terminalId"); id != "" {
			c.addTerminal(id)
			return
		}
	}
	b.rest = append(b.rest, clean(raw))
}

func (c *call) addTerminal(id string) {
	if id != "" && !slices.Contains(c.terminals, id) && len(c.terminals) < maxTerminals {
		c.terminals = append(c.terminals, id)
	}
}

// changesOf reads a diff: in version 1 the text before and after, in version 2
// a list of operations. nil if it is neither.
func changesOf(f fields, toolKind string) []items.Change {
	if list, ok := f.list("changes"); ok {
		var changes []items.Change
		for _, l := range list {
			cf, err := fieldsOf(l)
			if err != nil || cf.text("path") == "" || cf.text("operation") == "" {
				return nil
			}
			changes = append(changes, items.Change{
				Path: cf.text("path"), OldPath: cf.text("oldPath"), Operation: cf.text("operation"),
			})
		}
		return changes
	}
	file := f.text("path")
	after, ok := textOf(f["newText"])
	before, had := textOf(f["oldText"])
	if file == "" || !ok && f.has("newText") || !had && f.has("oldText") {
		return nil
	}
	change := items.Change{Path: file, Operation: "modify", OldText: before, NewText: after}
	switch kind := f.object("_meta").text("kind"); {
	case kind == "add" || kind == "delete" || kind == "modify": // gemini-cli
		change.Operation = kind
	case before == "" && (!had || after != ""): // opencode sends "" for a file that does not exist
		change.Operation = "add"
	case toolKind == "delete" && after == "":
		change.Operation = "delete"
	}
	return []items.Change{change}
}

// addContent maps a draft of version 2: one more block of a call's content.
func (l *calls) addContent(f fields, raw jsontext.Value) bool {
	id := f.text("toolCallId")
	if id == "" || !f.has("content") {
		return false
	}
	c := l.of(id, false)
	c.addBlock(f["content"])
	l.emit(c, raw)
	return true
}

// terminal maps a draft of version 2: the output of a terminal, for the call
// that shows it.
func (l *calls) terminal(f fields, raw jsontext.Value) bool {
	c := l.ofTerminal(f.text("terminalId"))
	if c == nil {
		return false
	}
	if cwd := f.text("cwd"); cwd != "" {
		c.cwd = cwd
	}
	if line := f.text("command"); line != "" {
		c.line = line
	}
	if out := f.object("output"); out != nil {
		data, err := base64.StdEncoding.DecodeString(out.text("data"))
		if err != nil {
			return false
		}
		c.stream, c.fresh, c.cut, c.rewrite = items.NewText("", maxKept), "", nil, true
		c.addBytes(data)
	}
	if exit := f.object("exitStatus"); exit != nil {
		c.exited(exit)
	}
	l.emit(c, raw)
	return true
}

func (l *calls) terminalOutput(f fields, raw jsontext.Value) bool {
	c := l.ofTerminal(f.text("terminalId"))
	data, err := base64.StdEncoding.DecodeString(f.text("data"))
	if c == nil || err != nil {
		return false
	}
	c.addBytes(data)
	l.emit(c, raw)
	return true
}

func (l *calls) ofTerminal(id string) *call {
	for i := len(l.order) - 1; i >= 0 && id != ""; i-- {
		if c := l.order[i]; slices.Contains(c.terminals, id) {
			return c
		}
	}
	return nil
}

// addBytes adds output that may be cut within a character.
func (c *call) addBytes(data []byte) {
	data = append(c.cut, data...)
	whole := len(data)
	for i := 1; i < utf8.UTFMax && i <= len(data); i++ {
		if utf8.RuneStart(data[len(data)-i]) {
			if !utf8.FullRune(data[len(data)-i:]) {
				whole = len(data) - i
			}
			break
		}
	}
	c.cut = slices.Clone(data[whole:])
	c.addStream(string([]rune(string(data[:whole])))) // invalid UTF-8 is replaced
}

func (c *call) addStream(text string) {
	if text == "" {
		return
	}
	if c.stream == nil {
		c.stream = items.NewText("", maxKept)
	}
	c.stream.Add(text)
	c.fresh += text
}

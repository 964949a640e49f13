package mapping

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
)

// ask takes what a permission request says of its tool call. It may be the
// first message about the call. Of a known call it changes only what is
// missing, and which files are changed and how, because some agents phrase the
// call differently in the question.
// Text is for the person who is asked; it is not output of the tool.
func (l *calls) ask(q *items.PermissionRequest, f fields, raw jsontext.Value) bool {
	c := l.of(f.text("toolCallId"), true)
	seen := c.kind != ""
	asked := &call{id: c.id, status: items.StatusInProgress}
	whole := l.merge(asked, f)
	text := asked.content.text
	asked.content.text, asked.content.texts = "", 0
	if !seen {
		*c = *asked
		c.status = items.StatusInProgress // it waits for the answer
	} else {
		c.fill(asked)
	}
	l.emit(c, raw)

	if q.Title == "" {
		if q.Title = asked.title; q.Title == "" {
			q.Title = c.titled()
		}
	}
	q.Description = cmp.Or(q.Description, text)
	in, _ := fieldsOf(asked.input)
	unsaid := c.unsaid(asked, in, seen)
	switch {
	case unsaid != "":
		q.Description = strings.TrimPrefix(q.Description+"\n"+unsaid, "\n")
	case q.Description == "":
		q.Description = in.text("description", "reason", "justification", "explanation")
	}
	q.Subject = items.Subject{Type: string(c.kind), ItemID: c.item}
	if c.kind == items.KindCommandExecution {
		q.Subject.Type = "command"
		q.Subject.Cwd = asked.directory(l.cwd)
		if asked.cwd == "" {
			q.Subject.Cwd = c.directory(l.cwd)
		}
		if q.Subject.Command = command(asked.input); q.Subject.Command == "" {
			q.Subject.Command = c.asCommand(l.cwd).(items.CommandExecution).Command
		}
	}
	return whole
}

// unsaid is what the request says of the input, or the call has said, and no item shows: that
// of the call has another input, or changes of files in its place. "" = nothing.
func (c *call) unsaid(asked *call, in fields, seen bool) string {
	if c.kind == items.KindFileChange && len(c.content.changes) > 0 {
		all := fields{}
		said, _ := fieldsOf(c.input)
		maps.Copy(all, said)
		maps.Copy(all, in)
		maps.DeleteFunc(all, func(_ string, v jsontext.Value) bool { return c.content.say(v) })
		if len(all) == 0 {
			return ""
		}
		raw, _ := json.Marshal(all, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
		return string(clean(raw))
	}
	if seen && !within(in, c.input) {
		return string(clean(asked.input))
	}
	return ""
}

// say reports whether the changes have all that a member of the input says: a path, a text
// before or after, a diff of these. A member that is empty or false says nothing.
func (b *blocks) say(v jsontext.Value) bool {
	switch string(v) {
	case "null", "false", `""`, "{}", "[]":
		return true
	}
	text, ok := textOf(v)
	if !ok {
		return false
	}
	for _, o := range b.changes {
		if text == o.Path || text == o.OldPath || text == o.OldText || text == o.NewText {
			return true
		}
	}
	return b.sayDiff(text)
}

// sayDiff reports whether a text is a unified diff, all of whose lines the changes have.
func (b *blocks) sayDiff(text string) bool {
	before, after := map[string]bool{}, map[string]bool{}
	for _, o := range b.changes {
		for line := range strings.SplitSeq(o.OldText, "\n") {
			before[line] = true
		}
		for line := range strings.SplitSeq(o.NewText, "\n") {
			after[line] = true
		}
	}
	hunk := false
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		switch {
		case strings.HasPrefix(line, "@@ "):
			hunk = true
		case !hunk:
			header := slices.ContainsFunc([]string{"Index: ", "=====", "--- ", "+++ "}, func(p string) bool { return strings.HasPrefix(line, p) })
			if !header {
				return false
			}
		case strings.HasPrefix(line, "+") && after[line[1:]]:
		case strings.HasPrefix(line, "-") && before[line[1:]]:
		case strings.HasPrefix(line, " ") && after[line[1:]]:
		case line == `\ No newline at end of file`:
		default:
			return false
		}
	}
	return hunk
}

// within reports whether all members of asked are in input too.
func within(asked fields, input jsontext.Value) bool {
	in, _ := fieldsOf(input)
	for name, v := range asked {
		if !bytes.Equal(v, in[name]) {
			return false
		}
	}
	return true
}

// refuse records that a person has refused the call of an item.
func (l *calls) refuse(item string) {
	for _, c := range l.order {
		if c.item == item {
			c.refused = true
		}
	}
}

// fill takes from a request what the call itself has not said, and the files and changes that
// are other ones.
func (c *call) fill(asked *call) {
	set := func(to *string, v string) {
		if *to == "" {
			*to = v
		}
	}
	set(&c.title, asked.title)
	set(&c.name, asked.name)
	set(&c.server, asked.server)
	set(&c.toolKind, asked.toolKind)
	if c.given() == nil && asked.given() != nil {
		c.input = asked.input
		set(&c.cwd, asked.cwd)
	}
	// A person decides about the files and changes of the request.
	c.locations = slices.Concat(slices.DeleteFunc(asked.locations, func(l items.Location) bool {
		return slices.ContainsFunc(c.locations, func(o items.Location) bool { return o.Path == l.Path })
	}), c.locations)
	if slices.ContainsFunc(asked.content.changes, func(o items.Change) bool { return !slices.Contains(c.content.changes, o) }) {
		c.content.changes, c.content.diffs, c.content.patched = asked.content.changes, asked.content.diffs, asked.content.patched
	}
	if len(c.content.rest) == 0 {
		c.content.rest = asked.content.rest
	}
}

package mapping

import (
	"bytes"
	"cmp"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
)

// ask takes what a permission request says of its tool call. It may be the
// first message about the call. For a known call it fills in only what is
// missing, because some agents phrase the call differently in the question.
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
	if q.Description == "" {
		q.Description = in.text("description", "reason", "justification", "explanation")
	}
	if q.Description == "" && seen && len(asked.content.changes) == 0 && !within(in, c.input) {
		q.Description = string(clean(asked.input)) // it asks for something that the call has not said
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

// fill takes from a request what the call itself has not said.
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
	if len(c.locations) == 0 {
		c.locations = asked.locations
	}
	if len(c.content.changes) == 0 {
		c.content.changes, c.content.diffs, c.content.patched = asked.content.changes, asked.content.diffs, asked.content.patched
	}
	if len(c.content.rest) == 0 {
		c.content.rest = asked.content.rest
	}
}

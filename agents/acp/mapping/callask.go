package mapping

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

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
	asked := &call{id: c.id, status: items.StatusInProgress, toolKind: c.toolKind}
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
	q.Description = cmp.Or(q.Description, text)
	var rest jsontext.Value // of the input
	if c.kind == items.KindFileChange && len(c.content.changes) > 0 {
		rest = besides(c.content.changes, c.input, asked.input)
	} else if seen {
		rest = other(asked.input, c.input, q.Subject.Command, q.Subject.Cwd, q.Description)
	}
	if rest != nil {
		q.Description = strings.TrimPrefix(q.Description+"\n"+string(clean(rest)), "\n")
	} else if in, _ := fieldsOf(asked.input); q.Description == "" {
		q.Description = in.text("description", "reason", "justification", "explanation")
	}
	return whole
}

// other returns the input of a request if it is another one than that of the call, which its item
// shows; nil = it is not, or all that is other in it is among the texts that are shown.
func other(asked, called jsontext.Value, shown ...string) jsontext.Value {
	isShown := func(v jsontext.Value) bool {
		text, ok := textOf(v)
		return ok && text != "" && slices.Contains(shown, text)
	}
	if !present(asked) || bytes.Equal(asked, called) {
		return nil
	}
	members, err := fieldsOf(asked)
	if err != nil {
		if isShown(asked) {
			return nil
		}
		return asked
	}
	had, _ := fieldsOf(called)
	for name, v := range members {
		if !bytes.Equal(v, had[name]) && !isShown(v) {
			return asked
		}
	}
	return nil
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
	samePath := func(a, b items.Location) bool { return a.Path == b.Path }
	if len(asked.locations) > 0 && !slices.EqualFunc(c.locations, asked.locations, samePath) {
		c.locations = asked.locations
	}
	same := contains(c.content.changes, asked.content.changes, func(o items.Change) items.Change { return o }) &&
		(!asked.content.patched || contains(c.content.diffs, asked.content.diffs, func(d items.Raw) string { return string(d) }))
	if !same {
		c.content.changes, c.content.diffs, c.content.patched = asked.content.changes, asked.content.diffs, asked.content.patched
	}
	if len(asked.content.rest) > 0 {
		c.content.rest = asked.content.rest
	}
}

// contains reports whether all elements of some are in list, by their keys.
func contains[E any, K comparable](list, some []E, key func(E) K) bool {
	if len(some) == 0 {
		return true
	}
	has := make(map[K]bool, len(list))
	for _, e := range list {
		has[key(e)] = true
	}
	return !slices.ContainsFunc(some, func(e E) bool { return !has[key(e)] })
}

// Package form turns the JSON Schema of a question into fields that a person
// answers one after the other, and their answers into the JSON of item/respond. It
// reads and writes nothing itself: the terminal and the dashboard show the fields.
package form

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/question"
)

// Form is a question whose schema can be answered field by field: one simple value,
// or an object of simple values. One goroutine uses it.
type Form struct {
	fields []Field
	object bool     // the answer is an object of the fields, else the value of the only one
	given  []string // the answers so far, as JSON; "" = left out
}

// Field is one value of a form.
type Field struct {
	Title       string
	Description string
	Choices     []Choice

	name     string
	kind     string // string, boolean, integer or number
	required bool
	standard string // the default as JSON, "" = none
}

// Choice is a possible value of a field.
type Choice struct {
	Title string
	value string // as JSON
}

// fieldSchema is the part of JSON Schema that a form understands.
type fieldSchema struct {
	Type        string            `json:"type"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Enum        []json.RawMessage `json:"enum"`
	EnumNames   []string          `json:"enumNames"`
	OneOf       []struct {
		Const json.RawMessage `json:"const"`
		Title string          `json:"title"`
	} `json:"oneOf"`
	Default    json.RawMessage `json:"default"`
	Properties jsontext.Value  `json:"properties"`
	Required   []string        `json:"required"`
}

// New reads a schema; nil if a form cannot represent it.
func New(schema json.RawMessage) *Form {
	var s fieldSchema
	if len(schema) == 0 || json.Unmarshal(schema, &s) != nil {
		return nil
	}
	if s.Type != "object" {
		f, ok := newField("", s, true)
		if !ok {
			return nil
		}
		return &Form{fields: []Field{f}}
	}
	names, ok := memberNames(s.Properties)
	if !ok || len(names) == 0 {
		return nil
	}
	var properties map[string]fieldSchema
	if json.Unmarshal(s.Properties, &properties) != nil {
		return nil
	}
	out := &Form{object: true}
	for _, name := range names {
		f, ok := newField(name, properties[name], slices.Contains(s.Required, name))
		if !ok {
			return nil
		}
		out.fields = append(out.fields, f)
	}
	return out
}

func newField(name string, s fieldSchema, required bool) (Field, bool) {
	f := Field{name: name, Title: cmp.Or(s.Title, name), Description: s.Description, kind: s.Type, required: required}
	for i, value := range s.Enum {
		c := Choice{value: string(value)}
		if i < len(s.EnumNames) {
			c.Title = s.EnumNames[i]
		}
		f.Choices = append(f.Choices, c)
	}
	for _, one := range s.OneOf {
		if len(one.Const) == 0 {
			return f, false
		}
		f.Choices = append(f.Choices, Choice{value: string(one.Const), Title: one.Title})
	}
	for i, c := range f.Choices {
		if c.Title == "" {
			f.Choices[i].Title = Plain(c.value)
		}
	}
	if len(s.Default) > 0 && string(s.Default) != "null" {
		f.standard = string(s.Default)
	}
	switch f.kind {
	case "string", "boolean", "integer", "number":
		return f, true
	}
	return f, len(f.Choices) > 0
}

// memberNames returns the names of an object's members in their order. The person
// is asked in this order.
func memberNames(object jsontext.Value) (names []string, ok bool) {
	d := jsontext.NewDecoder(strings.NewReader(string(object)))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil, false
	}
	for d.PeekKind() == '"' {
		t, err := d.ReadToken()
		if err != nil {
			return nil, false
		}
		names = append(names, t.String())
		if d.SkipValue() != nil {
			return nil, false
		}
	}
	return names, true
}

// Plain returns JSON without the quotes of a string.
func Plain(value string) string {
	var text string
	if json.Unmarshal([]byte(value), &text) == nil {
		return text
	}
	return value
}

// Next returns the field that Take answers next. There is one unless the form is Done.
func (f *Form) Next() Field { return f.fields[len(f.given)] }

// Progress reports how many of the fields have an answer.
func (f *Form) Progress() (given, of int) { return len(f.given), len(f.fields) }

// Prompt returns the prompt for the next field at a terminal.
func (f *Form) Prompt() string {
	next := f.Next()
	var b strings.Builder
	if next.Title != "" {
		b.WriteString("  " + question.OneLine(next.Title))
		if next.Description != "" {
			b.WriteString(": " + question.OneLine(next.Description))
		}
		b.WriteString("\n")
	}
	for i, c := range next.Choices {
		fmt.Fprintf(&b, "  %d) %s\n", i+1, question.OneLine(c.Title))
	}
	fmt.Fprintf(&b, "  answer (%s): ", next.How())
	return b.String()
}

// How describes what an answer of the field looks like, such as "1-3" or "y or n".
func (f Field) How() string {
	how := "text"
	switch {
	case len(f.Choices) > 0:
		how = fmt.Sprintf("1-%d", len(f.Choices))
	case f.kind == "boolean":
		how = "y or n"
	case f.kind == "integer":
		how = "a whole number"
	case f.kind == "number":
		how = "a number"
	}
	switch {
	case f.standard != "":
		how += ", Enter for " + question.OneLine(Plain(f.standard))
	case !f.required:
		how += ", Enter to leave it out"
	}
	return how
}

// Take reads the typed line for the next field; why says what is wrong with it,
// "" = nothing.
func (f *Form) Take(line string) (why string) {
	value, why := f.fields[len(f.given)].read(strings.TrimSpace(line))
	if why == "" {
		f.given = append(f.given, value)
	}
	return why
}

// Done reports whether every field has an answer.
func (f *Form) Done() bool { return len(f.given) == len(f.fields) }

// Answer returns the whole answer in the form of item/respond.
func (f *Form) Answer() json.RawMessage {
	if !f.object {
		return json.RawMessage(f.given[0])
	}
	var members []string
	for i, value := range f.given {
		if value != "" {
			name, _ := json.Marshal(f.fields[i].name) // a string always encodes
			members = append(members, string(name)+":"+value)
		}
	}
	return json.RawMessage("{" + strings.Join(members, ",") + "}")
}

func (f Field) read(line string) (value, why string) {
	if line == "" {
		switch {
		case f.standard != "":
			return f.standard, ""
		case !f.required:
			return "", ""
		case f.kind != "string" || len(f.Choices) > 0:
			return "", "This one is needed."
		}
	}
	if len(f.Choices) > 0 {
		if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(f.Choices) {
			return f.Choices[n-1].value, ""
		}
		for _, c := range f.Choices {
			if strings.EqualFold(c.Title, line) || Plain(c.value) == line {
				return c.value, ""
			}
		}
		return "", "That is none of the answers."
	}
	switch f.kind {
	case "boolean":
		switch strings.ToLower(line) {
		case "y", "yes", "true":
			return "true", ""
		case "n", "no", "false":
			return "false", ""
		}
		return "", "Answer y or n."
	case "integer":
		if n, err := strconv.ParseInt(line, 10, 64); err == nil {
			return strconv.FormatInt(n, 10), ""
		}
		return "", "That is no whole number."
	case "number":
		// Only numbers of JSON: no NaN and no hexadecimal numbers.
		if v := jsontext.Value(line); v.IsValid() && v.Kind() == '0' {
			return line, ""
		}
		return "", "That is no number."
	}
	text, err := json.Marshal(line)
	if err != nil {
		return "", "That is no text."
	}
	return string(text), ""
}

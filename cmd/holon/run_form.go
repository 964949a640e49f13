package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
)

// form is a question whose schema can be answered field by field at a
// terminal: one simple value, or an object of simple values.
type form struct {
	fields []field
	object bool     // the answer is an object of the fields, else the value of the only one
	given  []string // the answers so far, as JSON; "" = left out
}

// field is one value of a form.
type field struct {
	name        string
	title       string
	description string
	kind        string // string, boolean, integer or number
	required    bool
	choices     []choice
	standard    string // the default as JSON, "" = none
}

// choice is a possible value of a field.
type choice struct{ value, title string } // the value as JSON

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

// newForm reads a schema; nil if a form cannot represent it.
func newForm(schema json.RawMessage) *form {
	var s fieldSchema
	if len(schema) == 0 || json.Unmarshal(schema, &s) != nil {
		return nil
	}
	if s.Type != "object" {
		f, ok := newField("", s, true)
		if !ok {
			return nil
		}
		return &form{fields: []field{f}}
	}
	names, ok := memberNames(s.Properties)
	if !ok || len(names) == 0 {
		return nil
	}
	var properties map[string]fieldSchema
	if json.Unmarshal(s.Properties, &properties) != nil {
		return nil
	}
	out := &form{object: true}
	for _, name := range names {
		f, ok := newField(name, properties[name], slices.Contains(s.Required, name))
		if !ok {
			return nil
		}
		out.fields = append(out.fields, f)
	}
	return out
}

func newField(name string, s fieldSchema, required bool) (field, bool) {
	f := field{name: name, title: cmp.Or(s.Title, name), description: s.Description, kind: s.Type, required: required}
	for i, value := range s.Enum {
		c := choice{value: string(value)}
		if i < len(s.EnumNames) {
			c.title = s.EnumNames[i]
		}
		f.choices = append(f.choices, c)
	}
	for _, one := range s.OneOf {
		if len(one.Const) == 0 {
			return f, false
		}
		f.choices = append(f.choices, choice{value: string(one.Const), title: one.Title})
	}
	for i, c := range f.choices {
		if c.title == "" {
			f.choices[i].title = plainValue(c.value)
		}
	}
	if len(s.Default) > 0 && string(s.Default) != "null" {
		f.standard = string(s.Default)
	}
	switch f.kind {
	case "string", "boolean", "integer", "number":
		return f, true
	}
	return f, len(f.choices) > 0
}

// memberNames are the names of an object's members in their order. The person
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

// plainValue is JSON without the quotes of a string.
func plainValue(value string) string {
	var text string
	if json.Unmarshal([]byte(value), &text) == nil {
		return text
	}
	return value
}

// prompt is the prompt for the next field.
func (f *form) prompt() string {
	next := f.fields[len(f.given)]
	var b strings.Builder
	if next.title != "" {
		b.WriteString("  " + timeline.OneLine(next.title))
		if next.description != "" {
			b.WriteString(": " + timeline.OneLine(next.description))
		}
		b.WriteString("\n")
	}
	for i, c := range next.choices {
		fmt.Fprintf(&b, "  %d) %s\n", i+1, timeline.OneLine(c.title))
	}
	how := "text"
	switch {
	case len(next.choices) > 0:
		how = fmt.Sprintf("1-%d", len(next.choices))
	case next.kind == "boolean":
		how = "y or n"
	case next.kind == "integer":
		how = "a whole number"
	case next.kind == "number":
		how = "a number"
	}
	switch {
	case next.standard != "":
		how += ", Enter for " + timeline.OneLine(plainValue(next.standard))
	case !next.required:
		how += ", Enter to leave it out"
	}
	fmt.Fprintf(&b, "  answer (%s): ", how)
	return b.String()
}

// take reads the typed line for the next field; why says what is wrong with it,
// "" = nothing.
func (f *form) take(line string) (why string) {
	value, why := f.fields[len(f.given)].read(strings.TrimSpace(line))
	if why == "" {
		f.given = append(f.given, value)
	}
	return why
}

// done tells whether every field has an answer.
func (f *form) done() bool { return len(f.given) == len(f.fields) }

// answer is the whole answer in the form of item/respond.
func (f *form) answer() json.RawMessage {
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

func (f field) read(line string) (value, why string) {
	if line == "" {
		switch {
		case f.standard != "":
			return f.standard, ""
		case !f.required:
			return "", ""
		case f.kind != "string" || len(f.choices) > 0:
			return "", "This one is needed."
		}
	}
	if len(f.choices) > 0 {
		if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(f.choices) {
			return f.choices[n-1].value, ""
		}
		for _, c := range f.choices {
			if strings.EqualFold(c.title, line) || plainValue(c.value) == line {
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

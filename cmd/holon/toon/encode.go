package toon

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Append appends v as TOON to dst and returns the extended buffer. The text has
// no line feed at its end, and it is empty for an empty object. Members keep
// their order.
//
// v must be exactly one JSON value in UTF-8 without duplicate names; otherwise
// the error is a *jsontext.SyntacticError, io.ErrUnexpectedEOF or ErrTrailing.
// It is ErrDepth if v is nested more than MaxDepth deep. After an error the
// returned buffer is dst unchanged.
//
// Append keeps a tree of v while it runs, several times as large as v. It has no
// state: any number of goroutines may call it, but v must not change meanwhile.
func Append(dst []byte, v jsontext.Value) ([]byte, error) {
	root, err := parse(v)
	if err != nil {
		return dst, err
	}
	w := writer{out: dst, start: len(dst)}
	w.root(&root)
	return w.out, nil
}

// writer writes the lines of one value. The depth of a line is the number of
// its indents. A line that starts an item of a list has its hyphen and a space
// in place of the last indent, so that the item's members are below each other.
type writer struct {
	out   []byte
	start int // where the text starts in out
}

const indent = "  "

// begin starts a line.
func (w *writer) begin(depth int, item bool) {
	if len(w.out) > w.start {
		w.out = append(w.out, '\n')
	}
	for range depth {
		w.out = append(w.out, indent...)
	}
	if item {
		w.out[len(w.out)-len(indent)] = '-'
	}
}

func (w *writer) text(s ...string) {
	for _, part := range s {
		w.out = append(w.out, part...)
	}
}

func (w *writer) root(v *node) {
	switch {
	case v.kind == '[':
		w.array(0, false, "", v)
	case v.kind != '{':
		// A decoder would drop a byte order mark at the start of the text.
		if strings.HasPrefix(v.token, "\ufeff") {
			w.text(`"`, v.token, `"`)
			return
		}
		w.text(v.token)
	default:
		if fields := v.keyedFields(); fields != nil {
			w.keyed(0, false, "", v, fields)
			return
		}
		w.members(0, false, v)
	}
}

// members writes an object's members at depth; item is for the first of them.
func (w *writer) members(depth int, item bool, v *node) {
	for i := range v.values {
		w.member(depth, item && i == 0, v.keys[i], &v.values[i])
	}
}

func (w *writer) member(depth int, item bool, key string, v *node) {
	switch v.kind {
	case '[':
		w.array(depth, item, key, v)
	case '{':
		if fields := v.keyedFields(); fields != nil {
			w.keyed(depth, item, key, v, fields)
			return
		}
		w.begin(depth, item)
		w.text(key, ":")
		w.members(depth+1, false, v)
	default:
		w.begin(depth, item)
		w.text(key, ": ", v.token)
	}
}

// array writes an array in the shortest of its forms: on one line, as a table,
// or as a list. The root has no key.
func (w *writer) array(depth int, item bool, key string, v *node) {
	w.begin(depth, item)
	w.text(key)
	if len(v.values) == 0 {
		if key != "" {
			w.text(": ")
		}
		w.text("[]")
		return
	}
	w.length(v, "")
	if v.flat() {
		w.text(": ")
		w.tokens(v)
		return
	}
	if fields := v.rowFields(); fields != nil {
		w.fields(fields)
		w.text(":")
		for i := range v.values {
			w.begin(depth+1, false)
			w.cells(&v.values[i], fields)
		}
		return
	}
	w.text(":")
	for i := range v.values {
		w.item(depth+2, &v.values[i])
	}
}

// keyed writes an object of uniform objects as a table whose rows have keys.
func (w *writer) keyed(depth int, item bool, key string, v *node, fields []field) {
	w.begin(depth, item)
	w.text(key)
	w.length(v, ":")
	w.fields(fields)
	w.text(":")
	for i := range v.values {
		w.begin(depth+1, false)
		w.text(v.keys[i], ": ")
		w.cells(&v.values[i], fields)
	}
}

// item writes an item of a list: depth is that of its content after the hyphen.
// Only a member of an object can be a table, an item cannot.
func (w *writer) item(depth int, v *node) {
	switch {
	case v.kind == '{' && len(v.values) == 0:
		w.begin(depth-1, false)
		w.text("-")
	case v.kind == '{':
		w.members(depth, true, v)
	case v.kind != '[':
		w.begin(depth, true)
		w.text(v.token)
	default:
		w.begin(depth, true)
		w.length(v, "")
		w.text(":")
		if !v.flat() {
			for i := range v.values {
				w.item(depth+1, &v.values[i])
			}
		} else if len(v.values) > 0 {
			w.text(" ")
			w.tokens(v)
		}
	}
}

func (w *writer) length(v *node, mark string) {
	w.out = append(w.out, '[')
	w.out = strconv.AppendInt(w.out, int64(len(v.values)), 10)
	w.text(mark, "]")
}

func (w *writer) fields(fields []field) {
	w.text("{")
	for i, f := range fields {
		if i > 0 {
			w.text(",")
		}
		w.text(f.key)
		if f.columns != nil {
			w.fields(f.columns)
		}
	}
	w.text("}")
}

// cells writes a row. The cells of a group are in the row like all others.
func (w *writer) cells(row *node, fields []field) {
	for i, f := range fields {
		if i > 0 {
			w.text(",")
		}
		v := row.member(i, f.key)
		if f.columns != nil {
			w.cells(v, f.columns)
			continue
		}
		w.text(v.token)
	}
}

func (w *writer) tokens(v *node) {
	for i := range v.values {
		if i > 0 {
			w.text(",")
		}
		w.text(v.values[i].token)
	}
}

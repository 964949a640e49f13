package toon

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is how deep arrays and objects may be nested. Holon's results are
// less than ten deep, but they carry values of agents.
const MaxDepth = 64

// ErrDepth is the error for a value that is nested more than MaxDepth deep.
var ErrDepth = fmt.Errorf("the value is nested more than %d deep", MaxDepth)

// ErrTrailing is the error for text after the value.
var ErrTrailing = errors.New("there is text after the JSON value")

// node is a JSON value whose parts are already as TOON writes them.
type node struct {
	kind   jsontext.Kind
	token  string // of a primitive
	keys   []string
	values []node
	index  map[string]int // of keys; made when it is first needed
}

func parse(v jsontext.Value) (node, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(v))
	root, err := read(d)
	if err == io.EOF {
		return node{}, io.ErrUnexpectedEOF
	}
	if err != nil {
		return node{}, err
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return node{}, ErrTrailing
	}
	return root, nil
}

func read(d *jsontext.Decoder) (node, error) {
	t, err := d.ReadToken()
	if err != nil {
		return node{}, err
	}
	n := node{kind: t.Kind()}
	switch n.kind {
	case '{', '[':
		if d.StackDepth() > MaxDepth {
			return node{}, ErrDepth
		}
	case '"':
		n.token = quoteText(t.String())
		return n, nil
	case '0':
		n.token = canonical(t.String())
		return n, nil
	default:
		n.token = t.String()
		return n, nil
	}
	for k := d.PeekKind(); k != '}' && k != ']'; k = d.PeekKind() {
		if n.kind == '{' {
			t, err := d.ReadToken()
			if err != nil {
				return node{}, err
			}
			n.keys = append(n.keys, quoteKey(t.String()))
		}
		value, err := read(d)
		if err != nil {
			return node{}, err
		}
		n.values = append(n.values, value)
	}
	_, err = d.ReadToken()
	return n, err
}

func (n *node) primitive() bool { return n.kind != '{' && n.kind != '[' }

// flat reports whether all values of an array are primitive.
func (n *node) flat() bool {
	for i := range n.values {
		if !n.values[i].primitive() {
			return false
		}
	}
	return true
}

// member returns the member of an object with the key, which is probably at i,
// or nil. Without an index, tables of many columns in differing order would take
// quadratic time.
func (n *node) member(i int, key string) *node {
	if i < len(n.keys) && n.keys[i] == key {
		return &n.values[i]
	}
	if n.index == nil {
		n.index = make(map[string]int, len(n.keys))
		for at, k := range n.keys {
			n.index[k] = at
		}
	}
	if at, ok := n.index[key]; ok {
		return &n.values[at]
	}
	return nil
}

// field is a column of a table, or a group of columns if columns is not nil.
type field struct {
	key     string
	columns []field
}

// rowFields returns the columns of an array that can be a table, or nil.
func (n *node) rowFields() []field {
	rows := make([]*node, len(n.values))
	for i := range n.values {
		rows[i] = &n.values[i]
	}
	return fieldsOf(rows)
}

// keyedFields returns the columns of an object that can be a table with a row
// for each of its members, or nil. One row alone is not worth a table.
func (n *node) keyedFields() []field {
	if len(n.values) < 2 {
		return nil
	}
	return n.rowFields()
}

// fieldsOf returns the columns of a table, or nil if the rows are not objects
// with the same keys, or have values that are neither primitive in all rows nor
// make such columns themselves.
func fieldsOf(rows []*node) []field {
	keys := rows[0].keys
	for _, row := range rows {
		if row.kind != '{' || len(row.keys) == 0 || len(row.keys) != len(keys) {
			return nil
		}
	}
	fields := make([]field, 0, len(keys))
	cells := make([]*node, len(rows))
	for i, key := range keys {
		primitives := 0
		for r, row := range rows {
			if cells[r] = row.member(i, key); cells[r] == nil {
				return nil
			}
			if cells[r].primitive() {
				primitives++
			}
		}
		f := field{key: key}
		if primitives < len(rows) {
			if f.columns = fieldsOf(cells); f.columns == nil {
				return nil
			}
		}
		fields = append(fields, f)
	}
	return fields
}

package conformance

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// object is a decoded JSON object, read by dotted paths such as
// "content.content.0.text". A path that does not exist gives the zero value:
// the checks report missing values themselves.
type object map[string]any

// decode reads an object; anything else gives an empty one.
func decode(value jsontext.Value) object {
	var o object
	if value.Kind() != '{' || json.Unmarshal(value, &o) != nil {
		return object{}
	}
	return o
}

// text reads a JSON string.
func text(value jsontext.Value) (string, bool) {
	var s string
	if value.Kind() != '"' || json.Unmarshal(value, &s) != nil {
		return "", false
	}
	return s, true
}

// get walks the path.
func (o object) get(path string) (any, bool) {
	var at any = map[string]any(o)
	for _, step := range strings.Split(path, ".") {
		switch v := at.(type) {
		case map[string]any:
			next, ok := v[step]
			if !ok {
				return nil, false
			}
			at = next
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			at = v[i]
		default:
			return nil, false
		}
	}
	return at, true
}

func (o object) has(path string) bool { _, ok := o.get(path); return ok }

func (o object) str(path string) string {
	v, _ := o.get(path)
	s, _ := v.(string)
	return s
}

func (o object) num(path string) float64 {
	v, _ := o.get(path)
	n, _ := v.(float64)
	return n
}

func (o object) list(path string) []any {
	v, _ := o.get(path)
	l, _ := v.([]any)
	return l
}

func (o object) obj(path string) object {
	v, _ := o.get(path)
	m, _ := v.(map[string]any)
	return m
}

// objs returns the objects of a list.
func (o object) objs(path string) []object {
	var all []object
	for _, v := range o.list(path) {
		m, _ := v.(map[string]any)
		all = append(all, m)
	}
	return all
}

func (o object) isStr(path string) bool {
	v, _ := o.get(path)
	_, ok := v.(string)
	return ok
}

func (o object) isBool(path string) bool {
	v, _ := o.get(path)
	_, ok := v.(bool)
	return ok
}

func (o object) isTrue(path string) bool {
	v, _ := o.get(path)
	b, _ := v.(bool)
	return b
}

func (o object) isInt(path string) bool {
	v, _ := o.get(path)
	n, ok := v.(float64)
	return ok && n == math.Trunc(n)
}

// isTime reports whether the path holds RFC 3339 in UTC with milliseconds.
func (o object) isTime(path string) bool {
	s := o.str(path)
	_, err := time.Parse("2006-01-02T15:04:05.000Z", s)
	return err == nil && len(s) == len("2006-01-02T15:04:05.000Z")
}

// encode writes a value as JSON for a request. The suite makes the values, so a
// failure is a fault of the suite and may panic.
func encode(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return string(b)
}

// quote writes a string as a JSON string.
func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

package conformance

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

// scope holds the values of a script's names, such as <turn>. Each check has
// one; only its goroutine uses it.
type scope map[string]any

// forms are the words in angle brackets that describe a value. Every other word
// is a name.
var forms = map[string]func(o object) bool{
	"<any>":      func(object) bool { return true },
	"<array>":    func(o object) bool { _, ok := o["v"].([]any); return ok },
	"<bool>":     func(o object) bool { return o.isBool("v") },
	"<int>":      func(o object) bool { return o.isInt("v") },
	"<object>":   func(o object) bool { return o.obj("v") != nil },
	"<string>":   func(o object) bool { return o.isStr("v") },
	"<nonempty>": func(o object) bool { return o.str("v") != "" },
	"<time>":     func(o object) bool { return o.isTime("v") },
	"<time?>":    func(o object) bool { return o["v"] == nil || o.isTime("v") },
}

var (
	// aName is the whole of a string that is one name.
	aName = regexp.MustCompile(`^<([a-z][A-Za-z0-9_.-]*)>$`)
	// anyName is a name inside a string, or the whole of it with its quotes.
	anyName = regexp.MustCompile(`"<[a-z][A-Za-z0-9_.-]*>"|<[a-z][A-Za-z0-9_.-]*>`)
	// anInput is the input of a turn that says one text.
	anInput = regexp.MustCompile(`"<input ([^>]*)>"`)
	// aComparison is an order to a number, a name or a text, such as "<= <seq>".
	aComparison = regexp.MustCompile(`^(<|<=|>|>=|!=) (.+?)(\+[0-9]+)?$`)
	// aSum is a name and a number that is added to it.
	aSum = regexp.MustCompile(`^(<[a-z][A-Za-z0-9_.-]*>)\+([0-9]+)$`)
)

// get returns the value of a name, such as lease, or of a member of it, such as
// lease.token.
func (s scope) get(name string) (any, bool) { return object(s).get(name) }

// fill replaces the names in a text that is to be sent by their values.
func (s scope) fill(text string) (string, error) {
	var missing error
	text = anyName.ReplaceAllStringFunc(text, func(word string) string {
		name := strings.Trim(word, `"<>`)
		v, ok := s.get(name)
		switch {
		case !ok && missing == nil:
			missing = fmt.Errorf("<%s> has not been seen yet", name)
		case word[0] == '"':
			return marshal(v)
		}
		return plainly(v)
	})
	return anInput.ReplaceAllStringFunc(text, func(word string) string {
		return encode(input(unquote(`"` + anInput.FindStringSubmatch(word)[1] + `"`)))
	}), missing
}

// differs describes where a value differs from the pattern; empty means that it
// fits. The value may have members that the pattern does not name. A name that
// is seen for the first time takes the value.
func (s scope) differs(at string, want, got any, there bool) string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return mismatch(at, want, got, there)
		}
		for _, key := range slices.Sorted(maps.Keys(w)) {
			v, has := g[key]
			if why := s.differs(strings.TrimPrefix(at+"."+key, "."), w[key], v, has); why != "" {
				return why
			}
		}
		return ""
	case []any:
		return s.differsList(at, w, got, there)
	case string:
		return s.differsText(at, w, got, there)
	}
	if !there || !reflect.DeepEqual(want, got) {
		return mismatch(at, want, got, there)
	}
	return ""
}

// differsList compares element by element. With "…" in the pattern the other
// elements must be present in this order, with anything in between.
func (s scope) differsList(at string, want []any, got any, there bool) string {
	g, ok := got.([]any)
	rest := slices.DeleteFunc(slices.Clone(want), func(v any) bool { return v == "…" })
	if !ok || len(rest) == len(want) && len(g) != len(want) {
		return mismatch(at, want, got, there)
	}
	i := 0
	for _, v := range g {
		if i < len(rest) {
			trial := maps.Clone(s) // an element that does not fit must not set names
			if why := trial.differs(at+"["+strconv.Itoa(i)+"]", rest[i], v, true); why == "" {
				maps.Copy(s, trial)
				i++
			} else if len(rest) == len(want) {
				return why
			}
		}
	}
	if i < len(rest) {
		return mismatch(at, want, got, there)
	}
	return ""
}

func (s scope) differsText(at, want string, got any, there bool) string {
	ok := there && s.fits(want, got)
	switch want {
	case "<absent>":
		ok = !there
	case "<none?>":
		ok = !there || got == nil || got == false || marshal(got) == "[]"
	}
	if !ok {
		return mismatch(at, want, got, there)
	}
	return ""
}

// fits compares a present value with the text of a pattern.
func (s scope) fits(want string, got any) bool {
	if form, ok := forms[want]; ok {
		return form(object{"v": got})
	}
	if m := aName.FindStringSubmatch(want); m != nil {
		if v, bound := s.get(m[1]); bound {
			return reflect.DeepEqual(v, got)
		}
		s[m[1]] = got
		return true
	}
	if m := aComparison.FindStringSubmatch(want); m != nil {
		return s.compare(m[1], m[2], m[3], got)
	}
	if m := aSum.FindStringSubmatch(want); m != nil {
		return s.compare("=", m[1], m[2], got)
	}
	text, isText := got.(string)
	want = anyName.ReplaceAllStringFunc(want, func(word string) string {
		if v, ok := s.get(strings.Trim(word, "<>")); ok {
			return plainly(v)
		}
		return word
	})
	if !strings.Contains(want, "…") || want == "…" {
		return isText && text == want
	}
	return isText && strings.HasPrefix(text, want[:strings.Index(want, "…")]) &&
		strings.HasSuffix(text, want[strings.LastIndex(want, "…")+len("…"):]) && strings.Contains(text, strings.Trim(want, "…"))
}

// compare compares a value with a number or the value of a name, to which a
// number may be added. Times are compared as texts.
func (s scope) compare(op, with, plus string, got any) bool {
	var other any = with
	if n, err := strconv.ParseFloat(with, 64); err == nil {
		other = n
	} else if m := aName.FindStringSubmatch(with); m != nil {
		other, _ = s.get(m[1]) // nil if it has not been seen: then the comparison is false
	}
	order := 0
	switch a := got.(type) {
	case float64:
		b, ok := other.(float64)
		more, _ := strconv.ParseFloat(plus, 64)
		if order = cmp.Compare(a, b+more); !ok {
			return false
		}
	case string:
		b, ok := other.(string)
		if order = strings.Compare(a, b); !ok {
			return false
		}
	default:
		return false
	}
	switch op {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	case ">=":
		return order >= 0
	case "!=":
		return order != 0
	}
	return order == 0
}

func mismatch(at string, want, got any, there bool) string {
	at = cmp.Or(at, "it")
	if !there {
		return fmt.Sprintf("%s is missing, want %s", at, marshal(want))
	}
	return fmt.Sprintf("%s is %s, want %s", at, clip([]byte(marshal(got)), 300), marshal(want))
}

// marshal writes a decoded value as JSON.
func marshal(v any) string {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return string(b)
}

// plainly writes a value for the inside of a JSON string.
func plainly(v any) string { return strings.Trim(marshal(v), `"`) }

// unquote reads a JSON string that the suite has written.
func unquote(quoted string) string {
	var s string
	if err := json.Unmarshal([]byte(quoted), &s); err != nil {
		panic(err)
	}
	return s
}

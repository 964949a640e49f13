package exec

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// strict decodes with every member known, written exactly and given once.
func strict[T any](raw []byte) (T, error) {
	var v T
	if err := json.Unmarshal(raw, &v, json.RejectUnknownMembers(true)); err != nil {
		return v, plain(err)
	}
	return v, nil
}

// lax decodes the few members that tell what to decode next.
func lax[T any](raw []byte) (T, error) {
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, plain(err)
	}
	return v, nil
}

// plain says what is wrong with JSON in the words of JSON: whoever wrote the
// line knows nothing of the Go types behind it.
func plain(err error) error {
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		where := "it"
		if e.JSONPointer != "" {
			where = strings.ToValidUTF8(string(e.JSONPointer), "\uFFFD")
		}
		switch {
		case errors.Is(e.Err, json.ErrUnknownName):
			return fmt.Errorf("unknown member %s", where)
		case e.GoType != nil && e.JSONKind == jsontext.KindNumber && isNumber(e.GoType):
			return fmt.Errorf("%s is %s, which is no whole number or too large", where, shorten(string(e.JSONValue), 40))
		case e.GoType != nil && e.JSONKind != 0:
			return fmt.Errorf("%s is %s and should be %s", where, article(kindName(e.JSONKind)), article(typeName(e.GoType)))
		}
	}
	text := strings.NewReplacer("jsontext: ", "", "json: ", "").Replace(err.Error())
	return errors.New(strings.ToValidUTF8(text, "\uFFFD"))
}

func kindName(k jsontext.Kind) string {
	switch k {
	case jsontext.KindTrue, jsontext.KindFalse:
		return "boolean"
	case jsontext.KindBeginObject:
		return "object"
	case jsontext.KindBeginArray:
		return "array"
	}
	return k.String()
}

func typeName(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Slice:
		return "array"
	case reflect.Struct, reflect.Map:
		return "object"
	}
	return "number"
}

func isNumber(t reflect.Type) bool { return typeName(t) == "number" }

func article(name string) string {
	if strings.ContainsRune("aeiou", rune(name[0])) {
		return "an " + name
	}
	return "a " + name
}

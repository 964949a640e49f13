package hooks

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/internal/limits"
	"github.com/seed82539d15/holon/internal/strict"
)

// input is a verified webhook as expressions see it. One goroutine uses it.
type input struct {
	headers map[string]string
	payload map[string]any

	meter *meter
	env   map[string]any
	steps int // that are left for all expressions
}

func newInput(headers http.Header, payload map[string]any) *input {
	in := &input{headers: visible(headers), payload: payload, meter: &meter{}, steps: allSteps}
	in.env = in.meter.environment(in.headers, in.payload)
	return in
}

// visible returns the first values of the headers, by name in lower case, without
// those that prove who the sender is: a subscription's filter, which any client
// may write, must not be able to find a token out.
func visible(headers http.Header) map[string]string {
	out := make(map[string]string, len(headers))
	for name, values := range headers {
		switch name {
		case "Authorization", "Cookie", "Proxy-Authorization":
		default:
			if len(values) > 0 {
				out[strings.ToLower(name)] = strings.ToValidUTF8(values[0], "\uFFFD")
			}
		}
	}
	return out
}

var (
	errNoObject = errors.New("it must be a JSON object")
	errTooDeep  = errors.New("it is nested deeper than " + strconv.Itoa(limits.Depth) + " levels")
	errTrailing = errors.New("there is something after the JSON object")
)

// parseBody reads a body, mended: a JSON object of valid UTF-8, without duplicate names,
// at most limits.Depth deep. Whole numbers become int, or their text if they are
// too large for it, so that ids are written as they came. The error says nothing of the values.
func parseBody(body []byte) (map[string]any, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(body))
	if dec.PeekKind() != '{' {
		if _, err := dec.ReadToken(); err != nil {
			return nil, explain(err)
		}
		return nil, errNoObject
	}
	v, err := parseValue(dec)
	if err != nil {
		return nil, explain(err)
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errTrailing
	}
	return v.(map[string]any), nil
}

// explain leaves out what a library's error quotes of the body.
func explain(err error) error {
	if errors.Is(err, errTooDeep) {
		return errTooDeep
	}
	if bad := strict.Explain(err); bad.Reason == strict.DuplicateField {
		return errors.New("a member is there twice")
	}
	return errors.New("it is no valid JSON in UTF-8")
}

func parseValue(dec *jsontext.Decoder) (any, error) {
	tok, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	switch tok.Kind() {
	case '{':
		return parseObject(dec)
	case '[':
		return parseArray(dec)
	case '"':
		return tok.String(), nil
	case '0':
		n, err := strconv.Atoi(tok.String())
		if err == nil {
			return n, nil
		}
		if errors.Is(err, strconv.ErrRange) {
			return tok.String(), nil // a whole number that a float would round: two ids must not become one
		}
		f, err := strconv.ParseFloat(tok.String(), 64)
		if err != nil {
			return tok.String(), nil // beyond every number: its text
		}
		return f, nil
	case 't', 'f':
		return tok.Bool(), nil
	}
	return nil, nil
}

func parseObject(dec *jsontext.Decoder) (any, error) {
	if dec.StackDepth() > limits.Depth {
		return nil, errTooDeep
	}
	object := map[string]any{}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		v, err := parseValue(dec)
		if err != nil {
			return nil, err
		}
		object[key] = v
	}
	_, err := dec.ReadToken()
	return object, err
}

func parseArray(dec *jsontext.Decoder) (any, error) {
	if dec.StackDepth() > limits.Depth {
		return nil, errTooDeep
	}
	array := []any{}
	for dec.PeekKind() != ']' {
		v, err := parseValue(dec)
		if err != nil {
			return nil, err
		}
		array = append(array, v)
	}
	_, err := dec.ReadToken()
	return array, err
}

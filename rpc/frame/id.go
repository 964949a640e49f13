package frame

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

type key int

const (
	keyOther key = iota
	keyVersion
	keyID
	keyMethod
	keyParams
	keyResult
	keyError
)

// known returns which member of the envelope a name is. Names are compared as
// strings, however they are escaped, and case matters.
func known(name jsontext.Value) key {
	switch text(name) {
	case "jsonrpc":
		return keyVersion
	case "id":
		return keyID
	case "method":
		return keyMethod
	case "params":
		return keyParams
	case "result":
		return keyResult
	case "error":
		return keyError
	}
	return keyOther
}

// text returns the value of a JSON string.
func text(v jsontext.Value) string {
	if len(v) < 2 {
		return ""
	}
	if slices.Contains(v[1:len(v)-1], '\\') {
		b, _ := jsontext.AppendUnquote(nil, v) // it has been read as a string already
		return string(b)
	}
	return string(v[1 : len(v)-1])
}

// equals reports whether v is the JSON string s.
func equals(v jsontext.Value, s string) bool { return v.Kind() == '"' && text(v) == s }

// validID reports whether v may be an id: a string, an integer without
// fraction or exponent, or null.
func validID(v jsontext.Value) bool {
	switch v.Kind() {
	case '"', 'n':
		return true
	case '0':
		for i, c := range v {
			if (c < '0' || c > '9') && (c != '-' || i > 0) {
				return false
			}
		}
		return true
	}
	return false
}

// IDKey returns a string that is equal for ids that are equal as JSON values,
// and "" for null, which names no request.
func IDKey(id []byte) string {
	v := jsontext.Value(id)
	switch {
	case len(id) == 0 || id[0] == 'n':
		return ""
	case id[0] == '"':
		return `"` + text(v)
	case string(id) == "-0":
		return "0"
	}
	return string(id)
}

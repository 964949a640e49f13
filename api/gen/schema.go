package main

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// document is what Go types are made from: the members of the OpenRPC document that
// they need.
type document struct {
	Methods []struct {
		Name    string  `json:"name"`
		Summary string  `json:"summary"`
		Params  *schema `json:"x-params-schema"`
		Result  struct {
			Schema *schema `json:"schema"`
		} `json:"result"`
	} `json:"methods"`
	Notifications []notification `json:"x-notifications"`
	Errors        []struct {
		Kind    string `json:"kind"`
		Code    int    `json:"code"`
		Summary string `json:"summary"`
	} `json:"x-errors"`
	ErrorData *schema `json:"x-error-data"`
}

type notification struct {
	Name    string  `json:"name"`
	Summary string  `json:"summary"`
	Params  *schema `json:"params"`
}

// schema is a JSON Schema, with the keywords that the document uses.
type schema struct {
	Type        words    `json:"type"`
	Format      string   `json:"format"`
	Name        string   `json:"x-name"`
	Known       []string `json:"x-known-values"`
	ZeroDiffers bool     `json:"x-zero-differs"`
	Const       string   `json:"const"`
	Minimum     float64  `json:"minimum"`
	MinLength   int      `json:"minLength"`
	Properties  members  `json:"properties"`
	Required    []string `json:"required"`
	Items       *schema  `json:"items"`
	Others      *schema  `json:"additionalProperties"`
	AllOf       []struct {
		Then *schema `json:"then"`
	} `json:"allOf"`

	never bool // the schema false
}

// member is a property with its name.
type member struct {
	name string
	*schema
}

// members are properties in the order of the document.
type members []member

// words are one string or several.
type words []string

// UnmarshalJSONFrom implements json.UnmarshalerFrom. A schema may be true or false.
func (s *schema) UnmarshalJSONFrom(in *jsontext.Decoder) error {
	type plain schema
	switch in.PeekKind() {
	case 't', 'f':
		token, err := in.ReadToken()
		s.never = err == nil && !token.Bool()
		return err
	}
	return json.UnmarshalDecode(in, (*plain)(s))
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (m *members) UnmarshalJSONFrom(in *jsontext.Decoder) error {
	if _, err := in.ReadToken(); err != nil {
		return err
	}
	for in.PeekKind() != '}' {
		name, err := in.ReadToken()
		if err != nil {
			return err
		}
		next := member{name.String(), new(schema)}
		if err := json.UnmarshalDecode(in, next.schema); err != nil {
			return err
		}
		*m = append(*m, next)
	}
	_, err := in.ReadToken()
	return err
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (w *words) UnmarshalJSONFrom(in *jsontext.Decoder) error {
	if in.PeekKind() == '[' {
		return json.UnmarshalDecode(in, (*[]string)(w))
	}
	*w = make(words, 1)
	return json.UnmarshalDecode(in, &(*w)[0])
}

// kind returns the type of values that are not null; "" if they may have several.
func (s *schema) kind() string {
	kinds := slices.DeleteFunc(slices.Clone(s.Type), func(t string) bool { return t == "null" })
	if len(kinds) != 1 {
		return ""
	}
	return kinds[0]
}

// member returns the property of this name, nil for none.
func (s *schema) member(name string) *schema {
	for _, m := range s.Properties {
		if m.name == name {
			return m.schema
		}
	}
	return nil
}

func (s *schema) nullable() bool { return slices.Contains(s.Type, "null") }

// isStruct reports whether values are objects whose members are known.
func (s *schema) isStruct() bool {
	return s.kind() == "object" && len(s.AllOf) == 0 && (len(s.Properties) > 0 || s.Others != nil && s.Others.never)
}

// pointsAt reports whether a member of the schema is a pointer: an object that may be
// absent, a value that may be null, and one whose absence differs from zero, unless zero
// is not allowed.
func (s *schema) pointsAt(required bool) bool {
	if required {
		return s.nullable() && (s.isStruct() || s.Format != "")
	}
	return s.isStruct() || s.ZeroDiffers && s.Minimum <= 0 && s.MinLength == 0
}

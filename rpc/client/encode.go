package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/seed82539d15/holon/internal/mend"
)

// encoding encodes as encoding/json does, but for values that it refuses or changes: a
// float that JSON has no number for is null, and a name is not changed.
var encoding = jsonv2.JoinOptions(
	jsonv1.DefaultOptionsV1(), jsontext.EscapeForHTML(false), jsontext.EscapeForJS(false),
	jsonv2.WithMarshalers(jsonv2.JoinMarshalers(
		jsonv2.MarshalToFunc(func(out *jsontext.Encoder, text string) error {
			if member := string(out.StackPointer()); !utf8.ValidString(text) && isName(strings.TrimPrefix(member, "/")) {
				return &nameError{member[1:]}
			}
			return errors.ErrUnsupported
		}),
		jsonv2.MarshalToFunc(func(out *jsontext.Encoder, f float64) error {
			if math.IsNaN(f) || math.IsInf(f, 0) {
				return out.WriteToken(jsontext.Null)
			}
			return errors.ErrUnsupported
		}),
	)),
)

// nameError says that a name would have to be changed to be sent.
type nameError struct{ member string }

// Error implements error.
func (e *nameError) Error() string {
	return e.member + " is not UTF-8, and a name is not changed: it could be that of something else"
}

// isName reports whether a member of the params names something.
func isName(member string) bool {
	return member == "cwd" || member == "title" || member == "name" || strings.HasSuffix(member, "_id")
}

// encodeParams makes the params of a request; nil = none. Text that is not UTF-8, and
// halves of surrogate pairs, become U+FFFD, NaN and the infinities null, because the
// server refuses them. Names are refused here.
func encodeParams(params any) (json.RawMessage, error) {
	var raw []byte
	switch p := params.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		raw = p
	case jsontext.Value:
		raw = p
	default:
		var err error
		if raw, err = jsonv2.Marshal(params, encoding); err != nil {
			if name, ok := errors.AsType[*nameError](err); ok {
				return nil, name // the encoder's own words are for programmers
			}
			return nil, err
		}
	}
	for member, value := range mend.Members(raw) {
		if mended, _ := mend.JSON(value); !bytes.Equal(mended, value) && isName(member) {
			return nil, &nameError{member}
		}
	}
	mended, _ := mend.JSON(raw)
	if !jsontext.Value(mended).IsValid(jsontext.AllowDuplicateNames(true)) {
		return nil, errors.New("they are not JSON")
	}
	return mended, nil
}

package notify

import (
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// summary reads one value and writes its summary.
type summary struct {
	in  []byte
	d   *jsontext.Decoder // reads in itself, not a copy
	out []byte
	cut bool // a message of the object that is being read was cut
}

// value reads the next value and returns its bytes in the input.
func (s *summary) value() ([]byte, error) {
	v, err := s.d.ReadValue()
	if err != nil {
		return nil, err
	}
	end := int(s.d.InputOffset())
	return s.in[end-len(v) : end : end], nil
}

// each reads an object and calls f with the name of each member, quoted. f reads the
// value. A value that is no object is skipped.
func (s *summary) each(f func(name []byte) error) error {
	if s.d.PeekKind() != '{' {
		return s.d.SkipValue()
	}
	if _, err := s.d.ReadToken(); err != nil {
		return err
	}
	for s.d.PeekKind() == '"' {
		name, err := s.value()
		if err != nil {
			return err
		}
		if err := f(name); err != nil {
			return err
		}
	}
	_, err := s.d.ReadToken()
	return err
}

// object copies an object, as the rules say.
func (s *summary) object(r rules) error {
	outer := s.cut
	s.cut = false
	s.out = append(s.out, '{')
	if err := s.each(func(name []byte) error {
		if rule := r[string(name[1:len(name)-1])]; rule != nil {
			return rule(s, name)
		}
		v, err := s.value()
		if err == nil {
			s.member(name, v)
		}
		return err
	}); err != nil {
		return err
	}
	if s.cut {
		s.member([]byte(`"message_truncated"`), []byte("true"))
	}
	s.out, s.cut = append(s.out, '}'), outer
	return nil
}

// inner copies a member whose value is an object as the rules say. Another value
// stays as it is.
func (s *summary) inner(name []byte, r rules) error {
	if s.d.PeekKind() == '{' {
		s.name(name)
		return s.object(r)
	}
	v, err := s.value()
	if err == nil {
		s.member(name, v)
	}
	return err
}

func (s *summary) name(name []byte) {
	if s.out[len(s.out)-1] != '{' {
		s.out = append(s.out, ',')
	}
	s.out = append(append(s.out, name...), ':')
}

func (s *summary) member(name, value []byte) {
	s.name(name)
	s.out = append(s.out, value...)
}

// endOfText returns where the first n characters of a quoted text end, -1 if it has
// no more than that, or is no text.
func endOfText(quoted []byte, n int) int {
	if quoted[0] != '"' {
		return -1
	}
	at := 1
	for ; n > 0; n-- {
		if quoted[at] == '"' {
			return -1
		}
		at += character(quoted[at:])
	}
	if quoted[at] == '"' {
		return -1
	}
	return at
}

// character returns how many bytes the first character of quoted text takes. Half of a
// surrogate pair is not cut from the other.
func character(b []byte) int {
	switch {
	case b[0] != '\\':
		_, n := utf8.DecodeRune(b)
		return n
	case b[1] != 'u':
		return 2
	case len(b) >= 12 && isHalf(b, "89abAB") && b[6] == '\\' && b[7] == 'u' && isHalf(b[6:], "cdefCDEF"):
		return 12
	}
	return 6
}

// isHalf reports whether b begins with the escape of half of a surrogate pair: the
// first half has one of 89ab behind the d, the second one of cdef.
func isHalf(b []byte, third string) bool {
	return (b[2] == 'd' || b[2] == 'D') && strings.IndexByte(third, b[3]) >= 0
}

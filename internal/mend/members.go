package mend

import (
	"bytes"
	"errors"
	"iter"

	"github.com/go-json-experiment/json/jsontext"
)

// Members reads the members of the object that text begins with, as far as they can be
// told from what is inside of them: the object may be broken. A value that cannot be
// read is nil and the last one; a value that is read need not be JSON. Names are as they
// are written, with their escapes.
func Members(text []byte) iter.Seq2[string, jsontext.Value] {
	return func(yield func(string, jsontext.Value) bool) {
		if len(text) == 0 || text[0] != '{' {
			return
		}
		s := scanner{text: text, at: len("{")}
		for {
			name, value, err := s.member()
			if err != nil {
				value = nil
			}
			if name == "" && err != nil || !yield(name, value) || err != nil {
				return
			}
		}
	}
}

// errUnread means that a text cannot be read any further.
var errUnread = errors.New("it is not JSON from here on")

// scanner reads an object that may be broken. It takes as a value all that may be meant
// to be one: NaN, a string with a tab in it.
type scanner struct {
	text []byte
	at   int
}

// member reads a member. With an error name is that of a member whose value cannot be
// read, "" at the end of the object.
func (s *scanner) member() (name string, value jsontext.Value, err error) {
	s.skip(", \t\r\n")
	begin := s.at
	if err := s.str(); err != nil {
		return "", nil, err
	}
	name = string(s.text[begin+1 : s.at-1])
	s.skip(" \t")
	if s.at >= len(s.text) || s.text[s.at] != ':' {
		return "", nil, errUnread
	}
	s.at++
	s.skip(" \t")
	begin = s.at
	err = s.value()
	return name, s.text[begin:s.at], err
}

func (s *scanner) skip(chars string) {
	s.at = len(s.text) - len(bytes.TrimLeft(s.text[s.at:], chars))
}

// str reads a string.
func (s *scanner) str() error {
	if s.at >= len(s.text) || s.text[s.at] != '"' {
		return errUnread
	}
	for s.at++; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case '\\':
			s.at++
		case '"':
			s.at++
			return nil
		}
	}
	s.at = len(s.text) // a backslash may have been the last
	return errUnread
}

// value reads a value. One that the text's end cuts off is not read, nor one whose brackets
// do not match: what is behind them may be inside of it.
func (s *scanner) value() error {
	var open []byte // the brackets that close what is open
	for s.at < len(s.text) {
		switch c := s.text[s.at]; c {
		case '"':
			if err := s.str(); err != nil {
				return err
			}
			continue
		case '{', '[':
			open = append(open, c+2) // in ASCII a bracket closes two behind the one that opens
		case '}', ']':
			if len(open) == 0 {
				return nil
			}
			if open[len(open)-1] != c {
				return errUnread
			}
			open = open[:len(open)-1]
		case ',':
			if len(open) == 0 {
				return nil
			}
		}
		s.at++
	}
	return errUnread
}

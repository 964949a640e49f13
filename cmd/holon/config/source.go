package config

import "fmt"

// Origin says from which of the four origins a value came.
type Origin string

// The origins, each overriding those before it.
const (
	FromDefault Origin = "default"
	FromFile    Origin = "file"
	FromEnv     Origin = "env"
	FromFlag    Origin = "flag"
)

// Source is where one value came from. Place is the flag, the variable or the
// file; Line is 0 except in a file.
type Source struct {
	Origin Origin `json:"origin"`
	Place  string `json:"place,omitempty"`
	Line   int    `json:"line,omitempty"`
}

// String writes a source for people: default, /etc/holon.toml:3, HOLON_AUTH, --auth.
func (s Source) String() string {
	switch {
	case s.Origin == FromDefault:
		return string(FromDefault)
	case s.Line > 0:
		return fmt.Sprintf("%s:%d", s.Place, s.Line)
	}
	return s.Place
}

// Error is an invalid setting: where it was set, what is wrong and what to do.
// The command exits 2 on it.
type Error struct {
	Key    string // "" if the error is about no single key
	Source Source
	Text   string
	Err    error // of the system, if a file cannot be read
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Error writes "key (source): text", or "--flag: text" where that says which key it is.
func (e *Error) Error() string {
	switch {
	case e.Key == "":
		return e.Text
	case e.Source.Place == "--"+(Setting{Name: e.Key}).Flag():
		return fmt.Sprintf("%s: %s", e.Source, e.Text)
	case e.Source.Origin == "" || e.Source.Origin == FromDefault:
		return fmt.Sprintf("%s: %s", e.Key, e.Text)
	}
	return fmt.Sprintf("%s (%s): %s", e.Key, e.Source, e.Text)
}

package conformance

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/tools/txtar"
)

// checks holds the scripts: conversations, each of which is a check. doc.go
// describes their syntax.
//
//go:embed checks/*.txtar
var checks embed.FS

// line is a parsed line of a script.
type line struct {
	text string // as written
	verb string // > >> ~ - = < << !
	// what is the method or the bytes to send, the event to wait for, the
	// section to play, or the kind of an error.
	what string
	// more is the params of a method, the headers of an HTTP request, or the
	// text for a section.
	more string
	// choice are further conditions on an event: path=value.
	choice []string
	status int // of HTTP, 0 if it does not matter
	want   any // the pattern, nil if there is none
	// then is the expectation after a request on the same line.
	then *line
}

// scripts is the content of the files: checks, and sections that checks play.
type scripts struct {
	checks []check
	// lines are the lines of each check, by id, and sections those of each
	// section, by name.
	lines, sections map[string][]line
}

// readScripts reads the files once. They are part of the program, so a mistake
// in them panics; the tests read them all.
var readScripts = sync.OnceValue(func() *scripts {
	s := &scripts{lines: map[string][]line{}, sections: map[string][]line{}}
	files, err := fs.Glob(checks, "checks/*.txtar")
	for _, name := range files {
		text, bad := checks.ReadFile(name)
		for _, section := range txtar.Parse(text).Files {
			bad = errors.Join(bad, s.add(section.Name, string(section.Data)))
		}
		if bad != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", name, bad))
		}
	}
	if err != nil {
		panic(err)
	}
	return s
})

// header is the second line of a check: the source and the needs.
var header = regexp.MustCompile(`^([^\[]+?)(?: \[([a-z ]+)\])?$`)

// add reads a section. One with a dot in its name is a check and begins with
// its sentence and its source.
func (s *scripts) add(name, text string) error {
	rows := strings.Split(strings.TrimSpace(text), "\n")
	c := check{id: name}
	isCheck := strings.Contains(name, ".")
	if isCheck {
		if len(rows) < 3 {
			return fmt.Errorf("%s: want a sentence, a source and lines", name)
		}
		m := header.FindStringSubmatch(rows[1])
		if m == nil {
			return fmt.Errorf("%s: %q is no source", name, rows[1])
		}
		c.sentence, c.source = rows[0], m[1]
		for word := range strings.FieldsSeq(m[2]) {
			if needs[word] == 0 {
				return fmt.Errorf("%s: there is no need %q", name, word)
			}
			c.needs |= needs[word]
		}
		rows = rows[2:]
	}
	var lines []line
	for _, row := range rows {
		l, err := readLine(row)
		if err != nil {
			return fmt.Errorf("%s: %q: %w", name, row, err)
		}
		if l.verb != "" {
			lines = append(lines, l)
		}
	}
	if !isCheck {
		s.sections[name] = lines
		return nil
	}
	s.lines[name] = lines
	c.run = func(p *probe) { p.play(s, lines) }
	s.checks = append(s.checks, c)
	return nil
}

// readLine reads a line; a remark has no verb.
func readLine(row string) (line, error) {
	verb, rest, _ := strings.Cut(row, " ")
	l := line{text: row, verb: verb, what: rest}
	var err error
	switch verb {
	case "", "#":
		return line{}, nil
	case ">>":
	case ">>q":
		l.verb = ">>"
		l.what, err = strconv.Unquote(rest)
	case ">":
		err = l.request()
	case "~", "-":
		l.what, rest, _ = strings.Cut(rest, " ")
		for rest != "" && rest[0] != '{' {
			var pair string
			pair, rest, _ = strings.Cut(rest, " ")
			l.choice = append(l.choice, pair)
		}
		err = l.pattern(rest)
	case "=":
		l.what, l.more, _ = strings.Cut(rest, " ")
	case "<<":
		if rest != "nothing" {
			err = l.pattern(rest)
		}
	case "<", "!":
		word, more, _ := strings.Cut(rest, " ")
		if n, bad := strconv.Atoi(word); bad == nil {
			l.status, rest = n, more
		}
		if verb == "!" {
			l.what, rest, _ = strings.Cut(rest, " ")
			if kinds[l.what] == 0 {
				return l, errors.New("no such kind of error")
			}
		}
		err = l.pattern(rest)
	default:
		err = errors.New("a line begins with # > >> >>q < << ! ~ - or =")
	}
	return l, err
}

// headers matches the headers of an HTTP request and the text after them.
var headers = regexp.MustCompile(`^\[(.*?)\]( [<!] .*)?$`)

// request reads METHOD PARAMS, or VERB /PATH [HEADERS], and the expectation
// that may follow.
func (l *line) request() error {
	method, rest, _ := strings.Cut(l.what, " ")
	l.what = method
	if method == strings.ToUpper(method) {
		var path string
		path, rest, _ = strings.Cut(rest, " ")
		l.what += " " + path
		if m := headers.FindStringSubmatch(rest); m != nil {
			l.more, rest = m[1], m[2]
		}
	} else if rest != "" && !strings.HasPrefix(rest, "< ") && !strings.HasPrefix(rest, "! ") && rest != "<" {
		dec := jsontext.NewDecoder(strings.NewReader(rest), jsontext.AllowDuplicateNames(true))
		params, err := dec.ReadValue()
		if err != nil {
			return err
		}
		l.more, rest = string(bytes.Clone(params)), rest[dec.InputOffset():]
	}
	if rest = strings.TrimSpace(rest); rest == "" {
		return nil
	}
	then, err := readLine(rest)
	l.then = &then
	return err
}

func (l *line) pattern(text string) error {
	if text == "" {
		return nil
	}
	return json.Unmarshal([]byte(text), &l.want)
}

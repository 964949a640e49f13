package transcript

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/tools/txtar"
)

// File is a parsed transcript file.
type File struct {
	path    string
	archive *txtar.Archive
}

// Load reads a transcript file.
func Load(path string) (*File, error) {
	a, err := txtar.ParseFile(path)
	if err != nil {
		return nil, err
	}
	if len(a.Files) == 0 {
		return nil, fmt.Errorf("%s holds no conversation: want a line such as -- conversation --", path)
	}
	return &File{path, a}, nil
}

// Conversations returns the names of the sections, in order.
func (f *File) Conversations() []string {
	var names []string
	for _, s := range f.archive.Files {
		names = append(names, s.Name)
	}
	return names
}

// Text returns a section of the file, unchanged.
func (f *File) Text(name string) string {
	for _, s := range f.archive.Files {
		if s.Name == name {
			return string(s.Data)
		}
	}
	return ""
}

// Update replaces a section and writes the file.
func (f *File) Update(name, text string) error {
	for i, s := range f.archive.Files {
		if s.Name == name {
			f.archive.Files[i].Data = []byte(text)
		}
	}
	return os.WriteFile(f.path, txtar.Format(f.archive), 0o644)
}

// step is one line that the player executes. Lines of the server are no steps:
// the player writes them.
type step struct {
	kind string // "send", "remark", or the word after ~
	line string // as in the file
	text string // what to send, or the arguments
}

// parse reads the steps of a conversation.
func parse(text string) ([]step, error) {
	var steps []step
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		head, rest, _ := strings.Cut(line, " ")
		switch head {
		case "<":
		case "", "#":
			if head == "" && line != "" {
				return nil, fmt.Errorf("line %d: %q begins with a space", i+1, line)
			}
			steps = append(steps, step{"remark", line, ""})
		case ">":
			steps = append(steps, step{"send", line, rest})
		case ">q":
			raw, err := strconv.Unquote(rest)
			if err != nil {
				return nil, fmt.Errorf("line %d: %s: %w", i+1, rest, err)
			}
			steps = append(steps, step{"send", line, raw})
		case "~":
			word, args, _ := strings.Cut(rest, " ")
			switch word {
			case "wait", "mark", "connect", "restart", "kill":
			default:
				return nil, fmt.Errorf("line %d: ~ %s is no directive", i+1, word)
			}
			steps = append(steps, step{word, line, args})
		default:
			return nil, fmt.Errorf("line %d: %q begins with none of # > >q < ~", i+1, line)
		}
	}
	return steps, nil
}

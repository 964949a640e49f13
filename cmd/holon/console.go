package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
)

// console holds the standard streams of a command and the environment that
// describes its terminal. One goroutine, the command's, uses it.
type console struct {
	in      io.Reader
	out     io.Writer
	err     io.Writer
	environ []string
	long    bool // tables show whole ids
}

// env returns the last value of a variable, "" if it is not set.
func (c *console) env(name string) string {
	value := ""
	for _, entry := range c.environ {
		if rest, ok := strings.CutPrefix(entry, name+"="); ok {
			value = rest
		}
	}
	return value
}

// isTerminal reports whether a stream is a terminal that understands escapes.
func (c *console) isTerminal(stream any) bool {
	return isTerminalFile(stream) && c.env("TERM") != "dumb"
}

// isTerminalFile reports whether a person is at the other end of a stream, whatever the
// terminal can do.
func isTerminalFile(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// columns returns the width of the terminal on stdout, 80 if unknown.
func (c *console) columns() int {
	if file, ok := c.out.(*os.File); ok {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}

// windowRows returns the height of the terminal on stdout, 24 if unknown.
func (c *console) windowRows() int {
	if file, ok := c.out.(*os.File); ok {
		if _, height, err := term.GetSize(int(file.Fd())); err == nil && height > 0 {
			return height
		}
	}
	return 24
}

// utf8Locale reports whether the locale's character set is UTF-8. Without any
// locale the result is true: agents' text is always UTF-8.
func (c *console) utf8Locale() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToLower(c.env(name)); value != "" {
			return strings.Contains(value, "utf-8") || strings.Contains(value, "utf8")
		}
	}
	return true
}

// jsonOut returns stdout for JSON. On a terminal it writes characters that would act
// on it (C1 controls, those that reorder text) as escapes, so that an agent's
// text has no effect there; the values are the same. Elsewhere the bytes are
// unchanged.
func (c *console) jsonOut() io.Writer {
	if file, ok := c.out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		return &jsonEscaper{w: file}
	}
	return c.out
}

// printJSON writes one value as one indented object for -o json, on one line
// for -o jsonl.
func (c *console) printJSON(value any, indent bool) error {
	encoder := json.NewEncoder(c.jsonOut())
	encoder.SetEscapeHTML(false)
	if indent {
		encoder.SetIndent("", "  ")
	}
	return encoder.Encode(value)
}

// printRaw prints received JSON, indented or on one line.
func (c *console) printRaw(raw json.RawMessage, indent bool) error {
	var b bytes.Buffer
	var err error
	if indent {
		err = json.Indent(&b, raw, "", "  ")
	} else {
		err = json.Compact(&b, raw)
	}
	if err != nil {
		return fmt.Errorf("the result is not JSON: %w", err)
	}
	b.WriteByte('\n')
	_, err = c.jsonOut().Write(b.Bytes())
	return err
}

// printRows prints received rows for -o json, as the value of member beside
// latest_seq, or one a line for -o jsonl.
func (c *console) printRows(format, member string, rows []json.RawMessage, latest int64) error {
	if format == "json" {
		if rows == nil {
			rows = []json.RawMessage{}
		}
		return c.printJSON(map[string]any{member: rows, "latest_seq": latest}, true)
	}
	for _, row := range rows {
		if err := c.printRaw(row, false); err != nil {
			return err
		}
	}
	return nil
}

// printFields prints names and values for a person, one pair a line, without
// the pairs that have no value.
func (c *console) printFields(width int, fields [][2]string) error {
	for _, field := range fields {
		if field[1] == "" {
			continue
		}
		if _, err := fmt.Fprintf(c.out, "%-*s %s\n", width, field[0], timeline.OneLine(field[1])); err != nil {
			return err
		}
	}
	return nil
}

// printText prints a text, or returns err.
func (c *console) printText(text string, err error) error {
	if err != nil {
		return err
	}
	_, err = io.WriteString(c.out, text)
	return err
}

// note writes a sentence for a person to stderr.
func (c *console) note(format string, args ...any) {
	fmt.Fprintf(c.err, format+"\n", args...)
}

package items

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// TextOf returns the text of content that grows by deltas; ok is false for kinds
// without one.
func TextOf(c Content) (text string, ok bool) {
	switch c := c.(type) {
	case AgentMessage:
		if len(c.Content) > 0 {
			return c.Content[0].Text, true
		}
		return "", true
	case Reasoning:
		return c.Text, true
	case ToolCall:
		return c.Output, true
	case CommandExecution:
		return c.Output, true
	}
	return "", false
}

// Said is the text of an agent's message where it is carried without its item: how the
// text is meant goes with it.
type Said struct {
	Text      string
	Format    Format
	Truncated bool
}

// SaidIn returns what a message says. The other kinds of content have no text.
func SaidIn(c Content) Said {
	m, ok := c.(AgentMessage)
	if !ok {
		return Said{}
	}
	text, _ := TextOf(m)
	return Said{Text: text, Format: m.Format}
}

// WithText returns content with its growing text replaced.
func WithText(c Content, text string) Content {
	switch c := c.(type) {
	case AgentMessage:
		c.Content = []OutputText{{Type: "output_text", Text: text}}
		return c
	case Reasoning:
		c.Text = text
		return c
	case ToolCall:
		c.Output = text
		return c
	case CommandExecution:
		c.Output = text
		return c
	}
	return c
}

// Fold returns the content of an open item with the texts of its deltas
// appended in their order.
func Fold(content Raw, deltas []string) (Raw, error) {
	if len(deltas) == 0 {
		return content, nil
	}
	c, err := Decode(content)
	if err != nil {
		return nil, err
	}
	text, ok := TextOf(c)
	if !ok {
		return nil, fmt.Errorf("fold deltas of %s: %w", c.Kind(), ErrRefused)
	}
	b := []byte(text)
	for _, d := range deltas {
		b = append(b, d...)
	}
	return Encode(WithText(c, string(b)))
}

// Text collects the growing text of one open item within a bound. Sizes count
// encoded JSON, because that is what is stored and sent. Past the bound it keeps
// the head and the newest bytes. The zero value is not usable.
type Text struct {
	max     int    // bound of the encoded text
	head    []byte // everything while it fits, then the beginning
	encoded int    // encoded size of head
	total   int64  // bytes seen
	whole   int64  // encoded size of all bytes seen
	tail    []byte // the newest bytes once full
	full    bool
}

// NewText returns a Text of at most max encoded bytes that holds initial.
func NewText(initial string, max int) *Text {
	t := &Text{max: max}
	t.Add(initial)
	return t
}

// ResumeText returns the Text of an item that was truncated. cut is its text as
// it was stored, whole the encoded size of all text before it was cut. Nothing
// more fits. Text that came after cut was stored is not in it. If cut is shorter
// than what is kept of a text that is too long, it is whole: other content was
// left out.
func ResumeText(cut string, whole int64, max int) *Text {
	if encodedLen(cut) <= max/2 {
		return NewText(cut, max)
	}
	t := &Text{max: max, full: true, head: []byte(cutFront(cut, max/2)), whole: whole}
	t.encoded = encodedLen(string(t.head))
	t.tail = []byte(cutBack(cut[len(t.head):], t.tailMax()))
	t.total = int64(len(cut)) // plus the missing bytes, counted as encoded
	if missing := whole - int64(encodedLen(cut)); missing > 0 {
		t.total += missing
	}
	return t
}

// Add appends text and reports whether it still fits. If not, neither this text
// nor any later one must be sent as a delta.
func (t *Text) Add(s string) (fits bool) {
	n := encodedLen(s)
	t.total += int64(len(s))
	t.whole += int64(n)
	if !t.full {
		if t.encoded+n <= t.max {
			t.head = append(t.head, s...)
			t.encoded += n
			return true
		}
		t.full = true
		t.tail = append(t.tail, t.head[max(0, len(t.head)-t.tailMax()):]...)
		head := cutFront(string(t.head)+s, t.max/2)
		t.head, t.encoded = []byte(head), encodedLen(head)
	}
	t.tail = append(t.tail, s...)
	if over := len(t.tail) - t.tailMax(); over > t.tailMax() {
		t.tail = append(t.tail[:0], t.tail[over:]...)
	}
	return false
}

// Clone returns a copy that grows without changing t.
func (t *Text) Clone() *Text {
	cp := *t
	cp.head, cp.tail = slices.Clone(t.head), slices.Clone(t.tail)
	return &cp
}

func (t *Text) tailMax() int { return t.max / 4 }

// Len returns the number of bytes added: the offset of the next delta.
func (t *Text) Len() int64 { return t.total }

// Max returns the bound of the encoded text.
func (t *Text) Max() int { return t.max }

// Truncated reports whether text has been left out.
func (t *Text) Truncated() bool { return t.full }

// Total returns the encoded size of all text added.
func (t *Text) Total() int64 { return t.whole }

// String returns the text, or its head and tail with a line between them that
// says how much is missing.
func (t *Text) String() string {
	if !t.full {
		return string(t.head)
	}
	tail := cutBack(string(t.tail), t.tailMax())
	missing := t.total - int64(len(t.head)) - int64(len(tail))
	return fmt.Sprintf("%s\n… %d bytes left out …\n%s", t.head, missing, tail)
}

// encodedLen returns the size of s inside a JSON string.
func encodedLen(s string) int {
	n := len(s)
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			b, _ := jsontext.AppendQuote(make([]byte, 0, n+n/8+2), s) // an error only says that invalid UTF-8 was replaced
			return len(b) - 2
		}
	}
	return n
}

// cutFront returns the longest prefix of s, ended at a code point, whose
// encoding has at most max bytes.
func cutFront(s string, max int) string {
	used := 0
	for i, r := range s {
		used += runeLen(r)
		if used > max {
			return s[:i]
		}
	}
	return s
}

// cutBack works like cutFront, for the longest suffix.
func cutBack(s string, max int) string {
	used, i := 0, len(s)
	for i > 0 {
		r, size := utf8.DecodeLastRuneInString(s[:i])
		used += runeLen(r)
		if used > max || (r == utf8.RuneError && size == 1) {
			break
		}
		i -= size
	}
	return s[i:]
}

// runeLen returns the size of r inside a JSON string, as the encoder writes it.
func runeLen(r rune) int {
	switch {
	case r == '"' || r == '\\' || r == '\n' || r == '\r' || r == '\t' || r == '\b' || r == '\f':
		return 2
	case r < 0x20:
		return 6
	}
	return utf8.RuneLen(r)
}

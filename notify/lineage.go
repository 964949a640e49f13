package notify

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Ref is one try of a step. Step is a path such as "setup/clone", "" for the
// turn itself; Epoch counts the tries from 1.
type Ref struct {
	Step  string `json:"step"`
	Epoch int    `json:"epoch"`
}

// Span is one try of a step, as its events carry it. NewSpan makes one per try.
// Only its Seq ever changes.
//
// Seq is the seq of the try's first event and identifies the try in rows. It is
// 0 before there is one, and provisional (see Provisional) until the unit with
// the first event is committed. If that unit is refused, the Span must not be
// used again: make another one.
type Span struct {
	Seq     int64
	TurnID  string
	Step    string
	Epoch   int
	Lineage []Ref // the turn's try, the tries between, this try; never changed

	members []byte // the header's members of the try, encoded once: see appendLineage
}

// NewSpan returns a try of the step. It runs as part of the try above; above is
// nil for the turn itself, whose step is "".
func NewSpan(turnID, step string, epoch int, above *Span) *Span {
	s := &Span{TurnID: turnID, Step: step, Epoch: epoch}
	if above != nil {
		s.Lineage = append(s.Lineage, above.Lineage...)
	}
	s.Lineage = append(s.Lineage, Ref{step, epoch})
	s.members = appendLineage(nil, s.Lineage)
	return s
}

// Root returns the epoch of the turn itself: the attempt that the try belongs to.
func (s *Span) Root() int { return s.Lineage[0].Epoch }

// AssignSeqs turns a provisional Seq into the real one, as the function AssignSeq does.
func (s *Span) AssignSeqs(first int64) { s.Seq = AssignSeq(s.Seq, first) }

// appendLineage appends the members that the events of a try have. step and
// epoch are those of the last in the lineage; step is written even if it is "".
func appendLineage(b []byte, lineage []Ref) []byte {
	appendRef := func(r Ref) {
		b = append(b, `"step":`...)
		b, _ = jsontext.AppendQuote(b, r.Step) // an error only says that invalid UTF-8 was replaced
		b = append(b, `,"epoch":`...)
		b = strconv.AppendInt(b, int64(r.Epoch), 10)
	}
	appendRef(lineage[len(lineage)-1])
	b = append(b, `,"lineage":[`...)
	for i, r := range lineage {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '{')
		appendRef(r)
		b = append(b, '}')
	}
	return append(b, `],`...)
}

// Hidden says what a marker supersedes of one try: the events with this Span
// and a seq above After.
type Hidden struct{ Span, After int64 }

// Bounds of the path of a step. Each event of a step repeats its lineage, so
// depth costs bytes.
const (
	MaxStepBytes = 256
	MaxStepDepth = 8
	maxStepWord  = 64
)

// ValidStep reports whether path can name a step below the turn: up to
// MaxStepDepth words with '/' between them, MaxStepBytes in all. A word has 1 to
// 64 characters of A-Z, a-z, 0-9, '_', '.' and '-'. "", the turn itself, is not
// valid.
func ValidStep(path string) bool {
	if path == "" || len(path) > MaxStepBytes {
		return false
	}
	depth := 0
	for word := range strings.SplitSeq(path, "/") {
		if depth++; depth > MaxStepDepth || word == "" || len(word) > maxStepWord {
			return false
		}
		for _, c := range []byte(word) {
			if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '.' || c == '-') {
				return false
			}
		}
	}
	return true
}

// StepAbove returns the path of the step above: "setup" of "setup/clone", ""
// of "setup".
func StepAbove(path string) string {
	return path[:max(0, strings.LastIndexByte(path, '/'))]
}

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

// Span is one try of a step, as its events carry it. It is made once per try
// by NewSpan and is immutable but for Seq.
//
// Seq is the seq of the try's first event and identifies the try in rows; 0
// before it has one, provisional (see Provisional) until the unit that has
// the first event is committed. A Span that got its Seq in a unit that was
// refused is of no further use: make another one.
type Span struct {
	Seq     int64
	TurnID  string
	Step    string
	Epoch   int
	Lineage []Ref // the try and those above it, the turn's first; never changed

	members []byte // of the header, encoded once: see appendLineage
}

// NewSpan returns a try of the step, which runs as part of the try above; nil
// above is for the turn itself, whose step is "".
func NewSpan(turnID, step string, epoch int, above *Span) *Span {
	s := &Span{TurnID: turnID, Step: step, Epoch: epoch}
	if above != nil {
		s.Lineage = append(s.Lineage, above.Lineage...)
	}
	s.Lineage = append(s.Lineage, Ref{step, epoch})
	s.members = appendLineage(nil, s.Lineage)
	return s
}

// Root is the epoch of the turn itself: the attempt that the try belongs to.
func (s *Span) Root() int { return s.Lineage[0].Epoch }

// Settle turns a provisional seq into the real one, as Settle does.
func (s *Span) Settle(first int64) { s.Seq = Settle(s.Seq, first) }

// appendLineage appends the members that the events of a try have: step and
// epoch are those of the last in the lineage, and step is there when it is "".
func appendLineage(b []byte, lineage []Ref) []byte {
	appendRef := func(r Ref) {
		b = append(b, `"step":`...)
		b, _ = jsontext.AppendQuote(b, r.Step) // its error is of UTF-8 that it has mended
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

// Hidden is what a marker supersedes of one try: the events whose span is
// Span and whose seq is above After.
type Hidden struct{ Span, After int64 }

// Bounds of the path of a step. Each event of a step repeats its lineage, so
// that depth costs bytes.
const (
	MaxStepBytes = 256
	MaxStepDepth = 8
	maxStepWord  = 64
)

// ValidStep reports whether path can name a step below the turn: up to
// MaxStepDepth words of 1 to 64 of A-Z, a-z, 0-9, '_', '.' and '-', with '/'
// between them, MaxStepBytes in all. "", the turn itself, is none.
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

package notify

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Header is the part of params that events share. ThreadSeq and ThreadID are
// zero on events of the whole log, TurnID and Attempt on events outside a
// turn.
//
// Lineage is nil on an event that nothing supersedes. With a Lineage, Step and
// Epoch are those of its last member, and "step" is on the wire even if it is
// "". A stream/rewind and a turn/late have no lineage. Their bodies have a step
// and an epoch, which decoding also puts into Step and Epoch.
//
// Span is the seq of the first event of the try (see Span), 0 without a
// Lineage. It is not on the wire: the code that folds events sets it.
type Header struct {
	Seq       int64  `json:"seq"`
	ThreadSeq int64  `json:"thread_seq,omitzero"`
	ThreadID  string `json:"thread_id,omitzero"`
	TurnID    string `json:"turn_id,omitzero"`
	Attempt   int    `json:"attempt,omitzero"`
	Step      string `json:"step,omitzero"`
	Epoch     int    `json:"epoch,omitzero"`
	Lineage   []Ref  `json:"lineage,omitzero"`
	Span      int64  `json:"-"`
	Timestamp Time   `json:"timestamp"`
}

// Event is one durable entry of the log. Params is the complete encoded
// params object, seq included; it is written once and never encoded again.
// Span is as in Header; Hides is what a stream/rewind supersedes, set by the
// store when it appends one. Both are zero on events that are read.
type Event struct {
	Seq       int64
	ThreadSeq int64
	ThreadID  string
	ItemID    string
	Method    string
	Time      Time
	Params    []byte
	Span      int64
	Hides     []Hidden
}

// Draft is an event that is not in the log yet. One goroutine makes it, encodes
// it and hands it to the appender. The appender gives it its seq and puts that
// in front of Rest.
type Draft struct {
	Method string
	Header Header // Seq is provisional: see Provisional; ThreadSeq is 0
	Span   *Span  // set by In; nil without a lineage
	ItemID string // set on item events
	Body   any    // the typed rest of params; a struct or a pointer to one
	Rest   []byte // made by Encode: all of params after thread_seq, without the opening brace
	Holes  []Hole // made by Encode: where in Rest the digits of ids belong; see WithIDs
}

// WithIDs is a Body with ids of events of its own unit. Its embedded marker costs
// other bodies nothing.
type WithIDs interface{ HasIDs() }

// Provisional returns the seq that a draft, and the rows made of it, have before
// their transaction: −1 for the first draft of a unit, −2 for the second.
func Provisional(index int) int64 { return -int64(index) - 1 }

// AssignSeq turns a provisional seq into the real one; first is the seq of the
// unit's first draft. It returns real seqs as they are.
func AssignSeq(seq, first int64) int64 {
	if seq < 0 {
		return first - seq - 1
	}
	return seq
}

// In makes the draft an event of the try, with the try's lineage. The first
// draft of a try gives the try its Seq. The draft's Header.Seq must be set.
func (d *Draft) In(s *Span) {
	if s.Seq == 0 {
		s.Seq = d.Header.Seq
	}
	d.Span = s
	d.Header.Step, d.Header.Epoch, d.Header.Lineage, d.Header.Span = s.Step, s.Epoch, s.Lineage, s.Seq
}

// Encode makes Rest from Header and Body. It must be called once before the
// draft is handed to the appender.
func (d *Draft) Encode() error {
	var lineage []byte
	if d.Span != nil {
		lineage = d.Span.members
	}
	b := bytes.NewBuffer(d.Header.appendRest(make([]byte, 0, 512+len(lineage)), lineage)) // most events have less
	head := b.Len()
	if _, ok := d.Body.(WithIDs); ok {
		body, holes, err := Marshal(d.Body, jsontext.AllowInvalidUTF8(true))
		if err != nil {
			return fmt.Errorf("encode %s: %w", d.Method, err)
		}
		b.Write(body)
		for i := range holes {
			holes[i].At += head
		}
		d.Holes = holes
	} else if err := json.MarshalWrite(b, d.Body, jsontext.AllowInvalidUTF8(true)); err != nil {
		return fmt.Errorf("encode %s: %w", d.Method, err)
	}
	rest := b.Bytes()
	if len(rest) == head+2 { // {}
		rest = append(rest[:head], '}')
	} else {
		rest[head] = ','
	}
	d.Rest = rest
	return nil
}

// appendRest appends the members of the header that a draft knows, as its tags
// say. It does so by hand, because every event has a header. lineage is encoded
// already; without it, h.Lineage is encoded.
func (h *Header) appendRest(b, lineage []byte) []byte {
	for _, id := range [...]struct{ name, value string }{{`"thread_id":`, h.ThreadID}, {`"turn_id":`, h.TurnID}} {
		if id.value != "" {
			b = append(b, id.name...)
			b, _ = jsontext.AppendQuote(b, id.value) // an error only says that invalid UTF-8 was replaced
			b = append(b, ',')
		}
	}
	if h.Attempt != 0 {
		b = append(b, `"attempt":`...)
		b = strconv.AppendInt(b, int64(h.Attempt), 10)
		b = append(b, ',')
	}
	if len(lineage) > 0 {
		b = append(b, lineage...)
	} else if len(h.Lineage) > 0 {
		b = appendLineage(b, h.Lineage)
	}
	b = append(b, `"timestamp":"`...)
	b, _ = h.Timestamp.AppendText(b) // never an error
	return append(b, '"')
}

// Event makes the draft an event with this seq. threadSeq is ignored for events
// without a thread.
func (d *Draft) Event(seq, threadSeq int64) Event {
	params := make([]byte, 0, len(d.Rest)+48)
	params = append(params, `{"seq":`...)
	params = strconv.AppendInt(params, seq, 10)
	if d.Header.ThreadID != "" {
		params = append(params, `,"thread_seq":`...)
		params = strconv.AppendInt(params, threadSeq, 10)
	} else {
		threadSeq = 0
	}
	params = append(params, ',')
	first := seq + d.Header.Seq + 1 // of the unit: a provisional seq counts from it
	if len(d.Holes) > 0 {
		params = appendFilled(params, d.Rest, d.Holes, first)
	} else {
		params = append(params, d.Rest...)
	}
	e := Event{
		Seq: seq, ThreadSeq: threadSeq, ThreadID: d.Header.ThreadID, ItemID: d.ItemID,
		Method: d.Method, Time: d.Header.Timestamp, Params: params,
	}
	if d.Span != nil {
		e.Span = AssignSeq(d.Span.Seq, first)
	}
	return e
}

// The text before the method of a frame, and between its method and params.
const (
	frameMethod = `{"jsonrpc":"2.0","method":"`
	frameParams = `","params":`
)

// AppendFrame appends the event's NDJSON line: the envelope around the stored
// params.
func (e *Event) AppendFrame(b []byte) []byte {
	b = append(b, frameMethod...)
	b = append(b, e.Method...)
	b = append(b, frameParams...)
	b = append(b, e.Params...)
	return append(b, "}\n"...)
}

// FrameSize returns the number of bytes AppendFrame appends.
func (e *Event) FrameSize() int {
	return len(frameMethod+frameParams+"}\n") + len(e.Method) + len(e.Params)
}

package notify

import (
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ID names a thing by the seq of the event that created it: a prefix and the
// seq, such as ent_42. While its unit is not committed the seq is provisional
// (ent_-1); Marshal and AssignSeq make the real one. "" = none.
type ID string

// MakeID returns the id of a seq, "" for seq 0.
func MakeID(prefix string, seq int64) ID {
	if seq == 0 {
		return ""
	}
	return ID(prefix + strconv.FormatInt(seq, 10))
}

// Seq returns the seq in the id if it has the prefix. ok is false for any other
// string, also for one that spells the number in another way.
func (id ID) Seq(prefix string) (seq int64, ok bool) {
	digits, ok := strings.CutPrefix(string(id), prefix)
	if !ok {
		return 0, false
	}
	seq, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || seq <= 0 || strconv.FormatInt(seq, 10) != digits {
		return 0, false
	}
	return seq, true
}

// provisional splits an id with a provisional seq.
func (id ID) provisional() (prefix string, seq int64, ok bool) {
	i := strings.IndexByte(string(id), '-')
	if i < 0 {
		return "", 0, false
	}
	seq, err := strconv.ParseInt(string(id[i:]), 10, 64)
	return string(id[:i]), seq, err == nil
}

// AssignSeq returns the id with its real seq; first is that of the unit's first draft.
func (id ID) AssignSeq(first int64) ID {
	if prefix, seq, ok := id.provisional(); ok {
		return MakeID(prefix, AssignSeq(seq, first))
	}
	return id
}

// AssignIDs does what ID.AssignSeq does, for all ids of a list, in place.
func AssignIDs(list []ID, first int64) {
	for i := range list {
		list[i] = list[i].AssignSeq(first)
	}
}

// Hole is a place in encoded JSON where the digits of a provisional seq belong.
type Hole struct {
	At  int
	Seq int64
}

// holeFinder encodes ids and notes the holes of those that are provisional. One
// call of Marshal uses it at a time. It is kept for later calls, because package
// json remembers in a marshaler how each type is encoded.
type holeFinder struct {
	holes   []Hole
	options json.Options
}

var holeFinders = sync.Pool{New: func() any {
	f := &holeFinder{}
	f.options = json.WithMarshalers(json.MarshalToFunc(func(enc *jsontext.Encoder, id ID) error {
		prefix, seq, ok := id.provisional()
		if !ok {
			return enc.WriteToken(jsontext.String(string(id)))
		}
		if err := enc.WriteToken(jsontext.String(prefix)); err != nil {
			return err
		}
		f.holes = append(f.holes, Hole{int(enc.OutputOffset()) - 1, seq}) // before the closing quote
		return nil
	}))
	return f
}}

// Marshal encodes v. Ids in it that are provisional are left without their
// digits, and the holes say where these belong: see Fill.
func Marshal(v any, options ...json.Options) (b []byte, holes []Hole, err error) {
	f := holeFinders.Get().(*holeFinder)
	b, err = json.Marshal(v, append(options, f.options)...)
	holes, f.holes = f.holes, nil
	holeFinders.Put(f)
	return b, holes, err
}

// Fill returns b with the digits of the real seqs; first is the seq of the
// unit's first draft. b is not changed.
func Fill(b []byte, holes []Hole, first int64) []byte {
	if len(holes) == 0 {
		return b
	}
	return appendFilled(make([]byte, 0, len(b)+20*len(holes)), b, holes, first)
}

func appendFilled(out, b []byte, holes []Hole, first int64) []byte {
	from := 0
	for _, h := range holes {
		out = append(out, b[from:h.At]...)
		out = strconv.AppendInt(out, AssignSeq(h.Seq, first), 10)
		from = h.At
	}
	return append(out, b[from:]...)
}

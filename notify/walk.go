package notify

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// Walked is an event as Tail.Walk shows it. Params is shared memory: it must
// not be changed. Superseded says that collapse leaves the event out.
type Walked struct {
	Seq              int64
	ThreadID, Method string
	Params           []byte
	Superseded       bool
}

// Walk calls f with the events after a seq that one commit has published, in
// order, until f returns false. It returns the seq of the last event for which
// f returned true, or after if there is none. held is false if the next event
// has left the tail; it must then be read from the log. Walk holds no lock while
// f runs.
func (t *Tail) Walk(after int64, f func(*Walked) bool) (through int64, held bool) {
	b, held := t.find(after)
	if b == nil {
		return after, held
	}
	for i := b.index(after); i < len(b.ends); i++ {
		m, seq := &b.meta[i], b.seq(i)
		start := b.offset(i) + len(frameMethod) + len(m.method) + len(frameParams)
		if !f(&Walked{seq, m.threadID, m.method, b.data[start : int(b.ends[i])-len("}\n")], m.superseded(seq)}) {
			break
		}
		after = seq
	}
	return after, true
}

// ThreadIDOf reads the thread of an event from its params, which begin with
// seq, thread_seq and thread_id: see Draft.Event. "" = it belongs to no thread.
func ThreadIDOf(params []byte) string {
	const seq, threadSeq, threadID = `{"seq":`, `,"thread_seq":`, `,"thread_id":`
	rest := params
	for _, name := range [...]string{seq, threadSeq} {
		if !bytes.HasPrefix(rest, []byte(name)) {
			return ""
		}
		rest = bytes.TrimLeft(rest[len(name):], "0123456789")
	}
	rest, ok := bytes.CutPrefix(rest, []byte(threadID))
	if !ok || len(rest) == 0 || rest[0] != '"' {
		return ""
	}
	for end := 1; end < len(rest); end++ {
		switch rest[end] {
		case '\\':
			end++
		case '"':
			id, _ := jsontext.AppendUnquote(nil, rest[:end+1]) // quoted by Draft.Encode
			return string(id)
		}
	}
	return ""
}

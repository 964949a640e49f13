package notify

import (
	"bytes"
	"sync/atomic"
)

// batch is what one commit published. Its frames lie back to back in one slice.
type batch struct {
	first, last int64
	data        []byte
	ends        []int32 // where each frame ends in data
	meta        []frameMeta
	spans       int          // how many tries have frames in it
	pins        atomic.Int64 // chunks that lie in it; plus dropped, once it has left the tail
}

const dropped = 1 << 40

type frameMeta struct {
	threadID, method string
	span             *heldSpan // nil: nothing supersedes it
}

// superseded reports whether collapse leaves the frame out. Markers have no
// span and are never left out.
func (m *frameMeta) superseded(seq int64) bool {
	return m.span != nil && seq > m.span.after.Load() || m.method == TurnLate
}

func (b *batch) cost() int { return len(b.data) + frameCost*len(b.ends) + spanCost*b.spans }

// index returns the index of the first frame after a seq.
func (b *batch) index(after int64) int { return max(0, int(after+1-b.first)) }

// offset returns where the frame at index i begins in data.
func (b *batch) offset(i int) int {
	if i == 0 {
		return 0
	}
	return int(b.ends[i-1])
}

// seq returns the seq of the frame at index i.
func (b *batch) seq(i int) int64 { return b.first + int64(i) }

// frame returns the frame at index i.
func (b *batch) frame(i int) []byte { return b.data[b.offset(i):b.ends[i]] }

// methodOf reads the method of a frame.
func methodOf(frame []byte) string {
	rest := bytes.TrimPrefix(frame, []byte(frameMethod))
	return string(rest[:max(0, bytes.IndexByte(rest, '"'))])
}

// maxSeqDigits is how many digits certainly fit into an int64. A log that grows
// by a million events a second has fewer for thirty thousand years.
const maxSeqDigits = 18

// seqOf reads the seq of a frame. Draft.Event puts it first into params.
func seqOf(frame []byte) (seq int64, ok bool) {
	at := len(frameMethod)
	if len(frame) < at {
		return 0, false
	}
	n := bytes.IndexByte(frame[at:], '"')
	if n < 0 {
		return 0, false
	}
	if at += n; !bytes.HasPrefix(frame[at:], []byte(frameParams+`{"seq":`)) {
		return 0, false
	}
	at += len(frameParams + `{"seq":`)
	start := at
	for ; at < len(frame) && '0' <= frame[at] && frame[at] <= '9'; at++ {
		seq = 10*seq + int64(frame[at]-'0')
	}
	return seq, at > start && at-start <= maxSeqDigits
}

package notify

import (
	"bytes"
	"fmt"
	"slices"
)

// batch is what one commit published. Its frames lie back to back in one slice,
// so that a stream without a filter writes a part of it without copying. A page
// of frames from the log is also a batch; it has no meta.
type batch struct {
	first, last int64
	data        []byte
	ends        []int32 // where each frame ends in data
	seqs        []int64 // of each frame; nil: first, first+1, …
	meta        []frameMeta
	spans       int // how many tries have frames in it
}

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
func (b *batch) index(after int64) int {
	if b.seqs != nil {
		i, _ := slices.BinarySearch(b.seqs, after+1)
		return i
	}
	return max(0, int(after+1-b.first))
}

// offset returns where the frame at index i begins in data.
func (b *batch) offset(i int) int {
	if i == 0 {
		return 0
	}
	return int(b.ends[i-1])
}

// seq returns the seq of the frame at index i.
func (b *batch) seq(i int) int64 {
	if b.seqs != nil {
		return b.seqs[i]
	}
	return b.first + int64(i)
}

// batchOf makes a batch of a page of frames from the log. A frame ends where
// its line ends. Frames that are not sparse have the seqs first, first+1, ….
// The seqs of sparse frames are read from the frames, and last is the seq at
// which the page ends.
func batchOf(first, last int64, frames []byte, sparse bool) (*batch, error) {
	capacity := max(0, min(pageEvents, last-first+1))
	b := &batch{first: first, last: last, data: frames, ends: make([]int32, 0, capacity)}
	if sparse {
		b.seqs = make([]int64, 0, capacity)
	}
	for end := 0; end < len(frames); {
		start, n := end, bytes.IndexByte(frames[end:], '\n')
		if n < 0 {
			return nil, fmt.Errorf("the last frame after event %d is not whole", first-1)
		}
		end += n + 1
		b.ends = append(b.ends, int32(end))
		if sparse {
			seq, ok := seqOf(frames[start:end])
			if !ok {
				return nil, fmt.Errorf("a frame after event %d does not begin with its seq", first-1)
			}
			b.seqs = append(b.seqs, seq)
		}
	}
	if !sparse {
		b.last = first + int64(len(b.ends)) - 1
	}
	return b, nil
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

// Package notifytest reads chunks of a cursor, for tests.
package notifytest

import (
	"bytes"
	"strconv"
)

// Frames joins the frames of which chunks have parts. The zero value is ready.
type Frames struct{ open []byte }

// Each calls f with each frame that ends in the chunk, and with its seq. It returns
// how many there were. The frames are its own.
func (r *Frames) Each(chunk []byte, f func(seq int64, frame []byte)) (n int) {
	rest := append(r.open, chunk...)
	for {
		end := bytes.IndexByte(rest, '\n') + 1
		if end == 0 {
			r.open = bytes.Clone(rest)
			return n
		}
		f(seqOf(rest[:end]), rest[:end:end])
		rest = rest[end:]
		n++
	}
}

// seqOf reads the seq of a frame; 0 = it has none.
func seqOf(frame []byte) int64 {
	_, rest, _ := bytes.Cut(frame, []byte(`"params":{"seq":`))
	digits := rest[:len(rest)-len(bytes.TrimLeft(rest, "0123456789"))]
	seq, _ := strconv.ParseInt(string(digits), 10, 64)
	return seq
}

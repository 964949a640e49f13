package main

import (
	"io"

	"github.com/seed82539d15/holon/rpc/frame"
)

// framingNotice is an input whose reader is told on stderr if it begins as in the base
// protocol of LSP. The server answers such a line, but a client that speaks so reads
// nothing of the answer.
type framingNotice struct {
	in   io.Reader
	note func(format string, args ...any)
	head []byte // what was read, until it is known how it begins
	done bool
}

// headBytes is more than the beginning of a header has.
const headBytes = 64

// Read implements io.Reader.
func (f *framingNotice) Read(b []byte) (int, error) {
	n, err := f.in.Read(b)
	if f.done {
		return n, err
	}
	f.head = append(f.head, b[:min(n, headBytes)]...)
	if frame.Framed(f.head) {
		f.note("holon: %s", frame.NotFramed)
		f.done = true
	}
	if f.done = f.done || len(f.head) >= headBytes; f.done {
		f.head = nil
	}
	return n, err
}

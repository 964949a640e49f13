package exec

import (
	"context"
	"os"
)

// feeder writes to a process's stdin: the prompt and then, if stdin is kept
// open, answers. A process that does not read delays only itself.
type feeder struct {
	f     *os.File
	first []byte
	lines chan []byte // nil = stdin ends after the prompt
}

// answersAhead is how many answers may wait while the process does not read.
const answersAhead = 4

func newFeeder(f *os.File, first []byte, keep bool) *feeder {
	in := &feeder{f: f, first: first}
	if keep {
		in.lines = make(chan []byte, answersAhead)
	}
	return in
}

// run writes until close. After a write error it drops the answers.
func (in *feeder) run() {
	_, err := in.f.Write(in.first) // EPIPE: a process need not read its input
	if in.lines == nil {
		in.f.Close()
		return
	}
	for line := range in.lines {
		if err == nil {
			_, err = in.f.Write(line)
		}
	}
}

// open reports whether answers can be sent.
func (in *feeder) open() bool { return in.lines != nil }

// send queues a line. It waits while the queue is full, at most until ctx ends.
func (in *feeder) send(ctx context.Context, line []byte) {
	select {
	case in.lines <- line:
	case <-ctx.Done():
	}
}

// close ends stdin and run. The caller must not call send any more.
func (in *feeder) close() {
	if in.lines != nil {
		close(in.lines)
	}
	in.f.Close() // a second close of the file fails harmlessly
}

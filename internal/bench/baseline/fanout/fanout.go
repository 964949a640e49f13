// Package fanout is the baseline of deliveries: bytes shared in memory and
// written by cursor to chunked responses of net/http. Nothing is stored.
//
//	GET /stream?from=BYTE   everything from there on, then new lines;
//	                        without from only new lines
//	POST /publish           each line of the body is one event
//	POST /produce           makes events at an interval: see Produce
package fanout

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"

	"github.com/seed82539d15/holon/internal/bench/baseline"
)

// chunk is the size of one write. Larger chunks were no faster.
const chunk = 64 << 10

// Run serves. --frames FILE is the initial content of the memory; --flush-each
// writes and flushes every event separately, as a simple server would.
func Run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("fanout", flag.ContinueOnError)
	frames := flags.String("frames", "", "a file of lines to begin with")
	flushEach := flags.Bool("flush-each", false, "flush after each event")
	if err := flags.Parse(args); err != nil {
		return err
	}
	s := &shared{wake: make(chan struct{}), flushEach: *flushEach}
	if *frames != "" {
		data, err := os.ReadFile(*frames)
		if err != nil {
			return err
		}
		s.data = data
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /stream", s.stream)
	mux.HandleFunc("POST /publish", s.publish)
	mux.HandleFunc("POST /produce", s.produce)
	return baseline.Serve(ctx, in, out, func(l net.Listener) error { return http.Serve(l, mux) })
}

// shared is the memory that all streams read. Bytes in data never change.
type shared struct {
	flushEach bool

	mu   sync.RWMutex
	data []byte
	wake chan struct{} // closed and replaced when data grows
}

// after returns the bytes from pos on, and a channel to wait for more.
func (s *shared) after(pos int) ([]byte, <-chan struct{}) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.data[pos:], s.wake
}

func (s *shared) from(text string) (int, error) {
	if text != "" {
		return strconv.Atoi(text)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.data), nil
}

func (s *shared) add(line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data = append(s.data, line...)
	close(s.wake)
	s.wake = make(chan struct{})
}

func (s *shared) stream(w http.ResponseWriter, r *http.Request) {
	pos, err := s.from(r.URL.Query().Get("from"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	control := http.NewResponseController(w)
	for {
		data, wake := s.after(pos)
		pos += len(data)
		for len(data) > 0 {
			n := min(chunk, len(data))
			if s.flushEach {
				n = bytes.IndexByte(data, '\n') + 1
			}
			if _, err := w.Write(data[:n]); err != nil {
				return
			}
			if s.flushEach && control.Flush() != nil {
				return
			}
			data = data[n:]
		}
		if control.Flush() != nil {
			return
		}
		select {
		case <-wake:
		case <-r.Context().Done():
			return
		}
	}
}

func (s *shared) publish(w http.ResponseWriter, r *http.Request) {
	for lines := bufio.NewReader(r.Body); ; {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return // the publisher has disconnected
		}
		s.add(line)
	}
}

package tools

import (
	"bufio"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/internal/mend"
)

// ServeStdio serves one client on a pair of streams, one JSON-RPC message a line,
// until in ends or ctx does. ctx must be of an agent. It does not close the streams;
// a read of in that is under way when ctx ends is left to the caller.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	if _, ok := api.AgentOf(ctx); !ok {
		return errors.New("the tools need the token of an agent")
	}
	c := &stdio{in: bufio.NewReader(in), out: out, cancelled: make(map[string]bool)}
	err := s.mcp.Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(c), Writer: nopCloser{c}})
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// stdio is a pair of streams: it mends each line that it reads, and does not write the
// answers of cancelled calls, which the library would. One goroutine reads.
type stdio struct {
	in   *bufio.Reader
	rest []byte // of the line that is being read
	out  io.Writer

	mu        sync.Mutex
	cancelled map[string]bool // of the calls that run, by their ids
}

// Read implements io.Reader.
func (c *stdio) Read(b []byte) (int, error) {
	if len(c.rest) == 0 {
		line, err := c.in.ReadBytes('\n')
		if len(line) == 0 {
			return 0, err
		}
		c.rest, _ = mend.JSON(line)
		c.note(c.rest)
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// note remembers a call, or that one is cancelled. What is no message is for the library.
func (c *stdio) note(line []byte) {
	var m message
	if json.Unmarshal(line, &m) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.call() {
		c.cancelled[idOf(m.ID)] = false
	} else if id, ok := m.cancels(); ok {
		if _, runs := c.cancelled[id]; runs {
			c.cancelled[id] = true
		}
	}
}

// Write implements io.Writer. The library writes whole lines.
func (c *stdio) Write(line []byte) (int, error) {
	var m message
	if json.Unmarshal(line, &m) == nil && m.Method == "" {
		id := idOf(m.ID)
		c.mu.Lock()
		drop := c.cancelled[id]
		delete(c.cancelled, id)
		c.mu.Unlock()
		if drop {
			return len(line), nil
		}
	}
	return c.out.Write(line)
}

type nopCloser struct{ io.Writer }

// Close implements io.Closer.
func (nopCloser) Close() error { return nil }

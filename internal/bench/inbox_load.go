package bench

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed82539d15/holon/internal/bench/ingest"
	"github.com/seed82539d15/holon/internal/bench/wire"
)

// loadConnections is how many two-way streams carry a load, with loadWindow
// requests in flight on each: half of what a connection may have.
const (
	loadConnections = 8
	loadWindow      = 32
)

// serveQuietly works like serve without heartbeats, which would count as answers.
func (r *run) serveQuietly(ctx context.Context, dir string, flags ...string) (*server, error) {
	return r.serve(ctx, dir, append(flags, "--heartbeat-seconds", "3600")...)
}

// sendAll sends requests over several connections, each of the requests over the
// connection of its position, and returns how long that took. An answer that is an
// error ends it.
func (s *server) sendAll(ctx context.Context, lines [][]byte) (time.Duration, error) {
	conns := make([]*wire.Stream, loadConnections)
	for i := range conns {
		c, err := wire.Open(ctx, s.address, "POST", ingest.AnswersOnly, readLimit)
		if err != nil {
			return 0, err
		}
		defer c.Close()
		if err := c.Until(1); err != nil { // stream/opened
			return 0, err
		}
		c.KeepTail = true
		conns[i] = c
	}
	began := time.Now()
	group, _ := errgroup.WithContext(ctx)
	for i, c := range conns {
		group.Go(func() error {
			var mine [][]byte
			for j := i; j < len(lines); j += loadConnections {
				mine = append(mine, lines[j])
			}
			return pipeline(c, mine)
		})
	}
	err := group.Wait()
	return time.Since(began), err
}

// pipeline keeps loadWindow requests in flight until all are answered.
func pipeline(c *wire.Stream, lines [][]byte) error {
	var out []byte
	for sent, answered, room := 0, 0, loadWindow; answered < len(lines); {
		out = out[:0]
		for ; room > 0 && sent < len(lines); room-- {
			out = wire.AppendChunk(out, lines[sent])
			sent++
		}
		if len(out) > 0 {
			if err := c.Write(out); err != nil {
				return err
			}
		}
		n, err := c.Read()
		if err != nil {
			return err
		}
		if bytes.Contains(c.Tail, []byte(`"error":`)) {
			return fmt.Errorf("refused: %s", c.Tail)
		}
		answered, room = answered+n, room+n
	}
	return nil
}

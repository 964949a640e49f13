package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed82539d15/holon/bench/wire"
)

// inboxItem is an item of inbox/ingest.
type inboxItem struct {
	Source   string         `json:"source"`
	NativeID string         `json:"native_id"`
	Summary  string         `json:"summary"`
	Payload  map[string]any `json:"payload"`
	Grouping *inboxGrouping `json:"grouping,omitempty"`
}

type inboxGrouping struct {
	ResourceRef string `json:"resource_ref"`
	EventFamily string `json:"event_family"`
	Flush       string `json:"flush,omitempty"`
}

// newItem is an item with as much text as a message of the load of appends. It is
// grouped if ref is not empty.
func newItem(native, ref string, size int) inboxItem {
	it := inboxItem{
		Source: "bench", NativeID: native, Summary: "a comment by ann",
		Payload: map[string]any{"sender": map[string]any{"login": "ann"}, "text": strings.Repeat("x", size)},
	}
	if ref != "" {
		it.Grouping = &inboxGrouping{ResourceRef: ref, EventFamily: "review_comments"}
	}
	return it
}

// line encodes a request as a line, whose id is that of its connection.
func line(id int, method string, params any) ([]byte, error) {
	raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	return append(raw, '\n'), err
}

// loadConnections is how many two-way streams carry a load, with loadWindow
// requests in flight on each.
const (
	loadConnections = 8
	loadWindow      = 8
)

// answersOnly is the target of a two-way stream of which only answers are wanted:
// the filter leaves out the events of inboxes.
const answersOnly = "/rpc/stream?method=holon/paused"

// serveQuietly is serve without heartbeats, which would count as answers.
func (r *run) serveQuietly(ctx context.Context, dir string, flags ...string) (*server, error) {
	return r.serve(ctx, dir, append(flags, "--heartbeat-seconds", "3600")...)
}

// sendAll sends requests over several connections, each of the requests over the
// connection of its position, and returns how long that took. An answer that is an
// error ends it.
func (s *server) sendAll(ctx context.Context, lines [][]byte) (time.Duration, error) {
	conns := make([]*wire.Stream, loadConnections)
	for i := range conns {
		c, err := wire.Open(ctx, s.address, "POST", answersOnly, readLimit)
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

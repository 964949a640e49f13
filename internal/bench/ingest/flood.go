package ingest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed82539d15/holon/internal/bench/wire"
)

// A flood is clients with one request in flight each. A refused one repeats after
// a while, as the answer asks it to.
const (
	floodClients = 64
	floodItems   = 64 // of a request
	floodPayload = 1 << 10
	floodRetry   = time.Second // retry_after_ms, Retry-After
	floodLimit   = 5 * time.Minute
)

// Flood says how a thread's inbox is flooded.
type Flood struct {
	Address  string `json:"address"`
	ThreadID string `json:"thread_id"`
	// Sources are the configured sources whose webhooks flood it; none: inbox/ingest
	// does.
	Sources []string `json:"sources"`
	Secret  string   `json:"secret"` // of the sources
	Round   string   `json:"round"`  // distinguishes what two floods send
}

// Flooding is the line that a flood prints when a request was refused for the
// first time: the bound is reached then.
type Flooding struct {
	Refused bool `json:"refused"`
}

// Run floods an inbox until in ends. The one argument is a Flood, encoded.
func Run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("flood", flag.ContinueOnError)
	encoded := flags.String("flood", "", "a flood in JSON")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var f Flood
	if err := json.Unmarshal([]byte(*encoded), &f); err != nil {
		return fmt.Errorf("--flood: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, floodLimit)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, in) // the end of the input ends the program
		cancel()
	}()
	refused := sync.OnceValue(func() error { return json.NewEncoder(out).Encode(Flooding{Refused: true}) })
	group, ctx := errgroup.WithContext(ctx)
	for i := range floodClients {
		group.Go(func() error {
			send, done, err := f.client(ctx, i)
			if err != nil {
				return ended(ctx, err)
			}
			defer done()
			for n := 0; ctx.Err() == nil; n++ {
				stored, err := send(ctx, n)
				if err != nil {
					return ended(ctx, err)
				}
				if stored {
					continue
				}
				if err := refused(); err != nil {
					return err
				}
				select {
				case <-time.After(floodRetry):
				case <-ctx.Done():
				}
			}
			return nil
		})
	}
	err := group.Wait()
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return errors.Join(err, fmt.Errorf("the flood was not ended within %s", floodLimit))
	}
	return err
}

// ended leaves out an error that the end of the flood has caused.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// send sends what a client sends as its nth. It reports whether that was stored;
// otherwise it was refused because it is too much.
type send func(ctx context.Context, n int) (stored bool, err error)

// client makes the ith client.
func (f *Flood) client(ctx context.Context, i int) (send, func(), error) {
	if len(f.Sources) > 0 {
		s, done := f.webhooks(i)
		return s, done, nil
	}
	return f.requests(ctx, i)
}

// requests makes a client of inbox/ingest.
func (f *Flood) requests(ctx context.Context, client int) (send, func(), error) {
	items := make([]Item, floodItems)
	for j := range items {
		ref := ""
		if j%2 == 0 {
			ref = fmt.Sprintf("pr:%d", j%8)
		}
		items[j] = NewItem(fmt.Sprintf("%s-%d-%d-########", f.Round, client, j), ref, floodPayload)
	}
	request, err := Line(1, "inbox/ingest", map[string]any{"thread_id": f.ThreadID, "items": items})
	if err != nil {
		return nil, nil, err
	}
	c, err := wire.Open(ctx, f.Address, "POST", AnswersOnly, floodLimit)
	if err != nil {
		return nil, nil, err
	}
	if err := c.Until(1); err != nil { // stream/opened
		c.Close()
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, c.Close) // ends what waits for an answer
	c.KeepTail = true
	return func(_ context.Context, n int) (bool, error) {
		if err := c.Send(bytes.ReplaceAll(request, []byte("########"), fmt.Appendf(nil, "%08d", n))); err != nil {
			return false, err
		}
		c.Tail = c.Tail[:0]
		if err := c.Until(int64(n) + 2); err != nil {
			return false, err
		}
		switch {
		case !bytes.Contains(c.Tail, []byte(`"error":`)):
			return true, nil
		case bytes.Contains(c.Tail, []byte(`"overloaded"`)):
			return false, nil
		}
		return false, fmt.Errorf("refused: %s", c.Tail)
	}, func() { stop(); c.Close() }, nil
}

package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed82539d15/holon/internal/bench/ingest"
	"github.com/seed82539d15/holon/internal/bench/receiver"
)

// deliveryLimit is how long a measure waits for deliveries: a lost one is an error
// then, instead of a measure without end.
const deliveryLimit = 5 * time.Minute

// deliverySecret signs the webhooks of all bridges.
const deliverySecret = "whsec_YSBzZWNyZXQgb2YgbWVhc3VyZW1lbnRzLCAzMiBieXRlcw=="

// measureDelivery measures the cost of deliveries: many of them, subscriptions that have
// nothing to send, one delivery, and those of others while a target hangs.
func measureDelivery(ctx context.Context, r *run) (rows []Row, err error) {
	for _, part := range []func(context.Context, *run) ([]Row, error){measureDeliveryRate, measureDeliveryIdle, measureDeliveryLatency, measureDeliveryHang} {
		more, err := part(ctx, r)
		if rows = append(rows, more...); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// sender is a server with bridges.
type sender struct{ server *server }

// serveBridges starts a server with a bridge of kind webhook for each URL.
func (r *run) serveBridges(ctx context.Context, dir string, urls map[string]string) (sender, error) {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(urls)) {
		fmt.Fprintf(&b, "[bridges.%s]\nkind = \"webhook\"\nallow_private = true\nurl = %q\nsecret = %q\n", name, urls[name], deliverySecret)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return sender{}, err
	}
	file := filepath.Join(dir, "bridges.toml")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		return sender{}, err
	}
	s, err := r.serveQuietly(ctx, dir, "--config", file)
	return sender{s}, err
}

// subscribe makes a subscription of a thread, which is made if need be, to the
// accepted ends of its turns from now on.
func (s sender) subscribe(ctx context.Context, id, bridge, thread string) error {
	if err := s.server.client.Call(ctx, "thread/start", map[string]any{"thread_id": thread}, nil); err != nil {
		return err
	}
	return s.server.client.Call(ctx, "subscription/create", subscriptionOf(id, bridge, thread), nil)
}

func subscriptionOf(id, bridge, thread string) map[string]any {
	return map[string]any{"subscription_id": id, "bridge_id": bridge, "thread_id": thread, "from": "now"}
}

// setBridges calls bridge/pause or bridge/resume for each bridge.
func (s sender) setBridges(ctx context.Context, method string, names ...string) error {
	for _, name := range names {
		if err := s.server.client.Call(ctx, method, map[string]any{"bridge_id": name}, nil); err != nil {
			return err
		}
	}
	return nil
}

// endsBatch is how many turns of a thread wait at the same time: half of what its
// queue takes.
const endsBatch = 32

// makeEnds runs n short turns on each thread, and returns when all have ended and the
// subscriptions have stored their deliveries, pending of them.
func (s sender) makeEnds(ctx context.Context, threads []string, n, pending int) error {
	for done := 0; done < n; done += endsBatch {
		var lines [][]byte
		for range min(endsBatch, n-done) {
			for _, thread := range threads {
				line, err := ingest.Line(len(lines), "turn/start", plainTurn(thread))
				if err != nil {
					return err
				}
				lines = append(lines, line)
			}
		}
		if _, err := s.server.ran(ctx, lines); err != nil {
			return err
		}
	}
	return s.pendingIs(ctx, pending)
}

// pendingIs waits until so many deliveries wait to be sent.
func (s sender) pendingIs(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, deliveryLimit)
	defer cancel()
	if err := s.server.counted(ctx, "holon_delivery_pending", float64(n)); err != nil {
		return fmt.Errorf("wait until %d deliveries are pending: %w", n, err)
	}
	return nil
}

// settled waits until nothing is to be sent and no attempt is under way, and returns
// an error unless so many deliveries have ended since the server's start.
func (s sender) settled(ctx context.Context, n int) error {
	if err := s.pendingIs(ctx, 0); err != nil {
		return err
	}
	ended, err := s.server.metric(ctx, "holon_delivery_settled_total")
	if err == nil && ended != float64(n) {
		err = fmt.Errorf("%v deliveries have ended, not %d", ended, n)
	}
	return err
}

// transactions is how many the server has made since its start, and how long they
// took in all.
type transactions struct{ count, seconds float64 }

func (s sender) transactions(ctx context.Context) (t transactions, err error) {
	if t.count, err = s.server.metric(ctx, "holon_commit_seconds_count"); err == nil {
		t.seconds, err = s.server.metric(ctx, "holon_commit_seconds_sum")
	}
	return t, err
}

// serveHere serves a handler in this process until stop is called.
func serveHere(h http.Handler) (address string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: h, ConnContext: receiver.WithConn}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(l) // until it is closed
	}()
	return l.Addr().String(), func() { _ = server.Close(); <-ended }, nil
}

// remote asks a receiver that runs as a child.
type remote struct{ address string }

func (c remote) hook() string { return "http://" + c.address + "/hook" }

// until waits until n different webhooks have come; with 0 it returns at once.
func (c remote) until(ctx context.Context, n int) (counts receiver.Counts, err error) {
	limited, cancel := context.WithTimeout(ctx, deliveryLimit)
	defer cancel()
	err = c.read(limited, fmt.Sprintf("/until?n=%d", n), &counts)
	if err != nil && ctx.Err() == nil && n > 0 {
		if counts, failed := c.until(ctx, 0); failed == nil {
			err = fmt.Errorf("%d of %d deliveries came: %w", counts.Distinct, n, err)
		}
	}
	return counts, err
}

func (c remote) first(ctx context.Context) (first receiver.Request, err error) {
	return first, c.read(ctx, "/first", &first)
}

func (c remote) read(ctx context.Context, target string, result any) error {
	var b bytes.Buffer
	if err := get(ctx, http.DefaultClient, "http://"+c.address+target, &b); err != nil {
		return err
	}
	return json.Unmarshal(b.Bytes(), result)
}

func (c remote) reset(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.address+"/reset", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// once returns an error unless each of n webhooks came exactly once.
func once(c receiver.Counts, n int) error {
	if c.Distinct != n || c.Requests != n {
		return fmt.Errorf("%d requests with %d different ids came, not %d of each", c.Requests, c.Distinct, n)
	}
	return nil
}

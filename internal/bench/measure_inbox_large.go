package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/seed82539d15/holon/internal/bench/ingest"
)

const (
	digestItems = 20 // max_items of a policy's default: a digest of these is posted at once
	pageEntries = 20 // of inbox/read
)

// The inboxes of the measure: the small one has 4 digests and 20 other items.
const (
	largeInbox = "large"
	smallInbox = "small"
)

// measureLargeInbox measures the cost of a call in an inbox with 100,000 items that nobody
// has acknowledged. The baseline is the same in an inbox with 100. The calls on
// both alternate, one by one; each pair has the medians of a round.
func measureLargeInbox(ctx context.Context, r *run) ([]Row, error) {
	s, err := r.serveQuietly(ctx, r.newDir("large"), "--max-unacked-items", "2000000", "--max-pending-items", "2000000", "--max-unacked-bytes", "4294967296")
	if err != nil {
		return nil, err
	}
	for box, size := range map[string][2]int{largeInbox: {r.sizes.largeDigests, r.sizes.largeItems}, smallInbox: {4, 20}} {
		r.say("filling the inbox %s", box)
		if err := s.fillInbox(ctx, box, size[0], size[1]); err != nil {
			return nil, err
		}
	}
	pairs := make([][]Pair, len(inboxCalls))
	for i := range r.pairs {
		profiled := r.profile(ctx, s, fmt.Sprintf("inbox-large-%d", i))
		times := map[string][][]float64{largeInbox: make([][]float64, len(inboxCalls)), smallInbox: make([][]float64, len(inboxCalls))}
		for j := range r.sizes.inboxCalls {
			for k := range 2 {
				box := []string{largeInbox, smallInbox}[(j+k)%2] // each is the first of two as often
				c := inboxClient{s: s, box: box, id: fmt.Sprintf("%d.%d", i, j)}
				for at, call := range inboxCalls {
					took, err := call.run(ctx, &c)
					if err != nil {
						return nil, fmt.Errorf("%s of the inbox %s: %w", call.name, box, err)
					}
					times[box][at] = append(times[box][at], float64(took)/float64(time.Millisecond))
				}
			}
		}
		text := ""
		for at, call := range inboxCalls {
			p := Pair{Ours: median(times[largeInbox][at]), Baseline: median(times[smallInbox][at])}
			pairs[at] = append(pairs[at], p)
			text += fmt.Sprintf("  %s %s / %s = %.2f", call.name, figure(p.Ours), figure(p.Baseline), p.ratio())
		}
		if err := profiled(); err != nil {
			return nil, err
		}
		r.say("round %d of %d, medians:%s", i+1, r.pairs, text)
	}
	var rows []Row
	for at, call := range inboxCalls {
		rows = append(rows, newRow("inbox-"+call.name, fmt.Sprintf("%s, %d items unacknowledged, p50", call.what, r.sizes.largeDigests*digestItems+r.sizes.largeItems), "ms", pairs[at]).atMost(2))
	}
	rows[0] = rows[0].note("baseline: the same with 100 items; %d calls of each in a round, alternated", r.sizes.inboxCalls)
	return rows, s.stop()
}

// fillInbox makes an inbox of digests that were posted, and of other items.
func (s *server) fillInbox(ctx context.Context, box string, digests, others int) error {
	if err := s.client.Call(ctx, "thread/start", map[string]any{"thread_id": box}, nil); err != nil {
		return err
	}
	// The window must not end within the measure.
	policy := map[string]any{"window_ms": 3_600_000, "max_delay_ms": 3_600_000, "max_items": digestItems}
	if err := s.client.Call(ctx, "inbox/configure", map[string]any{"thread_id": box, "policy": policy}, nil); err != nil {
		return err
	}
	var lines [][]byte
	var items []ingest.Item
	add := func(last bool) error {
		if len(items) == 0 || len(items) < 12*digestItems && !last {
			return nil
		}
		l, err := ingest.Line(len(lines), "inbox/ingest", map[string]any{"thread_id": box, "items": items})
		lines, items = append(lines, l), nil
		return err
	}
	for i := range max(digests, others) {
		if i < digests {
			for j := range digestItems {
				items = append(items, ingest.NewItem(fmt.Sprintf("d%d.%d", i, j), fmt.Sprintf("pr:%d", i), itemSize))
			}
		}
		if i < others {
			items = append(items, ingest.NewItem(fmt.Sprintf("u%d", i), "", itemSize))
		}
		if err := add(false); err != nil {
			return err
		}
	}
	if err := add(true); err != nil {
		return err
	}
	_, err := s.sendAll(ctx, lines)
	return err
}

// inboxClient makes the calls of the measure on one inbox. Each call leaves the
// inbox as large as it was, in the end.
type inboxClient struct {
	s       *server
	box, id string
	entry   string // to be acknowledged next
}

// inboxCalls are the calls that are measured, in their order.
var inboxCalls = []struct {
	name, what string
	run        func(context.Context, *inboxClient) (time.Duration, error)
}{
	{"read", fmt.Sprintf("inbox/read of the first %d entries", pageEntries), func(ctx context.Context, c *inboxClient) (time.Duration, error) { return c.read(ctx) }},
	{"ack", "inbox/ack of one item", func(ctx context.Context, c *inboxClient) (time.Duration, error) {
		if _, err := c.ingest(ctx, ingest.NewItem("a"+c.id, "", itemSize)); err != nil {
			return 0, err
		}
		return c.ack(ctx)
	}},
	{"ack-digest", fmt.Sprintf("inbox/ack of a digest of %d", digestItems), func(ctx context.Context, c *inboxClient) (time.Duration, error) {
		var items []ingest.Item
		for i := range digestItems {
			items = append(items, ingest.NewItem(fmt.Sprintf("g%s.%d", c.id, i), "pr:new"+c.id, itemSize))
		}
		if _, err := c.ingest(ctx, items...); err != nil {
			return 0, err
		}
		return c.ack(ctx)
	}},
	{"ingest", "inbox/ingest of one ungrouped item", func(ctx context.Context, c *inboxClient) (time.Duration, error) {
		took, err := c.ingest(ctx, ingest.NewItem("i"+c.id, "", itemSize))
		if err == nil {
			_, err = c.ack(ctx)
		}
		return took, err
	}},
	{"ingest-grouped", "inbox/ingest of one item of a new digest, flushed at once", func(ctx context.Context, c *inboxClient) (time.Duration, error) {
		it := ingest.NewItem("f"+c.id, "pr:flushed"+c.id, itemSize)
		it.Grouping.Flush = "immediate"
		took, err := c.ingest(ctx, it)
		if err == nil {
			_, err = c.ack(ctx)
		}
		return took, err
	}},
}

func (c *inboxClient) timed(ctx context.Context, method string, params map[string]any, result any) (time.Duration, error) {
	params["thread_id"] = c.box
	began := time.Now()
	err := c.s.client.Call(ctx, method, params, result)
	return time.Since(began), err
}

func (c *inboxClient) read(ctx context.Context) (time.Duration, error) {
	var page struct {
		Entries []struct{} `json:"entries"`
	}
	took, err := c.timed(ctx, "inbox/read", map[string]any{"limit": pageEntries}, &page)
	if err == nil && len(page.Entries) != pageEntries {
		err = fmt.Errorf("%d entries came", len(page.Entries))
	}
	return took, err
}

// ingest stores items, the last of which posts an entry.
func (c *inboxClient) ingest(ctx context.Context, items ...ingest.Item) (time.Duration, error) {
	var got struct {
		Results []struct {
			EntryID string `json:"entry_id"`
		} `json:"results"`
	}
	took, err := c.timed(ctx, "inbox/ingest", map[string]any{"items": items}, &got)
	if err == nil {
		if c.entry = got.Results[len(items)-1].EntryID; c.entry == "" {
			err = fmt.Errorf("no entry was posted")
		}
	}
	return took, err
}

func (c *inboxClient) ack(ctx context.Context) (time.Duration, error) {
	var got struct {
		Entries int `json:"acked_entries"`
	}
	took, err := c.timed(ctx, "inbox/ack", map[string]any{"entry_ids": []string{c.entry}}, &got)
	if err == nil && got.Entries != 1 {
		err = fmt.Errorf("%d entries were acknowledged", got.Entries)
	}
	return took, err
}

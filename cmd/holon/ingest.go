package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/internal/backoff"
	"github.com/seed82539d15/holon/rpc/client"
)

func newIngestCommand(g *globals) *cobra.Command {
	in := ingester{}
	cmd := &cobra.Command{
		Use:   "ingest THREAD --source NAME",
		Short: "Put items from stdin into an inbox, one JSON object per line",
		Long: `Reads one item per line from stdin and stores them in the inbox of THREAD:

  {"native_id":"build-7","summary":"Build 7 failed","payload":{"step":"test"},
   "occurred_at":"2026-03-01T09:00:00Z",
   "grouping":{"resource_ref":"branch:main","event_family":"builds"}}

(on one line). Only native_id is required: its identity at the source. An item
that is stored already changes nothing, so the same input can be sent again. Items
with the same grouping become one entry.

It works on a live pipe: what has been read is stored when the input pauses for
100 ms. While the inbox is full it waits. A line that is not an item ends the
command; all lines before it are stored.

  tail -F events.ndjson | holon ingest me --source builds`,
		Args: cobra.ExactArgs(1),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			if in.source == "" {
				return usagef("which source? Name it: --source NAME")
			}
			if !inbox.ValidSource(in.source) {
				return usagef("--source %q: give a name of at most %d of a-z A-Z 0-9 . _ -", in.source, inbox.MaxSourceBytes)
			}
			if in.patience < 0 {
				return usagef("--wait %s: give a duration such as 1m, or 0 to wait for ever", in.patience)
			}
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			in.c = c
			if in.thread, err = c.finder().telling().inbox(args[0]); err != nil {
				return err
			}
			return in.run()
		}),
	}
	cmd.Flags().StringVar(&in.source, "source", "", "the name of the source of the items (required)")
	cmd.Flags().DurationVar(&in.patience, "wait", time.Minute, "give up when the inbox has been full for this time; 0: never")
	return cmd
}

// Bounds of a batch.
const (
	// maxBatchBytes is half of the bytes that may wait for a thread by default, so
	// that a batch is never refused for its size while another one waits.
	maxBatchBytes = 512 << 10
	// batchPause is how long the input must pause before an incomplete batch is
	// stored.
	batchPause = 100 * time.Millisecond
	// lastBatch bounds the storing of what was read before Ctrl-C or another signal.
	lastBatch = 5 * time.Second
)

// overloadWaits spaces the attempts while the inbox is full.
var overloadWaits = backoff.Backoff{First: 100 * time.Millisecond, Max: 5 * time.Second, Spread: 0.2}

// ingester stores the items of stdin in an inbox. One goroutine uses it.
type ingester struct {
	c              *caller
	thread, source string
	patience       time.Duration // 0 = no bound

	stored, duplicates int
}

// numbered is an item with the number of its line.
type numbered struct {
	inbox.Item
	line int
}

// run stores all items and says how many there were, also after an error.
func (in *ingester) run() error {
	ctx, stop := context.WithCancel(in.c.ctx)
	defer stop()
	items := make(chan numbered)
	var readErr error // set when items is closed
	go func() {
		defer close(items)
		readErr = readItems(ctx, in.c.in, in.source, items)
	}()
	err := in.store(items)
	if err == nil {
		err = readErr
	}
	in.c.note("stored %d, %s", in.stored, counted(in.duplicates, "duplicate", "duplicates"))
	if in.c.format == "json" || in.c.format == "toon" {
		total := struct {
			ThreadID   string `json:"thread_id"`
			Source     string `json:"source"`
			Stored     int    `json:"stored"`
			Duplicates int    `json:"duplicates"`
		}{in.thread, in.source, in.stored, in.duplicates}
		if printErr := in.c.printValue(total, ""); err == nil {
			err = printErr
		}
	}
	return err
}

// store collects items into batches and stores them until items is closed.
func (in *ingester) store(items <-chan numbered) error {
	var batch []numbered
	bytes := 0
	pause := time.NewTimer(batchPause)
	defer pause.Stop()
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := in.send(batch)
		batch, bytes = batch[:0], 0
		return err
	}
	for {
		select {
		case item, open := <-items:
			if !open {
				return flush()
			}
			size := len(item.Payload) + len(item.Summary) + len(item.NativeID)
			if len(batch) == inbox.MaxItems || bytes+size > maxBatchBytes {
				if err := flush(); err != nil {
					return err
				}
			}
			batch, bytes = append(batch, item), bytes+size
			pause.Reset(batchPause)
		case <-pause.C:
			if err := flush(); err != nil {
				return err
			}
		case <-in.c.ctx.Done():
			if err := flush(); err != nil {
				return err
			}
			return context.Cause(in.c.ctx)
		}
	}
}

// send stores a batch, in one transaction. While the inbox is full it waits. A signal
// does not end it at once: nobody reads the batch a second time.
func (in *ingester) send(batch []numbered) error {
	ctx, stop := outlast(in.c.ctx, lastBatch)
	defer stop()
	list := make([]inbox.Item, len(batch))
	for i := range batch {
		list[i] = batch[i].Item
	}
	key, err := keyOr("")
	if err != nil {
		return err
	}
	params, err := jsonv2.Marshal(map[string]any{"thread_id": in.thread, "items": list, "idempotency_key": key})
	if err != nil {
		return fmt.Errorf("encode items: %w", err)
	}
	began := time.Now()
	for attempt := 1; ; attempt++ {
		var raw jsontext.Value
		err := callRetrying(ctx, in.c.client, "inbox/ingest", jsontext.Value(params), &raw)
		if err == nil {
			return in.took(batch, raw)
		}
		var refused *client.Error
		if !errors.As(err, &refused) || refused.Kind != client.KindOverloaded {
			return in.refused(batch, err)
		}
		if in.patience > 0 && time.Since(began) >= in.patience {
			return &hintedError{fmt.Errorf("line %d: %w", batch[0].line, err), fmt.Sprintf("Acknowledge what has been read: holon inbox ack --all %s. Then send the rest again.", nameByID(in.c.finder(), in.thread))}
		}
		if attempt == 1 {
			in.c.note("holon: the inbox of %s is full; waiting …", shownID(in.c.console, in.thread))
		}
		select {
		case <-time.After(max(refused.RetryAfter, overloadWaits.Wait(attempt))):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// outlast returns a context that ends so much later than ctx, and for the same cause.
func outlast(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	later, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(by, func() { cancel(context.Cause(ctx)) })
		context.AfterFunc(later, func() { timer.Stop() })
	})
	return later, func() {
		stop()
		cancel(nil)
	}
}

// took counts what became of a batch, and prints it for -o jsonl.
func (in *ingester) took(batch []numbered, raw jsontext.Value) error {
	_, answer, err := decoded[inbox.IngestResult]("inbox/ingest", raw)
	if err == nil && len(answer.Results) != len(batch) {
		err = fmt.Errorf("inbox/ingest answered %d results for %d items", len(answer.Results), len(batch))
	}
	if err != nil {
		return err
	}
	for i, result := range answer.Results {
		if result.Duplicate {
			in.duplicates++
		} else {
			in.stored++
		}
		if in.c.format != "jsonl" {
			continue
		}
		if err := in.c.printValue(struct {
			Line     int    `json:"line"`
			NativeID string `json:"native_id"`
			inbox.Ingested
		}{batch[i].line, batch[i].NativeID, result}, ""); err != nil {
			return err
		}
	}
	return nil
}

// refused names the lines that the server did not accept.
func (in *ingester) refused(batch []numbered, err error) error {
	var e *client.Error
	if !errors.As(err, &e) {
		return err
	}
	if e.Kind == "invalid_params" {
		first, last := batch[0].line, batch[len(batch)-1].line
		if rest, ok := strings.CutPrefix(e.Field, "items["); ok {
			digits, _, _ := strings.Cut(rest, "]")
			if i, err := strconv.Atoi(digits); err == nil && i >= 0 && i < len(batch) {
				e.Message = fmt.Sprintf("line %d: %s", batch[i].line, e.Message)
			}
		}
		if first < last {
			err = fmt.Errorf("%w; nothing from line %d to %d is stored", err, first, last)
		}
	}
	return ofInbox(err, in.thread)
}

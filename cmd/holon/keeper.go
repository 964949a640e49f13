package main

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/rpc/client"
)

// The waits of a keeper: the server writes a cursor of a busy stream once a
// second, and a command that ends waits for the last write no longer than a person
// does.
const (
	keepEvery = time.Second
	keepLast  = 5 * time.Second
)

// keeper keeps the position of a watch in the cursor of its consumer. It never
// confirms more than was printed: what was printed and not confirmed is shown again
// by the next watch. The goroutine that shows events calls its methods; requests run
// in another one. A nil keeper keeps nothing.
type keeper struct {
	consumer string
	advance  func(ctx context.Context, seq int64) (stored int64, err error)

	ticker *time.Ticker
	seqs   chan int64 // to confirm; none waits while a request runs
	done   chan struct{}
	paused bool // the connection is lost: another log may be there when it comes back
	ended  bool // seqs is closed

	confirmed atomic.Int64
	err       error // of the last request; read once done is closed
}

// readPosition reads the cursor of a consumer. It returns a keeper, which is
// started, and the seq after which to begin.
func readPosition(ctx context.Context, c *client.Client, consumer string, threadIDs []string) (*keeper, int64, error) {
	name := map[string]any{"consumer_id": consumer, "stream_name": "events"}
	if len(threadIDs) == 1 {
		name["subject_id"] = threadIDs[0]
	}
	var read struct {
		Cursor struct {
			Last int64 `json:"last_sequence"`
		} `json:"cursor"`
	}
	if err := c.Call(ctx, "cursor/read", name, &read); err != nil {
		return nil, 0, err
	}
	k := startKeeper(ctx, consumer, read.Cursor.Last, func(ctx context.Context, seq int64) (int64, error) {
		params := map[string]any{"last_sequence": seq, "delivered_at": time.Now().UTC()}
		for member, value := range name {
			params[member] = value
		}
		err := c.Call(ctx, "cursor/advance", params, nil)
		return storedSeq(seq, err)
	})
	return k, read.Cursor.Last, nil
}

// storedSeq returns the position of the cursor after an advance to seq. One that is there or
// further already is none to report: another watch has the same name.
func storedSeq(seq int64, err error) (int64, error) {
	var refused *client.Error
	var data struct {
		Cursor struct {
			Last int64 `json:"last_sequence"`
		} `json:"cursor"`
	}
	if errors.As(err, &refused) && refused.Reason == "not_monotonic" && json.Unmarshal(refused.Data, &data) == nil {
		return data.Cursor.Last, nil
	}
	return seq, err
}

// startKeeper starts a keeper of a cursor that is at confirmed. The caller must
// call end.
func startKeeper(ctx context.Context, consumer string, confirmed int64, advance func(context.Context, int64) (int64, error)) *keeper {
	k := &keeper{
		consumer: consumer, advance: advance,
		ticker: time.NewTicker(keepEvery), seqs: make(chan int64), done: make(chan struct{}),
	}
	k.confirmed.Store(confirmed)
	go func() {
		defer close(k.done)
		for seq := range k.seqs {
			k.confirm(ctx, seq)
		}
	}()
	return k
}

// ticks signals when to keep what was printed; nil for a nil keeper.
func (k *keeper) ticks() <-chan time.Time {
	if k == nil {
		return nil
	}
	return k.ticker.C
}

// keep confirms everything up to a seq, unless a request runs: then a later call
// does.
func (k *keeper) keep(printed int64) {
	if k.paused || printed <= k.confirmed.Load() {
		return
	}
	select {
	case k.seqs <- printed:
	default:
	}
}

// state notes a change of the connection.
func (k *keeper) state(s client.State) {
	if k != nil {
		k.paused = s.Kind == client.Lost
	}
}

// confirm advances the cursor.
func (k *keeper) confirm(ctx context.Context, seq int64) {
	stored, err := k.advance(ctx, seq)
	if k.err = err; err == nil {
		k.confirmed.Store(stored)
	}
}

// stop ends the requests and waits for them.
func (k *keeper) stop() {
	if k == nil || k.ended {
		return
	}
	k.ended = true
	k.ticker.Stop()
	close(k.seqs)
	<-k.done
}

// end confirms what was printed in all, also if ctx is done. It returns the seq at
// which the cursor is, as far as it is known. While the connection is lost nothing
// is confirmed.
func (k *keeper) end(ctx context.Context, printed int64) (confirmed int64, err error) {
	k.stop()
	if confirmed = k.confirmed.Load(); printed <= confirmed || k.paused {
		return confirmed, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepLast)
	defer cancel()
	k.confirm(ctx, printed)
	return k.confirmed.Load(), k.err
}

// printed returns the seq up to which a viewer has printed everything that it has got.
func printed(v viewer, seen int64) int64 {
	if r, ok := v.(*timeline.Renderer); ok {
		if held := r.Held(); held > 0 {
			return min(seen, held-1)
		}
	}
	return seen
}

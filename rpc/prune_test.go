package rpc

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/turns"
)

// slowPruner prunes until it is stopped.
type slowPruner struct {
	began chan struct{}
	ended chan error
}

func (p *slowPruner) Prune(ctx context.Context, _ int64, _ *ledger.Key) (r turns.PruneResult, err error) {
	p.began <- struct{}{}
	select {
	case <-ctx.Done():
		err = ctx.Err()
	case <-time.After(20 * time.Second):
	}
	p.ended <- err
	return turns.PruneResult{FirstSeq: 5, Pruned: 4}, err
}

func newPruneRig(t *testing.T) (*rig, *slowPruner) {
	p := &slowPruner{began: make(chan struct{}, 10), ended: make(chan error, 10)}
	return newRig(t, func(c *Config) { c.Pruner = p }), p
}

// TestPruneEndsWithItsRequester hangs up on both transports.
func TestPruneEndsWithItsRequester(t *testing.T) {
	r, p := newPruneRig(t)
	st := r.open("POST", "/rpc/stream?method=none/none")
	st.expect("stream/opened")
	st.send(request("1", "holon/prune", `{"before_seq":9}`), request("2", "holon/status", `{}`))
	st.expect("#2") // which does not wait for the prune
	<-p.began
	st.close()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/rpc", strings.NewReader(request("1", "holon/prune", `{"before_seq":9}`)))
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() {
		_, err := r.client.Do(req)
		gone <- err
	}()
	<-p.began
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for range 2 {
		if err := <-p.ended; !errors.Is(err, context.Canceled) {
			t.Errorf("a prune continued after its client had disconnected: %v", err)
		}
	}
}

func TestPruneEndsWithTheServer(t *testing.T) {
	r, p := newPruneRig(t)
	st := r.open("POST", "/rpc/stream?method=none/none")
	st.expect("stream/opened")
	st.send(request("1", "holon/prune", `{"before_seq":9}`))
	<-p.began
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := r.server.Close(ctx, Closing{Code: api.CloseStopping, Reason: "over"}); err != nil {
		t.Fatal(err)
	}
	if err := <-p.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the prune went on: %v", err)
	}
	if m := st.expect("#1"); m.Error == nil || m.Error.Data.Kind != api.KindUnavailable || m.Error.Message != turns.ErrDraining.Error() {
		t.Fatalf("%+v", m.Error)
	}
	st.expect("stream/closing")
}

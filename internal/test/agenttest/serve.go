package agenttest

import (
	"context"
	"sync"
	"testing"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/turns"
)

// Store holds the log of the engine that Serve runs; *sqlite.Store is one.
type Store interface {
	turns.Store
	Run(ctx context.Context) error
	Close() error
}

// Serve runs an engine with agents on a store until stop is called or the test
// ends. Then it closes the store. stop may be called more than once.
func Serve(t testing.TB, cfg engine.Config, store Store, rows engine.Rows, agents ...turns.Agent) (e *engine.Engine, stop func()) {
	t.Helper()
	e, err := engine.New(cfg, store, rows, agents, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stored, ran := make(chan error, 1), make(chan error, 1)
	go func() { stored <- store.Run(ctx) }()
	if err := e.Recover(ctx); err != nil {
		t.Fatal(err)
	}
	engineCtx, stopEngine := context.WithCancel(ctx)
	go func() { ran <- e.Run(engineCtx) }()
	stop = sync.OnceFunc(func() {
		stopEngine()
		if err := <-ran; err != nil {
			t.Error(err)
		}
		cancel()
		if err := <-stored; err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return e, stop
}

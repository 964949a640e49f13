package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// engineReads are what the engine decides on, and what a store has in memory;
// pointReads are what clients read of single rows.
func engineReads(v *Reader) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"Stored":      func(ctx context.Context) error { _, err := v.Stored(ctx, "k"); return err },
		"Load":        func(ctx context.Context) error { _, err := v.Load(ctx, "t"); return err },
		"TurnThread":  func(ctx context.Context) error { _, err := v.TurnThread(ctx, "t"); return err },
		"ItemThread":  func(ctx context.Context) error { _, err := v.ItemThread(ctx, "i"); return err },
		"Turn":        func(ctx context.Context) error { _, err := v.Turn(ctx, "t"); return err },
		"Item":        func(ctx context.Context) error { _, err := v.Item(ctx, "i"); return err },
		"Input":       func(ctx context.Context) error { _, err := v.Input(ctx, "t"); return err },
		"Steps":       func(ctx context.Context) error { _, err := v.Steps(ctx, "t"); return err },
		"LeaseSecret": func(ctx context.Context) error { _, err := v.LeaseSecret(ctx); return err },
		"LastTurn":    func(ctx context.Context) error { _, err := v.LastTurn(ctx, "t"); return err },
		"LastMessage": func(ctx context.Context) error { _, err := v.LastMessage(ctx, "t"); return err },
		"Unfinished":  func(ctx context.Context) error { _, _, err := v.Unfinished(ctx); return err },
		"Runtime":     func(ctx context.Context) error { _, err := v.Runtime(ctx); return err },
		"Position":    func(ctx context.Context) error { _, err := v.Position(ctx); return err },
		"Counts":      func(ctx context.Context) error { _, err := v.Counts(ctx); return err },
	}
}

func pointReads(v *Reader) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"storedHead": func(ctx context.Context) error { _, err := v.storedHead(ctx); return err },
		"Transcript": func(ctx context.Context) error { _, err := v.Transcript(ctx, "t", 1, 1); return err },
		"ReadThread": func(ctx context.Context) error { _, err := v.ReadThread(ctx, "t", 1); return err },
		"ReadTurn":   func(ctx context.Context) error { _, err := v.ReadTurn(ctx, turns.TurnQuery{TurnID: "t"}); return err },
		"ReadItem":   func(ctx context.Context) error { _, _, err := v.ReadItem(ctx, "i"); return err },
	}
}

// held takes every connection of a pool until the test ends.
func held(t *testing.T, l pool) {
	t.Helper()
	var wait sync.WaitGroup
	end := make(chan struct{})
	t.Cleanup(func() { close(end); wait.Wait() })
	for range cap(l) {
		taken := make(chan struct{})
		wait.Go(func() {
			_ = l.read(t.Context(), func(*conn) error { close(taken); <-end; return nil })
		})
		select {
		case <-taken:
		case <-time.After(20 * time.Second):
			t.Fatal("another pool has taken the connections")
		}
	}
}

func TestNobodyWaitsForConnectionsOfSlowerReaders(t *testing.T) {
	s := running(t, Options{Dir: t.TempDir()})
	soon, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	passes := func(name string, read func(context.Context) error) {
		t.Helper()
		if err := read(soon); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	held(t, s.reader.scans)
	for name, read := range pointReads(s.reader) {
		passes(name+" beside pages and lists", read)
	}
	held(t, s.reader.points)
	for name, read := range engineReads(s.reader) {
		passes(name+" beside clients", read)
	}
	// The connections are really taken.
	ctx, over := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer over()
	if _, err := s.reader.ListItems(ctx, items.Query{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a list found a connection: %v", err)
	}
	if _, err := s.reader.Page(ctx, notify.Query{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a page found a connection: %v", err)
	}
}

// endless takes minutes unless it is interrupted.
const endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c WHERE x < 2000000000) SELECT count(*) FROM c"

func TestQueryEndsWithItsContext(t *testing.T) {
	s := running(t, Options{Dir: t.TempDir()})
	for _, l := range []pool{s.reader.engine, s.reader.points, s.reader.scans} {
		for range cap(l) { // each of the connections can be used again
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			ended := make(chan error, 1)
			go func() {
				ended <- l.read(ctx, func(c *conn) error {
					return c.query(endless, func(row) error { return nil })
				})
			}()
			select {
			case err := <-ended:
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("ended with %v", err)
				}
			case <-time.After(20 * time.Second):
				t.Fatal("the query continues after its context has ended")
			}
			cancel()
		}
		for range 2 * cap(l) {
			if err := l.read(t.Context(), func(c *conn) error {
				return c.query("SELECT seq FROM events", func(row) error { return fmt.Errorf("an event") })
			}); err != nil {
				t.Errorf("after the interrupt: %v", err)
			}
		}
	}
}

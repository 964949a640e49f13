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

// engineReads are what the engine decides on, pointReads what clients read of
// single rows.
func engineReads(s *Store) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"Stored":      func(ctx context.Context) error { _, err := s.Stored(ctx, "k"); return err },
		"Load":        func(ctx context.Context) error { _, err := s.Load(ctx, "t"); return err },
		"TurnThread":  func(ctx context.Context) error { _, err := s.TurnThread(ctx, "t"); return err },
		"ItemThread":  func(ctx context.Context) error { _, err := s.ItemThread(ctx, "i"); return err },
		"Turn":        func(ctx context.Context) error { _, err := s.Turn(ctx, "t"); return err },
		"Item":        func(ctx context.Context) error { _, err := s.Item(ctx, "i"); return err },
		"Input":       func(ctx context.Context) error { _, err := s.Input(ctx, "t"); return err },
		"Steps":       func(ctx context.Context) error { _, err := s.Steps(ctx, "t"); return err },
		"LeaseSecret": func(ctx context.Context) error { _, err := s.LeaseSecret(ctx); return err },
		"LastTurn":    func(ctx context.Context) error { _, err := s.LastTurn(ctx, "t"); return err },
		"LastMessage": func(ctx context.Context) error { _, err := s.LastMessage(ctx, "t"); return err },
		"Unfinished":  func(ctx context.Context) error { _, _, err := s.Unfinished(ctx); return err },
		"Runtime":     func(ctx context.Context) error { _, err := s.Runtime(ctx); return err },
	}
}

func pointReads(s *Store) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"Position":   func(ctx context.Context) error { _, err := s.View.Position(ctx); return err },
		"Transcript": func(ctx context.Context) error { _, err := s.Transcript(ctx, "t", 1, 1); return err },
		"ReadThread": func(ctx context.Context) error { _, err := s.ReadThread(ctx, "t", 1); return err },
		"ReadTurn":   func(ctx context.Context) error { _, err := s.ReadTurn(ctx, turns.TurnQuery{TurnID: "t"}); return err },
		"ReadItem":   func(ctx context.Context) error { _, _, err := s.ReadItem(ctx, "i"); return err },
	}
}

// held takes every connection of a lane until the test ends.
func held(t *testing.T, l lane) {
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
			t.Fatal("another lane has taken the connections")
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
	held(t, s.scans)
	for name, read := range pointReads(s) {
		passes(name+" beside pages and lists", read)
	}
	held(t, s.points)
	for name, read := range engineReads(s) {
		passes(name+" beside clients", read)
	}
	// The lanes are really taken.
	ctx, over := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer over()
	if _, err := s.ListItems(ctx, items.Query{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a list found a connection: %v", err)
	}
	if _, err := s.Page(ctx, notify.Query{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a page found a connection: %v", err)
	}
}

// endless takes minutes unless it is interrupted.
const endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c WHERE x < 2000000000) SELECT count(*) FROM c"

func TestQueryEndsWithItsContext(t *testing.T) {
	s := running(t, Options{Dir: t.TempDir()})
	for _, l := range []lane{s.engine, s.points, s.scans} {
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

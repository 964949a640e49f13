package persist

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// shrinking is a pruner whose log takes a byte per event.
type shrinking struct {
	mu            sync.Mutex
	first, latest int64
	fail          error
}

func (s *shrinking) Prune(_ context.Context, before int64) (Pruned, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	to := max(s.first, min(before, s.latest+1))
	p := Pruned{First: to, Removed: to - s.first}
	s.first = to
	return p, s.fail
}

func (s *shrinking) ExpiredBefore(_ context.Context, at, _ time.Time) (int64, error) {
	return at.Unix(), s.fail
}

func (s *shrinking) UsedBytes(context.Context) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.latest - s.first + 1, s.fail
}

func (s *shrinking) begin() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first
}

func TestRetentionPrunesEveryMinuteAndSurvivesErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &shrinking{first: 1, latest: 100_000}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		reports := make(chan Pruned, 10)
		failures := make(chan error, 10)
		go func() {
			done <- Retention{MaxBytes: 35_000}.Run(ctx, log, func(p Pruned, err error) {
				reports <- p
				failures <- err
			})
		}()
		time.Sleep(59 * time.Second)
		if log.begin() != 1 {
			t.Errorf("pruned before its time: from %d", log.begin())
		}
		time.Sleep(2 * time.Second)
		if p := <-reports; log.begin() != 70_001 || p.Removed != 70_000 || <-failures != nil {
			t.Errorf("after a minute: from %d, %+v", log.begin(), p)
		}
		time.Sleep(10 * time.Minute)
		if len(reports) != 0 {
			t.Errorf("a report of nothing: %+v", <-reports)
		}
		broken := errors.New("disk")
		log.mu.Lock()
		log.fail = broken
		log.mu.Unlock()
		time.Sleep(time.Minute)
		if err := <-failures; !errors.Is(err, broken) {
			t.Errorf("failure: %v", err)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestNoRetentionKeepsEverything(t *testing.T) {
	if err := (Retention{}).Run(context.Background(), nil, nil); err != nil {
		t.Error(err)
	}
}

func TestRetentionByAge(t *testing.T) {
	log := &shrinking{first: 1, latest: 1 << 40}
	now := time.Unix(1_000_000, 0)
	p, err := Retention{MaxAgeDays: 0.5}.Enforce(context.Background(), log, now)
	if want := int64(1_000_000 - 12*60*60); err != nil || p.First != want {
		t.Errorf("pruned %+v, %v; want from %d", p, err, want)
	}
}

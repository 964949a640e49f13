package sqlite

import (
	"context"
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed82539d15/holon/persist"
)

const day = 24 * time.Hour

// timed replaces the log by events with these times.
func timed(t interface{ Fatal(...any) }, s *Store, first int64, times []time.Time) {
	if err := s.Do(context.Background(), func() error {
		err := s.w.transaction(func() error {
			for _, sql := range []string{"DELETE FROM events", "DELETE FROM event_times"} {
				if _, err := s.w.conn.exec(sql); err != nil {
					return err
				}
			}
			if _, err := s.w.conn.exec(moveFirst, first); err != nil {
				return err
			}
			for i, at := range times {
				if _, err := s.w.conn.exec(insertEvent, first+int64(i), int64(0), nil, nil, "holon/paused", at.UnixMilli(), []byte("{}"), nil); err != nil {
					return err
				}
			}
			return nil
		})
		return errors.Join(err, s.w.open())
	}); err != nil {
		t.Fatal(err)
	}
}

// TestRetentionByAgeWhereTheClockWasWrong: at is 30 days before now, and times
// are days from at.
func TestRetentionByAgeWhereTheClockWasWrong(t *testing.T) {
	s := running(t, Options{Dir: t.TempDir()})
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		days    []float64 // of the events' times, from the limit on
		removed int64
	}{
		"in order":       {[]float64{-3, -2, -1, 1, 2}, 3},
		"nothing old":    {[]float64{1, 2, 3}, 0},
		"nothing recent": {[]float64{-3, -2, -1}, 3},
		"the clock was set back to before the limit": {[]float64{-3, 20, 21, -300, -299, -298, -297, -296, 25}, 1},
		"and nothing was written before":             {[]float64{-3, -300, -299, 25}, 1},
		"and what came later is old by now":          {[]float64{-30, -300, -299, -20, 25}, 4},
		"and nothing came later":                     {[]float64{-30, -300, -299}, 1},
		"the clock was a year ahead":                 {[]float64{-3, 365, 366, -2, -1, 1}, 5},
		"from the beginning":                         {[]float64{365, 366, -2, -1, 1}, 4},
		"and nothing came later, a year":             {[]float64{-3, 365, 366}, 1},
		"the clock was ten days ahead":               {[]float64{-3, 7, 8, -2, -1, 1}, 1},
		"an hour ahead of now":                       {[]float64{-3, 30.04, -2, -1}, 1},
	} {
		var times []time.Time
		for _, d := range c.days {
			times = append(times, now.Add(-30*day+time.Duration(d*float64(day))))
		}
		timed(t, s, 100, times)
		p, err := persist.Retention{MaxAgeDays: 30}.Enforce(context.Background(), s, now)
		if err != nil || p.Removed != c.removed || p.First != 100+c.removed {
			t.Errorf("%s: %+v, %v; want %d removed", name, p, err, c.removed)
		}
	}
}

// TestRetentionByAgeWithClocksThatJump writes with a clock that jumps both ways
// while time passes, and enforces a limit at any time. No event is removed whose
// time is within the limit. Events that a later event shows to be old are
// removed: once the clock has been right for long enough, all earlier events are
// gone.
func TestRetentionByAgeWithClocksThatJump(t *testing.T) {
	s := running(t, Options{Dir: t.TempDir()})
	ctx := context.Background()
	rapid.Check(t, func(t *rapid.T) {
		s.runEvents = rapid.IntRange(1, 7).Draw(t, "events of a run")
		limit := time.Duration(rapid.IntRange(1, 60).Draw(t, "limit")) * day
		retention := persist.Retention{MaxAgeDays: limit.Hours() / 24}
		now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
		wrong := time.Duration(0)
		times := map[int64]time.Time{} // of the events
		first, next := int64(1), int64(1)
		timed(t, s, 1, nil)
		write := func(at time.Time) {
			if err := s.Do(ctx, func() error {
				if _, err := s.w.conn.exec(insertEvent, next, int64(0), nil, nil, "holon/paused", at.UnixMilli(), []byte("{}"), nil); err != nil {
					return err
				}
				return s.w.open()
			}); err != nil {
				t.Fatal(err)
			}
			times[next] = at
			next++
		}
		check := func(limit time.Duration, before int64) {
			if before < first || before > next {
				t.Fatalf("the log is %d to %d, old before %d", first, next-1, before)
			}
			// Computed from the single events, without runs. Removed events may
			// still be in the run of the first events that are kept.
			a := aging{at: now.Add(-limit).UnixMilli(), ahead: now.Add(believedAhead).UnixMilli(), rising: -1 << 62, old: first - 1}
			for seq := int64(1); seq < next && !a.recent(seq, times[seq].UnixMilli()); seq++ {
			}
			if before <= a.old {
				t.Fatalf("%d is old, but not in %d to %d", a.old, first, before-1)
			}
			for seq := first; seq < before; seq++ {
				if at := times[seq]; !at.Before(now.Add(-limit)) && !at.After(now) {
					t.Fatalf("at %v event %d of %v is not older than %v", now, seq, at, limit)
				}
			}
		}
		ask := func(limit time.Duration) { // as if a waiting turn kept everything
			before, err := s.ExpiredBefore(ctx, now.Add(-limit), now)
			if err != nil {
				t.Fatal(err)
			}
			check(limit, before)
		}
		enforce := func() {
			p, err := retention.Enforce(ctx, s, now)
			if err != nil {
				t.Fatal(err)
			}
			check(limit, p.First)
			first = p.First
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0:
				wrong = time.Duration(rapid.IntRange(-100*24, 100*24).Draw(t, "hours that the clock is wrong")) * time.Hour
			case 1:
				now = now.Add(time.Duration(rapid.IntRange(1, 40*24).Draw(t, "hours")) * time.Hour)
			case 2:
				for range rapid.IntRange(1, 10).Draw(t, "events") {
					now = now.Add(time.Duration(rapid.IntRange(0, 120).Draw(t, "minutes")) * time.Minute)
					write(now.Add(wrong))
				}
			case 3:
				enforce()
			default:
				ask(time.Duration(rapid.IntRange(1, 60*24).Draw(t, "hours asked for")) * time.Hour)
			}
		}
		// Right again: after twice as long as the clock was ever wrong.
		now = now.Add(201 * day)
		write(now)
		recent := next
		now = now.Add(limit + time.Hour)
		write(now)
		enforce()
		if first != recent {
			t.Fatalf("the log begins at %d, all before %d is old", first, recent)
		}
	})
}

package schedule

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var zones = []string{"", "Europe/Berlin", "America/New_York", "Africa/Cairo", "Australia/Lord_Howe", "America/Santiago", "Asia/Kolkata"}

func specs(created time.Time) *rapid.Generator[Spec] {
	field := func(least, most int) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			a := rapid.IntRange(least, most).Draw(t, "a")
			b := rapid.IntRange(a, most).Draw(t, "b")
			step := rapid.IntRange(1, 20).Draw(t, "step")
			return rapid.SampledFrom([]string{"*", "*", fmt.Sprintf("%d", a), fmt.Sprintf("%d,%d", a, b), fmt.Sprintf("%d-%d", a, b), fmt.Sprintf("*/%d", step), fmt.Sprintf("%d-%d/%d", a, b, step)}).Draw(t, "form")
		})
	}
	cron := rapid.Custom(func(t *rapid.T) Spec {
		expr := ""
		for _, bounds := range [][2]int{{0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 7}} {
			expr += field(bounds[0], bounds[1]).Draw(t, "field") + " "
		}
		return Spec{Cron: expr, Timezone: rapid.SampledFrom(zones).Draw(t, "zone")}
	}).Filter(func(s Spec) bool { return s.Check(created) == nil })
	return rapid.OneOf(cron, cron,
		rapid.Custom(func(t *rapid.T) Spec {
			return Spec{EverySeconds: rapid.Int64Range(MinEverySeconds, MaxEverySeconds).Draw(t, "every")}
		}),
		rapid.Custom(func(t *rapid.T) Spec {
			return Spec{At: created.Add(time.Duration(rapid.Int64Range(1, int64(Horizon)).Draw(t, "at")))}
		}))
}

// instants are near a change of clocks as often as anywhere.
func instants() *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time {
		base := rapid.SampledFrom([]int64{ // changes in the zones above, and any time
			time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC).Unix(), time.Date(2026, 10, 25, 1, 0, 0, 0, time.UTC).Unix(),
			time.Date(2026, 3, 8, 7, 0, 0, 0, time.UTC).Unix(), time.Date(2026, 11, 1, 6, 0, 0, 0, time.UTC).Unix(),
			time.Date(2026, 4, 23, 22, 0, 0, 0, time.UTC).Unix(), time.Date(2026, 10, 3, 15, 30, 0, 0, time.UTC).Unix(),
			rapid.Int64Range(1_700_000_000, 2_400_000_000).Draw(t, "any")}).Draw(t, "base")
		return time.Unix(base+rapid.Int64Range(-7200, 7200).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).UTC()
	})
}

func TestSeriesRisesAndARestartChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		created := instants().Draw(t, "created")
		s := specs(created).Draw(t, "spec")
		series := []time.Time{s.First(created)}
		for len(series) < 50 {
			next := s.Next(series[len(series)-1], created)
			if next.IsZero() {
				break
			}
			if !next.After(series[len(series)-1]) || !next.After(created) {
				t.Fatalf("%v follows %v, created %v", next, series[len(series)-1], created)
			}
			series = append(series, next)
		}
		// Asked from any time, also from before the creation, the answer is the first
		// member of the series after it.
		last := series[len(series)-1]
		after := created.Add(-time.Hour)
		after = after.Add(time.Duration(rapid.Int64Range(0, max(1, int64(last.Sub(after))-1)).Draw(t, "after")))
		want := series[slices.IndexFunc(series, func(at time.Time) bool { return at.After(after) })]
		if got := s.Next(after, created); got != want {
			t.Fatalf("after %v: %v, want %v", after, got, want)
		}
		// Missed counts the same series.
		from := created.Add(time.Duration(rapid.Int64Range(0, int64(last.Sub(created))).Draw(t, "from")))
		n, lastMissed := int64(0), time.Time{}
		for _, at := range series {
			if !at.Before(from) && !at.After(last) {
				n, lastMissed = n+1, at
			}
		}
		if gotLast, got := s.Missed(from, last, created); got != n || gotLast != lastMissed {
			t.Fatalf("missed %d until %v, want %d until %v", got, gotLast, n, lastMissed)
		}
	})
}

// What a clock shows at an instant is found again: at that instant, or at the
// first of two.
func TestWallFindsTheFirstInstant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		loc, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		at := instants().Draw(t, "instant").Truncate(time.Minute)
		l := at.In(loc)
		got := Wall(l.Year(), l.Month(), l.Day(), l.Hour(), l.Minute(), loc)
		if got.After(at) || at.Sub(got) > time.Hour || got.In(loc).Format("2006-01-02 15:04") != l.Format("2006-01-02 15:04") {
			t.Fatalf("%v is found as %v", l, got.In(loc))
		}
	})
}

// No planned time is left out: a slow search, minute by minute through the clock's
// faces, finds the same for expressions that name hours.
func TestCronAgainstASlowSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		created := instants().Draw(t, "created").Truncate(time.Minute)
		zone := rapid.SampledFrom(zones).Draw(t, "zone")
		minute, hour := rapid.IntRange(0, 59).Draw(t, "minute"), rapid.IntRange(0, 23).Draw(t, "hour")
		s := Spec{Cron: fmt.Sprintf("%d %d * * *", minute, hour), Timezone: zone}
		loc, _ := time.LoadLocation(zone)
		var want time.Time
		// The instant at which the clocks first reach or pass the face of a day.
		for at, before := created, faceOf(created.Add(-48*time.Hour), loc); want.IsZero(); at = at.Add(time.Minute) {
			face := faceOf(at, loc)
			due := time.Date(face.Year(), face.Month(), face.Day(), hour, minute, 0, 0, time.UTC)
			if at.Equal(created) { // the greatest face so far
				for past := at.Add(-48 * time.Hour); !past.After(at); past = past.Add(time.Minute) {
					if f := faceOf(past, loc); f.After(before) {
						before = f
					}
				}
				continue
			}
			if face.After(before) {
				for _, d := range []time.Time{due, due.AddDate(0, 0, -1)} {
					if d.After(before) && !d.After(face) {
						want = at
					}
				}
				before = face
			}
		}
		if got := s.First(created); got != want {
			t.Fatalf("%+v after %v: %v, want %v", s, created.In(loc), got.In(loc), want.In(loc))
		}
	})
}

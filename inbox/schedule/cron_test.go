package schedule

import (
	"slices"
	"testing"
	"time"
)

const minutes = "2006-01-02 15:04 -0700"

// planned lists times up to an instant as the clocks of the zone show them.
func planned(t *testing.T, s Spec, created, until time.Time) (got []string) {
	t.Helper()
	if err := s.Check(created); err != nil {
		t.Fatalf("%+v: %v", s, err)
	}
	loc, err := time.LoadLocation(s.Timezone)
	if err != nil {
		t.Fatal(err)
	}
	for at := s.First(created); !at.IsZero() && !at.After(until); at = s.Next(at, created) {
		got = append(got, at.In(loc).Format(minutes))
	}
	return got
}

func TestCronAcrossChangesOfClocks(t *testing.T) {
	for name, c := range map[string]struct {
		cron, zone  string
		from, until string
		want        []string
	}{
		"Berlin, spring: the time that is left out": {"30 2 * * *", "Europe/Berlin", "2026-03-27 12:00 +0100", "2026-03-30 12:00 +0200",
			[]string{"2026-03-28 02:30 +0100", "2026-03-29 03:00 +0200", "2026-03-30 02:30 +0200"}},
		"Berlin, spring: several fire together": {"*/20 2,3 * * *", "Europe/Berlin", "2026-03-29 00:00 +0100", "2026-03-29 04:00 +0200",
			[]string{"2026-03-29 03:00 +0200", "2026-03-29 03:20 +0200", "2026-03-29 03:40 +0200"}},
		"Berlin, autumn: the time that exists twice": {"30 2 * * *", "Europe/Berlin", "2026-10-24 12:00 +0200", "2026-10-26 12:00 +0100",
			[]string{"2026-10-25 02:30 +0200", "2026-10-26 02:30 +0100"}},
		"Berlin, autumn: created in the second hour": {"30,45 2 * * *", "Europe/Berlin", "2026-10-25 02:05 +0100", "2026-10-26 12:00 +0100",
			[]string{"2026-10-26 02:30 +0100", "2026-10-26 02:45 +0100"}},
		"Berlin, autumn: the hours after": {"0 1-4 * * *", "Europe/Berlin", "2026-10-25 00:00 +0200", "2026-10-25 12:00 +0100",
			[]string{"2026-10-25 01:00 +0200", "2026-10-25 02:00 +0200", "2026-10-25 03:00 +0100", "2026-10-25 04:00 +0100"}},
		"New York, spring": {"30 2 * * *", "America/New_York", "2026-03-07 12:00 -0500", "2026-03-09 12:00 -0400",
			[]string{"2026-03-08 03:00 -0400", "2026-03-09 02:30 -0400"}},
		"New York, autumn": {"30 1 * * *", "America/New_York", "2026-10-31 12:00 -0400", "2026-11-02 12:00 -0500",
			[]string{"2026-11-01 01:30 -0400", "2026-11-02 01:30 -0500"}},
		"Berlin, spring: every hour": {"30 * * * *", "Europe/Berlin", "2026-03-29 00:45 +0100", "2026-03-29 04:00 +0200",
			[]string{"2026-03-29 01:30 +0100", "2026-03-29 03:30 +0200"}},
		"Berlin, spring: every hour on the hour": {"0 * * * *", "Europe/Berlin", "2026-03-29 00:45 +0100", "2026-03-29 04:00 +0200",
			[]string{"2026-03-29 01:00 +0100", "2026-03-29 03:00 +0200", "2026-03-29 04:00 +0200"}},
		"Berlin, autumn: every half hour": {"*/30 0-23 * * *", "Europe/Berlin", "2026-10-25 01:45 +0200", "2026-10-25 03:00 +0100",
			[]string{"2026-10-25 02:00 +0200", "2026-10-25 02:30 +0200", "2026-10-25 02:00 +0100", "2026-10-25 02:30 +0100", "2026-10-25 03:00 +0100"}},
		"New York, autumn: every hour": {"15 * * * *", "America/New_York", "2026-11-01 00:30 -0400", "2026-11-01 03:00 -0500",
			[]string{"2026-11-01 01:15 -0400", "2026-11-01 01:15 -0500", "2026-11-01 02:15 -0500"}},
		"Cairo, spring: no midnight": {"0 0 * * *", "Africa/Cairo", "2026-04-23 12:00 +0200", "2026-04-25 12:00 +0300",
			[]string{"2026-04-24 01:00 +0300", "2026-04-25 00:00 +0300"}},
		"Cairo, autumn: the day's last hour again": {"30 23 * * *", "Africa/Cairo", "2026-10-29 12:00 +0300", "2026-10-30 23:45 +0200",
			[]string{"2026-10-29 23:30 +0300", "2026-10-30 23:30 +0200"}},
		"Lord Howe, spring: half an hour": {"15 2 * * *", "Australia/Lord_Howe", "2026-10-03 12:00 +1030", "2026-10-05 12:00 +1100",
			[]string{"2026-10-04 02:30 +1100", "2026-10-05 02:15 +1100"}},
		"Apia: no 30 December": {"0 9 30 12 *", "Pacific/Apia", "2011-12-01 00:00 -1000", "2012-12-31 00:00 +1400",
			[]string{"2011-12-31 00:00 +1400", "2012-12-30 09:00 +1400"}},
	} {
		from, err := time.Parse(minutes, c.from)
		if err != nil {
			t.Fatal(err)
		}
		until, err := time.Parse(minutes, c.until)
		if err != nil {
			t.Fatal(err)
		}
		if got := planned(t, Spec{Cron: c.cron, Timezone: c.zone}, from, until); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestCronExpressions(t *testing.T) {
	for expr, want := range map[string][]string{ // after Wednesday, 2026-05-06 10:20:30
		"* * * * *":     {"05-06 10:21", "05-06 10:22"},
		"20 10 * * *":   {"05-07 10:20", "05-08 10:20"},
		"0 9 * * 1-5":   {"05-07 09:00", "05-08 09:00", "05-11 09:00"},
		"0 9 * * 5-7":   {"05-08 09:00", "05-09 09:00", "05-10 09:00", "05-15 09:00"},
		"0 9 * * sun":   {"05-10 09:00", "05-17 09:00"},
		"0 9 1 * MON":   {"05-11 09:00", "05-18 09:00", "05-25 09:00", "06-01 09:00", "06-08 09:00"}, // either
		"0 9 */2 * MON": {"05-11 09:00", "05-25 09:00", "06-01 09:00"},                               // both
		"0 9 L * *":     {"05-31 09:00", "06-30 09:00"},
		"0 9 15W * *":   {"05-15 09:00", "06-15 09:00", "07-15 09:00", "08-14 09:00"},
		"0 9 * * 5L":    {"05-29 09:00", "06-26 09:00"},
		"0 9 * * 1#2":   {"05-11 09:00", "06-08 09:00"},
		"5/20 10 * * *": {"05-06 10:25", "05-06 10:45", "05-07 10:05"},
		"0 0 31 * *":    {"05-31 00:00", "07-31 00:00", "08-31 00:00"},
		"@weekly":       {"05-10 00:00", "05-17 00:00"},
		"@5minutes":     {"05-06 10:25", "05-06 10:30"},
	} {
		s := Spec{Cron: expr}
		if err := s.Check(now); err != nil {
			t.Errorf("%s: %v", expr, err)
		}
		at := now
		for _, w := range want {
			if at = s.Next(at, now); at.Format("01-02 15:04") != w {
				t.Errorf("%s: %v, want %s", expr, at, w)
			}
		}
	}
}

// What was accepted has a next time also where it is rarer than the horizon.
func TestRareTimesDoNotEnd(t *testing.T) {
	created := time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC)
	s := Spec{Cron: "0 0 29 2 */7"} // a Sunday
	if err := s.Check(created); err != nil {
		t.Fatal(err)
	}
	for _, year := range []int{2032, 2060, 2088, 2128} {
		if created = s.Next(created, created); created.Year() != year {
			t.Fatalf("%v, want %d", created, year)
		}
	}
}

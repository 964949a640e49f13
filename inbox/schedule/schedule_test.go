package schedule

import (
	"errors"
	"strings"
	"testing"
	"time"
)

var now = time.Date(2026, 5, 6, 10, 20, 30, 0, time.UTC) // a Wednesday

func TestCheckNamesTheFieldAndTheReason(t *testing.T) {
	for name, c := range map[string]struct {
		spec          Spec
		field, reason string // "" for a Spec that is accepted
	}{
		"nothing":                  {Spec{}, "at", Required},
		"only a timezone":          {Spec{Timezone: "Europe/Berlin"}, "at", Required},
		"at and every":             {Spec{At: now.Add(time.Hour), EverySeconds: 60}, "every_seconds", Invalid},
		"every and cron":           {Spec{EverySeconds: 60, Cron: "* * * * *"}, "cron", Invalid},
		"all":                      {Spec{At: now.Add(time.Hour), EverySeconds: 60, Cron: "* * * * *"}, "every_seconds", Invalid},
		"at with a timezone":       {Spec{At: now.Add(time.Hour), Timezone: "UTC"}, "timezone", Invalid},
		"every with a timezone":    {Spec{EverySeconds: 60, Timezone: "UTC"}, "timezone", Invalid},
		"at":                       {Spec{At: now.Add(1)}, "", ""},
		"at now":                   {Spec{At: now}, "at", OutOfRange},
		"at in the past":           {Spec{At: now.Add(-time.Hour)}, "at", OutOfRange},
		"at the horizon":           {Spec{At: now.Add(Horizon)}, "", ""},
		"at beyond the horizon":    {Spec{At: now.Add(Horizon + 1)}, "at", OutOfRange},
		"every minute":             {Spec{EverySeconds: 60}, "", ""},
		"every 59 seconds":         {Spec{EverySeconds: 59}, "every_seconds", OutOfRange},
		"every negative":           {Spec{EverySeconds: -60}, "every_seconds", OutOfRange},
		"every 366 days":           {Spec{EverySeconds: MaxEverySeconds}, "", ""},
		"every more than 366 days": {Spec{EverySeconds: MaxEverySeconds + 1}, "every_seconds", OutOfRange},
		"cron in a zone":           {Spec{Cron: "0 9 * * 1-5", Timezone: "Europe/Berlin"}, "", ""},
		"an unknown zone":          {Spec{Cron: "0 9 * * *", Timezone: "Europe/Atlantis"}, "timezone", Invalid},
		"the zone Local":           {Spec{Cron: "0 9 * * *", Timezone: "Local"}, "timezone", Invalid},
		"a path as a zone":         {Spec{Cron: "0 9 * * *", Timezone: "../../etc/passwd"}, "timezone", Invalid},
		"a long zone":              {Spec{Cron: "0 9 * * *", Timezone: strings.Repeat("a", 65)}, "timezone", OutOfRange},
		"a long expression":        {Spec{Cron: "0 9 * * " + strings.Repeat("1,", 130) + "1"}, "cron", OutOfRange},
		"white space alone":        {Spec{Cron: " "}, "cron", Invalid},
		"four fields":              {Spec{Cron: "0 9 * *"}, "cron", Invalid},
		"seconds":                  {Spec{Cron: "0 0 9 * * *"}, "cron", Invalid},
		"a year":                   {Spec{Cron: "0 9 * * * 2027"}, "cron", Invalid},
		"every second":             {Spec{Cron: "@everysecond"}, "cron", Invalid},
		"an unknown macro":         {Spec{Cron: "@reboot"}, "cron", Invalid},
		"a macro":                  {Spec{Cron: "@Daily"}, "", ""},
		"names":                    {Spec{Cron: "0 9 * jan,Dec Mon-Fri"}, "", ""},
		"white space around":       {Spec{Cron: " 0\t9 * * * \n"}, "", ""},
		"a name in the minute":     {Spec{Cron: "SUN 9 * * *"}, "cron", Invalid},
		"minute 60":                {Spec{Cron: "60 9 * * *"}, "cron", OutOfRange},
		"hour 24":                  {Spec{Cron: "0 24 * * *"}, "cron", OutOfRange},
		"month 13 after a star":    {Spec{Cron: "0 9 * *,13 *"}, "cron", OutOfRange},
		"day 0":                    {Spec{Cron: "0 9 0/5 * *"}, "cron", OutOfRange},
		"weekday 8":                {Spec{Cron: "0 9 * * 8"}, "cron", OutOfRange},
		"a step of 0":              {Spec{Cron: "*/0 * * * *"}, "cron", Invalid},
		"a range backwards":        {Spec{Cron: "5-3 * * * *"}, "cron", Invalid},
		"a range of three":         {Spec{Cron: "0 9 * * 1-2-3"}, "cron", Invalid},
		"a list with a hole":       {Spec{Cron: "1,,2 9 * * *"}, "cron", Invalid},
		"a sign":                   {Spec{Cron: "+5 9 * * *"}, "cron", Invalid},
		"30 February":              {Spec{Cron: "0 0 30 2 *"}, "cron", OutOfRange},
		"31st of short months":     {Spec{Cron: "0 0 31 2,4,6,9,11 *"}, "cron", OutOfRange},
		"29 February":              {Spec{Cron: "0 0 29 2 *"}, "", ""},
		"a Sunday the 29 February": {Spec{Cron: "0 0 29 2 */7"}, "cron", OutOfRange}, // 2032
	} {
		err := c.spec.Check(now)
		var typed *Error
		switch {
		case c.field == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.field != "" && !errors.As(err, &typed):
			t.Errorf("%s: %v is no *Error", name, err)
		case c.field != "" && (typed.Field != c.field || typed.Reason != c.reason || typed.Text == ""):
			t.Errorf("%s: %+v, want %s %s", name, *typed, c.field, c.reason)
		}
	}
}

func TestPlannedTimesDoNotDrift(t *testing.T) {
	s := Spec{EverySeconds: 90}
	created := now.Add(7) // nanoseconds stay
	if got, want := s.First(created), created.Add(90*time.Second); got != want {
		t.Errorf("first %v, want %v", got, want)
	}
	for after, want := range map[time.Duration]time.Duration{
		-time.Hour: 90, 0: 90, 89 * time.Second: 90, 90*time.Second - 1: 90, 90 * time.Second: 180, 1000 * time.Second: 1080,
	} {
		if got := s.Next(created.Add(after), created); got != created.Add(want*time.Second) {
			t.Errorf("after %v: %v", after, got.Sub(created))
		}
	}
}

func TestOneTimeComesOnce(t *testing.T) {
	at := now.Add(time.Hour)
	s := Spec{At: at.In(time.FixedZone("", 3600))}
	if got := s.First(now); got != at {
		t.Errorf("first %v", got)
	}
	if got := s.First(at.Add(time.Second)); got != at {
		t.Errorf("created a moment after its time: first %v", got)
	}
	if got := s.Next(at.Add(-1), now); got != at {
		t.Errorf("before it: %v", got)
	}
	if got := s.Next(at, now); !got.IsZero() {
		t.Errorf("after it: %v", got)
	}
}

func TestMissedCountsAndNamesTheLast(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2026, 5, n, 9, 0, 0, 0, time.UTC) }
	created := day(1)
	for name, c := range map[string]struct {
		spec      Spec
		from, now time.Time
		last      time.Time
		n         int64
	}{
		"at":                      {Spec{At: day(3)}, day(3), day(4), day(3), 1},
		"at later":                {Spec{At: day(5)}, day(3), day(4), time.Time{}, 0},
		"at, on time":             {Spec{At: day(3)}, day(3), day(3), day(3), 1},
		"at, handled":             {Spec{At: day(3)}, day(3).Add(1), day(4), time.Time{}, 0},
		"every":                   {Spec{EverySeconds: 3600}, day(2), day(2).Add(119 * time.Minute), day(2).Add(time.Hour), 2},
		"every from its creation": {Spec{EverySeconds: 3600}, day(0), day(1).Add(time.Hour), day(1).Add(time.Hour), 1},
		"every, none":             {Spec{EverySeconds: 3600}, day(2).Add(1), day(2).Add(time.Minute), time.Time{}, 0},
		"every, clock set back":   {Spec{EverySeconds: 3600}, day(2), day(1), time.Time{}, 0},
		"every for 3 years":       {Spec{EverySeconds: 60}, day(1), day(1).AddDate(3, 0, 0), day(1).AddDate(3, 0, 0), 3*525600 + 1440},
		"cron":                    {Spec{Cron: "0 9 * * *"}, day(2), day(9), day(9), 8},
		"cron from its creation":  {Spec{Cron: "0 9 * * *"}, day(0), day(2), day(2), 1},
		"cron, none":              {Spec{Cron: "0 9 * * *"}, day(2).Add(1), day(3).Add(-1), time.Time{}, 0},
		"cron, clock set back":    {Spec{Cron: "0 9 * * *"}, day(9), day(8), time.Time{}, 0},
		"cron, more than 1,000":   {Spec{Cron: "* 9 * * *"}, day(2), day(29).Add(30 * time.Hour), day(30).Add(59 * time.Minute), MaxMissed},
		"cron for 3 years":        {Spec{Cron: "* 9 * 5 *"}, day(2), time.Date(2029, 4, 1, 0, 0, 0, 0, time.UTC), time.Date(2028, 5, 31, 9, 59, 0, 0, time.UTC), MaxMissed},
	} {
		if last, n := c.spec.Missed(c.from, c.now, created); last != c.last || n != c.n {
			t.Errorf("%s: %d, the last at %v; want %d, %v", name, n, last, c.n, c.last)
		}
	}
}

// A Spec that Check refuses plans nothing; it does not fail or run for long.
func TestRefusedSpecPlansNothing(t *testing.T) {
	for _, s := range []Spec{{}, {EverySeconds: -1}, {Cron: "x"}, {Cron: "0 9 * * *", Timezone: "x"}, {Cron: "0 0 30 2 *"}, {Cron: "0 * 30 2 *", Timezone: "Europe/Berlin"}} {
		if got := s.First(now); !got.IsZero() {
			t.Errorf("%+v: first at %v", s, got)
		}
		if last, n := s.Missed(now, now.AddDate(1, 0, 0), now); !last.IsZero() || n != 0 {
			t.Errorf("%+v: missed %d until %v", s, n, last)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	for _, expr := range []string{"* * * * *", "0 9 * * 1-5", "0 0 29 2 *", "0 0 30 2 *", "0 * 30 2 *"} {
		b.Run(expr, func(b *testing.B) {
			s := Spec{Cron: expr, Timezone: "Europe/Berlin"}
			for b.Loop() {
				s.Next(now, now)
			}
		})
	}
}

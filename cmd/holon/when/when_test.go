package when

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/inbox/schedule"
)

const zone = "Europe/Berlin"

func berlin() (string, error) { return zone, nil }

func location(t testing.TB, name string) *time.Location {
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func TestPhrasesOfOneTime(t *testing.T) {
	now := time.Date(2026, 5, 6, 10, 20, 30, 0, location(t, zone)) // a Wednesday
	for phrase, want := range map[string]string{
		"in 20m":                    "2026-05-06 10:40:30 +0200",
		"in 1h30m":                  "2026-05-06 11:50:30 +0200",
		"In 1 Hour 30 minutes":      "2026-05-06 11:50:30 +0200",
		"in 90s":                    "2026-05-06 10:22:00 +0200",
		"in 2 days":                 "2026-05-08 10:20:30 +0200",
		"in 1w1d":                   "2026-05-14 10:20:30 +0200",
		"in 200 days":               "2026-11-22 10:20:30 +0100", // the same time of day
		"at 14:30":                  "2026-05-06 14:30:00 +0200",
		"14:30":                     "2026-05-06 14:30:00 +0200",
		"at 10:20":                  "2026-05-07 10:20:00 +0200",
		"at 9":                      "2026-05-07 09:00:00 +0200",
		"at 2:30 pm":                "2026-05-06 14:30:00 +0200",
		"12am":                      "2026-05-07 00:00:00 +0200",
		"today at 23:59":            "2026-05-06 23:59:00 +0200",
		"tomorrow 9:00":             "2026-05-07 09:00:00 +0200",
		"tomorrow at 9":             "2026-05-07 09:00:00 +0200",
		"  tomorrow   at 23:00 ":    "2026-05-07 23:00:00 +0200",
		"monday 9:00":               "2026-05-11 09:00:00 +0200",
		"on Mon at 9:00":            "2026-05-11 09:00:00 +0200",
		"wednesday 11:00":           "2026-05-06 11:00:00 +0200",
		"wednesday 9:00":            "2026-05-13 09:00:00 +0200",
		"2026-12-01T09:00:00Z":      "2026-12-01 10:00:00 +0100",
		"2026-12-01t09:00:00+05:30": "2026-12-01 04:30:00 +0100",
		"2026-12-01 09:00":          "2026-12-01 09:00:00 +0100",
		"2027-03-28 02:30":          "2027-03-28 03:00:00 +0200", // does not exist
		"2026-10-25 02:30":          "2026-10-25 02:30:00 +0200", // exists twice
	} {
		spec, err := Parse(phrase, now, func() (string, error) { return "", errors.New("asked for the name of the zone") })
		if err != nil {
			t.Errorf("%s: %v", phrase, err)
			continue
		}
		if got := spec.At.In(now.Location()).Format("2006-01-02 15:04:05 -0700"); got != want || spec.EverySeconds != 0 || spec.Cron != "" {
			t.Errorf("%s: %s (%+v), want %s", phrase, got, spec, want)
		}
	}
}

func TestPhrasesOfRepeatedTimes(t *testing.T) {
	now := time.Date(2026, 5, 6, 10, 20, 30, 0, location(t, zone))
	for phrase, want := range map[string]schedule.Spec{
		"every 15m":             {EverySeconds: 900},
		"every 2h":              {EverySeconds: 7200},
		"every 2 days":          {EverySeconds: 172800},
		"every hour":            {EverySeconds: 3600},
		"every day":             {EverySeconds: 86400},
		"every day at 9:00":     {Cron: "0 9 * * *", Timezone: zone},
		"every day 2:30pm":      {Cron: "30 14 * * *", Timezone: zone},
		"every weekday at 9:05": {Cron: "5 9 * * 1-5", Timezone: zone},
		"every monday at 9:00":  {Cron: "0 9 * * 1", Timezone: zone},
		"every Sun 9":           {Cron: "0 9 * * 0", Timezone: zone},
		"cron 0 9 * * 1-5":      {Cron: "0 9 * * 1-5", Timezone: zone},
		"cron  0 9 * * MON":     {Cron: "0 9 * * MON", Timezone: zone},
		"cron @daily":           {Cron: "@daily", Timezone: zone},
	} {
		if got, err := Parse(phrase, now, berlin); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", phrase, got, err, want)
		}
	}
}

// In the second of two hours of the same name, 20 minutes are 20 minutes.
func TestSpanInTheRepeatedHour(t *testing.T) {
	now := time.Date(2026, 10, 25, 1, 10, 0, 0, time.UTC).In(location(t, zone)) // 02:10, the second time
	spec, err := Parse("in 20m", now, berlin)
	if err != nil || !spec.At.Equal(now.Add(20*time.Minute)) {
		t.Errorf("%v, %v", spec.At, err)
	}
}

func TestWrongPhrasesShowExamples(t *testing.T) {
	now := time.Date(2026, 5, 6, 10, 20, 30, 0, location(t, zone))
	for _, phrase := range []string{
		"", " ", "soon", "in", "in 20", "in m", "in 20m 5m", "in 0m", "in -5m", "in 1.5h", "in 20 parsecs", "9", "at", "at 24:00", "at 9:60", "at 9:5",
		"at 13pm", "at 0am", "at 1 4", "today", "tomorrow", "tomorrow tomorrow 9:00", "monday", "on 9:00", "on", "someday 9:00", "every", "every weekday",
		"every monday", "every 0m", "every at 9:00", "every day at", "every day at 25", "cron", "2026-13-01T09:00:00Z", "2026-02-30 09:00", "in 9999999m",
		strings.Repeat("x", maxBytes+1),
	} {
		if spec, err := Parse(phrase, now, berlin); err == nil || !strings.Contains(err.Error(), examples) {
			t.Errorf("%q: %+v, %v", phrase, spec, err)
		}
	}
}

// What is understood but out of bounds is refused with the bound.
func TestPhrasesOutOfBounds(t *testing.T) {
	now := time.Date(2026, 5, 6, 10, 20, 30, 0, location(t, zone))
	for phrase, want := range map[string]string{
		"today at 9":           "at is not in the future",
		"2026-05-06T08:20:30Z": "at is not in the future",
		"in 2000 days":         "at is more than 5 years away",
		"every 30s":            "every_seconds must be from 60 seconds",
		"every 53w":            "every_seconds must be from 60 seconds",
		"cron 0 9 * *":         "cron must have 5 fields",
		"cron 0 0 30 2 *":      "cron has no time within the next 5 years",
	} {
		spec, err := Parse(phrase, now, berlin)
		var typed *schedule.Error
		if !errors.As(err, &typed) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v", phrase, spec, err)
		}
	}
}

func TestZoneIsNamedAsTheMachineNamesIt(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		if err := os.WriteFile(path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("berlin", "Europe/Berlin\n")
	write("tokyo", "Asia/Tokyo\n")
	if err := os.Symlink("../usr/share/zoneinfo/Europe/Berlin", path("link")); err != nil {
		t.Fatal(err)
	}
	// A location such as time.Local has when TZ is not set: with rules, without a name.
	data, err := os.ReadFile("/usr/share/zoneinfo/Europe/Berlin")
	if err != nil {
		t.Skip("NOT TESTED: this machine has no database of timezones: ", err)
	}
	local, err := time.LoadLocationFromTZData("Local", data)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		loc        *time.Location
		link, file string
		want       string
	}{
		"by its name":              {location(t, "Asia/Tokyo"), "link", "berlin", "Asia/Tokyo"},
		"UTC":                      {time.UTC, "none", "none", "UTC"},
		"by the link":              {local, "link", "tokyo", "Europe/Berlin"},
		"by the file":              {local, "none", "berlin", "Europe/Berlin"},
		"a file of another zone":   {local, "none", "tokyo", ""},
		"nothing":                  {local, "none", "none", ""},
		"an offset without a zone": {time.FixedZone("CEST", 7200), "none", "none", ""},
	} {
		got, err := zoneName(c.loc, path(c.link), path(c.file))
		if got != c.want || (c.want == "") != errors.Is(err, errNoZone) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
	if _, err := Parse("every day at 9:00", time.Now(), func() (string, error) { return "", errNoZone }); !errors.Is(err, errNoZone) {
		t.Errorf("a repeated time of day without a zone: %v", err)
	}
}

// Go takes UTC for a TZ that it cannot read; a time of day would then be another one.
func TestAMistypedTZIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "zone")
	if err := os.WriteFile(file, []byte("Europe/Berlin\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tz := range []string{"Europe/Berln", "europe", "CET-1CEST,M3.5.0,M10.5.0/3", "Local", ":Local", "../UTC", file, file + "s"} {
		if err := CheckTZ(tz); err == nil || !strings.Contains(err.Error(), "TZ="+tz+" does not name a timezone") {
			t.Errorf("TZ=%s: %v", tz, err)
		}
	}
	right := []string{"", ":", "UTC", "Europe/Berlin", ":Europe/Berlin", "EST5EDT"}
	if database := "/usr/share/zoneinfo/Europe/Berlin"; fileExists(database) {
		right = append(right, database)
	}
	for _, tz := range right {
		if err := CheckTZ(tz); err != nil {
			t.Errorf("TZ=%s: %v", tz, err)
		}
	}
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func FuzzParse(f *testing.F) {
	for _, phrase := range []string{"in 1h30m", "in 2 days", "at 14:30", "tomorrow at 9", "monday 9:00 pm", "2026-12-01T09:00:00Z", "2026-12-01 09:00",
		"every 15m", "every weekday at 9:00", "cron 0 9 */2 jan-DEC 1-5", "cron 0 0 L,15W * 5L,1#2"} {
		f.Add(phrase, int64(1_778_055_630))
	}
	loc := location(f, zone)
	f.Fuzz(func(t *testing.T, phrase string, unix int64) {
		now := time.Unix(unix%4_000_000_000, 0).In(loc)
		spec, err := Parse(phrase, now, berlin)
		if err != nil {
			if err.Error() == "" || spec != (schedule.Spec{}) {
				t.Errorf("%q: %+v, %v", phrase, spec, err)
			}
			return
		}
		if err := spec.Check(now); err != nil {
			t.Errorf("%q gives what is refused: %v", phrase, err)
		}
		if at := spec.First(now); !at.After(now) || spec.Next(at, now).Equal(at) {
			t.Errorf("%q at %v: first %v", phrase, now, at)
		}
	})
}

// Package when reads the phrases of holon remind, such as "in 20m" and "every
// weekday at 9:00".
package when

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed82539d15/holon/inbox/schedule"
)

// examples are what a message about a wrong phrase shows.
const examples = `"in 20m", "tomorrow 9:00", "every weekday at 9:00", "cron 0 9 * * 1-5"`

// maxBytes bounds a phrase: the longest cron expression and its word.
const maxBytes = schedule.MaxCronBytes + len("cron ")

// Parse reads a phrase. now and its location are the user's clock and timezone;
// zone gives the IANA name of that timezone and is called for repeated times of
// day only. The result is one that schedule.Spec.Check accepts.
//
//	in 20m, in 1h30m, in 2 days     days and weeks keep the time of day
//	at 14:30                        today, or tomorrow if that has passed
//	tomorrow 9:00, monday at 9      the next Monday, today if 9:00 is to come
//	2026-03-01T09:00:00Z            RFC 3339; 2026-03-01 09:00 is local
//	every 15m, every 2 hours        counted from now
//	every day|weekday|monday at 9:00
//	cron 0 9 * * 1-5                in the user's timezone
//
// A time of day is 9, 9:00, 14:30, 9am or 2:30pm.
func Parse(phrase string, now time.Time, zone func() (string, error)) (schedule.Spec, error) {
	if len(phrase) > maxBytes {
		return schedule.Spec{}, fmt.Errorf("a time has at most %d bytes. Examples: %s", maxBytes, examples)
	}
	spec, ok := read(phrase, now)
	if !ok {
		return schedule.Spec{}, fmt.Errorf("%q is not a time that is understood. Examples: %s", phrase, examples)
	}
	if spec.Cron != "" {
		name, err := zone()
		if err != nil {
			return schedule.Spec{}, err
		}
		spec.Timezone = name
	}
	if err := spec.Check(now); err != nil {
		return schedule.Spec{}, fmt.Errorf("%q: %w", phrase, err)
	}
	return spec, nil
}

// read works like Parse without the timezone and the check.
func read(phrase string, now time.Time) (schedule.Spec, bool) {
	given := strings.Fields(phrase)
	if len(given) == 0 {
		return schedule.Spec{}, false
	}
	if at, ok := absolute(strings.Join(given, " "), now.Location()); ok {
		return schedule.Spec{At: at}, true
	}
	words := strings.Fields(strings.ToLower(phrase))
	first, rest := words[0], words[1:]
	if first == "on" && len(rest) > 0 { // on monday at 9:00
		if _, ok := weekday(rest[0]); !ok {
			return schedule.Spec{}, false
		}
		first, rest = rest[0], rest[1:]
	}
	switch first {
	case "in":
		days, span, ok := length(strings.Join(rest, ""))
		return schedule.Spec{At: later(now, days).Add(span)}, ok && (days > 0 || span > 0)
	case "every":
		return repeated(rest)
	case "cron":
		expr := strings.Join(given[1:], " ")
		return schedule.Spec{Cron: expr}, expr != ""
	case "at":
		return onDay(now, words, func(day int) bool { return true })
	case "today", "tomorrow":
		want := 0
		if first == "tomorrow" {
			want = 1
		}
		return onDay(now, rest, func(day int) bool { return day == want })
	}
	if name, ok := weekday(first); ok {
		return onDay(now, rest, func(day int) bool { return (int(now.Weekday())+day)%7 == name })
	}
	if strings.ContainsAny(first, ":m") { // 14:30 and 9am; a number alone can mean anything
		return onDay(now, words, func(day int) bool { return true })
	}
	return schedule.Spec{}, false
}

// absolute reads a date with a time of day.
func absolute(text string, loc *time.Location) (time.Time, bool) {
	if at, err := time.Parse(time.RFC3339, strings.ToUpper(text)); err == nil {
		return at.UTC(), !at.IsZero()
	}
	face, err := time.Parse("2006-01-02 15:04", text)
	if err != nil {
		return time.Time{}, false
	}
	return schedule.Wall(face.Year(), face.Month(), face.Day(), face.Hour(), face.Minute(), loc), true
}

// later returns the same time of day a number of days later.
func later(now time.Time, days int) time.Time {
	if days == 0 {
		return now.UTC() // also in the second of two hours of the same name
	}
	seconds := time.Duration(now.Second())*time.Second + time.Duration(now.Nanosecond())
	return schedule.Wall(now.Year(), now.Month(), now.Day()+days, now.Hour(), now.Minute(), now.Location()).Add(seconds)
}

// onDay finds the first time of day, in the days from today (0) to this day in a
// week (7), that is still to come on a day that matches. One of today that has
// passed is returned as it is if no other day matches.
func onDay(now time.Time, words []string, matches func(day int) bool) (schedule.Spec, bool) {
	hour, minute, ok := clock(words)
	if !ok {
		return schedule.Spec{}, false
	}
	var at time.Time
	for day := range 8 {
		if at.After(now) || !matches(day) {
			continue
		}
		at = schedule.Wall(now.Year(), now.Month(), now.Day()+day, hour, minute, now.Location())
	}
	return schedule.Spec{At: at}, true
}

// repeated reads what follows "every".
func repeated(words []string) (schedule.Spec, bool) {
	if len(words) == 0 {
		return schedule.Spec{}, false
	}
	days, known := "", true
	switch name, ok := weekday(words[0]); {
	case ok:
		days = strconv.Itoa(name)
	case words[0] == "weekday":
		days = "1-5"
	case words[0] == "day":
		days = "*"
	default:
		known = false
	}
	if known && (len(words) > 1 || days != "*") {
		hour, minute, ok := clock(words[1:])
		return schedule.Spec{Cron: fmt.Sprintf("%d %d * * %s", minute, hour, days)}, ok
	}
	text := strings.Join(words, "")
	if _, isUnit := units[text]; isUnit { // every hour
		text = "1" + text
	}
	n, span, ok := length(text)
	seconds := int64(n)*24*60*60 + int64(span/time.Second)
	return schedule.Spec{EverySeconds: seconds}, ok && seconds > 0
}

// unit is a number of days or a length of time.
type unit struct {
	days int
	span time.Duration
}

var units = map[string]unit{}

func init() {
	for names, u := range map[string]unit{
		"s sec secs second seconds": {0, time.Second},
		"m min mins minute minutes": {0, time.Minute},
		"h hr hrs hour hours":       {0, time.Hour},
		"d day days":                {1, 0},
		"w week weeks":              {7, 0},
	} {
		for _, name := range strings.Fields(names) {
			units[name] = u
		}
	}
}

// Six digits: more than 5 years in minutes, and no sum of a phrase overflows.
var counted = regexp.MustCompile(`^(\d{1,6})([a-z]+)`)

// length reads "1h30m" and "2days". Each unit comes at most once.
func length(text string) (days int, span time.Duration, ok bool) {
	var seen []unit
	for text != "" {
		m := counted.FindStringSubmatch(text)
		if m == nil {
			return 0, 0, false
		}
		u, known := units[m[2]]
		n, err := strconv.Atoi(m[1])
		if !known || err != nil || slices.Contains(seen, u) {
			return 0, 0, false
		}
		seen = append(seen, u)
		days, span = days+n*u.days, span+time.Duration(n)*u.span
		text = text[len(m[0]):]
	}
	return days, span, len(seen) > 0
}

var timeOfDay = regexp.MustCompile(`^(\d{1,2})(?::(\d{2}))?(am|pm)?$`)

// clock reads "at 9", "9:00", "9am" and "2:30 pm".
func clock(words []string) (hour, minute int, ok bool) {
	if len(words) > 0 && words[0] == "at" {
		words = words[1:]
	}
	m := timeOfDay.FindStringSubmatch(strings.Join(words, ""))
	if m == nil || len(words) > 2 || len(words) == 2 && words[1] != "am" && words[1] != "pm" {
		return 0, 0, false
	}
	hour, _ = strconv.Atoi(m[1])
	minute, _ = strconv.Atoi(m[2]) // "" is 0
	if m[3] != "" {
		if hour < 1 || hour > 12 {
			return 0, 0, false
		}
		hour %= 12
		if m[3] == "pm" {
			hour += 12
		}
	}
	return hour, minute, hour < 24 && minute < 60
}

// weekday reads the name of a day, or its first three letters; Sunday is 0.
func weekday(word string) (int, bool) {
	for day := range 7 {
		name := strings.ToLower(time.Weekday(day).String())
		if word == name || word == name[:3] {
			return day, true
		}
	}
	return 0, false
}

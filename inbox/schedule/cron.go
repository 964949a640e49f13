package schedule

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // so that a machine without a database of timezones knows their names

	"github.com/adhocore/gronx"
)

// searched is how far ahead the next time of an expression is looked for. It is
// more than Horizon, so that what was accepted does not end after its first time:
// the 29th of February is a Sunday every 28 years, or 40 across the year 2100.
const searched = 41 * 366 * 24 * time.Hour

// cron is an expression in its zone. gronx says what matches; the search and the
// zones are ours. The search of gronx goes wrong where clocks change (a day's
// firing is left out in spring, an hour of them in autumn), and it returns a time
// that does not match when it gives up.
type cron struct {
	loc            *time.Location
	minutes, hours uint64 // bit n: n matches
	months         uint64
	day            []string // the expression with minute and hour 0
	everyHour      bool
}

func (s Spec) cron() (cron, error) {
	loc, err := zone(s.Timezone)
	if err != nil {
		return cron{}, err
	}
	segments, err := segments(s.Cron)
	if err != nil {
		return cron{}, err
	}
	c := cron{loc: loc, day: slices.Concat([]string{"0", "0", "0"}, segments[3:])}
	january := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	for n := range 60 {
		c.minutes |= match(segments[1], 1, january.Add(time.Duration(n)*time.Minute)) << n
	}
	for n := range 24 {
		c.hours |= match(segments[2], 2, january.Add(time.Duration(n)*time.Hour)) << n
	}
	for n := range 12 {
		c.months |= match(segments[4], 4, january.AddDate(0, n, 0)) << (n + 1)
	}
	c.everyHour = c.hours == 1<<24-1
	return c, nil
}

// zone finds a timezone. "Local" is refused, because it means another zone on
// another machine.
func zone(name string) (*time.Location, error) {
	if len(name) > MaxTimezoneBytes {
		return nil, &Error{"timezone", OutOfRange, "has more than 64 bytes"}
	}
	loc, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, &Error{"timezone", Invalid, "must be an IANA name such as Europe/Berlin"}
	}
	return loc, nil
}

// The fields of an expression, in the order of gronx, whose first is the second.
// gronx accepts more than it understands ("1-2-9", "*,99"), so the syntax is
// checked here.
var fields = [...]struct {
	name        string
	part        *regexp.Regexp
	least, most int
}{
	1: {"minute", part(`\d{1,2}`, ""), 0, 59},
	2: {"hour", part(`\d{1,2}`, ""), 0, 23},
	3: {"day of the month", part(`\d{1,2}`, `|L|\d{1,2}W`), 1, 31},
	4: {"month", part(`\d{1,2}|JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC`, ""), 1, 12},
	5: {"day of the week", part(`\d|SUN|MON|TUE|WED|THU|FRI|SAT`, `|\dL|\d#[1-5]`), 0, 7},
}

var number = regexp.MustCompile(`\d+`)

// part returns the syntax of one part of a list: a star, a value or a range, with or
// without a step.
func part(value, more string) *regexp.Regexp {
	value = "(?:" + value + ")"
	return regexp.MustCompile(`^(?:(?:\*|` + value + `(?:-` + value + `)?)(?:/0*[1-9]\d{0,2})?` + more + `)$`)
}

// segments checks an expression and returns its fields as gronx wants them, the
// second (0) first.
func segments(text string) ([]string, error) {
	if len(text) > MaxCronBytes {
		return nil, &Error{"cron", OutOfRange, "has more than 256 bytes"}
	}
	given := strings.Fields(text)
	if len(given) == 1 && strings.HasPrefix(given[0], "@") {
		// A macro of gronx is correct, but one fires every second.
		segments, err := gronx.Segments(given[0])
		if err != nil || len(segments) != 6 || segments[0] != "0" {
			return nil, &Error{"cron", Invalid, "has no macro of this name; there are @hourly, @daily, @weekly, @monthly and @yearly"}
		}
		return segments, nil
	}
	if len(given) != 5 {
		return nil, &Error{"cron", Invalid, "must have 5 fields: minute, hour, day of the month, month, day of the week"}
	}
	for i, field := range given {
		for part := range strings.SplitSeq(strings.ToUpper(field), ",") {
			if !fields[i+1].part.MatchString(part) {
				return nil, &Error{"cron", Invalid, "has a " + fields[i+1].name + " that is not understood: " + field}
			}
		}
	}
	segments, err := gronx.Segments(strings.Join(given, " "))
	if err != nil {
		return nil, &Error{"cron", Invalid, "is not understood: " + err.Error()}
	}
	for pos := 1; pos <= 5; pos++ {
		for part := range strings.SplitSeq(segments[pos], ",") {
			if err := inBounds(part, pos); err != nil {
				return nil, err
			}
		}
	}
	return segments, nil
}

// inBounds checks the numbers of a part, names already replaced. A step is no such
// number, and neither is the week of a month.
func inBounds(part string, pos int) error {
	f := fields[pos]
	value, _, _ := strings.Cut(part, "/")
	value, _, _ = strings.Cut(value, "#")
	for _, digits := range number.FindAllString(value, -1) {
		if n, err := strconv.Atoi(digits); err != nil || n < f.least || n > f.most {
			return &Error{"cron", OutOfRange, "has a " + f.name + " that is not from " + strconv.Itoa(f.least) + " to " + strconv.Itoa(f.most) + ": " + part}
		}
	}
	checker := gronx.SegmentChecker{}
	if _, err := checker.CheckDue(part, pos); err != nil { // such as a range that ends before it begins
		return &Error{"cron", Invalid, "has a " + f.name + " that is not understood: " + part}
	}
	return nil
}

// match returns 1 if a field matches a time, otherwise 0.
func match(segment string, pos int, t time.Time) uint64 {
	checker := gronx.SegmentChecker{}
	checker.SetRef(t)
	if due, err := checker.CheckDue(segment, pos); due && err == nil {
		return 1
	}
	return 0
}

// next returns the first planned time after a time, or the zero time.
func (c cron) next(after time.Time) time.Time {
	if c.everyHour {
		return c.nextPassed(after)
	}
	face := faceOf(after, c.loc)
	for until := face.Add(searched); ; {
		if face = c.nextFace(face, until); face.IsZero() {
			return time.Time{}
		}
		// A face that exists twice counts only the first time.
		if at := instant(face, c.loc); at.After(after) {
			return at
		}
	}
}

// nextPassed works like next, for expressions that follow the time that passes: it searches
// from one change of clocks to the next.
func (c cron) nextPassed(after time.Time) time.Time {
	until := after.Add(searched)
	for at, face := after, faceOf(after, c.loc); ; {
		_, end := at.In(c.loc).ZoneBounds()
		if !end.IsZero() && !end.After(at) {
			// On the last day of a leap year after 2037 ZoneBounds gives an end that
			// has passed. No clocks are changed on that day.
			end = at.Add(24 * time.Hour)
		}
		if end.IsZero() || end.After(until) {
			end = until
		}
		shift := offset(at, c.loc)
		if found := c.nextFace(face, end.Add(shift).UTC()); !found.IsZero() {
			return found.Add(-shift)
		}
		if !end.Before(until) {
			return time.Time{}
		}
		at, face = end, faceOf(end, c.loc).Add(-1) // the time of the change itself may match
	}
}

// nextFace returns the first face after one and before another that matches, or
// the zero time. It tries every day between them at most, 15,000 in all.
func (c cron) nextFace(after, before time.Time) time.Time {
	face := after.Truncate(time.Minute).Add(time.Minute)
	days, right := gronx.New(), time.Time{}
	for face.Before(before) {
		today := face.Truncate(24 * time.Hour)
		switch {
		case c.months>>face.Month()&1 == 0:
			face = time.Date(face.Year(), face.Month()+1, 1, 0, 0, 0, 0, time.UTC)
			continue
		case !today.Equal(right):
			days.C.SetRef(today)
			if due, err := days.SegmentsDue(c.day); !due || err != nil {
				face = today.Add(24 * time.Hour)
				continue
			}
			right = today
		}
		switch {
		case c.hours>>face.Hour()&1 == 0:
			face = face.Truncate(time.Hour).Add(time.Hour)
		case c.minutes>>face.Minute()&1 == 0:
			face = face.Add(time.Minute)
		default:
			return face
		}
	}
	return time.Time{}
}

// Package schedule computes the planned times of a timer: one time, a fixed
// interval, or a cron expression in a timezone. It has no clock and waits for
// nothing. Planned times depend on the Spec and on the time of its creation
// alone, so a restart continues the same series, and a caller that asks for
// what follows its last planned time never gets a time twice, however the clock
// was set in between.
//
// A cron expression means wall-clock time in its timezone. Where the clocks are
// changed, two rules hold:
//
//   - An expression that names hours ("30 2 * * *", "*/5 8-18 * * *") fires once
//     for each of its wall-clock times. A time that the change leaves out fires at
//     the first minute after it; several of them fire there together, once. A time
//     that exists twice fires the first time.
//   - An expression that matches every hour ("*/15 * * * *", "0 * * * *") follows
//     the time that passes: in the repeated hour it fires again, and the hour that is
//     left out has no firings.
//
// As usual for cron, a day matches if the day of the month or the day of the week
// does, if both are given; with a star at the beginning of one of them, both must.
//
// All times that the package returns are in UTC and without a monotonic clock.
package schedule

import "time"

// Bounds of a Spec.
const (
	// Horizon is how far ahead the first planned time may be: 5 years, so that an
	// expression for the 29th of February is accepted on almost every day.
	Horizon = 5 * 366 * 24 * time.Hour
	// MinEverySeconds and MaxEverySeconds bound an interval.
	MinEverySeconds, MaxEverySeconds = 60, 366 * 24 * 60 * 60
	// MaxCronBytes bounds the text of an expression, MaxTimezoneBytes that of the
	// name of its timezone.
	MaxCronBytes, MaxTimezoneBytes = 256, 64
	// MaxMissed is the highest count that Missed gives for a cron expression.
	MaxMissed = 1000
)

// Spec says when a timer fires. Exactly one of At, EverySeconds and Cron is set.
// It is a value; any goroutine may use it. Its methods other than Check expect a
// Spec that Check accepted; of any other they return no planned times.
type Spec struct {
	// At is the only planned time.
	At time.Time
	// EverySeconds is the interval of planned times, counted from the creation of
	// the timer, so that they do not drift.
	EverySeconds int64
	// Cron is an expression of five fields (minute, hour, day of the month, month,
	// day of the week) or a macro such as @daily.
	Cron string
	// Timezone is the IANA name of the zone of Cron; "" is UTC.
	Timezone string
}

// Check returns nil or an *Error. now is the time at which the timer is created.
func (s Spec) Check(now time.Time) error {
	now = plain(now)
	set := ""
	for _, f := range []struct {
		field string
		isSet bool
	}{{"at", !s.At.IsZero()}, {"every_seconds", s.EverySeconds != 0}, {"cron", s.Cron != ""}} {
		if f.isSet && set != "" {
			return &Error{f.field, Invalid, "cannot be combined with " + set}
		}
		if f.isSet {
			set = f.field
		}
	}
	if s.Timezone != "" && set != "cron" && set != "" {
		return &Error{"timezone", Invalid, "has a meaning for cron only"}
	}
	switch set {
	case "at":
		if !plain(s.At).After(now) {
			return &Error{"at", OutOfRange, "is not in the future"}
		}
		if plain(s.At).After(now.Add(Horizon)) {
			return &Error{"at", OutOfRange, "is more than 5 years away"}
		}
		return nil
	case "every_seconds":
		if s.EverySeconds < MinEverySeconds || s.EverySeconds > MaxEverySeconds {
			return &Error{"every_seconds", OutOfRange, "must be from 60 seconds to 366 days (31622400)"}
		}
		return nil
	case "cron":
		c, err := s.cron()
		if err != nil {
			return err // not the nil of another type
		}
		if next := c.next(now); next.IsZero() || next.After(now.Add(Horizon)) {
			return &Error{"cron", OutOfRange, "has no time within the next 5 years"}
		}
		return nil
	}
	return &Error{"at", Required, "one of at, every_seconds and cron is required"}
}

// First returns the first planned time of a timer. That of At is At, also if the
// timer was created a moment later.
func (s Spec) First(created time.Time) time.Time {
	if !s.At.IsZero() {
		return plain(s.At)
	}
	return s.Next(created, created)
}

// Next returns the first planned time strictly after the given one, or the zero
// time if there is none. Planned times of EverySeconds and Cron are after the
// creation. after is the last planned time, not the clock's: then a clock that is
// set back fires nothing twice.
func (s Spec) Next(after, created time.Time) time.Time {
	return s.series(plain(created)).next(plain(after))
}

// Missed returns the last of the planned times from one time to another, both
// included, and how many they are. Without any it returns the zero time and 0.
// For Cron n is at most MaxMissed, which stands for more; last is exact.
func (s Spec) Missed(from, now, created time.Time) (last time.Time, n int64) {
	from, now, created = plain(from), plain(now), plain(created)
	planned := s.series(created)
	if e, ok := planned.(every); ok {
		k := e.count(now)
		if n = k - e.count(from.Add(-1)); n <= 0 {
			return time.Time{}, 0
		}
		return e.nth(k), n
	}
	for at := planned.next(from.Add(-1)); !at.IsZero() && !at.After(now); at = planned.next(at) {
		if n++; n == MaxMissed {
			return lastUntil(planned, at, now), n
		}
		last = at
	}
	return last, n
}

// lastUntil finds the last planned time up to a time, given an earlier one, by binary
// search, so a long time without the server takes few steps. Planned times of Cron are at
// least a minute apart.
func lastUntil(planned series, last, until time.Time) time.Time {
	for until.Sub(last) >= time.Minute {
		half := last.Add(until.Sub(last) / 2)
		if next := planned.next(half); next.IsZero() || next.After(until) {
			until = half
		} else {
			last = next
		}
	}
	return last
}

// series is the planned times of a Spec in their order.
type series interface {
	// next returns the first one strictly after a time, or the zero time.
	next(after time.Time) time.Time
}

func (s Spec) series(created time.Time) series {
	switch {
	case !s.At.IsZero():
		return once{plain(s.At)}
	case s.EverySeconds > 0:
		return every{created, s.EverySeconds}
	}
	c, err := s.cron()
	if err != nil {
		return once{} // never
	}
	return since{c, created}
}

// once is a single time; the zero time is none.
type once struct{ at time.Time }

func (o once) next(after time.Time) time.Time {
	if o.at.After(after) {
		return o.at
	}
	return time.Time{}
}

// since is a series without the times up to its creation.
type since struct {
	series
	created time.Time
}

func (s since) next(after time.Time) time.Time {
	if after.Before(s.created) {
		after = s.created
	}
	return s.series.next(after)
}

// every is the series created + k*seconds for k = 1, 2, …
type every struct {
	created time.Time
	seconds int64
}

func (e every) next(after time.Time) time.Time { return e.nth(e.count(after) + 1) }

// count returns how many planned times are not after t.
func (e every) count(t time.Time) int64 {
	if t.Before(e.created) {
		return 0
	}
	elapsed := t.Unix() - e.created.Unix() // Sub would saturate after 292 years
	if t.Nanosecond() < e.created.Nanosecond() {
		elapsed--
	}
	return elapsed / e.seconds
}

func (e every) nth(k int64) time.Time {
	return time.Unix(e.created.Unix()+k*e.seconds, int64(e.created.Nanosecond())).UTC()
}

// plain removes the monotonic clock, because comparisons must use the wall clock.
func plain(t time.Time) time.Time { return t.Round(0).UTC() }

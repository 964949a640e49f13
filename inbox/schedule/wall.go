package schedule

import "time"

// Wall returns the instant, in UTC, at which the clocks of a zone show a time:
// the first of two if the time exists twice, and the first instant after the
// change of clocks that leaves the time out. time.Date promises neither.
func Wall(year int, month time.Month, day, hour, minute int, loc *time.Location) time.Time {
	return instant(time.Date(year, month, day, hour, minute, 0, 0, time.UTC), loc)
}

// instant returns Wall of a clock's face, which is a time in UTC. A later face has a
// later instant, or the same one if a change of clocks leaves both out.
func instant(face time.Time, loc *time.Location) time.Time {
	// near is the result, or it is close to the change of clocks that decides.
	near := time.Date(face.Year(), face.Month(), face.Day(), face.Hour(), face.Minute(), 0, 0, loc)
	start, end := near.ZoneBounds()
	var found time.Time
	for _, t := range []time.Time{start.Add(-1), near, end} {
		at := face.Add(-offset(t, loc))
		if offset(at, loc) == offset(t, loc) && (found.IsZero() || at.Before(found)) {
			found = at
		}
	}
	if !found.IsZero() {
		return found
	}
	for _, change := range []time.Time{start, end} {
		first := change.Add(offset(change.Add(-1), loc)).UTC() // that does not exist
		if !face.Before(first) && face.Before(change.Add(offset(change, loc)).UTC()) {
			return change.UTC()
		}
	}
	return near.UTC()
}

// faceOf returns what the clocks of a zone show, as a time in UTC.
func faceOf(t time.Time, loc *time.Location) time.Time { return t.Add(offset(t, loc)).UTC() }

func offset(t time.Time, loc *time.Location) time.Duration {
	_, seconds := t.In(loc).Zone()
	return time.Duration(seconds) * time.Second
}

package notify

import (
	"fmt"
	"time"
)

const timeLayout = "2006-01-02T15:04:05.000Z"

// Time is an instant on the wire and in rows: RFC 3339, UTC, milliseconds.
// The zero value means "never"; omitzero leaves it out of JSON.
type Time struct{ time.Time }

// TimeOf rounds t down to the millisecond that is stored and shown, so that a
// value in memory equals the one that is read back.
func TimeOf(t time.Time) Time {
	if t.IsZero() {
		return Time{}
	}
	return Time{time.UnixMilli(t.UnixMilli()).UTC()}
}

// TimeFromMilli returns the inverse of UnixMilli; 0 is the zero Time.
func TimeFromMilli(ms int64) Time {
	if ms == 0 {
		return Time{}
	}
	return Time{time.UnixMilli(ms).UTC()}
}

// Milli returns the time as milliseconds since 1970, 0 for the zero Time.
func (t Time) Milli() int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// AppendText implements encoding.TextAppender.
func (t Time) AppendText(b []byte) ([]byte, error) {
	return t.UTC().AppendFormat(b, timeLayout), nil
}

// MarshalText implements encoding.TextMarshaler.
func (t Time) MarshalText() ([]byte, error) { return t.AppendText(nil) }

// MarshalJSON implements json.Marshaler. It hides that of time.Time, which
// prints nanoseconds.
func (t Time) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, len(timeLayout)+2), '"')
	b = t.UTC().AppendFormat(b, timeLayout)
	return append(b, '"'), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Time) UnmarshalJSON(b []byte) error {
	if len(b) < 2 || b[0] != '"' {
		return fmt.Errorf("a time is a string, not %.20s", b)
	}
	return t.UnmarshalText(b[1 : len(b)-1])
}

// UnmarshalText implements encoding.TextUnmarshaler; it takes any RFC 3339
// time.
func (t *Time) UnmarshalText(b []byte) error {
	v, err := time.Parse(time.RFC3339Nano, string(b))
	if err != nil {
		return fmt.Errorf("time %.40q is not RFC 3339", b)
	}
	*t = TimeOf(v)
	return nil
}

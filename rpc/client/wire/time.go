package wire

import (
	"encoding/json"
	"fmt"
	"time"
)

// Time is an instant in the form that servers write: RFC 3339, UTC, milliseconds. The
// zero value means "never" or "not known".
type Time struct{ time.Time }

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) {
	return t.UTC().AppendFormat(nil, `"2006-01-02T15:04:05.000Z"`), nil
}

// UnmarshalJSON implements json.Unmarshaler. It reads any RFC 3339 time, and null as the
// zero value.
func (t *Time) UnmarshalJSON(b []byte) error {
	var text *string
	if err := json.Unmarshal(b, &text); err != nil {
		return fmt.Errorf("a time is a string, not %.20s", b)
	}
	if text == nil {
		*t = Time{}
		return nil
	}
	v, err := time.Parse(time.RFC3339, *text)
	if err != nil {
		return fmt.Errorf("time %.40q is not RFC 3339", *text)
	}
	*t = Time{v}
	return nil
}

package schedule

import (
	"errors"
	"testing"
	"time"
)

// An expression is refused with an *Error, or its times rise.
func FuzzCron(f *testing.F) {
	for _, expr := range []string{"* * * * *", "0 9 * * 1-5", "*/15 8-18/2 1,15 jan-MAR mon", "0 0 29 2 *", "0 0 L,15W * 5L,1#2", "@daily", "5/20 0-23 * * 7"} {
		f.Add(expr, "Europe/Berlin", int64(1_778_055_630))
	}
	f.Fuzz(func(t *testing.T, expr, zone string, unix int64) {
		at := time.Unix(unix%4_000_000_000, 0)
		s := Spec{Cron: expr, Timezone: zone}
		err := s.Check(at)
		var typed *Error
		if err != nil && !errors.As(err, &typed) {
			t.Fatalf("%v is no *Error", err)
		}
		if err != nil {
			return
		}
		created := at
		for range 5 {
			next := s.Next(at, created)
			if next.IsZero() {
				break
			}
			if !next.After(at) || next.Nanosecond() != 0 {
				t.Fatalf("%v after %v", next, at)
			}
			at = next
		}
	})
}

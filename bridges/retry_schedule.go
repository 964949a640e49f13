package bridges

import "time"

// retries are the waits after failed attempts: quick ones for a restart of the
// target, then long enough for a night.
var retries = []time.Duration{
	time.Second, 5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute,
	time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

const (
	maxRefusals = 3   // other 4xx: the target would refuse further attempts too
	asideAfter  = 4   // failures after which other turns no longer wait for a delivery
	maxFailDays = 5   // days with failures and without a success, after which a bridge is disabled
	spread      = 0.2 // retries of many deliveries do not come at once
)

// WaitFor returns how long to wait for a target that has asked for it so many times in a row;
// asked is for how long, 0 = it did not say. A target that asks again and again for a moment
// would otherwise be asked every second for ever, because waiting costs no attempt.
func WaitFor(asked time.Duration, times int) time.Duration {
	const unknown, most, steps = 30 * time.Second, 10 * time.Minute, 10
	if asked <= 0 {
		asked = unknown
	}
	grown := min(time.Second<<min(max(times-1, 0), steps), most)
	return min(max(asked, grown), MaxWait)
}

// RetryAfter returns how long to wait after so many failed attempts; ok is false
// if that was the last one. random is between 0 and 1.
func RetryAfter(failures int, random float64) (wait time.Duration, ok bool) {
	if failures > len(retries) {
		return 0, false
	}
	d := retries[max(failures, 1)-1]
	return d + time.Duration((2*random-1)*spread*float64(d)), true
}

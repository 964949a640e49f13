package bridges

import "time"

// Bounds of delivery.
const (
	MaxBridges       = 1000
	MaxSubscriptions = 20_000
	// MaxEnded is how many are kept whose turn is over, the newest. A retry makes them active also
	// beyond MaxSubscriptions.
	MaxEnded = 20_000
	// MaxSubscriptionsEach is how many of them a token has made that is limited to threads.
	// What these hold back, MaxBacklog each, is at most half of MaxOpen.
	MaxSubscriptionsEach = 100
	// MaxBacklog is how many chosen events of a subscription may wait, and
	// MaxBacklogAge how old they may be. What exceeds one is held until a client
	// says whether to send it: a thousand old messages at once are of no use.
	MaxBacklog    = 1000
	MaxBacklogAge = 7 * 24 * time.Hour
	// MaxOpen is how many deliveries of all subscriptions may wait. Beyond it
	// the log keeps what is new.
	MaxOpen = 200_000

	MaxTextBytes   = 16 << 10 // of Data.Text
	MaxTitleBytes  = 200      // of Data.Title
	MaxEventBytes  = 64 << 10 // of Data.Event and Data.Entry; a larger one is left out
	MaxAnswerBytes = 1 << 10  // of an answer that is kept with an attempt
	MaxTries       = 16       // attempts whose details are kept
	MaxNoteBytes   = 400      // of a reason that a client gives
	MaxMethods     = 32       // of a subscription
	MaxTargets     = 100      // of Settings.Targets
	MaxTests       = 8        // bridge/test at the same time: each may run a program

	// MaxWait is the longest time for which a target can ask the server to wait.
	MaxWait = 24 * time.Hour

	// KeepDeleted is how long a deleted subscription and its cursor can be read, and
	// be created again.
	KeepDeleted = 90 * 24 * time.Hour

	// KeepEnded is how long a subscription is kept whose turn is over: until then a retry may take
	// its messages back.
	KeepEnded = KeepMessages

	// The details of deliveries are kept this long after their end.
	KeepDelivered = 7 * 24 * time.Hour
	KeepDead      = 30 * 24 * time.Hour
	// KeepMessages is how long the messages of a target are remembered after the end of their
	// turn: until then a retry can supersede them.
	KeepMessages = 30 * 24 * time.Hour
)

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

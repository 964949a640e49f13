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

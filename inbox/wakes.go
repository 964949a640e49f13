package inbox

import (
	"fmt"
	"time"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
)

// Wakes says what keeps the new entries of an inbox from waking its thread.
type Wakes struct {
	State   WakesState  `json:"state"`
	Reason  WakesReason `json:"reason"`
	Since   notify.Time `json:"since"`
	Until   notify.Time `json:"until,omitzero"` // when time ends it; with the reason rate
	Waiting int         `json:"waiting"`        // new entries
}

// WakesState is what keeps a thread from being woken.
type WakesState string

// The states of Wakes. A client ends both, with a turn or inbox/wake.
const (
	WakesHeld    WakesState = "held"    // a client has interrupted its last turn
	WakesStalled WakesState = "stalled" // a bound on wakes is reached
)

// WakesReason is why: that of a Stall, or ReasonInterrupted.
type WakesReason string

// ReasonInterrupted is the reason of WakesHeld.
const ReasonInterrupted WakesReason = "interrupted"

// WakesReasons lists the reasons.
var WakesReasons = []WakesReason{ReasonInterrupted, WakesReason(StallSilent), WakesReason(StallRate), WakesReason(StallChain)}

// WakesOf reports what keeps a thread from being woken; nil if nothing does, or if nothing
// would wake it anyway. box may be nil. interrupted is when the last turn of a held thread
// ended. It agrees with MayWake, except for pauses: those of the thread, and those that
// grow after silent wakes.
func WakesOf(box *Inbox, th *threads.Thread, wake Wake, interrupted notify.Time, now time.Time) *Wakes {
	if wake != WakeIdle || !th.Open() {
		return nil
	}
	w := &Wakes{}
	if box != nil {
		w.Waiting = box.NewEntries
	}
	switch {
	case th.Held:
		w.State, w.Reason, w.Since = WakesHeld, ReasonInterrupted, interrupted
	case box == nil || box.Stalled == "":
		return nil
	default:
		w.State, w.Reason, w.Since = WakesStalled, WakesReason(box.Stalled), notify.TimeFromMilli(box.StalledAt)
		if box.Stalled == StallRate {
			if w.Until = notify.TimeFromMilli(box.WakeAt); !w.Until.After(now) {
				return nil
			}
		}
	}
	return w
}

// WakesEvents are the events that change Wakes, besides those of turns and threads: what a
// client follows that shows it.
var WakesEvents = []string{
	notify.InboxPosted, notify.InboxAcked, notify.InboxTold, notify.InboxUntold, notify.InboxWithdrawn,
	notify.InboxWoken, notify.InboxStalled, notify.InboxConfigured, notify.InboxExpired,
}

// NeedsPerson reports whether only a person ends it, who may not know: a rate ends with time, and
// what is interrupted is so by a person.
func (w *Wakes) NeedsPerson() bool {
	return w != nil && w.State == WakesStalled && Stall(w.Reason).NeedsSomebody()
}

// Says describes in a few words how many new entries wait, and why; "" if none do, so that a
// thread which a person has interrupted is not called stuck. Times are in zone.
func (w *Wakes) Says(zone *time.Location) string {
	if w == nil || w.Waiting == 0 {
		return ""
	}
	return fmt.Sprintf("%d new, not told: %s", w.Waiting, w.why(zone))
}

func (w *Wakes) why(zone *time.Location) string {
	if w.State == WakesHeld {
		return "it was interrupted"
	}
	text := Stall(w.Reason).Says()
	if !w.Until.IsZero() {
		text += ", until " + w.Until.In(zone).Format("15:04")
	}
	return text
}

// Says describes which bound was reached, in a few words.
func (s Stall) Says() string {
	switch s {
	case StallSilent:
		return fmt.Sprintf("%d wakes without a word", maxSilent)
	case StallRate:
		return fmt.Sprintf("%d wakes within an hour", MaxWakesAnHour)
	case StallChain:
		return fmt.Sprintf("%d wakes caused each other", MaxChain)
	}
	return string(s) // of a later version
}

// NeedsSomebody reports whether the stall lasts until a client ends it.
func (s Stall) NeedsSomebody() bool { return s == StallSilent || s == StallChain }

package screen

import "time"

// WakeKey is the key that has a thread told what is new in its inbox.
const WakeKey = "W"

// NothingToTell says why that does nothing.
const NothingToTell = "Nothing to tell: " + WakeKey + " is for a thread that is not told what is new in its inbox."

// SureWake asks whether to have a thread with a title told what is new.
func SureWake(title, thread string) *Sure {
	return &Sure{
		Question: "Tell “" + OneLine(title) + "” what is new in its inbox? y starts a turn that does.",
		Keys:     []Key{{Name: "y", Does: "tell it"}, {Name: "any other key", Does: "do not"}},
		let:      "Not told.",
		do:       func(time.Time) []Action { return []Action{Wake{Thread: thread}} },
	}
}

package screen

import (
	"time"

	"github.com/seed82539d15/holon/cmd/holon/restarts"
)

// Sure is what stops work and waits for y. Any other key lets it be, and does nothing
// else.
type Sure struct {
	Question string // names what is stopped
	Keys     []Key  // that a help line names meanwhile
	let      string // what is said of any other key
	do       func(now time.Time) []Action
}

// SureInterrupt asks whether to interrupt a turn of a thread with a title.
func SureInterrupt(title, turn string) *Sure {
	return &Sure{
		Question: "Interrupt “" + OneLine(title) + "” (turn " + ShortID(turn) + ")? y interrupts it.",
		Keys:     []Key{{Name: "y", Does: "interrupt"}, {Name: "any other key", Does: "do not"}},
		let:      "Not interrupted.",
		do:       func(time.Time) []Action { return []Action{Interrupt{Turn: turn}} },
	}
}

// SureRetry asks whether to retry a turn of a thread with a title.
func SureRetry(title, turn string) *Sure {
	return &Sure{
		Question: "Retry “" + OneLine(title) + "” (turn " + ShortID(turn) + ")? y retries it.",
		Keys:     []Key{{Name: "y", Does: "retry"}, {Name: "any other key", Does: "do not"}},
		let:      "Not retried.",
		do: func(time.Time) []Action {
			return []Action{Say{Text: "Retrying …"}, Retry{Turn: turn}}
		},
	}
}

// What the close of a thread does to what is in it.
const (
	Ends       = "It takes no more turns then."
	Interrupts = "It interrupts its turn."
	DropsQueue = "What is queued never starts."
	Blocks     = "Its result is blocked, as nobody has reviewed it."
)

// SureClose asks whether to close a thread with a title, and says what that does. do closes it.
func SureClose(title, does string, do func(now time.Time) []Action) *Sure {
	return &Sure{
		Question: "Close “" + OneLine(title) + "”? " + does + " y closes it, any other key keeps it.",
		Keys:     []Key{{Name: "y", Does: "close"}, {Name: "any other key", Does: "keep"}},
		let:      StaysOpen(title),
		do:       do,
	}
}

// SureRetryLost asks whether to retry the turns that ended with a restart.
func SureRetryLost(lost restarts.Lost, now time.Time) *Sure {
	return &Sure{
		Question: lost.Says(now) + ". y retries all of them, any other key none.",
		Keys:     []Key{{Name: "y", Does: "retry all"}, {Name: "any other key", Does: "do not"}},
		let:      "Nothing was retried.",
		do:       func(time.Time) []Action { return []Action{RetryLost{Lost: lost}} },
	}
}

// StaysOpen returns the message that a thread with a title is not closed.
func StaysOpen(title string) string { return "“" + OneLine(title) + "” stays open." }

// NothingToUndo is said of u where no thread is being closed.
const NothingToUndo = "Nothing to undo: u keeps a thread open for 5 s after x."

// Key takes the answer.
func (s *Sure) Key(now time.Time, name string) []Action {
	if name == "y" {
		return s.do(now)
	}
	return []Action{Say{Text: s.let}}
}

// ShortID returns the end of an id, as tables show it.
func ShortID(id string) string {
	id = OneLine(id)
	return id[max(0, len(id)-8):]
}

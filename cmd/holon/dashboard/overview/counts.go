package overview

import (
	"strconv"
	"time"
)

// Counts are how many threads have each status, as the server counts them: those that are
// not below another, and those below that need somebody.
type Counts struct {
	NeedsYou int  `json:"needs_you"`
	Working  int  `json:"working"`
	Failed   int  `json:"failed"`
	Done     int  `json:"done"`
	Closed   int  `json:"closed"`
	AtLeast  bool `json:"at_least"` // there may be more of each
}

// all returns how many threads are counted.
func (c Counts) all() int { return c.NeedsYou + c.Working + c.Failed + c.Done + c.Closed }

// mailbox is the agent of threads in which nobody works: they are not counted.
const mailbox = "mailbox"

// shown reports whether a thread is listed and counted where no filter hides it. Child
// threads are numbers in the row of their parent unless they need the person.
func (t *Thread) shown() bool {
	return t.group() == needsYou || t.Level == 0 && t.Agent != mailbox
}

// local counts the threads that are held.
func (l *list) local() (n Counts) {
	for _, t := range l.threads {
		if !t.shown() {
			continue
		}
		switch t.Summary.Status {
		case statusWaiting:
			n.NeedsYou++
		case statusWorking:
			n.Working++
		case statusFailed:
			n.Failed++
		case statusClosed:
			n.Closed++
		default:
			n.Done++
		}
	}
	return n
}

// counted notes how many threads there are that are not held. Of those that need somebody,
// work or have failed all are, unless the list was cut: so their numbers change with their
// rows.
func (l *list) counted(msg Listed) {
	if msg.Whole {
		l.cut, l.beyond = msg.Cut, Counts{}
	}
	if msg.Counts == nil {
		return
	}
	l.served = true
	is := l.local()
	l.beyond = Counts{Done: max(0, msg.Counts.Done-is.Done), Closed: max(0, msg.Counts.Closed-is.Closed), AtLeast: msg.Counts.AtLeast}
	if l.cut {
		l.beyond.NeedsYou = max(0, msg.Counts.NeedsYou-is.NeedsYou)
		l.beyond.Working = max(0, msg.Counts.Working-is.Working)
		l.beyond.Failed = max(0, msg.Counts.Failed-is.Failed)
	}
}

// found adds threads that the server has found among those that were not held.
func (l *list) found(threads []Thread) {
	before := l.local()
	l.put(threads, false)
	is := l.local()
	l.beyond.NeedsYou = max(0, l.beyond.NeedsYou-(is.NeedsYou-before.NeedsYou))
	l.beyond.Working = max(0, l.beyond.Working-(is.Working-before.Working))
	l.beyond.Failed = max(0, l.beyond.Failed-(is.Failed-before.Failed))
	l.beyond.Done = max(0, l.beyond.Done-(is.Done-before.Done))
	l.beyond.Closed = max(0, l.beyond.Closed-(is.Closed-before.Closed))
}

// more returns how many threads of a group there are that are not held.
func (c Counts) more(g group) int {
	switch g {
	case needsYou:
		return c.NeedsYou
	case working:
		return c.Working
	case done:
		return c.Failed + c.Done
	}
	return c.Closed
}

// number returns a number of threads as it is shown. beyond are those among them that are not
// held: their number may be higher.
func (l *list) number(n, beyond int) string {
	if beyond > 0 && l.beyond.AtLeast {
		return strconv.Itoa(n) + "+"
	}
	return strconv.Itoa(n)
}

// unknown reports whether a number of none may be wrong: there are threads that are not held,
// and the server has not looked at all of them.
func (l *list) unknown(n int) bool { return n == 0 && l.cut && l.beyond.AtLeast }

// totals are the numbers of the top line, over all threads whatever the filter.
type totals struct {
	Counts
	oldest time.Time // since when the oldest question waits

	notTold int // threads that are not told what is new in their inboxes …
	stuck   int // … and those among them that only a person has told
}

func (l *list) totals() (n totals) {
	n.Counts = l.local()
	n.NeedsYou += l.beyond.NeedsYou
	n.Working += l.beyond.Working
	n.Failed += l.beyond.Failed
	for _, t := range l.threads {
		if t.shown() && t.notTold(time.UTC) != "" {
			if n.notTold++; t.stuck() {
				n.stuck++
			}
		}
		if since := t.since(); t.group() == needsYou && (n.oldest.IsZero() || since.Before(n.oldest)) {
			n.oldest = since
		}
	}
	return n
}

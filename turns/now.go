package turns

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/seed82539d15/holon/internal/sanitize"
)

// Recent is what the newest rows of a thread say, for Now. Texts are one line, cut.
type Recent struct {
	Active bool   // a turn is active
	Saying string // the last line of the message that the active turn is writing
	Newest string // the active turn's newest message or tool, if it is newer than the turn's progress
	Woken  int    // how many inbox entries have woken the active turn; 0 = it is no wake
	Retry  bool   // the active turn waits for its next attempt
	Last   string // the beginning of the agent's last live text
}

// Now describes in one line what a thread does, asks or has said: Text of a summary whose
// other members are set.
func (s *Summary) Now(r Recent) string {
	switch s.Status {
	case SummaryWaiting:
		if len(s.Waiting) > 0 {
			return s.Waiting[0].Title
		}
		if s.Reviews == 1 {
			return "1 result waits for a review"
		}
		return fmt.Sprintf("%d results wait for a review", s.Reviews)
	case SummaryWorking:
		return s.work(r)
	case SummaryFailed:
		if s.Review != "" {
			return ending(s.refusal(), r.Last)
		}
		if s.Error == nil {
			return r.Last
		}
		return firstOf(s.Error.Message, s.Error.Kind)
	case SummaryIdle:
		switch {
		case s.Interrupted && s.Reason != "":
			return ending("interrupted: "+s.Reason, r.Last)
		case s.Interrupted:
			return ending("interrupted", r.Last)
		case s.StopReason != "":
			return ending(EarlyStop(s.StopReason), r.Last)
		}
	}
	return r.Last
}

// refusal returns how a review has refused the end.
func (s *Summary) refusal() string {
	if s.Reason == "" {
		return string(s.Review)
	}
	return string(s.Review) + ": " + s.Reason
}

// work returns Now of a thread that works.
func (s *Summary) work(r Recent) string {
	switch now := firstOf(r.Saying, s.Doing.Line(), r.Newest, s.Progress); {
	case now != "":
		return now
	case !r.Active:
		return WaitsInQueue(s.Queued)
	case r.Retry:
		return "waits for its next attempt"
	case r.Woken > 0:
		return "woken by " + counted(r.Woken, "entry", "entries")
	}
	return ""
}

// SilentAfter is how long an agent may say nothing at all before a person is told: a model
// answers within seconds, and agents that are not logged in may wait for ever. The server has
// no clock in its sentences, so its clients say it.
const SilentAfter = 30 * time.Second

// Silent reports whether nothing has happened for SilentAfter in a thread that works, and of
// which the server's sentence says nothing (text). children are those that it may wait for,
// updated is the time of its newest event; zero = unknown.
func Silent(status SummaryStatus, text string, children int, updated, now time.Time) bool {
	return status == SummaryWorking && text == "" && children == 0 && !updated.IsZero() && now.Sub(updated) >= SilentAfter
}

// WaitsInQueue returns Now of a thread of which no turn is active, but n are queued.
func WaitsInQueue(n int) string { return counted(n, "turn waits", "turns wait") + " in the queue" }

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", many)
}

// ending returns how a turn ended, and what was said last.
func ending(how, last string) string {
	if last != "" {
		how += "; last: " + last
	}
	return sanitize.Line(how, MaxSummaryText)
}

// Line returns a tool and what it touches, once if one says the other; "" of nil.
func (d *Doing) Line() string {
	switch {
	case d == nil:
		return ""
	case d.Title == "" || strings.Contains(d.Target, d.Title):
		return d.Target
	case d.Target == "" || strings.Contains(d.Title, d.Target):
		return d.Title
	}
	return sanitize.Line(d.Title+": "+d.Target, MaxSummaryText)
}

// LastLine returns the last line of a text that has a letter or a digit, of at most
// MaxSummaryText characters: what is too long is cut at its beginning, so that a line
// that grows is seen to grow. whole says that nothing before the text would change it.
func LastLine(text string) (line string, whole bool) {
	for text != "" {
		i := strings.LastIndexByte(text, '\n')
		line := sanitize.Line(text[i+1:], len(text))
		if strings.ContainsFunc(line, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
			all := []rune(line)
			if len(all) > MaxSummaryText {
				return "…" + string(all[len(all)-MaxSummaryText+1:]), true
			}
			return line, i >= 0
		}
		text = text[:max(i, 0)]
	}
	return "", false
}

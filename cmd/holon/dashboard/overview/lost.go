package overview

import (
	"time"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/cmd/holon/restarts"
)

// Lost are the turns that ended with a restart, as they were read last: a message of the
// program, and what the overview keeps of it.
type Lost struct{ restarts.Lost }

// line describes how many there are, and the keys for them; "" if there are none.
func (l Lost) line(now time.Time, width int) string {
	says := l.Says(now)
	if says == "" {
		return ""
	}
	short := screen.Plural(len(l.Turns), "turn") + " ended: R"
	return screen.Widest(width, says+": R retries them, D dismisses this line", says+": R retry, D dismiss", short+" retry, D dismiss", short+", D")
}

// command takes the letters for them: R asks first.
func (l Lost) command(now time.Time, key string) (*screen.Sure, []screen.Action) {
	switch {
	case len(l.Turns) == 0:
		return nil, say(restarts.None)
	case key == "D":
		return nil, []screen.Action{screen.DismissLost{Lost: l.Lost}}
	}
	return screen.SureRetryLost(l.Lost, now), nil
}

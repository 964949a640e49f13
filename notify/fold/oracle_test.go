package fold

import (
	"github.com/seed82539d15/holon/notify"
)

// The oracle knows which try wrote each event, and when each try was given up.
// It reads no lineage, no epoch and no marker.

// liveAt reports whether an event is live as of a seq.
func (x *written) liveAt(asOf int64) bool {
	if x.mark || x.late || x.e.Seq > asOf {
		return false
	}
	return x.owner == nil || x.owner.liveAt(x.e.Seq, asOf)
}

// look is the simplest description of an item, a turn or a step.
type look struct {
	state string
	text  string
	from  int64
}

// looks folds, in the simplest way, the events that are live and pass.
func looks(log []written, asOf int64, pass func(*Event) bool) map[string]look {
	out := map[string]look{}
	for i := range log {
		x := &log[i]
		e := &x.e
		if e.TurnID == "" || !x.liveAt(asOf) || !pass(e) {
			continue
		}
		key := e.TurnID
		switch {
		case e.ItemID != "":
			key = e.ItemID
		case e.Method == notify.StepStarted || e.Method == notify.StepEnded:
			key += "/" + e.Step
		}
		l, seen := out[key]
		switch e.Method {
		case notify.ItemCreated:
			l = look{state: e.Body.Status}
		case notify.ItemUpdated, notify.ItemDeleted:
			l.state = e.Body.Status
		case notify.ItemDelta:
			if !seen {
				l.from = e.Body.Offset
			}
			l.text += e.Body.Text
		case notify.TurnQueued, notify.TurnStarted, notify.TurnFailed:
			l.state = e.Body.State
		case notify.TurnProgress:
			l.state = "active"
		case notify.StepStarted, notify.StepEnded:
			l.state = e.Body.Status
		}
		out[key] = l
	}
	return out
}

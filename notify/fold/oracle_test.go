package fold

import (
	"github.com/seed82539d15/holon/notify"
)

// The oracle knows of every event which try wrote it, and of every try when it
// was given up. It reads no lineage, no epoch and no marker.

// stands says whether an event is live as of a seq.
func (x *written) stands(asOf int64) bool {
	if x.mark || x.late || x.e.Seq > asOf {
		return false
	}
	return x.owner == nil || x.owner.liveAt(x.e.Seq, asOf)
}

// look is an item, a turn or a step, as plainly as it can be told.
type look struct {
	state string
	text  string
	from  int64
}

// looks folds, as naively as can be, the events that stand and that pass.
func looks(log []written, asOf int64, pass func(*Event) bool) map[string]look {
	out := map[string]look{}
	for i := range log {
		x := &log[i]
		e := &x.e
		if e.TurnID == "" || !x.stands(asOf) || !pass(e) {
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

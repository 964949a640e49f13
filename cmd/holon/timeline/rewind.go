package timeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed82539d15/holon/notify/fold"
	"github.com/seed82539d15/holon/rpc/client"
)

// Superseded says how to show lines that a marker (stream/rewind) supersedes,
// and events that come too late for the view.
type Superseded string

// The ways to show superseded lines. Plain lines cannot be changed once they
// are printed: there only the marker's own line is shown, with Hide and Mark
// alike.
const (
	Hide Superseded = "hide" // the zero value too: its lines leave the screen
	Mark Superseded = "mark" // its lines are struck out
	Show Superseded = "show" // its lines stay as they are
)

type ref = fold.Ref

// lineageParams are the params of events about attempts and steps.
type lineageParams struct {
	Attempt  int    `json:"attempt"`
	Step     string `json:"step"`
	Epoch    int    `json:"epoch"`
	Lineage  []ref  `json:"lineage"`
	NewEpoch int    `json:"new_epoch"`
	After    int64  `json:"superseded_after_seq"`
	RetryAt  string `json:"retry_at"`
	Event    struct {
		Method string `json:"method"`
	} `json:"event"`
}

// sourceOf returns nil for an event that no marker can supersede.
func sourceOf(event client.Event, p params) *source {
	if event.TurnID == "" || len(p.Lineage) == 0 {
		return nil
	}
	return &source{turn: event.TurnID, lineage: p.Lineage, seq: event.Seq}
}

// keptMarkers is for how many turns markers are remembered. The bound is safe:
// after a marker the server stores no more events of the try it superseded.
const keptMarkers = 1000

// markers holds the markers of turns, the oldest turn first.
type markers struct {
	turns map[string]*fold.Markers
	order []string
}

func (m *markers) add(marker fold.Marker) {
	s := m.turns[marker.TurnID]
	if s == nil {
		if m.turns == nil {
			m.turns = map[string]*fold.Markers{}
		}
		s = &fold.Markers{}
		m.turns[marker.TurnID] = s
		m.order = append(m.order, marker.TurnID)
	}
	s.Add(marker)
	if len(m.order) > keptMarkers {
		delete(m.turns, m.order[0])
		m.order = slices.Delete(m.order, 0, 1)
	}
}

// stale reports whether text from this source is superseded.
func (r *Renderer) stale(from *source) bool {
	if from == nil || r.options.Superseded == Show {
		return false
	}
	m := r.markers.turns[from.turn]
	return m != nil && m.Stale(from.lineage, from.seq)
}

// rewindEvent removes or strikes out the lines that the marker supersedes, and
// shows the marker itself.
func (r *Renderer) rewindEvent(event client.Event, p params) {
	r.markers.add(fold.Marker{
		Seq: event.Seq, ThreadID: event.ThreadID, TurnID: event.TurnID, Step: p.Step,
		NewEpoch: p.NewEpoch, After: p.After, Reason: p.Reason,
	})
	if t := r.turns[event.TurnID]; t != nil {
		t.steps = slices.DeleteFunc(t.steps, func(path string) bool { return isWithin(path, p.Step) })
		if p.Step == "" {
			t.usage, t.note = nil, ""
		}
	}
	above := false
	if r.options.Superseded != Show {
		// Its open items have ended before the marker, but other servers may
		// not do that.
		for id, it := range r.items {
			if r.stale(it.from) {
				r.sink.finish(id)
				delete(r.items, id)
			}
		}
		if r.asking {
			r.sink.lose() // the question and the typed text are between the rows
		}
		above = r.sink.strike(r.stale, r.options.Superseded == Mark)
	}
	text := rewindText(p, above)
	if r.live == nil {
		text = r.options.id(event.TurnID) + ": " + text // its lines may be far away
	}
	r.block(event.ThreadID, labelRewind, text)
}

// rewindText returns a marker in a sentence.
func rewindText(p params, above bool) string {
	tried := fmt.Sprintf("attempt %d", p.NewEpoch-1)
	next := fmt.Sprintf("attempt %d", p.NewEpoch)
	if p.Step != "" {
		tried, next = fmt.Sprintf("step %s, try %d", OneLine(p.Step), p.NewEpoch-1), fmt.Sprintf("try %d", p.NewEpoch)
	}
	why := strings.ReplaceAll(OneLine(p.Reason), "_", " ")
	if message := OneLine(p.Message); message != "" {
		why = strings.TrimPrefix(why+": "+message, ": ")
	}
	text := tried + " was given up" + because(why) + ", " + next + " follows"
	if above {
		text += "; its lines above no longer hold"
	}
	return text
}

// isWithin reports whether a path is the step or below it.
func isWithin(path, step string) bool {
	return step == "" || path == step || strings.HasPrefix(path, step+"/")
}

// outOfView shows an event that was never part of the view: a turn/late, or an
// event that an earlier marker supersedes.
func (r *Renderer) outOfView(event client.Event, p params) {
	if r.options.Superseded == Hide || r.options.Superseded == "" {
		return
	}
	method := event.Method
	if method == "turn/late" {
		method = p.Event.Method
	}
	text := fmt.Sprintf("%s came too late from attempt %d", OneLine(method), p.Attempt)
	if p.Step != "" {
		text += fmt.Sprintf(", step %s, try %d", OneLine(p.Step), p.Epoch)
	}
	r.block(event.ThreadID, labelLate, text)
}

// stepEvent shows the start and the end of a step.
func (r *Renderer) stepEvent(event client.Event, p params) {
	t := r.begin(event, "")
	t.steps = slices.DeleteFunc(t.steps, func(path string) bool { return isWithin(path, p.Step) })
	text := OneLine(p.Step)
	if event.Method == "step/started" {
		t.steps = append(t.steps, p.Step)
		if p.Epoch > 1 {
			text += fmt.Sprintf(", try %d", p.Epoch)
		}
		text += because(p.Reason)
	} else {
		text += " " + OneLine(p.Status)
	}
	r.block(event.ThreadID, labelStep, text)
}

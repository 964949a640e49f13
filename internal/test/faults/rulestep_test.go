//go:build linux

package faults

import (
	"fmt"
	"slices"
	"strings"
)

// step applies the rules to a marker, and to the start and the end of a step.
func (r *rules) step(e *event) error {
	p := &e.Params
	t := r.turns[p.TurnID]
	if t == nil {
		return fmt.Errorf("the turn was never there")
	}
	switch e.Method {
	case "stream/rewind":
		return t.rewind(e)
	case "step/started":
		if p.Epoch <= t.tried[p.Step] {
			return fmt.Errorf("epoch %d of a step that had %d", p.Epoch, t.tried[p.Step])
		}
		if err := t.checkLive(e); err != nil {
			return err
		}
		t.steps[p.Step] = true
	case "step/ended":
		if !t.steps[p.Step] {
			return fmt.Errorf("a step ends that is not under way")
		}
		delete(t.steps, p.Step)
		return t.checkLive(e)
	}
	return nil
}

// rewind is a marker: what it supersedes has ended before, its epoch was never
// there, and its bound is the one of the step's other markers.
func (t *turnSeen) rewind(e *event) error {
	p := &e.Params
	if had := max(t.epochs[p.Step], t.tried[p.Step]); p.NewEpoch <= had || len(p.Lineage) > 0 {
		return fmt.Errorf("a marker to epoch %d of a step that had %d, lineage %v", p.NewEpoch, had, p.Lineage)
	}
	if before, ok := t.bounds[p.Step]; ok && before != p.After || p.After >= p.Seq {
		return fmt.Errorf("the bound is %d, it was %d", p.After, before)
	}
	t.bounds[p.Step] = p.After
	for id, lineage := range t.open {
		if slices.ContainsFunc(lineage, func(l try) bool { return l.Step == p.Step }) {
			return fmt.Errorf("the marker comes before the end of item %s", id)
		}
	}
	for path := range t.steps {
		if p.Step == "" || path == p.Step || strings.HasPrefix(path, p.Step+"/") {
			delete(t.steps, path)
		}
	}
	if p.Step == "" {
		t.started, t.ended = false, false
	}
	// Nothing of a lower epoch may come any more: checkLive checks it.
	t.epochs[p.Step] = p.NewEpoch
	return nil
}

// checkLive is the fence: an event of a superseded try never comes. It
// also learns the epochs of new tries.
func (t *turnSeen) checkLive(e *event) error {
	p := &e.Params
	if len(p.Lineage) == 0 {
		return nil
	}
	if own := p.Lineage[len(p.Lineage)-1]; own != (try{p.Step, p.Epoch}) || p.Lineage[0] != (try{"", p.Attempt}) {
		return fmt.Errorf("step %q, epoch %d, attempt %d: not what the lineage %v says", p.Step, p.Epoch, p.Attempt, p.Lineage)
	}
	for _, l := range p.Lineage {
		if l.Epoch < t.epochs[l.Step] {
			return fmt.Errorf("epoch %d of step %q was given up for %d", l.Epoch, l.Step, t.epochs[l.Step])
		}
		t.epochs[l.Step], t.tried[l.Step] = l.Epoch, l.Epoch
	}
	return nil
}

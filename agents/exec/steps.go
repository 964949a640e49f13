package exec

import (
	"errors"
	"fmt"
	"strings"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
)

// maxSteps is how many steps an agent may have started: fewer than the engine
// allows, so that a refusal here names the line.
const maxSteps = 500

// steps are the steps that an agent has started, by path; true = running.
type steps map[string]bool

// has checks the step that an item names.
func (s steps) has(path string) error {
	if _, started := s[path]; path != "" && !started {
		return fmt.Errorf("step %q has not been started", shorten(path, 64))
	}
	return nil
}

// staysIn checks the step that an event names for an existing item.
func (it *local) staysIn(path string) error {
	if path != "" && path != it.step {
		return fmt.Errorf("the item belongs to step %q and stays there", shorten(it.step, 64))
	}
	return nil
}

// step starts, retries or ends a step.
func (o *eventOutput) step(e stepEvent) error {
	if !notify.ValidStep(e.Step) {
		return fmt.Errorf("step %q is no path of 1 to %d words of A-Z a-z 0-9 _ . - with / between them", shorten(e.Step, 64), notify.MaxStepDepth)
	}
	if e.Status != "" {
		switch e.Status {
		case items.StatusCompleted, items.StatusFailed, items.StatusInterrupted:
		default:
			return fmt.Errorf("a step cannot end as %q", shorten(string(e.Status), 64))
		}
		if !o.steps[e.Step] {
			return fmt.Errorf("step %q is not under way", shorten(e.Step, 64))
		}
		for path := range o.steps {
			if below(e.Step, path) {
				o.steps[path] = false
			}
		}
		o.ops = append(o.ops, items.StepEnd{Step: e.Step, Status: e.Status})
		return nil
	}
	if o.steps == nil {
		o.steps = steps{}
	}
	if len(o.steps)+notify.MaxStepDepth > maxSteps {
		return errors.New("too many steps")
	}
	for path := range o.steps {
		if below(e.Step, path) {
			delete(o.steps, path)
		}
	}
	for path := e.Step; path != ""; path = notify.StepAbove(path) {
		if _, started := o.steps[path]; !started {
			o.steps[path] = true
		}
	}
	for _, it := range o.order { // the engine ends them with their try
		if it.status.Open() && below(e.Step, it.step) {
			o.set(it, items.StatusInterrupted)
		}
	}
	o.ops = append(o.ops, items.StepStart{Step: e.Step, Reason: e.Reason})
	return nil
}

// below reports whether a step is path or below it.
func below(path, step string) bool {
	return step == path || strings.HasPrefix(step, path+"/")
}

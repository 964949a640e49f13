package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// steps lists the live tries of a turn, or all.
func (h *harness) steps(turnID string, all bool) (out []string) {
	h.t.Helper()
	synctest.Wait()
	l, err := h.reader.ListSteps(bg, turns.StepQuery{TurnID: turnID, Limit: 1000, IncludeSuperseded: all})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, s := range l.Rows {
		out = append(out, fmt.Sprintf("%s.%d %s", s.Step, s.Epoch, s.Status))
	}
	return out
}

func inStep(step, text string) items.Create {
	return items.Create{ItemID: items.NewID(), Step: step, Content: items.NewAgentMessage(text)}
}

func TestStepsNestAndAreRetried(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.prompt()
		turn, up, one := inStep("", "turn"), inStep("setup", "up"), inStep("setup/clone", "one")
		h.emit(c, turn, items.StepStart{Step: "setup/clone"}, up, one)
		if got := fmt.Sprint(h.steps(c.TurnID, false)); got != "[.1 in_progress setup.1 in_progress setup/clone.1 in_progress]" {
			t.Errorf("steps %s", got)
		}
		two := inStep("setup/clone", "two")
		h.emit(c, items.StepStart{Step: "setup/clone", Reason: "the network"}, two)
		e := h.event(notify.StreamRewind, nil)
		if e.Step != "setup/clone" || e.NewEpoch != 2 || e.Reason != string(turns.CauseStep) || e.Message != "the network" {
			t.Errorf("marker %s", e.raw)
		}
		for id, status := range map[string]items.Status{turn.ItemID: items.StatusInProgress, up.ItemID: items.StatusInProgress, one.ItemID: items.StatusInterrupted} {
			if it := h.item(id); it.Status != status || it.Superseded != (status == items.StatusInterrupted) {
				t.Errorf("item %+v", it)
			}
		}
		// All below a step is superseded with it; its epochs continue.
		three := inStep("setup/clone", "three")
		h.emit(c, items.StepStart{Step: "setup"}, items.StepStart{Step: "setup/clone"}, three, items.Append{ItemID: two.ItemID, Text: "lost"})
		if got := fmt.Sprint(h.steps(c.TurnID, false)); got != "[.1 in_progress setup.2 in_progress setup/clone.3 in_progress]" {
			t.Errorf("steps %s", got)
		}
		h.emit(c, items.StepEnd{Step: "setup", Status: items.StatusFailed}, items.Update{ItemID: three.ItemID, Status: items.StatusCompleted})
		if got := fmt.Sprint(h.steps(c.TurnID, false)); got != "[.1 in_progress setup.2 failed setup/clone.3 failed]" {
			t.Errorf("steps %s", got)
		}
		h.emit(c, items.StepStart{Step: "tests"})
		c.end(turns.Completed)
		h.ended(c.TurnID)
		if got := fmt.Sprint(h.steps(c.TurnID, false)); got != "[.1 completed setup.2 failed setup/clone.3 failed tests.1 completed]" {
			t.Errorf("steps %s", got)
		}
		if n := len(h.of(func(e event) bool { return strings.Contains(string(e.Content), "cannot be") })); n != 1 {
			t.Errorf("%d notices of the text that came too late", n)
		}
	})
}

// A try cannot be superseded in the unit that began it. Output that an agent puts
// in at once is split into as many units as necessary.
func TestStepsStartedAgainAtOnceAreTriesOfTheirOwn(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.prompt()
		var ops []items.Op
		for i := range 5 {
			ops = append(ops, items.StepStart{Step: "a"}, inStep("a", fmt.Sprint(i)), items.StepStart{Step: "a/b"}, items.StepStart{Step: "a/b"}, inStep("a/b", fmt.Sprint(i)))
		}
		h.emit(c, ops...)
		c.crash() // with a cause, right after a step that has begun
		if e := h.ended(c.TurnID); e.Method != notify.TurnFailed {
			t.Errorf("ended: %s", e)
		}
		if got := fmt.Sprint(h.steps(c.TurnID, false)); got != "[.1 failed a.5 failed a/b.10 failed]" {
			t.Errorf("steps %s", got)
		}
		if n := len(h.steps(c.TurnID, true)); n != 16 {
			t.Errorf("%d tries in all", n)
		}
	})
}

func TestNewAttemptTakesEveryStepBack(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.tried(turns.Start{})
		h.emit(c, items.StepStart{Step: "a/b"}, inStep("a/b", "x"), items.StepStart{Step: "a/b"}, items.StepEnd{Step: "a/b"})
		c.crash()
		again := h.next(h.agent)
		h.emit(again, items.StepStart{Step: "a/b"})
		if got := fmt.Sprint(h.steps(c.TurnID, false)); got != "[.2 in_progress a.2 in_progress a/b.3 in_progress]" {
			t.Errorf("steps %s", got)
		}
		again.end(turns.Completed)
		h.ended(c.TurnID)
	})
}

func TestStepsThatCannotBeMakeANotice(t *testing.T) {
	for name, ops := range map[string][]items.Op{
		"no path":               {items.StepStart{Step: "a//b"}},
		"the turn itself":       {items.StepStart{Step: ""}},
		"an end without start":  {items.StepEnd{Step: "a"}},
		"an end of the turn":    {items.StepEnd{Step: ""}},
		"a second end":          {items.StepStart{Step: "a"}, items.StepEnd{Step: "a"}, items.StepEnd{Step: "a"}},
		"an end as pending":     {items.StepStart{Step: "a"}, items.StepEnd{Step: "a", Status: items.StatusPending}},
		"an item in no step":    {inStep("a", "x")},
		"an item in a lost one": {items.StepStart{Step: "a/b"}, items.StepStart{Step: "a"}, inStep("a/b", "x")},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				c := h.prompt()
				h.emit(c, ops...)
				h.event(notify.ItemCreated, func(e event) bool { return kindOf(e) == items.KindNotice })
				c.end(turns.Completed)
				h.ended(c.TurnID)
			})
		})
	}
}

func TestStepsAreBounded(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.prompt()
		var ops []items.Op
		for i := range turns.MaxSteps + 5 {
			ops = append(ops, items.StepStart{Step: fmt.Sprint("s", i)})
		}
		h.emit(c, ops...)
		if n := len(h.steps(c.TurnID, false)); n != turns.MaxSteps {
			t.Errorf("%d live steps", n)
		}
		c.end(turns.Completed)
		h.ended(c.TurnID)
	})
}

func TestTextOfAStepIsWhereTheTextWasMade(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.prompt()
		m := inStep("a", "")
		h.emit(c, items.StepStart{Step: "a"}, m, items.Append{ItemID: m.ItemID, Text: "one "})
		synctest.Wait()
		h.emit(c, items.StepStart{Step: "b"}, items.Append{ItemID: m.ItemID, Text: "two"}, items.StepEnd{Step: "a"},
			items.Append{ItemID: m.ItemID, Text: " three"}, items.Update{ItemID: m.ItemID, Status: items.StatusCompleted}, items.Delete{ItemID: m.ItemID})
		c.end(turns.Completed)
		h.ended(c.TurnID)
		for _, e := range h.of(ofItem(m.ItemID)) { // the checker checks all members of such events
			if e.Step != "a" || e.Epoch != 1 {
				t.Errorf("%s", e)
			}
		}
	})
}

func TestWhatAnAttemptSaysAfterItWasGivenUpIsLate(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.tried(turns.Start{})
		msg := h.message(c, "half")
		// The agent's end, and output of its other goroutines right after it,
		// wait together.
		release := h.hold(func(*ledger.Unit) bool { return true })
		h.emit(c, said("in time"))
		synctest.Wait()
		c.crash()
		synctest.Wait()
		late := said("late")
		h.emit(c, late, items.Append{ItemID: msg, Text: "too late"}, items.StepStart{Step: "a"}, items.SetUsage{})
		for range turns.MaxLate {
			h.emit(c, items.Progress{Message: "still here"})
		}
		release()
		h.marker(c.TurnID, 1)
		e := h.event(notify.TurnLate, nil)
		if e.Attempt != 1 || !strings.Contains(string(e.raw), `"method":"item/created"`) || !strings.Contains(string(e.raw), late.ItemID) {
			t.Errorf("late %s", e.raw)
		}
		synctest.Wait()
		if n := len(h.of(func(e event) bool { return e.Method == notify.TurnLate })); n != turns.MaxLate {
			t.Errorf("%d late events are kept", n)
		}
		if n := h.engine.Load().LateOutput; n != 4 { // three past the bound, and the usage
			t.Errorf("%d are counted", n)
		}
		if it := h.item(late.ItemID); it != nil {
			t.Errorf("item %+v", it)
		}
		if err := c.Emit(bg, said("much later")); err != turns.ErrPromptOver {
			t.Errorf("emit: %v", err)
		}
		again := h.next(h.agent)
		time.Sleep(time.Second)
		again.end(turns.Completed)
		h.ended(c.TurnID)
	})
}

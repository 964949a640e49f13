package acp

import (
	"testing"
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// Items that a dying process leaves open end as the turn does. Those of a
// cancelled prompt end interrupted, however the process ends.
func TestItemsOfAPromptThatFailsEndFailed(t *testing.T) {
	for words, want := range map[string]items.Status{
		"plan\nsay partial\ndie 3 bye":     items.StatusFailed,
		"plan\nsay partial\nkill 9 bye":    items.StatusFailed,
		"plan\nsay partial\nerror refused": items.StatusFailed,
		"plan\nsay partial\nstop refusal":  items.StatusCompleted,
	} {
		sink, out := bad(t, "").thread("t").prompt(t.Context(), words)
		if failed := out.State == turns.Failed; failed != (want == items.StatusFailed) {
			t.Errorf("%q: %+v", words, out)
		}
		for _, it := range sink.Items() {
			if it.Status != want {
				t.Errorf("%q: %s has ended %s, want %s", words, it.Kind, it.Status, want)
			}
		}
		if n := len(sink.Items()); n != 2 {
			t.Errorf("%q: %d items", words, n)
		}
	}
	r := bad(t, "stubborn", func(c *Config) { c.CancelAfter = 200 * time.Millisecond })
	sink, _ := r.thread("t").interruptAfter("deaf\nsay partial\nwait", hasItem)
	if got := sink.Items()[0].Status; got != items.StatusInterrupted {
		t.Errorf("interrupted, and the message has ended %s", got)
	}
}

package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// A worker outlives the server. Its item must not look complete if text beyond its
// bound was left out, neither at once nor after a restart.
func TestTextBeyondTheBoundOfAWorkersItemIsSaidToBeLeftOut(t *testing.T) {
	for name, restarts := range map[string]bool{"at once": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			o := remotely(false)
			o.cfg.MaxItemBytes = 4 << 10
			bubble(t, o, func(h *harness) {
				c := h.work()
				h.write(c.Lease, message("m", "begins"))
				sent := len("begins")
				appendText := func(text string) {
					h.write(c.Lease, turns.ItemOp{Op: turns.OpAppend, ItemID: "m", Text: text})
					sent += len(text)
				}
				for range 4 {
					appendText(strings.Repeat("a", 1500))
				}
				if restarts {
					h.restart()
				}
				appendText("ends")
				h.write(c.Lease, turns.ItemOp{Op: turns.OpUpdate, ItemID: "m", Status: items.StatusCompleted})
				it := h.item("m")
				text := string(it.Content)
				if !it.Truncated || it.TotalBytes <= 4<<10 || !strings.Contains(text, "bytes left out") || !strings.Contains(text, "begins") || !strings.Contains(text, "ends") {
					t.Errorf("truncated %v of %d bytes: %.80s … %s", it.Truncated, it.TotalBytes, text, text[len(text)-80:])
				}
				if strings.Count(text, "left out") != 1 {
					t.Errorf("the text says more than once what was left out: %s", text)
				}
				if whole := int64(sent); !restarts && it.TotalBytes < whole {
					t.Errorf("it had %d bytes of %d", it.TotalBytes, whole)
				}
				h.complete(c.Lease)
			})
		})
	}
}

// item/deleted has no content: the text of its deltas stays in the row, whether the
// server was restarted in between or not. The harness refolds.
func TestTextOfAnItemThatIsWithdrawnStaysInItsRow(t *testing.T) {
	for name, restarts := range map[string]bool{"at once": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			o := remotely(false)
			o.cfg.MaxItemBytes = 4 << 10
			bubble(t, o, func(h *harness) {
				c := h.work()
				h.write(c.Lease, message("short", "begins"), message("long", "begins"), turns.ItemOp{Op: turns.OpAppend, ItemID: "short", Text: ", ends"})
				h.write(c.Lease, turns.ItemOp{Op: turns.OpAppend, ItemID: "long", Text: strings.Repeat("a", 8<<10) + "ends"})
				if restarts {
					h.restart()
				}
				h.write(c.Lease, turns.ItemOp{Op: turns.OpDelete, ItemID: "short"}, turns.ItemOp{Op: turns.OpDelete, ItemID: "long"})
				if it := h.item("short"); it.Status != items.StatusDeleted || !strings.Contains(string(it.Content), `"begins, ends"`) {
					t.Errorf("%s %s", it.Status, it.Content)
				}
				if it := h.item("long"); it.Status != items.StatusDeleted || !it.Truncated || !strings.Contains(string(it.Content), "begins") || !strings.Contains(string(it.Content), "ends") {
					t.Errorf("%s, truncated %v: %.80s", it.Status, it.Truncated, it.Content)
				}
				h.complete(c.Lease)
			})
		})
	}
}

// Each event must fit into a frame, also in lists: otherwise no client could read
// past it.
func TestNothingThatAWorkerSaysIsLargerThanAnItem(t *testing.T) {
	o := remotely(true)
	o.cfg.MaxItemBytes = 16 << 10
	bubble(t, o, func(h *harness) {
		old := h.work()
		if _, err := h.workers.Fail(bg, turns.FailTurn{Lease: *old.Lease, Transient: true}); err != nil {
			t.Fatal(err)
		}
		long := "begins" + strings.Repeat("\x01", 64<<10) + "ends"
		_, err := h.workers.WriteItems(bg, turns.WriteItems{Lease: *old.Lease, Ops: []turns.ItemOp{{Op: turns.OpAppend, ItemID: "m", Text: long}}})
		if h.superseded(err).Seq == 0 {
			t.Errorf("it was not kept: %v", err)
		}
		raw := string(h.late()[0].raw)
		if len(raw) > o.cfg.MaxItemBytes+1024 || !strings.Contains(raw, "begins") || !strings.Contains(raw, "ends") || !strings.Contains(raw, "bytes left out") {
			t.Errorf("a late text has %d bytes: %.80s", len(raw), raw)
		}
		c, err := h.workers.Claim(bg, turns.Claim{Agent: "remote", Wait: turns.MaxClaimWait})
		if err != nil {
			t.Fatal(err)
		}
		usage := items.Usage{Cost: &items.Cost{Amount: 1, Currency: long}}
		for name, lease := range map[string]*turns.Lease{"late": old.Lease, "in time": c.Lease} {
			var bad *turns.InvalidError
			_, err := h.workers.Complete(bg, turns.CompleteTurn{Lease: *lease, Usage: &usage})
			if !errors.As(err, &bad) || bad.Field != "usage.cost.currency" {
				t.Errorf("%s: %v", name, err)
			}
		}
		h.complete(c.Lease)
	})
}

// The answer to a claim has all input of the turn and must fit into a frame. Input
// that is too large is refused, not lost.
func TestInputOfAWorkersTurnFitsIntoAClaim(t *testing.T) {
	o := remotely(true)
	bubble(t, o, func(h *harness) {
		h.thread("a", "remote")
		long := strings.Repeat("x", 1000<<10)
		tooLarge := func(err error) {
			t.Helper()
			var bad *turns.InvalidError
			if !errors.As(err, &bad) || bad.Field != "input" || bad.Reason != "too_large" {
				t.Errorf("not refused: %v", err)
			}
		}
		_, err := h.engine.Start(bg, turns.Start{ThreadID: "a", Input: slices.Concat(text(long), text(long), text(long), text(long))})
		tooLarge(err)
		r := h.startWith(turns.Start{ThreadID: "a", Input: slices.Concat(text(long), text(long))})
		c := h.claim("")
		h.steer(r.TurnID, long, false)
		_, err = h.engine.Steer(bg, turns.Steer{TurnID: r.TurnID, Input: text(long)})
		tooLarge(err)
		_, err = h.engine.Start(bg, turns.Start{ThreadID: "a", OnBusy: turns.BusySteer, Input: text(long)})
		tooLarge(err)
		h.steer(r.TurnID, "short", false)
		if n := len(h.renew(c.Lease).Steers); n != 2 {
			t.Errorf("told of %d steers", n)
		}
		if _, err := h.workers.Fail(bg, turns.FailTurn{Lease: *c.Lease, Transient: true}); err != nil {
			t.Fatal(err)
		}
		c, err = h.workers.Claim(bg, turns.Claim{Agent: "remote", Wait: turns.MaxClaimWait})
		if err != nil || len(c.Input) != 4 {
			t.Errorf("claimed with %d messages, %v", len(c.Input), err)
		}
		h.complete(c.Lease)
	})
}

package turns_test

import (
	"strings"
	"testing"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// A worker outlives the server, and its item must not look whole when text
// beyond its bound was left out: neither at once nor after a restart.
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

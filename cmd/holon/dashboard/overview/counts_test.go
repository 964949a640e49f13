package overview

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// Moving the selection over a thousand threads asks nothing of the server, and a picture
// costs no more rows than it has lines.
func TestMovingTheSelectionCostsNoRequest(t *testing.T) {
	var threads []Thread
	for i := range 1000 {
		status := []string{"idle", "working", "waiting", "failed"}[i%4]
		threads = append(threads, Thread{ID: fmt.Sprintf("thread_%04d", i), LatestSeq: 1, Summary: Summary{Title: fmt.Sprintf("number %d", i), Status: status, Since: ago(time.Duration(i) * time.Minute)}})
	}
	m := loaded(threads...)
	m.Lines(noon, 80, 24)
	at := noon
	moved := map[string]bool{}
	for i := range 400 {
		at = at.Add(50 * time.Millisecond)
		key := []string{"j", "j", "j", "k", "down", "up", "G", "g", "pgdown", "pgup"}[i%10]
		drawn := m.Drawn
		for _, action := range press(m, at, key) {
			if _, ok := action.(screen.Say); !ok {
				t.Fatalf("%s asks for %#v", key, action)
			}
		}
		m.Lines(at, 80, 24)
		if n := m.Drawn - drawn; n < 1 || n > 24 {
			t.Fatalf("after %s a picture of 24 lines drew %d rows", key, n)
		}
		moved[m.Selected()] = true
	}
	if len(moved) < 5 {
		t.Errorf("only %d threads were selected", len(moved))
	}
}

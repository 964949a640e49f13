package conformance

import "sync"

// Bounds of the evidence: the newest 40 lines of at most 400 bytes show what
// led to a failure and fit on a screen.
const (
	trailLines = 40
	trailWidth = 400
)

// trail is the evidence of one check, written by it and its readers.
type trail struct {
	mu   sync.Mutex
	kept []string
}

// add keeps a line: a description and the bytes.
func (t *trail) add(what string, b []byte) {
	line := what
	if len(b) > 0 {
		line += " " + clip(b, trailWidth)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, line)
	if len(t.kept) > 2*trailLines {
		t.kept = append([]string(nil), t.kept[trailLines:]...)
	}
}

// lines returns the newest lines.
func (t *trail) lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.kept[max(0, len(t.kept)-trailLines):]...)
}

package form

import (
	"encoding/json"
	"testing"
)

// What a person chooses is shown as it is: no blank is joined, and nothing is hidden.
func TestPromptShowsWhatIsHidden(t *testing.T) {
	f := New(json.RawMessage(`{"type":"string","title":"Pl\u200bace","description":"a\u001b[8mb","enum":["a  b","a\u202eb\nc"],"default":"a  b"}`))
	const want = "  Pl‹200b›ace: a␛[8mb\n  1) a  b\n  2) a‹202e›b⏎c\n  answer (1-2, Enter for a  b): "
	if got := f.Prompt(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

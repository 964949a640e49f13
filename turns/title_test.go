package turns_test

import (
	"testing"

	"github.com/seed82539d15/holon/turns"
)

// A title that nobody could see is refused, whatever its blanks are made of.
func TestATitleIsSeen(t *testing.T) {
	for _, title := range []string{" ", "\n\t", "\u200b", "\u200b\u202e \u00a0"} {
		if err := (turns.RenameThread{ThreadID: "t", Title: title}).Check(); err == nil {
			t.Errorf("%q is a title", title)
		}
	}
	for _, title := range []string{"", "a", "\u200ba"} {
		if err := (turns.RenameThread{ThreadID: "t", Title: title}).Check(); err != nil {
			t.Errorf("%q: %v", title, err)
		}
	}
}

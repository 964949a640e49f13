package turns_test

import (
	"testing"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

func TestWhatATurnDoesHasNoEscapeSequences(t *testing.T) {
	d := turns.DoingOf("item_1", items.CommandExecution{Title: "\x1b[31mRun\x1b[0m it", Command: "make\x1b]0;owned\a \u009b1mall\n", ToolKind: "ex\u202eecute"})
	if d.Title != "Run it" || d.Target != "make all" || d.Kind != "ex ecute" {
		t.Errorf("%+v", d)
	}
}

package threads_test

import (
	"testing"

	"github.com/seed82539d15/holon/threads"
)

func TestAnIDIsFoundByItsBeginningOrItsEnd(t *testing.T) {
	const id = "thread_01a21cd5-2ff2-7e16-bf93-8f4618952026"
	for word, want := range map[string]bool{
		id: true, "thread_01a2": true, "01a2": true, "2026": true, "18952026": true, "1895": true, "thread_1895": false, "895": false,
		"026": false, "thread_01a": false, "thread": false, "thread_": false, "thread_2026": false, "7e16": false, "12": false,
	} {
		if threads.IDHas(id, word) != want {
			t.Errorf("%s: %v, want %v", word, !want, want)
		}
	}
	for word, want := range map[string]bool{"box": true, "i": true, "my-inbox": true, "xi": false} {
		if threads.IDHas("My-Inbox", word) != want {
			t.Errorf("of a chosen id %s: %v, want %v", word, !want, want)
		}
	}
}

package inbox

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/turns"
)

// What docs/background.md shows of what an agent reads is what is written to it.
func TestTheDocumentShowsWhatAnAgentReads(t *testing.T) {
	page, err := os.ReadFile("../docs/background.md")
	if err != nil {
		t.Fatal(err)
	}
	results := []turns.Result{
		{TurnID: "turn_01", ThreadID: "thread_01", Title: "all tests", State: turns.Completed, Text: "412 tests pass.\n[…]\nThe slowest takes 9 s.", TextTruncated: true},
		{TurnID: "turn_02", ThreadID: "thread_02", Title: "build the docs", State: turns.Failed, Error: &turns.Failure{Kind: "agent_failed", Message: "make: *** [docs] Error 2"}},
	}
	var entries []*Entry
	raws := map[int64]*Received{}
	for i, r := range results {
		payload, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		seq := int64(41 + 2*i)
		raws[seq] = &Received{Source: SourceTurns, Payload: payload}
		entries = append(entries, &Entry{EntryID: EntryID(seq + 1), Kind: KindItem, Source: SourceTurns, Count: 1, LastRaw: seq})
	}
	unended := []turns.Result{{TurnID: "turn_03", ThreadID: "thread_03", Title: "lint", State: turns.Active}}
	told, _ := wakeMessage("inbox-35feca49a79d", entries, raws, unended, MostRoom)
	slices.Reverse(results) // the newest first
	again, _ := childrenMessage("work-8d1c60b2e9f4", earlierOf(results...), 0, MaxToldBytes)
	for _, text := range []string{told.Content[0].Text, again.Content[0].Text} {
		if block := "```\n" + strings.TrimRight(text, "\n") + "\n```"; !strings.Contains(string(page), block) {
			t.Errorf("docs/background.md must have this block:\n%s", block)
		}
	}
}

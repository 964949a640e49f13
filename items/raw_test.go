package items

import (
	"strings"
	"testing"
)

func TestRawIsLeftOutBeforeAnyTextIsCut(t *testing.T) {
	raw := []Raw{Raw(`{"sessionUpdate":"x","text":"` + strings.Repeat("x", 500) + `"}`), Raw(`{}`)}
	text := strings.Repeat("t", 600)
	message := NewAgentMessage(text)
	message.Raw = raw
	for _, c := range []Content{
		message,
		Reasoning{Type: KindReasoning, Text: text, Raw: raw},
		Plan{Type: KindPlan, Entries: []PlanEntry{{Content: text}}, Raw: raw},
		ToolCall{Type: KindToolCall, Output: text, Raw: raw},
		CommandExecution{Type: KindCommandExecution, Output: text, Raw: raw},
		FileChange{Type: KindFileChange, Changes: []Change{{NewText: text}}, Raw: raw},
	} {
		whole, cut, _, err := Fit(c, 4000)
		if err != nil || cut || !strings.Contains(string(whole), `"raw":[{"sessionUpdate"`) {
			t.Errorf("%s that fits: %s, %v, %v", c.Kind(), whole, cut, err)
		}
		got, cut, total, err := Fit(c, 1000)
		if err != nil || !cut || total != int64(len(whole)) || strings.Contains(string(got), "raw") || !strings.Contains(string(got), text) {
			t.Errorf("%s at its bound: %d of %d bytes, %v, %v", c.Kind(), len(got), total, cut, err)
		}
		if got, cut, _, err = Fit(c, 500); err != nil || !cut || len(got) > 500 || !strings.Contains(string(got), "left out") {
			t.Errorf("%s far above its bound: %s, %v, %v", c.Kind(), got, cut, err)
		}
	}
}

package inbox

import (
	"encoding/json"
	"os"
	"testing"
	"time"
)

// The console says it in the same words: its tests read the same file.
func TestWakesSay(t *testing.T) {
	raw, err := os.ReadFile("testdata/wakes.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Wakes       *Wakes `json:"wakes"`
		Says        string `json:"says"`
		NeedsPerson bool   `json:"needs_person"`
	}
	if err := json.Unmarshal(raw, &vectors); err != nil || len(vectors) < 5 {
		t.Fatalf("%d vectors: %v", len(vectors), err)
	}
	for _, v := range vectors {
		if says := v.Wakes.Says(time.UTC); says != v.Says {
			t.Errorf("says %q, want %q", says, v.Says)
		}
		if needs := v.Wakes.NeedsPerson(); needs != v.NeedsPerson {
			t.Errorf("%q needs a person: %v, want %v", v.Says, needs, v.NeedsPerson)
		}
	}
}

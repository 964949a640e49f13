package items

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestTextKeepsEverythingThatFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.String()).Draw(t, "parts")
		text := NewText("", 1<<20)
		want := ""
		for _, p := range parts {
			if text.Len() != int64(len(want)) {
				t.Fatalf("offset %d, want %d", text.Len(), len(want))
			}
			want += p
			if !text.Add(p) {
				t.Fatal("did not fit")
			}
		}
		if text.String() != want || text.Truncated() {
			t.Fatal("text changed")
		}
	})
}

func TestTextIsBoundedInEncodedBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const max = 2000
		text := NewText("", max)
		part := rapid.SampledFrom([]string{"abc", "\x01", "日本語", "\"\\", "\n", "🙂"})
		var all strings.Builder
		full := false
		for all.Len() < 5*max {
			p := strings.Repeat(part.Draw(t, "part"), rapid.IntRange(1, 300).Draw(t, "n"))
			all.WriteString(p)
			fits := text.Add(p)
			if full && fits {
				t.Fatal("fits again after it was full")
			}
			full = !fits
		}
		got := text.String()
		enc, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		// encoding/json escapes < > & and U+2028 too; none of them is used here.
		if len(enc)-2 > max+64 {
			t.Fatalf("encoded %d bytes, the bound is %d", len(enc), max)
		}
		if !utf8.ValidString(got) {
			t.Fatal("a code point was split")
		}
		head, rest, ok := strings.Cut(got, "\n… ")
		if !ok || !strings.HasPrefix(all.String(), head) {
			t.Fatalf("the head is not the beginning")
		}
		if _, tail, ok := strings.Cut(rest, " …\n"); !ok || !strings.HasSuffix(all.String(), tail) || len(tail) < max/40 {
			t.Fatalf("the tail is not the end")
		}
		if whole, err := json.Marshal(all.String()); err != nil || text.Total() != int64(len(whole)-2) {
			t.Fatalf("total %d, want %d, %v", text.Total(), len(whole)-2, err)
		}
		if text.Len() != int64(all.Len()) {
			t.Fatalf("%d bytes seen, want %d", text.Len(), all.Len())
		}
	})
}

func TestFitBoundsEveryKind(t *testing.T) {
	long := strings.Repeat("tool output\n", 1000)
	raw := Raw(`{"x":"` + strings.Repeat("y", 9000) + `"}`)
	for _, c := range []Content{
		NewAgentMessage(long),
		Reasoning{Type: KindReasoning, Text: long, Summary: long},
		Plan{Type: KindPlan, Entries: []PlanEntry{{Content: long, Status: "pending"}}},
		ToolCall{Type: KindToolCall, ToolCallID: "1", Title: long, ToolKind: "other", Output: long, Input: raw},
		CommandExecution{Type: KindCommandExecution, ToolCallID: "1", Command: long, ToolKind: "execute", Output: long},
		FileChange{Type: KindFileChange, Changes: []Change{{Path: "a", Operation: "modify", OldText: long, NewText: long}}},
		PermissionRequest{Type: KindPermissionRequest, Title: long},
		Extension{Type: KindExtension, NativeKind: "x", Payload: Raw("[" + strings.Repeat("1,", 9000) + "1]")},
	} {
		got, truncated, total, err := Fit(c, 4000)
		if err != nil {
			t.Fatalf("%s: %v", c.Kind(), err)
		}
		if len(got) > 4000 || !truncated || total < 4000 {
			t.Errorf("%s: %d bytes, truncated %v, total %d", c.Kind(), len(got), truncated, total)
		}
		if back, err := Decode(got); err != nil || (c.Kind() != KindExtension && back.Kind() != c.Kind()) {
			t.Errorf("%s: comes back as %v, %v", c.Kind(), back, err)
		}
	}
	small := NewAgentMessage("hi")
	want, _ := Encode(small)
	if got, truncated, _, err := Fit(small, 4000); err != nil || truncated || string(got) != string(want) {
		t.Errorf("content that fits was changed: %s", got)
	}
}

func TestFoldAppendsDeltasToTheFieldOfTheKind(t *testing.T) {
	for _, c := range []Content{
		NewAgentMessage("a"), Reasoning{Type: KindReasoning, Text: "a"},
		ToolCall{Type: KindToolCall, Output: "a"}, CommandExecution{Type: KindCommandExecution, Output: "a"},
	} {
		raw, err := Encode(c)
		if err != nil {
			t.Fatal(err)
		}
		folded, err := Fold(raw, []string{"b", "é"})
		if err != nil {
			t.Fatal(err)
		}
		back, err := Decode(folded)
		if err != nil {
			t.Fatal(err)
		}
		if text, _ := TextOf(back); text != "abé" {
			t.Errorf("%s: %q", c.Kind(), text)
		}
	}
	plan, _ := Encode(Plan{Type: KindPlan, Entries: []PlanEntry{}})
	if _, err := Fold(plan, []string{"x"}); err == nil {
		t.Error("a plan took a delta")
	}
}

func FuzzDecode(f *testing.F) {
	for _, k := range Kinds {
		f.Add([]byte(`{"type":"` + string(k) + `"}`))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := Decode(b)
		if err != nil {
			return
		}
		raw, err := Encode(c)
		if err != nil {
			t.Fatalf("decoded, but cannot be encoded: %v", err)
		}
		if _, _, _, err := Fit(c, 300); err != nil {
			t.Fatalf("cannot be shortened: %v", err)
		}
		again, err := Decode(raw)
		if err != nil || again.Kind() != c.Kind() {
			t.Fatalf("does not come back: %v", err)
		}
	})
}

func TestTextThatWasCutIsResumedAsCut(t *testing.T) {
	const bound = 400
	text := NewText("begins", bound)
	for range 50 {
		text.Add("0123456789")
	}
	resumed := ResumeText(text.String(), text.Total(), bound)
	if !resumed.Truncated() || resumed.Total() != text.Total() {
		t.Errorf("truncated %v, %d bytes of %d", resumed.Truncated(), resumed.Total(), text.Total())
	}
	if resumed.Add("ends") {
		t.Error("a truncated text accepts deltas")
	}
	got := resumed.String()
	if !strings.HasPrefix(got, "begins") || !strings.HasSuffix(got, "ends") || strings.Count(got, "left out") != 1 || encodedLen(got) > bound {
		t.Errorf("resumed as %q", got)
	}
	if short := ResumeText("short", 1<<20, bound); short.Truncated() || !short.Add("er") || short.String() != "shorter" {
		t.Errorf("a text that was not cut is resumed as %q", short.String())
	}
}

package timeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed82539d15/holon/rpc/client"
)

// lines are n numbered lines.
func lines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

// command plays a command whose output comes in these pieces.
func command(t *testing.T, r *Renderer, pieces ...string) {
	t.Helper()
	seq, offset := int64(0), 0
	send := func(method string, params map[string]any) {
		t.Helper()
		seq++
		params["seq"], params["thread_id"], params["turn_id"], params["item_id"] = seq, "t", "turn_1", "item_1"
		raw, err := json.Marshal(params)
		if err != nil {
			t.Fatal(err)
		}
		event, err := client.ParseEvent([]byte(`{"jsonrpc":"2.0","method":"` + method + `","params":` + string(raw) + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Event(event); err != nil {
			t.Fatal(err)
		}
	}
	content := map[string]any{"type": "command_execution", "command": "go test ./..."}
	send("item/created", map[string]any{"status": "in_progress", "content": content})
	for _, piece := range pieces {
		send("item/delta", map[string]any{"offset": offset, "delta": map[string]any{"type": "output", "text": piece}})
		offset += len(piece)
	}
	content["output"] = strings.Join(pieces, "")
	send("item/updated", map[string]any{"status": "completed", "content": content})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestLongOutputsAreFolded(t *testing.T) {
	const folds = "output: … folded here; all of it: holon attach t --full\n"
	for _, tc := range []struct {
		name, output string
		fold, shown  int
		end          string
	}{
		{"as many lines as are shown", lines(20), 20, 20, ""},
		{"one more", lines(21), 20, 20, folds + "output: … 1 line is folded\n"},
		{"many more", lines(300), 20, 20, folds + "output: … 280 lines are folded\n"},
		{"the last one is not ended", lines(20) + "more", 20, 20, folds + "output: … 1 line is folded\n"},
		{"all of them", lines(300), 0, 300, ""},
		{"empty lines", strings.Repeat("\n", 19) + "line\n\n\nend", 20, 20, folds + "output: … 3 lines are folded\n"},
		{"one line without an end", strings.Repeat("x", 20*wrapColumns) + "y", 20, 1, folds + "output: … 1 line is folded\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, terminal := range []bool{false, true} {
				var out bytes.Buffer
				r := New(&out, Options{Terminal: terminal, ShortenAfter: tc.fold, ShowAll: "holon attach t --full", Now: clock, Width: func() int { return 10_000 }})
				command(t, r, tc.output)
				if terminal {
					continue
				}
				text := strings.TrimPrefix(out.String(), "command: go test ./...\n")
				if got := strings.Count(text, "\n") - strings.Count(tc.end, "\n"); got != tc.shown || !strings.HasSuffix(text, tc.end) || tc.end == "" && strings.Contains(text, "folded") {
					t.Errorf("%d lines are shown, want %d and %q; the end is %q", got, tc.shown, tc.end, text[max(0, len(text)-200):])
				}
			}
		})
	}
}

// What is shown and counted does not depend on how the output is cut into pieces.
func TestFoldingDoesNotDependOnThePieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		output := rapid.StringOfN(rapid.SampledFrom([]rune("a\n\n語 ")), 0, 60, -1).Draw(t, "output")
		most := rapid.IntRange(1, 6).Draw(t, "most")
		var whole, cut shortened
		want := whole.pass(output, most)
		got := ""
		for rest := output; rest != ""; {
			n := rapid.IntRange(1, len([]rune(rest))).Draw(t, "piece")
			piece := string([]rune(rest)[:n])
			got, rest = got+cut.pass(piece, most), rest[len(piece):]
		}
		if got != want || cut.hidden != whole.hidden {
			t.Fatalf("%q of %d lines: %q and %d hidden, in pieces %q and %d", output, most, want, whole.hidden, got, cut.hidden)
		}
		lines := strings.Split(strings.TrimSuffix(output, "\n"), "\n")
		if hidden := max(0, len(lines)-most); whole.hidden != hidden {
			t.Fatalf("%q: %d lines are hidden, want %d", output, whole.hidden, hidden)
		}
	})
}

func TestAFoldedOutputHasNoEmptyRows(t *testing.T) {
	s := &screen{width: 60, height: 24}
	r := New(s, Options{Terminal: true, ShortenAfter: 2, ShowAll: "holon attach t --full", Now: clock, Width: func() int { return 60 }})
	command(t, r, "one\ntw", "o\nthree\nfo", "ur")
	const want = "$ go test ./...\n│ one\n  two\n  … folded here; all of it: holon attach t --full\n  … 2 lines are folded\n"
	if got := s.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

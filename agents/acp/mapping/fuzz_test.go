package mapping

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/internal/test/agenttest"
	"github.com/seed82539d15/holon/items"
)

// FuzzSession gives each line of the input to a session, through each of its
// methods in turn. Nothing may panic, every op must be allowed and every
// content must encode; TestAnySequenceOfUpdatesIsAllowedAndLosesNothing checks
// for losses.
func FuzzSession(f *testing.F) {
	for _, rows := range [][]row{messageRows, callRows, planRows, threadRows, strangeRows, outsideRows} {
		for _, r := range rows {
			var b []byte
			for _, step := range r.steps {
				b = append(append(b, step...), '\n')
			}
			f.Add(b, byte(len(b)))
		}
	}
	recordings, _ := filepath.Glob("testdata/*.ndjson")
	for _, file := range recordings[:min(8, len(recordings))] {
		if b, err := os.ReadFile(file); err == nil && len(b) < 64<<10 {
			f.Add(b, byte(0))
		}
	}
	f.Fuzz(func(t *testing.T, input []byte, way byte) {
		s := New(Options{KeepRaw: way&1 != 0, Cwd: "/p"})
		sink := agenttest.NewSink(t)
		emit := func(ops []items.Op) {
			if err := sink.Emit(t.Context(), ops); err != nil {
				t.Fatal(err)
			}
		}
		ended := func(ops []items.Op) {
			for _, op := range ops {
				if c, ok := op.(items.Create); ok && openStatus(c.Status) {
					t.Errorf("an open item outside of a turn: %#v", c)
				}
			}
			if err := agenttest.NewSink(t).Emit(t.Context(), ops); err != nil {
				t.Fatal(err)
			}
		}
		n := int(way)
		for line := range bytes.Lines(input) {
			raw := jsontext.Value(bytes.TrimSuffix(line, []byte("\n")))
			switch n++; n % 8 {
			case 0:
				ops, q, err := s.Permission(raw)
				emit(ops)
				if err == nil && len(q.Options) == 0 {
					t.Error("a question without options")
				}
			case 1:
				ops, _, _ := s.Elicitation(raw)
				emit(ops)
			case 2:
				emit(s.Opened(raw))
				emit(s.Replayed(raw))
			case 3:
				emit(s.PromptEnded(raw, way&2 != 0))
				ended(s.Outside(raw))
				ended(s.Flush())
				sink = agenttest.NewSink(t)
				emit(s.Begin(0))
			default:
				emit(s.Update(raw))
			}
		}
		emit(s.PromptEnded(nil, false))
		ended(s.Gone())
	})
}

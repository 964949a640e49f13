package exec

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/seed82539d15/holon/items"
)

func TestTextNeverDependsOnWhereThePiecesBegin(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		// Bytes of whole and broken code points are more likely than other
		// bytes.
		part := rapid.OneOf(
			rapid.SliceOfN(rapid.Byte(), 0, 4),
			rapid.Map(rapid.Rune(), func(c rune) []byte { return []byte(string(c)) }),
			rapid.SampledFrom([][]byte{{0xe2, 0x82}, {0xf0, 0x9f, 0x98}, {0xc3}, {0x80}, {0xed, 0xa0, 0x80}}),
		)
		all := bytes.Join(rapid.SliceOf(part).Draw(r, "bytes"), nil)
		var rs runes
		got := ""
		for rest := all; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(r, "piece")
			text := rs.feed(rest[:n])
			if !utf8.ValidString(text) {
				r.Fatalf("piece %q", text)
			}
			got, rest = got+text, rest[n:]
		}
		got += rs.flush()
		if want := string([]rune(string(all))); got != want {
			r.Fatalf("got %q, want %q", got, want)
		}
	})
}

// FuzzEvents checks that for any output of an agent every op is allowed, every
// text is valid, the notices are bounded, and the same bytes in other pieces
// make the same items.
func FuzzEvents(f *testing.F) {
	for line := range badLines {
		f.Add([]byte(line), uint8(7))
	}
	f.Add([]byte(`{"event":"item","id":"r","content":{"type":"reasoning","text":"hm"}}`+"\n"+`{"event":"delta","id":"r","text":" yes"}`+"\n"+
		`{"event":"item","id":"r","status":"completed","content":{"type":"reasoning","text":"x"}}`+"\n"+`{"event":"delete","id":"r"}`), uint8(1))
	f.Add([]byte(`{"event":"usage","input_tokens":5}`+"\n"+`{"event":"progress","message":"p"}`+"\n"+`{"event":"result","state":"failed"}`), uint8(200))
	f.Fuzz(func(t *testing.T, text []byte, piece uint8) {
		one, first := printedInPieces(t, text, len(text)+1)
		two, second := printedInPieces(t, text, int(piece)+1)
		if summary(one) != summary(two) || first.State != second.State {
			t.Errorf("whole:\n%s\nin pieces of %d:\n%s", summary(one), int(piece)+1, summary(two))
		}
		if n := len(notices(t, one)); n > 3*maxNotices+bytes.Count(text, []byte("notice")) {
			t.Errorf("%d notices", n)
		}
		for _, it := range one.Items() {
			if it.Kind == items.KindUserMessage || it.Kind.IsQuestion() {
				t.Errorf("made a %s", it.Kind)
			}
		}
	})
}

package sanitize

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func FuzzTextIsHarmlessHoweverCut(f *testing.F) {
	f.Add("a\x1b[31mb\r\n\xe2\x82\xac", 3)
	f.Add("\x1b]0;x\x1b\\\u202e", 1)
	f.Add("\xf0\x9f\x91\xa9\r", 2)
	f.Add("\u009b31m\u009d0;x\u009c\u0085 "+family, 5)
	f.Fuzz(func(t *testing.T, s string, cut int) {
		whole := Text(s)
		harmless(t, s, whole, "\n\t")
		if again := Text(whole); again != whole {
			t.Fatalf("%q became %q, which became %q", s, whole, again)
		}
		var z Stream
		var pieces []byte
		step := max(1, cut%7)
		for rest := s; rest != ""; {
			n := min(step, len(rest))
			pieces = z.Append(pieces, rest[:n])
			rest = rest[n:]
		}
		if pieces = z.Finish(pieces); string(pieces) != whole {
			t.Fatalf("in pieces of %d: %q, whole: %q", step, pieces, whole)
		}
		if n := Sequence(s); Text(s[:n]) != "" {
			t.Fatalf("%q is no sequence", s[:n])
		}
	})
}

func FuzzPlainAndLineAreHarmless(f *testing.F) {
	f.Add("a\x1b[31mb\r\n\xe2\x82\xac", 3)
	f.Add("\x1b]0;x\x1b\\\u202e"+family, 1)
	f.Add(" \u009b31m\u009d0;x\u009c\u0085\u2028b", 5)
	f.Fuzz(func(t *testing.T, s string, max int) {
		plain := Plain(s)
		harmless(t, s, plain, "\n\t")
		if again := Plain(plain); again != plain {
			t.Fatalf("%q became %q, which became %q", s, plain, again)
		}
		max = 1 + (max%300+300)%300
		line := Line(s, max)
		harmless(t, s, line, "")
		if again := Line(line, max); again != line {
			t.Fatalf("%q became %q, which became %q", s, line, again)
		}
		if n := utf8.RuneCountInString(line); n > max {
			t.Fatalf("%q has %d characters, more than %d", line, n, max)
		}
		if strings.HasPrefix(line, " ") || strings.HasSuffix(line, " ") || strings.Contains(line, "  ") {
			t.Fatalf("%q has needless blanks", line)
		}
		// A longer line begins with the shorter one, so a beginning is all that is needed.
		if cut, isCut := strings.CutSuffix(line, "…"); isCut && !strings.HasPrefix(Line(s, max+50), cut) {
			t.Fatalf("%q is no beginning of %q", cut, Line(s, max+50))
		}
	})
}

// harmless checks what s became: characters that act are among those that may stay.
// It knows nothing of how the package finds them.
func harmless(t *testing.T, s, got, stays string) {
	t.Helper()
	if !utf8.ValidString(got) {
		t.Fatalf("%q is not UTF-8", got)
	}
	for _, r := range got {
		acts := unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0x200b
		if acts && !strings.ContainsRune(stays, r) {
			t.Fatalf("%q lets %U through: %q", s, r, got)
		}
	}
}

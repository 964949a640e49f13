package process

import (
	"strings"
	"testing"
)

func TestTailKeepsTheNewest(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""}, {" \n", ""}, {"abc\n", "abc"}, {"0123456789", "0123456789"}, {"x0123456789", "…0123456789"},
		{strings.Repeat("y", 100) + "0123456789", "…0123456789"}, {"ab" + strings.Repeat("é", 6)[1:], "…ééééé"}, {"z" + strings.Repeat("é", 5) + "q", "…ééééq"},
	} {
		for piece := 1; piece < 30; piece++ {
			tl := NewTail(10)
			for rest := c.in; rest != ""; {
				n := min(piece, len(rest))
				tl.Write([]byte(rest[:n]))
				rest = rest[n:]
			}
			if got := tl.String(); got != c.want {
				t.Errorf("%q in pieces of %d: %q, want %q", c.in, piece, got, c.want)
			}
		}
	}
}

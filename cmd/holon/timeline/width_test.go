package timeline

import "testing"

func TestWidths(t *testing.T) {
	cases := map[string]int{"": 0, "abc": 3, "日本": 4, "é": 1, "e\u0301": 1, "👍": 2, "ｱ": 1, "Ａ": 2, "한": 2, "…": 1, "\u1112\u1161\u11ab": 2, "🇩🇪": 2, "\u2630": 2, "👩\u200d🔬": 4, "❤️": 1}
	for s, want := range cases {
		if got := Width(s); got != want {
			t.Errorf("%q takes %d columns, want %d", s, got, want)
		}
	}
	fits := []struct {
		in   string
		n    int
		want string
	}{{"hello", 5, "hello"}, {"hello", 4, "hel…"}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"}, {"ab", 1, "…"}, {"ab", 0, ""}}
	for _, tc := range fits {
		if got := Fit(tc.in, tc.n); got != tc.want || Width(got) > tc.n {
			t.Errorf("%q in %d columns: %q, want %q", tc.in, tc.n, got, tc.want)
		}
	}
	if got := OneLine(" a\n\tb \x1b[1mc "); got != "a b c" {
		t.Errorf("one line: %q", got)
	}
}

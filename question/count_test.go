package question

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCountLinesCountsWhatCompareFinds(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := func(name string) string {
			end := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(r, "end")
			lines := rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "b", "c", "c "}), 0, 12).Draw(r, name)
			return strings.Join(lines, end) + rapid.SampledFrom([]string{"", end}).Draw(r, "last")
		}
		before, after := text("before"), text("after")
		d := Compare(before, after)
		if added, removed := CountLines([]Texts{{before, after}}); added != d.Added || removed != d.Removed {
			r.Fatalf("%q → %q: +%d −%d, Compare finds +%d −%d", before, after, added, removed, d.Added, d.Removed)
		}
	})
	before, after := strings.Repeat("a\n", 2000), strings.Repeat("b\na\n", 1000) // too many to compare
	d := Compare(before, after)
	if added, removed := CountLines([]Texts{{before, after}}); added != d.Added || removed != d.Removed || removed < 1999 {
		t.Errorf("+%d −%d, Compare finds +%d −%d", added, removed, d.Added, d.Removed)
	}
}

func TestCountLinesIsBounded(t *testing.T) {
	// Of each, 500 lines stay and 500 are new: as long as they are compared.
	one := Texts{strings.Repeat("a\n", 1000), strings.Repeat("b\na\n", 500)}
	added, removed := CountLines(slices.Repeat([]Texts{one}, 10))
	if compare := Compare(one.Before, one.After); added <= 10*compare.Added || removed <= 10*compare.Removed || added > 10_000 || removed > 10_000 {
		t.Errorf("+%d −%d of ten changes; of one +%d −%d", added, removed, compare.Added, compare.Removed)
	}
}

func BenchmarkCountLines(b *testing.B) {
	one := func(i int) string { return strings.Repeat("x", 40) + string(rune('a'+i%7)) + "\n" }
	var before, after strings.Builder
	for i := range 1000 {
		before.WriteString(one(i))
		after.WriteString(one(i * i))
	}
	for name, count := range map[string]func(){
		"CountLines": func() { CountLines([]Texts{{before.String(), after.String()}}) },
		"Compare":    func() { Compare(before.String(), after.String()) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				count()
			}
		})
	}
}

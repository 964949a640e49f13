// Package nearest finds the word that may be meant by one that is not known, for errors
// that refuse a word. It holds no state.
package nearest

import (
	"fmt"
	"slices"
	"strings"
)

// Bounds of what is compared: a longer word is none of ours.
const (
	maxLength   = 64
	leastPrefix = 3 // letters after which a beginning is enough
)

// Of returns the candidate that a word may have meant: the only one that begins with it,
// or else one of those with the fewest typing errors (a letter too many, too few, changed,
// or two in the wrong order), which are at most a third of its letters, or one of two letters: the first that has
// the letters of the word, or else the first. "" = none.
// The case of letters does not matter.
func Of(word string, candidates []string) string {
	word = strings.ReplaceAll(strings.ToLower(word), "sequence", "seq") // as all names of ours have it
	if word == "" || len(word) > maxLength {
		return ""
	}
	begins := slices.DeleteFunc(slices.Clone(candidates), func(c string) bool { return !strings.HasPrefix(strings.ToLower(c), word) })
	if len(begins) == 1 && len(word) >= leastPrefix {
		return begins[0]
	}
	best, fewest := "", len(word)/3+1
	if len(word) == 2 { // one letter is missing
		fewest = 2
	}
	for _, candidate := range candidates {
		if len(candidate) > maxLength {
			continue
		}
		n := errorsIn(word, strings.ToLower(candidate))
		if n < fewest || n == fewest && best != "" && !sameLetters(best, word) && sameLetters(candidate, word) {
			best, fewest = candidate, n
		}
	}
	return best
}

// Hint returns the text of an error behind a word that it refuses: "; did you mean list?". It is
// "" if no candidate is near.
func Hint(word string, candidates []string) string {
	if is := Of(word, candidates); is != "" {
		return "; did you mean " + is + "?"
	}
	return ""
}

// NoneOf reports that a word is not one of the possible ones, and which of several may be
// meant.
func NoneOf[T ~string](word T, known []T) string {
	names := make([]string, len(known))
	for i, k := range known {
		names[i] = string(k)
	}
	if len(names) == 1 {
		return fmt.Sprintf("%.64q is not %s", string(word), names[0])
	}
	return fmt.Sprintf("%.64q is not one of %s", string(word), strings.Join(names, ", ")) + Hint(string(word), names)
}

// sameLetters reports whether two words differ in the order of their letters only.
func sameLetters(a, b string) bool {
	letters := func(word string) []byte { l := []byte(strings.ToLower(word)); slices.Sort(l); return l }
	return slices.Equal(letters(a), letters(b))
}

// errorsIn returns how many typing errors lead from one text to the other, in bytes: the
// distance of Damerau and Levenshtein, in which no part is edited twice.
func errorsIn(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			change := last[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(change, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

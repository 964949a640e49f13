package config

import "strings"

// nearest returns the candidate that differs from word in at most a third of
// its letters (insertions, deletions, changes), "" if there is none.
func nearest(word string, candidates []string) string {
	best, bestDistance := "", len(word)/3+1
	for _, candidate := range candidates {
		if d := distance(strings.ToLower(word), candidate); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// distance is the Levenshtein distance of two texts, in bytes.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

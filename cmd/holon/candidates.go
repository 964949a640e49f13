package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
)

// shownCandidates is how many candidates are listed: more than fit a window hide the
// question.
const shownCandidates = 10

// ambiguous returns the error for a name that can stand for several things. It lists the
// newest.
func (f finder) ambiguous(name string, found []named) error {
	of := found[0].kind.nouns
	if slices.ContainsFunc(found, func(n named) bool { return n.kind != found[0].kind }) {
		of = "threads and turns"
	}
	return candidatesError(fmt.Sprintf("%s can be %d %s", inQuotes(name), len(found), of), found, f.others(found))
}

// others returns the newest rows of these kinds, from which the ending of an id must differ. If
// they cannot be read, endings are random enough.
func (f finder) others(found []named) []named {
	all := slices.Clone(found)
	for _, kind := range []*nameKind{&threadNames, &turnNames} {
		if slices.ContainsFunc(found, func(n named) bool { return n.kind == kind }) {
			if rows, _, err := f.rows(kind, "", cmp.Or(f.most, maxNamed)); err == nil {
				all = append(all, rows...)
			}
		}
	}
	return all
}

// candidatesError returns the error of wrong usage, with a line for each candidate.
func candidatesError(what string, found, all []named) error {
	newest := slices.Clone(found)
	slices.Reverse(newest)
	left := max(0, len(newest)-shownCandidates)
	newest = newest[:len(newest)-left]
	t := newTable(strings.ToUpper(newest[0].kind.noun), "TITLE", "STATE")
	example := ""
	for _, n := range newest {
		ending := ending(n, all)
		t.add(ending, candidateTitle(n), n.state)
		example = cmp.Or(example, ending)
	}
	text := strings.TrimRight(t.layout(0, 1), "\n")
	if left > 0 {
		text += "\n… and older ones"
	}
	return &exitError{code: exitUsage, err: &hintedError{fmt.Errorf("%s:\n%s", what, indented(text)), "Name one by its ending, such as " + example + ", or by its whole id."}}
}

// candidateTitle returns the text that tells candidates apart besides their ids.
func candidateTitle(n named) string {
	if title := cmp.Or(n.title, n.began); title != "" || n.thread == "" {
		return title
	}
	return "(in thread " + short(n.thread) + ")"
}

func indented(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }

// ending returns the shown ending of an id if it is that of no other row, and no title; else
// the whole id.
func ending(n named, all []named) string {
	end := short(n.id)
	for _, other := range all {
		if other.id != n.id && strings.HasSuffix(other.id, end) || timeline.OneLine(other.title) == end {
			return n.id
		}
	}
	return end
}

// short returns the ending of an id for tables. Beginnings are times, which the ids of an
// hour share. Ids that clients have chosen are shown whole.
func short(id string) string {
	for _, kind := range []*nameKind{&threadNames, &turnNames, &questionNames} {
		if rest, made := strings.CutPrefix(id, kind.prefix); made && len(rest) > shownEnd {
			return rest[len(rest)-shownEnd:]
		}
	}
	return id
}

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
)

// titled are the rows with this title, as it is or as tables show it. A turn with the title
// of its thread is not another candidate: a child turn often has the title of the thread
// that was made for it.
func titled(all []named, name string) []named {
	shown := timeline.OneLine(name)
	found := slices.DeleteFunc(slices.Clone(all), func(n named) bool {
		return n.kind == &questionNames || n.title != name && (shown == "" || timeline.OneLine(n.title) != shown)
	})
	return slices.DeleteFunc(slices.Clone(found), func(n named) bool {
		return n.thread != "" && slices.ContainsFunc(found, func(t named) bool { return t.kind == &threadNames && t.id == n.thread })
	})
}

// partly are the rows whose id begins or ends with the name, its prefix aside.
func partly(all []named, name string) []named {
	return slices.DeleteFunc(slices.Clone(all), func(n named) bool {
		rest, made := strings.CutPrefix(n.id, n.kind.prefix)
		begin, whole := strings.CutPrefix(name, n.kind.prefix)
		return !made || len(begin) < leastTyped || !strings.HasPrefix(rest, begin) && (whole || !strings.HasSuffix(rest, name))
	})
}

// full is the whole id with the title.
func (n named) full() string {
	text := timeline.OneLine(n.id)
	if timeline.OneLine(n.title) != "" {
		text += " " + inQuotes(n.title)
	}
	return text
}

// shownCandidates is how many candidates are listed: more than fit a window hide the
// question.
const shownCandidates = 10

// ambiguous is the error for a name that can stand for several things. It lists the
// newest.
func ambiguous(name string, found, all []named) error {
	of := found[0].kind.nouns
	if slices.ContainsFunc(found, func(n named) bool { return n.kind != found[0].kind }) {
		of = "threads and turns"
	}
	return candidatesError(fmt.Sprintf("%s can be %d %s", inQuotes(name), len(found), of), found, all)
}

// candidatesError is wrong usage, with a line for each candidate.
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

// candidateTitle is what tells candidates apart besides their ids.
func candidateTitle(n named) string {
	if title := cmp.Or(n.title, n.began); title != "" || n.thread == "" {
		return title
	}
	return "(in thread " + short(n.thread) + ")"
}

// withSummaries adds to the threads among the candidates that are shown how they began,
// and what they are doing. If it cannot be read, ids and titles tell them apart.
func (f finder) withSummaries(found []named) {
	var ids []string
	for _, n := range found[max(0, len(found)-shownCandidates):] {
		if n.kind == &threadNames {
			ids = append(ids, n.id)
		}
	}
	if len(ids) == 0 {
		return
	}
	list, err := threadListing.fetch(f.ctx, f.client, withSummary(map[string]any{"thread_ids": ids}), len(ids))
	if err != nil {
		return
	}
	for _, raw := range list.rows {
		if t, err := readSummary(raw); err == nil {
			if i := slices.IndexFunc(found, func(n named) bool { return n.id == t.ThreadID }); i >= 0 {
				found[i].began, found[i].state = t.Summary.Title, summaryStatus(t.State, t.Summary)
			}
		}
	}
}

func indented(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }

// ending is the shown ending of an id if it is that of no other row, and no title; else
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

// short is the ending of an id for tables. Beginnings are times, which the ids of an
// hour share. Ids that clients have chosen are shown whole.
func short(id string) string {
	for _, kind := range []*nameKind{&threadNames, &turnNames, &questionNames} {
		if rest, made := strings.CutPrefix(id, kind.prefix); made && len(rest) > shownEnd {
			return rest[len(rest)-shownEnd:]
		}
	}
	return id
}

package inbox

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/internal/sanitize"
)

// summaryOfItem returns the summary of an entry of one item.
func summaryOfItem(r *Received) string {
	if r.Summary != "" {
		return r.Summary
	}
	id := r.NativeID
	if len(id) > 40 { // such as the hash of a body: people need not read all of it
		id = sanitize.Line(id, 13)
	}
	return sanitize.Line(r.Source+" "+id, MaxSummary)
}

// summaryOfDigest describes what a snapshot shows, such as "3 ci updates on pr:135 by ann: 2
// success, 1 failure; latest: CI lint failed"; a single subject has the summary of its newest
// item. It is made of the items, never of an older summary: what an older item of a subject says
// is not repeated, for it may have been deleted since. count is how many items it shows, last the
// newest of them.
func summaryOfDigest(d *Digest, count int, last int64) string {
	latest := ""
	if last == d.LastRaw {
		latest = d.LastSummary
	}
	if d.Subjects > 0 {
		count = d.Subjects
	}
	if count == 1 && latest != "" {
		return latest
	}
	s := fmt.Sprintf("%d %s on %s", count, plural(family(d.EventFamily), count), d.ResourceRef)
	if d.ResourceRef == "" {
		s = fmt.Sprintf("%d %s of %s: %s", count, plural("events", count), d.Source, d.EventFamily)
	}
	switch n := len(d.Senders); {
	case n == 0:
	case n == 1:
		s += " by " + d.Senders[0]
	case n == maxSenders:
		s += fmt.Sprintf(" by %d or more people", n)
	default:
		s += fmt.Sprintf(" by %d people", n)
	}
	if len(d.Outcomes) > 0 {
		s += ": " + d.Outcomes.String()
	}
	if latest != "" {
		s += "; latest: " + latest
	}
	return sanitize.Line(s, MaxSummary)
}

// family returns an event family in words.
func family(name string) string { return strings.ReplaceAll(name, "_", " ") }

// plural returns the form of a word for n things; words are given in the plural.
func plural(words string, n int) string {
	if n != 1 {
		return words
	}
	switch {
	case strings.HasSuffix(words, "ies"):
		return strings.TrimSuffix(words, "ies") + "y"
	case hasSuffix(words, "sses", "shes", "ches", "xes", "statuses"):
		return strings.TrimSuffix(words, "es")
	case hasSuffix(words, "ss", "us", "is"): // no plural
		return words
	}
	return strings.TrimSuffix(words, "s")
}

func hasSuffix(s string, suffixes ...string) bool {
	return slices.ContainsFunc(suffixes, func(x string) bool { return strings.HasSuffix(s, x) })
}

// maxSender is the length of a sender's name, in characters.
const maxSender = 100

// senderOf finds who caused an item in its payload: a member sender, which is a
// name or an object with a login or a name. "" = it does not say.
func senderOf(payload jsontext.Value) string {
	if payload.Kind() != '{' {
		return ""
	}
	var named struct {
		Sender jsontext.Value `json:"sender"`
	}
	if json.Unmarshal(payload, &named, jsontext.AllowDuplicateNames(true)) != nil {
		return ""
	}
	var name string
	switch named.Sender.Kind() {
	case '"':
		_ = json.Unmarshal(named.Sender, &name)
	case '{':
		var who struct {
			Login jsontext.Value `json:"login"`
			Name  jsontext.Value `json:"name"`
		}
		if json.Unmarshal(named.Sender, &who, jsontext.AllowDuplicateNames(true)) != nil {
			return ""
		}
		for _, v := range []jsontext.Value{who.Login, who.Name} {
			if name == "" && v.Kind() == '"' {
				_ = json.Unmarshal(v, &name)
			}
		}
	}
	return sanitize.Line(name, maxSender)
}

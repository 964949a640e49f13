package question

import (
	"encoding/json"
	"strings"

	"github.com/seed82539d15/holon/internal/sanitize"
)

// Result is what is known of a turn that has ended and waits for a review.
type Result struct {
	Turn  json.RawMessage // as turn/read returns it
	Early bool            // it completed without coming to its own end
}

// Verdict is an answer to a review.
type Verdict struct {
	Verdict string // of turn/review: approved, rejected or blocked
	Name    string
	Kind    string // as that of an option: what approves Allows, the others reject
	Does    string // what follows from it, "" for nothing
	Note    bool   // it needs a note: what is wrong
}

// Continuations is how many turns continue a rejected one, one after the other. After them a
// rejection is final.
const Continuations = 3

// Review puts the result of a turn into words, as Of does a question, and lists the verdicts
// that it can get.
func Review(r Result) (Words, []Verdict) {
	turn := objectOf(r.Turn)
	w := &wording{}
	w.out.Phrase = "review the result"
	if turn.text("state") == "failed" {
		w.out.Phrase = "review the failure"
	}
	if title := strings.Join(strings.Fields(sanitize.Literal(turn.text("title"))), " "); title != "" {
		w.out.Phrase += " of “" + cut(title, mostPhrase) + "”"
	}
	if turn.text("state") == "failed" {
		failure := turn.object("error")
		w.add(Note, first(failure.text("message"), failure.text("kind"), "It failed."))
	}
	if r.Early {
		w.one(Note, "It stopped early: "+turn.text("stop_reason"))
	}
	if text := turn.text("message"); strings.TrimSpace(text) != "" {
		w.add(Message, strings.Trim(text, "\n"))
	} else {
		w.one(Note, "The agent said nothing.")
	}
	if string(turn["message_truncated"]) == "true" {
		w.one(Note, "The message was too long: its middle is left out here.")
	}
	rejected := Verdict{"rejected", "Reject with a note", "reject_once", "the agent continues, and gets your note", true}
	var continued int
	if json.Unmarshal(turn["continuations"], &continued) == nil && continued >= Continuations {
		rejected.Does = "nothing follows: it was continued " + plural(Continuations, "time")
	}
	return w.out, []Verdict{
		{"approved", "Approve", "allow_once", "", false},
		rejected,
		{"blocked", "Block", "reject", "it is not done, and nothing follows", false},
	}
}

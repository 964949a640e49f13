package conversation

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
	wording "github.com/seed82539d15/holon/question"
	"github.com/seed82539d15/holon/rpc/client"
	rules "github.com/seed82539d15/holon/turns"
)

// review is a question whose answer is a verdict about the end of a turn.
type review struct {
	turn     json.RawMessage // as it was read
	attempt  int
	early    bool
	words    wording.Words
	verdicts []wording.Verdict
	noting   int // the verdict whose note is typed, -1: none
}

// newReview returns the question about the end of a turn. raw is the turn as turn/read returns it.
func newReview(raw json.RawMessage) *question {
	var t turnRow
	decode(raw, &t)
	r := &review{turn: raw, attempt: t.Attempt, early: t.stoppedEarly(), noting: -1}
	r.words, r.verdicts = wording.Review(wording.Result{Turn: raw, Early: r.early})
	q := &question{id: t.TurnID, turn: t.TurnID, seq: t.UpdatedSeq, raw: raw, review: r}
	for _, v := range r.verdicts {
		q.content.Options = append(q.content.Options, timeline.Option{ID: v.Verdict, Name: v.Name, Kind: v.Kind})
	}
	q.choice = max(0, q.optionOf("allow"))
	return q
}

// give returns the answer to a verdict that was chosen; ready is false if its note is typed first.
func (r *review) give(id string, i int) (answer screen.Action, ready bool) {
	if r.verdicts[i].Note {
		r.noting = i
		return nil, false
	}
	return screen.Review{Turn: id, Attempt: r.attempt, Verdict: r.verdicts[i].Verdict}, true
}

// take returns the answer with a note; why says what is wrong with it.
func (r *review) take(id, note string) (answer screen.Action, why string) {
	switch {
	case note == "":
		return nil, "Say what is wrong."
	case len(note) > rules.MaxNoteBytes:
		return nil, "A note has at most " + size(rules.MaxNoteBytes) + "."
	}
	return screen.Review{Turn: id, Attempt: r.attempt, Verdict: r.verdicts[r.noting].Verdict, Note: note}, ""
}

// leaveNote goes back to the verdicts; false if no note is typed.
func (q *question) leaveNote() bool {
	if q.review == nil || q.review.noting < 0 || q.sent || q.over != "" {
		return false
	}
	q.review.noting, q.why = -1, ""
	return true
}

// reviewed explains why a turn takes no verdict any more.
func reviewed(t *turnRow) string {
	if !t.ended() {
		return overRetried
	}
	switch {
	case t.inReview():
		return overAttempt
	case t.Review == nil || t.Review.State == "":
		return overUnknown
	}
	by := screen.OneLine(t.Review.By)
	if by == "" || by == "client" {
		return "Reviewed elsewhere: " + screen.OneLine(t.Review.State) + "."
	}
	return screen.Fit("Reviewed by "+by+": "+screen.OneLine(t.Review.State), 39) + "."
}

// answerOf returns the question that an action answers, "" if it answers none.
func answerOf(a screen.Action) string {
	switch a := a.(type) {
	case screen.Respond:
		return a.Item
	case screen.Review:
		return a.Turn
	}
	return ""
}

// inReview reports whether a turn waits for a verdict.
func (t turnRow) inReview() bool { return t.ended() && t.Review != nil && t.Review.State == "pending" }

// judgeReviews takes the reviews that are open. Others are over.
func judgeReviews(in intake, now time.Time, result json.RawMessage) {
	var list struct {
		Turns     []json.RawMessage `json:"turns"`
		LatestSeq int64             `json:"latest_seq"`
	}
	decode(result, &list)
	open := map[string]bool{}
	for _, raw := range list.Turns {
		open[newReview(raw).id] = true
	}
	for _, q := range slices.Clone(in.m.asks.open) {
		if q.review != nil && !open[q.id] && q.seq <= list.LatestSeq {
			in.m.over(now, q.id, overReviewed)
		}
	}
	for _, raw := range list.Turns {
		putReview(in, now, raw)
	}
	in.leaveQuestion()
}

// putReview shows the review of a turn as it was read, unless what is known is newer.
func putReview(in intake, now time.Time, raw json.RawMessage) {
	var t turnRow
	decode(raw, &t)
	row := in.m.turns.rows[t.TurnID]
	if !t.inReview() || row != nil && (row.Attempt > t.Attempt || row.UpdatedSeq > t.UpdatedSeq) {
		return
	}
	in.m.asks.put(now, newReview(raw))
}

// tookVerdict takes a verdict.
func tookVerdict(in intake, now time.Time, row *turnRow, e client.Event) {
	var p struct {
		Verdict string `json:"verdict"`
		Note    string `json:"note"`
		By      string `json:"by"`
	}
	decode(e.Params, &p)
	row.UpdatedSeq = e.Seq
	if row.Review == nil {
		row.Review = &reviewRow{}
	}
	row.Review.State, row.Review.Note, row.Review.By = p.Verdict, p.Note, p.By
	in.m.over(now, row.TurnID, reviewed(row))
	in.leaveQuestion()
	if end := in.m.history.byKey["end:"+row.TurnID]; end != nil {
		end.end.row.Review = row.Review
		in.m.history.changed(end)
	}
}

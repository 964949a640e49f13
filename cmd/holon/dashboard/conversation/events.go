package conversation

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/notify/fold"
	"github.com/seed82539d15/holon/rpc/client"
)

// event takes an event of the thread.
func (in intake) event(now time.Time, e client.Event) []screen.Action {
	if e.ThreadID != in.m.options.Thread || e.Seq <= in.m.cursor || !in.m.loader.ready {
		return nil
	}
	in.m.cursor = e.Seq
	f, err := e.Fold()
	if err != nil {
		return nil // of a foreign form
	}
	if marker, ok := fold.MarkerOf(&f); ok {
		return in.rewound(now, marker)
	}
	if e.Method == notify.TurnLate || in.m.history.stale(f.TurnID, f.Lineage, f.Seq) {
		return nil
	}
	switch kind, _, _ := strings.Cut(e.Method, "/"); kind {
	case "item":
		return in.itemEvent(now, &f, e.Params)
	case "turn":
		return in.turnEvent(now, &f, e)
	case "thread":
		in.threadEvent(e)
	case "inbox":
		in.m.children.due = true
	}
	return nil
}

// itemEvent takes an event of an item. An item that is not held is of the part that was
// dropped or not read; only if it asks something does it matter.
func (in intake) itemEvent(now time.Time, f *fold.Event, params json.RawMessage) []screen.Action {
	e := in.m.history.item(f.ItemID)
	switch f.Method {
	case notify.ItemDelta:
		if e != nil && e.item.updated < f.Seq {
			e.item.body.grow(f.Body.Offset, f.Body.Text)
			in.m.history.changed(e)
			in.m.history.trim(in.m.view.follow)
		}
		return nil
	case notify.ItemDeleted:
		in.m.over(now, f.ItemID, overWithdrawn)
		if e != nil {
			e.item.status, e.item.updated = "deleted", f.Seq
			in.m.history.changed(e)
		}
		return nil
	}
	row := itemRow{
		ItemID: f.ItemID, TurnID: f.TurnID, Status: f.Body.Status, Lineage: f.Lineage, Content: json.RawMessage(f.Body.Content),
		Truncated: f.Body.Truncated, CreatedSeq: f.Seq, UpdatedSeq: f.Seq,
	}
	switch {
	case e != nil && e.item.updated >= f.Seq:
		return nil
	case e != nil:
		row.CreatedSeq = e.item.created
		e.item = row.item()
		in.m.history.changed(e)
	case f.Method == notify.ItemCreated && in.m.history.newer == "":
		in.m.history.add(row)
		in.appended(row.ItemID)
	case f.Method == notify.ItemCreated:
		in.m.view.below++
		in.m.loader.missed = true
	}
	it := row.item()
	if it.asks() {
		if it.status == "pending" {
			in.m.asks.put(now, newQuestion(it))
		} else {
			in.m.over(now, it.id, overBy(it))
		}
	}
	for i, q := range in.m.asks.open {
		if q.content.Subject.ItemID == it.id && e != nil {
			e.item.raw = row.Content
			q.subject = e.item
			if i == 0 {
				in.m.asks.touched(now)
			}
		}
	}
	if it.content.Type == "plan" {
		in.redrawPlans(it.turn)
	}
	in.leaveQuestion()
	in.m.history.trim(in.m.view.follow)
	return in.subjects()
}

// appended counts what comes below the window.
func (in intake) appended(key string) {
	if in.m.history.byKey[key] != nil && !in.m.view.follow {
		in.m.view.below++
	}
}

// redrawPlans draws the plans of a turn again: only the newest is shown whole.
func (in intake) redrawPlans(turn string) {
	for _, e := range in.m.history.entries {
		if e.turn == turn && e.item != nil && e.item.content.Type == "plan" {
			in.m.history.changed(e)
		}
	}
}

// leaveQuestion moves the focus away from a question that is gone.
func (in intake) leaveQuestion() {
	if in.m.focus == onQuestion && in.m.asks.front() == nil {
		in.m.focus = onTimeline
	}
}

func (in intake) turnEvent(now time.Time, f *fold.Event, e client.Event) []screen.Action {
	row := in.m.turns.get(f.TurnID)
	if row.CreatedSeq == 0 {
		row.CreatedSeq = f.Seq
	}
	before := row.WaitsFor
	if e.Method == notify.TurnProgress {
		var p turnRow
		decode(e.Params, &p)
		row.State, row.Progress, row.ProgressMessage = "active", f.Body.State, f.Body.Message
		row.WaitsFor, row.RetryAt, row.Attempt = p.WaitsFor, p.RetryAt, max(row.Attempt, p.Attempt)
		if len(p.WaitsFor) != len(before) {
			in.m.children.due = true
		}
		return nil
	}
	if e.Method == notify.TurnReviewed {
		tookVerdict(in, now, row, e)
		return nil
	}
	row.Review = nil
	decode(e.Params, row)
	row.UpdatedSeq = f.Seq
	in.m.over(now, f.TurnID, overRetried) // a review of an earlier end
	switch e.Method {
	case notify.TurnQueued:
		row.State = "queued"
	case notify.TurnStarted:
		in.m.thread.Summary.Wakes = nil
		row.State, row.Progress, row.ProgressMessage = "active", "running", ""
		row.WaitsFor, row.RetryAt, row.CompletedAt = nil, time.Time{}, time.Time{}
		row.Error, row.Usage = nil, nil
		if row.StartedAt.IsZero() {
			row.StartedAt = e.Time
		}
	}
	if !isEnd(e.Method) {
		return nil
	}
	row.State = strings.TrimPrefix(e.Method, "turn/")
	if row.CompletedAt.IsZero() {
		row.CompletedAt = e.Time
	}
	key := "end:" + f.TurnID
	if known := in.m.history.byKey[key]; known != nil {
		in.m.history.drop(known)
	}
	if in.m.history.newer == "" {
		in.m.history.put(&entry{key: key, seq: f.Seq, turn: f.TurnID, end: &ending{row: *row, lineage: f.Lineage}})
	}
	for _, q := range append([]*question(nil), in.m.asks.open...) {
		if q.turn == f.TurnID && q.review == nil { // its questions end with it
			in.m.over(now, q.id, overEnded)
		}
	}
	in.leaveQuestion()
	in.m.history.trim(in.m.view.follow)
	in.m.children.due = true
	if row.inReview() {
		return []screen.Action{in.m.loader.call("review", "turn/read", map[string]any{"turn_id": f.TurnID})}
	}
	return nil
}

// rewound takes a marker.
func (in intake) rewound(now time.Time, marker fold.Marker) (out []screen.Action) {
	for _, id := range in.m.history.mark(marker) {
		out = append(out, in.read(id)...)
	}
	for _, q := range append([]*question(nil), in.m.asks.open...) {
		switch {
		case q.turn == marker.TurnID && q.review != nil:
			in.m.over(now, q.id, overRetried)
		case q.turn == marker.TurnID && in.m.history.item(q.id) == nil:
			in.m.over(now, q.id, overWithdrawn)
		}
	}
	if row := in.m.turns.rows[marker.TurnID]; row != nil && marker.Step == "" {
		row.Attempt = max(row.Attempt, marker.NewEpoch)
		row.State, row.Error, row.CompletedAt, row.Review = "active", nil, time.Time{}, nil
	}
	in.leaveQuestion()
	return out
}

func (in intake) threadEvent(e client.Event) {
	var p threadRow
	decode(e.Params, &p)
	if p.Title != "" || p.TitleBy != "" { // a title that was given back is empty
		in.m.thread.Title = p.Title
	}
	if p.Config != nil {
		in.m.thread.Config = p.Config
	}
	switch {
	case e.Method == "thread/closed":
		in.m.thread.State = "closed"
	case e.Method == "thread/resumed":
		in.m.thread.State = "running"
	case e.Method == "thread/paused":
		in.m.thread.State = "paused"
	case p.State != "":
		in.m.thread.State = p.State
	}
}

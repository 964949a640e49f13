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
func (m *Model) event(now time.Time, e client.Event) []screen.Action {
	if e.ThreadID != m.options.Thread || e.Seq <= m.cursor || !m.loader.ready {
		return nil
	}
	m.cursor = e.Seq
	f, err := e.Fold()
	if err != nil {
		return nil // of a foreign form
	}
	if marker, ok := fold.MarkerOf(&f); ok {
		return m.rewound(now, marker)
	}
	if e.Method == notify.TurnLate || m.history.stale(f.TurnID, f.Lineage, f.Seq) {
		return nil
	}
	switch kind, _, _ := strings.Cut(e.Method, "/"); kind {
	case "item":
		return m.itemEvent(now, &f, e.Params)
	case "turn":
		return m.turnEvent(now, &f, e)
	case "thread":
		m.threadEvent(e)
	case "inbox":
		return m.askChildrenOnce()
	}
	return nil
}

func (m *Model) askChildrenOnce() []screen.Action {
	if m.loader.childrenAsked {
		return nil
	}
	return m.askChildren()
}

// itemEvent takes an event of an item. An item that is not held is of the part that was
// dropped or not read; only if it asks something does it matter.
func (m *Model) itemEvent(now time.Time, f *fold.Event, params json.RawMessage) []screen.Action {
	e := m.history.item(f.ItemID)
	switch f.Method {
	case notify.ItemDelta:
		if e != nil && e.item.updated < f.Seq {
			e.item.body.grow(f.Body.Offset, f.Body.Text)
			m.history.changed(e)
			m.history.trim(m.view.follow)
		}
		return nil
	case notify.ItemDeleted:
		m.asks.gone(now, f.ItemID)
		if e != nil {
			e.item.status, e.item.updated = "deleted", f.Seq
			m.history.changed(e)
		}
		return nil
	}
	row := itemRow{
		ItemID: f.ItemID, TurnID: f.TurnID, Status: f.Body.Status, Lineage: f.Lineage, Content: json.RawMessage(f.Body.Content),
		Truncated: f.Body.Truncated, CreatedSeq: f.Seq, UpdatedSeq: f.Seq,
	}
	var out []screen.Action
	switch {
	case e != nil && e.item.updated >= f.Seq:
		return nil
	case e != nil:
		row.CreatedSeq = e.item.created
		e.item = row.item()
		m.history.changed(e)
	case f.Method == notify.ItemCreated && !m.history.detached:
		m.history.add(row)
		m.appended(row.ItemID)
	case f.Method == notify.ItemCreated:
		m.view.below++
	}
	it := row.item()
	if it.asks() {
		if it.status == "pending" {
			m.asks.put(now, it)
		} else {
			m.asks.gone(now, it.id)
		}
	}
	for i, q := range m.asks.open {
		if q.content.Subject.ItemID == it.id && e != nil {
			q.subject = e.item
			if i == 0 {
				m.asks.touched(now)
			}
		}
	}
	if it.content.Type == "tool_call" && !it.open() {
		out = append(out, m.askChildrenOnce()...) // it may have started one
	}
	if it.content.Type == "plan" {
		m.redrawPlans(it.turn)
	}
	m.leaveQuestion()
	m.history.trim(m.view.follow)
	return append(out, m.subjects()...)
}

// appended counts what comes below the window.
func (m *Model) appended(key string) {
	if m.history.byKey[key] != nil && !m.view.follow {
		m.view.below++
	}
}

// redrawPlans draws the plans of a turn again: only the newest is shown whole.
func (m *Model) redrawPlans(turn string) {
	for _, e := range m.history.entries {
		if e.turn == turn && e.item != nil && e.item.content.Type == "plan" {
			m.history.changed(e)
		}
	}
}

// leaveQuestion moves the focus away from a question that is gone.
func (m *Model) leaveQuestion() {
	if m.focus == onQuestion && m.asks.front() == nil {
		m.focus = onTimeline
	}
}

func (m *Model) turnEvent(now time.Time, f *fold.Event, e client.Event) []screen.Action {
	row := m.turns.get(f.TurnID)
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
			return m.askChildrenOnce()
		}
		return nil
	}
	decode(e.Params, row)
	row.UpdatedSeq = f.Seq
	switch e.Method {
	case notify.TurnQueued:
		row.State = "queued"
	case notify.TurnStarted:
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
	if known := m.history.byKey[key]; known != nil {
		m.history.drop(known)
	}
	if !m.history.detached {
		m.history.put(&entry{key: key, seq: f.Seq, turn: f.TurnID, end: &ending{row: *row, lineage: f.Lineage}})
	}
	for _, q := range append([]*question(nil), m.asks.open...) {
		if q.turn == f.TurnID { // its questions end with it
			m.asks.gone(now, q.id)
		}
	}
	m.leaveQuestion()
	m.history.trim(m.view.follow)
	return m.askChildrenOnce()
}

// rewound takes a marker.
func (m *Model) rewound(now time.Time, marker fold.Marker) (out []screen.Action) {
	for _, id := range m.history.mark(marker) {
		out = append(out, m.read(id)...)
	}
	for _, q := range append([]*question(nil), m.asks.open...) {
		if q.turn == marker.TurnID && m.history.item(q.id) == nil {
			m.asks.gone(now, q.id)
		}
	}
	if row := m.turns.rows[marker.TurnID]; row != nil && marker.Step == "" {
		row.Attempt = max(row.Attempt, marker.NewEpoch)
		row.State, row.Error, row.CompletedAt = "active", nil, time.Time{}
	}
	m.leaveQuestion()
	return out
}

func (m *Model) threadEvent(e client.Event) {
	var p threadRow
	decode(e.Params, &p)
	if p.Title != "" {
		m.thread.Title = p.Title
	}
	switch {
	case e.Method == "thread/closed":
		m.thread.State = "closed"
	case e.Method == "thread/resumed":
		m.thread.State = "running"
	case e.Method == "thread/paused":
		m.thread.State = "paused"
	case p.State != "":
		m.thread.State = p.State
	}
}

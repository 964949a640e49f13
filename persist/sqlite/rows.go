package sqlite

import (
	"database/sql/driver"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// The columns of the rows, in the order that the functions below expect.
const (
	threadColumns = `created_seq, thread_id, state, agent, title, cwd, metadata, config, agent_session_id,
		parent_thread_id, parent_turn_id, reason, started_at, closed_at, updated_seq, latest_seq, latest_thread_seq,
		forked_from`
	turnColumns = `created_seq, turn_id, thread_id, state, attempt, rank, progress, progress_message, origin,
		message, reason, stop_reason, error, usage, undelivered, metadata, parent_thread_id, parent_turn_id,
		timeout_seconds, queued_at, started_at, completed_at, updated_seq, retry, retry_at, used_ms, worker,
		claimed_seq, first_started_at`
	itemColumns = `created_seq, item_id, thread_id, turn_id, attempt, type, status, truncated, total_bytes,
		created_at, updated_at, updated_seq, content, span`
	stepColumns = `seq, thread_id, turn_id, step, epoch, lineage, status, late, started_at, ended_at, updated_seq,
		hidden_after, hidden_by`
)

const (
	insertThread = `INSERT INTO threads (` + threadColumns + `) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`
	updateThread = `UPDATE threads SET state=?, agent=?, title=?, cwd=?, metadata=?, config=?, agent_session_id=?,
		parent_thread_id=?, parent_turn_id=?, reason=?, started_at=?, closed_at=?, updated_seq=?, latest_seq=?,
		latest_thread_seq=? WHERE thread_id=? AND latest_thread_seq=?`
	advanceThread = `UPDATE threads SET latest_seq=?, latest_thread_seq=? WHERE thread_id=? AND latest_thread_seq=?`

	insertTurn = `INSERT INTO turns (` + turnColumns + `) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`
	updateTurn = `UPDATE turns SET turn_id=?, thread_id=?, state=?, attempt=?, rank=?, progress=?,
		progress_message=?, origin=?, message=?, reason=?, stop_reason=?, error=?, usage=?, undelivered=?,
		metadata=?, parent_thread_id=?, parent_turn_id=?, timeout_seconds=?, queued_at=?, started_at=?,
		completed_at=?, updated_seq=?, retry=?, retry_at=?, used_ms=?, worker=?, claimed_seq=?,
		first_started_at=? WHERE created_seq=?`

	insertItem = `INSERT INTO items (` + itemColumns + `) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)`
	// What names an item never changes, so its indexes are not touched.
	updateItem = `UPDATE items SET status=?, truncated=?, total_bytes=?, updated_at=?, updated_seq=?, content=?
		WHERE created_seq=? AND item_id=?`

	insertStep = `INSERT INTO steps (` + stepColumns + `) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)`
	updateStep = `UPDATE steps SET status=?, late=?, ended_at=?, updated_seq=?, hidden_after=?, hidden_by=?
		WHERE seq=? AND turn_id=?`
)

// encode is v as JSON, nil if v is absent.
func encode[T any](v T, absent bool) ([]byte, error) {
	if absent {
		return nil, nil
	}
	return json.Marshal(v, jsontext.AllowInvalidUTF8(true))
}

// decode fills v from JSON that encode made; nil leaves it alone.
func decode(b []byte, v any) error {
	if b == nil {
		return nil
	}
	return json.Unmarshal(b, v)
}

func parentColumns(p *threads.Parent) (threadID, turnID string) {
	if p == nil {
		return "", ""
	}
	return p.ThreadID, p.TurnID
}

func parentOf(threadID, turnID string) *threads.Parent {
	if threadID == "" {
		return nil
	}
	return &threads.Parent{ThreadID: threadID, TurnID: turnID}
}

// putThread writes the row of a unit that changed its thread.
// It reports whether the thread stood where the unit was made.
func putThread(c *conn, t *threads.Thread, first, base, last, lastThread int64) (bool, error) {
	parentThread, parentTurn := parentColumns(t.Parent)
	if t.CreatedSeq < 0 {
		if base != 0 {
			return false, nil
		}
		forked, err := encode(t.ForkedFrom, t.ForkedFrom == nil)
		if err != nil {
			return false, err
		}
		_, err = c.exec(insertThread, notify.Settle(t.CreatedSeq, first), t.ThreadID, string(t.State), t.Agent,
			t.Title, t.Cwd, []byte(t.Metadata), []byte(t.Config), t.AgentSessionID, parentThread, parentTurn, t.Reason,
			t.StartedAt.Milli(), t.ClosedAt.Milli(), notify.Settle(t.UpdatedSeq, first), last, lastThread, forked)
		return true, err
	}
	n, err := c.exec(updateThread, string(t.State), t.Agent, t.Title, t.Cwd, []byte(t.Metadata), []byte(t.Config),
		t.AgentSessionID, parentThread, parentTurn, t.Reason, t.StartedAt.Milli(), t.ClosedAt.Milli(),
		notify.Settle(t.UpdatedSeq, first), last, lastThread, t.ThreadID, base)
	return n == 1, err
}

func threadOf(r row) (*threads.Thread, error) {
	t := &threads.Thread{
		CreatedSeq: r.int(0), ThreadID: r.text(1), SessionID: r.text(1), State: threads.State(r.text(2)),
		Agent: r.text(3), Title: r.text(4), Cwd: r.text(5), Metadata: r.blob(6), Config: r.blob(7),
		AgentSessionID: r.text(8), Parent: parentOf(r.text(9), r.text(10)), Reason: r.text(11),
		StartedAt: notify.TimeFromMilli(r.int(12)), ClosedAt: notify.TimeFromMilli(r.int(13)),
		UpdatedSeq: r.int(14), LatestSeq: r.int(15), LatestThreadSeq: r.int(16),
	}
	if err := decode(r.blob(17), &t.ForkedFrom); err != nil {
		return nil, fmt.Errorf("origin of thread %s: %w", t.ThreadID, err)
	}
	return t, nil
}

func putTurn(c *conn, t *turns.Turn, first int64) error {
	failure, err := encode(t.Error, t.Error == nil)
	if err != nil {
		return err
	}
	usage, err := encode(t.Usage, t.Usage == nil)
	if err != nil {
		return err
	}
	undelivered, err := encode(t.UndeliveredItemIDs, t.UndeliveredItemIDs == nil)
	if err != nil {
		return err
	}
	retry, err := encode(t.Retry, t.Retry == nil)
	if err != nil {
		return err
	}
	parentThread, parentTurn := parentColumns(t.Parent)
	rest := [...]driver.Value{
		t.TurnID, t.ThreadID, string(t.State), int64(t.Attempt), t.Rank, string(t.Progress),
		t.ProgressMessage, string(t.Origin), t.Message, t.Reason, t.StopReason, failure, usage, undelivered,
		[]byte(t.Metadata), parentThread, parentTurn, t.TimeoutSeconds, t.QueuedAt.Milli(), t.StartedAt.Milli(),
		t.CompletedAt.Milli(), notify.Settle(t.UpdatedSeq, first), retry, t.RetryAt.Milli(), t.UsedMs, t.Worker,
		notify.Settle(t.ClaimedSeq, first), t.FirstStartedAt.Milli(),
	}
	if t.CreatedSeq < 0 {
		_, err := c.exec(insertTurn, append([]driver.Value{notify.Settle(t.CreatedSeq, first)}, rest[:]...)...)
		return err
	}
	n, err := c.exec(updateTurn, append(rest[:], t.CreatedSeq)...)
	if err == nil && n != 1 {
		return fmt.Errorf("turn %s is not at %d", t.TurnID, t.CreatedSeq)
	}
	return err
}

func turnOf(r row) (*turns.Turn, error) {
	t := &turns.Turn{
		CreatedSeq: r.int(0), TurnID: r.text(1), ThreadID: r.text(2), State: turns.State(r.text(3)),
		Attempt: int(r.int(4)), Rank: r.int(5), Progress: turns.Progress(r.text(6)), ProgressMessage: r.text(7),
		Origin: turns.Origin(r.text(8)), Message: r.text(9), Reason: r.text(10), StopReason: r.text(11),
		Metadata: r.blob(15), Parent: parentOf(r.text(16), r.text(17)), TimeoutSeconds: r.float(18),
		QueuedAt: notify.TimeFromMilli(r.int(19)), StartedAt: notify.TimeFromMilli(r.int(20)),
		CompletedAt: notify.TimeFromMilli(r.int(21)), UpdatedSeq: r.int(22),
		RetryAt: notify.TimeFromMilli(r.int(24)), UsedMs: r.int(25), Worker: r.text(26), ClaimedSeq: r.int(27),
		FirstStartedAt: notify.TimeFromMilli(r.int(28)),
	}
	if err := decode(r.blob(12), &t.Error); err != nil {
		return nil, fmt.Errorf("error of turn %s: %w", t.TurnID, err)
	}
	if err := decode(r.blob(13), &t.Usage); err != nil {
		return nil, fmt.Errorf("usage of turn %s: %w", t.TurnID, err)
	}
	if err := decode(r.blob(14), &t.UndeliveredItemIDs); err != nil {
		return nil, fmt.Errorf("undelivered items of turn %s: %w", t.TurnID, err)
	}
	if err := decode(r.blob(23), &t.Retry); err != nil {
		return nil, fmt.Errorf("retry of turn %s: %w", t.TurnID, err)
	}
	return t, nil
}

func putItem(c *conn, it *items.Item, first int64) error {
	truncated := int64(0)
	if it.Truncated {
		truncated = 1
	}
	updated := notify.Settle(it.UpdatedSeq, first)
	if it.CreatedSeq < 0 {
		_, err := c.exec(insertItem, notify.Settle(it.CreatedSeq, first), it.ItemID, it.ThreadID, it.TurnID,
			int64(it.Attempt), string(it.Type), string(it.Status), truncated, it.TotalBytes,
			it.CreatedAt.Milli(), it.UpdatedAt.Milli(), updated, []byte(it.Content), notify.Settle(it.Span, first))
		if isUnique(err) { // of item_id: created_seq is new
			err = fmt.Errorf("insert %s: %w: %w", it.ItemID, turns.ErrItemConflict, err)
		}
		return err
	}
	n, err := c.exec(updateItem, string(it.Status), truncated, it.TotalBytes, it.UpdatedAt.Milli(), updated,
		[]byte(it.Content), it.CreatedSeq, it.ItemID)
	if err == nil && n != 1 {
		return fmt.Errorf("item %s is not at %d", it.ItemID, it.CreatedSeq)
	}
	return err
}

func itemOf(r row) *items.Item {
	return &items.Item{
		CreatedSeq: r.int(0), ItemID: r.text(1), ThreadID: r.text(2), TurnID: r.text(3), Attempt: int(r.int(4)),
		Type: items.Kind(r.text(5)), Status: items.Status(r.text(6)), Truncated: r.int(7) != 0, TotalBytes: r.int(8),
		CreatedAt: notify.TimeFromMilli(r.int(9)), UpdatedAt: notify.TimeFromMilli(r.int(10)), UpdatedSeq: r.int(11),
		Content: r.blob(12), Span: r.int(13),
	}
}

func putStep(c *conn, s *turns.Step, first int64) error {
	var after, by any // NULL while the try stands
	if s.HiddenBy != 0 {
		after, by = s.HiddenAfter, notify.Settle(s.HiddenBy, first)
	}
	updated := notify.Settle(s.UpdatedSeq, first)
	if s.Seq < 0 {
		lineage, err := encode(s.Lineage, false)
		if err != nil {
			return err
		}
		_, err = c.exec(insertStep, notify.Settle(s.Seq, first), s.ThreadID, s.TurnID, s.Step, int64(s.Epoch), lineage,
			string(s.Status), s.Late, s.StartedAt.Milli(), s.EndedAt.Milli(), updated, after, by)
		return err
	}
	n, err := c.exec(updateStep, string(s.Status), s.Late, s.EndedAt.Milli(), updated, after, by, s.Seq, s.TurnID)
	if err == nil && n != 1 {
		return fmt.Errorf("no try of %s is at %d", s.TurnID, s.Seq)
	}
	return err
}

func stepOf(r row) (*turns.Step, error) {
	s := &turns.Step{
		Seq: r.int(0), ThreadID: r.text(1), TurnID: r.text(2), Step: r.text(3), Epoch: int(r.int(4)),
		Status: turns.StepStatus(r.text(6)), Late: r.int(7), StartedAt: notify.TimeFromMilli(r.int(8)),
		EndedAt: notify.TimeFromMilli(r.int(9)), UpdatedSeq: r.int(10), HiddenAfter: r.int(11), HiddenBy: r.int(12),
	}
	s.Superseded = s.HiddenBy != 0
	if err := decode(r.blob(5), &s.Lineage); err != nil {
		return nil, fmt.Errorf("lineage of the try %d: %w", s.Seq, err)
	}
	return s, nil
}

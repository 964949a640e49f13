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
		parent_thread_id, parent_turn_id, reason, started_at, closed_at, updated_seq, latest_seq, latest_thread_seq`
	turnColumns = `created_seq, turn_id, thread_id, state, attempt, rank, progress, progress_message, origin,
		message, reason, stop_reason, error, usage, undelivered, metadata, parent_thread_id, parent_turn_id,
		timeout_seconds, queued_at, started_at, completed_at, updated_seq`
	itemColumns = `created_seq, item_id, thread_id, turn_id, attempt, type, status, truncated, total_bytes,
		created_at, updated_at, updated_seq, content`
)

const (
	insertThread = `INSERT INTO threads (` + threadColumns + `) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`
	updateThread = `UPDATE threads SET state=?, agent=?, title=?, cwd=?, metadata=?, config=?, agent_session_id=?,
		parent_thread_id=?, parent_turn_id=?, reason=?, started_at=?, closed_at=?, updated_seq=?, latest_seq=?,
		latest_thread_seq=? WHERE thread_id=? AND latest_thread_seq=?`
	advanceThread = `UPDATE threads SET latest_seq=?, latest_thread_seq=? WHERE thread_id=? AND latest_thread_seq=?`

	insertTurn = `INSERT INTO turns (` + turnColumns + `) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`
	updateTurn = `UPDATE turns SET turn_id=?, thread_id=?, state=?, attempt=?, rank=?, progress=?,
		progress_message=?, origin=?, message=?, reason=?, stop_reason=?, error=?, usage=?, undelivered=?,
		metadata=?, parent_thread_id=?, parent_turn_id=?, timeout_seconds=?, queued_at=?, started_at=?,
		completed_at=?, updated_seq=? WHERE created_seq=?`

	insertItem = `INSERT INTO items (` + itemColumns + `) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)`
	// What names an item never changes, so its indexes are not touched.
	updateItem = `UPDATE items SET status=?, truncated=?, total_bytes=?, updated_at=?, updated_seq=?, content=?
		WHERE created_seq=? AND item_id=?`
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
		_, err := c.exec(insertThread, notify.Settle(t.CreatedSeq, first), t.ThreadID, string(t.State), t.Agent,
			t.Title, t.Cwd, []byte(t.Metadata), []byte(t.Config), t.AgentSessionID, parentThread, parentTurn, t.Reason,
			t.StartedAt.Milli(), t.ClosedAt.Milli(), notify.Settle(t.UpdatedSeq, first), last, lastThread)
		return true, err
	}
	n, err := c.exec(updateThread, string(t.State), t.Agent, t.Title, t.Cwd, []byte(t.Metadata), []byte(t.Config),
		t.AgentSessionID, parentThread, parentTurn, t.Reason, t.StartedAt.Milli(), t.ClosedAt.Milli(),
		notify.Settle(t.UpdatedSeq, first), last, lastThread, t.ThreadID, base)
	return n == 1, err
}

func threadOf(r row) *threads.Thread {
	return &threads.Thread{
		CreatedSeq: r.int(0), ThreadID: r.text(1), SessionID: r.text(1), State: threads.State(r.text(2)),
		Agent: r.text(3), Title: r.text(4), Cwd: r.text(5), Metadata: r.blob(6), Config: r.blob(7),
		AgentSessionID: r.text(8), Parent: parentOf(r.text(9), r.text(10)), Reason: r.text(11),
		StartedAt: notify.TimeFromMilli(r.int(12)), ClosedAt: notify.TimeFromMilli(r.int(13)),
		UpdatedSeq: r.int(14), LatestSeq: r.int(15), LatestThreadSeq: r.int(16),
	}
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
	parentThread, parentTurn := parentColumns(t.Parent)
	rest := [...]driver.Value{
		t.TurnID, t.ThreadID, string(t.State), int64(t.Attempt), t.Rank, string(t.Progress),
		t.ProgressMessage, string(t.Origin), t.Message, t.Reason, t.StopReason, failure, usage, undelivered,
		[]byte(t.Metadata), parentThread, parentTurn, t.TimeoutSeconds, t.QueuedAt.Milli(), t.StartedAt.Milli(),
		t.CompletedAt.Milli(), notify.Settle(t.UpdatedSeq, first),
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
			it.CreatedAt.Milli(), it.UpdatedAt.Milli(), updated, []byte(it.Content))
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
		Content: r.blob(12),
	}
}

package threads

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// Table is where threads are stored. A thread's row is written only if no other
// unit was appended to the thread since it was read (ledger.Unit.Base).
var Table = ledger.NewTable(ledger.Table{
	Name: "threads",
	Columns: []string{"created_seq", "thread_id", "state", "agent", "title", "cwd", "metadata", "config", "agent_session_id",
		"parent_thread_id", "parent_turn_id", "reason", "started_at", "closed_at", "updated_seq", "latest_seq",
		"latest_thread_seq", "forked_from", "held", "level", "root_thread_id", "spent", "title_given", "job"},
	Key: []string{"thread_id"},
	Mutable: []string{"state", "agent", "title", "cwd", "metadata", "config", "agent_session_id", "parent_thread_id",
		"parent_turn_id", "reason", "started_at", "closed_at", "updated_seq", "latest_seq", "latest_thread_seq", "held", "spent",
		"title_given"},
	CAS:    "latest_thread_seq",
	Unique: ledger.ErrStale,
})

// heads writes only the newest seqs of a thread: most units change nothing else.
var heads = ledger.NewTable(ledger.Table{
	Name:    "threads",
	Columns: []string{"thread_id", "latest_seq", "latest_thread_seq"},
	Key:     []string{"thread_id"},
	Mutable: []string{"latest_seq", "latest_thread_seq"},
	CAS:     "latest_thread_seq",
})

// Table implements ledger.Row.
func (t *Thread) Table() *ledger.Table { return Table }

// ID implements ledger.Row.
func (t *Thread) ID() any { return t.ThreadID }

// New implements ledger.Row.
func (t *Thread) New() bool { return t.CreatedSeq < 0 }

// Bytes implements ledger.Row.
func (t *Thread) Bytes() int { return len(t.Metadata) + len(t.Config) + len(t.Title) }

// AssignSeqs implements ledger.Row.
func (t *Thread) AssignSeqs(first int64) {
	t.CreatedSeq = notify.AssignSeq(t.CreatedSeq, first)
	t.UpdatedSeq = notify.AssignSeq(t.UpdatedSeq, first)
	t.LatestSeq = notify.AssignSeq(t.LatestSeq, first)
}

// Values implements ledger.Row.
func (t *Thread) Values(first int64) (ledger.Values, error) {
	parentThread, parentTurn := t.Parent.Columns()
	var forked []byte
	if t.ForkedFrom != nil {
		var err error
		if forked, err = json.Marshal(t.ForkedFrom); err != nil {
			return nil, err
		}
	}
	spent, err := t.spentColumn()
	if err != nil {
		return nil, err
	}
	return ledger.Values{
		notify.AssignSeq(t.CreatedSeq, first), t.ThreadID, string(t.State), t.Agent, t.Title, t.Cwd, []byte(t.Metadata),
		[]byte(t.Config), t.AgentSessionID, parentThread, parentTurn, t.Reason, t.StartedAt.Milli(), t.ClosedAt.Milli(),
		notify.AssignSeq(t.UpdatedSeq, first), notify.AssignSeq(t.LatestSeq, first), t.LatestThreadSeq, forked, ledger.Flag(t.Held),
		int64(t.Level), t.RootThreadID, spent, ledger.Flag(t.TitleBy == ByClient), t.Job,
	}, nil
}

// storedSpent is how Spent and Lines are stored, in one column.
type storedSpent struct {
	*Spent `json:",inline"` // nil = no agent has reported usage
	Lines  *items.Lines     `json:"lines,omitzero"`
}

// spentColumn returns nil if there is nothing to store.
func (t *Thread) spentColumn() (any, error) {
	if t.Spent == nil && t.Lines == nil {
		return nil, nil
	}
	return json.Marshal(storedSpent{t.Spent, t.Lines})
}

// Read makes a thread of its columns.
func Read(v ledger.Values) (*Thread, error) {
	t := &Thread{
		CreatedSeq: v.Int(0), ThreadID: v.Text(1), SessionID: v.Text(1), State: State(v.Text(2)),
		Agent: v.Text(3), Title: v.Text(4), Cwd: v.Text(5), Metadata: v.Blob(6), Config: v.Blob(7),
		AgentSessionID: v.Text(8), Parent: ParentOf(v.Text(9), v.Text(10)), Reason: v.Text(11),
		StartedAt: notify.TimeFromMilli(v.Int(12)), ClosedAt: notify.TimeFromMilli(v.Int(13)),
		UpdatedSeq: v.Int(14), LatestSeq: v.Int(15), LatestThreadSeq: v.Int(16), Held: v.Int(18) != 0,
		Level: int(v.Int(19)), RootThreadID: v.Text(20), Job: v.Text(23),
	}
	if v.Int(22) != 0 {
		t.TitleBy = ByClient
	}
	if forked := v.Blob(17); forked != nil {
		if err := json.Unmarshal(forked, &t.ForkedFrom); err != nil {
			return nil, fmt.Errorf("origin of thread %s: %w", t.ThreadID, err)
		}
	}
	if spent := v.Blob(21); spent != nil {
		var stored storedSpent
		if err := json.Unmarshal(spent, &stored); err != nil {
			return nil, fmt.Errorf("what thread %s has spent: %w", t.ThreadID, err)
		}
		t.Spent, t.Lines = stored.Spent, stored.Lines
	}
	return t, nil
}

// Columns returns the ids of a parent as rows store them; "" for a nil parent.
func (p *Parent) Columns() (threadID, turnID string) {
	if p == nil {
		return "", ""
	}
	return p.ThreadID, p.TurnID
}

// ParentOf returns the parent of these columns; nil if threadID is "".
func ParentOf(threadID, turnID string) *Parent {
	if threadID == "" {
		return nil
	}
	return &Parent{ThreadID: threadID, TurnID: turnID}
}

// Advance completes a unit of a thread's events: it moves the head of the
// thread to the last of them. before is the thread as committed, nil if the unit
// creates it. after is its row if an event of the unit changed it, else nil.
// A unit without events only gets its Base and Last. Advance may be called again
// for a unit that was refused.
func Advance(u *ledger.Unit, before, after *Thread) {
	n := int64(len(u.Drafts))
	if before != nil {
		u.Base, u.Last = before.LatestThreadSeq, before.LatestSeq
	}
	if n == 0 {
		return
	}
	latest := notify.Provisional(int(n) - 1)
	if after != nil {
		after.LatestSeq, after.LatestThreadSeq = latest, u.Base+n
		if onlySpends(before, after) {
			u.Rows = append(u.Rows, &Spending{after})
		} else {
			u.Rows = append(u.Rows, after)
		}
		return
	}
	u.Rows = append(u.Rows, &head{id: u.Drafts[0].Header.ThreadID, latest: latest, latestThread: u.Base + n})
}

type head struct {
	id                   string
	latest, latestThread int64
}

func (h *head) Table() *ledger.Table   { return heads }
func (h *head) ID() any                { return h.id }
func (h *head) New() bool              { return false }
func (h *head) Bytes() int             { return 0 }
func (h *head) AssignSeqs(first int64) { h.latest = notify.AssignSeq(h.latest, first) }
func (h *head) Values(first int64) (ledger.Values, error) {
	return ledger.Values{h.id, notify.AssignSeq(h.latest, first), h.latestThread}, nil
}

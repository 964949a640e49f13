package inbox

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// Inbox is the row of an inbox: what its thread's actor keeps in memory. It is a
// fold of the thread's events. Times are in milliseconds, 0 = none.
type Inbox struct {
	ThreadID       string
	Policy         Policy // as set by clients
	PendingItems   int
	UnackedItems   int   // pending ones included
	UnackedBytes   int64 // of their events
	UnackedEntries int   // visible ones
	NewEntries     int
	FlushAt        int64 // of the earliest flush
	TimerAt        int64 // of the earliest timer
	LeaseAt        int64 // when to look at the leases of told entries: see lease.go
	AckedAt        int64 // of the oldest acknowledged item that is kept
	Expired        int64 // no entry or raw item with a greater seq was removed

	Silent     int     // wakes in a row that ended without output of the agent
	WakeAt     int64   // no wake before
	Stalled    Stall   // "" = not
	StalledAt  int64   // since when
	Wakes      []int64 // when the newest wakes started, at most MaxWakesAnHour
	Lifted     int64   // seq of the event that lifted the bounds on wakes last
	Woken      int64   // seq of the newest inbox/woken
	ToldTurn   string  // the turn that was told last
	ToldSeq    int64   // seq of the inbox/told that told last
	Untold     bool    // the entries of that one were made new again
	Timers     int
	UpdatedSeq int64

	// Lagged counts, by source, the items that did not fit. LaggedThrough has, by
	// subscription, the newest event of those. They are no folds: such an item is in
	// no event.
	Lagged        map[string]int64
	LaggedThrough map[string]int64

	fresh bool // not in the database yet
}

// MaxWakesAnHour bounds the wakes of one thread.
const MaxWakesAnHour = 30

// Table implements ledger.Row.
func (b *Inbox) Table() *ledger.Table { return Table }

// ID implements ledger.Row.
func (b *Inbox) ID() any { return b.ThreadID }

// New implements ledger.Row.
func (b *Inbox) New() bool { return b.fresh }

// Bytes implements ledger.Row.
func (b *Inbox) Bytes() int { return len(b.ThreadID) + len(b.ToldTurn) }

// AssignSeqs implements ledger.Row.
func (b *Inbox) AssignSeqs(first int64) {
	b.fresh = false
	b.UpdatedSeq = notify.AssignSeq(b.UpdatedSeq, first)
	b.Expired, b.Lifted = notify.AssignSeq(b.Expired, first), notify.AssignSeq(b.Lifted, first)
	b.Woken = notify.AssignSeq(b.Woken, first)
	b.ToldSeq = notify.AssignSeq(b.ToldSeq, first)
}

// DueAt returns when the inbox has something to do by itself, in milliseconds; 0 =
// never, as things are.
func (b *Inbox) DueAt() int64 {
	var due int64
	for _, at := range []int64{b.FlushAt, b.TimerAt, b.LeaseAt} {
		if at != 0 && (due == 0 || at < due) {
			due = at
		}
	}
	return due
}

// Table is where inboxes are stored.
var Table = ledger.NewTable(ledger.Table{
	Name: "inboxes",
	Columns: []string{"thread_id", "due_at", "has_new", "pending_items", "unacked_items", "unacked_bytes", "unacked_entries",
		"new_entries", "flush_at", "timer_at", "acked_at", "expired", "silent", "wake_at", "stalled", "told_turn", "untold", "timers",
		"updated_seq", "policy", "wakes", "lagged", "lifted", "told_seq", "stalled_at", "woken_seq", "lease_at"},
	Key: []string{"thread_id"},
	Mutable: []string{"due_at", "has_new", "pending_items", "unacked_items", "unacked_bytes", "unacked_entries",
		"new_entries", "flush_at", "timer_at", "acked_at", "expired", "silent", "wake_at", "stalled", "told_turn", "untold", "timers",
		"updated_seq", "policy", "wakes", "lagged", "lifted", "told_seq", "stalled_at", "woken_seq", "lease_at"},
	Unique: ledger.ErrStale,
})

// The orders in which inboxes are found. Rows of ByDue whose due_at is NULL have
// nothing to do.
var (
	ByThread = &ledger.Index{Table: Table, Unique: true, Columns: []string{"thread_id"}}
	ByDue    = &ledger.Index{Table: Table, Name: "inboxes_due", Columns: []string{"due_at"}}
	ByAcked  = &ledger.Index{Table: Table, Name: "inboxes_acked", Columns: []string{"acked_at"}}
	Stopped  = &ledger.Index{Table: Table, Name: "inboxes_stalled", Columns: []string{"thread_id"}, Where: []ledger.Only{{Column: "stalled", Values: []any{string(StallSilent), string(StallRate), string(StallChain)}}}}
	WithNew  = &ledger.Index{Table: Table, Name: "inboxes_new", Columns: []string{"thread_id"}, Where: []ledger.Only{{Column: "has_new", Values: []any{int64(1)}}}}
)

// lag is what the column lagged has.
type lag struct {
	Counts  map[string]int64 `json:"counts,omitzero"`
	Through map[string]int64 `json:"through,omitzero"`
}

// orNull keeps 0 out of an index of times.
func orNull(ms int64) any {
	if ms == 0 {
		return nil
	}
	return ms
}

// Values implements ledger.Row.
func (b *Inbox) Values(first int64) (ledger.Values, error) {
	policy, err := json.Marshal(b.Policy)
	if err != nil {
		return nil, err
	}
	var wakes []byte
	if len(b.Wakes) > 0 {
		if wakes, err = json.Marshal(b.Wakes); err != nil {
			return nil, err
		}
	}
	var lagged []byte
	if len(b.Lagged)+len(b.LaggedThrough) > 0 {
		if lagged, err = json.Marshal(lag{b.Lagged, b.LaggedThrough}, json.Deterministic(true)); err != nil {
			return nil, err
		}
	}
	return ledger.Values{
		b.ThreadID, orNull(b.DueAt()), ledger.Flag(b.NewEntries > 0), int64(b.PendingItems), int64(b.UnackedItems), b.UnackedBytes,
		int64(b.UnackedEntries), int64(b.NewEntries), b.FlushAt, b.TimerAt, orNull(b.AckedAt), notify.AssignSeq(b.Expired, first),
		int64(b.Silent), b.WakeAt, string(b.Stalled), b.ToldTurn, ledger.Flag(b.Untold), int64(b.Timers),
		notify.AssignSeq(b.UpdatedSeq, first), policy, wakes, lagged, notify.AssignSeq(b.Lifted, first),
		notify.AssignSeq(b.ToldSeq, first), b.StalledAt, notify.AssignSeq(b.Woken, first), b.LeaseAt,
	}, nil
}

// ReadRow makes an inbox of its columns.
func ReadRow(v ledger.Values) (*Inbox, error) {
	b := &Inbox{
		ThreadID: v.Text(0), PendingItems: int(v.Int(3)), UnackedItems: int(v.Int(4)), UnackedBytes: v.Int(5),
		UnackedEntries: int(v.Int(6)), NewEntries: int(v.Int(7)), FlushAt: v.Int(8), TimerAt: v.Int(9), AckedAt: v.Int(10),
		Expired: v.Int(11), Silent: int(v.Int(12)), WakeAt: v.Int(13), Stalled: Stall(v.Text(14)), ToldTurn: v.Text(15),
		Untold: v.Int(16) != 0, Timers: int(v.Int(17)), UpdatedSeq: v.Int(18), Lifted: v.Int(22),
		ToldSeq: v.Int(23), StalledAt: v.Int(24), Woken: v.Int(25), LeaseAt: v.Int(26),
	}
	if err := json.Unmarshal(v.Blob(19), &b.Policy); err != nil {
		return nil, fmt.Errorf("policy of the inbox of %s: %w", b.ThreadID, err)
	}
	if w := v.Blob(20); len(w) > 0 {
		if err := json.Unmarshal(w, &b.Wakes); err != nil {
			return nil, fmt.Errorf("wakes of %s: %w", b.ThreadID, err)
		}
	}
	if l := v.Blob(21); len(l) > 0 {
		var all lag
		if err := json.Unmarshal(l, &all); err != nil {
			return nil, fmt.Errorf("what did not fit into the inbox of %s: %w", b.ThreadID, err)
		}
		b.Lagged, b.LaggedThrough = all.Counts, all.Through
	}
	return b, nil
}

func (b *Inbox) clone() *Inbox {
	c := *b
	c.Wakes, c.Lagged, c.LaggedThrough = slices.Clone(b.Wakes), maps.Clone(b.Lagged), maps.Clone(b.LaggedThrough)
	return &c
}

package inbox

import (
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// TimerTable is where timers are stored.
var TimerTable = ledger.NewTable(ledger.Table{
	Name: "inbox_timers",
	Columns: []string{"created_seq", "thread_id", "timer_id", "at", "every_seconds", "cron", "timezone", "text", "next_at", "created_at",
		"last_fired_at"},
	Key:     []string{"created_seq"},
	Mutable: []string{"next_at", "last_fired_at"},
	Unique:  ledger.ErrStale,
})

// The orders in which timers are found.
var (
	TimerByID     = &ledger.Index{Table: TimerTable, Unique: true, Columns: []string{"thread_id", "timer_id"}}
	TimerNext     = &ledger.Index{Table: TimerTable, Name: "inbox_timers_next", Columns: []string{"thread_id", "next_at"}}
	TimerOfThread = &ledger.Index{Table: TimerTable, Name: "inbox_timers_thread", Columns: []string{"thread_id", "created_seq"}}
)

// Table implements ledger.Row.
func (t *Timer) Table() *ledger.Table { return TimerTable }

// ID implements ledger.Row.
func (t *Timer) ID() any { return rowKey{t.ThreadID, t.TimerID} }

// New implements ledger.Row.
func (t *Timer) New() bool { return t.CreatedSeq < 0 }

// Bytes implements ledger.Row.
func (t *Timer) Bytes() int { return len(t.Text) + len(t.Cron) }

// AssignSeqs implements ledger.Row.
func (t *Timer) AssignSeqs(first int64) { t.CreatedSeq = notify.AssignSeq(t.CreatedSeq, first) }

// Values implements ledger.Row.
func (t *Timer) Values(first int64) (ledger.Values, error) {
	return ledger.Values{
		notify.AssignSeq(t.CreatedSeq, first), t.ThreadID, t.TimerID, t.At.Milli(), t.EverySeconds, t.Cron, t.Timezone, t.Text,
		t.NextAt.Milli(), t.CreatedAt.Milli(), t.LastFiredAt.Milli(),
	}, nil
}

// ReadTimer makes a timer of its columns.
func ReadTimer(v ledger.Values) *Timer {
	return &Timer{
		CreatedSeq: v.Int(0), ThreadID: v.Text(1), TimerID: v.Text(2), At: notify.TimeFromMilli(v.Int(3)), EverySeconds: v.Int(4),
		Cron: v.Text(5), Timezone: v.Text(6), Text: v.Text(7), NextAt: notify.TimeFromMilli(v.Int(8)),
		CreatedAt: notify.TimeFromMilli(v.Int(9)), LastFiredAt: notify.TimeFromMilli(v.Int(10)),
	}
}

package inbox

import (
	"strconv"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// The prefixes of ids.
const (
	RawPrefix    = "raw_"
	DigestPrefix = "dig_"
	EntryPrefix  = "ent_"
)

// RawID, DigestID and EntryID make ids of seqs; "" of 0.
func RawID(seq int64) notify.ID    { return notify.MakeID(RawPrefix, seq) }
func DigestID(seq int64) notify.ID { return notify.MakeID(DigestPrefix, seq) }
func EntryID(seq int64) notify.ID  { return notify.MakeID(EntryPrefix, seq) }

// Raw is the row of a raw item. Its payload is in its event only. Once it has
// expired, the row only remembers its identity.
type Raw struct {
	Seq        int64
	ThreadID   string
	Source     string
	NativeID   string
	Digest     int64 // seq; 0 = not grouped
	OccurredAt notify.Time
	ReceivedAt notify.Time
	Sender     string
	Size       int64 // bytes of its event
	AckedSeq   int64 // of the event that acknowledged it; 0 = none
	AckedAt    notify.Time
	Told       bool
	Expired    bool
	Chain      int
	Link       string // where it can be looked at: see sanitize.Link
	About      string // what it is about: of the items of a digest about the same, the newest counts; "" = it counts for itself
	Outcome    string // what came of that; "" = nothing is known
	Passive    bool   // it is no reason for a snapshot: see FlushPassive
}

// RawTable is where raw items are stored.
var RawTable = ledger.NewTable(ledger.Table{
	Name: "inbox_items",
	Columns: []string{"created_seq", "thread_id", "source", "native_id", "digest", "occurred_at", "received_at", "sender", "size",
		"acked_seq", "acked_at", "told", "expired", "chain", "about", "outcome", "passive", "link"},
	Key:     []string{"created_seq"},
	Mutable: []string{"acked_seq", "acked_at", "told", "expired", "passive"},
	Unique:  ledger.ErrStale,
})

// The orders in which raw items are found.
var (
	RawBySeq    = &ledger.Index{Table: RawTable, Columns: []string{"created_seq"}}
	RawByNative = &ledger.Index{Table: RawTable, Unique: true, Columns: []string{"thread_id", "source", "native_id"}}
	RawOfDigest = &ledger.Index{Table: RawTable, Name: "inbox_items_digest", Columns: []string{"digest", "created_seq"}}
	// RawAbout has the items that are about something.
	RawAbout = &ledger.Index{Table: RawTable, Name: "inbox_items_about", Columns: []string{"digest", "about", "occurred_at", "created_seq"}}
	// RawUnacked has what retention must keep the events of.
	RawUnacked = &ledger.Index{Table: RawTable, Name: "inbox_items_unacked", Columns: []string{"created_seq"}, Where: []ledger.Only{{Column: "acked_seq", Values: []any{int64(0)}}}}
	// RawOfThread is for removing the items of a thread.
	RawOfThread = &ledger.Index{Table: RawTable, Name: "inbox_items_thread", Columns: []string{"thread_id", "created_seq"}}
)

// Table implements ledger.Row.
func (r *Raw) Table() *ledger.Table { return RawTable }

// ID implements ledger.Row.
func (r *Raw) ID() any { return r.Seq }

// New implements ledger.Row.
func (r *Raw) New() bool { return r.Seq < 0 }

// Bytes implements ledger.Row.
func (r *Raw) Bytes() int { return len(r.NativeID) + len(r.Sender) + len(r.About) + len(r.Link) }

// AssignSeqs implements ledger.Row.
func (r *Raw) AssignSeqs(first int64) {
	r.Seq, r.Digest, r.AckedSeq = notify.AssignSeq(r.Seq, first), notify.AssignSeq(r.Digest, first), notify.AssignSeq(r.AckedSeq, first)
}

// Values implements ledger.Row.
func (r *Raw) Values(first int64) (ledger.Values, error) {
	var about any
	if r.About != "" {
		about = r.About
	}
	return ledger.Values{
		notify.AssignSeq(r.Seq, first), r.ThreadID, r.Source, r.NativeID, notify.AssignSeq(r.Digest, first), r.OccurredAt.Milli(),
		r.ReceivedAt.Milli(), r.Sender, r.Size, notify.AssignSeq(r.AckedSeq, first), r.AckedAt.Milli(), ledger.Flag(r.Told),
		ledger.Flag(r.Expired), int64(r.Chain), about, r.Outcome, ledger.Flag(r.Passive), r.Link,
	}, nil
}

// ReadRaw makes a raw item of its columns.
func ReadRaw(v ledger.Values) *Raw {
	return &Raw{
		Seq: v.Int(0), ThreadID: v.Text(1), Source: v.Text(2), NativeID: v.Text(3), Digest: v.Int(4),
		OccurredAt: notify.TimeFromMilli(v.Int(5)), ReceivedAt: notify.TimeFromMilli(v.Int(6)), Sender: v.Text(7), Size: v.Int(8),
		AckedSeq: v.Int(9), AckedAt: notify.TimeFromMilli(v.Int(10)), Told: v.Int(11) != 0, Expired: v.Int(12) != 0, Chain: int(v.Int(13)),
		About: v.Text(14), Outcome: v.Text(15), Passive: v.Int(16) != 0, Link: v.Text(17),
	}
}

// group returns the name of the rows of a digest for ledger.State.Rows.
func group(digest int64) string { return strconv.FormatInt(digest, 10) }

// AboutKey identifies, for ledger.State.Row, the newest item of a digest that is about the same:
// see Raw.NewerThan. There is none about "".
type AboutKey struct {
	Digest int64
	About  string
}

// AboutKey returns the key of the item's subject.
func (r *Raw) AboutKey() AboutKey { return AboutKey{r.Digest, r.About} }

// NewerThan reports whether the item occurred later than another one, or arrived later if they
// occurred at once. Senders deliver in any order.
func (r *Raw) NewerThan(other *Raw) bool {
	if !r.OccurredAt.Equal(other.OccurredAt.Time) {
		return r.OccurredAt.After(other.OccurredAt.Time)
	}
	return order(r.Seq) > order(other.Seq)
}

// Group implements the grouping of rows that a rebuild needs; "" = none.
func (r *Raw) Group() string {
	if r.Digest == 0 {
		return ""
	}
	return group(r.Digest)
}

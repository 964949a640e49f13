package inbox

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// Digest is the row of a digest. FirstAt, LastAt and Senders are those of its
// items that are not acknowledged.
type Digest struct {
	Seq         int64
	ThreadID    string
	Source      string
	ResourceRef string
	EventFamily string
	Open        bool // it takes items
	Revision    int
	Newest      int64 // seq of its newest snapshot; 0 = none
	Pending     int   // items in no snapshot yet
	Unacked     int   // items in a snapshot that are not acknowledged
	Fresh       int   // of those, the ones that were not told
	OpenedAt    notify.Time
	PendingAt   notify.Time // when the first of the pending items arrived that are not passive
	FlushAt     int64       // milliseconds; 0 = nothing is pending
	LastRaw     int64       // seq of its newest item
	LastSummary string      // of that item
	FirstAt     notify.Time
	LastAt      notify.Time
	Senders     []string // different ones, at most maxSenders
	Subjects    int      // what its items that are not acknowledged are about: see Raw.About
	Outcomes    Outcomes // of the subjects
	Passive     int      // pending items that wait for the next snapshot: they start no window
	Failing     bool     // an item with FlushFirst came, and no window was posted since
}

// maxSenders is how many people a summary counts.
const maxSenders = 50

// DigestTable is where digests are stored.
var DigestTable = ledger.NewTable(ledger.Table{
	Name: "inbox_digests",
	Columns: []string{"created_seq", "thread_id", "source", "resource_ref", "event_family", "open", "waiting", "revision", "newest",
		"pending", "unacked", "fresh", "opened_at", "pending_at", "flush_at", "last_raw", "first_at", "last_at", "senders", "last_summary",
		"subjects", "outcomes", "passive", "failing"},
	Key: []string{"created_seq"},
	Mutable: []string{"open", "waiting", "revision", "newest", "pending", "unacked", "fresh", "pending_at", "flush_at", "last_raw",
		"first_at", "last_at", "senders", "last_summary", "subjects", "outcomes", "passive", "failing"},
	Unique: ledger.ErrStale,
})

// The orders in which digests are found. At most one digest of a key is open.
var (
	DigestBySeq  = &ledger.Index{Table: DigestTable, Columns: []string{"created_seq"}}
	DigestOpen   = &ledger.Index{Table: DigestTable, Name: "inbox_digests_open", Columns: []string{"thread_id", "source", "resource_ref", "event_family"}, Where: []ledger.Only{{Column: "open", Values: []any{int64(1)}}}}
	DigestFlush  = &ledger.Index{Table: DigestTable, Name: "inbox_digests_flush", Columns: []string{"thread_id", "flush_at"}, Where: []ledger.Only{{Column: "waiting", Values: []any{int64(1)}}}}
	DigestThread = &ledger.Index{Table: DigestTable, Name: "inbox_digests_thread", Columns: []string{"thread_id", "created_seq"}}
)

// Table implements ledger.Row.
func (d *Digest) Table() *ledger.Table { return DigestTable }

// ID implements ledger.Row.
func (d *Digest) ID() any { return d.Seq }

// New implements ledger.Row.
func (d *Digest) New() bool { return d.Seq < 0 }

// Bytes implements ledger.Row.
func (d *Digest) Bytes() int { return len(d.ResourceRef) + len(d.EventFamily) }

// AssignSeqs implements ledger.Row.
func (d *Digest) AssignSeqs(first int64) {
	d.Seq, d.Newest, d.LastRaw = notify.AssignSeq(d.Seq, first), notify.AssignSeq(d.Newest, first), notify.AssignSeq(d.LastRaw, first)
}

// Values implements ledger.Row.
func (d *Digest) Values(first int64) (ledger.Values, error) {
	var senders []byte
	if len(d.Senders) > 0 {
		var err error
		if senders, err = json.Marshal(d.Senders); err != nil {
			return nil, err
		}
	}
	outcomes, err := d.Outcomes.column()
	if err != nil {
		return nil, err
	}
	return ledger.Values{
		notify.AssignSeq(d.Seq, first), d.ThreadID, d.Source, d.ResourceRef, d.EventFamily, ledger.Flag(d.Open), ledger.Flag(d.Pending > 0),
		int64(d.Revision), notify.AssignSeq(d.Newest, first), int64(d.Pending), int64(d.Unacked), int64(d.Fresh), d.OpenedAt.Milli(),
		d.PendingAt.Milli(), d.FlushAt, notify.AssignSeq(d.LastRaw, first), d.FirstAt.Milli(), d.LastAt.Milli(), senders, d.LastSummary,
		int64(d.Subjects), outcomes, int64(d.Passive), ledger.Flag(d.Failing),
	}, nil
}

// ReadDigest makes a digest of its columns.
func ReadDigest(v ledger.Values) (*Digest, error) {
	d := &Digest{
		Seq: v.Int(0), ThreadID: v.Text(1), Source: v.Text(2), ResourceRef: v.Text(3), EventFamily: v.Text(4), Open: v.Int(5) != 0,
		Revision: int(v.Int(7)), Newest: v.Int(8), Pending: int(v.Int(9)), Unacked: int(v.Int(10)), Fresh: int(v.Int(11)),
		OpenedAt: notify.TimeFromMilli(v.Int(12)), PendingAt: notify.TimeFromMilli(v.Int(13)), FlushAt: v.Int(14), LastRaw: v.Int(15),
		FirstAt: notify.TimeFromMilli(v.Int(16)), LastAt: notify.TimeFromMilli(v.Int(17)), LastSummary: v.Text(19),
		Subjects: int(v.Int(20)), Passive: int(v.Int(22)), Failing: v.Int(23) != 0,
	}
	if b := v.Blob(21); len(b) > 0 {
		if err := json.Unmarshal(b, &d.Outcomes); err != nil {
			return nil, fmt.Errorf("outcomes of digest %d: %w", d.Seq, err)
		}
	}
	if b := v.Blob(18); len(b) > 0 {
		if err := json.Unmarshal(b, &d.Senders); err != nil {
			return nil, fmt.Errorf("senders of digest %d: %w", d.Seq, err)
		}
	}
	return d, nil
}

// IsPending reports whether an item of the digest is in no snapshot yet. newest is the digest's
// newest snapshot, nil if there is none or it was removed, long after all of it was acknowledged:
// it shows everything that was posted and is not acknowledged, and what is pending came later.
func (d *Digest) IsPending(newest *Entry, r *Raw) bool {
	return d.Pending > 0 && r.AckedSeq == 0 && (newest == nil || order(r.Seq) > order(newest.LastRaw))
}

func (d *Digest) clone() *Digest {
	c := *d
	c.Senders, c.Outcomes = slices.Clone(d.Senders), maps.Clone(d.Outcomes)
	return &c
}

// count counts an item that is the newest one about its subject.
func (d *Digest) count(r *Raw) {
	d.Subjects++
	d.Outcomes.count(r.Outcome, 1)
}

// clear forgets what summaries are made of; takeAgain counts one of the items that are left.
func (d *Digest) clear() {
	d.FirstAt, d.LastAt, d.Senders, d.Subjects, d.Outcomes = notify.Time{}, notify.Time{}, nil, 0, nil
}

func (d *Digest) takeAgain(s ledger.State, r *Raw) {
	d.span(r)
	if isNewest(s, r) {
		d.count(r)
	}
}

// span extends the digest's time and people by those of an item.
func (d *Digest) span(r *Raw) {
	if d.FirstAt.IsZero() || r.OccurredAt.Before(d.FirstAt.Time) {
		d.FirstAt = r.OccurredAt
	}
	if d.LastAt.IsZero() || r.OccurredAt.After(d.LastAt.Time) {
		d.LastAt = r.OccurredAt
	}
	if r.Sender != "" && len(d.Senders) < maxSenders && !slices.Contains(d.Senders, r.Sender) {
		d.Senders = append(d.Senders, r.Sender)
		slices.Sort(d.Senders)
	}
}

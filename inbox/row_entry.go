package inbox

import (
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// EntryKind says what an entry shows.
type EntryKind string

// The kinds of entries.
const (
	KindItem     EntryKind = "item"     // one raw item
	KindSnapshot EntryKind = "snapshot" // a digest at one moment
)

// Entry is what is read and acknowledged, the row of it and what reads return.
// Only ToldByTurnID, AckedAt and SupersededBy ever change. Count is how many raw
// items it shows; FirstAt and LastAt are the least and the greatest OccurredAt of
// these.
type Entry struct {
	EntryID      notify.ID   `json:"entry_id"`
	Kind         EntryKind   `json:"kind"`
	DigestID     notify.ID   `json:"digest_id,omitzero"`
	Revision     int         `json:"revision,omitzero"`
	Source       string      `json:"source"`
	ResourceRef  string      `json:"resource_ref,omitzero"`
	EventFamily  string      `json:"event_family,omitzero"`
	Fallback     bool        `json:"fallback,omitzero"` // of a digest of what has no resource_ref: EventFamily is the kind of event
	Summary      string      `json:"summary"`
	Link         string      `json:"link,omitzero"` // where the newest that it is about can be looked at
	Count        int         `json:"count"`
	LastRawID    notify.ID   `json:"last_raw_id"`
	FirstAt      notify.Time `json:"first_at"`
	LastAt       notify.Time `json:"last_at"`
	PostedAt     notify.Time `json:"posted_at"`
	ToldByTurnID string      `json:"told_by_turn_id,omitzero"`
	AckedAt      notify.Time `json:"acked_at,omitzero"`
	SupersededBy notify.ID   `json:"superseded_by,omitzero"`

	// What it shows and is kept, the oldest first; MoreItems says that there may be more. Reads
	// with Read.IncludeItemIDs have them.
	ItemIDs   []notify.ID `json:"item_ids,omitempty"`
	MoreItems bool        `json:"more_items,omitzero"`

	ThreadID string `json:"-"`
	Seq      int64  `json:"-"` // of EntryID, and so on; provisional until the commit
	Digest   int64  `json:"-"`
	LastRaw  int64  `json:"-"`
	By       int64  `json:"-"` // of SupersededBy
	ToldSeq  int64  `json:"-"` // of the inbox/told that told it last; 0 = it is not told
	Unacked  int    `json:"-"` // items that are not acknowledged
	Fresh    bool   `json:"-"` // visible, with an item that is neither acknowledged nor told
	Leases   int    `json:"-"` // how often a lease has made it new again
	AtOnce   bool   `json:"-"` // an item that does not wait has posted it: it wakes at once
}

// Visible reports whether the entry is neither acknowledged nor superseded.
func (e *Entry) Visible() bool { return e.AckedAt.IsZero() && e.By == 0 }

// name sets the ids from the seqs.
func (e *Entry) name() {
	e.EntryID, e.DigestID, e.LastRawID, e.SupersededBy = EntryID(e.Seq), DigestID(e.Digest), RawID(e.LastRaw), EntryID(e.By)
	e.Fallback = e.Digest != 0 && e.ResourceRef == ""
}

// EntryTable is where entries are stored.
var EntryTable = ledger.NewTable(ledger.Table{
	Name: "inbox_entries",
	Columns: []string{"created_seq", "thread_id", "kind", "digest", "revision", "source", "resource_ref", "event_family", "summary",
		"count", "last_raw", "first_at", "last_at", "posted_at", "told_by_turn_id", "acked_at", "superseded_by", "unacked", "fresh", "told_seq",
		"leases", "at_once", "link"},
	Key:     []string{"created_seq"},
	Mutable: []string{"told_by_turn_id", "acked_at", "superseded_by", "unacked", "fresh", "told_seq", "leases"},
	Unique:  ledger.ErrStale,
})

func where(column string, n int64) []ledger.Only {
	return []ledger.Only{{Column: column, Values: []any{n}}}
}

// The orders in which entries are found.
var (
	EntryBySeq    = &ledger.Index{Table: EntryTable, Columns: []string{"created_seq"}}
	EntryOfThread = &ledger.Index{Table: EntryTable, Name: "inbox_entries_thread", Columns: []string{"thread_id", "created_seq"}}
	// EntryOpen has the entries that are not fully acknowledged.
	EntryOpen = &ledger.Index{Table: EntryTable, Name: "inbox_entries_open", Columns: []string{"thread_id", "created_seq"}, Where: where("acked_at", 0)}
	EntryNew  = &ledger.Index{Table: EntryTable, Name: "inbox_entries_new", Columns: []string{"thread_id", "created_seq"}, Where: where("fresh", 1)}
	// EntryOfDigest has the entries that are not fully acknowledged; those that
	// belong to no digest have digest 0.
	EntryOfDigest = &ledger.Index{Table: EntryTable, Name: "inbox_entries_digest", Columns: []string{"digest", "created_seq"}, Where: where("acked_at", 0)}
	// EntryTold has the entries that a turn was told, and that are not fully
	// acknowledged.
	EntryTold = &ledger.Index{Table: EntryTable, Name: "inbox_entries_told", Columns: []string{"told_by_turn_id", "created_seq"}, Where: where("acked_at", 0)}
)

// Table implements ledger.Row.
func (e *Entry) Table() *ledger.Table { return EntryTable }

// ID implements ledger.Row.
func (e *Entry) ID() any { return e.Seq }

// New implements ledger.Row.
func (e *Entry) New() bool { return e.Seq < 0 }

// Bytes implements ledger.Row.
func (e *Entry) Bytes() int {
	return len(e.Summary) + len(e.ResourceRef) + len(e.EventFamily) + len(e.Link)
}

// AssignSeqs implements ledger.Row.
func (e *Entry) AssignSeqs(first int64) {
	e.Seq, e.Digest = notify.AssignSeq(e.Seq, first), notify.AssignSeq(e.Digest, first)
	e.LastRaw, e.By = notify.AssignSeq(e.LastRaw, first), notify.AssignSeq(e.By, first)
	e.ToldSeq = notify.AssignSeq(e.ToldSeq, first)
	e.name()
}

// Values implements ledger.Row.
func (e *Entry) Values(first int64) (ledger.Values, error) {
	return ledger.Values{
		notify.AssignSeq(e.Seq, first), e.ThreadID, string(e.Kind), notify.AssignSeq(e.Digest, first), int64(e.Revision), e.Source,
		e.ResourceRef, e.EventFamily, e.Summary, int64(e.Count), notify.AssignSeq(e.LastRaw, first), e.FirstAt.Milli(), e.LastAt.Milli(),
		e.PostedAt.Milli(), e.ToldByTurnID, e.AckedAt.Milli(), notify.AssignSeq(e.By, first), int64(e.Unacked), ledger.Flag(e.Fresh),
		notify.AssignSeq(e.ToldSeq, first), int64(e.Leases), ledger.Flag(e.AtOnce), e.Link,
	}, nil
}

// ReadEntry makes an entry of its columns.
func ReadEntry(v ledger.Values) *Entry {
	e := &Entry{
		Seq: v.Int(0), ThreadID: v.Text(1), Kind: EntryKind(v.Text(2)), Digest: v.Int(3), Revision: int(v.Int(4)), Source: v.Text(5),
		ResourceRef: v.Text(6), EventFamily: v.Text(7), Summary: v.Text(8), Count: int(v.Int(9)), LastRaw: v.Int(10),
		FirstAt: notify.TimeFromMilli(v.Int(11)), LastAt: notify.TimeFromMilli(v.Int(12)), PostedAt: notify.TimeFromMilli(v.Int(13)),
		ToldByTurnID: v.Text(14), AckedAt: notify.TimeFromMilli(v.Int(15)), By: v.Int(16), Unacked: int(v.Int(17)), Fresh: v.Int(18) != 0,
		ToldSeq: v.Int(19), Leases: int(v.Int(20)), AtOnce: v.Int(21) != 0, Link: v.Text(22),
	}
	e.name()
	return e
}

// Group implements the grouping of rows that a rebuild needs; "" = none.
func (e *Entry) Group() string {
	if e.Digest == 0 {
		return ""
	}
	return group(e.Digest)
}

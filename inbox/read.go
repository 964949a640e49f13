package inbox

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/notify"
)

// Reader is the reading side of inboxes. Every method works on one snapshot.
type Reader interface {
	// ReadInbox reads a page of entries. A thread without an inbox has none.
	// Errors: ErrEntryNotFound for an AfterEntryID that is no id of an entry.
	ReadInbox(ctx context.Context, q Read) (Page, error)
	// ExpandEntry reads the raw items of an entry, the oldest first. Errors:
	// ErrEntryNotFound, ErrEntryExpired.
	ExpandEntry(ctx context.Context, q Expand) (Expanded, error)
	// InboxItems reads a page of the items that are kept, without their payloads. Errors:
	// notify.ErrBadCursor, ErrUnknownDigest.
	InboxItems(ctx context.Context, q ItemQuery) (ItemPage, error)
	// ListTimers reads all timers of an inbox, in the order of their creation.
	ListTimers(ctx context.Context, threadID string) ([]Timer, error)
	// InboxOf reads what thread/read shows of an inbox.
	InboxOf(ctx context.Context, threadID string) (Overview, error)
	// InboxRows reads the rows of the inboxes of these threads, as many as have
	// one.
	InboxRows(ctx context.Context, threadIDs []string) (map[string]*Inbox, error)
}

// Read selects entries. By default they are neither acknowledged nor superseded,
// the oldest first.
type Read struct {
	ThreadID          string
	AfterEntryID      notify.ID // in the order of the read; "" = from its beginning
	IncludeAcked      bool
	IncludeSuperseded bool
	IncludeItemIDs    bool // what each entry shows: Entry.ItemIDs
	Limit             int
	Newest            bool // the newest first
}

// Page is the answer to a Read. Latest is the newest seq of its snapshot.
type Page struct {
	Entries        []Entry
	Next           notify.ID // of the last entry, if there may be more; else ""
	UnackedEntries int       // visible ones of the whole inbox
	PendingItems   int
	Latest         int64
}

// Expand selects the raw items of an entry.
type Expand struct {
	ThreadID   string
	EntryID    notify.ID
	AfterRawID notify.ID
	Limit      int
}

// Expanded is the answer to an Expand.
type Expanded struct {
	Items  []RawItem
	Next   notify.ID // of the last item, if there are more; else ""
	Latest int64
}

// ItemQuery selects items of an inbox, the oldest first. Those that have expired are not among
// them.
type ItemQuery struct {
	ThreadID string
	State    ItemState // "" = any
	Source   string    // "" = any
	DigestID notify.ID // "" = any, or none
	Cursor   string    // Next of the page before, in the same order
	Limit    int
	Newest   bool // the newest first
}

// ItemPage is the answer to an ItemQuery. A page that has looked at many items may have few, or
// none, and a Next.
type ItemPage struct {
	Items  []RawItem
	Next   string // "" = this is the last page
	Latest int64
}

// ItemState says what has become of a raw item.
type ItemState string

// The states of a raw item.
const (
	ItemPending ItemState = "pending" // it waits in a digest, and no entry shows it yet
	ItemPosted  ItemState = "posted"  // an entry shows it
	ItemAcked   ItemState = "acked"
)

// ItemStates lists the states.
var ItemStates = []ItemState{ItemPending, ItemPosted, ItemAcked}

// RawItem is a raw item as inbox/items and inbox/expand return it. Only inbox/expand has the
// Payload, with Truncated and TotalBytes.
type RawItem struct {
	RawID           notify.ID      `json:"raw_id"`
	State           ItemState      `json:"state"`
	Source          string         `json:"source"`
	NativeID        string         `json:"native_id"`
	OccurredAt      notify.Time    `json:"occurred_at"`
	ReceivedAt      notify.Time    `json:"received_at"`
	Sender          string         `json:"sender,omitzero"`
	Summary         string         `json:"summary,omitzero"`
	About           string         `json:"about,omitzero"`
	Outcome         string         `json:"outcome,omitzero"`
	Link            string         `json:"link,omitzero"` // where it can be looked at
	Payload         jsontext.Value `json:"payload,omitzero"`
	Truncated       bool           `json:"truncated,omitzero"`
	TotalBytes      int64          `json:"total_bytes,omitzero"`
	DigestID        notify.ID      `json:"digest_id,omitzero"`
	SubscriptionIDs []string       `json:"subscription_ids,omitempty"` // that have let it in
	AckedAt         notify.Time    `json:"acked_at,omitzero"`
}

// ItemOf returns a raw item as reads return it, without its payload.
func ItemOf(r *Raw, body *Received, state ItemState) RawItem {
	return RawItem{
		RawID: RawID(r.Seq), State: state, Source: r.Source, NativeID: r.NativeID, OccurredAt: r.OccurredAt, ReceivedAt: r.ReceivedAt,
		Sender: r.Sender, Summary: body.Summary, Link: r.Link, About: r.About, Outcome: r.Outcome, DigestID: DigestID(r.Digest),
		SubscriptionIDs: body.SubscriptionIDs, AckedAt: r.AckedAt,
	}
}

// Overview is what thread/read shows of an inbox.
type Overview struct {
	Inbox         *Inbox // nil: nothing has ever arrived
	Subscriptions []Subscription
}

// Activity is what a subscription has done since the server started.
type Activity struct {
	Received    int64       `json:"received"`   // items stored
	Duplicates  int64       `json:"duplicates"` // items that were stored before
	Filtered    int64       `json:"filtered"`   // items that the filter left out
	Failed      int64       `json:"failed"`     // items that could not be stored or did not fit, or expressions that failed
	LastError   string      `json:"last_error,omitzero"`
	LastErrorAt notify.Time `json:"last_error_at,omitzero"`
}

package inbox

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/internal/sanitize"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// The source turns has the accepted ends of child turns, each once: its identity is
// the turn and the seq of that end. An end that is superseded before the agent was
// told is withdrawn.

// End is an entry that shows the accepted end of a child turn.
type End struct {
	Entry  *Entry
	TurnID string
	Seq    int64 // of the end
}

// EndID returns the identity of an accepted end.
func EndID(turnID string, seq int64) string { return turnID + ":" + strconv.FormatInt(seq, 10) }

// EndOf returns the inverse of EndID.
func EndOf(nativeID string) (turnID string, seq int64, ok bool) {
	turnID, digits, ok := strings.Cut(nativeID, ":")
	seq, err := strconv.ParseInt(digits, 10, 64)
	return turnID, seq, ok && err == nil
}

// EndItem returns the item of the accepted end of a child turn, whose result is r. The chain of a
// wake that tells it is one longer: see Chain. That of a job is acknowledged at once.
func EndItem(t *turns.Turn, r turns.Result) (Item, error) {
	payload, err := json.Marshal(r)
	return Item{
		Source: SourceTurns, NativeID: EndID(t.TurnID, t.AcceptedSeq), OccurredAt: t.AcceptedAt(), Summary: endSummary(&r),
		Payload: payload, Chain: t.Chain + 1, OfJob: t.Job != "",
	}, err
}

// endSummary describes in one line how a turn ended.
func endSummary(r *turns.Result) string {
	name := r.Title
	if name == "" {
		name = r.TurnID
	}
	words := r.Text
	if r.Error != nil {
		words = r.Error.Kind + ": " + r.Error.Message
	}
	s := string(r.State)
	if r.StoppedEarly() {
		s = turns.EarlyStop(r.StopReason)
	}
	if words := verdictWords(r); words != "" {
		s += ", " + words
	}
	s += ": " + name
	if words = strings.TrimSpace(words); words != "" {
		s += ": " + words
	}
	return sanitize.Line(s, MaxSummary)
}

// resultOf returns the result that the item of an end has; nil if the event is missing.
func resultOf(r *Received) *turns.Result {
	var out turns.Result
	if r == nil || json.Unmarshal(r.Payload, &out) != nil {
		return nil
	}
	return &out
}

// FreshEnds lists the entries of the source turns that are fresh, the oldest first.
func FreshEnds(b *Book) ([]End, error) {
	var list []*Entry
	b.rows.scan(EntryTable, ledger.Range{
		Index: EntryNew, Prefix: []any{b.rows.threadID}, Only: []ledger.Only{{Column: "source", Values: []any{SourceTurns}}},
	}, func(row ledger.Row) bool {
		if e := row.(*Entry); b.rows.overlay[EntryTable][e.ID()] == nil {
			list = append(list, e)
		}
		return true
	})
	for _, row := range b.rows.overlay[EntryTable] {
		if e := row.(*Entry); e.Fresh && e.Source == SourceTurns {
			list = append(list, e)
		}
	}
	sortEntries(list)
	return EndsAmong(b, list)
}

// ToldEnds lists the ends that a turn was told and that are not acknowledged.
func ToldEnds(b *Book, turnID string) ([]End, error) { return EndsAmong(b, b.rows.toldBy(turnID)) }

// EndsAmong returns those of the entries that show ends of child turns.
func EndsAmong(b *Book, entries []*Entry) (list []End, err error) {
	for _, e := range entries {
		if e.Source != SourceTurns {
			continue
		}
		r, ok := b.rows.Row(RawTable, e.LastRaw).(*Raw)
		if b.rows.err != nil {
			return nil, b.rows.err
		}
		if !ok {
			continue
		}
		if turnID, seq, ok := EndOf(r.NativeID); ok {
			list = append(list, End{Entry: e, TurnID: turnID, Seq: seq})
		}
	}
	return list, nil
}

// EntryOfEnd returns the seq of the entry that shows an end in the inbox of a thread,
// 0 if the inbox does not have it.
func EntryOfEnd(r ledger.Reader, threadID, nativeID string) (int64, error) {
	v, err := r.Get(RawByNative, threadID, SourceTurns, nativeID)
	if v == nil || err != nil {
		return 0, err
	}
	return v.Int(0) + 1, nil // it was posted with the item, as the next event
}

// EachFreshEnd calls f with the fresh ends in the inbox of a thread, the oldest first,
// until it returns false. Their Entry is nil.
func EachFreshEnd(r ledger.Reader, threadID string, f func(End) bool) error {
	return r.Scan(ledger.Range{
		Index: EntryNew, Prefix: []any{threadID}, Only: []ledger.Only{{Column: "source", Values: []any{SourceTurns}}},
	}, func(v ledger.Values) error {
		raw, err := r.Get(RawBySeq, ReadEntry(v).LastRaw)
		if raw == nil || err != nil {
			return err
		}
		turnID, seq, ok := EndOf(ReadRaw(raw).NativeID)
		if ok && !f(End{TurnID: turnID, Seq: seq}) {
			return ledger.ErrEnough
		}
		return nil
	})
}

// FreshFromChildren lists the fresh messages that were sent by a child thread, the
// oldest first, at most MaxToldEntries.
func FreshFromChildren(b *Book) (list []*Entry, err error) {
	children := map[string]bool{} // by sender
	b.rows.scan(EntryTable, ledger.Range{
		Index: EntryNew, Prefix: []any{b.rows.threadID}, Only: []ledger.Only{{Column: "source", Values: []any{SourceMessage}}},
	}, func(row ledger.Row) bool {
		e := row.(*Entry)
		raw, ok := b.rows.Row(RawTable, e.LastRaw).(*Raw)
		if !ok || !e.Fresh || !threads.ValidID(raw.Sender) {
			return true
		}
		is, known := children[raw.Sender]
		if !known {
			v, err := b.rows.committed.Get(threads.ByID, raw.Sender)
			if b.rows.failed(err) {
				return false
			}
			if v != nil {
				t, err := threads.Read(v)
				if b.rows.failed(err) {
					return false
				}
				is = t.Level > 0 && t.Parent != nil && t.Parent.ThreadID == b.rows.threadID
			}
			children[raw.Sender] = is
		}
		if is {
			list = append(list, e)
		}
		return len(list) < MaxToldEntries
	})
	return list, b.rows.err
}

// ReaderOf returns what the Book reads from.
func ReaderOf(b *Book) ledger.Reader { return b.rows.committed }

// Withdraw acknowledges the entry of an end that was superseded before it was told.
func Withdraw(b *Book, e *Entry) { b.add(notify.InboxWithdrawn, &Withdrawn{EntryID: e.EntryID}) }

// AckEnds acknowledges the ends of these turns that turn/await has told. It returns
// the error of reading.
func AckEnds(b *Book, ends map[string]int64) error {
	var list []*Entry
	for turnID, seq := range ends {
		raw := b.rows.stored(&Item{Source: SourceTurns, NativeID: EndID(turnID, seq)})
		if raw == nil || raw.AckedSeq != 0 {
			continue
		}
		if e := b.rows.entryOfItem(raw.Seq); e != nil {
			list = append(list, e)
		}
	}
	sortEntries(list)
	_, err := b.ackEntries(list, ByAwait, "")
	return err
}

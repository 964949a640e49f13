package engine_test

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/persist/sqlite"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// inboxes folds events of turns and inboxes: the threads into those of a checker,
// the rest into rows of its own, which compare compares with the stored ones (I2).
type inboxes struct {
	c    *checker
	rows map[*ledger.Table]map[any]ledger.Row
}

// inboxTables are the tables with rows of inboxes, and an index that has all of
// them.
var inboxTables = []struct {
	table *ledger.Table
	all   *ledger.Index
	read  func(ledger.Values) (ledger.Row, error)
}{
	{inbox.Table, inbox.ByThread, func(v ledger.Values) (ledger.Row, error) { return inbox.ReadRow(v) }},
	{inbox.RawTable, inbox.RawBySeq, func(v ledger.Values) (ledger.Row, error) { return inbox.ReadRaw(v), nil }},
	{inbox.DigestTable, inbox.DigestBySeq, func(v ledger.Values) (ledger.Row, error) { return inbox.ReadDigest(v) }},
	{inbox.EntryTable, inbox.EntryBySeq, func(v ledger.Values) (ledger.Row, error) { return inbox.ReadEntry(v), nil }},
	{inbox.TimerTable, inbox.TimerByID, func(v ledger.Values) (ledger.Row, error) { return inbox.ReadTimer(v), nil }},
	{inbox.SubscriptionTable, inbox.SubscriptionByID, func(v ledger.Values) (ledger.Row, error) { return inbox.ReadSubscription(v) }},
}

func newInboxFold(c *checker) *inboxes {
	return &inboxes{c, map[*ledger.Table]map[any]ledger.Row{}}
}

// Row implements ledger.State.
func (s *inboxes) Row(t *ledger.Table, id any) ledger.Row {
	if t == threads.Table {
		if row := s.c.threads[id.(string)]; row != nil {
			return row
		}
		return nil
	}
	if key, ok := id.(inbox.OpenKey); ok {
		for _, row := range s.rows[t] {
			if d := row.(*inbox.Digest); d.Open && key == (inbox.OpenKey{ThreadID: d.ThreadID, Source: d.Source, ResourceRef: d.ResourceRef, EventFamily: d.EventFamily}) {
				return d
			}
		}
		return nil
	}
	if key, ok := id.(inbox.AboutKey); ok {
		var newest *inbox.Raw
		for _, row := range s.rows[t] {
			if r := row.(*inbox.Raw); r.About != "" && r.AboutKey() == key && (newest == nil || r.NewerThan(newest)) {
				newest = r
			}
		}
		if newest == nil {
			return nil
		}
		return newest
	}
	return s.rows[t][id]
}

// Rows implements ledger.State.
func (s *inboxes) Rows(t *ledger.Table, group string, visit func(ledger.Row) bool) {
	var list []ledger.Row
	last, through := inbox.ThroughOf(group)
	for _, row := range s.rows[t] {
		if through && seqOfRow(row) <= last && threadOfRow(row) == s.c.now.ThreadID {
			list = append(list, row)
		} else if g, ok := row.(interface{ Group() string }); !through && ok && g.Group() == group {
			list = append(list, row)
		}
	}
	slices.SortFunc(list, func(x, y ledger.Row) int { return cmp.Compare(seqOfRow(y), seqOfRow(x)) })
	for _, row := range list {
		if !visit(row) {
			return
		}
	}
}

// Put implements ledger.State.
func (s *inboxes) Put(row ledger.Row) {
	switch r := row.(type) {
	case *threads.Thread:
		s.c.threads[r.ThreadID] = r
	case *ledger.Removal:
		for id, row := range s.rows[r.Of] {
			if seqOfRow(row) == r.Key[0].(int64) {
				delete(s.rows[r.Of], id)
			}
		}
	default:
		if s.rows[row.Table()] == nil {
			s.rows[row.Table()] = map[any]ledger.Row{}
		}
		s.rows[row.Table()][row.ID()] = row
	}
}

// removed follows the removal of the whole inbox of a closed thread.
func (s *inboxes) removed(threadID string) {
	for _, rows := range s.rows {
		for id, row := range rows {
			if threadOfRow(row) == threadID {
				delete(rows, id)
			}
		}
	}
}

func seqOfRow(row ledger.Row) int64 {
	switch r := row.(type) {
	case *inbox.Raw:
		return r.Seq
	case *inbox.Digest:
		return r.Seq
	case *inbox.Entry:
		return r.Seq
	case *inbox.Timer:
		return r.CreatedSeq
	case *inbox.Subscription:
		return r.CreatedSeq
	}
	return 0
}

func threadOfRow(row ledger.Row) string {
	return reflect.ValueOf(row).Elem().FieldByName("ThreadID").String()
}

// schedule completes the row of an inbox: Fold leaves these members alone.
func (s *inboxes) schedule(box *inbox.Inbox) {
	least := func(at *int64, v int64) {
		if *at == 0 || v < *at {
			*at = v
		}
	}
	box.FlushAt, box.TimerAt = 0, 0
	for _, row := range s.rows[inbox.DigestTable] {
		if d := row.(*inbox.Digest); d.ThreadID == box.ThreadID && d.Pending > 0 {
			least(&box.FlushAt, d.FlushAt)
		}
	}
	for _, row := range s.rows[inbox.TimerTable] {
		if t := row.(*inbox.Timer); t.ThreadID == box.ThreadID {
			least(&box.TimerAt, t.NextAt.Milli())
		}
	}
}

// compare compares the stored rows with those that the log makes.
func (s *inboxes) compare(t testing.TB, reader *sqlite.Reader) {
	t.Helper()
	if err := reader.Read(bg, func(r ledger.Reader) error {
		for _, x := range inboxTables {
			left := map[any]ledger.Row{}
			for id, row := range s.rows[x.table] {
				left[id] = row
			}
			if err := r.Scan(ledger.Range{Index: x.all}, func(v ledger.Values) error {
				row, err := x.read(slices.Clone(v))
				if err != nil {
					return err
				}
				want := left[row.ID()]
				delete(left, row.ID())
				if box, ok := want.(*inbox.Inbox); ok {
					s.schedule(box)
					stored := row.(*inbox.Inbox)
					stored.Lagged, stored.LaggedThrough = nil, nil // what did not fit is in no event
					box.LeaseAt = stored.LeaseAt                   // the log does not have the policy in force
					if err := checkLease(t, r, stored); err != nil {
						return err
					}
				}
				if have, log := values(t, row), values(t, want); have != log {
					t.Errorf("a row of %s is\n\t%s\nthe log makes\n\t%s", x.table.Name, have, log)
				}
				return nil
			}); err != nil {
				return err
			}
			for _, row := range left {
				if raw, ok := row.(*inbox.Raw); ok && raw.Expired {
					continue // its identity need not be remembered any more
				}
				t.Errorf("a row of %s is missing, the log makes\n\t%s", x.table.Name, values(t, row))
			}
		}
		return nil
	}); err != nil {
		t.Fatalf("read the rows of inboxes: %v", err)
	}
	s.counts(t)
}

// checkLease checks that an inbox looks at the leases of its told entries when the first is over, or
// before.
func checkLease(t testing.TB, r ledger.Reader, box *inbox.Inbox) error {
	t.Helper()
	v, err := r.Get(threads.BriefByID, box.ThreadID)
	if err != nil || v == nil || box.Policy.ToldLeaseMs == nil || *box.Policy.ToldLeaseMs == 0 {
		return err
	}
	th, err := threads.ReadBrief(v)
	if err != nil || !th.Open() {
		return err
	}
	at, err := inbox.LeaseNext(r, box, time.Duration(*box.Policy.ToldLeaseMs)*time.Millisecond, time.Now())
	if at != 0 && (box.LeaseAt == 0 || box.LeaseAt > at) {
		t.Errorf("the inbox of %s looks at leases at %d, the first is over at %d", box.ThreadID, box.LeaseAt, at)
	}
	return err
}

func values(t testing.TB, row ledger.Row) string {
	t.Helper()
	if row == nil || reflect.ValueOf(row).IsNil() {
		return "nothing"
	}
	v, err := row.Values(0)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%q", v)
}

// counts checks what inboxes count, and that every item that is not acknowledged
// is pending or in exactly one visible entry.
func (s *inboxes) counts(t testing.TB) {
	t.Helper()
	for _, row := range s.rows[inbox.Table] {
		box := row.(*inbox.Inbox)
		var pending, unacked, visible, fresh, shown int
		for _, row := range s.rows[inbox.RawTable] {
			if r := row.(*inbox.Raw); r.ThreadID == box.ThreadID && r.AckedSeq == 0 {
				unacked++
			}
		}
		for _, row := range s.rows[inbox.DigestTable] {
			if d := row.(*inbox.Digest); d.ThreadID == box.ThreadID {
				pending += d.Pending
			}
		}
		for _, row := range s.rows[inbox.EntryTable] {
			if e := row.(*inbox.Entry); e.ThreadID == box.ThreadID && e.Visible() {
				visible++
				shown += e.Unacked
				if e.Fresh {
					fresh++
				}
			}
		}
		if box.PendingItems != pending || box.UnackedItems != unacked || box.UnackedEntries != visible || box.NewEntries != fresh || pending+shown != unacked {
			t.Errorf("the inbox of %s counts %+v, its rows %d pending, %d unacked, %d visible, %d new, %d in visible entries",
				box.ThreadID, *box, pending, unacked, visible, fresh, shown)
		}
	}
}

// isInbox reports whether the method is one of the events of inboxes.
func isInbox(method string) bool { return inboxBody(method) != nil }

// inboxBody is an empty body of an event of inboxes; nil if it is none.
func inboxBody(method string) any {
	for i := range inbox.Events {
		if inbox.Events[i].Method == method {
			return inbox.Events[i].New()
		}
	}
	return nil
}

// inboxEvent folds an event into threads and inboxes.
func (c *checker) inboxEvent(e event, body any) {
	c.now = e
	h := e.header()
	switch b := body.(type) {
	case *inbox.Expired:
		if b.SubjectThreadID != "" {
			c.inboxes.removed(b.SubjectThreadID)
			return
		}
	case *inbox.Told:
		c.told(e, b)
	case *inbox.Acked:
		c.ackedByTurn(e, b)
	case *inbox.Received:
		if b.RawID != inbox.RawID(e.Seq) {
			c.errorf(e, "has the id %s", b.RawID)
		}
		c.endArrived(e, b)
	case *inbox.Posted:
		if b.Entry.EntryID != inbox.EntryID(e.Seq) {
			c.errorf(e, "has the id %s", b.Entry.EntryID)
		}
	}
	if isInbox(e.Method) {
		inbox.Fold(c.inboxes, &h, body)
	} else {
		inbox.FoldTurn(c.inboxes, &h, body)
	}
}

// endArrived checks that the end of a child turn has what its agent has said at last.
func (c *checker) endArrived(e event, b *inbox.Received) {
	c.t.Helper()
	turnID, _, is := inbox.EndOf(b.NativeID)
	var r turns.Result
	if b.Source != inbox.SourceTurns || !is || json.Unmarshal(b.Payload, &r) != nil {
		return
	}
	switch said, whole := c.said(turnID); {
	case !whole || strings.Contains(said, "bytes left out"):
		if !r.TextTruncated {
			c.errorf(e, "%s was cut, and has a whole text of %d bytes", turnID, len(r.Text))
		}
	case said != "" && (r.Text != said || r.TextTruncated):
		c.errorf(e, "%s has the text %.80q, cut: %v; its agent has said %.80q", turnID, r.Text, r.TextTruncated, said)
	}
}

// told checks that a turn is told only what is new, while it is active.
func (c *checker) told(e event, b *inbox.Told) {
	c.t.Helper()
	if len(b.EntryIDs) == 0 {
		c.errorf(e, "tells nothing")
	}
	if tn := c.turns[b.TurnID]; tn == nil || tn.State.Ended() {
		c.errorf(e, "the turn %s is not active", b.TurnID)
	}
	for _, id := range b.EntryIDs {
		seq, _ := id.Seq(inbox.EntryPrefix)
		if row, ok := c.inboxes.Row(inbox.EntryTable, seq).(*inbox.Entry); !ok || !row.Fresh {
			c.errorf(e, "%s is not new", id)
		}
	}
}

// ackedByTurn checks that a turn acknowledges only what it was told: entries, and snapshots
// of a digest of which it was told another one with all that is left of them.
func (c *checker) ackedByTurn(e event, b *inbox.Acked) {
	c.t.Helper()
	if b.By != inbox.ByTurn {
		return
	}
	told := map[int64]int64{} // by digest: the last item that the turn was told
	var others []*inbox.Entry
	for _, id := range b.EntryIDs {
		seq, _ := id.Seq(inbox.EntryPrefix)
		switch row, ok := c.inboxes.Row(inbox.EntryTable, seq).(*inbox.Entry); {
		case !ok:
			c.errorf(e, "%s is not there", id)
		case row.ToldByTurnID != b.TurnID:
			others = append(others, row)
		case row.Digest != 0:
			told[row.Digest] = max(told[row.Digest], row.LastRaw)
		}
	}
	for _, row := range others {
		for _, raw := range c.inboxes.rows[inbox.RawTable] {
			if r := raw.(*inbox.Raw); (row.Digest == 0 || r.Digest == row.Digest) && r.AckedSeq == 0 && r.Seq <= row.LastRaw && r.Seq > told[row.Digest] {
				c.errorf(e, "%s has %s, which the turn was not told", row.EntryID, inbox.RawID(r.Seq))
				break
			}
		}
	}
}

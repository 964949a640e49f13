package persisttest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// inboxHistories runs random histories of inboxes. In each every item stays
// pending, or in exactly one visible entry, until it is acknowledged; and the rows
// of all are those that the log gives.
func inboxHistories(t *testing.T, h Harness) {
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		x := &inboxHistory{inboxTest: &inboxTest{NewMaker(t, h.Store, fmt.Sprint("thread_", n)).Start(), h}, r: r}
		x.Commit()
		for range 20 {
			if pick(r, 5, "turn") == 0 {
				x.turns()
			} else {
				x.known, x.raws = x.readable() // a decision reads one snapshot, and nothing else
				x.Book(func(b *inbox.Book) (err error) {
					for range 1 + pick(r, 3, "commands") {
						err = errors.Join(err, x.command(b))
					}
					return err
				})
			}
			x.Commit()
			x.Later(time.Duration(pick(r, 50, "seconds")) * time.Second)
		}
		x.row()
		x.nothingIsLost()
	})
	refolded(t, h)
}

// inboxHistory is one random history.
type inboxHistory struct {
	*inboxTest
	r     *rapid.T
	known []notify.ID // entries that a client could name
	raws  []notify.ID // and items
	turn  string      // that runs; "" if none
	told  string      // the turn that was told last
}

// outcomes are more than a digest names.
var outcomes = []string{"", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "other"}

func (x *inboxHistory) items(n int) (list []inbox.Item) {
	for range n {
		it := inbox.Item{Source: "ci", NativeID: fmt.Sprint(pick(x.r, 100, "id")), Payload: []byte(`{}`), Sender: fmt.Sprint("p", pick(x.r, 3, "sender"))}
		if pick(x.r, 2, "about") > 0 {
			it.About, it.Outcome = fmt.Sprint("subject ", pick(x.r, 3, "subject")), rapid.SampledFrom(outcomes).Draw(x.r, "outcome")
			it.Summary = fmt.Sprint(it.About, " says ", it.NativeID)
		}
		if pick(x.r, 3, "occurred") > 0 { // senders deliver in any order
			it.OccurredAt = notify.TimeOf(x.clock.Add(time.Duration(2*pick(x.r, 100, "occurred")-100) * time.Second))
		}
		switch pick(x.r, 5, "grouped") {
		case 0:
		case 1:
			it.Variant = fmt.Sprint("kind ", pick(x.r, 2, "variant"))
		default:
			it.Grouping = &inbox.Grouping{
				ResourceRef: fmt.Sprint("pr:", pick(x.r, 2, "ref")), EventFamily: "comments",
				Flush:  rapid.SampledFrom([]inbox.Flush{"", "", "", inbox.FlushImmediate, inbox.FlushFirst, inbox.FlushPassive}).Draw(x.r, "flush"),
				Breaks: rapid.SampledFrom([]inbox.Breaks{"", "", "", "", inbox.BreaksBefore, inbox.BreaksAfter}).Draw(x.r, "breaks"),
			}
		}
		list = append(list, it)
	}
	return list
}

// command decides something that a client or an engine could ask for now.
func (x *inboxHistory) command(b *inbox.Book) (err error) {
	switch pick(x.r, 14, "command") {
	case 0, 1, 2, 3:
		_, err = b.Ingest(x.items(1 + pick(x.r, 8, "items")))
	case 4:
		err = b.FlushDue()
	case 5:
		_, err = b.FlushAll(inbox.ReasonManual)
	case 6, 7:
		err = x.ack(b)
	case 8:
		var list []*inbox.Entry
		if list, err = b.Fresh(nil); len(list) > 0 {
			x.told = fmt.Sprintf("turn_of_%s_%d", x.ID, len(x.Turns)) // ids of turns are unique in the whole log
			b.Tell(list[:1+pick(x.r, len(list), "told")], x.told)
		}
	case 9:
		if x.told != "" {
			err = b.Untell(x.told, true, 0)
		}
	case 10:
		if x.told != "" {
			err = b.AckTold(x.told)
		}
	case 11:
		_, err = b.WakeNow("")
	case 12:
		_, err = b.Expire(x.clock.Add(-time.Duration(pick(x.r, 90, "kept")) * time.Second))
	default:
		err = x.manage(b)
	}
	return err
}

func (x *inboxHistory) ack(b *inbox.Book) error {
	known := x.known
	if len(known) == 0 {
		return nil
	}
	c := inbox.Ack{}
	switch one := known[pick(x.r, min(100, len(known)), "entry")]; pick(x.r, 4, "ack") {
	case 3:
		for range 1 + pick(x.r, 3, "items") {
			c.RawIDs = append(c.RawIDs, x.raws[pick(x.r, min(20, len(x.raws)), "item")])
		}
	case 0:
		c.ThroughEntryID = one
	case 1:
		seq, _ := one.Seq(inbox.EntryPrefix)
		c.All, c.AsOfSeq = true, &seq
	default:
		c.EntryIDs = []notify.ID{one, known[pick(x.r, min(100, len(known)), "another")]}
	}
	_, err := b.Ack(c)
	bad, _ := errors.AsType[*turns.InvalidError](err)
	switch {
	case errors.Is(err, inbox.ErrEntryExpired), errors.Is(err, inbox.ErrItemExpired): // this unit has removed it
		return nil
	case bad != nil && bad.Reason == inbox.ReasonPending:
		return nil
	}
	return err
}

// readable returns the newest entries, also those that are superseded, and the newest items.
func (x *inboxHistory) readable() (ids, raws []notify.ID) {
	for _, it := range x.itemsIn("") {
		raws = append(raws, it.RawID)
	}
	page, err := x.h.Store.ReadInbox(context.Background(), inbox.Read{ThreadID: x.ID, IncludeAcked: true, IncludeSuperseded: true, Newest: true})
	if err != nil {
		x.t.Fatal(err)
	}
	for _, e := range page.Entries {
		ids = append(ids, e.EntryID)
	}
	return ids, raws
}

// itemsIn reads the items that have a state, the newest first, in pages of seven.
func (x *inboxHistory) itemsIn(state inbox.ItemState) (list []inbox.RawItem) {
	x.t.Helper()
	q := inbox.ItemQuery{ThreadID: x.ID, State: state, Limit: 7, Newest: true}
	for {
		page, err := x.h.Store.InboxItems(context.Background(), q)
		if err != nil {
			x.t.Fatal(err)
		}
		list = append(list, page.Items...)
		if q.Cursor = page.Next; q.Cursor == "" {
			return list
		}
	}
}

func (x *inboxHistory) manage(b *inbox.Book) error {
	id := fmt.Sprint("id", pick(x.r, 3, "id"))
	err := error(nil)
	switch pick(x.r, 8, "manage") {
	case 0:
		_, _, err = b.CreateTimer(inbox.CreateTimer{TimerID: id, EverySeconds: 60, Text: "again"})
	case 1:
		_, _, err = b.CreateTimer(inbox.CreateTimer{TimerID: id, At: notify.TimeOf(x.clock.Add(time.Minute)), Text: "once"})
	case 2:
		err = b.DeleteTimer(id)
	case 3:
		_, _, err = b.Subscribe(inbox.Subscribe{SubscriptionID: id, Source: "ci"})
	case 4:
		err = b.Unsubscribe(id)
	case 5:
		b.Lag(inbox.SourceEvents, 2)
	case 6:
		enabled := rapid.Bool().Draw(x.r, "enabled")
		_, err = b.Configure(inbox.Configure{Policy: inbox.Policy{Enabled: &enabled}}, func(p inbox.Policy) inbox.Settings { return p.Settings(inbox.WakeIdle) })
	default:
		err = errors.Join(b.FireDue(), b.PostLags())
	}
	if errors.Is(err, inbox.ErrConflict) || errors.Is(err, inbox.ErrTimerNotFound) || errors.Is(err, inbox.ErrSubscriptionNotFound) {
		return nil // nothing has changed
	}
	return err
}

// turns starts or ends a turn: it changes what wakes the thread.
func (x *inboxHistory) turns() {
	if x.turn == "" {
		x.turn = fmt.Sprintf("turn_of_%s_%d", x.ID, len(x.Turns))
		origin := turns.OriginClient
		if x.Inbox != nil && x.Inbox.NewEntries > 0 && rapid.Bool().Draw(x.r, "wake") { // nothing else wakes
			origin = turns.OriginWake
		}
		x.Add(notify.TurnStarted, x.turn, "", &turns.StartedEvent{
			Type: "started", State: turns.Active, StartedAt: notify.TimeOf(x.clock), Origin: origin,
		})
		return
	}
	end := &turns.EndedEvent{Type: "interrupted", State: turns.Interrupted, CompletedAt: notify.TimeOf(x.clock)}
	end.By = rapid.SampledFrom([]turns.By{turns.ByClient, turns.ByServer}).Draw(x.r, "by")
	x.Add(notify.TurnInterrupted, x.turn, "", end)
	x.turn = ""
}

// nothingIsLost checks that what is not acknowledged is pending or in exactly one
// visible entry, and that each visible entry shows as many items as it says.
func (x *inboxHistory) nothingIsLost() {
	x.t.Helper()
	ctx := context.Background()
	page, err := x.h.Store.ReadInbox(ctx, inbox.Read{ThreadID: x.ID, Limit: 1000, IncludeItemIDs: true})
	if err != nil {
		x.t.Fatal(err)
	}
	var seen []notify.ID
	for _, e := range page.Entries {
		q := inbox.Expand{ThreadID: x.ID, EntryID: e.EntryID, Limit: 1000}
		out, err := x.h.Store.ExpandEntry(ctx, q)
		if err != nil || len(out.Items) != e.Count {
			x.t.Fatalf("%s shows %d items, it has %d, %v", e.EntryID, e.Count, len(out.Items), err)
		}
		for i, it := range out.Items {
			if len(e.ItemIDs) != len(out.Items) || e.ItemIDs[i] != it.RawID || e.MoreItems || it.State != inbox.ItemPosted {
				x.t.Fatalf("%s has the items %v, it shows %+v", e.EntryID, e.ItemIDs, out.Items)
			}
			if !it.AckedAt.IsZero() || slices.Contains(seen, it.RawID) {
				x.t.Fatalf("%s in %s is acknowledged, or in another entry", it.RawID, e.EntryID)
			}
			seen = append(seen, it.RawID)
		}
	}
	box := x.Inbox
	if box == nil {
		box = &inbox.Inbox{}
	}
	if len(seen)+box.PendingItems != box.UnackedItems || len(page.Entries) != box.UnackedEntries ||
		page.PendingItems != box.PendingItems || page.UnackedEntries != box.UnackedEntries {
		x.t.Fatalf("%d entries with %d items can be read; the row is %+v", len(page.Entries), len(seen), box)
	}
	posted, pending, acked := x.itemsIn(inbox.ItemPosted), x.itemsIn(inbox.ItemPending), x.itemsIn(inbox.ItemAcked)
	for _, it := range posted {
		if !slices.Contains(seen, it.RawID) {
			x.t.Fatalf("%+v is posted, and no visible entry shows it", it)
		}
	}
	if all := x.itemsIn(""); len(posted) != len(seen) || len(pending) != box.PendingItems || len(all) != len(posted)+len(pending)+len(acked) {
		x.t.Fatalf("%d items: %d posted, %d pending, %d acknowledged; visible are %d, pending %d", len(all), len(posted), len(pending), len(acked), len(seen), box.PendingItems)
	}
}

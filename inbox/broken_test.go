package inbox

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/notify"
)

// broken is a rule that is broken on purpose, between the decision and the
// commit. nil breaks nothing.
type broken struct {
	// command replaces what a client asks to acknowledge; nil changes nothing.
	command func(*Book, Ack) Ack
	// event replaces the body of an event; nil leaves the event out. b has the rows
	// as the events before it leave them. last says that the unit ends with it.
	event func(h *history, b *Book, body any, last bool) any
	// caught are parts of the messages by which the model may notice it.
	caught []string
}

func (x *broken) ack(b *Book, c Ack) Ack {
	if x == nil || x.command == nil {
		return c
	}
	return x.command(b, c)
}

// tamper makes the unit anew of its broken events, and its rows of what these
// fold to.
func (x *broken) tamper(h *history, u *memUnit, b **Book) {
	if x == nil || x.event == nil || len(u.drafts) == 0 {
		return
	}
	drafts, old := u.drafts, *b
	fresh, next := h.w.begin()
	*u = *fresh
	next.rows.unit = u
	for i := range drafts {
		d := &drafts[i]
		if !strings.HasPrefix(d.Method, "inbox/") && !strings.HasPrefix(d.Method, "timer/") {
			u.turnEvent(next, d.Method, d.Header.TurnID, d.Header.Attempt, d.Body)
		} else if body := x.event(h, next, d.Body, i == len(drafts)-1); body != nil {
			next.add(d.Method, body)
		}
	}
	if old.rows.box != nil && next.rows.box != nil { // what did not fit is in no event
		box := next.rows.box.clone()
		box.Lagged, box.LaggedThrough = old.rows.box.Lagged, old.rows.box.LaggedThrough
		next.rows.Put(box)
	}
	*b = next
}

// brokenRules are mistakes that builds of such inboxes have made.
var brokenRules = map[string]*broken{
	"the window slides without a cap": {
		event: func(_ *history, b *Book, body any, _ bool) any {
			r, ok := body.(*Received)
			if !ok || r.DigestID == "" || r.Flush == FlushPassive || r.Fallback {
				return body
			}
			c := *r
			c.FlushAt = notify.TimeOf(b.Now.Add(b.Settings.Window))
			return &c
		},
		caught: []string{"P6", "the digest"},
	},
	"a fallback waits for more without a cap": {
		event: func(_ *history, b *Book, body any, _ bool) any {
			return fallbackWaits(body, b.Now.Add(b.Settings.WakeWindow))
		},
		caught: []string{"P6"},
	},
	"a fallback waits as long as a group": {
		event: func(_ *history, b *Book, body any, _ bool) any {
			return fallbackWaits(body, b.Now.Add(b.Settings.Window))
		},
		caught: []string{"P6", "the digest"},
	},
	"an entry acknowledges its whole digest": {
		command: func(b *Book, c Ack) Ack {
			for i, id := range c.EntryIDs {
				if e, err := b.rows.entryOf(id); err == nil && e.Digest != 0 {
					c.EntryIDs = append([]notify.ID{}, c.EntryIDs...)
					c.EntryIDs[i] = EntryID(b.rows.Row(DigestTable, e.Digest).(*Digest).Newest)
				}
			}
			return c
		},
		caught: []string{"P2"},
	},
	"an item acknowledges what its entry shows": {
		command: func(b *Book, c Ack) Ack {
			if c.RawIDs == nil {
				return c
			}
			var ids []notify.ID
			for _, id := range c.RawIDs {
				r, err := b.rows.itemOf(id)
				if err != nil || b.rows.isPending(r) {
					return c
				}
				if r.Digest == 0 {
					ids = append(ids, b.rows.entryOfItem(r.Seq).EntryID)
				} else if d, ok := b.rows.Row(DigestTable, r.Digest).(*Digest); ok {
					ids = append(ids, EntryID(d.Newest))
				}
			}
			return Ack{EntryIDs: ids}
		},
		caught: []string{"P2", "inbox/acked has the items"},
	},
	"what is pending is acknowledged": {
		command: func(b *Book, c Ack) Ack {
			for _, id := range c.RawIDs {
				if r, err := b.rows.itemOf(id); err == nil && b.rows.isPending(r) {
					b.flush(b.rows.Row(DigestTable, r.Digest).(*Digest), ReasonManual, false)
				}
			}
			return c
		},
		caught: []string{"ack: <nil>"},
	},
	"through skips superseded entries": {
		command: func(b *Book, c Ack) Ack {
			if c.ThroughEntryID == "" {
				return c
			}
			e, err := b.rows.entryOf(c.ThroughEntryID)
			if err != nil {
				return c
			}
			c = Ack{EntryIDs: []notify.ID{}}
			list, _ := b.rows.visibleAt(1<<60, 0, 1<<60)
			for _, v := range list {
				if v.Seq <= e.Seq {
					c.EntryIDs = append(c.EntryIDs, v.EntryID)
				}
			}
			return c
		},
		caught: []string{"P2", "there is no inbox/acked", "nobody expects", "where inbox/acked belongs"},
	},
	"a summary is made from the last summary": {
		event: func(_ *history, b *Book, body any, _ bool) any {
			p, ok := body.(*Posted)
			if !ok {
				return body
			}
			old, ok := b.rows.Row(EntryTable, seqOf(p.SupersedesEntryID)).(*Entry)
			if !ok {
				return body
			}
			c := *p
			c.Entry.Summary = fmt.Sprintf("%d %s", p.Entry.Count, old.Summary)
			return &c
		},
		caught: []string{"P1: posted"},
	},
	"a snapshot leads to what came last": {
		event: func(_ *history, b *Book, body any, _ bool) any {
			p, ok := body.(*Posted)
			if !ok {
				return body
			}
			c := *p
			if last, ok := b.rows.Row(RawTable, seqOf(p.Entry.LastRawID)).(*Raw); ok {
				c.Entry.Link = last.Link
			}
			return &c
		},
		caught: []string{"P1: posted"},
	},
	"the flush is in another unit than its item": {
		event: func(h *history, _ *Book, body any, last bool) any {
			if p, ok := body.(*Posted); ok && last && p.Reason != ReasonRemainder && h.Int(12, "second crash") == 11 {
				return nil // the unit of the item is committed, that of its entry is lost
			}
			return body
		},
		caught: []string{"P1"},
	},
	"an older item about the same still counts": {
		event: func(_ *history, _ *Book, body any, _ bool) any {
			if r, ok := body.(*Received); ok {
				c := *r
				c.About = ""
				return &c
			}
			return body
		},
		caught: []string{"P1", "the digest"},
	},
	"what waits for the next snapshot counts like the rest": {
		event: func(_ *history, _ *Book, body any, _ bool) any {
			if r, ok := body.(*Received); ok && r.Flush == FlushPassive {
				c := *r
				c.Flush = ""
				return &c
			}
			return body
		},
		caught: []string{"the digest"},
	},
	"a firing is the item of its second": {
		event: func(h *history, b *Book, body any, _ bool) any {
			switch c := body.(type) {
			case *Received:
				timerID, _, _ := strings.Cut(c.NativeID, ":")
				for _, r := range all[*Raw](h.w.store, RawTable) {
					if c.Source == SourceTimer && strings.HasPrefix(r.NativeID, timerID+":") && r.OccurredAt.Unix() == c.OccurredAt.Unix() {
						return nil
					}
				}
			case *Posted:
				if c.Entry.Source == SourceTimer && b.rows.Row(RawTable, seqOf(c.Entry.LastRawID)) == nil {
					return nil
				}
			}
			return body
		},
		caught: []string{"is no item of its own"},
	},
}

// fallbackWaits is the event, with another time at which a fallback is posted.
func fallbackWaits(body any, until time.Time) any {
	r, ok := body.(*Received)
	if !ok || !r.Fallback {
		return body
	}
	c := *r
	c.FlushAt = notify.TimeOf(until)
	return &c
}

type randomChooser struct{ *rand.Rand }

func (c randomChooser) Int(n int, _ string) int { return c.IntN(n) }

// firstFailure runs histories until one fails, and returns how many that took.
func firstFailure(x *broken, most uint64) (n uint64, err error) {
	for n = 1; n <= most && err == nil; n++ {
		h := newHistory(randomChooser{rand.New(rand.NewPCG(n, 0))})
		h.w.breaks = x
		err = h.run()
	}
	return n - 1, err
}

func TestBrokenRulesAreCaught(t *testing.T) {
	for name, x := range brokenRules {
		t.Run(name, func(t *testing.T) {
			n, err := firstFailure(x, 1000)
			if err == nil {
				t.Fatalf("%d histories did not notice it", n)
			}
			t.Logf("history %d: %v", n, err)
			for _, part := range x.caught {
				if strings.Contains(err.Error(), part) {
					return
				}
			}
			t.Errorf("noticed as %v, not as %v", err, x.caught)
		})
	}
}

// Making a unit anew of its events breaks nothing by itself.
func TestUnitsMadeAnewOfTheirEventsAreTheSame(t *testing.T) {
	x := &broken{event: func(_ *history, _ *Book, body any, _ bool) any { return body }}
	if n, err := firstFailure(x, 300); err != nil {
		t.Fatalf("history %d: %v", n, err)
	}
}

package inbox

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// read remembers what a default read and the expansion of its entries show.
func (h *history) read(r *reader) {
	page := shown{seq: h.w.last, items: map[notify.ID][]int64{}}
	for _, e := range h.w.visible() {
		for _, it := range h.m.entry(e.EntryID).items {
			page.items[e.EntryID] = append(page.items[e.EntryID], it.seq)
		}
		if !slices.Contains(r.ids, e.EntryID) {
			r.ids = append(r.ids, e.EntryID)
		}
	}
	r.pages = append(r.pages, page)
	h.note("read at %d: %v", page.seq, slices.Sorted(maps.Keys(page.items)))
	if h.Int(3, "begin anew") == 0 {
		h.client = h.w.newClient()
	}
}

// ack acknowledges by what a reader was shown at any time.
func (h *history) ack(r *reader) operation {
	if len(r.pages) == 0 || h.focus != focusAcks && h.Int(3, "read first") == 1 {
		h.read(r)
	}
	var c Ack
	var may map[int64]bool // what the reader was shown of it; nil: see through_entry_id
	switch n := h.Int(14, "ack"); {
	case n >= 10 && len(h.m.items) > 0:
		c.RawIDs, may = h.rawIDs()
	case n < 3 && len(r.pages) > 0:
		page := r.pages[max(0, len(r.pages)-1-h.Int(4, "page"))]
		c.All, c.AsOfSeq, may = true, &page.seq, map[int64]bool{}
		for _, items := range page.items {
			for _, seq := range items {
				may[seq] = true
			}
		}
		h.seen["acked all"]++
	case n < 6 && len(r.ids) > 0:
		c.ThroughEntryID = r.id(h.Int(4, "entry"))
	case n < 9 && len(r.ids) > 0:
		may = map[int64]bool{}
		for range 1 + h.Int(3, "ids") {
			id := r.id(h.Int(4, "entry"))
			c.EntryIDs = append(c.EntryIDs, id)
			if e := h.m.entry(id); e != nil {
				for _, it := range e.items {
					may[it.seq] = true
				}
			}
		}
	case n >= 10:
		c.RawIDs = []notify.ID{[]notify.ID{"raw_9999999", "ent_1", "raw_x", ""}[h.Int(4, "no item")]}
	default:
		c.EntryIDs = []notify.ID{[]notify.ID{"ent_9999999", "raw_1", "ent_x", ""}[h.Int(4, "no entry")]}
	}
	return func(b *Book, _ *memUnit) func(int64) error {
		h.note("ack %v %v through %q all %v", c.EntryIDs, c.RawIDs, c.ThroughEntryID, c.All)
		if c.AsOfSeq != nil {
			h.note("  as of %d", *c.AsOfSeq)
		}
		got, err := b.Ack(h.w.breaks.ack(b, c))
		return func(first int64) error {
			items, notFound := h.m.covered(c)
			bad, _ := errors.AsType[*turns.InvalidError](err)
			if isPending := bad != nil && bad.Reason == ReasonPending; isPending != (notFound == errPending) || !isPending && !errors.Is(err, notFound) {
				return fmt.Errorf("ack: %v, want %v", err, notFound)
			}
			if err != nil {
				h.seen[notFound.Error()]++
				return nil
			}
			newest := map[*naiveDigest]*naiveEntry{}
			for _, it := range items {
				if it.digest != nil {
					newest[it.digest] = it.digest.newest
				}
			}
			if e := h.m.entry(c.ThroughEntryID); e != nil && e.by != 0 && len(items) > 0 {
				h.seen["superseded ack"]++
			}
			want, err := h.m.ack(items, c.RawIDs != nil, ByClient, "")
			if err != nil {
				return err
			}
			got.AssignSeqs(first)
			if got.AckedEntries != want.AckedEntries || got.AckedItems != want.AckedItems || !slices.Equal(got.RemainderEntryIDs, want.RemainderEntryIDs) {
				return fmt.Errorf("P2: ack gives %+v, want %+v", got, want)
			}
			if c.RawIDs != nil && len(items) > 0 {
				h.seen["acked items"]++
				for d, before := range newest {
					switch {
					case d.newest == before:
					case seqOf(d.newest.posted.LastRawID) < seqOf(before.posted.LastRawID):
						h.seen["a remainder without the newest item"]++
					default:
						h.seen["a remainder with the newest item"]++
					}
				}
			}
			for _, it := range items {
				if may != nil && !may[it.seq] {
					return fmt.Errorf("P2: raw_%d is acknowledged, which was not shown", it.seq)
				}
			}
			return nil
		}
	}
}

// rawIDs chooses some items, of one digest more often than not, that a client may know.
func (h *history) rawIDs() (ids []notify.ID, may map[int64]bool) {
	may = map[int64]bool{}
	list := h.m.items
	if n := h.Int(len(h.m.digests)+1, "whose items"); n > 0 {
		list = h.m.digests[n-1].items
	}
	for range 1 + h.Int(3, "items") {
		it := list[max(0, len(list)-1-h.Int([]int{4, 30}[h.Int(2, "how old")], "item"))]
		ids = append(ids, RawID(it.seq))
		may[it.seq] = true
	}
	return ids, may
}

// turnStep begins a turn that is told what is new, tells it more, or ends it.
func (h *history) turnStep() error {
	if h.turn == "" {
		h.turns++
		turnID := "turn_" + strconv.Itoa(h.turns)
		told, err := h.tell(turnID)
		if told {
			h.turn, h.word = turnID, 0
		}
		return err
	}
	switch next := h.Int(4, "goes on"); {
	case h.focus == focusTurns: // it ends
	case next == 0:
		h.note("a word")
		h.w.last++ // its item
		h.word = h.w.last
		return nil
	case next == 1:
		told, err := h.tell(h.turn)
		if told {
			h.seen["told more"]++
		}
		return err
	}
	turnID, how := h.turn, []int{3, 0, 1, 1, 1, 3}[h.Int(6, "end")]
	if h.focus == focusTurns {
		how = 1
	}
	ended := false
	err := h.unit(func(b *Book, u *memUnit) func(int64) error {
		h.note("turn %s ends: %d", turnID, how)
		var err error
		method, state := notify.TurnCompleted, turns.Completed
		switch how {
		case 0: // it fails, and what it was told stays told
			method, state = notify.TurnFailed, turns.Failed
		case 1: // without a further word
			err = b.Untell(turnID, true, h.word)
		}
		if how != 0 && b.Settings.Ack == AckTurnEnd && err == nil {
			err = b.AckTold(turnID)
		}
		u.turnEvent(b, method, turnID, 1, &turns.EndedEvent{Type: "turn", State: state, CompletedAt: b.Now})
		return func(int64) error {
			ended = true
			if err != nil {
				return err
			}
			if how == 1 {
				if err := h.m.untell(turnID, h.word); err != nil {
					return err
				}
				h.seen["untold"]++
			}
			if how != 0 && h.m.settings.Ack == AckTurnEnd {
				r, err := h.m.ack(union(h.m.toldBy(turnID)), false, ByTurn, turnID)
				if err != nil {
					return err
				}
				if how == 1 && r.AckedItems > 0 {
					h.seen["untold in part"]++
				}
			}
			if h.m.toldTurn == turnID && !h.m.untold && h.m.silent > 0 {
				h.m.silent, h.m.wakeAt = 0, time.Time{}
			}
			if h.m.stalled {
				h.seen["stalled"]++
			}
			_, err := h.m.take(method)
			return err
		}
	})
	if ended {
		h.turn = ""
	}
	return err
}

// tell tells a turn what is new. It reports whether it was told anything.
func (h *history) tell(turnID string) (told bool, err error) {
	err = h.unit(func(b *Book, _ *memUnit) func(int64) error {
		entries, err := b.Fresh(nil)
		ids := idsOf(entries)
		h.note("tell %v", ids)
		if len(entries) > 0 {
			b.Tell(entries, turnID)
		}
		return func(int64) error {
			if err != nil || !slices.Equal(ids, h.m.freshEntries()) {
				return fmt.Errorf("new are %v (%w), want %v", ids, err, h.m.freshEntries())
			}
			if told = len(ids) > 0; !told {
				return nil
			}
			return h.m.tell(ids, turnID)
		}
	})
	return told, err
}

func (h *history) wakeNow() operation {
	return func(b *Book, _ *memUnit) func(int64) error {
		h.note("wake")
		ids, err := b.WakeNow(h.turn)
		return func(int64) error {
			if err != nil {
				return err
			}
			if h.turn != "" && len(h.m.toldBy(h.turn)) > 0 {
				h.seen["woken during a turn"]++
			}
			want, err := h.m.wakeNow(h.turn)
			if err == nil && !slices.Equal(ids, want) {
				err = fmt.Errorf("woken %v, want %v", ids, want)
			}
			return err
		}
	}
}

package inbox

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/seed82539d15/holon/notify"
)

// flushDigests follows the snapshots of every digest that want selects and that
// has something pending, in any order.
func (m *naive) flushDigests(reason Reason, want func(*naiveDigest) bool) (ids []notify.ID, err error) {
	due := map[notify.ID]*naiveDigest{}
	for _, d := range m.digests {
		if len(d.pending()) > 0 && want(d) {
			due[DigestID(d.seq)] = d
		}
	}
	for len(due) > 0 {
		if len(m.events) == 0 || m.events[0].method != notify.InboxPosted {
			return nil, fmt.Errorf("P1: %d digests are not flushed (%s)", len(due), reason)
		}
		d := due[m.events[0].body.(*Posted).Entry.DigestID]
		if d == nil {
			return nil, fmt.Errorf("P8: a digest is flushed (%s) that should not be", reason)
		}
		delete(due, DigestID(d.seq))
		id, err := m.post(d, reason, false)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func (m *naive) flushDue() error {
	_, err := m.flushDigests(ReasonWindow, func(d *naiveDigest) bool { return !d.flush.After(m.now) })
	if err != nil {
		return err
	}
	for _, it := range m.items {
		if it.pending && !it.deadline.After(m.now) {
			return fmt.Errorf("P6: raw_%d has waited since %s", it.seq, it.received)
		}
	}
	return nil
}

func (m *naive) entry(id notify.ID) *naiveEntry {
	for _, e := range m.entries {
		if EntryID(e.seq) == id && !e.removed {
			return e
		}
	}
	return nil
}

// missing is the error for an entry that is not there.
func (m *naive) missing(id notify.ID) error {
	if slices.ContainsFunc(m.entries, func(e *naiveEntry) bool { return EntryID(e.seq) == id }) {
		return ErrEntryExpired
	}
	return ErrEntryNotFound
}

// covered lists the raw items that an acknowledgement is about.
func (m *naive) covered(c Ack) (items []*naiveItem, err error) {
	var list []*naiveEntry
	switch {
	case c.RawIDs != nil:
		return m.named(c.RawIDs)
	case c.All:
		for _, e := range m.entries {
			if e.visibleAt(*c.AsOfSeq) {
				list = append(list, e)
			}
		}
	case c.ThroughEntryID != "":
		boundary := m.entry(c.ThroughEntryID)
		if boundary == nil {
			return nil, m.missing(c.ThroughEntryID)
		}
		list = append(list, boundary)
		for _, e := range m.entries {
			if e.seq < boundary.seq && e.visibleAt(boundary.seq-1) {
				list = append(list, e)
			}
		}
	default:
		for _, id := range c.EntryIDs {
			e := m.entry(id)
			if e == nil {
				return nil, m.missing(id)
			}
			list = append(list, e)
		}
	}
	return union(list), nil
}

// errPending is the error for an item that no entry shows yet.
var errPending = errors.New("pending")

// named lists the items that an acknowledgement names and that are not acknowledged.
func (m *naive) named(ids []notify.ID) (items []*naiveItem, err error) {
	for _, id := range ids {
		at := slices.IndexFunc(m.items, func(it *naiveItem) bool { return RawID(it.seq) == id })
		if at < 0 {
			return nil, ErrItemNotFound
		}
		switch it := m.items[at]; {
		case it.expired:
			return nil, ErrItemExpired
		case it.pending:
			return nil, errPending
		case !it.acked && !slices.Contains(items, it):
			items = append(items, it)
		}
	}
	return items, nil
}

// union lists the unacknowledged items of entries.
func union(list []*naiveEntry) (items []*naiveItem) {
	for _, e := range list {
		for _, it := range unacked(e.items) {
			if !slices.Contains(items, it) {
				items = append(items, it)
			}
		}
	}
	return items
}

// ack follows the acknowledgement of items. byItems says that these were named, not entries.
func (m *naive) ack(items []*naiveItem, byItems bool, by By, turnID string) (AckResult, error) {
	out := AckResult{RemainderEntryIDs: []notify.ID{}}
	if len(items) == 0 {
		return out, nil
	}
	e, err := m.take(notify.InboxAcked)
	if err != nil {
		return out, err
	}
	seq, body := e.h.Seq, e.body.(*Acked)
	var named []*naiveEntry
	for _, id := range body.EntryIDs {
		n := m.entry(id)
		if n == nil {
			return out, fmt.Errorf("inbox/acked names %s", id)
		}
		named = append(named, n)
	}
	shown := union(named)
	for _, id := range body.RawIDs {
		at := slices.IndexFunc(m.items, func(it *naiveItem) bool { return RawID(it.seq) == id })
		if at < 0 || !slices.Contains(items, m.items[at]) {
			return out, fmt.Errorf("P2: inbox/acked has %s, which was not named", id)
		}
		if !slices.Contains(shown, m.items[at]) {
			shown = append(shown, m.items[at])
		}
	}
	if (body.RawIDs != nil) != byItems || body.RawIDs != nil && len(body.RawIDs) != len(items) {
		return out, fmt.Errorf("inbox/acked has the items %v; %d were named", body.RawIDs, len(items))
	}
	if body.RawCount != len(items) || body.By != by || body.TurnID != turnID || len(shown) != len(items) {
		return out, fmt.Errorf("P2: inbox/acked %+v shows %d items, want %d", body, len(shown), len(items))
	}
	rest := map[notify.ID]*naiveDigest{}
	for _, it := range items {
		if !slices.Contains(shown, it) {
			return out, fmt.Errorf("P2: inbox/acked %v does not show raw_%d", body.EntryIDs, it.seq)
		}
		it.acked, it.ackedSeq, it.ackedAt = true, seq, m.now
	}
	for _, it := range items {
		d := it.digest
		if d == nil {
			continue
		}
		left := unacked(d.items)
		if len(left) == 0 {
			d.open = false
		} else if len(left) > len(d.pending()) {
			rest[DigestID(d.seq)] = d
		}
	}
	for _, e := range m.entries {
		if !e.removed && e.ackedSeq == 0 && len(unacked(e.items)) == 0 {
			e.ackedSeq, e.ackedAt = seq, m.now
			out.AckedEntries++
		}
	}
	out.AckedItems = len(items)
	for len(rest) > 0 {
		if len(m.events) == 0 || m.events[0].method != notify.InboxPosted {
			return out, fmt.Errorf("the remainders of %d digests are not posted", len(rest))
		}
		d := rest[m.events[0].body.(*Posted).Entry.DigestID]
		if d == nil {
			return out, errors.New("P8: an acknowledgement posts a snapshot of another digest")
		}
		delete(rest, DigestID(d.seq))
		id, err := m.post(d, ReasonRemainder, false)
		if err != nil {
			return out, err
		}
		out.RemainderEntryIDs = append(out.RemainderEntryIDs, id)
	}
	return out, nil
}

// freshEntries lists the oldest new entries.
func (m *naive) freshEntries() (ids []notify.ID) {
	for _, e := range m.entries {
		if e.fresh() && len(ids) < 100 {
			ids = append(ids, EntryID(e.seq))
		}
	}
	return ids
}

func (m *naive) tell(ids []notify.ID, turnID string) error {
	e, err := m.take(notify.InboxTold)
	if err != nil {
		return err
	}
	if body := e.body.(*Told); !slices.Equal(body.EntryIDs, ids) || body.TurnID != turnID {
		return fmt.Errorf("told %v, want %v", body.EntryIDs, ids)
	}
	m.mark(ids, turnID, e.h.Seq)
	m.toldTurn, m.toldSeq, m.untold = turnID, e.h.Seq, false
	return nil
}

func (m *naive) mark(ids []notify.ID, turnID string, seq int64) {
	for _, id := range ids {
		e := m.entry(id)
		e.toldBy, e.toldSeq = turnID, seq
		for _, it := range unacked(e.items) {
			it.told, it.turn = turnID != "", turnID
		}
	}
}

// toldBy lists what a turn was told and is not fully acknowledged.
func (m *naive) toldBy(turnID string) (list []*naiveEntry) {
	for _, e := range m.entries {
		if !e.removed && e.toldBy == turnID && e.ackedSeq == 0 {
			list = append(list, e)
		}
	}
	return list
}

// untell follows the end of a turn: what it was told after its last word is new again.
func (m *naive) untell(turnID string, word int64) error {
	if m.toldTurn != turnID || m.untold {
		return nil
	}
	var ids []notify.ID
	for _, e := range m.toldBy(turnID) {
		if e.toldSeq > word {
			ids = append(ids, EntryID(e.seq))
		}
	}
	if len(ids) == 0 {
		return nil
	}
	e, err := m.take(notify.InboxUntold)
	if err != nil {
		return err
	}
	if body := e.body.(*Untold); !slices.Equal(body.EntryIDs, ids) || body.TurnID != turnID || body.Silent != m.silent+1 {
		return fmt.Errorf("untold %+v, want %v", body, ids)
	}
	m.mark(ids, "", 0)
	m.untold = true
	m.silent++
	pauses := []time.Duration{5, 10, 20, 40}
	m.wakeAt = m.now.Add(pauses[min(m.silent, 4)-1] * time.Second)
	if m.silent >= 5 && !m.stalled {
		m.stalled, m.since = true, m.now
		m.wakeAt = time.Time{}
		e, err := m.take(notify.InboxStalled)
		if err != nil {
			return err
		}
		if e.body.(*Stalled).Reason != StallSilent {
			return fmt.Errorf("stalled %+v", e.body)
		}
	}
	return nil
}

// wakeNow follows what makes everything new that was told, unless the active turn
// was told it: its end decides about that.
func (m *naive) wakeNow(active string) ([]notify.ID, error) {
	ids, fresh := []notify.ID{}, false
	for _, e := range m.entries {
		fresh = fresh || e.visible() && e.fresh()
		working := slices.ContainsFunc(unacked(e.items), func(it *naiveItem) bool { return it.told && it.turn == active })
		if e.visible() && !e.fresh() && !working {
			ids = append(ids, EntryID(e.seq))
		}
	}
	if len(ids) == 0 && !fresh && !m.stalled && m.silent == 0 {
		return ids, nil
	}
	e, err := m.take(notify.InboxWoken)
	if err != nil {
		return nil, err
	}
	if body := e.body.(*Woken); !slices.Equal(body.EntryIDs, ids) {
		return nil, fmt.Errorf("woken %v, want %v", body.EntryIDs, ids)
	}
	m.mark(ids, "", 0)
	m.silent, m.stalled, m.wakeAt, m.lifted = 0, false, time.Time{}, e.h.Seq
	return ids, nil
}

// fire follows the timers that are due.
func (m *naive) fire() error {
	due := map[string]*naiveTimer{}
	for id, t := range m.timers {
		if !t.next.After(m.now) {
			due[id] = t
		}
	}
	for len(due) > 0 {
		e, err := m.take(notify.TimerFired)
		if err != nil {
			return err
		}
		body := e.body.(*TimerFired)
		t := due[body.TimerID]
		if t == nil {
			return fmt.Errorf("the timer %s fires, which is not due", body.TimerID)
		}
		delete(due, body.TimerID)
		last, n := t.next, int64(1)
		for t.every != 0 && !last.Add(t.every).After(m.now) {
			last, n = last.Add(t.every), n+1
		}
		next := time.Time{}
		if t.every != 0 {
			next = last.Add(t.every)
		}
		if !body.PlannedAt.Equal(last) || body.Missed != n-1 || !body.NextAt.Equal(next) {
			return fmt.Errorf("fired %+v, want %s, %d missed, next %s", body, last, n-1, next)
		}
		t.next = next
		if next.IsZero() {
			delete(m.timers, body.TimerID)
		}
		it := timerItem(&Timer{TimerID: body.TimerID, Text: t.text}, notify.Time{Time: last}, n-1)
		if m.full([]Item{it}) {
			m.lagged[SourceTimer]++
		} else if got, err := m.ingest(&it); err != nil || got.Duplicate {
			return fmt.Errorf("the firing of %s at %s is no item of its own: %+v, %v", body.TimerID, last, got, err)
		}
	}
	return nil
}

// settle follows the items that say what did not fit.
func (m *naive) settle() error {
	for _, source := range slices.Sorted(maps.Keys(m.lagged)) {
		if len(m.events) == 0 {
			it := Item{Source: source, NativeID: "source_lagged:1700000", Summary: fmt.Sprint(make([]byte, 50)), Payload: []byte(`{"source_lagged":1000}`)}
			if !m.full([]Item{it}) {
				return fmt.Errorf("nothing says that %d items of %s did not fit", m.lagged[source], source)
			}
			return nil
		}
		got, ok := m.events[0].body.(*Received)
		want := fmt.Sprintf(`{"source_lagged":%d}`, m.lagged[source])
		if !ok || got.Source != source || string(got.Payload) != want {
			return fmt.Errorf("an event that does not say %s of %s", want, source)
		}
		it := Item{Source: source, NativeID: got.NativeID, Summary: got.Summary, Payload: got.Payload}
		if m.find(source, got.NativeID) != nil || m.full([]Item{it}) {
			return fmt.Errorf("%s does not fit, or was there", got.NativeID)
		}
		if _, err := m.ingest(&it); err != nil {
			return err
		}
		delete(m.lagged, source)
	}
	return nil
}

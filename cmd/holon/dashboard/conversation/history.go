package conversation

import (
	"fmt"
	"slices"

	"github.com/seed82539d15/holon/notify/fold"
)

// Bounds of what is held of a thread.
const (
	// maxHeld is how many blocks are held while the page follows the end; scrolled
	// up it is three times as many.
	maxHeld = 400
	// maxBytes is how much text they may have.
	maxBytes = 16 << 20
	// maxMarked is for how many turns markers are remembered. After a marker the
	// server stores nothing more of the try that it supersedes, so this is safe.
	maxMarked = 500
)

// history is the part of a thread's timeline that is held: entries without gaps, in the
// order of their seq.
type history struct {
	entries []*entry
	byKey   map[string]*entry
	bytes   int
	older   string // the cursor of the page before the oldest entry; "" = there is none
	newer   string // the cursor of the page behind the newest entry; "" = the end is held
	through int64  // without the end: the seq up to which everything is held
	marked  []string
	markers map[string]*fold.Markers
}

func newHistory() *history {
	return &history{byKey: map[string]*entry{}, markers: map[string]*fold.Markers{}}
}

// put adds an entry at its place, or returns the one that has its key.
func (h *history) put(e *entry) *entry {
	if known := h.byKey[e.key]; known != nil {
		return known
	}
	at, _ := slices.BinarySearchFunc(h.entries, e, func(a, b *entry) int {
		if a.seq != b.seq {
			return int(a.seq - b.seq)
		}
		return -1 // behind those of the same seq
	})
	h.entries = slices.Insert(h.entries, at, e)
	h.byKey[e.key] = e
	h.weigh(e)
	return e
}

// changed notes that an entry must be drawn again.
func (h *history) changed(e *entry) {
	e.version++
	h.weigh(e)
}

func (h *history) weigh(e *entry) {
	h.bytes -= e.weight
	e.weight = 256
	if e.item != nil {
		e.weight = e.item.bytes()
	}
	h.bytes += e.weight
}

func (h *history) drop(e *entry) {
	if i := slices.Index(h.entries, e); i >= 0 {
		h.entries = slices.Delete(h.entries, i, i+1)
		delete(h.byKey, e.key)
		h.bytes -= e.weight
	}
}

// trim keeps the bounds. While the page follows the end the oldest entries go;
// scrolled up, the newest.
func (h *history) trim(follows bool) {
	if follows {
		for len(h.entries) > 1 && (len(h.entries) > maxHeld || h.bytes > maxBytes) {
			h.dropOldest()
		}
		return
	}
	for len(h.entries) > 1 && h.tooMuch() {
		h.drop(h.entries[len(h.entries)-1])
		h.heldThrough(h.entries[len(h.entries)-1].seq)
	}
}

// trimOldest keeps the bounds of a page that is scrolled up, and reads towards the end.
func (h *history) trimOldest() {
	for len(h.entries) > 1 && h.tooMuch() {
		h.dropOldest()
	}
}

// tooMuch reports whether more is held than a page that is scrolled up may hold.
func (h *history) tooMuch() bool { return len(h.entries) > 3*maxHeld || h.bytes > 2*maxBytes }

// heldThrough notes that entries behind a seq are not held. The cursor of a list of items
// is the seq of the item behind which it goes on.
func (h *history) heldThrough(seq int64) { h.newer, h.through = fmt.Sprint(seq), seq }

// covers reports whether what happened at a seq belongs to the part that is held.
func (h *history) covers(seq int64) bool {
	return seq >= h.oldestSeq() && (h.newer == "" || seq <= h.through)
}

// dropOldest drops the oldest item and what is in front of the next one.
func (h *history) dropOldest() {
	h.drop(h.entries[0])
	for len(h.entries) > 1 && h.entries[0].item == nil {
		h.drop(h.entries[0])
	}
	// The cursor of a list of items is the seq of the item before which it goes on.
	h.older = fmt.Sprint(h.entries[0].seq)
}

// index returns the place of an entry, -1 if it is not held.
func (h *history) index(key string) int {
	e := h.byKey[key]
	if e == nil {
		return -1
	}
	return slices.Index(h.entries, e)
}

// item returns the entry of an item, nil if it is not held.
func (h *history) item(id string) *entry { return h.byKey[id] }

// stale reports whether a marker supersedes an event of this lineage.
func (h *history) stale(turn string, lineage []fold.Ref, seq int64) bool {
	m := h.markers[turn]
	return m != nil && m.Stale(lineage, seq)
}

// mark takes a marker: what it supersedes becomes one line. It returns the items that
// it supersedes in part, which must be read again.
func (h *history) mark(m fold.Marker) (again []string) {
	markers := h.markers[m.TurnID]
	if markers == nil {
		markers = &fold.Markers{}
		h.markers[m.TurnID] = markers
		if h.marked = append(h.marked, m.TurnID); len(h.marked) > maxMarked {
			delete(h.markers, h.marked[0])
			h.marked = h.marked[1:]
		}
	}
	markers.Add(m)
	line := &rewind{step: m.Step, tried: m.NewEpoch - 1, reason: m.Reason}
	for _, e := range slices.Clone(h.entries) {
		switch {
		case e.turn != m.TurnID:
		case e.item != nil && markers.Stale(e.item.lineage, e.item.created):
			line.add(e.item)
			h.drop(e)
		case e.item != nil && markers.Stale(e.item.lineage, e.item.updated):
			again = append(again, e.item.id)
		case e.end != nil && markers.Stale(e.end.lineage, e.seq):
			h.drop(e)
		}
	}
	if h.covers(m.Seq) {
		h.put(&entry{key: rewindKey(m.Seq), seq: m.Seq, turn: m.TurnID, rewind: line})
	}
	return again
}

func rewindKey(seq int64) string { return fmt.Sprintf("rewind:%d", seq) }

// add takes an item from a list: a superseded one belongs to the line of its marker.
func (h *history) add(row itemRow) {
	it := row.item()
	if row.SupersededBySeq > 0 {
		e := h.byKey[rewindKey(row.SupersededBySeq)]
		if e == nil {
			e = h.put(&entry{key: rewindKey(row.SupersededBySeq), seq: row.SupersededBySeq, turn: row.TurnID, rewind: &rewind{tried: row.Attempt}})
		}
		e.rewind.add(it)
		h.changed(e)
		return
	}
	if !shown(it.content.Type) {
		return
	}
	h.put(&entry{key: it.id, seq: it.created, turn: it.turn, item: it})
}

// shown reports whether items of a kind have a block of their own.
func shown(kind string) bool { return kind != "usage" }

// newestPlan reports whether no later item of the same turn is a plan.
func (h *history) newestPlan(e *entry) bool {
	for _, other := range slices.Backward(h.entries) {
		if other == e {
			return true
		}
		if other.turn == e.turn && other.item != nil && other.item.content.Type == "plan" {
			return false
		}
	}
	return true
}

// oldestSeq returns the seq where the held part begins.
func (h *history) oldestSeq() int64 {
	if h.older == "" || len(h.entries) == 0 {
		return 0
	}
	return h.entries[0].seq
}

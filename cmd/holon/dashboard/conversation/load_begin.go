package conversation

import (
	"encoding/json"
	"strconv"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// The beginning of a long thread is read from there, and not page by page from the end:
// so one key reaches the first block however long the thread is, and what is held stays
// bounded. What follows is read when one scrolls down to it.

// askFirst asks for the first items and turns of the thread.
func (in intake) askFirst() []screen.Action {
	l := &in.m.loader
	if l.jumps || !l.ready {
		return nil
	}
	l.jumps = true
	return []screen.Action{l.call("first", "item/list", in.itemsFrom("")), l.call("early turns", "turn/list", in.turnsFrom(""))}
}

// askNewer asks for the items behind those that are held.
func (in intake) askNewer() []screen.Action {
	l := &in.m.loader
	if in.m.history.newer == "" || l.newerAsked || l.jumps || !l.ready {
		return nil
	}
	l.newerAsked, l.missed = true, false
	out := []screen.Action{l.call("newer", "item/list", in.itemsFrom(in.m.history.newer))}
	if t := in.m.turns; t.next != "" {
		out = append(out, l.call("early turns", "turn/list", in.turnsFrom(t.next)))
		t.next = ""
	}
	return out
}

func (in intake) itemsFrom(cursor string) map[string]any {
	return in.from(cursor, map[string]any{"limit": itemsPage, "include_superseded": true})
}

func (in intake) turnsFrom(cursor string) map[string]any {
	return in.from(cursor, map[string]any{"limit": turnsPage})
}

// from returns the params of a page of this thread, the oldest first, behind a cursor.
func (in intake) from(cursor string, params map[string]any) map[string]any {
	params["thread_id"], params["order"] = in.m.options.Thread, "asc"
	if cursor != "" {
		params["cursor"] = cursor
	}
	return params
}

// firstItems shows the beginning of the thread in place of what is held.
func (in intake) firstItems(result json.RawMessage) {
	if !in.m.loader.jumps {
		return // the person has gone elsewhere meanwhile
	}
	old := in.m.history
	in.m.loader.jumps = false
	in.m.history = newHistory()
	in.m.history.marked, in.m.history.markers = old.marked, old.markers
	in.addNewer(result)
	for _, e := range in.m.history.entries {
		if known := old.byKey[e.key]; known != nil {
			e.expanded = known.expanded
		}
	}
	in.m.view.toBegin(in.m.history)
}

// newerItems adds a page behind what is held. If that was the last one but an item has
// come meanwhile, it is asked for once more.
func (in intake) newerItems(result json.RawMessage) []screen.Action {
	in.addNewer(result)
	in.m.history.trimOldest()
	if h := in.m.history; in.m.loader.missed && h.newer == "" {
		h.heldThrough(h.through) // entries of other kinds may be behind the item
		return in.askNewer()
	}
	return nil
}

func (in intake) addNewer(result json.RawMessage) {
	var page itemsResult
	decode(result, &page)
	h := in.m.history
	for _, row := range page.Items {
		h.add(row)
	}
	h.newer = page.NextCursor
	if seq, err := strconv.ParseInt(h.newer, 10, 64); err == nil {
		h.through = seq
	} else if len(page.Items) > 0 {
		h.through = page.Items[len(page.Items)-1].CreatedSeq
	}
	in.putEnds()
	in.placeChildren()
}

// earlyTurns takes turns for the part that is read from the beginning. Those that were
// read first are forgotten first.
func (in intake) earlyTurns(result json.RawMessage) {
	var page turnsResult
	decode(result, &page)
	t := in.m.turns
	t.early, t.next = append(t.early, page.Turns...), page.NextCursor
	if over := len(t.early) - keptTurns; over > 0 {
		t.early = t.early[over:]
	}
	in.putEnds()
}

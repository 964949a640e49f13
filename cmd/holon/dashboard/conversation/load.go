package conversation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/rpc/client"
)

// Sizes of pages, and times.
const (
	itemsPage = 60
	turnsPage = 100
	// tryAgain is when a thread that could not be read is read again.
	tryAgain = 3 * time.Second
)

// loader reads a thread from the server: first the thread, which says after which seq to
// follow it, then its newest items and turns, its open questions and its children, all of
// which are as of then or later. What an event repeats of them changes nothing.
type loader struct {
	round   int // answers to requests of earlier rounds are ignored
	begun   bool
	ready   bool // everything has come
	missing int
	after   int64
	failed  string
	retryAt time.Time // when to try again

	items, waiting, reviews, turns json.RawMessage

	olderAsked bool
	olderFrom  string // the cursor that was asked with
	jumps      bool   // the beginning of the thread is read
	newerAsked bool
	missed     bool            // an item has come since, which the page may not have
	reading    map[string]bool // items that are read again
}

// intake takes what comes from the server: answers to requests, and events.
type intake struct{ m *Model }

// call returns a request of this round.
func (l *loader) call(name, method string, params map[string]any) screen.Action {
	return screen.Call{Name: fmt.Sprintf("%d/%s", l.round, name), Method: method, Params: params}
}

// reload reads the thread again from the beginning.
func (in intake) reload() []screen.Action {
	in.m.loader = loader{round: in.m.loader.round + 1, begun: true}
	in.m.children.asked = 0 // answers of earlier rounds are ignored
	return []screen.Action{in.m.loader.call("thread", "thread/read", map[string]any{"thread_id": in.m.options.Thread})}
}

// due starts the first round, tries a failed one again, and looks at children.
func (in intake) due(now time.Time) []screen.Action {
	l := &in.m.loader
	switch {
	case !l.begun:
		return in.reload()
	case !l.retryAt.IsZero() && !now.Before(l.retryAt):
		return in.reload()
	}
	return in.lookAtChildren(now)
}

func (in intake) itemsParams() map[string]any {
	return map[string]any{"thread_id": in.m.options.Thread, "order": "desc", "limit": itemsPage, "include_superseded": true}
}

// loaded takes the answer to a request of the loader.
func (in intake) loaded(now time.Time, call screen.Call, d screen.Done) []screen.Action {
	l := &in.m.loader
	round, name, _ := strings.Cut(call.Name, "/")
	if round != fmt.Sprint(l.round) {
		return nil
	}
	if d.Err != nil {
		return in.notLoaded(now, name, call.Params, d.Err)
	}
	switch name {
	case "thread":
		return in.threadRead(now, d.Result)
	case "older":
		if l.olderAsked = false; l.olderFrom == in.m.history.older { // else it is another part now
			in.olderItems(d.Result)
		}
		return nil
	case "first":
		in.firstItems(d.Result)
		return nil
	case "newer":
		l.newerAsked = false
		return in.newerItems(d.Result)
	case "early turns":
		in.earlyTurns(d.Result)
		return nil
	case "older turns":
		in.olderTurns(d.Result)
		return nil
	case "children", "below":
		in.m.children.asked--
		in.gotChildren(name, d.Result)
		return nil
	case "waiting again":
		return append(in.judge(now, d.Result), in.subjects()...)
	case "reviews again":
		judgeReviews(in, now, d.Result)
		return nil
	case "review":
		var r struct {
			Turn json.RawMessage `json:"turn"`
		}
		decode(d.Result, &r)
		putReview(in, now, r.Turn)
		return nil
	case "items":
		l.items = d.Result
	case "turns":
		l.turns = d.Result
	case "waiting":
		l.waiting = d.Result
	case "reviews":
		l.reviews = d.Result
	default: // one item
		var r struct {
			Item itemRow `json:"item"`
		}
		decode(d.Result, &r)
		delete(l.reading, r.Item.ItemID)
		in.reread(now, r.Item)
		return nil
	}
	if l.missing--; l.missing == 0 {
		return in.begin(now)
	}
	return nil
}

// notLoaded takes a failed request. Without children, or older items, the page works. A
// page of turns is asked for again with the next page of items.
func (in intake) notLoaded(now time.Time, name string, asked any, err error) []screen.Action {
	l := &in.m.loader
	params, _ := asked.(map[string]any)
	cursor, _ := params["cursor"].(string)
	switch name {
	case "thread", "items", "turns", "waiting", "reviews":
		l.failed = "The thread cannot be read. " + screen.Words(err)
		l.retryAt = now.Add(tryAgain)
		if client.IsKind(err, "not_found") || client.IsKind(err, "thread_not_found") {
			l.retryAt = time.Time{}
		}
	case "older turns":
		in.m.turns.older = cursor
	case "early turns":
		in.m.turns.next = cursor
	case "older":
		l.olderAsked = false
		in.m.status = "Older items cannot be read. " + screen.Words(err)
	case "first":
		l.jumps = false
		in.m.status = "The beginning cannot be read. " + screen.Words(err)
	case "newer":
		l.newerAsked = false
		in.m.status = "What follows cannot be read. " + screen.Words(err)
	case "children", "below":
		in.m.children.asked--
	}
	return nil
}

func (in intake) threadRead(now time.Time, result json.RawMessage) []screen.Action {
	var r struct {
		Thread    threadRow `json:"thread"`
		LatestSeq int64     `json:"latest_seq"`
	}
	decode(result, &r)
	in.m.thread = r.Thread
	l := &in.m.loader
	l.after, l.missing = r.LatestSeq, 4
	newest := map[string]any{"thread_id": in.m.options.Thread, "order": "desc", "limit": turnsPage}
	out := append(in.askWaiting(""),
		l.call("items", "item/list", in.itemsParams()),
		l.call("turns", "turn/list", newest),
	)
	return append(out, in.askChildren(now)...)
}

// askWaiting asks for the questions and the reviews that are open. again is "", or " again".
func (in intake) askWaiting(again string) []screen.Action {
	l, thread := &in.m.loader, in.m.options.Thread
	return []screen.Action{
		l.call("waiting"+again, "item/list", map[string]any{"thread_id": thread, "status": "pending", "limit": keptQuestions}),
		l.call("reviews"+again, "turn/list", map[string]any{"thread_id": thread, "review": "pending", "limit": keptQuestions}),
	}
}

// itemsResult and turnsResult are pages of lists.
type (
	itemsResult struct {
		Items      []itemRow `json:"items"`
		NextCursor string    `json:"next_cursor"`
		LatestSeq  int64     `json:"latest_seq"`
	}
	turnsResult struct {
		Turns      []*turnRow `json:"turns"`
		NextCursor string     `json:"next_cursor"`
	}
)

// begin shows what has been read, and follows the thread from there.
func (in intake) begin(now time.Time) []screen.Action {
	l := &in.m.loader
	expanded := map[string]bool{}
	for _, e := range in.m.history.entries {
		expanded[e.key] = e.expanded
	}
	in.m.history, in.m.turns = newHistory(), newTurns()
	in.m.cursor = l.after
	var newest turnsResult
	decode(l.turns, &newest)
	for i := len(newest.Turns) - 1; i >= 0; i-- {
		in.m.turns.put(newest.Turns[i], false)
	}
	in.m.turns.older = newest.NextCursor
	in.takeItems(l.items)
	out := in.judge(now, l.waiting)
	judgeReviews(in, now, l.reviews)
	in.placeChildren()
	for key := range expanded {
		if e := in.m.history.byKey[key]; e != nil {
			e.expanded = expanded[key]
		}
	}
	l.items, l.turns, l.waiting, l.reviews = nil, nil, nil, nil
	l.ready, l.failed = true, ""
	if in.m.history.byKey[in.m.view.top] == nil {
		in.m.view.toEnd()
	}
	out = append(out, screen.Follow{Thread: in.m.options.Thread, After: l.after})
	return append(out, in.subjects()...)
}

// judge takes the questions that are open. Others are gone, and read again to see how they
// ended; of those that are known what was typed into them stays. What events have told
// since the list was made is newer than the list.
func (in intake) judge(now time.Time, result json.RawMessage) (out []screen.Action) {
	var waiting itemsResult
	decode(result, &waiting)
	open := map[string]bool{}
	for _, row := range waiting.Items {
		open[row.ItemID] = true
	}
	for _, q := range slices.Clone(in.m.asks.open) {
		if q.review == nil && !open[q.id] && q.seq <= waiting.LatestSeq {
			in.m.over(now, q.id, overUnknown)
			if in.m.history.item(q.id) != nil {
				out = append(out, in.read(q.id)...)
			}
		}
	}
	for _, row := range waiting.Items {
		if e := in.m.history.item(row.ItemID); e == nil || e.item.updated <= waiting.LatestSeq || e.item.status == "pending" {
			in.m.asks.put(now, newQuestion(row.item()))
		}
	}
	in.leaveQuestion()
	return out
}

// takeItems adds a page of items, and the ends of turns that are among them.
func (in intake) takeItems(result json.RawMessage) {
	var page itemsResult
	decode(result, &page)
	in.m.history.older = page.NextCursor
	for _, row := range page.Items {
		in.m.history.add(row)
	}
	in.putEnds()
}

// putEnds adds the ends of turns that belong to the part that is held.
func (in intake) putEnds() {
	for _, id := range in.m.turns.order {
		in.putEnd(in.m.turns.rows[id])
	}
	for _, t := range in.m.turns.early {
		in.putEnd(t)
	}
}

func (in intake) putEnd(t *turnRow) {
	if t.ended() && in.m.history.covers(t.UpdatedSeq) {
		in.m.history.put(&entry{key: "end:" + t.TurnID, seq: t.UpdatedSeq, turn: t.TurnID, end: &ending{row: *t}})
	}
}

// askOlder asks for the page before the oldest item.
func (in intake) askOlder() []screen.Action {
	l := &in.m.loader
	if in.m.history.older == "" || l.olderAsked || l.jumps || !l.ready {
		return nil
	}
	l.olderAsked, l.olderFrom = true, in.m.history.older
	params := in.itemsParams()
	params["cursor"] = in.m.history.older
	out := []screen.Action{l.call("older", "item/list", params)}
	if in.m.turns.older != "" && len(in.m.turns.order) < keptTurns {
		out = append(out, l.call("older turns", "turn/list", map[string]any{"thread_id": in.m.options.Thread, "order": "desc", "limit": turnsPage, "cursor": in.m.turns.older}))
		in.m.turns.older = ""
	}
	return out
}

func (in intake) olderItems(result json.RawMessage) {
	in.takeItems(result)
	in.placeChildren()
	in.m.history.trim(in.m.view.follow)
}

func (in intake) olderTurns(result json.RawMessage) {
	var page turnsResult
	decode(result, &page)
	for _, row := range page.Turns {
		in.m.turns.put(row, true)
	}
	in.m.turns.older = page.NextCursor
	in.putEnds()
}

// read asks for an item.
func (in intake) read(id string) []screen.Action {
	l := &in.m.loader
	if l.reading == nil {
		l.reading = map[string]bool{}
	}
	if l.reading[id] || len(l.reading) > 50 {
		return nil
	}
	l.reading[id] = true
	return []screen.Action{l.call("item", "item/read", map[string]any{"item_id": id})}
}

// reread takes an item that was read: for the timeline, and as the subject of questions.
func (in intake) reread(now time.Time, row itemRow) {
	it := row.item()
	it.raw = row.Content // a question may be about it
	if e := in.m.history.item(row.ItemID); e != nil && it.updated >= e.item.updated {
		e.item = it
		in.m.history.changed(e)
	}
	for i, q := range in.m.asks.open {
		if q.content.Subject.ItemID == row.ItemID {
			q.subject = it
			if i == 0 {
				in.m.asks.touched(now)
			}
		}
	}
}

// subjects finds what the open questions are about.
func (in intake) subjects() (out []screen.Action) {
	for _, q := range in.m.asks.open {
		id := q.content.Subject.ItemID
		if id == "" || q.subject != nil {
			continue
		}
		if e := in.m.history.item(id); e != nil && e.item.raw != nil {
			q.subject = e.item
			continue
		}
		out = append(out, in.read(id)...)
	}
	return out
}

package conversation

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/rpc/client"
)

// Sizes of pages, and times.
const (
	itemsPage    = 60
	turnsPage    = 100
	childrenPage = 40
	// tryAgain is when a thread that could not be read is read again.
	tryAgain = 3 * time.Second
	// childrenEvery is how often children that work are looked at.
	childrenEvery = 3 * time.Second
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
	again   time.Time // when to try again

	items, waiting, turns, children json.RawMessage

	olderAsked    bool
	childrenAsked bool
	reading       map[string]bool // items that are read again
}

// call is a request of this round.
func (l *loader) call(name, method string, params map[string]any) screen.Action {
	return screen.Call{Name: fmt.Sprintf("%d/%s", l.round, name), Method: method, Params: params}
}

// reload reads the thread again from the beginning.
func (m *Model) reload() []screen.Action {
	m.loader = loader{round: m.loader.round + 1, begun: true}
	return []screen.Action{m.loader.call("thread", "thread/read", map[string]any{"thread_id": m.options.Thread})}
}

// due starts the first round, tries a failed one again, and looks after children.
func (l *loader) due(m *Model, now time.Time) []screen.Action {
	switch {
	case !l.begun:
		return m.reload()
	case !l.again.IsZero() && !now.Before(l.again):
		return m.reload()
	case l.ready && !l.childrenAsked && m.childrenWork() && now.Sub(m.fresh) >= childrenEvery:
		return m.askChildren()
	}
	return nil
}

func (m *Model) childrenWork() bool {
	for _, e := range m.history.entries {
		if e.child != nil && !e.child.row.ended() {
			return true
		}
	}
	return false
}

func (m *Model) askChildren() []screen.Action {
	m.loader.childrenAsked = true
	return []screen.Action{m.loader.call("refresh", "turn/list", m.childrenParams())}
}

func (m *Model) childrenParams() map[string]any {
	return map[string]any{"parent_thread_id": m.options.Thread, "order": "desc", "limit": childrenPage}
}

func (m *Model) itemsParams() map[string]any {
	return map[string]any{"thread_id": m.options.Thread, "order": "desc", "limit": itemsPage, "include_superseded": true}
}

// loaded takes the answer to a request of the loader.
func (m *Model) loaded(now time.Time, call screen.Call, d screen.Done) []screen.Action {
	l := &m.loader
	round, name, _ := strings.Cut(call.Name, "/")
	if round != fmt.Sprint(l.round) {
		return nil
	}
	if d.Err != nil {
		return m.notLoaded(now, name, d.Err)
	}
	switch name {
	case "thread":
		return m.threadRead(d.Result)
	case "older":
		l.olderAsked = false
		m.olderItems(d.Result)
		return nil
	case "older turns":
		m.olderTurns(d.Result)
		return nil
	case "refresh":
		l.childrenAsked, m.fresh = false, now
		m.putChildren(d.Result)
		return nil
	case "items":
		l.items = d.Result
	case "turns":
		l.turns = d.Result
	case "children":
		l.children = d.Result
	case "waiting":
		l.waiting = d.Result
	default: // one item
		var r struct {
			Item itemRow `json:"item"`
		}
		decode(d.Result, &r)
		delete(l.reading, r.Item.ItemID)
		m.reread(now, r.Item)
		return nil
	}
	if l.missing--; l.missing == 0 {
		return m.begin(now)
	}
	return nil
}

// notLoaded takes a failed request. Without children, or older items, the page works.
func (m *Model) notLoaded(now time.Time, name string, err error) []screen.Action {
	l := &m.loader
	switch name {
	case "thread", "items", "turns", "waiting":
		l.failed = "the thread cannot be read: " + words(err)
		l.again = now.Add(tryAgain)
		if client.IsKind(err, "not_found") || client.IsKind(err, "thread_not_found") {
			l.again = time.Time{}
		}
	case "children":
		if l.missing--; l.missing == 0 {
			return m.begin(now)
		}
	case "older":
		l.olderAsked = false
		m.status = "older items cannot be read: " + words(err)
	case "refresh":
		l.childrenAsked, m.fresh = false, now
	}
	return nil
}

func (m *Model) threadRead(result json.RawMessage) []screen.Action {
	var r struct {
		Thread    threadRow `json:"thread"`
		LatestSeq int64     `json:"latest_seq"`
	}
	decode(result, &r)
	m.thread = r.Thread
	l := &m.loader
	l.after, l.missing = r.LatestSeq, 4
	waiting := map[string]any{"thread_id": m.options.Thread, "status": "pending", "limit": keptQuestions}
	newest := map[string]any{"thread_id": m.options.Thread, "order": "desc", "limit": turnsPage}
	return []screen.Action{
		l.call("items", "item/list", m.itemsParams()),
		l.call("turns", "turn/list", newest),
		l.call("children", "turn/list", m.childrenParams()),
		l.call("waiting", "item/list", waiting),
	}
}

// itemsResult and turnsResult are pages of lists.
type (
	itemsResult struct {
		Items      []itemRow `json:"items"`
		NextCursor string    `json:"next_cursor"`
	}
	turnsResult struct {
		Turns      []*turnRow `json:"turns"`
		NextCursor string     `json:"next_cursor"`
	}
)

// begin shows what has been read, and follows the thread from there.
func (m *Model) begin(now time.Time) []screen.Action {
	l := &m.loader
	unfolded := map[string]bool{}
	for _, e := range m.history.entries {
		unfolded[e.key] = e.unfolded
	}
	m.history, m.turns = newHistory(), newTurns()
	m.cursor = l.after
	var newest turnsResult
	decode(l.turns, &newest)
	for i := len(newest.Turns) - 1; i >= 0; i-- {
		m.turns.put(newest.Turns[i], false)
	}
	m.turns.older = newest.NextCursor
	m.takeItems(l.items)
	var waiting itemsResult
	decode(l.waiting, &waiting)
	open := m.asks.open
	m.asks.open = nil
	for _, row := range waiting.Items {
		m.asks.put(now, row.item())
	}
	if len(open) > 0 && len(m.asks.open) > 0 && open[0].id == m.asks.open[0].id {
		m.asks.open[0] = open[0] // what was typed into it stays
	}
	m.putChildren(l.children)
	m.fresh = now
	for key := range unfolded {
		if e := m.history.byKey[key]; e != nil {
			e.unfolded = unfolded[key]
		}
	}
	l.items, l.turns, l.children, l.waiting = nil, nil, nil, nil
	l.ready, l.failed = true, ""
	if m.history.byKey[m.view.top] == nil {
		m.view.toEnd()
	}
	return append([]screen.Action{screen.Follow{Thread: m.options.Thread, After: l.after}}, m.subjects()...)
}

// takeItems adds a page of items, and the ends of turns that are among them.
func (m *Model) takeItems(result json.RawMessage) {
	var page itemsResult
	decode(result, &page)
	m.history.older = page.NextCursor
	for _, row := range page.Items {
		m.history.add(row)
	}
	m.putEnds()
}

// putEnds adds the ends of turns that belong to the part that is held.
func (m *Model) putEnds() {
	for _, id := range m.turns.order {
		if t := m.turns.rows[id]; t.ended() && t.UpdatedSeq >= m.history.oldestSeq() && !m.history.detached {
			m.history.put(&entry{key: "end:" + id, seq: t.UpdatedSeq, turn: id, end: &ending{row: *t}})
		}
	}
}

// askOlder asks for the page before the oldest item.
func (m *Model) askOlder() []screen.Action {
	l := &m.loader
	if m.history.older == "" || l.olderAsked || !l.ready {
		return nil
	}
	l.olderAsked = true
	params := m.itemsParams()
	params["cursor"] = m.history.older
	out := []screen.Action{l.call("older", "item/list", params)}
	if m.turns.older != "" && len(m.turns.order) < keptTurns {
		out = append(out, l.call("older turns", "turn/list", map[string]any{"thread_id": m.options.Thread, "order": "desc", "limit": turnsPage, "cursor": m.turns.older}))
		m.turns.older = ""
	}
	return out
}

func (m *Model) olderItems(result json.RawMessage) {
	m.takeItems(result)
	m.history.trim(m.view.follow)
}

func (m *Model) olderTurns(result json.RawMessage) {
	var page turnsResult
	decode(result, &page)
	for _, row := range page.Turns {
		m.turns.put(row, true)
	}
	m.turns.older = page.NextCursor
	m.putEnds()
}

func (m *Model) putChildren(result json.RawMessage) {
	var page turnsResult
	decode(result, &page)
	for _, row := range page.Turns {
		key := "child:" + row.TurnID
		if e := m.history.byKey[key]; e != nil {
			e.child.row = *row
			m.history.changed(e)
		} else if row.CreatedSeq >= m.history.oldestSeq() && !m.history.detached {
			m.history.put(&entry{key: key, seq: row.CreatedSeq, child: &childTurn{row: *row}})
		}
	}
}

// read asks for an item.
func (m *Model) read(id string) []screen.Action {
	l := &m.loader
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
func (m *Model) reread(now time.Time, row itemRow) {
	it := row.item()
	if e := m.history.item(row.ItemID); e != nil && it.updated >= e.item.updated {
		e.item = it
		m.history.changed(e)
	}
	for i, q := range m.asks.open {
		if q.content.Subject.ItemID == row.ItemID {
			q.subject = it
			if i == 0 {
				m.asks.touched(now)
			}
		}
	}
}

// subjects finds what the open questions are about.
func (m *Model) subjects() (out []screen.Action) {
	for _, q := range m.asks.open {
		id := q.content.Subject.ItemID
		if id == "" || q.subject != nil {
			continue
		}
		if e := m.history.item(id); e != nil {
			q.subject = e.item
			continue
		}
		out = append(out, m.read(id)...)
	}
	return out
}

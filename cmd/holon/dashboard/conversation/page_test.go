package conversation

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/rpc/client"
)

// page is a model at a server that the test plays: it answers requests from lists, and
// sends events.
type page struct {
	t       testing.TB
	m       *Model
	now     time.Time
	w, h    int
	seq     int64
	items   []object // the newest last
	turns   []object
	kids    []object        // child turns …
	below   []object        // … and threads below
	actions []screen.Action // those that the page does not answer by itself
	refuse  map[string]error
	working bool // Work is left undone
	slow    bool // the server does not answer: its calls are kept
	kept    []screen.Call
}

// start is when all tests begin.
var start = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

const thread = "thread_1"

func newPage(t testing.TB, w, h int) *page {
	p := &page{t: t, now: start, w: w, h: h, refuse: map[string]error{}}
	p.m = New(Options{Thread: thread, Write: true})
	return p
}

// open lets the page read the thread.
func (p *page) open() *page {
	p.send(tea.WindowSizeMsg{Width: p.w, Height: p.h})
	p.send(Begin{})
	return p
}

// send gives the page a message and answers what it asks of the server.
func (p *page) send(msg tea.Msg) {
	p.t.Helper()
	for _, a := range p.m.Update(p.now, msg) {
		switch a := a.(type) {
		case screen.Call:
			if p.slow {
				p.kept = append(p.kept, a)
				continue
			}
			p.send(p.answer(a))
		case screen.Work:
			if !p.working {
				p.send(a.Do())
			}
		case screen.Follow, screen.Seen:
		default:
			p.actions = append(p.actions, a)
		}
	}
}

// answerAll lets the server answer what it has kept.
func (p *page) answerAll() {
	p.t.Helper()
	p.slow = false
	for len(p.kept) > 0 {
		call := p.kept[0]
		p.kept = p.kept[1:]
		p.send(p.answer(call))
	}
}

// answer is the server's answer to a read.
func (p *page) answer(call screen.Call) screen.Done {
	if err := p.refuse[call.Method]; err != nil {
		return screen.Done{Action: call, Err: err}
	}
	params, _ := call.Params.(map[string]any)
	var result any
	switch call.Method {
	case "thread/read":
		result = object{"thread": object{"thread_id": thread, "title": "mend the build", "agent": "echo", "state": "running", "summary": object{"cwd": "/home/ada/project"}}, "latest_seq": p.seq}
	case "item/list":
		result = p.list(params)
	case "turn/list":
		rows := p.turns
		if params["parent_thread_id"] != nil {
			rows = p.kids
		}
		result = object{"turns": reversed(rows)}
	case "turn/read":
		for _, row := range p.turns {
			if row["turn_id"] == params["turn_id"] {
				result = object{"turn": row}
			}
		}
	case "thread/list":
		result = object{"threads": p.below}
	case "item/read":
		for _, it := range p.items {
			if it["item_id"] == params["item_id"] {
				result = object{"item": it}
			}
		}
	}
	raw, err := json.Marshal(result)
	if err != nil {
		p.t.Fatal(err)
	}
	return screen.Done{Action: call, Result: raw}
}

// list is a page of items: pending ones, or the newest before a cursor.
func (p *page) list(params map[string]any) any {
	rows := reversed(p.items)
	next := ""
	if params["status"] == "pending" {
		var pending []object
		for _, it := range p.items {
			if it["status"] == "pending" {
				pending = append(pending, it)
			}
		}
		return object{"items": pending, "latest_seq": p.seq}
	}
	if params["order"] == "asc" {
		rows = p.items
	}
	if cursor, ok := params["cursor"].(string); ok {
		for len(rows) > 0 && fmt.Sprint(rows[0]["created_seq"]) != cursor {
			rows = rows[1:]
		}
		rows = rows[min(1, len(rows)):]
	}
	if limit := params["limit"].(int); len(rows) > limit {
		rows = rows[:limit]
		next = fmt.Sprint(rows[limit-1]["created_seq"])
	}
	return object{"items": rows, "next_cursor": next}
}

func reversed(rows []object) (out []object) {
	for i := len(rows) - 1; i >= 0; i-- {
		out = append(out, rows[i])
	}
	return out
}

// object is the params of an event, or content.
type object = map[string]any

// event sends an event of the thread.
func (p *page) event(method string, params object) {
	p.t.Helper()
	p.seq++
	p.send(p.made(method, params))
}

// made is an event of the thread with the newest seq.
func (p *page) made(method string, params object) client.Event {
	params["seq"], params["thread_id"] = p.seq, thread
	raw, err := json.Marshal(params)
	if err != nil {
		p.t.Fatal(err)
	}
	e := client.Event{Method: method, Seq: p.seq, ThreadID: thread, Time: p.now, Params: raw}
	e.TurnID, _ = params["turn_id"].(string)
	e.ItemID, _ = params["item_id"].(string)
	return e
}

func (p *page) item(id, turn, status string, content object) {
	p.t.Helper()
	method := "item/created"
	if p.m.history.item(id) != nil {
		method = "item/updated"
	}
	p.event(method, object{"item_id": id, "turn_id": turn, "status": status, "content": content, "lineage": lineage(1)})
}

func lineage(epoch int) []object { return []object{{"step": "", "epoch": epoch}} }

func (p *page) delta(id, turn string, offset int, text string) {
	p.t.Helper()
	p.event("item/delta", deltaOf(id, turn, offset, text))
}

func deltaOf(id, turn string, offset int, text string) object {
	return object{"item_id": id, "turn_id": turn, "delta": object{"text": text}, "offset": offset, "lineage": lineage(1)}
}

func (p *page) started(turn string) {
	p.t.Helper()
	p.event("turn/started", object{"turn_id": turn, "attempt": 1, "started_at": p.now, "lineage": lineage(1)})
}

func (p *page) ended(turn, how string) {
	p.t.Helper()
	p.event("turn/"+how, object{"turn_id": turn, "attempt": 1, "started_at": p.now.Add(-4 * time.Second), "completed_at": p.now, "lineage": lineage(1)})
}

// stored puts an item into the server's lists, as if it had been made before.
func (p *page) stored(id, status string, content object) {
	p.seq++
	p.items = append(p.items, object{
		"item_id": id, "thread_id": thread, "turn_id": "t0", "status": status, "content": content,
		"created_seq": p.seq, "updated_seq": p.seq, "lineage": lineage(1),
	})
}

func user(text string) object {
	return object{"type": "user_message", "content": []object{{"type": "input_text", "text": text}}}
}

func said(text string) object {
	return object{"type": "agent_message", "content": []object{{"type": "output_text", "text": text}}}
}

func permission(title string, more object) object {
	c := object{"type": "permission_request", "title": title, "options": []object{
		{"option_id": "once", "name": "Allow", "kind": "allow_once"},
		{"option_id": "always", "name": "Always allow", "kind": "allow_always"},
		{"option_id": "no", "name": "Reject", "kind": "reject_once"},
	}}
	for name, value := range more {
		c[name] = value
	}
	return c
}

// keys presses keys by their names; text of other names is typed.
func (p *page) keys(names ...string) {
	p.t.Helper()
	for _, name := range names {
		if key, ok := named[name]; ok {
			p.send(key)
			continue
		}
		for _, r := range name {
			p.send(tea.KeyPressMsg{Code: r, Text: string(r)})
		}
	}
}

var named = map[string]tea.KeyPressMsg{
	"<enter>": {Code: tea.KeyEnter}, "<esc>": {Code: tea.KeyEscape}, "<tab>": {Code: tea.KeyTab}, "<space>": {Code: tea.KeySpace, Text: " "},
	"<up>": {Code: tea.KeyUp}, "<down>": {Code: tea.KeyDown}, "<left>": {Code: tea.KeyLeft}, "<right>": {Code: tea.KeyRight},
	"<pgup>": {Code: tea.KeyPgUp}, "<pgdown>": {Code: tea.KeyPgDown}, "<backspace>": {Code: tea.KeyBackspace},
	"<alt-enter>": {Code: tea.KeyEnter, Mod: tea.ModAlt}, "<ctrl-j>": {Code: 'j', Mod: tea.ModCtrl},
}

// later lets time pass, as the program does: a tick whenever the page says so.
func (p *page) later(d time.Duration) {
	p.t.Helper()
	end := p.now.Add(d)
	for range 10_000 {
		p.check()
		at := p.m.Changes(p.now)
		if at.IsZero() || at.After(end) {
			p.now = end
			p.send(screen.Tick{})
			return
		}
		if at.After(p.now) {
			p.now = at
		}
		p.send(screen.Tick{})
	}
	p.t.Fatal("the page wants ticks without an end")
}

// text is what the page shows now.
func (p *page) text() string {
	p.t.Helper()
	p.later(drawEvery)
	return strings.Join(p.check(), "\n")
}

// check asserts what holds of every picture: its size, and that it is harmless.
func (p *page) check() []string {
	p.t.Helper()
	lines := p.m.Lines(p.now, p.w, p.h)
	if len(lines) != p.h {
		p.t.Fatalf("%d lines, want %d", len(lines), p.h)
	}
	for i, line := range lines {
		if w := screen.Width(line); w != p.w {
			p.t.Fatalf("line %d has %d columns, want %d: %q", i, w, p.w, line)
		}
		if line != screen.Colours(line) || strings.Contains(line, "\n") {
			p.t.Fatalf("line %d is not harmless: %q", i, line)
		}
	}
	return lines
}

func (p *page) shows(parts ...string) {
	p.t.Helper()
	text := p.text()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			p.t.Fatalf("%q is not shown:\n%s", part, text)
		}
	}
}

func (p *page) hides(parts ...string) {
	p.t.Helper()
	text := p.text()
	for _, part := range parts {
		if strings.Contains(text, part) {
			p.t.Fatalf("%q is shown:\n%s", part, text)
		}
	}
}

// did takes the actions since the last call.
func (p *page) did() (out []screen.Action) {
	out, p.actions = p.actions, nil
	return out
}

func (p *page) wants(want ...screen.Action) {
	p.t.Helper()
	if got := p.did(); len(got)+len(want) > 0 && fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
		p.t.Fatalf("the page asks for %#v, want %#v", got, want)
	}
}

func paste(text string) tea.Msg { return tea.PasteMsg{Content: text} }

package conformance

import (
	"slices"
	"strings"
)

func threadChecks() []check {
	return []check{
		{id: "thread.start", sentence: "thread/start answers with every field and makes thread/started with the same seq.", source: srcMethods, run: func(p *probe) {
			d := p.duplex("")
			d.opened()
			r := p.thread(d, obj{"title": "A title", "metadata": obj{"a": 1}, "cwd": "/tmp"})
			p.mustHave(r, "thread/start", "thread_id", "session_id", "state", "agent", "started_at", "created", "seq")
			p.must(r.str("session_id") == r.str("thread_id"), "session_id differs from thread_id")
			p.must(r.isTrue("created"), "created is not true")
			p.must(strings.HasPrefix(r.str("thread_id"), "thread_"), "thread_id is %q", r.str("thread_id"))
			p.must(r.str("state") == "running", "state is %q", r.str("state"))
			p.mustTime(r, "thread/start", "started_at")
			ev := d.event("thread/started", "thread_id", r.str("thread_id"))
			a := ev.args()
			p.must(ev.seq() == int64(r.num("seq")), "thread/started has seq %d, the result says %v", ev.seq(), r.num("seq"))
			p.mustHave(a, "thread/started", "type", "state", "started_at", "session_id", "agent", "title", "cwd", "metadata", "thread_seq", "timestamp")
			p.must(a.num("thread_seq") == 1, "thread_seq is %v, want 1", a.num("thread_seq"))
			p.must(a.str("title") == "A title" && a.str("cwd") == "/tmp" && a.num("metadata.a") == 1, "title, cwd or metadata differ: %s", encode(obj(a)))
			p.mustTime(a, "thread/started", "timestamp", "started_at")
		}},
		{id: "thread.own_id", sentence: "A client may choose the thread_id; starting it again returns it with created false.", source: srcMethods, run: func(p *probe) {
			id := p.nonce("own-id_A9")
			r := p.thread(p.http(), obj{"thread_id": id})
			p.must(r.str("thread_id") == id && r.isTrue("created"), "got %s", encode(obj(r)))
			head := p.head(p.http())
			r = p.call(p.http(), "thread/start", obj{"thread_id": id})
			p.must(r.str("thread_id") == id && !r.isTrue("created"), "the second start answered %s", encode(obj(r)))
			p.mustBeSilent(p.http(), head, "the second start", obj{"thread_id": id})
		}},
		{id: "thread.bad_id", sentence: "A thread_id outside [A-Za-z0-9_-]{1,64} gets -32602.", source: srcMethods, run: func(p *probe) {
			for _, id := range []string{"a b", "a/b", "ä", "", "a.b", strings.Repeat("x", 65), "a\n"} {
				f := p.refuse(p.http(), -32602, "invalid_params", "thread/start", obj{"thread_id": id})
				p.must(f.str("data.field") == "thread_id", "data.field is %q", f.str("data.field"))
			}
			p.thread(p.http(), obj{"thread_id": p.nonce(strings.Repeat("y", 40))})
		}},
		{id: "thread.conflict", sentence: "Starting an existing thread with another cwd is a conflict.", source: srcMethods, run: func(p *probe) {
			id := p.nonce("conflict")
			p.thread(p.http(), obj{"thread_id": id, "cwd": "/tmp"})
			p.refuse(p.http(), -32003, "conflict", "thread/start", obj{"thread_id": id, "cwd": "/"})
		}},
		{id: "thread.unknown_agent", sentence: "An agent that is not there gets agent_not_found.", source: srcErrors, run: func(p *probe) {
			p.refuse(p.http(), -32002, "agent_not_found", "thread/start", obj{"agent": p.nonce("nobody")})
		}},
		{id: "thread.parent", sentence: "A parent is stored and shown.", source: srcMethods, run: func(p *probe) {
			d := p.duplex("")
			parent := p.thread(d, nil).str("thread_id")
			child := p.thread(d, obj{"parent": obj{"thread_id": parent}}).str("thread_id")
			a := d.event("thread/started", "thread_id", child).args()
			p.must(a.str("parent.thread_id") == parent, "thread/started shows parent %v", a["parent"])
		}},
		{id: "thread.pause", sentence: "A paused thread starts no turn until it is resumed; its active turn goes on.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			thread := p.echoThread(d)
			active := p.running(d, thread, "/sleep 200\n/say done")
			r := p.call(d, "thread/pause", obj{"thread_id": thread, "reason": "a break"})
			p.mustHave(r, "thread/pause", "thread_id", "state", "seq")
			p.must(r.str("state") == "paused", "state is %q", r.str("state"))
			ev := d.event("thread/paused", "thread_id", thread)
			p.must(ev.seq() == int64(r.num("seq")) && ev.args().str("state") == "paused" && ev.args().str("reason") == "a break", "thread/paused is %s", clip(ev.raw, 300))
			d.completed(active)
			q := p.turn(d, thread, "hello")
			p.must(q.str("state") == "queued", "turn/start on a paused thread answered state %q", q.str("state"))
			queued := d.event("turn/queued", "turn_id", q.str("turn_id"))
			p.must(queued.args().str("reason") == "paused", "turn/queued has reason %q, want paused", queued.args().str("reason"))
			r = p.call(d, "thread/resume", obj{"thread_id": thread})
			p.must(r.str("state") == "running", "state is %q", r.str("state"))
			resumed := d.event("thread/resumed", "thread_id", thread)
			d.completed(q.str("turn_id"))
			started := d.event("turn/started", "turn_id", q.str("turn_id"))
			p.must(started.seq() > resumed.seq(), "the turn started at %d, before the thread was resumed at %d", started.seq(), resumed.seq())
		}},
		{id: "thread.pause_reject", sentence: "on_busy reject on a paused thread gets thread_paused.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			thread := p.echoThread(p.http())
			p.call(p.http(), "thread/pause", obj{"thread_id": thread})
			p.refuse(p.http(), -32004, "thread_paused", "turn/start", startParams(thread, "hello", obj{"on_busy": "reject"}))
		}},
		{id: "thread.close_idle", sentence: "Closing an idle thread closes it at once; thread/closed is its last event.", source: srcMethods, run: func(p *probe) {
			d := p.duplex("")
			thread := p.thread(d, nil).str("thread_id")
			r := p.call(d, "thread/close", obj{"thread_id": thread, "reason": "done"})
			p.must(r.str("state") == "closed", "state is %q", r.str("state"))
			ev := d.event("thread/closed", "thread_id", thread)
			p.must(ev.seq() == int64(r.num("seq")), "thread/closed has seq %d, the result says %v", ev.seq(), r.num("seq"))
			p.must(ev.args().str("state") == "closed" && ev.args().str("reason") == "done", "thread/closed is %s", clip(ev.raw, 300))
		}},
		{id: "thread.close_busy", sentence: "Closing a busy thread interrupts the active turn and the queue; thread/closed is its last event.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			thread := p.echoThread(d)
			active := p.running(d, thread, "/sleep 20000")
			waiting := p.turn(d, thread, "hello").str("turn_id")
			p.call(d, "thread/close", obj{"thread_id": thread})
			d.event("thread/closed", "thread_id", thread)
			for _, turn := range []string{active, waiting} {
				m := d.outcome(turn)
				p.must(m.method == "turn/interrupted", "turn %s ended with %s", turn, m.method)
			}
			p.call(d, "holon/status", nil)
			all := d.ofThread(thread)
			p.must(all[len(all)-1].method == "thread/closed", "the last event of the thread is %s", all[len(all)-1].method)
		}},
		{id: "thread.closed", sentence: "A closed thread takes no turn and cannot be started, paused or resumed again.", source: srcErrors, run: func(p *probe) {
			thread := p.thread(p.http(), nil).str("thread_id")
			p.call(p.http(), "thread/close", obj{"thread_id": thread})
			p.refuse(p.http(), -32004, "thread_closed", "turn/start", startParams(thread, "hello"))
			for _, method := range []string{"thread/start", "thread/pause", "thread/resume"} {
				p.refuse(p.http(), -32004, "thread_closed", method, obj{"thread_id": thread})
			}
			state := p.call(p.http(), "thread/read", obj{"thread_id": thread}).str("thread.state")
			p.must(state == "closed", "thread/read says state %q", state)
		}},
		{id: "thread.not_found", sentence: "A thread that is not there gets thread_not_found.", source: srcErrors, run: func(p *probe) {
			id := p.nonce("missing")
			for _, method := range []string{"thread/read", "thread/pause", "thread/resume", "thread/close"} {
				p.refuse(p.http(), -32002, "thread_not_found", method, obj{"thread_id": id})
			}
			p.refuse(p.http(), -32002, "thread_not_found", "turn/start", startParams(id, "hello"))
		}},
		{id: "thread.read", sentence: "thread/read gives the thread and, when asked, its newest turns, with latest_seq.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			thread := p.echoThread(d)
			turn := p.turn(d, thread, "hello").str("turn_id")
			d.completed(turn)
			r := p.call(d, "thread/read", obj{"thread_id": thread, "include_turns": true})
			p.mustHave(r, "thread/read", "thread", "turns", "latest_seq")
			p.must(r.str("thread.thread_id") == thread && r.str("thread.state") == "running", "thread is %s", encode(obj(r.obj("thread"))))
			turns := r.objs("turns")
			p.must(len(turns) == 1 && turns[0].str("turn_id") == turn && turns[0].str("state") == "completed", "turns is %v", r["turns"])
		}},
		{id: "thread.list", sentence: "thread/list filters by state and agent.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			open := p.echoThread(p.http())
			closed := p.echoThread(p.http())
			p.call(p.http(), "thread/close", obj{"thread_id": closed})
			running := p.everyThread(obj{"state": "running", "agent": "echo"})
			p.must(slices.Contains(running, open) && !slices.Contains(running, closed), "state running lists the closed thread or lacks the open one")
			p.must(slices.Contains(p.everyThread(obj{"state": "closed"}), closed), "state closed lacks the closed thread")
		}},
	}
}

// everyThread pages through thread/list and returns the ids.
func (p *probe) everyThread(params obj) []string {
	var ids []string
	for _, t := range p.pages("thread/list", "threads", params, 1000) {
		ids = append(ids, t.str("thread_id"))
	}
	return ids
}

// pages collects every page of a list.
func (p *probe) pages(method, key string, params obj, limit int) []object {
	var all []object
	cursor := ""
	for range 200 {
		ask := obj{"limit": limit}
		for k, v := range params {
			ask[k] = v
		}
		if cursor != "" {
			ask["cursor"] = cursor
		}
		r := p.call(p.http(), method, ask)
		p.must(r.has(key), "%s lacks %q", method, key)
		p.must(len(r.list(key)) <= limit, "%s gave %d entries, the limit was %d", method, len(r.list(key)), limit)
		all = append(all, r.objs(key)...)
		cursor = r.str("next_cursor")
		if cursor == "" {
			return all
		}
	}
	p.failf("%s did not end after 200 pages", method)
	return nil
}

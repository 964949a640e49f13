package conformance

import "slices"

// The suite is the worker of these two agents, if the server has them: the
// turns of others are not for it to claim.
const (
	workerAgent = "conformance"
	briefAgent  = "conformance_brief"
)

// leased is a turn that the suite has claimed.
type leased struct {
	p            *probe
	d            *duplex
	thread, turn string
	lease        obj
	claim        object // turn/claim's answer
}

// workTurn starts a turn of the agent and claims it.
func (p *probe) workTurn(d *duplex, agent, text string, more ...obj) *leased {
	w := &leased{p: p, d: d, thread: p.thread(d, obj{"agent": agent}).str("thread_id")}
	w.turn = p.turn(d, w.thread, text, more...).str("turn_id")
	w.claimed(agent)
	return w
}

// claimed claims the turn's present attempt.
func (w *leased) claimed(agent string) {
	w.claim = w.p.call(w.d, "turn/claim", obj{"agent": agent, "worker": "suite", "wait_seconds": 5})
	w.p.mustHave(w.claim, "turn/claim", "turn", "input", "lease.turn_id", "lease.attempt", "lease.token", "lease.expires_at", "seq")
	w.p.must(w.claim.str("turn.turn_id") == w.turn && w.claim.str("lease.turn_id") == w.turn, "turn/claim gave turn %q with a lease for %q, want %s", w.claim.str("turn.turn_id"), w.claim.str("lease.turn_id"), w.turn)
	w.lease = obj(w.claim.obj("lease"))
}

// with is the params of one of the worker's methods.
func (w *leased) with(params obj) obj {
	params["lease"] = w.lease
	return params
}

// say makes a request that must succeed.
func (w *leased) say(method string, params obj) object {
	return w.p.call(w.d, method, w.with(params))
}

// message makes an item with a text, and returns its id.
func (w *leased) message(text string, more obj) string {
	params := obj{"content": obj{"type": "agent_message", "role": "assistant", "content": []any{obj{"type": "output_text", "text": text}}}}
	for k, v := range more {
		params[k] = v
	}
	r := w.say("item/create", params)
	w.p.mustHave(r, "item/create", "item_id", "status", "seq")
	return r.str("item_id")
}

// superseded makes a request that comes too late.
func (w *leased) superseded(method string, params obj) object {
	f := w.p.refuse(w.d, -32009, "attempt_superseded", method, w.with(params))
	w.p.must(f.str("data.turn_id") == w.turn && f.isInt("data.attempt") && f.isStr("data.step") && f.isInt("data.epoch"), "data is %v", f["data"])
	return f
}

func workerChecks() []check {
	return []check{
		{id: "worker.claim", sentence: "A turn of workers is active before it is claimed; turn/claim gives it with its input and a lease, and then it is running.", source: srcMethods, needs: needWorker, run: func(p *probe) {
			d := p.duplex("")
			thread := p.thread(d, obj{"agent": workerAgent, "cwd": "/"}).str("thread_id")
			r := p.turn(d, thread, "build it")
			p.must(r.str("state") == "active", "turn/start says %q", r.str("state"))
			w := &leased{p: p, d: d, thread: thread, turn: r.str("turn_id")}
			starting := d.event("turn/progress", "turn_id", w.turn, "state", "starting")
			w.claimed(workerAgent)
			running := d.event("turn/progress", "turn_id", w.turn, "state", "running")
			p.must(starting.seq() < running.seq() && running.seq() <= int64(w.claim.num("seq")), "starting is %d, running %d, the result says %v", starting.seq(), running.seq(), w.claim["seq"])
			p.must(w.claim.num("lease.attempt") == 1 && w.claim.str("cwd") == "/", "the claim is %s", encode(obj(w.claim)))
			p.mustTime(w.claim, "turn/claim", "lease.expires_at")
			in := w.claim.objs("input")
			p.must(len(in) == 1 && in[0].str("type") == "message" && in[0].str("role") == "user" && in[0].str("content.0.text") == "build it" && in[0].isStr("item_id"), "input is %v", w.claim["input"])
			e := w.say("turn/complete", obj{"message": "built", "usage": obj{"type": "usage", "input_tokens": 2, "output_tokens": 3, "total_tokens": 5}})
			p.must(e.str("state") == "completed" && e.str("turn_id") == w.turn, "turn/complete answered %s", encode(obj(e)))
			end := d.completed(w.turn)
			p.must(end.seq() == int64(e.num("seq")) && end.args().str("message") == "built" && end.args().num("usage.total_tokens") == 5, "turn/completed is %s", clip(end.raw, 300))
			for _, m := range d.ofTurn(w.turn) {
				p.must(m.method != "stream/rewind", "the first claim made a marker")
			}
		}},
		{id: "worker.claim_none", sentence: "When no turn comes in time, turn/claim answers turn null and no lease.", source: srcMethods, needs: needWorker, run: func(p *probe) {
			for _, params := range []obj{{"agent": workerAgent}, {"agent": workerAgent, "wait_seconds": 0.1}} {
				r := p.call(p.http(), "turn/claim", params)
				turn, there := r.get("turn")
				p.must(there && turn == nil && !r.has("lease"), "turn/claim answered %s", encode(obj(r)))
			}
		}},
		{id: "worker.claim_waits", sentence: "A claim that waits gets the next turn, and delays no other request of its connection.", source: srcFrames, needs: needWorker, run: func(p *probe) {
			d := p.duplex("")
			id := d.start("turn/claim", obj{"agent": workerAgent, "wait_seconds": 20})
			thread := p.thread(d, obj{"agent": workerAgent}).str("thread_id")
			turn := p.turn(d, thread, "x").str("turn_id")
			m := d.answer(id)
			p.must(m.failure == nil && decode(m.result).str("turn.turn_id") == turn, "turn/claim answered %s%s", clip(m.result, 300), clip(m.failure, 300))
		}},
		{id: "worker.claim_params", sentence: "Only turns of agents of kind worker are claimed, and the wait has a bound.", source: srcErrors, needs: needWorker | needEcho, run: func(p *probe) {
			p.refuse(p.http(), -32002, "agent_not_found", "turn/claim", obj{"agent": "nobody-has-this-name"})
			for field, params := range map[string]obj{
				"agent": {"agent": "echo"}, "wait_seconds": {"agent": workerAgent, "wait_seconds": 3600},
			} {
				f := p.refuse(p.http(), -32602, "invalid_params", "turn/claim", params)
				p.must(f.str("data.field") == field, "data.field is %q, want %s", f.str("data.field"), field)
			}
		}},
		{id: "worker.claim_key", sentence: "A claim with the same idempotency_key gets the same turn and lease again.", source: srcMethods, needs: needWorker, run: func(p *probe) {
			d := p.duplex("")
			thread := p.thread(d, obj{"agent": workerAgent}).str("thread_id")
			p.turn(d, thread, "x")
			params := obj{"agent": workerAgent, "wait_seconds": 5, "idempotency_key": p.nonce("key")}
			first, again := p.call(d, "turn/claim", params), p.call(d, "turn/claim", params)
			p.must(first.str("lease.token") != "" && first.str("lease.token") == again.str("lease.token") && first.str("lease.turn_id") == again.str("lease.turn_id"),
				"the leases are %v and %v", first["lease"], again["lease"])
			p.must(len(again.list("input")) == 1 && again.str("turn.turn_id") == first.str("turn.turn_id"), "the second answer is %s", encode(obj(again)))
		}},
		{id: "worker.items", sentence: "item/create, append, update and delete make the events that any agent's items have.", source: srcMethods, needs: needWorker, run: func(p *probe) {
			d := p.duplex("")
			w := p.workTurn(d, workerAgent, "x")
			own := p.nonce("item")
			id := w.message("a", obj{"item_id": own})
			p.must(id == own, "item/create gave the id %q, asked for %s", id, own)
			created := d.event("item/created", "item_id", id).args()
			p.must(created.str("status") == "in_progress" && created.num("attempt") == 1 && created.has("lineage"), "item/created is %s", encode(obj(created)))
			r := w.say("item/append", obj{"item_id": id, "text": "bc"})
			p.must(r.str("item_id") == id && r.str("status") == "in_progress", "item/append answered %s", encode(obj(r)))
			delta := d.event("item/delta", "item_id", id).args()
			p.must(delta.str("delta.text") == "bc" && delta.num("offset") == 1, "item/delta is %s", encode(obj(delta)))
			w.say("item/update", obj{"item_id": id, "status": "completed"})
			done := d.event("item/updated", "item_id", id).args()
			p.must(done.str("status") == "completed" && firstText(done) == "abc", "item/updated is %s", encode(obj(done)))
			other := w.message("no", obj{"status": "completed"})
			p.must(w.say("item/delete", obj{"item_id": other}).str("status") == "deleted", "item/delete did not delete")
			d.event("item/deleted", "item_id", other)
			item := p.call(d, "item/read", obj{"item_id": id}).obj("item")
			p.must(firstText(item) == "abc" && item.str("status") == "completed", "item/read says %s", encode(obj(item)))
		}},
		{id: "worker.item_id", sentence: "An item_id of the worker's own is unique in the whole log.", source: srcErrors, needs: needWorker, run: func(p *probe) {
			d := p.duplex("")
			w := p.workTurn(d, workerAgent, "x")
			own := w.message("a", obj{"item_id": p.nonce("item")})
			content := obj{"type": "notice", "severity": "info", "message": "again"}
			p.refuse(d, -32003, "conflict", "item/create", w.with(obj{"item_id": own, "content": content}))
			w.say("turn/complete", obj{})
			other := p.workTurn(d, workerAgent, "y")
			p.refuse(d, -32003, "conflict", "item/create", other.with(obj{"item_id": own, "content": content}))
			p.refuse(d, -32002, "item_not_found", "item/append", other.with(obj{"item_id": own, "text": "x"}))
		}},
		{id: "worker.batch", sentence: "item/batch does all of its ops or none of them.", source: srcMethods, needs: needWorker, run: func(p *probe) {
			d := p.duplex("")
			w := p.workTurn(d, workerAgent, "x")
			a, b := p.nonce("item"), p.nonce("item")
			notice := obj{"type": "notice", "severity": "info", "message": "m"}
			head := p.head(d)
			f := p.refuse(d, -32602, "invalid_params", "item/batch", w.with(obj{"ops": []any{
				obj{"op": "create", "item_id": a, "content": notice}, obj{"op": "append", "item_id": a, "text": "x"},
			}}))
			p.must(len(f.str("data.field")) > 6 && f.str("data.field")[:7] == "ops[1].", "data.field is %q, want one of ops[1]", f.str("data.field"))
			p.mustBeSilent(d, head, "the refused batch", obj{"thread_id": w.thread})
			reasoning := obj{"type": "reasoning", "text": ""}
			r := w.say("item/batch", obj{"ops": []any{
				obj{"op": "create", "item_id": a, "content": reasoning}, obj{"op": "append", "item_id": a, "text": "x"},
				obj{"op": "create", "item_id": b, "status": "completed", "content": notice}, obj{"op": "update", "item_id": a, "status": "completed"},
			}})
			var got []string
			for _, it := range r.objs("items") {
				got = append(got, it.str("item_id")+" "+it.str("status"))
			}
			p.must(slices.Equal(got, []string{a + " in_progress", a + " in_progress", b + " completed", a + " completed"}), "items are %v", got)
			p.must(d.event("item/updated", "item_id", a).args().str("content.text") == "x", "the text is not x")
		}},
		{id: "worker.steps", sentence: "Starting a step again is a new epoch with its marker: what it said before is superseded.", source: srcMethods, needs: needWorker, run: func(p *probe) {
			d := p.duplex("")
			w := p.workTurn(d, workerAgent, "x")
			r := w.say("step/start", obj{"step": "setup/clone"})
			p.must(r.str("step") == "setup/clone" && r.num("epoch") == 1, "step/start answered %s", encode(obj(r)))
			d.event("step/started", "turn_id", w.turn, "step", "setup")
			first := w.message("one", obj{"step": "setup/clone", "epoch": 1})
			r = w.say("step/start", obj{"step": "setup/clone", "reason": "the mirror was gone"})
			p.must(r.num("epoch") == 2, "the second try has epoch %v", r["epoch"])
			marker := d.event("stream/rewind", "turn_id", w.turn, "step", "setup/clone")
			p.must(marker.args().num("new_epoch") == 2, "the marker is %s", clip(marker.raw, 300))
			closed := d.event("item/updated", "item_id", first)
			p.must(closed.args().str("status") == "interrupted" && closed.seq() < marker.seq(), "the open item ended %s", clip(closed.raw, 300))
			second := w.message("two", obj{"step": "setup/clone"})
			p.must(w.say("step/end", obj{"step": "setup"}).str("status") == "completed", "step/end did not complete")
			d.event("step/ended", "turn_id", w.turn, "step", "setup/clone")
			w.say("turn/complete", obj{})
			items := ids(p.call(d, "item/list", obj{"turn_id": w.turn}).objs("items"))
			p.must(slices.Contains(items, second) && !slices.Contains(items, first), "item/list gives %v, want %s and not %s", items, second, first)
		}},
		{id: "worker.late_step", sentence: "What is written to an older epoch is attempt_superseded, kept as turn/late, and in no view.", source: srcErrors, needs: needWorker, run: func(p *probe) {
			d := p.duplex("")
			w := p.workTurn(d, workerAgent, "x")
			w.say("step/start", obj{"step": "a"})
			item := w.message("one", obj{"step": "a"})
			w.say("step/start", obj{"step": "a"})
			for method, params := range map[string]obj{
				"item/create": {"step": "a", "epoch": 1, "content": obj{"type": "plan", "entries": []any{}}},
				"item/append": {"item_id": item, "text": "x"}, "step/end": {"step": "a", "epoch": 1, "status": "failed"},
			} {
				f := w.superseded(method, params)
				p.must(f.num("data.attempt") == 1 && f.str("data.step") == "a" && f.num("data.epoch") == 2, "%s: data is %v", method, f["data"])
				late := d.upTo(int64(f.num("data.late_seq")))
				a := late.args()
				p.must(late.method == "turn/late" && late.seq() == int64(f.num("data.late_seq")), "%s: at late_seq is %s", method, clip(late.raw, 300))
				p.must(a.num("attempt") == 1 && a.str("step") == "a" && a.num("epoch") == 1 && a.str("event.method") != "" && a.has("event.params"), "turn/late is %s", clip(late.raw, 300))
			}
			w.say("turn/complete", obj{})
			for _, it := range p.call(d, "item/list", obj{"turn_id": w.turn, "include_superseded": true}).objs("items") {
				p.must(it.str("content.type") != "plan", "a late item is in the list")
			}
		}},
		{id: "worker.params", sentence: "What cannot be written is refused and names its member.", source: srcErrors, needs: needWorker, run: func(p *probe) {
			d := p.duplex("")
			w := p.workTurn(d, workerAgent, "x")
			w.say("step/start", obj{"step": "done"})
			w.say("step/end", obj{"step": "done"})
			ended := w.message("x", obj{"status": "completed"})
			notice := obj{"type": "notice", "severity": "info", "message": "m"}
			for _, c := range []struct {
				method, field string
				params        obj
			}{
				{"step/start", "step", obj{"step": "/a"}},
				{"step/start", "step", obj{"step": "done/below"}},
				{"step/end", "step", obj{"step": "never"}},
				{"item/create", "step", obj{"step": "never", "content": notice}},
				{"item/create", "step", obj{"step": "done", "content": notice}},
				{"item/create", "epoch", obj{"step": "done", "epoch": 7, "content": notice}},
				{"item/create", "status", obj{"status": "pending", "content": notice}},
				{"item/create", "content", obj{"content": obj{"type": "user_message", "role": "user", "content": []any{}}}},
				{"item/append", "item_id", obj{"item_id": ended, "text": "x"}},
				{"item/batch", "ops", obj{"ops": []any{}}},
				{"turn/fail", "error.message", obj{"error": obj{"kind": "agent_failed"}}},
			} {
				f := p.refuse(d, -32602, "invalid_params", c.method, w.with(c.params))
				p.must(f.str("data.field") == c.field, "%s %s: data.field is %q, want %s", c.method, encode(c.params), f.str("data.field"), c.field)
			}
			w.say("turn/complete", obj{})
		}},
	}
}

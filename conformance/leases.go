package conformance

import "slices"

func leaseChecks() []check {
	return []check{
		{id: "lease.forged", sentence: "A lease that was never given is forbidden.", source: srcErrors, needs: needWorker, run: func(p *probe) {
			d := p.duplex("")
			w := p.workTurn(d, workerAgent, "x")
			token := w.lease["token"].(string)
			for _, lease := range []obj{
				{"turn_id": w.turn, "attempt": 1, "token": "x"}, {"turn_id": w.turn, "attempt": 2, "token": token},
				{"turn_id": "turn_00000000-0000-7000-8000-000000000000", "attempt": 1, "token": token},
			} {
				p.refuse(d, -32006, "forbidden", "turn/renew", obj{"lease": lease})
				p.refuse(d, -32006, "forbidden", "item/batch", obj{"lease": lease, "ops": []any{obj{"op": "delete", "item_id": "x"}}})
			}
			w.say("turn/complete", obj{})
		}},
		{id: "lease.ended", sentence: "A lease whose turn has ended for good is turn_not_active, and nothing is kept of what comes with it.", source: srcErrors, needs: needWorker, run: func(p *probe) {
			d := p.duplex("")
			w := p.workTurn(d, workerAgent, "x")
			w.say("turn/fail", obj{"error": obj{"kind": "agent_failed", "message": "no"}})
			m := d.outcome(w.turn)
			p.must(m.method == "turn/failed" && m.args().str("error.kind") == "agent_failed" && m.args().str("error.message") == "no", "it ended with %s", clip(m.raw, 300))
			head := p.head(d)
			for method, params := range map[string]obj{
				"turn/renew": {}, "turn/complete": {}, "step/start": {"step": "a"}, "item/create": {"content": obj{"type": "plan", "entries": []any{}}},
			} {
				p.refuse(d, -32004, "turn_not_active", method, w.with(params))
			}
			p.mustBeSilent(d, head, "a write after the end", obj{"thread_id": w.thread})
		}},
		{id: "lease.renew", sentence: "turn/renew moves the end of the lease, and says that nothing was asked for.", source: srcMethods, needs: needWorker, run: func(p *probe) {
			w := p.workTurn(p.duplex(""), workerAgent, "x")
			r := w.say("turn/renew", obj{})
			p.mustHave(r, "turn/renew", "expires_at", "interrupt_requested", "steers", "seq")
			p.mustTime(r, "turn/renew", "expires_at")
			p.must(r.str("expires_at") >= w.claim.str("lease.expires_at"), "it ends at %s, and ended at %s before", r.str("expires_at"), w.claim.str("lease.expires_at"))
			p.must(r.isBool("interrupt_requested") && !r.isTrue("interrupt_requested") && len(r.list("steers")) == 0, "turn/renew answered %s", encode(obj(r)))
			w.say("turn/complete", obj{})
		}},
		{id: "lease.interrupt", sentence: "An interrupt reaches the worker with turn/renew; the turn then ends interrupted, whatever the worker says.", source: srcMethods, needs: needWorker, run: func(p *probe) {
			d := p.duplex("")
			w := p.workTurn(d, workerAgent, "x")
			id := d.start("turn/interrupt", obj{"turn_id": w.turn})
			d.event("turn/progress", "turn_id", w.turn, "state", "interrupting")
			p.must(w.say("turn/renew", obj{}).isTrue("interrupt_requested"), "turn/renew does not ask to stop")
			w.message("stopping", obj{"status": "completed"})
			r := w.say("turn/complete", obj{"message": "done all the same"})
			p.must(r.str("state") == "interrupted", "turn/complete answered state %q", r.str("state"))
			p.must(d.outcome(w.turn).method == "turn/interrupted", "it ended with %s", d.outcome(w.turn).method)
			p.must(d.answer(id).failure == nil, "the interrupt was refused: %s", clip(d.answer(id).failure, 200))
		}},
		{id: "lease.steer", sentence: "A steer comes with turn/renew, and counts as delivered once the worker has spoken again.", source: srcMethods, needs: needWorker, run: func(p *probe) {
			d := p.duplex("")
			w := p.workTurn(d, workerAgent, "x")
			_, item := p.steered(d, w.turn, "hurry", nil)
			r := w.say("turn/renew", obj{})
			p.must(len(r.list("steers")) == 1 && r.str("steers.0.item_id") == item && r.str("steers.0.content.0.text") == "hurry", "steers are %v", r["steers"])
			p.must(p.call(d, "item/read", obj{"item_id": item}).str("item.status") == "in_progress", "it counts as delivered before the worker can have read it")
			p.must(len(w.say("turn/renew", obj{}).list("steers")) == 0, "the steer is told again")
			d.event("item/updated", "item_id", item, "status", "completed")
			w.say("turn/complete", obj{})
			p.must(len(d.completed(w.turn).args().list("undelivered_item_ids")) == 0, "the end calls it undelivered")
		}},
		{id: "lease.transient", sentence: "A transient failure is tried again: the next claim is the next attempt, with the input again.", source: srcMethods, needs: needWorker, run: func(p *probe) {
			d := p.duplex("")
			w := p.workTurn(d, workerAgent, "x", soon)
			first := w.message("one", nil)
			r := w.say("turn/fail", obj{"error": obj{"kind": "agent_failed", "message": "no disk"}, "transient": true})
			p.must(r.str("state") == "active" && r.isTime("retry_at"), "turn/fail answered %s", encode(obj(r)))
			old := *w
			w.claimed(workerAgent)
			p.must(w.claim.num("lease.attempt") == 2 && w.claim.str("lease.token") != old.lease["token"] && len(w.claim.list("input")) == 1, "the second claim is %s", encode(obj(w.claim)))
			f := old.superseded("item/append", obj{"item_id": first, "text": "late"})
			p.must(f.num("data.attempt") == 2 && f.num("data.late_seq") > 0, "data is %v", f["data"])
			d.event("turn/late", "turn_id", w.turn)
			old.superseded("turn/complete", obj{})
			old.superseded("turn/renew", obj{})
			second := w.message("two", obj{"status": "completed"})
			w.say("turn/complete", obj{})
			p.must(p.standingEnd(d, w.turn).method == "turn/completed", "it ended with %s", p.standingEnd(d, w.turn).method)
			items := ids(p.call(d, "item/list", obj{"turn_id": w.turn, "type": "agent_message"}).objs("items"))
			p.must(slices.Equal(items, []string{second}), "item/list gives %v, want %s", items, second)
		}},
		{id: "lease.once", sentence: "A worker's request with the same idempotency_key is done once.", source: srcMethods, needs: needWorker, run: func(p *probe) {
			d := p.duplex("")
			w := p.workTurn(d, workerAgent, "x")
			item := w.message("a", nil)
			twice := func(method string, params obj) {
				params["idempotency_key"] = p.nonce("key")
				first, again := w.say(method, params), w.say(method, params)
				p.must(first.isInt("seq") && first.num("seq") == again.num("seq"), "%s: the second answer has seq %v, the first %v", method, again["seq"], first["seq"])
			}
			twice("item/append", obj{"item_id": item, "text": "b"})
			twice("item/update", obj{"item_id": item, "status": "completed"})
			twice("item/create", obj{"content": obj{"type": "plan", "entries": []any{}}})
			twice("item/batch", obj{"ops": []any{obj{"op": "create", "item_id": p.nonce("item"), "content": obj{"type": "plan", "entries": []any{}}}}})
			twice("step/start", obj{"step": "a"})
			twice("step/end", obj{"step": "a"})
			twice("item/delete", obj{"item_id": item})
			twice("turn/complete", obj{"message": "done"})
			d.completed(w.turn)
			plans, deltas := 0, 0
			for _, m := range d.ofTurn(w.turn) {
				p.must(m.method != "stream/rewind", "the step was started twice")
				if m.method == "item/delta" {
					deltas++
				}
				if m.method == "item/created" && m.args().str("content.type") == "plan" {
					plans++
				}
			}
			p.must(plans == 2 && deltas == 1, "%d items were made and %d deltas, want 2 and 1", plans, deltas)
		}},
		{id: "lease.unclaimed", sentence: "A turn that waits for a worker can be interrupted at once, and nobody gets it then.", source: srcMethods, needs: needWorker, run: func(p *probe) {
			d := p.duplex("")
			turn := p.turn(d, p.thread(d, obj{"agent": workerAgent}).str("thread_id"), "x").str("turn_id")
			r := p.call(d, "turn/interrupt", obj{"turn_id": turn})
			p.must(r.str("state") == "interrupted", "state is %q", r.str("state"))
			p.must(!p.call(d, "turn/claim", obj{"agent": workerAgent}).has("lease"), "the interrupted turn was claimed")
		}},
		{id: "lease.expired", sentence: "A lease that runs out gives the attempt up: the next worker gets the next attempt, and the first one is refused.", source: srcMethods, needs: needBrief, run: func(p *probe) {
			d := p.duplex("")
			w := p.workTurn(d, briefAgent, "x", soon)
			item := w.message("one", nil)
			m := d.await("stream/rewind", 0, func(m *message) bool { return matches(m, "stream/rewind", []string{"turn_id", w.turn}) })
			p.must(m.args().str("reason") == "lease_expired" && m.args().num("new_epoch") == 2, "the marker is %s", clip(m.raw, 300))
			old := *w
			w.claimed(briefAgent)
			old.superseded("item/append", obj{"item_id": item, "text": "I am back"})
			late := d.event("turn/late", "turn_id", w.turn).args()
			p.must(late.num("attempt") == 1, "turn/late is %s", encode(obj(late)))
			w.say("turn/complete", obj{})
			end := p.standingEnd(d, w.turn)
			p.must(end.method == "turn/completed" && end.args().num("attempt") == 2, "the end that stands is %s", clip(end.raw, 300))
		}},
	}
}

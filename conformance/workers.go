package conformance

// The suite is the worker of these two agents, if the server has them: it must
// not claim turns of other agents.
const (
	workerAgent = "conformance"
	briefAgent  = "conformance_brief"
)

func workerChecks() []check {
	return []check{
		{id: "worker.claim_waits", sentence: "A claim that waits gets the next turn, and delays no other request of its connection.", source: srcFrames, needs: needWorker, run: func(p *probe) {
			d := p.duplex("")
			id := d.start("turn/claim", obj{"agent": workerAgent, "wait_seconds": 20})
			thread := p.thread(d, obj{"agent": workerAgent}).str("thread_id")
			turn := p.turn(d, thread, "x").str("turn_id")
			m := d.answer(id)
			p.must(m.failure == nil && decode(m.result).str("turn.turn_id") == turn, "turn/claim answered %s%s", clip(m.result, 300), clip(m.failure, 300))
			p.call(d, "turn/complete", obj{"lease": decode(m.result).obj("lease")})
		}},
		{id: "lease.once", sentence: "A worker's request with the same idempotency_key is done once.", source: srcMethods, needs: needWorker, run: func(p *probe) {
			d := p.duplex("")
			turn := p.turn(d, p.thread(d, obj{"agent": workerAgent}).str("thread_id"), "x").str("turn_id")
			lease := p.call(d, "turn/claim", obj{"agent": workerAgent, "wait_seconds": 5}).obj("lease")
			p.must(lease.str("turn_id") == turn, "turn/claim gave a lease for %q, want %s", lease.str("turn_id"), turn)
			item := p.nonce("item")
			twice := func(method string, params obj) {
				params["lease"], params["idempotency_key"] = lease, p.nonce("key")
				first, again := p.call(d, method, params), p.call(d, method, params)
				p.must(first.isInt("seq") && first.num("seq") == again.num("seq"), "%s: the second answer has seq %v, the first %v", method, again["seq"], first["seq"])
			}
			twice("item/create", obj{"item_id": item, "content": obj{"type": "reasoning", "text": "a"}})
			twice("item/append", obj{"item_id": item, "text": "b"})
			twice("item/update", obj{"item_id": item, "status": "completed"})
			twice("item/create", obj{"content": obj{"type": "plan", "entries": []any{}}})
			twice("item/batch", obj{"ops": []any{obj{"op": "create", "item_id": p.nonce("item"), "content": obj{"type": "plan", "entries": []any{}}}}})
			twice("step/start", obj{"step": "a"})
			twice("step/end", obj{"step": "a"})
			twice("item/delete", obj{"item_id": item})
			twice("turn/complete", obj{"message": "done"})
			d.completed(turn)
			plans, deltas := 0, 0
			for _, m := range d.ofTurn(turn) {
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
	}
}

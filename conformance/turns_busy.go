package conformance

import "fmt"

func busyChecks() []check {
	return []check{
		{id: "busy.queue", sentence: "A turn for a busy thread is queued, told by turn/queued, and starts after the active one.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			thread := p.echoThread(d)
			active := p.running(d, thread, "/sleep 300")
			r := p.turn(d, thread, "/say second")
			p.mustHave(r, "turn/start", "turn_id", "state", "queued_at", "position", "seq")
			p.must(r.str("state") == "queued" && r.num("position") == 1, "got %s", encode(obj(r)))
			p.mustTime(r, "turn/start", "queued_at")
			third := p.turn(d, thread, "/say third")
			p.must(third.num("position") == 2, "the third turn has position %v, want 2", third.num("position"))
			queued := d.event("turn/queued", "turn_id", r.str("turn_id")).args()
			p.mustHave(queued, "turn/queued", "type", "state", "position", "queued_at", "reason")
			p.must(queued.str("state") == "queued" && queued.str("reason") == "busy" && queued.num("position") == 1, "turn/queued is %s", encode(obj(queued)))
			ends := []*message{d.completed(active), d.completed(r.str("turn_id")), d.completed(third.str("turn_id"))}
			second := d.event("turn/started", "turn_id", r.str("turn_id"))
			p.must(second.args().str("origin") == "queue", "turn/started has origin %q, want queue", second.args().str("origin"))
			p.must(ends[0].seq() < second.seq() && ends[1].seq() < d.event("turn/started", "turn_id", third.str("turn_id")).seq(), "turns of one thread overlapped")
		}},
		{id: "busy.queue_default", sentence: "on_busy queue is the default and may be named.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			thread := p.echoThread(d)
			p.running(d, thread, "/sleep 5000")
			r := p.turn(d, thread, "x", obj{"on_busy": "queue"})
			p.must(r.str("state") == "queued", "state is %q", r.str("state"))
		}},
		{id: "busy.queued_first_event", sentence: "A queued turn's message comes with turn/queued, in the same transaction.", source: srcEvents, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			thread := p.echoThread(d)
			p.running(d, thread, "/sleep 300")
			turn := p.turn(d, thread, "/say x", obj{"metadata": obj{"k": "v"}}).str("turn_id")
			d.completed(turn)
			all := d.ofTurn(turn)
			p.must(all[0].method == "turn/queued" && all[0].args().str("metadata.k") == "v", "the first event is %s", clip(all[0].raw, 300))
			p.must(all[1].method == "item/created" && all[1].args().str("content.type") == "user_message" && all[1].seq() == all[0].seq()+1,
				"the second event is %s", clip(all[1].raw, 300))
			p.must(all[2].method == "turn/started", "the third event is %s", all[2].method)
		}},
		{id: "busy.reject", sentence: "on_busy reject on a busy thread gets thread_busy and changes nothing.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			thread := p.echoThread(d)
			p.running(d, thread, "/sleep 5000")
			head := p.head(d)
			p.refuse(d, -32004, "thread_busy", "turn/start", startParams(thread, "x", obj{"on_busy": "reject"}))
			p.mustBeSilent(d, head, "the refused turn", obj{"thread_id": thread, "methods": []any{"turn/queued", "item/created"}})
		}},
		{id: "busy.reject_idle", sentence: "on_busy reject on an idle thread starts the turn.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			r := p.turn(p.http(), p.echoThread(p.http()), "x", obj{"on_busy": "reject"})
			p.must(r.str("state") == "active", "state is %q", r.str("state"))
		}},
		{id: "busy.interrupt", sentence: "on_busy interrupt puts the turn first in the queue and interrupts the active one.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			thread := p.echoThread(d)
			active := p.running(d, thread, "/sleep 20000")
			waiting := p.turn(d, thread, "/say waiting").str("turn_id")
			r := p.turn(d, thread, "/say urgent", obj{"on_busy": "interrupt"})
			p.must(r.str("state") == "queued" && r.num("position") == 1, "got %s", encode(obj(r)))
			p.must(d.outcome(active).method == "turn/interrupted", "the active turn ended with %s", d.outcome(active).method)
			urgent, later := d.completed(r.str("turn_id")), d.completed(waiting)
			p.must(urgent.seq() < later.seq(), "the urgent turn ran after the waiting one")
		}},
		{id: "busy.steer", sentence: "on_busy steer gives the text to the active turn.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			thread := p.echoThread(d)
			active := p.running(d, thread, "/sleep 300")
			r := p.call(d, "turn/start", startParams(thread, "/say steered", obj{"on_busy": "steer"}))
			p.must(r.str("turn_id") == active && r.isTrue("steered"), "got %s", encode(obj(r)))
			p.mustHave(r, "turn/start", "item_ids", "delivery", "seq")
			p.must(len(r.list("item_ids")) == 1, "item_ids is %v", r["item_ids"])
			d.completed(active)
		}},
		{id: "busy.steer_idle", sentence: "on_busy steer starts a turn where none is active.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			r := p.turn(d, p.echoThread(d), "/say x", obj{"on_busy": "steer"})
			p.must(r.str("state") == "active" && !r.isTrue("steered"), "got %s", encode(obj(r)))
			d.completed(r.str("turn_id"))
		}},
		{id: "busy.overloaded", sentence: "A full queue gets -32001 overloaded with retry_after_ms; what was accepted stays.", source: srcErrors, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			thread := p.echoThread(d)
			p.running(d, thread, "/sleep 20000")
			limit := 64
			for i := range limit {
				r := p.turn(d, thread, fmt.Sprintf("/say %d", i))
				p.must(r.num("position") == float64(i+1), "turn %d has position %v", i, r.num("position"))
			}
			f := p.refuse(d, -32001, "overloaded", "turn/start", startParams(thread, "one too many"))
			p.must(f.num("data.retry_after_ms") > 0, "no retry_after_ms: %s", encode(obj(f)))
			p.must(f.isTrue("data.retryable"), "overloaded is not retryable")
			// Eight places more are kept for those that interrupt.
			r := p.turn(d, thread, "/say urgent", obj{"on_busy": "interrupt"})
			p.must(r.num("position") == 1, "the interrupting turn has position %v", r.num("position"))
		}},
	}
}

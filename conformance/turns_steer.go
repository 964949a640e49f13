package conformance

import "slices"

// steered steers a turn and returns the result and the id of the one item.
func (p *probe) steered(d *duplex, turn, text string, more obj) (object, string) {
	params := obj{"turn_id": turn, "input": input(text)}
	for k, v := range more {
		params[k] = v
	}
	r := p.call(d, "turn/steer", params)
	p.mustHave(r, "turn/steer", "turn_id", "state", "accepted_items", "item_ids", "accepted_at", "delivery", "seq")
	p.must(len(r.list("item_ids")) == 1 && r.num("accepted_items") == 1, "got %s", encode(obj(r)))
	return r, r.str("item_ids.0")
}

func steerChecks() []check {
	return []check{
		{id: "steer.belongs", sentence: "Steered text belongs to its turn: its message is delivered and answered before the turn ends.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn := p.running(d, p.echoThread(d), "/sleep 300")
			r, item := p.steered(d, turn, "/say steered answer", nil)
			p.must(r.str("delivery") == "injected" || r.str("delivery") == "queued", "delivery is %q", r.str("delivery"))
			p.mustTime(r, "turn/steer", "accepted_at")
			created := d.event("item/created", "item_id", item)
			p.must(created.seq() <= int64(r.num("seq")), "the message has seq %d, the result says %v", created.seq(), r.num("seq"))
			p.must(created.args().str("content.origin") == "steer" && created.args().str("turn_id") == turn, "item/created is %s", clip(created.raw, 300))
			end := d.completed(turn)
			done := d.event("item/updated", "item_id", item, "status", "completed")
			p.must(done.seq() < end.seq(), "the message was delivered at %d, after the end at %d", done.seq(), end.seq())
			answered := slices.ContainsFunc(d.ofTurn(turn), func(m *message) bool {
				return m.args().str("content.type") == "agent_message" && firstText(m.args()) == "steered answer"
			})
			p.must(answered, "nobody answered the steered text: %s", methods(d.ofTurn(turn)))
		}},
		{id: "steer.in_progress", sentence: "The message of a steer is in_progress until the agent has it.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn := p.running(d, p.echoThread(d), "/sleep 20000")
			r, item := p.steered(d, turn, "/say later", nil)
			if r.str("delivery") != "queued" {
				p.skipf("needs an agent that queues steered text; this one takes it at once")
			}
			created := d.event("item/created", "item_id", item).args()
			p.must(created.str("status") == "in_progress", "status is %q", created.str("status"))
		}},
		{id: "steer.undelivered", sentence: "Text that the turn's end overtakes ends interrupted and is listed in the terminal event.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn := p.running(d, p.echoThread(d), "/sleep 20000")
			r, item := p.steered(d, turn, "/say never", nil)
			if r.str("delivery") != "queued" {
				p.skipf("needs an agent that queues steered text; this one takes it at once")
			}
			p.call(d, "turn/interrupt", obj{"turn_id": turn})
			end := d.outcome(turn)
			ended := d.event("item/updated", "item_id", item)
			p.must(ended.args().str("status") == "interrupted" && ended.seq() < end.seq(), "the message ended %s", clip(ended.raw, 300))
			p.must(slices.Contains(end.args().list("undelivered_item_ids"), any(item)), "undelivered_item_ids is %v, lacks %s", end.args()["undelivered_item_ids"], item)
		}},
		{id: "steer.interrupt_mode", sentence: "Mode interrupt cuts the agent's present step short, not the turn.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn := p.running(d, p.echoThread(d), "/sleep 20000")
			_, item := p.steered(d, turn, "/say instead", obj{"mode": "interrupt"})
			end := d.completed(turn)
			done := d.event("item/updated", "item_id", item, "status", "completed")
			p.must(done.seq() < end.seq(), "the message was delivered after the end")
		}},
		{id: "steer.order", sentence: "Several steers are delivered in the order they were accepted.", source: srcFrames, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn := p.running(d, p.echoThread(d), "/sleep 300")
			_, first := p.steered(d, turn, "/say first", nil)
			_, second := p.steered(d, turn, "/say second", nil)
			d.completed(turn)
			a := d.event("item/updated", "item_id", first, "status", "completed")
			b := d.event("item/updated", "item_id", second, "status", "completed")
			p.must(a.seq() < b.seq(), "the second was delivered at %d, before the first at %d", b.seq(), a.seq())
		}},
		{id: "steer.invalid", sentence: "A steer with wrong input or mode gets -32602.", source: srcErrors, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn := p.running(d, p.echoThread(d), "/sleep 20000")
			f := p.refuse(d, -32602, "invalid_params", "turn/steer", obj{"turn_id": turn, "input": []any{}})
			p.must(f.str("data.field") == "input", "data.field is %q", f.str("data.field"))
			f = p.refuse(d, -32602, "invalid_params", "turn/steer", obj{"turn_id": turn, "input": input("x"), "mode": "nope"})
			p.must(f.str("data.field") == "mode", "data.field is %q", f.str("data.field"))
		}},
	}
}

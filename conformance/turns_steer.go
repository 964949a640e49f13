package conformance

import (
	"maps"
	"slices"
)

// steered steers a turn and returns the result and the id of the one item.
func (p *probe) steered(d *duplex, turn, text string, more obj) (object, string) {
	params := obj{"turn_id": turn, "input": input(text)}
	maps.Copy(params, more)
	r := p.call(d, "turn/steer", params)
	p.mustHave(r, "turn/steer", "turn_id", "state", "accepted_items", "item_ids", "accepted_at", "delivery", "seq")
	p.must(len(r.list("item_ids")) == 1 && r.num("accepted_items") == 1, "got %s", encode(obj(r)))
	return r, r.str("item_ids.0")
}

func steerChecks() []check {
	return []check{
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
		{id: "steer.undelivered", sentence: "A steered text that does not reach the agent before the turn's end ends interrupted and is listed in the terminal event.", source: srcMethods, needs: needEcho, run: func(p *probe) {
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
	}
}

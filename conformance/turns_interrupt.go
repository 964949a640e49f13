package conformance

import (
	"strings"
	"time"
)

func interruptChecks() []check {
	return []check{
		{id: "interrupt.active", sentence: "turn/interrupt ends an active turn turn/interrupted, its items first.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn := p.running(d, p.echoThread(d), "/deltas 500 5 20")
			r := p.call(d, "turn/interrupt", obj{"turn_id": turn, "reason": "changed my mind"})
			p.mustHave(r, "turn/interrupt", "turn_id", "state", "interrupted_at", "message", "seq")
			p.must(r.str("state") == "interrupted" || r.str("state") == "interrupting", "state is %q", r.str("state"))
			m := d.outcome(turn)
			p.must(m.method == "turn/interrupted", "it ended with %s", m.method)
			a := m.args()
			p.must(strings.HasPrefix(a.str("message"), "Turn interrupted: ") && strings.Contains(a.str("message"), "changed my mind"), "message is %q", a.str("message"))
			p.must(a.str("state") == "interrupted", "state is %q", a.str("state"))
			p.mustEndItems(d.ofTurn(turn))
			if r.str("state") == "interrupted" {
				p.must(m.seq() <= int64(r.num("seq")), "the result says seq %v, turn/interrupted has %d", r.num("seq"), m.seq())
			}
		}},
		{id: "interrupt.partial_text", sentence: "An interrupted item keeps the text it had.", source: srcEvents, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn := p.running(d, p.echoThread(d), "/deltas 500 5 20")
			delta := d.event("item/delta", "turn_id", turn).args()
			p.call(d, "turn/interrupt", obj{"turn_id": turn})
			d.outcome(turn)
			item := p.call(d, "item/read", obj{"item_id": delta.str("item_id")}).obj("item")
			p.must(item.str("status") != "in_progress", "the item is still in progress")
			p.must(strings.HasPrefix(firstText(item), delta.str("delta.text")), "the item's text is %q", clip([]byte(firstText(item)), 100))
		}},
		{id: "interrupt.queued", sentence: "A queued turn can be interrupted and then never starts.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			thread := p.echoThread(d)
			active := p.running(d, thread, "/sleep 300")
			waiting := p.turn(d, thread, "/say never").str("turn_id")
			r := p.call(d, "turn/interrupt", obj{"turn_id": waiting})
			p.must(r.str("state") == "interrupted", "state is %q", r.str("state"))
			p.must(d.outcome(waiting).method == "turn/interrupted", "it ended with %s", d.outcome(waiting).method)
			d.completed(active)
			p.call(d, "holon/status", nil)
			for _, m := range d.ofTurn(waiting) {
				p.must(m.method != "turn/started", "the interrupted turn started")
			}
		}},
		{id: "interrupt.stubborn", sentence: "An agent that needs longer than 2 s is answered interrupting, and the turn ends turn/interrupted whatever it says.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn := p.running(d, p.echoThread(d), "/stubborn 3500\n/say over")
			began := time.Now()
			r := p.call(d, "turn/interrupt", obj{"turn_id": turn})
			took := time.Since(began)
			p.must(r.str("state") == "interrupting", "state is %q", r.str("state"))
			p.must(took > time.Second && took < 3*time.Second, "the answer took %s, want about 2 s", took)
			m := d.outcome(turn)
			p.must(m.method == "turn/interrupted", "it ended with %s", m.method)
		}},
		{id: "interrupt.not_active", sentence: "A finished turn gets turn_not_active.", source: srcErrors, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn := p.turn(d, p.echoThread(d), "/say x").str("turn_id")
			d.completed(turn)
			p.refuse(d, -32004, "turn_not_active", "turn/interrupt", obj{"turn_id": turn})
			p.refuse(d, -32004, "turn_not_active", "turn/steer", obj{"turn_id": turn, "input": input("x")})
		}},
		{id: "interrupt.not_found", sentence: "A turn that is not there gets turn_not_found.", source: srcErrors, run: func(p *probe) {
			id := "turn_00000000-0000-7000-8000-000000000000"
			p.refuse(p.http(), -32002, "turn_not_found", "turn/interrupt", obj{"turn_id": id})
			p.refuse(p.http(), -32002, "turn_not_found", "turn/steer", obj{"turn_id": id, "input": input("x")})
			p.refuse(p.http(), -32002, "turn_not_found", "turn/read", obj{"turn_id": id})
		}},
		{id: "interrupt.twice", sentence: "Two interrupts of one turn give one terminal event.", source: srcEvents, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn := p.running(d, p.echoThread(d), "/sleep 20000")
			a := d.start("turn/interrupt", obj{"turn_id": turn})
			b := d.start("turn/interrupt", obj{"turn_id": turn})
			p.must(d.answer(a).failure == nil, "the first was refused: %s", clip(d.answer(a).failure, 200))
			if m := d.answer(b); m.failure != nil {
				p.mustError(m, -32004, "turn_not_active", "the second interrupt")
			}
			d.outcome(turn)
			p.call(d, "holon/status", nil)
			ends := 0
			for _, m := range d.ofTurn(turn) {
				if isTerminal(m) {
					ends++
				}
			}
			p.must(ends == 1, "%d terminal events", ends)
		}},
	}
}

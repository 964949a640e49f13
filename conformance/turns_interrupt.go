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
		{id: "interrupt.stubborn", sentence: "An agent that needs longer than 2 s is answered interrupting, and the turn ends turn/interrupted whatever it says.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			var turn string
			p.promptly(3*time.Second, "an answer that should take 2 s", func() {
				turn = p.running(d, p.echoThread(d), "/stubborn 3500\n/say over")
				began := time.Now()
				r := p.call(d, "turn/interrupt", obj{"turn_id": turn})
				p.must(r.str("state") == "interrupting", "state is %q", r.str("state"))
				p.must(time.Since(began) > time.Second, "the answer took %s, want about 2 s", time.Since(began))
			})
			m := d.outcome(turn)
			p.must(m.method == "turn/interrupted", "it ended with %s", m.method)
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

package conformance

import "fmt"

func busyChecks() []check {
	return []check{
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

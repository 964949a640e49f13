package conformance

import (
	"fmt"
	"strings"
)

func turnChecks() []check {
	return []check{
		{id: "turn.order", sentence: "A turn's events come in order: its start, the user's message, the work, the end.", source: srcEvents, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn := p.turn(d, p.echoThread(d), "/say one\n/items 2 10\n/deltas 3 5").str("turn_id")
			d.completed(turn)
			all := d.ofTurn(turn)
			p.must(len(all) >= 4, "the turn has only %d events: %s", len(all), methodsOf(all))
			p.must(all[0].method == "turn/started", "the first event is %s", all[0].method)
			p.must(all[1].method == "item/created" && all[1].args().str("content.type") == "user_message" && all[1].args().str("status") == "completed",
				"the second event is not a completed user_message: %s", clip(all[1].raw, 300))
			p.must(all[1].seq() == all[0].seq()+1, "the user's message is not in the transaction of the start: %d after %d", all[1].seq(), all[0].seq())
			p.must(isTerminal(all[len(all)-1]), "the last event is %s", all[len(all)-1].method)
			p.mustEndItems(all)
		}},
		{id: "turn.message", sentence: "turn/completed repeats the agent's last message, within max_end_message_bytes.", source: srcEvents, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			thread := p.echoThread(d)
			end := d.completed(p.turn(d, thread, "/deltas 5 5").str("turn_id"))
			said := ""
			for _, m := range d.ofTurn(end.args().str("turn_id")) {
				if a := m.args(); m.method == "item/updated" && a.str("content.type") == "agent_message" {
					said = firstText(a)
				}
			}
			p.must(said != "" && end.args().str("message") == said && !end.args().has("message_truncated"), "the agent said %q, the end is %s", said, clip(end.raw, 300))
			end = d.completed(p.turn(d, thread, "/say begin "+strings.Repeat("x", 20_000)+" end").str("turn_id"))
			said = end.args().str("message")
			p.must(len(said) <= 16<<10 && strings.HasPrefix(said, "begin ") && strings.HasSuffix(said, " end"), "of a long message the end has %d bytes: %.40q", len(said), said)
			p.must(end.args().isTrue("message_truncated"), "the end does not say that its message was cut")
		}},
		{id: "thread.close_waits", sentence: "thread/close answers closed once the active turn has ended, and delays no other request of its connection.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			thread := p.echoThread(d)
			turn := p.running(d, thread, "/sleep 20000")
			id := d.start("thread/close", obj{"thread_id": thread})
			p.call(d, "holon/status", nil)
			m := d.answer(id)
			p.must(m.failure == nil && decode(m.result).str("state") == "closed", "thread/close answered %s%s", clip(m.result, 300), clip(m.failure, 300))
			closed := d.event("thread/closed", "thread_id", thread)
			p.must(int64(decode(m.result).num("seq")) == closed.seq(), "thread/close answered %s, thread/closed is %d", clip(m.result, 300), closed.seq())
			p.must(d.outcome(turn).method == "turn/interrupted", "the turn ended with %s", d.outcome(turn).method)
		}},
		{id: "turn.one_end", sentence: "A turn has exactly one live terminal event, after the ends of all its items.", source: srcEvents, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			thread := p.echoThread(d)
			for _, text := range []string{"/say x", "/fail no", "/crash", "/deltas 5 5", "hello you"} {
				turn := p.turn(d, thread, text).str("turn_id")
				d.outcome(turn)
				p.call(d, "holon/status", nil)
				all, ends := d.ofTurn(turn), 0
				for _, m := range all {
					if isTerminal(m) {
						ends++
					}
				}
				p.must(ends == 1 && isTerminal(all[len(all)-1]), "after %q: %d terminal events in %s", text, ends, methodsOf(all))
				p.mustEndItems(all)
			}
		}},
		{id: "turn.attempt", sentence: "Turn and item events of a turn have its turn_id and attempt.", source: srcEvents, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn := p.turn(d, p.echoThread(d), "one two three").str("turn_id")
			end := d.completed(turn)
			for _, m := range d.ofThread(end.args().str("thread_id")) {
				if strings.HasPrefix(m.method, "turn/") || strings.HasPrefix(m.method, "item/") {
					p.must(m.args().num("attempt") >= 1 && m.args().str("turn_id") == turn, "%s lacks turn_id or attempt: %s", m.method, clip(m.raw, 300))
				}
			}
		}},
		{id: "turn.input_too_large", sentence: "Input is never cut: it is kept whole, or refused with -32602 too_large.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			big := strings.Repeat("x", p.facts.limit("max_frame_bytes", 4<<20)*3/4)
			d := p.duplex("")
			thread := p.echoThread(d)
			m := d.try("turn/start", startParams(thread, "/say x\n"+big))
			if m.failure != nil {
				p.mustError(m, -32602, "invalid_params", "large input")
				p.must(m.fault().str("data.reason") == "too_large", "data.reason is %q", m.fault().str("data.reason"))
				return
			}
			item := d.itemOf(decode(m.result).str("turn_id"), "user_message")
			p.must(len(firstText(item)) == len(big)+7, "the text was cut to %d bytes", len(firstText(item)))
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
			// Eight more slots are reserved for turns that interrupt.
			r := p.turn(d, thread, "/say urgent", obj{"on_busy": "interrupt"})
			p.must(r.num("position") == 1, "the interrupting turn has position %v", r.num("position"))
		}},
	}
}

// mustEndItems asserts that every item of a turn has ended before its terminal
// event, which is the last of the given events.
func (p *probe) mustEndItems(all []*message) {
	open := map[string]string{}
	for _, m := range all {
		a := m.args()
		id := a.str("item_id")
		switch m.method {
		case "item/created", "item/updated":
			switch a.str("status") {
			case "pending", "in_progress":
				open[id] = a.str("content.type")
			default:
				delete(open, id)
			}
		case "item/deleted":
			delete(open, id)
		}
		if isTerminal(m) {
			for id, kind := range open {
				p.failf("%s came while item %s (%s) was open", m.method, id, kind)
			}
		}
	}
}

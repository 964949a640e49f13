package conformance

import "strings"

func idempotencyChecks() []check {
	return []check{
		{id: "idempotency.every_change", sentence: "Every change takes an idempotency_key.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			twice := func(method string, params obj) object {
				params["idempotency_key"] = p.nonce("key")
				first := p.call(d, method, params)
				again := p.call(d, method, params)
				p.must(first.isInt("seq") && again.num("seq") == first.num("seq"), "%s: the second answer has seq %v, the first %v", method, again["seq"], first["seq"])
				return first
			}
			thread := twice("thread/start", obj{"agent": "echo"}).str("thread_id")
			p.later(func() { p.http().try("thread/close", obj{"thread_id": thread}) })
			twice("thread/pause", obj{"thread_id": thread})
			twice("thread/resume", obj{"thread_id": thread})
			turn := twice("turn/start", startParams(thread, "/say begun\n/ask May I?")).str("turn_id")
			q := d.itemOf(turn, "permission_request")
			twice("turn/steer", obj{"turn_id": turn, "input": input("/sleep 20000")})
			twice("item/respond", obj{"item_id": q.str("item_id"), "kind": "allow_once"})
			twice("turn/interrupt", obj{"turn_id": turn})
			p.later(func() { p.http().try("holon/resume", nil) })
			twice("holon/pause", obj{})
			twice("holon/resume", obj{})
			if p.call(p.http(), "initialize", nil).isTrue("capabilities.prune") {
				twice("holon/prune", obj{"before_seq": 1})
			}
			twice("thread/close", obj{"thread_id": thread})
		}},
		{id: "idempotency.race", sentence: "Of many requests with one key at once one does the change; all get its result.", source: srcMethods, run: func(p *probe) {
			params := obj{"title": "race", "idempotency_key": p.nonce("key")}
			var streams []*duplex
			var ids []string
			for range 6 {
				streams = append(streams, p.duplex(""))
			}
			for _, s := range streams {
				ids = append(ids, s.start("thread/start", params))
			}
			thread := ""
			for i, s := range streams {
				m := s.answer(ids[i])
				p.must(m.failure == nil, "one was refused: %s", clip(m.failure, 200))
				got := decode(m.result).str("thread_id")
				p.must(thread == "" || got == thread, "two threads were started: %s and %s", thread, got)
				thread = got
			}
			p.call(p.http(), "thread/close", obj{"thread_id": thread})
		}},
		{id: "idempotency.length", sentence: "A key has 1 to 128 characters.", source: srcMethods, run: func(p *probe) {
			for _, key := range []string{"", strings.Repeat("k", 129)} {
				f := p.refuse(p.http(), -32602, "invalid_params", "thread/start", obj{"idempotency_key": key})
				p.must(f.str("data.field") == "idempotency_key", "data.field is %q", f.str("data.field"))
			}
			key := p.nonce("key")
			p.thread(p.http(), obj{"idempotency_key": key + strings.Repeat("ü", 128-len(key))})
		}},
	}
}

package conformance

import "slices"

// child starts a child thread.
func (p *probe) child(c caller, owner string) string {
	return p.thread(c, obj{"agent": "echo", "parent": obj{"thread_id": owner}}).str("thread_id")
}

func childChecks() []check {
	return []check{
		{id: "child.bound", sentence: "A turn has at most max_children_per_turn child turns that have not ended; the error names the oldest.", source: srcChild, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			most := p.facts.limit("max_children_per_turn", 64)
			owner := p.echoThread(d)
			turn := p.running(d, owner, "/sleep 60000")
			var started []string
			start := func(thread string) *message {
				return d.try("turn/start", obj{"thread_id": thread, "parent": obj{"thread_id": owner, "turn_id": turn}, "background": true, "input": input("/sleep 60000")})
			}
			thread := ""
			for i := range most {
				if i%8 == 0 { // the others wait in the queue of their thread
					thread = p.child(d, owner)
				}
				m := start(thread)
				p.must(m.failure == nil, "child turn %d was refused: %s", i+1, clip(m.failure, 300))
				started = append(started, decode(m.result).str("turn_id"))
			}
			m := start(thread)
			p.mustError(m, -32001, "overloaded", "one more child turn")
			room := func() float64 {
				return float64(p.call(d, "thread/read", obj{"thread_id": owner}).num("children.room"))
			}
			p.must(room() == 0, "children.room is %v, and no child turn may start", room())
			named := m.fault().list("data.turn_ids")
			p.must(len(named) > 0 && named[0] == started[0], "data.turn_ids is %v, want the oldest, %s, first", named, started[0])
			p.call(d, "turn/interrupt", obj{"turn_id": started[len(started)-1]})
			p.must(room() == 1, "children.room is %v after one has ended", room())
			m = start(thread)
			p.must(m.failure == nil, "it is refused although one has ended: %s", clip(m.failure, 300))
		}},
		{id: "child.levels", sentence: "Child threads nest up to max_thread_levels.", source: srcChild, needs: needEcho, run: func(p *probe) {
			c := p.http()
			thread := p.echoThread(c)
			for range p.facts.limit("max_thread_levels", 8) {
				thread = p.child(c, thread)
			}
			f := p.refuse(c, -32001, "overloaded", "thread/start", obj{"parent": obj{"thread_id": thread}})
			p.must(!f.isTrue("data.retryable") && f.str("data.reason") == "level" && !f.has("data.retry_after_ms"), "no thread gets less deep by waiting: %s", encode(obj(f)))
		}},
		{id: "child.race", sentence: "A child turn that starts as its owner's turn ends is waited for, or is in the background; its end comes once.", source: srcChild, needs: needEcho, run: func(p *probe) {
			d, other := p.duplex(""), p.duplex("")
			for range 10 {
				owner := p.echoThread(d)
				thread := p.child(d, owner)
				turn := p.turn(d, owner, "/say x").str("turn_id")
				r := p.call(other, "turn/start", obj{"thread_id": thread, "parent": obj{"thread_id": owner}, "input": input("/say y")})
				child, policy := r.str("turn_id"), r.str("attention_policy")
				ended := d.completed(turn)
				d.event("inbox/received", "thread_id", owner)
				end := d.completed(child)
				if policy == "blocking_until_terminal" {
					p.must(ended.args().num("seq") > end.args().num("seq"), "the owner's turn has ended before the child turn that it waits for")
				}
				n := 0
				p.call(d, plain, nil)
				for _, m := range d.ofThread(owner) {
					if m.method == "inbox/received" {
						n++
					}
				}
				p.must(n == 1, "the end of the child turn came %d times", n)
			}
		}},
		{id: "await.order", sentence: "turn/await delays no other request of its connection; in a batch it only looks, and as a notification it does nothing.", source: srcChild, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn := p.running(d, p.echoThread(d), "/sleep 60000")
			params := obj{"turn_ids": []any{turn}, "timeout_seconds": 600}
			waits := d.start("turn/await", params)
			p.call(d, plain, nil)
			all := p.batch("[" + request("1", "turn/await", params) + "," + request("2", plain, nil) + "]")
			p.must(len(all) == 2, "the batch has %d answers", len(all))
			d.send(request("", "turn/await", params))
			p.call(d, "turn/interrupt", obj{"turn_id": turn})
			r := decode(d.answer(waits).result).objs("results")
			p.must(len(r) == 1 && r[0].str("state") == "interrupted", "turn/await answers %v", r)
		}},
		{id: "await.once", sentence: "Of two requests at once with the same owner both get the end, and it is acknowledged once.", source: srcChild, needs: needEcho, run: func(p *probe) {
			d, other := p.duplex(""), p.duplex("")
			owner := p.echoThread(d)
			thread := p.child(d, owner)
			turn := p.turn(d, thread, "/sleep 300", obj{"parent": obj{"thread_id": owner}, "background": true}).str("turn_id")
			params := obj{"owner_thread_id": owner, "turn_ids": []any{turn}, "timeout_seconds": 20}
			first, second := d.start("turn/await", params), other.start("turn/await", params)
			for _, m := range []*message{d.answer(first), other.answer(second)} {
				r := decode(m.result).objs("results")
				p.must(len(r) == 1 && r[0].str("state") == "completed" && r[0].str("entry_id") != "", "turn/await answers %s%s", clip(m.result, 300), clip(m.failure, 300))
			}
			d.event("inbox/acked", "thread_id", owner)
			p.call(d, "turn/await", obj{"owner_thread_id": owner, "turn_ids": []any{turn}, "timeout_seconds": 0})
			p.call(d, plain, nil)
			acked := slices.DeleteFunc(d.ofThread(owner), func(m *message) bool { return m.method != "inbox/acked" })
			p.must(len(acked) == 1, "inbox/acked came %d times", len(acked))
		}},
	}
}

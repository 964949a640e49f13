package conformance

import "strings"

// consumer returns the name of a cursor that no other check uses. It is deleted at
// the end.
func (p *probe) consumer() obj {
	name := obj{"consumer_id": p.nonce("consumer"), "stream_name": "events"}
	p.later(func() { p.http().try("cursor/delete", with(name, obj{"reason": "the check has ended"})) })
	return name
}

// with returns params with more members.
func with(params, more obj) obj {
	all := obj{}
	for _, m := range []obj{params, more} {
		for k, v := range m {
			all[k] = v
		}
	}
	return all
}

func consumerChecks() []check {
	return []check{
		{id: "consumer.zero", sentence: "A cursor that does not exist is read as a zero state with exists: false, and cannot be reset or deleted.", source: srcCursor, run: func(p *probe) {
			c, name := p.http(), p.consumer()
			r := p.call(c, "cursor/read", name)
			cur := r.obj("cursor")
			p.must(cur.isBool("exists") && !cur.isTrue("exists") && cur.isInt("last_sequence") && cur.num("last_sequence") == 0, "the cursor is %s", encode(map[string]any(cur)))
			p.must(cur.isStr("subject_id") && cur.str("subject_id") == "" && r.isInt("latest_seq"), "the answer is %s", encode(map[string]any(r)))
			for _, member := range []string{"last_delivery_id", "last_delivered_at", "last_error", "updated_at"} {
				p.must(!cur.has(member), "the zero state has %s", member)
			}
			p.refuse(c, -32002, "cursor_not_found", "cursor/reset", with(name, obj{"last_sequence": 0, "reason": "x"}))
			p.refuse(c, -32002, "cursor_not_found", "cursor/delete", with(name, obj{"reason": "x"}))
		}},
		{id: "consumer.advances", sentence: "A cursor only advances: what is lower, or equal with another delivery id, is a conflict with what is stored; the same again is a repetition.", source: srcCursor, run: func(p *probe) {
			c, name := p.http(), p.consumer()
			seq := p.thread(c, nil).num("seq")
			params := with(name, obj{"last_sequence": seq, "delivery_id": "a"})
			first := p.call(c, "cursor/advance", params).obj("cursor")
			p.must(first.isTrue("exists") && first.num("last_sequence") == seq && first.str("last_delivery_id") == "a", "the cursor is %s", encode(map[string]any(first)))
			p.mustTime(first, "cursor", "last_delivered_at", "updated_at")
			p.call(c, "cursor/error", with(name, obj{"error": strings.Repeat("ü", 2000)}))
			failed := p.call(c, "cursor/read", name).obj("cursor")
			p.must(len(failed.str("last_error")) == 2048 && failed.num("last_sequence") == seq, "after cursor/error the error has %d bytes", len(failed.str("last_error")))
			again := p.call(c, "cursor/advance", params).obj("cursor")
			p.must(!again.has("last_error") && again.str("last_delivered_at") == first.str("last_delivered_at"), "the repetition gives %s", encode(map[string]any(again)))
			for _, more := range []obj{{"last_sequence": seq - 1}, {"last_sequence": seq}, {"last_sequence": seq, "delivery_id": "b"}} {
				f := p.refuse(c, -32003, "conflict", "cursor/advance", with(name, more))
				p.must(f.str("data.reason") == "not_monotonic" && f.num("data.cursor.last_sequence") == seq, "the error is %s", encode(map[string]any(f)))
			}
			f := p.refuse(c, -32005, "cursor_ahead", "cursor/advance", with(name, obj{"last_sequence": 1 << 52}))
			p.mustHave(f, "the error", "data.first_seq", "data.latest_seq", "data.log_id")
		}},
		{id: "consumer.restarts", sentence: "The sequences of restarts are seqs for consumers that are people, and the consumer's own for others.", source: srcCursor, run: func(p *probe) {
			c, other := p.http(), with(p.consumer(), obj{"stream_name": "restarts"})
			person := with(other, obj{"consumer_id": "seen:" + other["consumer_id"].(string)})
			p.call(c, "cursor/advance", with(other, obj{"last_sequence": 1 << 52}))
			p.refuse(c, -32005, "cursor_ahead", "cursor/advance", with(person, obj{"last_sequence": 1 << 52}))
			seq := p.thread(c, nil).num("seq")
			p.call(c, "cursor/advance", with(person, obj{"last_sequence": seq}))
			p.must(p.call(c, "cursor/read", person).obj("cursor").num("last_sequence") == seq, "the cursor is not at %v", seq)
			p.call(c, "turn/list", obj{"ended_by": "restart", "after_seq": seq})
		}},
		{id: "consumer.key", sentence: "cursor/advance takes an idempotency key and does not keep it.", source: srcCursor, run: func(p *probe) {
			c, name := p.http(), with(p.consumer(), obj{"idempotency_key": "the same"})
			seq := p.thread(c, nil).num("seq")
			for _, to := range []float64{seq - 1, seq - 1, seq} {
				got := p.call(c, "cursor/advance", with(name, obj{"last_sequence": to})).obj("cursor")
				p.must(got.num("last_sequence") == to, "the cursor is at %v, want %v", got.num("last_sequence"), to)
			}
		}},
		{id: "consumer.reset", sentence: "A reset is the only way down; it and a deletion need a reason, and are events of the whole log that say who and why.", source: srcCursor, run: func(p *probe) {
			d := p.duplex("")
			thread := p.thread(d, nil)
			name := with(p.consumer(), obj{"subject_id": thread.str("thread_id")})
			p.call(d, "cursor/advance", with(name, obj{"last_sequence": thread.num("seq"), "delivery_id": "a"}))
			p.refuse(d, -32602, "invalid_params", "cursor/reset", with(name, obj{"last_sequence": 0}))
			r := p.call(d, "cursor/reset", with(name, obj{"last_sequence": 0, "reason": "once more"}))
			p.must(r.num("cursor.last_sequence") == 0 && !r.has("cursor.last_delivery_id"), "the cursor is %s", encode(map[string]any(r)))
			gone := p.call(d, "cursor/delete", with(name, obj{"reason": "no longer used"}))
			p.must(!gone.isTrue("cursor.exists"), "what is left is %s", encode(map[string]any(gone)))
			for method, want := range map[string]object{"cursor/reset": r, "cursor/deleted": gone} {
				e := d.event(method, "consumer_id", name["consumer_id"].(string))
				a := e.args()
				p.must(e.seq() == int64(want.num("seq")) && !a.has("thread_id") && a.str("subject_thread_id") == thread.str("thread_id"), "%s is %s", method, clip(e.raw, 300))
				p.must(a.str("by") == "client" && a.str("reason") != "" && a.isInt("from_sequence") && a.isInt("to_sequence"), "%s is %s", method, clip(e.raw, 300))
			}
		}},
		{id: "consumer.server", sentence: "Cursors of the server's consumers can be read and listed, and not changed.", source: srcCursor, run: func(p *probe) {
			c := p.http()
			name := obj{"consumer_id": "subscription:" + p.nonce("none"), "stream_name": "events"}
			p.call(c, "cursor/read", name)
			p.call(c, "cursor/list", obj{"consumer_id": name["consumer_id"]})
			p.refuse(c, -32006, "forbidden", "cursor/advance", with(name, obj{"last_sequence": 0}))
			p.refuse(c, -32006, "forbidden", "cursor/error", with(name, obj{"error": "x"}))
			p.refuse(c, -32006, "forbidden", "cursor/reset", with(name, obj{"last_sequence": 0, "reason": "x"}))
			p.refuse(c, -32006, "forbidden", "cursor/delete", with(name, obj{"reason": "x"}))
		}},
		{id: "consumer.list", sentence: "cursor/list filters by each part of the name, and an empty subject is a filter too.", source: srcCursor, run: func(p *probe) {
			c, name := p.http(), p.consumer()
			other := with(name, obj{"subject_id": p.nonce("thread")})
			p.later(func() { c.try("cursor/delete", with(other, obj{"reason": "the check has ended"})) })
			for _, n := range []obj{name, other} {
				p.call(c, "cursor/advance", with(n, obj{"last_sequence": 0}))
			}
			for subject, want := range map[any]int{nil: 2, "": 1, other["subject_id"]: 1} {
				params := obj{"consumer_id": name["consumer_id"]}
				if subject != nil {
					params["subject_id"] = subject
				}
				got := p.call(c, "cursor/list", params)
				p.must(len(got.list("cursors")) == want && got.isInt("latest_seq"), "%s lists %d cursors, want %d", encode(params), len(got.list("cursors")), want)
			}
			page := p.call(c, "cursor/list", obj{"consumer_id": name["consumer_id"], "limit": 1})
			rest := p.call(c, "cursor/list", obj{"consumer_id": name["consumer_id"], "limit": 1, "cursor": page.str("next_cursor")})
			p.must(len(page.list("cursors")) == 1 && len(rest.list("cursors")) == 1 && !rest.has("next_cursor") && rest.str("cursors.0.subject_id") == other["subject_id"], "the pages are %s and %s", encode(map[string]any(page)), encode(map[string]any(rest)))
		}},
		{id: "consumer.stream", sentence: "A stream with consumer starts after the cursor; after_seq wins over it, and Last-Event-ID over both.", source: srcCursor, run: func(p *probe) {
			c, name := p.http(), p.consumer()
			a, b := p.thread(c, nil), p.thread(c, nil)
			last := int64(p.thread(c, nil).num("seq"))
			p.call(c, "cursor/advance", with(name, obj{"last_sequence": a.num("seq")}))
			query := "?consumer=" + name["consumer_id"].(string)
			for _, in := range []*received{p.listen(query).received, p.events(query).received} {
				p.must(in.opened().num("after_seq") == a.num("seq"), "%s starts after %v, the cursor is at %v", in.name, in.opened()["after_seq"], a["seq"])
				first := in.await("an event", 0, func(m *message) bool { return m.isEvent() })
				p.must(first.seq() == int64(a.num("seq"))+1, "the first event has seq %d", first.seq())
				in.upTo(last)
			}
			d := p.duplex("")
			d.opened()
			r := p.call(d, "stream/subscribe", obj{"consumer": name["consumer_id"]})
			p.must(r.num("after_seq") == a.num("seq"), "stream/subscribe starts after %v", r["after_seq"])
			l := p.listen(query + "&after_seq=" + itoa(int64(b.num("seq"))))
			p.must(l.opened().num("after_seq") == b.num("seq"), "the cursor won over after_seq: %v", l.opened()["after_seq"])
			l = p.listen(query+"&after_seq=0", "Last-Event-ID: "+itoa(int64(b.num("seq"))))
			p.must(l.opened().num("after_seq") == b.num("seq"), "Last-Event-ID did not win: %v", l.opened()["after_seq"])
			p.refusedCursor(400, -32602, "invalid_cursor", query, "Last-Event-ID: x")
		}},
	}
}

package conformance

import "strings"

func turnChecks() []check {
	return []check{
		{id: "turn.start", sentence: "turn/start on an idle thread answers active with every field and the seq of the change.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			thread := p.echoThread(d)
			r := p.turn(d, thread, "hello")
			p.mustHave(r, "turn/start", "turn_id", "thread_id", "state", "started_at", "seq")
			p.must(strings.HasPrefix(r.str("turn_id"), "turn_"), "turn_id is %q", r.str("turn_id"))
			p.must(r.str("thread_id") == thread && r.str("state") == "active", "got %s", encode(obj(r)))
			p.mustTime(r, "turn/start", "started_at")
			started := d.event("turn/started", "turn_id", r.str("turn_id"))
			p.must(started.seq() <= int64(r.num("seq")), "turn/started has seq %d, after the result's %v", started.seq(), r.num("seq"))
			a := started.args()
			p.mustHave(a, "turn/started", "type", "state", "started_at", "thread_id", "thread_seq", "timestamp", "attempt", "origin")
			p.must(a.str("state") == "active" && a.str("origin") == "client", "turn/started is %s", clip(started.raw, 300))
			d.completed(r.str("turn_id"))
		}},
		{id: "turn.order", sentence: "A turn's events come in order: its start, the user's message, the work, the end.", source: srcEvents, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn := p.turn(d, p.echoThread(d), "/say one\n/items 2 10\n/deltas 3 5").str("turn_id")
			d.completed(turn)
			all := d.ofTurn(turn)
			p.must(len(all) >= 4, "the turn has only %d events: %s", len(all), methods(all))
			p.must(all[0].method == "turn/started", "the first event is %s", all[0].method)
			p.must(all[1].method == "item/created" && all[1].args().str("content.type") == "user_message" && all[1].args().str("status") == "completed",
				"the second event is not a completed user_message: %s", clip(all[1].raw, 300))
			p.must(all[1].seq() == all[0].seq()+1, "the user's message is not in the transaction of the start: %d after %d", all[1].seq(), all[0].seq())
			p.must(isTerminal(all[len(all)-1]), "the last event is %s", all[len(all)-1].method)
			p.mustEndItems(all)
		}},
		{id: "turn.user_message", sentence: "The user_message of a turn holds the parts of the input as they were sent.", source: srcEvents, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			parts := []any{
				obj{"type": "input_text", "text": "/say x"},
				obj{"type": "input_image", "mime_type": "image/png", "data": "iVBORw0KGgo="},
				obj{"type": "resource_link", "uri": "file:///a.txt", "name": "a.txt"},
			}
			r := p.call(d, "turn/start", obj{"thread_id": p.echoThread(d),
				"input": []any{obj{"type": "message", "role": "user", "content": parts}}})
			item := d.itemOf(r.str("turn_id"), "user_message")
			p.must(item.str("content.role") == "user" && item.str("content.origin") == "client", "content is %v", item["content"])
			got, _ := item.get("content.content")
			p.must(encode(got) == encode(parts), "the parts came back as %s", encode(got))
		}},
		{id: "turn.completed", sentence: "turn/completed has state, times and the thread's and turn's ids.", source: srcEvents, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn := p.turn(d, p.echoThread(d), "/say x").str("turn_id")
			a := d.completed(turn).args()
			p.mustHave(a, "turn/completed", "type", "state", "started_at", "completed_at", "thread_id", "turn_id", "attempt", "seq", "thread_seq", "timestamp")
			p.must(a.str("type") == "completed" && a.str("state") == "completed", "type %q, state %q", a.str("type"), a.str("state"))
			p.mustTime(a, "turn/completed", "started_at", "completed_at", "timestamp")
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
		{id: "turn.one_end", sentence: "Exactly one terminal event stands per turn, after the ends of all its items.", source: srcEvents, needs: needEcho, run: func(p *probe) {
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
				p.must(ends == 1 && isTerminal(all[len(all)-1]), "after %q: %d terminal events in %s", text, ends, methods(all))
				p.mustEndItems(all)
			}
		}},
		{id: "turn.fail", sentence: "A turn whose agent gives up ends turn/failed with error kind and message.", source: srcEvents, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			m := d.outcome(p.turn(d, p.echoThread(d), "/fail the reason why").str("turn_id"))
			p.must(m.method == "turn/failed", "it ended with %s", m.method)
			a := m.args()
			p.must(a.str("state") == "failed" && a.str("error.kind") != "", "turn/failed is %s", clip(m.raw, 300))
			p.must(strings.Contains(a.str("error.message"), "the reason why"), "error.message is %q", a.str("error.message"))
		}},
		{id: "turn.crash", sentence: "An agent that dies ends its turn turn/failed; the thread goes on.", source: srcEvents, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			thread := p.echoThread(d)
			m := d.outcome(p.turn(d, thread, "/say x\n/crash").str("turn_id"))
			p.must(m.method == "turn/failed", "it ended with %s", m.method)
			p.must(m.args().str("error.kind") != "", "no error.kind")
			d.completed(p.turn(d, thread, "/say still here").str("turn_id"))
		}},
		{id: "turn.timeout", sentence: "A turn over its timeout_seconds ends turn/failed with error kind timeout.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			m := d.outcome(p.turn(d, p.echoThread(d), "/sleep 20000", obj{"timeout_seconds": 1}).str("turn_id"))
			p.must(m.method == "turn/failed", "it ended with %s", m.method)
			p.must(m.args().str("error.kind") == "timeout", "error.kind is %q", m.args().str("error.kind"))
		}},
		{id: "turn.progress", sentence: "turn/progress tells the agent's message and a state of its own, never after the turn's end.", source: srcEvents, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn := p.turn(d, p.echoThread(d), "/progress looking around\n/sleep 1200").str("turn_id")
			m := d.await("turn/progress with the message", 0, func(m *message) bool {
				return matches(m, "turn/progress", []string{"turn_id", turn, "message", "looking around"})
			})
			p.mustHave(m.args(), "turn/progress", "state", "message", "elapsed_ms")
			d.completed(turn)
		}},
		{id: "turn.first_event", sentence: "The first event of a turn has its metadata, parent and timeout_seconds.", source: srcEvents, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			thread := p.echoThread(d)
			turn := p.turn(d, thread, "/say x", obj{
				"metadata": obj{"k": "v"}, "timeout_seconds": 60, "parent": obj{"thread_id": thread},
			}).str("turn_id")
			d.completed(turn)
			a := d.ofTurn(turn)[0].args()
			p.must(a.str("metadata.k") == "v" && a.num("timeout_seconds") == 60 && a.str("parent.thread_id") == thread, "the first event is %s", encode(obj(a)))
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
		{id: "turn.input_invalid", sentence: "Wrong input gets -32602 with the path of the field.", source: srcErrors, run: func(p *probe) {
			thread := p.thread(p.http(), nil).str("thread_id")
			for _, c := range []struct{ input, field string }{
				{`[]`, "input"},
				{`null`, "input"},
				{`[{"type":"nope","role":"user","content":[{"type":"input_text","text":"x"}]}]`, "input[0].type"},
				{`[{"type":"message","role":"assistant","content":[{"type":"input_text","text":"x"}]}]`, "input[0].role"},
				{`[{"type":"message","role":"user","content":[]}]`, "input[0].content"},
				{`[{"type":"message","role":"user","content":[{"type":"nope"}]}]`, "input[0].content[0].type"},
				{`[{"type":"message","role":"user","content":[{"type":"input_text"}]}]`, "input[0].content[0].text"},
				{`[{"type":"message","role":"user","content":[{"type":"input_text","text":5}]}]`, "input[0].content[0].text"},
				{`[{"type":"message","role":"user","content":[{"type":"input_text","text":"x"},{"type":"resource_link"}]}]`, "input[0].content[1].uri"},
			} {
				f := p.refuse(p.http(), -32602, "invalid_params", "turn/start", `{"thread_id":`+quote(thread)+`,"input":`+c.input+`}`)
				p.must(f.str("data.field") == c.field, "input %s: data.field is %q, want %s", c.input, f.str("data.field"), c.field)
			}
			f := p.refuse(p.http(), -32602, "invalid_params", "turn/start", obj{"thread_id": thread})
			p.must(f.str("data.field") == "input", "without input data.field is %q", f.str("data.field"))
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
		{id: "turn.on_busy_invalid", sentence: "An unknown on_busy gets -32602.", source: srcMethods, run: func(p *probe) {
			thread := p.thread(p.http(), nil).str("thread_id")
			f := p.refuse(p.http(), -32602, "invalid_params", "turn/start", startParams(thread, "x", obj{"on_busy": "nope"}))
			p.must(f.str("data.field") == "on_busy", "data.field is %q", f.str("data.field"))
		}},
	}
}

// mustEndItems asserts that every item of a turn has ended before its
// terminal event, which is the last of the events given.
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

package conformance

import "time"

// pause pauses the runtime and has it resumed at the end of the check.
func (p *probe) pause(c caller, params obj) object {
	p.later(func() { p.http().try("holon/resume", nil) })
	return p.call(c, "holon/pause", params)
}

func runtimeChecks() []check {
	return []check{
		{id: "runtime.initialize", sentence: "initialize tells the version, the server, the log, the capabilities and every bound.", source: srcMethods, run: func(p *probe) {
			r := p.call(p.http(), "initialize", obj{"client_info": obj{"name": "conformance", "version": "1"}})
			p.mustHave(r, "initialize", "protocol_version", "server_info", "log_id", "latest_seq", "capabilities", "limits")
			p.must(r.str("log_id") != "", "log_id is empty")
			for _, name := range []string{"max_frame_bytes", "max_in_flight", "max_item_bytes"} {
				p.must(r.num("limits."+name) > 0, "limits.%s is missing", name)
			}
		}},
		{id: "runtime.initialize_version", sentence: "Without a common version initialize answers the server's own.", source: srcMethods, run: func(p *probe) {
			own := p.call(p.http(), "initialize", obj{"client_info": obj{"name": "c", "version": "1"}}).str("protocol_version")
			r := p.call(p.http(), "initialize", obj{"client_info": obj{"name": "c", "version": "1"}, "protocol_versions": []any{"1999-01-01"}})
			p.must(r.str("protocol_version") == own, "got %q, want %q", r.str("protocol_version"), own)
			r = p.call(p.http(), "initialize", obj{"client_info": obj{"name": "c", "version": "1"}, "protocol_versions": []any{"1999-01-01", own}})
			p.must(r.str("protocol_version") == own, "got %q, want %q", r.str("protocol_version"), own)
		}},
		{id: "runtime.status", sentence: "holon/status has every field, times in their form or null, counts as integers.", source: srcMethods, run: func(p *probe) {
			r := p.call(p.http(), "holon/status", nil)
			p.mustHave(r, "holon/status", "state", "events_processed", "last_event_at", "session_id", "paused_at", "resumed_at",
				"version", "started_at", "log_id", "first_seq", "latest_seq", "threads", "turns", "streams", "agents")
			for _, path := range []string{"events_processed", "first_seq", "latest_seq", "turns.queued", "turns.active", "turns.waiting"} {
				p.must(r.isInt(path), "%s is no integer", path)
			}
			p.must(r.num("events_processed") == r.num("latest_seq"), "events_processed %v is not latest_seq %v", r.num("events_processed"), r.num("latest_seq"))
			for _, path := range []string{"last_event_at", "paused_at", "resumed_at", "started_at"} {
				v, _ := r.get(path)
				p.must(v == nil || r.isTime(path), "%s is neither null nor a time: %v", path, v)
			}
			p.must(r.isStr("session_id"), "session_id is no string")
		}},
		{id: "runtime.session", sentence: "holon/status names the thread that was started last.", source: srcMethods, run: func(p *probe) {
			t := p.thread(p.http(), nil).str("thread_id")
			got := p.call(p.http(), "holon/status", nil).str("session_id")
			p.must(got == t, "session_id is %q, want %q", got, t)
		}},
		{id: "runtime.pause", sentence: "A pause succeeds, is told in status and in an event with the same seq, and ends with resume.", source: srcMethods, run: func(p *probe) {
			d := p.duplex("")
			d.opened()
			r := p.pause(d, nil)
			p.mustHave(r, "holon/pause", "success", "message", "state", "seq")
			p.must(r.isTrue("success") && r.str("state") == "paused", "holon/pause answered %s", encode(obj(r)))
			ev := d.event("holon/paused")
			p.must(ev.seq() == int64(r.num("seq")), "holon/paused has seq %d, the result says %v", ev.seq(), r.num("seq"))
			s := p.call(d, "holon/status", nil)
			p.must(s.str("state") == "paused" && s.isTime("paused_at"), "status says state %q, paused_at %q", s.str("state"), s.str("paused_at"))
			r = p.call(d, "holon/resume", nil)
			p.mustHave(r, "holon/resume", "success", "message", "state", "seq")
			p.must(r.isTrue("success") && r.str("state") == "running", "holon/resume answered %s", encode(obj(r)))
			ev = d.event("holon/resumed")
			p.must(ev.seq() == int64(r.num("seq")), "holon/resumed has seq %d, the result says %v", ev.seq(), r.num("seq"))
			s = p.call(d, "holon/status", nil)
			p.must(s.str("state") == "running" && s.isTime("resumed_at"), "status says state %q, resumed_at %q", s.str("state"), s.str("resumed_at"))
		}},
		{id: "runtime.pause_again", sentence: "Repeating a pause or a resume succeeds, says so and makes no event.", source: srcMethods, run: func(p *probe) {
			p.pause(p.http(), nil)
			head := p.head(p.http())
			r := p.pause(p.http(), nil)
			p.must(r.isTrue("success") && r.str("message") != "", "the second holon/pause answered %s", encode(obj(r)))
			p.mustBeSilent(p.http(), head, "the second holon/pause", obj{"methods": []any{"holon/*"}})
			p.call(p.http(), "holon/resume", nil)
			r = p.call(p.http(), "holon/resume", nil)
			p.must(r.isTrue("success") && r.str("state") == "running", "the second holon/resume answered %s", encode(obj(r)))
		}},
		{id: "runtime.pause_queues", sentence: "While paused turns are accepted and queued; none starts between holon/paused and holon/resumed.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			thread := p.echoThread(d)
			paused := int64(p.pause(d, nil).num("seq"))
			r := p.turn(d, thread, "hello")
			p.must(r.str("state") == "queued", "turn/start while paused answered state %q", r.str("state"))
			queued := d.event("turn/queued", "turn_id", r.str("turn_id"))
			p.must(queued.args().str("reason") == "paused", "turn/queued has reason %q, want paused", queued.args().str("reason"))
			resumed := int64(p.call(d, "holon/resume", nil).num("seq"))
			d.completed(r.str("turn_id"))
			for _, m := range d.events(func(m *message) bool { return m.method == "turn/started" }) {
				p.must(m.seq() < paused || m.seq() > resumed, "turn/started has seq %d between the pause %d and the resume %d", m.seq(), paused, resumed)
			}
		}},
		{id: "runtime.pause_running", sentence: "A pause lets running turns go on.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn := p.running(d, p.echoThread(d), "/sleep 300\n/say done")
			p.pause(d, nil)
			d.completed(turn)
		}},
		{id: "runtime.pause_timeout", sentence: "A pause with a timeout ends by itself and says until when.", source: srcMethods, run: func(p *probe) {
			d := p.duplex("")
			d.opened()
			p.pause(d, obj{"timeout_seconds": 1})
			ev := d.event("holon/paused")
			p.must(ev.args().isTime("until"), "holon/paused has until %q", ev.args().str("until"))
			began := time.Now()
			d.event("holon/resumed")
			p.must(time.Since(began) < 4*time.Second, "it resumed only after %s", time.Since(began))
		}},
		{id: "runtime.pause_params", sentence: "A timeout of a pause that is no positive number gets -32602.", source: srcMethods, run: func(p *probe) {
			p.later(func() { p.http().try("holon/resume", nil) })
			for _, v := range []string{`{"timeout_seconds":-1}`, `{"timeout_seconds":"1"}`} {
				f := p.refuse(p.http(), -32602, "invalid_params", "holon/pause", v)
				p.must(f.str("data.field") == "timeout_seconds", "data.field is %q", f.str("data.field"))
			}
		}},
	}
}

func logStreamChecks() []check {
	return []check{
		{id: "log.read", sentence: "holon/logStream gives the newest lines with level, time and message.", source: srcMethods, run: func(p *probe) {
			r := p.call(p.http(), "holon/logStream", obj{"max_lines": 100})
			p.mustHave(r, "holon/logStream", "stream_id", "logs", "next_position")
			p.must(len(r.list("logs")) <= 100, "got %d lines, asked for 100", len(r.list("logs")))
			for _, line := range r.objs("logs") {
				p.must(line.isStr("level") && line.isStr("message"), "a line lacks level or message: %s", encode(obj(line)))
				p.mustTime(line, "a log line", "time")
			}
		}},
		{id: "log.bounds", sentence: "max_lines outside 1 to 10000 gets -32602.", source: srcMethods, run: func(p *probe) {
			for _, v := range []string{"0", "-1", "10001"} {
				f := p.refuse(p.http(), -32602, "invalid_params", "holon/logStream", `{"max_lines":`+v+`}`)
				p.must(f.str("data.field") == "max_lines", "data.field is %q", f.str("data.field"))
			}
			p.call(p.http(), "holon/logStream", obj{"max_lines": 1})
			p.call(p.http(), "holon/logStream", obj{"max_lines": 10000})
		}},
		{id: "log.position", sentence: "next_position goes on where the last answer ended.", source: srcMethods, run: func(p *probe) {
			first := p.call(p.http(), "holon/logStream", obj{"max_lines": 10000})
			next, _ := first.get("next_position")
			again := p.call(p.http(), "holon/logStream", obj{"from_position": next})
			p.must(len(again.list("logs")) <= 20, "%d old lines came again after next_position", len(again.list("logs")))
		}},
		{id: "log.follow", sentence: "With follow a stream gets holon/log notifications until holon/logStream/stop.", source: srcMethods, run: func(p *probe) {
			d := p.duplex("")
			d.opened()
			r := p.call(d, "holon/logStream", obj{"follow": true, "max_lines": 1})
			id := r.str("stream_id")
			p.must(id != "", "no stream_id")
			p.mustHave(r, "holon/logStream", "logs", "next_position")
			p.call(d, "holon/logStream/stop", obj{"stream_id": id})
			for _, m := range d.all() {
				p.must(m.method != "holon/log" || m.params != nil, "holon/log without params")
			}
		}},
	}
}

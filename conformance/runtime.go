package conformance

import "time"

// pause pauses the runtime and resumes it at the end of the check.
func (p *probe) pause(c caller, params obj) object {
	p.later(func() { p.http().try("holon/resume", nil) })
	return p.call(c, "holon/pause", params)
}

func runtimeChecks() []check {
	return []check{
		{id: "runtime.pause_timeout", sentence: "A pause with a timeout ends by itself and says until when.", source: srcMethods, run: func(p *probe) {
			p.promptly(4*time.Second, "a pause of a second", func() {
				d := p.duplex("")
				d.opened()
				p.pause(d, obj{"timeout_seconds": 1})
				ev := d.event("holon/paused")
				p.must(ev.args().isTime("until"), "holon/paused has until %q", ev.args().str("until"))
				d.event("holon/resumed")
			})
		}},
		{id: "runtime.pause_to_stop", sentence: "A pause replaces one with the reason stop, or with an end that it does not have itself, and no other.", source: srcMethods, run: func(p *probe) {
			p.later(func() { p.http().try("holon/resume", nil) })
			d := p.duplex("")
			d.opened()
			for _, step := range []struct {
				asked   string
				seconds int // 0: without an end
				message string
			}{
				{"stop", 0, "paused"}, {"stop", 0, "already paused"}, {"lunch", 3600, "paused"}, {"stop", 0, "already paused"},
				{"tea", 60, "already paused"}, {"tea", 0, "paused"}, {"stop", 0, "already paused"}, {"walk", 0, "already paused"}, {"walk", 60, "already paused"},
			} {
				params := obj{"reason": step.asked}
				if step.seconds > 0 {
					params["timeout_seconds"] = step.seconds
				}
				r := p.call(d, "holon/pause", params)
				p.must(r.str("message") == step.message && r.str("state") == "paused", "a pause with the reason %s: %v", step.asked, r)
				if step.message == "paused" {
					d.event("holon/paused", "reason", step.asked)
				}
			}
		}},
		{id: "agent.list", sentence: "agent/list tells each agent's name, kind, state and what it can do.", source: srcMethods, run: func(p *probe) {
			r := p.call(p.http(), "agent/list", nil)
			p.mustHave(r, "agent/list", "agents", "latest_seq")
			agents := r.objs("agents")
			p.must(len(agents) > 0, "there is no agent")
			for _, a := range agents {
				for _, name := range []string{"name", "kind", "state"} {
					p.must(a.str(name) != "", "an agent has no %s: %v", name, a)
				}
				for _, name := range []string{"steering", "load", "resume", "fork", "images"} {
					p.must(a.isBool("capabilities."+name), "capabilities.%s of %s is no boolean", name, a.str("name"))
				}
			}
		}},
		{id: "agent.default", sentence: "A thread that names no agent has the first of agent/list.", source: srcMethods, run: func(p *probe) {
			first := p.call(p.http(), "agent/list", nil).objs("agents")
			p.must(len(first) > 0, "there is no agent")
			r := p.thread(p.http(), nil)
			p.must(r.str("agent") == first[0].str("name"), "the thread has agent %q, the first of the list is %q", r.str("agent"), first[0].str("name"))
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
		{id: "log.position", sentence: "next_position continues where the last answer ended.", source: srcMethods, run: func(p *probe) {
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

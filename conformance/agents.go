package conformance

// agentChecks are about what agents do outside of turns. The echo agent can
// neither be configured nor forked, so they see that said.
func agentChecks() []check {
	return []check{
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
		{id: "agent.configure_unsupported", sentence: "Configuring a thread whose agent has no settings gets agent_unsupported and changes nothing.", source: srcErrors, needs: needEcho, run: func(p *probe) {
			thread := p.echoThread(p.http())
			head := p.head(p.http())
			f := p.refuse(p.http(), -32008, "agent_unsupported", "thread/configure", obj{"thread_id": thread, "config": obj{"mode": "plan"}})
			p.must(!f.isTrue("data.retryable"), "it is said to be retryable")
			p.mustBeSilent(p.http(), head, "thread/configure", obj{"thread_id": thread})
		}},
		{id: "agent.fork_unsupported", sentence: "Forking a thread whose agent cannot gets agent_unsupported and makes no thread.", source: srcErrors, needs: needEcho, run: func(p *probe) {
			thread, id := p.echoThread(p.http()), p.nonce("fork")
			p.refuse(p.http(), -32008, "agent_unsupported", "thread/fork", obj{"thread_id": thread, "new_thread_id": id})
			p.refuse(p.http(), -32002, "thread_not_found", "thread/read", obj{"thread_id": id})
		}},
		{id: "agent.params", sentence: "Params of thread/configure and thread/fork are checked before an agent is asked.", source: srcErrors, needs: needEcho, run: func(p *probe) {
			thread := p.echoThread(p.http())
			for _, c := range []struct {
				method, field string
				params        obj
			}{
				{"thread/configure", "config", obj{"thread_id": thread}},
				{"thread/configure", "config", obj{"thread_id": thread, "config": obj{}}},
				{"thread/configure", "config", obj{"thread_id": thread, "config": "plan"}},
				{"thread/configure", "thread_id", obj{"config": obj{"mode": "plan"}}},
				{"thread/fork", "new_thread_id", obj{"thread_id": thread, "new_thread_id": "a b"}},
				{"thread/fork", "thread_id", obj{}},
			} {
				f := p.refuse(p.http(), -32602, "invalid_params", c.method, c.params)
				p.must(f.str("data.field") == c.field, "%s %s: data.field is %q, want %s", c.method, encode(c.params), f.str("data.field"), c.field)
			}
		}},
		{id: "agent.thread", sentence: "thread/configure and thread/fork want an open thread.", source: srcErrors, run: func(p *probe) {
			missing := p.nonce("missing")
			closed := p.thread(p.http(), nil).str("thread_id")
			p.call(p.http(), "thread/close", obj{"thread_id": closed})
			for method, more := range map[string]obj{"thread/configure": {"config": obj{"mode": "x"}}, "thread/fork": {}} {
				more["thread_id"] = missing
				p.refuse(p.http(), -32002, "thread_not_found", method, more)
				more["thread_id"] = closed
				p.refuse(p.http(), -32004, "thread_closed", method, more)
			}
		}},
	}
}

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
	}
}

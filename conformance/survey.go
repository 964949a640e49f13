package conformance

import (
	"context"
	"fmt"
	"strings"
)

// facts is what the suite learns about a server before it starts. Every part is
// optional: for a foreign server the defaults apply.
type facts struct {
	unix     bool
	server   string
	protocol string
	limits   object
	// silent says that the two-way stream did not open within the usual
	// patience; the checks that need it then fail sooner.
	silent bool
	// echo says why there is no echo agent; empty means that there is one.
	echo string
	// host, token and asked say how clients are admitted: the address, whether
	// there is a token, and whether a forwarded request needs it.
	host         string
	token, asked bool
	// worker and brief say whether these two agents exist.
	worker, brief bool
}

// limit returns a bound from the answer to initialize, or the protocol's default.
func (f facts) limit(name string, otherwise int) int {
	if n := f.limits.num(name); n > 0 {
		return int(n)
	}
	return otherwise
}

// lacks explains why a check with these needs cannot run; empty means that it can.
func (f facts) lacks(n need) string {
	switch {
	case n&needEcho != 0 && f.echo != "":
		return "needs the echo agent: " + f.echo
	case n&needWorker != 0 && !f.worker, n&needBrief != 0 && !f.brief:
		return "needs an agent of kind worker called " + workerAgent + ", and one called " + briefAgent + " with lease_seconds of 1 to 5 and on_crash = \"retry\""
	case n&needTCP != 0 && f.unix:
		return "needs a TCP address: browsers do not reach a unix socket"
	case n&needLoopback != 0 && !strings.HasPrefix(f.host, "127.") && !strings.HasPrefix(f.host, "localhost") && !strings.HasPrefix(f.host, "[::1]"):
		// A server that is reached by another name allows that name.
		return "needs a server on loopback, this one is " + f.host
	case n&needToken != 0 && !f.token:
		return "needs the server's token"
	case n&needAsked != 0 && !f.asked:
		return "needs a server that asks for a token; this one let a forwarded request in without (it may run with --auth none)"
	}
	return ""
}

// survey collects the facts about the server. After an error facts are missing.
func survey(ctx context.Context, s *session) facts {
	f := facts{unix: s.end.unix, host: s.end.host, token: s.end.token != ""}
	limited, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	step := func(run func(p *probe)) string {
		p := &probe{session: s, ctx: limited, trail: &trail{}}
		if v := p.guard(run); v.outcome != Pass {
			return v.message
		}
		return ""
	}
	// The check of initialize reports an error.
	_ = step(func(p *probe) {
		r := p.call(p.http(), "initialize", obj{"client_info": obj{"name": "conformance", "version": "1"}})
		f.protocol = r.str("protocol_version")
		f.limits = r.obj("limits")
		f.server = strings.TrimSpace(r.str("server_info.name") + " " + r.str("server_info.version"))
	})
	f.echo = step(func(p *probe) {
		t := p.call(p.http(), "thread/start", obj{"agent": "echo", "title": "conformance"})
		id := t.str("thread_id")
		p.must(id != "", "thread/start gave no thread_id")
		p.later(func() { p.http().try("thread/close", obj{"thread_id": id}) })
	})
	_ = step(func(p *probe) {
		for _, a := range p.call(p.http(), "agent/list", nil).objs("agents") {
			f.worker = f.worker || a.str("kind") == "worker" && a.str("name") == workerAgent
			f.brief = f.brief || a.str("kind") == "worker" && a.str("name") == briefAgent
		}
	})
	_ = step(func(p *probe) {
		f.asked = true // unless it answers 200
		f.asked = p.do(ask{verb: "POST", path: "/rpc", header: []string{"Authorization: -", "X-Forwarded-For: 1.2.3.4"}, body: strings.NewReader(request("1", plain, nil))}).status != 200
	})
	f.silent = step(func(p *probe) { p.duplex("") }) != ""
	if f.echo != "" {
		f.echo = fmt.Sprintf("a thread with agent %q cannot be started (%s)", "echo", f.echo)
	}
	return f
}

package conformance

import (
	"bytes"
	"strings"
	"time"
)

// token is a named token that a check has made.
type token struct {
	p          *probe
	name, text string
	made       object // the answer that has its text
}

// token makes a named token that no other check uses. It is revoked at the end. A
// server that has no named tokens, or a suite that is not their owner, skips the check.
func (p *probe) token(role string, more obj) *token {
	m := p.http().try("token/list", obj{"limit": 1})
	if m.failure != nil {
		switch f := m.fault(); {
		case f.num("code") == -32601, f.str("data.kind") == "unavailable":
			p.skipf("needs a server with named tokens")
		case f.str("data.kind") == "forbidden":
			p.skipf("needs to be the owner: the token of the suite is a named one")
		}
	}
	t := &token{p: p, name: p.nonce("token")}
	p.later(func() { p.http().try("token/revoke", obj{"name": t.name}) })
	t.made = p.call(p.http(), "token/create", with(obj{"name": t.name, "role": role}, more))
	t.text = t.made.str("secret")
	p.must(len(t.text) >= 32, "the text of the token has %d characters", len(t.text))
	return t
}

// header presents the token instead of the suite's own one.
func (t *token) header() []string {
	return []string{"Authorization: -", "Authorization: Bearer " + t.text}
}

// try implements caller: it makes a request with the token, which must be let in.
func (t *token) try(method string, params any) *message {
	r := t.p.post(request(t.p.nextID(), method, params), t.header()...)
	m, err := parseMessage(bytes.TrimSpace(r.body))
	t.p.must(err == nil && r.status == 200, "%s with a named token got status %d: %s", method, r.status, clip(r.body, 300))
	return m
}

// forbid makes a request that the token does not allow, for this reason.
func (t *token) forbid(reason, method string, params any) object {
	f := t.p.refuse(t, -32006, "forbidden", method, params)
	t.p.must(f.str("data.reason") == reason, "%s was refused for the reason %q, want %q", method, f.str("data.reason"), reason)
	return f
}

// isShut asserts that the token opens nothing.
func (t *token) isShut() {
	for _, a := range []ask{
		{verb: "POST", path: "/rpc", body: strings.NewReader(request("1", plain, nil))},
		{verb: "GET", path: "/rpc/stream"}, {verb: "GET", path: "/events"}, {verb: "GET", path: "/metrics"},
	} {
		a.header = t.header()
		r := t.p.peek(a)
		t.p.must(r.status == 401, "%s %s with a token that has ended got status %d, want 401", a.verb, a.path, r.status)
	}
}

// mustEnd asserts that the server ends the stream within a second, as it has to, and
// the patience of the check.
func (in *received) mustEnd(why string) {
	in.find(0, time.Second+in.p.opts.Patience, func(*message) bool { return false })
	in.mu.Lock()
	ended := in.ended
	in.mu.Unlock()
	in.p.must(ended != nil, "%s is still open after %s", in.name, why)
}

func tokenChecks() []check {
	return []check{
		{id: "token.once", sentence: "A token has its name, role and threads, and its text is in the first answer only: not in a repetition, a list, an event or a metric.", source: srcToken, run: func(p *probe) {
			d := p.duplex("")
			thread := p.thread(d, nil).str("thread_id")
			params := obj{"limited_to": []any{thread}, "expires_in_seconds": 600, "idempotency_key": p.nonce("key")}
			t := p.token("read", params)
			p.must(t.made.str("token.name") == t.name && t.made.str("token.role") == "read" && t.made.str("token.state") == "live" && t.made.str("token.limited_to.0") == thread, "the token is %s", encode(t.made.obj("token")))
			p.mustTime(t.made, "the token", "token.created_at", "token.expires_at")
			again := p.call(d, "token/create", with(params, obj{"name": t.name, "role": "read"}))
			p.must(!again.has("secret") && again.num("seq") == t.made.num("seq"), "the key again answers %s", encode(again))
			e := d.event("token/created", "name", t.name)
			p.must(e.seq() == int64(t.made.num("seq")) && !e.args().has("thread_id") && e.args().str("by") == "owner" && e.args().str("role") == "read" && e.args().str("limited_to.0") == thread, "token/created is %s", clip(e.raw, 300))
			listed := false
			for _, o := range p.pages("token/list", "tokens", obj{}, 100) {
				listed = listed || o.str("name") == t.name
				p.must(!strings.Contains(encode(o), t.text), "token/list has the text of a token")
			}
			p.must(listed, "token/list does not have it")
			p.must(!bytes.Contains(e.raw, []byte(t.text)) && !strings.Contains(encode(again), t.text), "the text of a token is in an event or in a second answer")
			p.must(!bytes.Contains(p.do(ask{verb: "GET", path: "/metrics"}).body, []byte(t.text)), "the text of a token is in the metrics")
		}},
		{id: "token.name", sentence: "A name is used once, also after its token has ended, and is not that of the owner.", source: srcToken, run: func(p *probe) {
			c, t := p.http(), p.token("read", nil)
			taken := func() {
				f := p.refuse(c, -32003, "conflict", "token/create", obj{"name": t.name, "role": "read"})
				p.must(f.str("data.reason") == "taken", "the error is %s", encode(f))
			}
			taken()
			p.call(c, "token/revoke", obj{"name": t.name})
			taken()
			for _, name := range []string{"owner", "", "a b", ".a", strings.Repeat("x", 65)} {
				p.refuse(c, -32602, "invalid_params", "token/create", obj{"name": name, "role": "read"})
			}
			p.refuse(c, -32002, "token_not_found", "token/revoke", obj{"name": p.nonce("none")})
		}},
		{id: "token.mistakes", sentence: "A token for no thread, for no time, for a thread or a role that there is not, is refused.", source: srcToken, run: func(p *probe) {
			c := p.http()
			p.token("read", nil) // or there are none
			for field, wrong := range map[string]obj{
				"limited_to": {"limited_to": []any{}}, "expires_in_seconds": {"expires_in_seconds": 0}, "role": {"role": "owner"},
			} {
				name := p.nonce("token")
				p.later(func() { c.try("token/revoke", obj{"name": name}) })
				f := p.refuse(c, -32602, "invalid_params", "token/create", with(obj{"name": name, "role": "read"}, wrong))
				p.must(f.str("data.field") == field, "the error is %s, want one about %s", encode(f), field)
			}
			p.refuse(c, -32002, "thread_not_found", "token/create", obj{"name": p.nonce("token"), "role": "read", "limited_to": []any{p.nonce("none")}})
		}},
		{id: "token.role", sentence: "A token may do what its role and those before it may; anything else is forbidden with the reason role, in a batch and on a stream too, and a notification does nothing.", source: srcToken, run: func(p *probe) {
			c := p.http()
			thread := p.thread(c, nil).str("thread_id")
			about := obj{"thread_id": thread}
			first := []struct { // what each role is the first to have
				role, method string
				params       obj
			}{
				{"read", "thread/read", about},
				{"respond", "inbox/ack", obj{"thread_id": thread, "all": true, "as_of_seq": 1}},
				{"work", "thread/start", obj{"thread_id": thread}},
				{"operate", "thread/pause", about},
			}
			for i, has := range first {
				t := p.token(has.role, nil)
				info := p.call(t, "initialize", nil)
				p.must(info.str("token.name") == t.name && info.str("token.role") == has.role, "initialize says %s", encode(info.obj("token")))
				for j, asked := range first {
					if j <= i {
						p.call(t, asked.method, asked.params)
					} else {
						t.forbid("role", asked.method, asked.params)
					}
				}
				for method, params := range map[string]obj{
					"token/create": {"name": p.nonce("token"), "role": "read"}, "token/list": {}, "token/revoke": {"name": t.name}, "holon/prune": {"before_seq": 1},
				} {
					t.forbid("role", method, params)
				}
			}
			t, never := p.token("read", nil), p.nonce("thread")
			start := obj{"thread_id": never}
			r := p.post("["+request("1", "thread/start", start)+","+request("2", "thread/read", about)+"]", t.header()...)
			all, err := parseBatch(bytes.TrimSpace(r.body))
			p.must(err == nil && len(all) == 2 && all[0].failure != nil && all[1].failure == nil, "the batch got %s", clip(r.body, 300))
			p.post(request("", "thread/start", start), t.header()...)
			d := p.duplex("", t.header()...)
			p.refuse(d, -32006, "forbidden", "thread/start", start)
			p.refuse(c, -32002, "thread_not_found", "thread/read", start)
		}},
		{id: "token.limited", sentence: "A token that is limited to a thread sees that and those below it, also those that start later; what is named of another is forbidden as if it were not there.", source: srcToken, run: func(p *probe) {
			c := p.http()
			own, other := p.thread(c, nil).str("thread_id"), p.thread(c, nil).str("thread_id")
			t := p.token("operate", obj{"limited_to": []any{own}})
			l := p.listen("?after_seq=0", t.header()...)
			child := p.thread(c, obj{"parent": obj{"thread_id": own}}).str("thread_id")
			p.call(c, "inbox/send", obj{"thread_id": other, "text": "not for it"})
			last := int64(p.call(c, "inbox/send", obj{"thread_id": child, "text": "for it"}).num("seq"))
			l.await("the event of the child thread", 0, func(m *message) bool { return m.isEvent() && m.seq() == last })
			for _, m := range l.all() {
				if id := m.args().str("thread_id"); m.isEvent() && id != own && id != child {
					p.failf("its stream has an event of %q: %s", id, clip(m.raw, 200))
				}
			}
			for _, o := range p.call(t, "thread/list", obj{"limit": 1000}).objs("threads") {
				id := o.str("thread_id")
				p.must(id == own || id == child, "thread/list has %q", id)
			}
			p.call(t, "thread/read", obj{"thread_id": child})
			foreign := t.forbid("threads", "thread/read", obj{"thread_id": other})
			none := t.forbid("threads", "thread/read", obj{"thread_id": p.nonce("none")})
			p.must(foreign.str("message") == none.str("message"), "the errors tell a thread that is there from one that is not: %q and %q", foreign.str("message"), none.str("message"))
			for method, params := range map[string]obj{
				"inbox/send": {"thread_id": other, "text": "x"}, "event/list": {"after_seq": 0, "thread_id": other}, "thread/list": {"within_thread_ids": []any{other}},
				"thread/start": {}, "turn/start": {"input": input("x")}, "holon/status": {}, "turn/await": {},
			} {
				t.forbid("threads", method, params)
			}
			for _, path := range []string{"/rpc/stream?thread_id=" + other, "/events?within_thread_id=" + other, "/metrics"} {
				r := p.peek(ask{verb: "GET", path: path, header: t.header()})
				p.must(r.status == 403, "%s got status %d, want 403", path, r.status)
			}
		}},
		{id: "token.targets", sentence: "A token that is limited to a thread subscribes to the targets of a bridge only: its own, and those of its list.", source: srcToken, run: func(p *probe) {
			c := p.http()
			own := p.thread(c, nil).str("thread_id")
			t := p.token("operate", obj{"limited_to": []any{own}})
			listed, other := obj{"topic": p.nonce("listed")}, obj{"topic": p.nonce("other")}
			bridge, made := p.bridge(c, obj{"kind": "ntfy", "url": nil, "server": "https://localhost", "topic": p.nonce("own"), "targets": []any{listed}})
			p.must(len(made.list("bridge.targets")) == 1, "the bridge is %s", encode(made))
			params := func(target obj) obj {
				return obj{"subscription_id": p.nonce("sub"), "bridge_id": bridge, "thread_id": own, "target": target}
			}
			f := t.forbid("target", "subscription/create", params(other))
			p.must(f.str("data.field") == "target", "the error is %s", encode(f))
			for _, target := range []obj{{}, listed} {
				p.must(p.call(t, "subscription/create", params(target)).isTrue("created"), "no subscription to %v", target)
			}
			p.call(c, "subscription/create", params(other)) // the owner's
			p.call(c, "bridge/update", obj{"bridge_id": bridge, "targets": []any{other}})
			t.forbid("target", "subscription/create", params(listed))
			p.must(p.call(t, "subscription/create", params(other)).isTrue("created"), "the new list does not count")
			for _, targets := range [][]any{{obj{}}, {obj{"channel": "C1"}}, {nil}} {
				p.refuse(c, -32602, "invalid_params", "bridge/update", obj{"bridge_id": bridge, "targets": targets})
			}
		}},
		{id: "token.revoke", sentence: "Once a token is revoked it opens nothing, and its streams end.", source: srcToken, run: func(p *probe) {
			c, t := p.http(), p.token("operate", nil)
			p.must(p.peek(ask{verb: "GET", path: "/metrics", header: t.header()}).status == 200, "/metrics does not take a token for all threads")
			streams := []*received{p.listen("", t.header()...).received, p.events("", t.header()...).received, p.duplex("", t.header()...).received}
			for _, in := range streams {
				in.opened()
			}
			r := p.call(c, "token/revoke", obj{"name": t.name})
			p.must(r.str("token.state") == "revoked" && r.isTime("token.revoked_at"), "the answer is %s", encode(r))
			t.isShut()
			for _, in := range streams {
				in.mustEnd("the revocation")
			}
			again := p.call(c, "token/revoke", obj{"name": t.name})
			p.must(again.str("token.revoked_at") == r.str("token.revoked_at"), "a second revocation answers %s", encode(again))
		}},
		{id: "token.console", sentence: "A code opens initialize and, once, signin/create; the console token that it makes may do no more than the code says, makes no codes, and ends with its parent or by a sign-out.", source: srcToken, run: func(p *probe) {
			parent := p.token("respond", nil)
			made := p.call(parent, "signin/code", obj{})
			p.mustTime(made, "the code", "expires_at")
			code := &token{p: p, name: made.str("name"), text: made.str("code")}
			info := p.call(code, "initialize", nil)
			p.must(info.str("token.name") == code.name && info.str("token.parent") == parent.name && info.str("token.role") == "read" && info.obj("token").has("code"), "initialize with a code says %s", encode(info.obj("token")))
			code.forbid("code", "thread/list", obj{})
			for _, path := range []string{"/rpc/stream", "/events", "/metrics"} {
				r := p.peek(ask{verb: "GET", path: path, header: code.header()})
				p.must(r.status == 403, "a code got status %d at %s, want 403", r.status, path)
			}
			signIn := func(from *token) *token {
				r := p.call(from, "signin/create", obj{})
				p.must(r.str("token.parent") == parent.name && r.isTime("token.expires_at") && len(r.str("secret")) >= 32, "the console token is %s", encode(r.obj("token")))
				return &token{p: p, name: r.str("token.name"), text: r.str("secret"), made: r}
			}
			console, own := signIn(code), signIn(parent)
			code.isShut()
			p.must(console.name == code.name && console.made.str("token.role") == "read" && own.made.str("token.role") == "respond", "the roles are %q and %q", console.made.str("token.role"), own.made.str("token.role"))
			p.call(console, "thread/list", obj{})
			console.forbid("role", "inbox/ack", obj{"thread_id": p.nonce("thread"), "all": true, "as_of_seq": 1})
			console.forbid("console", "signin/code", obj{})
			console.forbid("console", "signin/create", obj{})
			parent.forbid("role", "signin/code", obj{"role": "work"})
			current := 0
			for _, o := range p.pages("signin/list", "signins", obj{}, 100) {
				if o.str("parent") == parent.name {
					current++
				}
			}
			p.must(current == 2, "signin/list has %d of the two", current)
			streams := []*received{p.listen("", console.header()...).received, p.listen("", own.header()...).received}
			for _, in := range streams {
				in.opened()
			}
			p.call(own, "signin/delete", obj{"name": console.name})
			streams[0].mustEnd("the sign-out")
			console.isShut()
			p.call(p.http(), "token/revoke", obj{"name": parent.name})
			streams[1].mustEnd("the end of its parent")
			own.isShut()
		}},
		{id: "token.expires", sentence: "A token that expires opens nothing, and its streams end.", source: srcToken, needs: background, run: func(p *probe) {
			t := p.token("read", obj{"expires_in_seconds": 1})
			l := p.listen("", t.header()...)
			l.opened()
			l.mustEnd("its expiry")
			t.isShut()
		}},
	}
}

package conformance

import "strings"

// knock posts a plain request with the headers.
func (p *probe) knock(header ...string) *reply {
	return p.do(ask{verb: "POST", path: "/rpc", header: header, body: strings.NewReader(request("1", plain, nil))})
}

// shut asserts that every request with the headers is refused in the way the
// status says, on /rpc and on the streams.
func (p *probe) shut(status int, kind string, header ...string) {
	what := strings.Join(header, "; ")
	for _, r := range []*reply{
		p.knock(header...), p.peek(ask{verb: "GET", path: "/rpc/stream", header: header}),
		p.peek(ask{verb: "GET", path: "/events", header: header}), p.peek(ask{verb: "POST", path: "/rpc/stream", header: header}),
	} {
		p.must(r.status == status, "a request with %s got status %d, want %d", what, r.status, status)
		m, err := parseMessage([]byte(strings.TrimSpace(string(r.body))))
		p.must(err == nil, "a request with %s: the body is no JSON-RPC message: %v", what, err)
		p.mustError(m, -32006, kind, "a request with "+what)
	}
}

func admissionChecks() []check {
	return []check{
		{id: "admission.foreign_origin", sentence: "A foreign Origin gets 403.", source: srcAdmit, needs: needTCP, run: func(p *probe) {
			for _, origin := range []string{"http://evil.example", "null", "http://localhost.evil.example", "http://" + p.end.host + ".evil.example"} {
				p.shut(403, "forbidden", "Origin: "+origin)
			}
		}},
		{id: "admission.own_origin", sentence: "The request's own origin is let in.", source: srcAdmit, needs: needTCP, run: func(p *probe) {
			r := p.knock("Origin: " + p.end.base)
			p.must(r.status == 200, "got status %d, want 200", r.status)
		}},
		{id: "admission.other_port", sentence: "An Origin of another port is foreign.", source: srcAdmit, needs: needTCP, run: func(p *probe) {
			p.shut(403, "forbidden", "Origin: http://localhost:1")
		}},
		{id: "admission.fetch_site", sentence: "Sec-Fetch-Site other than same-origin or none gets 403.", source: srcAdmit, needs: needTCP, run: func(p *probe) {
			for _, site := range []string{"cross-site", "same-site", "anything"} {
				p.shut(403, "forbidden", "Sec-Fetch-Site: "+site)
			}
			for _, site := range []string{"same-origin", "none"} {
				r := p.knock("Sec-Fetch-Site: " + site)
				p.must(r.status == 200, "Sec-Fetch-Site %s got status %d, want 200", site, r.status)
			}
		}},
		{id: "admission.foreign_host", sentence: "A Host that names no loopback gets 403.", source: srcAdmit, needs: needTCP, run: func(p *probe) {
			p.mustLoopback()
			for _, host := range []string{"evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1"} {
				p.shut(403, "forbidden", "Host: "+host)
			}
		}},
		{id: "admission.rebinding", sentence: "A foreign Host does not make the same foreign Origin its own.", source: srcAdmit, needs: needTCP, run: func(p *probe) {
			p.mustLoopback()
			p.shut(403, "forbidden", "Host: evil.example", "Origin: http://evil.example")
		}},
		{id: "admission.loopback_host", sentence: "Every name of loopback is accepted as Host, with any port.", source: srcAdmit, needs: needTCP, run: func(p *probe) {
			p.mustLoopback()
			for _, host := range []string{"localhost", "localhost:9", "127.0.0.1", "127.1.2.3:80", "[::1]", "[::1]:8080"} {
				r := p.knock("Host: " + host)
				p.must(r.status == 200, "Host %s got status %d, want 200", host, r.status)
			}
		}},
		{id: "admission.health_any_host", sentence: "/healthz and /readyz do not look at the Host.", source: srcAdmit, needs: needTCP, run: func(p *probe) {
			for _, path := range []string{"/healthz", "/readyz"} {
				r := p.do(ask{verb: "GET", path: path, header: []string{"Host: probe.example"}})
				p.must(r.status == 200, "GET %s got status %d, want 200", path, r.status)
			}
		}},
		{id: "admission.forwarded", sentence: "A request that was passed on needs the token, else it gets 401.", source: srcAdmit, needs: needTCP, run: func(p *probe) {
			p.mustAskForToken()
			for _, header := range []string{"Forwarded: for=1.2.3.4", "X-Forwarded-For: 1.2.3.4", "X-Forwarded-Host: x", "Via: 1.1 proxy"} {
				p.shut(401, "unauthorized", "Authorization: -", header)
			}
		}},
		{id: "admission.wrong_token", sentence: "A wrong token gets 401 where the token is needed.", source: srcAdmit, needs: needTCP, run: func(p *probe) {
			p.mustAskForToken()
			for _, value := range []string{"Bearer wrong", "Bearer ", "Basic dXNlcjp3cm9uZw==", "wrong"} {
				p.shut(401, "unauthorized", "Authorization: -", "X-Forwarded-For: 1.2.3.4", "Authorization: "+value)
			}
		}},
		{id: "admission.token", sentence: "The right token lets a request in that was passed on.", source: srcAdmit, needs: needTCP, run: func(p *probe) {
			if p.end.token == "" {
				p.skipf("needs the server's token")
			}
			r := p.knock("X-Forwarded-For: 1.2.3.4")
			p.must(r.status == 200, "got status %d, want 200", r.status)
		}},
		{id: "admission.browser_first", sentence: "A foreign Origin gets 403 before the token is looked at.", source: srcAdmit, needs: needTCP, run: func(p *probe) {
			p.shut(403, "forbidden", "Authorization: -", "X-Forwarded-For: 1.2.3.4", "Origin: http://evil.example")
		}},
		{id: "admission.no_token_in_url", sentence: "A token in the URL opens nothing.", source: srcAdmit, needs: needTCP, run: func(p *probe) {
			for _, name := range []string{"token", "access_token"} {
				r := p.peek(ask{verb: "GET", path: "/rpc/stream?" + name + "=" + p.end.token})
				p.must(r.status == 400, "got status %d, want 400", r.status)
			}
		}},
	}
}

// mustLoopback skips where the server is reached by another name than
// loopback: such a server allows that name.
func (p *probe) mustLoopback() {
	host := p.end.host
	if !strings.HasPrefix(host, "127.") && !strings.HasPrefix(host, "localhost") && !strings.HasPrefix(host, "[::1]") {
		p.skipf("needs a server on loopback, this one is %s", host)
	}
}

// mustAskForToken skips where the server asks nobody for a token.
func (p *probe) mustAskForToken() {
	if r := p.knock("Authorization: -", "X-Forwarded-For: 1.2.3.4"); r.status == 200 {
		p.skipf("needs a server that asks for a token; this one let a forwarded request in without (it may run with --auth none)")
	}
}

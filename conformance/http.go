package conformance

import (
	"io"
	"net/http"
	"strings"
	"time"
)

func httpChecks() []check {
	return []check{
		{id: "http.status_200", sentence: "POST /rpc answers 200 with the response, also for a method's error.", source: srcFrames, run: func(p *probe) {
			for _, frame := range []string{
				request("1", plain, nil), request("2", "no/such", nil),
				request("3", "thread/read", obj{"thread_id": "none"}), request("4", "thread/read", obj{"nope": 1}),
			} {
				r := p.post(frame)
				p.must(r.status == 200, "%s got status %d, want 200", frame, r.status)
				_, err := parseMessage(r.body)
				p.must(err == nil, "%s: the body is no JSON-RPC message: %v", frame, err)
			}
		}},
		{id: "http.status_204", sentence: "POST /rpc answers 204 without a body to notifications alone.", source: srcFrames, run: func(p *probe) {
			for _, frame := range []string{request("", plain, nil), "[" + request("", plain, nil) + "]"} {
				r := p.post(frame)
				p.must(r.status == 204 && len(r.body) == 0, "%s got status %d and %d bytes, want 204 and none", frame, r.status, len(r.body))
			}
		}},
		{id: "http.status_400", sentence: "POST /rpc answers 400 when a single message gets -32700 or -32600.", source: srcFrames, run: func(p *probe) {
			for _, frame := range []string{`{`, `{}`, `5`, `[]`, request("1", plain, "5"), request("1.5", plain, nil), "\xff", batchOf(101)} {
				r := p.post(frame)
				p.must(r.status == 400, "%s got status %d, want 400", clip([]byte(frame), 60), r.status)
			}
		}},
		{id: "http.status_batch", sentence: "A batch with wrong members is answered 200.", source: srcFrames, run: func(p *probe) {
			r := p.post(`[1,` + request("2", plain, nil) + `]`)
			p.must(r.status == 200, "got status %d, want 200", r.status)
		}},
		{id: "http.empty_body", sentence: "An empty body is no message and gets an error.", source: srcFrames, run: func(p *probe) {
			r := p.post("")
			p.must(r.status == 400, "got status %d, want 400", r.status)
		}},
		{id: "http.verbs", sentence: "Verbs other than POST on /rpc get 405.", source: srcFrames, run: func(p *probe) {
			for _, verb := range []string{"GET", "PUT", "DELETE", "PATCH", "HEAD"} {
				r := p.do(ask{verb: verb, path: "/rpc"})
				p.must(r.status == 405, "%s /rpc got status %d, want 405", verb, r.status)
			}
		}},
		{id: "http.allow", sentence: "A 405 names the verbs that are allowed.", source: "RFC 9110 §15.5.6 405 Method Not Allowed", run: func(p *probe) {
			r := p.do(ask{verb: "GET", path: "/rpc"})
			p.must(strings.Contains(strings.Join(r.header.Values("Allow"), ","), "POST"), "Allow is %q", r.header.Get("Allow"))
		}},
		{id: "http.content_type", sentence: "Answers of POST /rpc are application/json.", source: srcFrames, run: func(p *probe) {
			for _, frame := range []string{request("1", plain, nil), `{`, batchOf(2)} {
				r := p.post(frame)
				p.must(strings.HasPrefix(r.header.Get("Content-Type"), "application/json"), "Content-Type is %q", r.header.Get("Content-Type"))
			}
		}},
		{id: "http.request_type_ignored", sentence: "The request's Content-Type is not checked.", source: srcFrames, run: func(p *probe) {
			for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "nonsense"} {
				r := p.do(ask{verb: "POST", path: "/rpc", header: []string{"Content-Type: " + kind}, body: strings.NewReader(request("1", plain, nil))})
				p.must(r.status == 200, "Content-Type %s got status %d, want 200", kind, r.status)
				_, err := parseMessage(r.body)
				p.must(err == nil, "Content-Type %s: the body is no JSON-RPC message: %v", kind, err)
			}
		}},
		{id: "http.connection_methods", sentence: "What lives on a connection gets -32600 on POST /rpc.", source: srcFrames, run: func(p *probe) {
			for method, params := range map[string]obj{
				"stream/subscribe": {}, "stream/unsubscribe": {}, "holon/logStream": {"follow": true},
			} {
				p.refuse(p.http(), -32600, "invalid_request", method, params)
			}
		}},
		{id: "http.unknown_path", sentence: "A path that is not served gets 404.", source: "RFC 9110 §15.5.5 404 Not Found", run: func(p *probe) {
			for _, path := range []string{"/no/such/path", "//rpc/stream"} {
				r := p.do(ask{verb: "GET", path: path})
				p.must(r.status == 404, "%s got status %d, want 404", path, r.status)
			}
		}},
		{id: "http.stream_headers", sentence: "The NDJSON streams answer with their type and are neither cached nor buffered.", source: srcFrames, run: func(p *probe) {
			for what, h := range map[string]http.Header{
				"GET /rpc/stream": p.listen("").header, "POST /rpc/stream": p.duplex("").header,
			} {
				for name, want := range map[string]string{
					"Content-Type": "application/x-ndjson", "Cache-Control": "no-cache",
					"Connection": "keep-alive", "X-Accel-Buffering": "no",
				} {
					got := h.Get(name)
					p.must(got == want || (name == "Content-Type" && strings.HasPrefix(got, want+";")), "%s: %s is %q, want %q", what, name, got, want)
				}
			}
		}},
		{id: "http.stream_at_once", sentence: "A two-way stream answers while its request body is open and silent.", source: srcFrames, run: func(p *probe) {
			began := time.Now()
			p.duplex("").opened()
			p.must(time.Since(began) < 2*time.Second, "stream/opened took %s", time.Since(began))
		}},
		{id: "http.accept", sentence: "An Accept that rules the stream's type out gets 406.", source: srcFrames, run: func(p *probe) {
			for _, c := range []struct {
				path, accept string
				want         int
			}{
				{"/rpc/stream", "text/html", 406},
				{"/rpc/stream", "application/json", 406},
				{"/rpc/stream", "application/x-ndjson;q=0", 406},
				{"/rpc/stream", "application/x-ndjson", 200},
				{"/rpc/stream", "application/*", 200},
				{"/rpc/stream", "text/html, */*;q=0.1", 200},
				{"/events", "application/x-ndjson", 406},
				{"/events", "text/event-stream", 200},
				{"/events", "*/*", 200},
			} {
				r := p.peek(ask{verb: "GET", path: c.path, header: []string{"Accept: " + c.accept}})
				p.must(r.status == c.want, "GET %s with Accept %s got status %d, want %d", c.path, c.accept, r.status, c.want)
			}
		}},
		{id: "http.unknown_query", sentence: "Unknown query parameters of a stream get 400 invalid_params.", source: srcFrames, run: func(p *probe) {
			for _, a := range []ask{
				{verb: "GET", path: "/rpc/stream?nope=1"}, {verb: "GET", path: "/events?nope=1"},
				{verb: "GET", path: "/rpc/stream?AFTER_SEQ=1"}, {verb: "POST", path: "/rpc/stream?nope=1"},
			} {
				r := p.peek(a)
				p.must(r.status == 400, "%s %s got status %d, want 400", a.verb, a.path, r.status)
				m, err := parseMessage([]byte(strings.TrimSpace(string(r.body))))
				p.must(err == nil, "%s %s: the body is no JSON-RPC message: %v", a.verb, a.path, err)
				p.mustError(m, -32602, "invalid_params", a.path)
			}
		}},
		{id: "http.health", sentence: "/healthz and /readyz answer 200 without a token.", source: srcFrames, run: func(p *probe) {
			for _, path := range []string{"/healthz", "/readyz"} {
				r := p.do(ask{verb: "GET", path: path, header: []string{"Authorization: -"}})
				p.must(r.status == 200, "GET %s got status %d, want 200", path, r.status)
			}
		}},
		{id: "http.body_that_never_comes", sentence: "A path that takes no body does not wait for one that never comes.", source: srcFrames, run: func(p *probe) {
			for _, path := range []string{"/healthz", "/rpc/stream", "/events"} {
				body, open := io.Pipe()
				p.later(func() { open.Close() })
				p.peek(ask{verb: "GET", path: path, body: body}) // any answer in time will do
			}
		}},
		{id: "http.metrics", sentence: "/metrics answers in the text format of Prometheus.", source: srcFrames, run: func(p *probe) {
			r := p.do(ask{verb: "GET", path: "/metrics"})
			p.must(r.status == 200, "got status %d, want 200", r.status)
			p.must(strings.Contains(string(r.body), "# TYPE "), "the body has no # TYPE line")
		}},
		{id: "http.hardening", sentence: "Every reply forbids sniffing and cross-origin embedding.", source: srcAdmit, run: func(p *probe) {
			for _, r := range []*reply{
				p.post(request("1", plain, nil)), p.post(`{`), p.do(ask{verb: "GET", path: "/rpc"}),
				p.do(ask{verb: "GET", path: "/healthz"}), p.do(ask{verb: "GET", path: "/metrics"}),
				p.do(ask{verb: "GET", path: "/no/such/path"}),
				p.peek(ask{verb: "GET", path: "/rpc/stream"}), p.peek(ask{verb: "GET", path: "/events"}),
				p.peek(ask{verb: "GET", path: "/events?nope=1"}),
			} {
				p.must(r.header.Get("X-Content-Type-Options") == "nosniff", "X-Content-Type-Options is %q on a reply with status %d", r.header.Get("X-Content-Type-Options"), r.status)
				p.must(r.header.Get("Cross-Origin-Resource-Policy") == "same-origin", "Cross-Origin-Resource-Policy is %q on a reply with status %d", r.header.Get("Cross-Origin-Resource-Policy"), r.status)
			}
		}},
	}
}

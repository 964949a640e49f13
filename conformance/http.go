package conformance

import (
	"io"
	"strings"
	"time"
)

func httpChecks() []check {
	return []check{
		{id: "http.status_400", sentence: "POST /rpc answers 400 when a single message gets -32700 or -32600.", source: srcFrames, run: func(p *probe) {
			for _, frame := range []string{`{`, `{}`, `5`, `[]`, request("1", plain, "5"), request("1.5", plain, nil), "\xff", batchOf(101)} {
				r := p.post(frame)
				p.must(r.status == 400, "%s got status %d, want 400", clip([]byte(frame), 60), r.status)
			}
		}},
		{id: "http.stream_at_once", sentence: "A two-way stream answers while its request body is open and silent.", source: srcFrames, run: func(p *probe) {
			p.promptly(2*time.Second, "stream/opened", func() { p.duplex("").opened() })
		}},
		{id: "http.body_that_never_comes", sentence: "A path that takes no body does not wait for one that never comes.", source: srcFrames, needs: background, run: func(p *probe) {
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
	}
}

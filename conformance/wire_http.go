package conformance

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
)

// answerLimit bounds one HTTP answer: pages end at 1 MiB, and no line exceeds 4
// MiB.
const answerLimit = 64 << 20

// reply is an HTTP answer, read whole.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// ask is an HTTP request to be made.
type ask struct {
	verb, path string
	// header is added to the request; "Host" sets the request's host, and
	// "Authorization: -" omits the token.
	header []string
	body   io.Reader
	// shown is the body for the evidence; nil shows none.
	shown []byte
}

// String names the request in messages and evidence, without tokens.
func (a ask) String() string {
	if len(a.header) == 0 {
		return a.verb + " " + a.path
	}
	shown := make([]string, len(a.header))
	for i, line := range a.header {
		before, _, found := strings.Cut(line, "Bearer ")
		if shown[i] = line; found {
			shown[i] = before + "Bearer …"
		}
	}
	return a.verb + " " + a.path + " [" + strings.Join(shown, "; ") + "]"
}

// prepare makes the request with the token and the headers.
func (p *probe) prepare(ctx context.Context, a ask) *http.Request {
	req, err := http.NewRequestWithContext(ctx, a.verb, p.end.base+a.path, a.body)
	if err != nil {
		panic(verdict{Error, err.Error()})
	}
	if body, ok := a.body.(io.Closer); ok {
		// The transport waits for the body's reader even when its context ends,
		// and a pipe without a writer would block it forever.
		context.AfterFunc(ctx, func() { body.Close() })
	}
	if p.end.token != "" {
		req.Header.Set("Authorization", "Bearer "+p.end.token)
	}
	for _, line := range a.header {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case name == "Host":
			req.Host = value
		case name == "Authorization" && value == "-":
			req.Header.Del(name)
		default:
			req.Header.Add(name, value)
		}
	}
	return req
}

// do makes the request and reads the answer whole.
func (p *probe) do(a ask) *reply {
	return p.fetch(a, func(int) bool { return true })
}

// peek makes the request and reads the body only if the status is not 200: the
// body of a stream does not end.
func (p *probe) peek(a ask) *reply {
	return p.fetch(a, func(status int) bool { return status != http.StatusOK })
}

// fetch makes the request and reads the body if read accepts the status. A
// connection error fails the check: every rule is about an answer.
func (p *probe) fetch(a ask, read func(status int) bool) *reply {
	ctx, cancel := context.WithTimeout(p.ctx, p.opts.Patience)
	defer cancel()
	what := a.String()
	p.trail.add("> "+what, a.shown)
	res, err := p.end.client.Do(p.prepare(ctx, a))
	if err != nil {
		p.failf("%s: no answer: %v", what, err)
	}
	defer res.Body.Close()
	out := &reply{status: res.StatusCode, header: res.Header}
	if read(res.StatusCode) {
		out.body, err = io.ReadAll(io.LimitReader(res.Body, answerLimit))
	}
	p.trail.add("< "+res.Status, out.body)
	if err != nil {
		p.failf("%s: the answer broke off after %d bytes: %v", what, len(out.body), err)
	}
	return out
}

// post sends bytes to POST /rpc.
func (p *probe) post(body string, header ...string) *reply {
	r := p.do(ask{verb: "POST", path: "/rpc", header: header, body: strings.NewReader(body), shown: []byte(body)})
	p.observe([]byte(body), r.body)
	return r
}

// observe passes the answer to the observer.
func (p *probe) observe(request, answer []byte) {
	asked := requests(request)
	answer = bytes.TrimSpace(answer)
	var all []*message
	var err error
	switch {
	case len(answer) == 0:
		return
	case answer[0] == '[':
		all, err = parseBatch(answer)
	case answer[0] == '{':
		var m *message
		m, err = parseMessage(answer)
		all = append(all, m)
	default:
		return // not JSON-RPC: the check itself reports it
	}
	if err != nil {
		p.seen.broken(answer, err)
		return
	}
	for _, m := range all {
		p.seen.response(asked[string(m.id)], m)
	}
}

// rpc sends bytes to POST /rpc and expects one response object.
func (p *probe) rpc(body string) *message {
	r := p.post(body)
	m, err := parseMessage(bytes.TrimSpace(r.body))
	if err != nil {
		p.failf("POST /rpc answered %d without a JSON-RPC response: %v", r.status, err)
	}
	p.must(m.isResponse(), "POST /rpc answered %d with something that is no response: %s", r.status, clip(r.body, 200))
	return m
}

// batch sends bytes to POST /rpc and expects an array of responses.
func (p *probe) batch(body string) []*message {
	r := p.post(body)
	all, err := parseBatch(bytes.TrimSpace(r.body))
	if err != nil {
		p.failf("POST /rpc answered %d without a batch of responses: %v", r.status, err)
	}
	return all
}

// oneShot makes each request with a separate POST /rpc.
type oneShot struct{ p *probe }

// http returns the caller over POST /rpc.
func (p *probe) http() caller { return oneShot{p} }

func (o oneShot) try(method string, params any) *message {
	id := o.p.nextID()
	m := o.p.rpc(request(id, method, params))
	o.p.must(string(m.id) == id, "%s with id %s was answered with id %s", method, id, m.id)
	return m
}

package conformance

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// probe is the tool of a check. Only the check's own goroutine uses it; the
// readers it starts end with its context.
type probe struct {
	*session
	ctx    context.Context
	trail  *trail
	ids    int
	undo   []func()
	nonces int
}

// failf ends the check: the server broke the promise.
func (p *probe) failf(format string, args ...any) {
	panic(verdict{Fail, fmt.Sprintf(format, args...)})
}

// skipf ends the check: the promise cannot be tested here.
func (p *probe) skipf(format string, args ...any) {
	panic(verdict{Skip, fmt.Sprintf(format, args...)})
}

// must fails the check unless ok.
func (p *probe) must(ok bool, format string, args ...any) {
	if !ok {
		p.failf(format, args...)
	}
}

// promptly fails the check if f takes longer than the limit three times: a busy
// machine may be slow once.
func (p *probe) promptly(limit time.Duration, what string, f func()) {
	var took time.Duration
	for range 3 {
		began := time.Now()
		f()
		if took = time.Since(began); took < limit {
			return
		}
	}
	p.failf("%s took %s", what, took)
}

// later registers a clean-up. Clean-ups run in reverse, whatever the outcome.
func (p *probe) later(f func()) { p.undo = append(p.undo, f) }

// cleanUp undoes the check's changes to the server. It has a separate short
// time limit, because the check's time may be up.
func (p *probe) cleanUp() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), 3*time.Second)
	defer cancel()
	p.ctx = ctx
	for i := len(p.undo) - 1; i >= 0; i-- {
		func() {
			// A clean-up that fails changes no verdict.
			defer func() { _ = recover() }()
			p.undo[i]()
		}()
	}
}

// nextID returns a new request id, as JSON.
func (p *probe) nextID() string {
	p.ids++
	return strconv.Itoa(1000 + p.ids)
}

// nonce returns a name that no other check and no other run uses.
func (p *probe) nonce(prefix string) string {
	p.nonces++
	return prefix + "_" + strconv.FormatInt(time.Now().UnixNano(), 36) + strconv.Itoa(p.nonces)
}

// request composes a request frame. Params are JSON text or a value; nil
// leaves them out.
func request(id, method string, params any) string {
	var b strings.Builder
	b.WriteString(`{"jsonrpc":"2.0"`)
	if id != "" {
		b.WriteString(`,"id":` + id)
	}
	b.WriteString(`,"method":` + quote(method))
	if params != nil {
		b.WriteString(`,"params":` + encode(params))
	}
	b.WriteString("}")
	return b.String()
}

// caller is a way to make requests: POST /rpc or a two-way stream.
type caller interface {
	// try sends a request and returns its response, result or error.
	try(method string, params any) *message
}

// obj is the params of a request.
type obj = map[string]any

// call makes a request that must succeed.
func (p *probe) call(c caller, method string, params any) object {
	m := c.try(method, params)
	if m.failure != nil {
		p.failf("%s was refused: %s", method, clip(m.failure, 300))
	}
	return decode(m.result)
}

// refuse makes a request that must fail with the kind, and returns the error.
func (p *probe) refuse(c caller, code int, kind, method string, params any) object {
	m := c.try(method, params)
	p.mustError(m, code, kind, method+" "+clip([]byte(encode(params)), 120))
	return m.fault()
}

// mustError asserts an error response. An empty kind accepts any.
func (p *probe) mustError(m *message, code int, kind, what string) {
	if m.failure == nil {
		p.failf("%s succeeded, want error %d %s", what, code, kind)
	}
	f := m.fault()
	if int(f.num("code")) != code || (kind != "" && f.str("data.kind") != kind) {
		p.failf("%s got error %s %q, want %d %q", what, strconv.FormatFloat(f.num("code"), 'f', -1, 64),
			f.str("data.kind"), code, kind)
	}
}

// mustHave asserts that the object has every path.
func (p *probe) mustHave(o object, what string, paths ...string) {
	for _, path := range paths {
		p.must(o.has(path), "%s lacks %q: %s", what, path, clip([]byte(encode(map[string]any(o))), 300))
	}
}

// mustTime asserts times in the form of the protocol.
func (p *probe) mustTime(o object, what string, paths ...string) {
	for _, path := range paths {
		p.must(o.isTime(path), "%s.%s is not RFC 3339 in UTC with milliseconds: %v", what, path, o.str(path))
	}
}

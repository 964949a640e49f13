package conformance

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// listener is an open one-way stream, GET /rpc/stream or GET /events.
type listener struct {
	*received
	header http.Header
	close  func()
	// sse is the raw events of /events, empty for NDJSON; position i belongs
	// to message i.
	sseMu sync.Mutex
	sse   []sseEvent
}

// openStream makes a request whose answer must be 200, and returns its body.
func (p *probe) openStream(a ask) (*http.Response, context.CancelFunc) {
	ctx, cancel := context.WithCancel(p.ctx)
	what := a.String()
	p.trail.add("> "+what, nil)
	type answer struct {
		res *http.Response
		err error
	}
	done := make(chan answer, 1)
	go func() {
		res, err := p.end.client.Do(p.prepare(ctx, a))
		done <- answer{res, err}
	}()
	patience := p.opts.Patience
	if p.facts.silent && a.verb == "POST" {
		patience = min(patience, 500*time.Millisecond)
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case got := <-done:
		if got.err != nil {
			cancel()
			p.failf("%s: no answer: %v", what, got.err)
		}
		p.trail.add("< "+got.res.Status, nil)
		if got.res.StatusCode != http.StatusOK {
			body, _ := io.ReadAll(io.LimitReader(got.res.Body, 1<<20))
			got.res.Body.Close()
			cancel()
			p.failf("%s answered %s: %s", what, got.res.Status, clip(body, 300))
		}
		return got.res, cancel
	case <-timer.C:
		cancel()
		p.failf("%s: no answer within %s", what, patience)
	}
	panic("unreachable")
}

// listen opens GET /rpc/stream with a query such as "?after_seq=0".
func (p *probe) listen(query string, header ...string) *listener {
	res, cancel := p.openStream(ask{verb: "GET", path: "/rpc/stream" + query, header: append([]string{"Accept: application/x-ndjson"}, header...)})
	in := newReceived(p, "GET /rpc/stream"+query)
	l := &listener{received: in, header: res.Header}
	l.close = p.reading(res.Body, cancel, func() {
		in.readLines(res.Body, func(line []byte) { in.take(line, nil) })
	})
	return l
}

// reading runs the reader of a stream and returns a function that ends it; the
// end of the check ends it too.
func (p *probe) reading(body io.Closer, cancel context.CancelFunc, read func()) func() {
	var ended sync.WaitGroup
	ended.Go(read)
	stop := func() {
		cancel()
		body.Close()
		ended.Wait()
	}
	p.later(stop)
	return stop
}

// take checks a line and keeps it. pending returns the request of a response.
func (in *received) take(line []byte, pending func(id string) sent) {
	in.p.trail.add("< "+in.name+":", line)
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	if bytes.HasPrefix(line, []byte("[")) {
		all, err := parseBatch(line)
		if err != nil {
			in.p.seen.broken(line, err)
		}
		for _, m := range all {
			if pending != nil {
				in.p.seen.response(pending(string(m.id)), m)
			}
		}
		in.push(&message{raw: line})
		return
	}
	m, err := parseMessage(line)
	switch {
	case err != nil:
		in.p.seen.broken(line, err)
		m = &message{raw: line}
	case m.isResponse():
		var req sent
		if pending != nil {
			req = pending(string(m.id))
		}
		in.p.seen.response(req, m)
	default:
		if !in.summaries.Load() {
			in.p.seen.notification(m)
		}
	}
	in.push(m)
}

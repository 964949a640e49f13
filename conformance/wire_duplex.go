package conformance

import (
	"io"
	"maps"
	"sync"
	"time"
)

// duplex is an open two-way stream, POST /rpc/stream.
type duplex struct {
	*received
	body *io.PipeWriter
	// header is the header of the answer.
	header map[string][]string

	mu      sync.Mutex
	pending map[string]sent
}

// duplex opens POST /rpc/stream with a query such as "?after_seq=0".
func (p *probe) duplex(query string, header ...string) *duplex {
	reader, writer := io.Pipe()
	a := ask{verb: "POST", path: "/rpc/stream" + query, header: append([]string{"Content-Type: application/x-ndjson"}, header...), body: reader}
	p.later(func() { writer.Close() })
	res, cancel := p.openStream(a)
	d := &duplex{
		received: newReceived(p, "POST /rpc/stream"+query), body: writer,
		header: res.Header, pending: map[string]sent{},
	}
	p.reading(res.Body, cancel, func() {
		d.readLines(res.Body, func(line []byte) { d.take(line, d.forget) })
	})
	return d
}

// forget returns and removes a pending request.
func (d *duplex) forget(id string) sent {
	d.mu.Lock()
	defer d.mu.Unlock()
	req := d.pending[id]
	delete(d.pending, id)
	return req
}

// sendRaw writes bytes unchanged.
func (d *duplex) sendRaw(b string) {
	d.p.trail.add("> "+d.name+":", []byte(b))
	done := make(chan error, 1)
	go func() {
		_, err := io.WriteString(d.body, b)
		done <- err
	}()
	timer := time.NewTimer(d.p.opts.Patience)
	defer timer.Stop()
	select {
	case err := <-done:
		if err != nil {
			d.p.failf("%s: cannot send: %v", d.name, err)
		}
	case <-timer.C:
		d.body.CloseWithError(io.ErrClosedPipe)
		<-done
		d.p.failf("%s: the server did not read %d bytes within %s", d.name, len(b), d.p.opts.Patience)
	}
}

// send writes one frame.
func (d *duplex) send(frame string) {
	d.mu.Lock()
	maps.Copy(d.pending, requests([]byte(frame)))
	d.mu.Unlock()
	d.sendRaw(frame + "\n")
}

// start sends a request and returns its id.
func (d *duplex) start(method string, params any) string {
	id := d.p.nextID()
	d.send(request(id, method, params))
	return id
}

// answer waits for the response with the id.
func (d *duplex) answer(id string) *message {
	return d.answerFrom(0, id)
}

// answerFrom waits for the response with the id, from a position on.
func (d *duplex) answerFrom(from int, id string) *message {
	return d.await("the response with id "+id, from, func(m *message) bool {
		return m.isResponse() && string(m.id) == id
	})
}

// try makes a request and waits for its response.
func (d *duplex) try(method string, params any) *message {
	return d.answer(d.start(method, params))
}

// mark returns the position after everything that has arrived.
func (d *duplex) mark() int { return len(d.all()) }

// caughtUp returns once the stream has sent every event up to now: at the next
// request it is live.
func (d *duplex) caughtUp() {
	head := int64(d.p.call(d, "holon/status", nil).num("latest_seq"))
	if head > int64(d.opened().num("latest_seq")) {
		d.upTo(head)
	}
}

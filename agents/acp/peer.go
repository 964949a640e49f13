package acp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/internal/limits"
	"github.com/seed82539d15/holon/internal/lines"
	"github.com/seed82539d15/holon/internal/mend"
)

// peer is the server's side of a two-way JSON-RPC 2.0 connection over lines. It
// uses no library, because an agent's messages are kept as received, and
// neither a junk line nor a huge one may end the connection. One goroutine
// calls read; the other methods may be called from many.
type peer struct {
	out  *writer
	host peerHost

	mu     sync.Mutex
	lastID int64
	calls  map[int64]*call
	sent   replies
	over   error // set when the connection has ended

	junk    atomic.Int64 // lines that are no message
	skipped atomic.Int64 // lines longer than limits.AgentMessageBytes
	strays  atomic.Int64 // responses to no request, or to one that timed out
	unsent  atomic.Int64 // replies that the agent did not read
}

// peerHost receives the agent's notifications and requests, in order, on the
// reader's goroutine. It must not wait for another message of the agent.
type peerHost interface {
	// notified takes a notification.
	notified(method string, params jsontext.Value)
	// asked takes a request; reply or refuse answers it, once.
	asked(id jsontext.Value, method string, params jsontext.Value)
	// noise takes a line of size bytes that is no message: text is the line,
	// shortened, or "" for a line of more than size bytes, which was skipped.
	noise(text string, size int)
	// dropped takes a line of size bytes that begins like a message and is not one.
	// sessionID is the session that it names, or whose call; "" = none.
	dropped(quote, sessionID string, size int)
}

// call is a request under way. done is called once, by the reader or when the
// connection ends, and must not block.
type call struct {
	method  string
	session string // "" = it is about none
	done    func(result jsontext.Value, err error)
}

// aboutSession is implemented by the params of calls that a turn waits for.
type aboutSession interface {
	session() string
}

// newLines reads the lines of a process. The first buffer is as large as a
// pipe.
func newLines(r io.Reader) *lines.Reader {
	return lines.New(r, lines.Config{Max: limits.AgentMessageBytes, Buffer: 64 << 10})
}

// errGone is wrapped by the error of calls when the process has ended.
var errGone = errors.New("the agent's process has ended")

// errTimeout is wrapped when an agent does not answer in time.
var errTimeout = errors.New("the agent did not answer in time")

func newPeer(out *writer, host peerHost) *peer {
	return &peer{out: out, host: host, calls: map[int64]*call{}}
}

// start sends a request. done gets the result or the error.
func (p *peer) start(method string, params any, done func(jsontext.Value, error)) (id int64, err error) {
	p.mu.Lock()
	if p.over != nil {
		p.mu.Unlock()
		return 0, p.over
	}
	p.lastID++
	id = p.lastID
	c := &call{method: method, done: done}
	if about, ok := params.(aboutSession); ok {
		c.session = about.session()
	}
	p.calls[id] = c
	p.mu.Unlock()
	line, err := requestLine(id, method, params)
	if err == nil {
		err = p.out.send(line)
	}
	if err != nil && p.forget(id) == nil {
		return id, nil // the connection ended meanwhile, and done was called
	}
	return id, err
}

// forget removes a request; nil if it has been answered.
func (p *peer) forget(id int64) *call {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.calls[id]
	delete(p.calls, id)
	return c
}

// call sends a request and waits for its result, at most limit. first, if not
// nil, is called with the result on the reader's goroutine, before the agent's
// next message.
func (p *peer) call(ctx context.Context, method string, params any, limit time.Duration, first func(jsontext.Value)) (jsontext.Value, error) {
	type answer struct {
		result jsontext.Value
		err    error
	}
	answers := make(chan answer, 1)
	id, err := p.start(method, params, func(result jsontext.Value, err error) {
		if err == nil && first != nil {
			first(result)
		}
		answers <- answer{result, err}
	})
	if err != nil {
		return nil, err
	}
	var why error
	select {
	case a := <-answers:
		return a.result, a.err
	case <-ctx.Done():
		why = context.Cause(ctx)
	case <-time.After(limit):
		why = fmt.Errorf("%s: %w (%v)", method, errTimeout, limit)
	}
	if p.forget(id) == nil { // the answer has come meanwhile
		a := <-answers
		return a.result, a.err
	}
	return nil, why
}

// notify sends a notification.
func (p *peer) notify(method string, params any) error {
	line, err := requestLine(0, method, params)
	if err != nil {
		return err
	}
	return p.out.send(line)
}

// reply answers a request of the agent.
func (p *peer) reply(id, result jsontext.Value) {
	p.send(id, struct {
		Version string         `json:"jsonrpc"`
		ID      jsontext.Value `json:"id"`
		Result  jsontext.Value `json:"result"`
	}{"2.0", id, result})
}

// refuse answers a request of the agent with an error.
func (p *peer) refuse(id jsontext.Value, code int64, text string) {
	p.send(id, struct {
		Version string         `json:"jsonrpc"`
		ID      jsontext.Value `json:"id"`
		Error   rpcError       `json:"error"`
	}{"2.0", id, rpcError{Code: code, Message: text}})
}

// send sends the answer to a request. Answers that the agent does not read are counted.
func (p *peer) send(id jsontext.Value, v any) {
	line, err := encode(v)
	if err == nil {
		p.mu.Lock()
		p.sent.add(id, line)
		p.mu.Unlock()
		err = p.out.send(line)
	}
	if err != nil {
		p.unsent.Add(1)
	}
}

// yieldEvery is after how many messages one goroutine lets others run: about
// 0.1 ms. Otherwise the turns of others would wait for time slices of 10 ms of
// an agent that sends at full speed, at every step.
const yieldEvery = 32

// read reads the agent's messages until the end of the lines. The caller must
// call end afterwards.
func (p *peer) read(from *lines.Reader) {
	var pace pace
	for n := 1; ; n++ {
		if n%yieldEvery == 0 {
			pace.take(yieldEvery)
			runtime.Gosched()
		}
		line, err := from.Next()
		if errors.Is(err, lines.ErrTooLong) {
			p.tooLong(line)
			continue
		}
		if err != nil {
			return
		}
		line = bytes.TrimPrefix(line, []byte(mend.ByteOrderMark))
		if m, err := parse(line); err == nil {
			p.message(m, line)
		} else {
			p.odd(line)
		}
	}
}

// message takes a message; line is what it was read from.
func (p *peer) message(m message, line []byte) {
	switch {
	case m.Method == "":
		p.answered(m, line)
	case len(m.ID) == 0 || string(m.ID) == "null":
		p.host.notified(m.Method, m.Params)
	default:
		p.host.asked(m.ID, m.Method, m.Params)
	}
}

// answered passes a response to its call.
func (p *peer) answered(m message, line []byte) {
	if result, _ := p.echoes(m); result {
		p.strays.Add(1)
		return
	}
	c := p.take(m.ID)
	if c == nil {
		p.strays.Add(1) // never requested, answered twice, or timed out
		return
	}
	c.done(m.outcome(line))
}

// take removes the request that an answer with this id is for; nil = there is none.
func (p *peer) take(id jsontext.Value) *call {
	n, ok := number(id)
	if !ok {
		return nil
	}
	return p.forget(n)
}

// drop takes a line, or a part of one, that begins like a message and is not one. id is its
// id, nil if it has none.
func (p *peer) drop(line []byte, id jsontext.Value) {
	p.junk.Add(1)
	session := ""
	if n, ok := number(id); ok {
		p.mu.Lock()
		if c := p.calls[n]; c != nil {
			session = c.session
		}
		p.mu.Unlock()
	}
	if found := aSession.FindSubmatch(line); session == "" && found != nil {
		session = string(found[1])
	}
	p.host.dropped(quoteLine(line), session, len(line))
}

// noise takes any other line.
func (p *peer) noise(line []byte) {
	p.junk.Add(1)
	p.host.noise(shorten(string(line), 512), len(line))
}

// end fails all current and later requests with err.
func (p *peer) end(err error) {
	p.mu.Lock()
	calls := p.calls
	p.over, p.calls = err, map[int64]*call{}
	p.mu.Unlock()
	p.out.close(err)
	for _, c := range calls {
		c.done(nil, err)
	}
}

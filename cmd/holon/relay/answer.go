package relay

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/internal/lines"
	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/rpc/frame"
)

// message is what is read of a line from the server. What else is in it, and what a
// foreign server may do wrong, passes through.
type message struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params jsontext.Value `json:"params"`
	Result jsontext.Value `json:"result"`
	Error  jsontext.Value `json:"error"`
}

var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// key returns that of the request in its exchange.
func (m *message) key() string { return frame.IDKey(m.ID) }

// kind returns that of an error.
func (m *message) kind() string {
	if m.Error == nil {
		return ""
	}
	return client.ErrorOf([]byte(m.Error)).Kind
}

// answer is a response, or the responses of a batch; parts has at least one.
type answer struct {
	parts []message
	batch bool
}

// streamParams are what is read of the params of notifications, and of where the log is.
type streamParams struct {
	LogID            string  `json:"log_id"`
	AfterSeq         *int64  `json:"after_seq"`
	LatestSeq        *int64  `json:"latest_seq"`
	HeartbeatSeconds float64 `json:"heartbeat_seconds"`
	Seq              *int64  `json:"seq"`
	Code             string  `json:"code"`
	Reason           string  `json:"reason"`
}

// receive reads the lines of the server until the connection ends; the error is never nil.
// late is stopped when the subscription goes on.
func (r *relay) receive(body io.Reader, c *connection, late *time.Timer) error {
	for reader := linesOf(body, true); ; {
		if is(c.resumed) {
			late.Stop()
		}
		line, err := reader.Next()
		switch {
		case errors.Is(err, io.EOF):
			return errors.New("it closed the connection")
		case errors.Is(err, lines.ErrTooLong):
			return &finalError{err}
		case err != nil:
			return err
		}
		if err := r.take(line, c); err != nil {
			return err
		}
	}
}

// take passes a line on and keeps what a further connection needs to know of it.
func (r *relay) take(line []byte, c *connection) error {
	if line[0] == '[' {
		a := &answer{batch: true}
		if json.Unmarshal(line, &a.parts, lenient) != nil || len(a.parts) == 0 {
			return r.forward(line, c)
		}
		return r.answer(line, a, c)
	}
	var m message
	switch {
	case json.Unmarshal(line, &m, lenient) != nil:
		return r.forward(line, c)
	case m.Method != "":
		return r.notification(line, &m, c)
	case string(m.ID) == r.resuming:
		return r.resumed(&m, c)
	case string(m.ID) == r.last:
		r.requests.confirm()
		return nil
	}
	return r.answer(line, &answer{parts: []message{m}}, c)
}

// forward passes a line on.
func (r *relay) forward(line []byte, c *connection) error {
	if err := r.pass(line); err != nil {
		return &finalError{err}
	}
	c.passed = true
	return nil
}

// answer passes an answer on. Its request is done after that.
func (r *relay) answer(line []byte, a *answer, c *connection) error {
	x := r.requests.answeredBy(a)
	if x != nil {
		r.requests.executed(x)
	}
	if err := r.forward(line, c); err != nil || x == nil {
		return err
	}
	c.answered = true
	for i := range a.parts {
		if m := x.member(a.parts[i].key()); m != nil && a.parts[i].Result != nil {
			r.stream.answered(m.Method, m.Params, a.parts[i].Result)
		}
	}
	r.requests.remove(x)
	return nil
}

// resumed takes the answer to the relay's own request.
func (r *relay) resumed(m *message, c *connection) error {
	if m.Error != nil {
		return fmt.Errorf("continue the stream: %w", client.ErrorOf([]byte(m.Error)))
	}
	if !is(c.resumed) {
		close(c.resumed)
	}
	return nil
}

// notification passes on what belongs to the client's subscription. A further connection
// begins with a stream/opened, and with events from now on: the client gets neither.
func (r *relay) notification(line []byte, m *message, c *connection) error {
	var p streamParams
	_ = json.Unmarshal(m.Params, &p, lenient) // what cannot be read is not kept
	if m.Method == "stream/opened" {
		c.stream.ExpectHeartbeats(p.HeartbeatSeconds)
	}
	switch {
	case m.Method == "stream/closing":
		if err := r.forward(line, c); err != nil {
			return err
		}
		return &finalError{fmt.Errorf("%s [%s]", p.Reason, p.Code)}
	case !is(c.resumed):
		return nil
	}
	if err := r.forward(line, c); err != nil {
		return err
	}
	if m.Method == "stream/opened" {
		r.stream.begin(p.AfterSeq, p.LogID)
	} else if p.Seq != nil {
		r.stream.advance(*p.Seq)
	}
	return nil
}

//go:build linux

package faults

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// object is params or a part of them.
type object map[string]any

// reply is the part of any result that tests look at, and its bytes.
type reply struct {
	Seq      int64  `json:"seq"`
	ThreadID string `json:"thread_id"`
	TurnID   string `json:"turn_id"`
	State    string `json:"state"`
	ItemID   string `json:"item_id"`
	Raw      json.RawMessage
}

// refusal is an error that the server answered.
type refusal struct {
	Code int `json:"code"`
	Data struct {
		Kind      string `json:"kind"`
		Retryable bool   `json:"retryable"`
		LateSeq   int64  `json:"late_seq"`
	} `json:"data"`
	Message string `json:"message"`
}

func (r *refusal) Error() string { return fmt.Sprintf("%d %s: %s", r.Code, r.Data.Kind, r.Message) }

// kindOf names the error's kind: "" for nil, "broken" for no answer.
func kindOf(err error) string {
	var r *refusal
	switch {
	case err == nil:
		return ""
	case errors.As(err, &r):
		return r.Data.Kind
	}
	return "broken"
}

// callWithin bounds a call: what takes longer hangs.
const callWithin = 30 * time.Second

// call sends one request over POST /rpc. The error is a *refusal if the
// server answered with one.
func (s *server) call(method string, params any) (reply, error) {
	ctx, cancel := context.WithTimeout(context.Background(), callWithin)
	defer cancel()
	body := mustJSON(object{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/rpc", bytes.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	res, err := s.client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return reply{}, err
	}
	return parseReply(raw)
}

func parseReply(raw []byte) (r reply, err error) {
	var m struct {
		Result json.RawMessage `json:"result"`
		Error  *refusal        `json:"error"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return reply{}, fmt.Errorf("%w in %.200q", err, raw)
	}
	switch {
	case m.Error != nil:
		return reply{}, m.Error
	case m.Result == nil:
		return reply{}, fmt.Errorf("neither result nor error: %.200q", raw)
	}
	if err := json.Unmarshal(m.Result, &r); err != nil {
		return reply{}, err
	}
	r.Raw = m.Result
	return r, nil
}

// must is call for what must succeed.
func (s *server) must(t testing.TB, method string, params any) reply {
	t.Helper()
	r, err := s.call(method, params)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", method, mustJSON(params), err, s.stderr.tail())
	}
	return r
}

// into reads the whole result into v.
func (r reply) into(v any) error { return json.Unmarshal(r.Raw, v) }

// decode is into for what must be there.
func (r reply) decode(t testing.TB, v any) {
	t.Helper()
	if err := r.into(v); err != nil {
		t.Fatal(err)
	}
}

// turn is params of turn/start with one text.
func turn(thread, text string) object {
	return object{"thread_id": thread, "input": []object{{
		"type": "message", "role": "user", "content": []object{{"type": "input_text", "text": text}},
	}}}
}

// with returns params with one more member.
func (o object) with(name string, value any) object {
	next := object{name: value}
	for k, v := range o {
		if k != name {
			next[k] = v
		}
	}
	return next
}

// latest asks for the newest seq.
func (s *server) latest(t testing.TB) int64 {
	t.Helper()
	var st struct {
		Latest int64 `json:"latest_seq"`
	}
	s.must(t, "holon/status", nil).decode(t, &st)
	return st.Latest
}

// stream is one GET /rpc/stream.
type stream struct {
	body   io.ReadCloser
	lines  *bufio.Reader
	cancel context.CancelFunc
}

// open opens a stream after a seq; -1 is live from now on.
func (s *server) open(after int64) (*stream, error) {
	if after < 0 {
		return s.openAs("")
	}
	return s.openAs("?after_seq=" + strconv.FormatInt(after, 10))
}

// openCollapsed opens a stream without what is superseded.
func (s *server) openCollapsed(after int64) (*stream, error) {
	return s.openAs("?collapse=superseded&after_seq=" + strconv.FormatInt(after, 10))
}

func (s *server) openAs(query string) (*stream, error) {
	ctx, cancel := context.WithCancel(context.Background())
	url := "http://localhost/rpc/stream" + query
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		cancel()
		return nil, err
	}
	res, err := s.client.Do(req)
	if err != nil {
		cancel()
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		defer cancel()
		defer res.Body.Close()
		raw, err := io.ReadAll(res.Body)
		if err != nil {
			return nil, err
		}
		if _, err := parseReply(raw); kindOf(err) != "broken" {
			return nil, err
		}
		return nil, fmt.Errorf("stream: %s %.200q", res.Status, raw)
	}
	return &stream{body: res.Body, lines: bufio.NewReaderSize(res.Body, 64<<10), cancel: cancel}, nil
}

func (st *stream) close() {
	st.cancel()
	_ = st.body.Close() // the connection goes either way
}

// next returns the next line with its end.
func (st *stream) next() (string, error) { return st.lines.ReadString('\n') }

// seqOf reads the seq of an event's line as it is at the front of its
// params; 0 for what is not in the log.
func seqOf(line string) int64 {
	_, rest, ok := strings.Cut(line, `"params":{"seq":`)
	if !ok || strings.HasPrefix(line, `{"jsonrpc":"2.0","method":"stream/`) && methodOf(line) != "stream/rewind" {
		return 0
	}
	end := strings.IndexAny(rest, ",}")
	if end < 0 {
		return 0
	}
	seq, err := strconv.ParseInt(rest[:end], 10, 64)
	if err != nil {
		return 0
	}
	return seq
}

// methodOf reads the method of a line.
func methodOf(line string) string {
	_, rest, _ := strings.Cut(line, `"method":"`)
	method, _, _ := strings.Cut(rest, `"`)
	return method
}

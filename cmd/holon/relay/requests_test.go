package relay

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/seed82539d15/holon/internal/lines"
	"github.com/seed82539d15/holon/rpc/frame"
)

type endless struct{}

func (endless) Read(p []byte) (int, error) { return copy(p, manyX), nil }

var manyX = strings.Repeat("x", 1<<20)

func TestALineIsBounded(t *testing.T) {
	q := newRequests()
	if err := q.read(io.MultiReader(strings.NewReader("{}\n"), endless{})); !errors.Is(err, lines.ErrTooLong) {
		t.Errorf("sent: %v", err)
	}
	if x, _ := q.next(); len(q.list) != 1 || string(x.line) != "{}" {
		t.Errorf("%d lines are kept", len(q.list))
	}
	r := &relay{out: io.Discard, requests: q}
	c := &connection{resumed: make(chan struct{})}
	var final *finalError
	if err := r.receive(endless{}, c, nil); !errors.Is(err, lines.ErrTooLong) || !errors.As(err, &final) {
		t.Errorf("received: %v", err)
	}
}

// The client is not read while too much waits for answers; one line always may.
func TestWhatIsKeptIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newRequests()
		q.most = 1000
		defer q.close()
		var parser frame.Parser
		large := newExchange(&parser, []byte(request("1", "holon/status", `{"_meta":"`+strings.Repeat("x", q.most)+`"}`)))
		q.add(large)
		added := make(chan struct{})
		go func() { q.add(newExchange(&parser, []byte(request("2", "holon/status", "{}")))); close(added) }()
		synctest.Wait()
		select {
		case <-added:
			t.Fatal("there is no bound")
		default:
		}
		q.remove(large)
		<-added
	})
}

func TestWhatIsAnswered(t *testing.T) {
	cases := map[string]bool{
		`{`: true, `5`: true, `null`: true, `[]`: true, `[1]`: true, `{}`: true,
		`{"jsonrpc":"2.0","method":"m"}`:                                         false,
		`{"jsonrpc":"2.0","method":"m","id":null}`:                               true,
		`{"jsonrpc":"2.0","method":"m","id":1}`:                                  true,
		`{"jsonrpc":"1.0","method":"m"}`:                                         true,
		`{"method":"m"}`:                                                         true,
		`{"jsonrpc":"2.0","result":1,"id":1}`:                                    false,
		`{"jsonrpc":"2.0","error":{},"id":1}`:                                    false,
		`[{"jsonrpc":"2.0","method":"m"}]`:                                       false,
		`[{"jsonrpc":"2.0","method":"m"},{"jsonrpc":"2.0","method":"m","id":1}]`: true,
	}
	for line, want := range cases {
		if got := newExchange(new(frame.Parser), []byte(line)).answered(); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}

// An answer finds its request, also where the id does not say which.
func TestAnswersFindTheirRequests(t *testing.T) {
	answerOf := func(id, kind string) message {
		return message{ID: []byte(id), Error: []byte(`{"code":-32600,"message":"no","data":{"kind":"` + kind + `"}}`)}
	}
	sent := []string{
		request("1", "a/first", "{}"), request("1", "a/second", "{}"), `"no request"`, request("null", "a/null", "{}"),
		"[" + request(`"b"`, "a/b", "{}") + "]", request(`"b\u0031"`, "a/longest", `{"text":"`+strings.Repeat("x", 1000)+`"}`),
	}
	q := newRequests()
	var parser frame.Parser
	for _, line := range sent {
		q.add(newExchange(&parser, []byte(line)))
		q.next()
	}
	for _, c := range []struct {
		answer answer
		want   int // -1 = none
	}{
		{answer{parts: []message{answerOf("1", "duplicate_id")}}, 1},
		{answer{parts: []message{answerOf("1", "conflict")}}, 0},
		{answer{parts: []message{answerOf("null", "parse_error")}}, 2},
		{answer{parts: []message{answerOf(`"b"`, "")}}, -1},
		{answer{parts: []message{answerOf(`"b"`, "")}, batch: true}, 4},
		{answer{parts: []message{answerOf(`"b1"`, "")}}, 5},
		{answer{parts: []message{answerOf("2", "")}}, -1},
	} {
		got := -1
		for i, x := range q.list {
			if x == q.answeredBy(&c.answer) {
				got = i
			}
		}
		if got != c.want {
			t.Errorf("%s: request %d, want %d", c.answer.parts[0].ID, got, c.want)
		}
	}
	q.remove(q.list[3])
	q.remove(q.list[2])
	if x := q.answeredBy(&answer{parts: []message{answerOf("null", "frame_too_large")}}); x == nil || len(x.line) < 1000 {
		t.Errorf("a line that is too large is not found: %+v", x)
	}
}

// What the connection has not taken whole was not executed: it is sent again, whatever it
// is.
func TestALineThatWasNotTakenIsSentAgain(t *testing.T) {
	q := newRequests()
	var parser frame.Parser
	change := newExchange(&parser, []byte(request("1", "holon/pause", "{}")))
	q.add(change)
	for _, c := range []struct {
		taken   int
		unknown bool
	}{{0, false}, {len(change.line) - 1, false}, {len(change.line), true}} {
		x, _ := q.next()
		if x != change {
			t.Fatal("it is not sent")
		}
		q.wrote(x, c.taken)
		if unknown := q.cut(false, false, new(subscription)); (len(unknown) == 1) != c.unknown {
			t.Errorf("%d bytes were taken: %d with an unknown outcome", c.taken, len(unknown))
		}
	}
}

// A line in which every connection ends, as where a proxy refuses its size, is given up,
// however long each has lasted.
func TestALineThatIsNeverTakenWholeIsGivenUp(t *testing.T) {
	var parser frame.Parser
	for line, answer := range map[string]string{
		request("1", "holon/status", "{}"):          unknown("1", "holon/status") + "\n",
		`{"jsonrpc":"2.0","method":"holon/resume"}`: "", // a notification has none
	} {
		var out strings.Builder
		r := &relay{out: &out, requests: newRequests()}
		r.requests.add(newExchange(&parser, []byte(line)))
		sent := func(taken int) {
			x, _ := r.requests.next()
			if x == nil {
				t.Fatalf("%s: it is not sent", line)
			}
			r.requests.wrote(x, taken)
			if err := r.answerLost(false, true); err != nil {
				t.Fatal(err)
			}
		}
		for range maxCuts {
			sent(0) // that connection has ended before it
			sent(5)
		}
		if x, _ := r.requests.next(); x != nil || len(r.requests.list) > 0 || out.String() != answer {
			t.Errorf("%s: sent further: %t, answered %q", line, x != nil, out.String())
		}
	}
}

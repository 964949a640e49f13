package acp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/internal/limits"
	"github.com/seed82539d15/holon/internal/lines"
	"github.com/seed82539d15/holon/internal/test/acptest"
)

func TestWhatAgentsGetWrongIsReadAllTheSame(t *testing.T) {
	for line, want := range map[string]string{
		`{"method":"m","params":{"a":1}}`:                      `{"a":1}`,
		`{"method":"m","params":{"a":"\ud83d"}}`:               "{\"a\":\"\ufffd\"}",
		"{\"method\":\"m\",\"params\":{\"a\":\"x\xff\"}}":      "{\"a\":\"x\ufffd\"}",
		`{"method":"m","params":{"a":[NaN,-Infinity]}}`:        `{"a":[null,null]}`,
		`{"method":"m","params":{"a":1,"a":2}}`:                `{"a":2}`,
		`{"method":"m","params":{"a":1e400,"b":[]},"extra":0}`: `{"a":1e400,"b":[]}`,
	} {
		m, err := parse([]byte(line))
		if err != nil || m.Method != "m" || string(m.Params) != want {
			t.Errorf("%q: %+v, %v", line, m, err)
		}
	}
	cut := `{"a":"\ud83d"}` // the other half comes with the next update
	if m, err := parse([]byte(`{"method":"session/update","params":` + cut + `}`)); err != nil || string(m.Params) != cut {
		t.Errorf("%+v, %v", m, err)
	}
	for _, junk := range []string{"x", "5", "null", "[]", "{}", `{"id":null}`, `{"method":5}`, `{"result":{}}`, `{"id":1,"result":{"a":NaN}}`, "{", `"text"`, `{"method":""}`} {
		if m, err := parse([]byte(junk)); err == nil {
			t.Errorf("%q is taken for %+v", junk, m)
		}
	}
}

func FuzzParseNeverPanics(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
	f.Add([]byte(`{"method":"session/update","params":{"a":"\ud800"}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := parse(line)
		if err != nil || m.Params == nil || m.Params.IsValid() {
			return
		}
		if m.Method != methodUpdate || !m.Params.IsValid(jsontext.AllowInvalidUTF8(true)) {
			t.Errorf("%q: params %q", line, m.Params)
		}
	})
}

// nobody is a peerHost that hears nothing.
type nobody struct{}

func (nobody) notified(string, jsontext.Value)              {}
func (nobody) asked(jsontext.Value, string, jsontext.Value) {}
func (nobody) noise(string, int)                            {}
func (nobody) dropped(string, string, int)                  {}

func FuzzOddLinesEndOnlyTheCallThatTheyAnswer(f *testing.F) {
	f.Add([]byte(`x {"id":1,"result":NaN} {"id":2`))
	f.Add([]byte(`[{"id":"1","error":{"a":"\"}},{"method":"m"}]`))
	f.Add([]byte(`{"id":1,"result":"\`))
	f.Add([]byte(`{"result":{},"a\`))
	f.Fuzz(func(t *testing.T, line []byte) {
		p, ended := newPeer(nil, nobody{}), 0
		p.calls[1] = &call{done: func(jsontext.Value, error) { ended++ }}
		p.odd(line)
		if has := bytes.Contains(line, []byte(`"id"`)) || bytes.Contains(line, []byte(`\u`)); ended > 1 || ended == 1 && !has {
			t.Errorf("%q has ended %d calls", line, ended)
		}
	})
}

// wire is a peer with pipes for a process.
type wire struct {
	*peer
	t   *testing.T
	out *os.File // what the peer writes
	in  *io.PipeWriter
	heard
}

type heard struct {
	mu    sync.Mutex
	notes []string
	bell  chan struct{}
}

func (h *heard) note(s string) {
	h.mu.Lock()
	h.notes = append(h.notes, s)
	h.mu.Unlock()
	h.bell <- struct{}{}
}
func (h *heard) notified(method string, params jsontext.Value) { h.note(method + string(params)) }
func (h *heard) asked(id jsontext.Value, method string, _ jsontext.Value) {
	h.note(string(id) + method)
}
func (h *heard) noise(text string, size int) { h.note("noise " + text) }
func (h *heard) dropped(quote, sessionID string, _ int) {
	h.note("dropped " + sessionID + ": " + quote)
}

func newWire(t *testing.T) *wire {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	in, pw := io.Pipe()
	x := &wire{t: t, out: r, in: pw}
	x.bell = make(chan struct{}, 100)
	x.peer = newPeer(newWriter(w), &x.heard)
	done := make(chan struct{})
	go func() {
		defer close(done)
		x.peer.read(newLines(in))
	}()
	t.Cleanup(func() {
		pw.Close()
		<-done
		x.peer.end(errGone)
		r.Close()
		w.Close()
		x.peer.out.wait()
	})
	return x
}

func (x *wire) say(lines ...string) {
	x.t.Helper()
	if _, err := x.in.Write([]byte(strings.Join(lines, "\n") + "\n")); err != nil {
		x.t.Fatal(err)
	}
}

func TestResponsesAreMatchedAndStrayOnesDropped(t *testing.T) {
	x := newWire(t)
	got := make(chan string, 3)
	done := func(name string) func(jsontext.Value, error) {
		return func(r jsontext.Value, err error) {
			if err != nil {
				r = jsontext.Value(err.Error())
			}
			got <- name + string(r)
		}
	}
	for _, name := range []string{"a", "b", "c"} {
		if _, err := x.start("m", struct{}{}, done(name)); err != nil {
			t.Fatal(err)
		}
	}
	x.say(`{"id":99,"result":1}`, `{"id":2,"result":"B"}`, `{"id":2,"result":"again"}`, `{"id":"1","result":"A"}`, `{"id":{},"result":1}`,
		`{"id":3,"error":{"code":-5,"message":"Internal error","data":{"details":"no disk"}}}`, `junk`, `{"method":"end"}`)
	if r := <-got; r != `b"B"` {
		t.Error(r)
	}
	if r := <-got; r != `a"A"` {
		t.Error(r)
	}
	if r := <-got; r != "cInternal error: no disk (code -5)" {
		t.Error(r)
	}
	<-x.bell
	<-x.bell
	if x.strays.Load() != 3 || x.junk.Load() != 1 || strings.Join(x.notes, "|") != "noise junk|end" {
		t.Errorf("%d strays, %d junk, %q", x.strays.Load(), x.junk.Load(), x.notes)
	}
}

// answeredBy starts two calls, of two sessions, and says a line. It returns how the first
// has ended, "" if it goes on, and what was noted.
func answeredBy(t *testing.T, line string) (got string, notes []string) {
	t.Helper()
	x := newWire(t)
	ended := make(chan string, 4)
	for _, session := range []string{"s1", "s2"} {
		_, err := x.start(methodPrompt, promptParams{sessionID: session}, func(r jsontext.Value, err error) {
			if err != nil {
				r = jsontext.Value("ERROR " + err.Error())
			}
			ended <- session + " " + string(r)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	x.say(line, `{"method":"end"}`)
	for end := false; !end; {
		<-x.bell
		x.heard.mu.Lock()
		notes = slices.Clone(x.notes)
		x.heard.mu.Unlock()
		end = slices.Contains(notes, "end")
	}
	select {
	case got = <-ended:
	default:
	}
	return got, notes[:slices.Index(notes, "end")]
}

func TestAnAnswerEndsItsCallWhateverIsWrongInIt(t *testing.T) {
	const ok = `s1 {"stopReason":"end_turn"}`
	for line, want := range map[string]string{
		"\xef\xbb\xbf" + `{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}`:                         ok,
		`{"jsonrpc":"2.0","id":1.0,"result":{"stopReason":"end_turn"}}`:                                        ok,
		`{"jsonrpc":"2.0","id":"1","result":{"stopReason":"end_turn"}}`:                                        ok,
		`progress 100%{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}`:                             ok,
		`{"jsonrpc":"2.0","method":"x"}{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}`:            ok,
		`{"level":"info"} {"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}`:                         ok,
		`[{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}]`:                                        ok,
		`[{"method":"x"}, {"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}]`:                        ok,
		`{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"},"error":null}`:                             ok,
		`{"jsonrpc":"2.0","id":1,"result":null}`:                                                               `s1 null`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-5,"message":"no"}}`:                                          "s1 ERROR no (code -5)",
		`{"jsonrpc":"2.0","id":1,"error":{"code":"ECONNRESET","message":"socket hang up"}}`:                    "",
		`{"jsonrpc":"2.0","id":1,"error":"rate limited"}`:                                                      "",
		`{"jsonrpc":"2.0","id":1,"error":null}`:                                                                "",
		`{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn","_meta":{"cost":NaN}}}`:                     "",
		`{"jsonrpc":"2.0","result":{"cost":[NaN,-Infinity]},"id":1}`:                                           "",
		`{ "jsonrpc":"2.0","id":1,"result":{"a":"b` + "\t" + `c"}}`:                                            "",
		`{"jsonrpc":"2.0","id":1,"result":{"a":"say "hi""}}`:                                                   "",
		`{"jsonrpc":"2.0","id":1,"result":{"a":"b\q"}}`:                                                        "",
		`{"jsonrpc":"2.0","id":1,"result":{"stopReas`:                                                          "",
		`{"jsonrpc":"2.0","id":1,"method":null,"error":null,"result":{"cost":NaN}}`:                            "",
		`{"jsonrpc":"2.0","id":1,"result":}`:                                                                   "",
		`log: {"jsonrpc":"2.0","id":1,"result":{"cost":NaN}}`:                                                  "",
		`{"method":"x"} {"jsonrpc":"2.0","id":1,"result":{"cost":NaN}}`:                                        "",
		`{"jsonrpc":"2.0","id":1,"result":{"cost":NaN}}` + strings.Repeat(" ", 10) + strings.Repeat("x", 1000): "",
	} {
		got, notes := answeredBy(t, line)
		if want == "" {
			want = "s1 ERROR the agent's answer is not as the Agent Client Protocol says: " + shorten(line, 300)
		}
		if got != want {
			t.Errorf("%.120s\n got %s\nwant %s", line, got, want)
		}
		for _, n := range notes {
			if n != "x" && !strings.HasPrefix(n, `dropped : {"level"`) {
				t.Errorf("%.120s: noted %q", line, n)
			}
		}
	}
}

func TestNothingElseEndsACall(t *testing.T) {
	for line, want := range map[string]string{
		// What begins like a message is told of, in the turn that it names.
		`{"level":"info","id":1}`:                                                   `dropped s1: {"level":"info","id":1}`,
		`{"level":"info","id":2,"msg":"x"}`:                                         `dropped s2: {"level":"info","id":2,"msg":"x"}`,
		`{"level":"info","id":7}`:                                                   `dropped : {"level":"info","id":7}`,
		`{"a":{"id":1,"result":{}}}`:                                                `dropped : {"a":{"id":1,"result":{}}}`,
		`{"a":NaN,"b":{"id":1,"result":{}}}`:                                        `dropped : {"a":NaN,"b":{"id":1,"result":{}}}`,
		`{"a" {"id":1,"result":{}}`:                                                 `dropped : {"a" {"id":1,"result":{}}`,
		`{a:{"id":1,"result":{}}}`:                                                  `dropped : {a:{"id":1,"result":{}}}`,
		`{"sessionId":"s2","a":NaN}{"id":1,"result":{}}`:                            `dropped s2: {"sessionId":"s2","a":NaN}{"id":1,"result":{}}`,
		`{"jsonrpc":"2.0","id":1,"params":{"a":nan},"method":"x","result":{}}`:      `dropped : {"jsonrpc":"2.0","id":1,"params":{"a":nan},"method":"x","result":{}}`,
		`{"id":1,"method":5,"result":{}}`:                                           `dropped : {"id":1,"method":5,"result":{}}`,
		`{"params":{"sessionId":"s1","update":{"a":NaN}},"method":"session/update"`: `dropped s1: {"params":{"sessionId":"s1","update":{"a":NaN}},"method":"session/update"`,
		`{"text":"\"sessionId\":\"s1\"","a":NaN}`:                                   `dropped : {"text":"\"sessionId\":\"s1\"","a":NaN}`,
		`{"result":{},"id":1`:                                                       `dropped : {"result":{},"id":1`,
		`{"data":{"a":],"id":1,"result":2}}`:                                        `dropped : {"data":{"a":],"id":1,"result":2}}`,
		`{"data":[{"a":1],"id":1,"result":2}]}`:                                     `dropped : {"data":[{"a":1],"id":1,"result":2}]}`,
		`{}`:                                                                        `dropped : {}`,
		// Requests are answered as such, also an echo of ours.
		`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s1"}}`: `1session/prompt`,
		// Any other text is none of it.
		`log: {"level":"info","id":1}`:               `noise log: {"level":"info","id":1}`,
		`log: {"a":1} {"id":1,"result":{}}`:          `noise log: {"a":1} {"id":1,"result":{}}`,
		`sent {"method":"x","params":{}}`:            `noise sent {"method":"x","params":{}}`,
		`got {x {"id":1,"result":{}}}`:               `noise got {x {"id":1,"result":{}}}`,
		`"a string with \"{\" {"id":1,"result":{}}"`: `noise "a string with \"{\" {"id":1,"result":{}}"`,
		`log: {"id":NaN,"result":{}}`:                `noise log: {"id":NaN,"result":{}}`,
		`{"id":99,"result":{}}`:                      ``,
		`{"id":99,"error":"x"}`:                      ``,
	} {
		got, notes := answeredBy(t, line)
		if got != "" {
			t.Errorf("%s has ended a call: %s", line, got)
		}
		if noted := strings.Join(notes, "|"); noted != want {
			t.Errorf("%s\n noted %s\n  want %s", line, noted, want)
		}
	}
}

// A line that is too long is an answer, too, if its beginning says so: otherwise the call
// would never end.
func TestAnAnswerThatIsTooLongEndsItsCall(t *testing.T) {
	long := strings.Repeat("x", 2000)
	for line, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn","text":"` + long + `"}}`: "ended|",
		"\ufeff" + `{"jsonrpc":"2.0","error":{"code":1,"message":"` + long + `"},"id":1}`:   "noise ", // nobody has read which call
		`{"jsonrpc":"2.0","id":1,"error":"` + long + `"}`:                                   "ended|",
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"` + long + `"}}`:               "noise ",
		`{"a":{"id":1,"result":"` + long + `"}}`:                                            "noise ",
		`log: {"id":1,"result":"` + long + `"}`:                                             "noise ",
	} {
		h := &heard{bell: make(chan struct{}, 100)}
		p := newPeer(nil, h)
		got := ""
		p.calls[1] = &call{done: func(_ jsontext.Value, err error) {
			if wrong, ok := errors.AsType[*answerError](err); ok && strings.Contains(line, strings.TrimSuffix(wrong.line, "…")) {
				got = "ended|"
			} else {
				t.Errorf("%.60s: %v", line, err)
			}
		}}
		p.read(lines.New(strings.NewReader(line+"\n"), lines.Config{Max: 1500}))
		if got += strings.Join(h.notes, "|"); got != want {
			t.Errorf("%.60s: %q, want %q", line, got, want)
		}
	}
}

// An agent counts its requests as we count ours. What we have replied to one of them, printed
// by the agent, is no answer to our request of the same number; another result is.
func TestTheEchoOfAReplyEndsNoCall(t *testing.T) {
	const reply = `{"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"selected","optionId":"y"}}}`
	for line, ends := range map[string]bool{
		reply:           false,
		"sent " + reply: false,
		`> { "id": 1, "result": {"outcome": {"optionId": "y", "outcome": "selected"}}}`: false,
		"[" + reply + "]": false,
		`> {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"no"}}`:                   false,
		`{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"no"}}`:                     true,
		`> {"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"selected"}}}`:              true,
		`> {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"yes"}}`:                  true,
		`{"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"selected","optionId":NaN}}}`: true,
	} {
		x := newWire(t)
		var ended atomic.Int32
		for range 2 {
			if _, err := x.start(methodPrompt, promptParams{sessionID: "s"}, func(jsontext.Value, error) { ended.Add(1) }); err != nil {
				t.Fatal(err)
			}
		}
		x.reply(jsontext.Value("1"), jsontext.Value(`{"outcome":{"outcome":"selected","optionId":"y"}}`))
		x.refuse(jsontext.Value("2"), codeInvalidParams, "no")
		x.say(line, `{"method":"end"}`)
		for end := false; !end; {
			<-x.bell
			x.heard.mu.Lock()
			end = slices.Contains(x.notes, "end")
			x.heard.mu.Unlock()
		}
		if got := ended.Load() == 1; got != ends {
			t.Errorf("%s ends a call: %v, want %v", line, got, ends)
		}
	}
	var r replies
	for n := range 2 * maxReplies {
		r.add(jsontext.Value(strconv.Itoa(n)), []byte("{}"))
	}
	r.add(jsontext.Value("1"), make([]byte, maxReply+1))
	if len(r.lines) != maxReplies || len(r.order) != maxReplies || r.lines[2*maxReplies-1] == nil {
		t.Errorf("%d replies are remembered", len(r.lines))
	}
}

func TestCallEndsByTimeByContextAndByTheEndOfTheProcess(t *testing.T) {
	x := newWire(t)
	if _, err := x.call(t.Context(), "m", 1, time.Millisecond, nil); !errors.Is(err, errTimeout) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.call(ctx, "m", 1, time.Hour, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	failed := make(chan error, 1)
	go func() {
		_, err := x.call(t.Context(), "m", 1, time.Hour, nil)
		failed <- err
	}()
	for {
		x.yield()
		x.peer.mu.Lock()
		n := len(x.calls)
		x.peer.mu.Unlock()
		if n == 1 {
			break
		}
	}
	x.end(&exitError{state: "signal: killed"})
	if err := <-failed; !errors.Is(err, errGone) {
		t.Error(err)
	}
	if _, err := x.call(t.Context(), "m", 1, time.Hour, nil); !errors.Is(err, errGone) {
		t.Error("a call after the end:", err)
	}
}

// yield lets other goroutines run.
func (x *wire) yield() { time.Sleep(time.Millisecond) }

func TestWriterNeverBlocksAndKeepsTheOrder(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	out := newWriter(w)
	line := append(bytes.Repeat([]byte("x"), 100<<10), '\n') // more than a pipe holds
	for range 20 {
		if err := out.send(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.send(make([]byte, limits.AgentInputBytes)); !errors.Is(err, errStuck) {
		t.Errorf("more than the bound: %v", err)
	}
	if err := out.send([]byte("last\n")); err != nil {
		t.Fatal(err)
	}
	got := make(chan []byte)
	go func() {
		b, _ := io.ReadAll(io.LimitReader(r, int64(20*len(line)+5)))
		got <- b
	}()
	select {
	case b := <-got:
		if !bytes.Equal(b, append(bytes.Repeat(line, 20), "last\n"...)) {
			t.Error("what was written is not what was sent")
		}
	case <-time.After(acptest.Patience):
		t.Fatal("it did not arrive")
	}
	out.close(errGone)
	w.Close()
	out.wait()
	if err := out.send(line); !errors.Is(err, errGone) {
		t.Error(err)
	}
}

func TestBudgetLetsOneLargeMessageInAlone(t *testing.T) {
	b := newBudget(100)
	b.take(1000) // alone
	in := make(chan struct{})
	go func() {
		b.take(60)
		b.take(40)
		in <- struct{}{}
		b.take(1)
		in <- struct{}{}
	}()
	select {
	case <-in:
		t.Fatal("it came in beside the large one")
	case <-time.After(10 * time.Millisecond):
	}
	b.give(1000)
	<-in
	b.give(60)
	<-in
	b.take(59)
	b.lift()
	b.take(1 << 30)
	if b.peak < 1<<30 {
		t.Error(b.peak)
	}
}

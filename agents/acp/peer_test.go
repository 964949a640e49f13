package acp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/limits"
	"github.com/seed82539d15/holon/testagents/acptest"
)

func TestWhatAgentsGetWrongIsReadAllTheSame(t *testing.T) {
	for line, want := range map[string]string{
		`{"method":"m","params":{"a":1}}`:                      `{"a":1}`,
		`{"method":"m","params":{"a":"\ud83d"}}`:               "{\"a\":\"\ufffd\"}",
		"{\"method\":\"m\",\"params\":{\"a\":\"x\xff\"}}":      "{\"a\":\"x\ufffd\"}",
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
	for _, junk := range []string{"x", "5", "null", "[]", "{}", `{"id":null}`, `{"method":5}`, `{"result":{}}`, "{", `"text"`, `{"method":""}`} {
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

package rpc

import (
	"bufio"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/turns"
)

// stdioOf serves a client on pipes.
func stdioOf(t *testing.T, r *rig, inputEnded func()) (in *io.PipeWriter, lines *bufio.Reader, done chan error) {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done = make(chan error, 1)
	go func() {
		err := r.server.ServeStdio(t.Context(), inR, outW, inputEnded)
		_ = outW.Close()
		_ = inR.Close()
		done <- err
	}()
	t.Cleanup(func() { _ = inW.Close(); _ = outR.Close() })
	return inW, bufio.NewReader(outR), done
}

func wait(t *testing.T, done <-chan error) {
	t.Helper()
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("stdio is still served")
	}
}

func readLine(t *testing.T, lines *bufio.Reader) message {
	t.Helper()
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, line)
}

func TestStdioAnswersWhatIsPendingAtTheEndOfInput(t *testing.T) {
	r := newRig(t)
	ended := make(chan turns.InterruptResult, 1)
	r.engine.stubborn = map[string]chan turns.InterruptResult{"slow": ended}
	in, lines, done := stdioOf(t, r, nil)
	if m := readLine(t, lines); m.Method != "stream/opened" {
		t.Fatalf("%+v", m)
	}
	go func() {
		_, _ = io.WriteString(in, request("1", "turn/start", hello)+"\n"+request("2", "turn/interrupt", `{"turn_id":"slow"}`)) // no LF
		_ = in.Close()
		ended <- turns.InterruptResult{State: "interrupted"}
	}()
	var got []string
	for {
		m := readLine(t, lines)
		if m.Method == "" {
			got = append(got, "#"+string(m.ID))
		} else {
			got = append(got, m.Method)
		}
		if m.Method == "stream/closing" {
			if m.Params.Code != api.CloseInputEnded {
				t.Errorf("code %s", m.Params.Code)
			}
			break
		}
	}
	if s := strings.Join(got, " "); s != "turn/started item/created #1 turn/progress #2 stream/closing" {
		t.Fatal(s)
	}
	wait(t, done)
}

func TestStdioShowsTheDrainThatItsEndBegins(t *testing.T) {
	r := newRig(t)
	began := make(chan struct{})
	in, lines, done := stdioOf(t, r, func() { close(began) })
	readLine(t, lines)
	_ = in.Close()
	<-began
	r.memory.append(t, started())
	if m := readLine(t, lines); m.Method != "thread/started" {
		t.Fatalf("%+v", m)
	}
	go func() { _ = r.server.Close(t.Context(), Closing{Code: api.CloseStopping, Reason: "drained"}) }()
	if m := readLine(t, lines); m.Params.Code != api.CloseStopping || m.Params.Seq != 1 {
		t.Fatalf("%+v", m)
	}
	wait(t, done)
}

func TestStdioEndsWhenNobodyReads(t *testing.T) {
	r := newRig(t)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	_ = outR.Close()
	defer inW.Close()
	if err := r.server.ServeStdio(t.Context(), inR, outW, nil); err == nil {
		t.Fatal("no error although nobody reads")
	}
}

func TestIdleConnectionKeepsNothingOfALargeMessage(t *testing.T) {
	r := newRig(t)
	const n = 20
	var open []*stream
	for range n {
		st := r.open("POST", "/rpc/stream")
		st.expect("stream/opened")
		open = append(open, st)
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	large := request("1", "no/such", `{"x":"`+strings.Repeat("x", 2<<20)+`"}`)
	batch := "[" + request("2", "no/such", `{"x":"`+strings.Repeat("x", 2<<20)+`"}`) + "]"
	before := heap()
	for _, st := range open {
		st.send(large, batch)
		st.expect("#1")
		if line := st.next(); !strings.HasPrefix(line, `[{"jsonrpc":"2.0","id":2,`) {
			t.Fatal(line)
		}
	}
	// A handler releases its message a moment after the answer is written.
	deadline := time.Now().Add(20 * time.Second)
	for {
		grown := int64(heap()) - int64(before)
		if grown <= n*256<<10 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes are kept by %d connections", grown, n)
		}
		runtime.Gosched()
	}
	runtime.KeepAlive(large)
	runtime.KeepAlive(batch)
}

func TestInterruptNotificationsHoldNothing(t *testing.T) {
	r := newRig(t)
	r.engine.stubborn = map[string]chan turns.InterruptResult{"slow": make(chan turns.InterruptResult)}
	st := r.open("POST", "/rpc/stream?method=none/none")
	st.expect("stream/opened")
	before := runtime.NumGoroutine()
	for range 300 {
		st.send(`{"jsonrpc":"2.0","method":"turn/interrupt","params":{"turn_id":"slow"}}`)
	}
	st.send(request("1", "holon/status", `{}`))
	st.expect("#1")
	if after := runtime.NumGoroutine(); after > before+50 {
		t.Fatalf("%d goroutines before, %d after", before, after)
	}
}

func TestMetricsCountWhatHappens(t *testing.T) {
	r := newRig(t)
	reg := prometheus.NewPedanticRegistry()
	if err := reg.Register(r.server.Collector()); err != nil {
		t.Fatal(err)
	}
	st := r.open("POST", "/rpc/stream")
	st.expect("stream/opened")
	st.send(request("1", "holon/status", `{}`), request("2", "no/such", `{}`), `{"jsonrpc":"2.0","id":1,"result":1}`, request("3", "holon/status", `{}`))
	for range 3 {
		st.message()
	}
	for deadline := time.Now().Add(5 * time.Second); r.server.streams.inFlight() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("answered requests are still in flight")
		}
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			name := f.GetName()
			for _, l := range m.Label {
				name += " " + l.GetValue()
			}
			got[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	for name, want := range map[string]float64{
		"holon_requests_total holon/status": 2, "holon_errors_total method_not_found": 1, "holon_responses_dropped_total": 1,
		"holon_streams duplex": 1, "holon_streams_opened_total duplex": 1, "holon_requests_in_flight": 0, "holon_connections": 1, "holon_stream_lag_events": 0,
	} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s is %v (%v), want %v", name, v, ok, want)
		}
	}
	if got["holon_stream_bytes_total"] == 0 {
		t.Error(fmt.Sprint("no bytes are counted: ", got))
	}
}

// inFlight counts the requests of all connections, once they have answered.
func (s *streamSet) inFlight() (n int64) {
	s.each(func(o *outlet) {
		if o.duplex != nil {
			n += o.busy.Load()
		}
	})
	return n
}

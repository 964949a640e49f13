//go:build linux

package faults

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// duplex is a two-way stream over a separate connection, in raw bytes.
type duplex struct {
	conn  net.Conn
	lines *bufio.Reader
	body  io.WriteCloser // chunks
}

func (p *testbed) duplex(t testing.TB) *duplex {
	t.Helper()
	d, err := p.dialDuplex()
	if err != nil {
		t.Fatalf("open a two-way stream: %v", err)
	}
	t.Cleanup(func() { d.conn.Close() })
	return d
}

func (p *testbed) dialDuplex() (*duplex, error) {
	conn, err := net.Dial("unix", p.socket)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprint(conn, "POST /rpc/stream HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
	if err == nil {
		err = conn.SetReadDeadline(time.Now().Add(callWithin))
	}
	var res *http.Response
	if err == nil {
		res, err = http.ReadResponse(bufio.NewReader(conn), nil)
	}
	if err == nil && res.StatusCode != http.StatusOK {
		err = errors.New(res.Status)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &duplex{conn: conn, lines: bufio.NewReaderSize(res.Body, 64<<10), body: chunked{conn}}, nil
}

// chunked writes HTTP chunks.
type chunked struct{ net.Conn }

func (c chunked) Write(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	bufs := net.Buffers{[]byte(fmt.Sprintf("%x\r\n", len(b))), b, []byte("\r\n")}
	if _, err := bufs.WriteTo(c.Conn); err != nil {
		return 0, err
	}
	return len(b), nil
}

// until reads lines until one has the part; it returns all of them.
func (d *duplex) until(part string) (lines []string, err error) {
	_ = d.conn.SetReadDeadline(time.Now().Add(callWithin))
	for {
		line, err := d.lines.ReadString('\n')
		if err != nil {
			return lines, fmt.Errorf("wait for %s: %w", part, err)
		}
		lines = append(lines, line)
		if strings.Contains(line, part) {
			return lines, nil
		}
	}
}

// Frames with every kind of damage: each is answered by rule or, as a
// notification, not at all; the connection lives, the next good frame is
// served.
func TestMutatedFramesAreAnsweredByRule(t *testing.T) {
	n := either(3000, 10_000)
	p := newTestbed(t)
	s := p.start(t)
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	kinds := map[string]int{}
	var d *duplex
	for i := range n {
		if i%500 == 0 { // a connection carries them all, but not alone
			d = p.duplex(t)
		}
		frame := mutate(rng, goodFrames[rng.IntN(len(goodFrames))])
		lines, err := d.survives(frame, i)
		if err != nil {
			t.Fatalf("seed %d, frame %d %q: %v\n%s", seed, i, frame, err, s.stderr.tail())
		}
		for _, line := range lines {
			if err := byRule(line, kinds); err != nil {
				t.Errorf("seed %d, frame %d %q: %v", seed, i, frame, err)
			}
		}
	}
	t.Logf("%d frames, seed %d, answers by kind: %v", n, seed, kinds)
	for _, kind := range []string{"parse_error", "invalid_request", "invalid_params", "method_not_found"} {
		if kinds[kind] == 0 {
			t.Errorf("no frame was answered %s: the mutations have lost their edge", kind)
		}
	}
	if err := s.idle(20 * time.Second); err != nil {
		t.Error(err)
	}
	if err := checkLog(s.log(t), true); err != nil {
		t.Error(err)
	}
	s.stop(t)
}

// survives sends a frame and a good one behind it, and returns what comes up
// to the answer of the latter.
func (d *duplex) survives(frame []byte, i int) ([]string, error) {
	mark := fmt.Sprintf(`"mark-%d"`, i)
	good := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"holon/status"}`, mark)
	if _, err := d.body.Write([]byte(string(frame) + "\n" + good + "\n")); err != nil {
		return nil, fmt.Errorf("the connection is gone: %w", err)
	}
	return d.until(`"id":` + mark)
}

// codes are the codes of section 5 that a frame alone can bring about.
var codes = map[int]bool{
	-32700: true, -32600: true, -32601: true, -32602: true, -32001: true, -32002: true, -32003: true, -32004: true, -32005: true,
}

// byRule checks one line of the server: a notification, a response, or a
// batch of them.
func byRule(line string, kinds map[string]int) error {
	type message struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  string          `json:"method"`
		Result  json.RawMessage `json:"result"`
		Error   *refusal        `json:"error"`
	}
	var all []message
	if strings.HasPrefix(line, "[") {
		if err := json.Unmarshal([]byte(line), &all); err != nil {
			return fmt.Errorf("the answer %.200q: %w", line, err)
		}
	} else {
		var m message
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			return fmt.Errorf("the answer %.200q: %w", line, err)
		}
		all = append(all, m)
	}
	for _, m := range all {
		switch {
		case m.JSONRPC != "2.0":
			return fmt.Errorf("the answer %.200q has no jsonrpc", line)
		case m.Method != "":
		case m.ID == nil || (m.Result == nil) == (m.Error == nil):
			return fmt.Errorf("the answer %.200q is none", line)
		case m.Error != nil:
			kinds[m.Error.Data.Kind]++
			if !codes[m.Error.Code] || m.Error.Data.Kind == "" {
				return fmt.Errorf("the answer %.300q has a code or kind that no frame deserves", line)
			}
		default:
			kinds["result"]++
		}
	}
	return nil
}

// A line without an end is skipped without being held: memory stays where it
// was, and the connection lives (I7).
func TestEndlessLineTakesNoMemory(t *testing.T) {
	total := either[int64](64<<20, 1<<30)
	const bound = 8 << 20
	p := newTestbed(t)
	s := p.start(t)
	d := p.duplex(t)
	good := func(id string) {
		t.Helper()
		if _, err := d.body.Write([]byte("\n" + `{"jsonrpc":"2.0","id":"` + id + `","method":"holon/status"}` + "\n")); err != nil {
			t.Fatal(err)
		}
		lines, err := d.until(`"id":"` + id + `"`)
		if err != nil {
			t.Fatal(err)
		}
		if id == "after" && !containsAll(strings.Join(lines, ""), []string{`"frame_too_large"`, `"id":null`}) {
			t.Errorf("the endless line was answered %q", lines)
		}
	}
	good("before")
	heap, rss := s.heap(t), s.memory("VmRSS")
	peakHeap, peakRSS := heap, rss
	piece := bytes.Repeat([]byte("x"), 64<<10)
	for sent := int64(0); sent < total; sent += int64(len(piece)) {
		if _, err := d.body.Write(piece); err != nil {
			t.Fatal(err)
		}
		peakRSS = max(peakRSS, s.memory("VmRSS"))
		if sent == 3<<20 || sent == total/2 { // rarely: asking makes garbage too
			peakHeap = max(peakHeap, s.heap(t))
		}
	}
	good("after")
	t.Logf("%d MiB without a newline: heap %.1f to %.1f MiB, resident %.1f to %.1f MiB", total>>20,
		mib(heap), mib(peakHeap), mib(rss), mib(peakRSS))
	if grown := peakHeap - heap; grown > bound && !raced {
		t.Errorf("the heap has grown by %.1f MiB", mib(grown))
	}
	if grown := peakRSS - rss; grown > 2*bound && !raced { // what the collector has not given back counts here
		t.Errorf("resident memory has grown by %.1f MiB", mib(grown))
	}
	s.stop(t)
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }

// metric reads a gauge or counter without labels; -1 if there is none.
func (s *server) metric(t testing.TB, name string) float64 {
	t.Helper()
	res, err := s.client.Get("http://localhost/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			var v float64
			if _, err := fmt.Sscan(rest, &v); err == nil {
				return v
			}
		}
	}
	t.Fatalf("no metric %s in %.500s", name, raw)
	return -1
}

// heap is what the program's heap has in use.
func (s *server) heap(t testing.TB) int64 {
	t.Helper()
	return int64(s.metric(t, "go_memstats_heap_inuse_bytes"))
}

package baseline_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/internal/bench/baseline"
	"github.com/seed82539d15/holon/internal/bench/baseline/fanout"
	"github.com/seed82539d15/holon/internal/bench/baseline/fsync"
	"github.com/seed82539d15/holon/internal/bench/baseline/idle"
	"github.com/seed82539d15/holon/internal/bench/baseline/jsonrpc"
	"github.com/seed82539d15/holon/internal/bench/baseline/post"
	"github.com/seed82539d15/holon/internal/bench/baseline/replay"
	"github.com/seed82539d15/holon/internal/bench/baseline/sqlite"
	"github.com/seed82539d15/holon/internal/bench/receiver"
	"github.com/seed82539d15/holon/internal/bench/wire"
	store "github.com/seed82539d15/holon/persist/sqlite"
)

type program func(ctx context.Context, args []string, in io.Reader, out io.Writer) error

// start runs a baseline until the test ends, and returns its address.
func start(t *testing.T, run program, args ...string) string {
	t.Helper()
	in, stop := io.Pipe()
	lines, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(context.Background(), args, in, out)
		out.CloseWithError(io.ErrUnexpectedEOF)
		ended <- err
	}()
	t.Cleanup(func() {
		stop.Close() // the end of its input ends a baseline
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(10 * time.Second):
			t.Error("the baseline does not end with its input")
		}
	})
	var ready baseline.Ready
	if err := json.NewDecoder(lines).Decode(&ready); err != nil {
		t.Fatal(err)
	}
	return ready.Address
}

func open(t *testing.T, address, verb, target string) *wire.Stream {
	t.Helper()
	s, err := wire.Open(context.Background(), address, verb, target, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	s.KeepTail = true
	return s
}

func TestFanoutSendsWhatIsThereAndWhatFollows(t *testing.T) {
	for _, flag := range []string{"--flush-each=false", "--flush-each"} {
		frames := filepath.Join(t.TempDir(), "frames")
		if err := os.WriteFile(frames, []byte(strings.Repeat("a frame\n", 20_000)), 0o600); err != nil {
			t.Fatal(err)
		}
		address := start(t, fanout.Run, "--frames", frames, flag)
		s := open(t, address, "GET", "/stream?from=0")
		if err := s.Until(20_000); err != nil {
			t.Fatal(err)
		}
		p, err := wire.Dial(context.Background(), address, 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if err := p.Request("POST", "/publish"); err != nil {
			t.Fatal(err)
		}
		if err := p.Send([]byte("the last\n")); err != nil {
			t.Fatal(err)
		}
		if err := s.Until(20_001); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(string(s.Tail), "a frame\nthe last\n") {
			t.Errorf("%s: the stream ends in %.60q", flag, s.Tail)
		}
		s.Close()
	}
}

func TestFanoutSaysWhenItMadeALine(t *testing.T) {
	address := start(t, fanout.Run)
	before := time.Now()
	s := open(t, address, "GET", "/stream")
	made, err := fanout.Produce(t.Context(), address, 5, 40, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Until(5); err != nil {
		t.Fatal(err)
	}
	if s.Bytes != 5*40 {
		t.Errorf("%d bytes came, want 5 lines of 40", s.Bytes)
	}
	for i, at := range append(made, time.Now()) {
		if at.Before(before) {
			t.Errorf("line %d was made at %v, before %v", i, at, before)
		}
		before = at
	}
	if _, err := fanout.Produce(t.Context(), address, 0, 40, time.Millisecond); err == nil {
		t.Error("an order for nothing is taken")
	}
}

// The frames must equal those of the server.
func TestReplaySplicesTheServersFrames(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if err := sqlite.Run(context.Background(), []string{"--dir", dir, "--threads", "2", "--items", "1200"}, nil, io.Discard); err != nil {
		t.Fatal(err)
	}
	address := start(t, replay.Run, "--file", filepath.Join(dir, store.FileName))
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(c, "100 2300")
	want := int64(100)
	for lines := bufio.NewScanner(c); lines.Scan(); {
		want++
		var frame struct {
			JSONRPC string
			Method  string
			Params  struct {
				Seq int64
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &frame); err != nil || frame.JSONRPC != "2.0" || frame.Method == "" || frame.Params.Seq != want {
			t.Fatalf("frame %d is %s: %v", want, lines.Bytes(), err)
		}
	}
	if want != 2300 {
		t.Fatalf("the last frame was %d", want)
	}
}

func TestJSONRPCAnswersWithTheResult(t *testing.T) {
	address := start(t, jsonrpc.Run, "--result", `{"state":"running","latest_seq":7}`)
	s, err := wire.Dial(context.Background(), address, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.KeepTail = true
	if err := s.Write([]byte(`{"jsonrpc":"2.0","id":5,"method":"holon/status","params":{}}` + "\n")); err != nil {
		t.Fatal(err)
	}
	if err := s.Until(1); err != nil {
		t.Fatal(err)
	}
	var answer struct {
		ID     int
		Result json.RawMessage
	}
	if err := json.Unmarshal(s.Tail, &answer); err != nil || answer.ID != 5 || string(answer.Result) != `{"state":"running","latest_seq":7}` {
		t.Fatalf("%s: %v", s.Tail, err)
	}
}

func TestIdleStreamWaits(t *testing.T) {
	s := open(t, start(t, idle.Run), "GET", "/stream")
	if err := s.Until(1); err != nil {
		t.Fatal(err)
	}
	s.Close() // or the server would wait for it
}

func TestFsyncLeavesNoFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "blocks")
	var out strings.Builder
	if err := fsync.Run(context.Background(), []string{"--file", file, "--count", "70", "--every", "100us"}, nil, &out); err != nil {
		t.Fatal(err)
	}
	var r fsync.Result
	if err := json.Unmarshal([]byte(out.String()), &r); err != nil || len(r.Milliseconds) != 70 {
		t.Fatalf("%.80s, %v", out.String(), err)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
}

// Each of the posts must look like the webhook, and the receiver must take them for
// different ones.
func TestPostRepeatsAWebhookUnderOtherIDs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "webhook")
	webhook := receiver.Request{Header: http.Header{receiver.HeaderID: {"abcdefgh:notif:s:7"}, "User-Agent": {"holon"}, "Via": {"1.1 holon"}}, Body: []byte(`{"seq":7}`)}
	encoded, err := json.Marshal(webhook)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, encoded, 0o600); err != nil {
		t.Fatal(err)
	}
	url := "http://" + start(t, receiver.Run)
	defer http.DefaultClient.CloseIdleConnections()
	read := func(target string, result any) {
		t.Helper()
		resp, err := http.Get(url + target)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if err := json.NewDecoder(resp.Body).Decode(result); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	if err := post.Run(t.Context(), []string{"--url", url + "/hook", "--request", file, "--count", "50", "--in-flight", "4"}, nil, &out); err != nil {
		t.Fatal(err)
	}
	var result post.Result
	if err := json.Unmarshal([]byte(out.String()), &result); err != nil || result.Requests != 50 || result.Seconds <= 0 {
		t.Errorf("%s: %v", out.String(), err)
	}
	var counts receiver.Counts
	read("/until?n=0", &counts)
	if counts.Requests != 50 || counts.Distinct != 50 || counts.Connections > 4 {
		t.Errorf("%+v", counts)
	}
	var first receiver.Request
	read("/first", &first)
	id := first.Header.Get(receiver.HeaderID)
	if string(first.Body) != `{"seq":7}` || first.Header.Get("User-Agent") != "holon" || first.Header.Get("Via") != "1.1 holon" ||
		len(id) != len("abcdefgh:notif:s:7") || !strings.HasSuffix(id, ":notif:s:7") {
		t.Errorf("%s %v", first.Body, first.Header)
	}
	if err := post.Run(t.Context(), []string{"--url", url + "/nowhere", "--request", file}, nil, io.Discard); err == nil {
		t.Error("an answer that is no success is taken for one")
	}
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/turns"
)

// startsOf is how often work is started. long is the run of make many-starts.
func startsOf(t *testing.T) (n int, long bool) {
	t.Helper()
	text := os.Getenv("STARTS")
	if text == "" {
		return 300, false
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 300 {
		t.Fatalf("STARTS=%s: give a number of at least 300", text)
	}
	return n, true
}

// startedWork is what the tool work_start says.
type startedWork struct {
	TurnID string `json:"turn_id"`
	Error  *struct {
		Kind    string   `json:"kind"`
		Message string   `json:"message"`
		TurnIDs []string `json:"turn_ids"`
	} `json:"error"`
}

// startWork calls work_start once.
func startWork(t *testing.T, c claimed, args string) (s startedWork) {
	status, answer := c.tool(t, c.Access.Token, useTool("work_start", args))
	var m struct {
		Result struct {
			Data startedWork `json:"structuredContent"`
		} `json:"result"`
	}
	_, data, ok := strings.Cut(answer, "data: ")
	if err := json.Unmarshal([]byte(data), &m); status != 200 || !ok || err != nil {
		t.Errorf("work_start: %d %v %s", status, err, answer)
	}
	return m.Result.Data
}

// usage is what a server uses, by its metrics and its process.
type usage struct{ goroutines, heap, resident int64 }

var sample = regexp.MustCompile(`(?m)^(go_goroutines|go_memstats_heap_inuse_bytes) (\S+)$`)

func (s *builds) usage() (u usage) {
	s.t.Helper()
	status, page := s.fetch("/metrics")
	found := sample.FindAllStringSubmatch(page, -1)
	if status != http.StatusOK || len(found) != 2 {
		s.t.Fatalf("metrics: %d, %d samples", status, len(found))
	}
	for _, m := range found {
		v, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			s.t.Fatal(err)
		}
		if m[1] == "go_goroutines" {
			u.goroutines = int64(v)
		} else {
			u.heap = int64(v)
		}
	}
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.process.cmd.Process.Pid)); err == nil { // Linux
		pages, _ := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
		u.resident = pages * int64(os.Getpagesize())
	}
	return u
}

func (u usage) String() string {
	return fmt.Sprintf("%d goroutines, %d KiB of heap, %d KiB resident", u.goroutines, u.heap>>10, u.resident>>10)
}

// answering asks for the status of the server until it is told to stop, and returns
// how long each answer took.
func (s *builds) answering() (stop func() []time.Duration) {
	ctx, cancel := context.WithCancel(s.t.Context())
	done := make(chan []time.Duration, 1)
	go func() {
		c := client.New(client.Discover(s.data))
		defer c.Close()
		var took []time.Duration
		for ctx.Err() == nil {
			began := time.Now()
			if err := c.Call(s.t.Context(), "holon/status", nil, nil); err != nil {
				s.t.Errorf("another client: %v", err)
				break
			}
			took = append(took, time.Since(began))
			select {
			case <-ctx.Done():
			case <-time.After(2 * time.Millisecond):
			}
		}
		done <- took
	}()
	return func() []time.Duration { cancel(); return <-done }
}

// One agent, and then also its children, start work without end. The bounds hold,
// each refusal says what to wait for, and nothing grows.
func TestStartingWorkInALoopIsBounded(t *testing.T) {
	starts, long := startsOf(t)
	s := serveConfig(t, build(t, t.TempDir(), "./cmd/holon"), "[agents.builds]\nkind = \"worker\"\nlease_seconds = 86400\nclaim_timeout_seconds = 0\n")
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	first := s.usage()
	own := s.claim("own")
	stop := s.answering()
	loop := func(c claimed, n int) (ids []string, last startedWork, refused int) {
		for i := range n {
			w := startWork(t, c, fmt.Sprintf(`{"prompt":"more","title":"part %d","background":%v}`, i, i%2 == 0))
			if w.Error == nil {
				ids = append(ids, w.TurnID)
				continue
			}
			refused++
			if last = w; w.Error.Kind != "overloaded" || len(w.Error.TurnIDs) != turns.MaxNamedTurns {
				t.Errorf("start %d: refused with %+v", i, w.Error)
				return
			}
		}
		return
	}

	ids, last, refused := loop(own, 100)
	if len(ids) != turns.MaxChildren || refused != 100-len(ids) || !slices.Equal(last.Error.TurnIDs, ids[:turns.MaxNamedTurns]) {
		t.Fatalf("%d children of one turn, %d refused, the last with %+v", len(ids), refused, last.Error)
	}
	if list := oneObject(t, s.want("call", "thread/list", `{"state":"running","limit":100}`))["threads"].([]any); len(list) != 1+len(ids) {
		t.Errorf("%d threads are open, want that of each turn", len(list))
	}
	full := s.usage()

	// Four of the children do the same.
	var wait sync.WaitGroup
	var mu sync.Mutex
	below, workers := len(ids), []claimed{own}
	for range 4 {
		var c claimed
		if err := json.Unmarshal([]byte(s.want("call", "turn/claim", `{"agent":"builds"}`)), &c); err != nil || c.Access.Token == "" {
			t.Fatalf("claim: %v", err)
		}
		workers = append(workers, c)
		wait.Go(func() {
			ids, last, _ := loop(c, (starts-100)/8+turns.MaxChildren)
			mu.Lock()
			defer mu.Unlock()
			if below += len(ids); len(ids) > turns.MaxChildren || last.Error == nil {
				t.Errorf("%d children of a child, the last refused with %+v", len(ids), last.Error)
			}
		})
	}
	wait.Wait()
	if below != turns.MaxUnendedBelow {
		t.Errorf("%d unended turns below the root, want %d", below, turns.MaxUnendedBelow)
	}
	bounded := s.usage()
	if _, last, refused := loop(own, (starts-100)/2); refused != (starts-100)/2 || last.Error == nil {
		t.Errorf("at the bounds %d of %d are refused", refused, (starts-100)/2)
	}
	end := s.usage()
	took := stop()
	slices.Sort(took)
	t.Logf("%d starts beside %d answers to another client: p50 %s, p99 %s, max %s", starts, len(took), took[len(took)/2], took[len(took)*99/100], took[len(took)-1])
	t.Logf("before: %s\n64 children: %s\n256 below: %s\nafter all: %s", first, full, bounded, end)
	// A thread that was made for a refused turn has an actor for a few seconds more:
	// too long to wait for it each time.
	if long {
		eventually(t, "refusals leave no goroutines", func() bool { return s.usage().goroutines <= bounded.goroutines+50 })
	}
	if end.heap > bounded.heap+64<<20 {
		t.Errorf("refusals have left memory: %s, then %s", bounded, end)
	}
	if _, answer := s.transports(own)["http"](own.Access.Token, `{"jsonrpc":"2.0","id":1,"method":"thread/start","params":{"thread_id":"kid","parent":{"thread_id":"own"}}}`); !strings.Contains(answer, `"result"`) {
		t.Fatal(answer)
	}
	_, answer := s.transports(own)["http"](own.Access.Token, `{"jsonrpc":"2.0","id":1,"method":"turn/start","params":{"thread_id":"kid","parent":{"thread_id":"own"},"input":`+promptJSON("x")+`}}`)
	if !strings.Contains(answer, `"kind":"overloaded"`) || !strings.Contains(answer, `"turn_ids":["`+ids[0]) {
		t.Errorf("without the tool: %s", answer)
	}

	s.want("call", "thread/close", `{"thread_id":"own"}`)
	for _, c := range workers { // each confirms that it stops
		s.want("call", "turn/complete", `{"lease":`+string(c.Lease)+`}`)
	}
	for _, state := range []string{"active", "queued"} {
		eventually(t, "no turn is "+state, func() bool {
			list, _ := oneObject(t, s.want("call", "turn/list", fmt.Sprintf(`{"state":%q,"limit":10}`, state)))["turns"].([]any)
			return len(list) == 0
		})
	}
	eventually(t, "every thread is closed", func() bool {
		for _, state := range []string{"running", "paused", "closing"} {
			if list, _ := oneObject(t, s.want("call", "thread/list", fmt.Sprintf(`{"state":%q,"limit":10}`, state)))["threads"].([]any); len(list) > 0 {
				return false
			}
		}
		return true
	})
	if long {
		var left usage
		eventually(t, "the goroutines have ended", func() bool {
			left = s.usage()
			return left.goroutines <= first.goroutines+20
		})
		t.Logf("after the root was closed: %s", left)
	}
	if status, _ := own.tool(t, own.Access.Token, useTool("work_list", `{}`)); status != http.StatusUnauthorized {
		t.Errorf("the token goes on after the end of its thread: %d", status)
	}
}

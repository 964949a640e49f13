package dashboard

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/overview"
	"github.com/seed82539d15/holon/cmd/holon/dashboard/requests"
	"github.com/seed82539d15/holon/rpc/client"
)

// fakeServer answers the requests of a feed, and streams the lines that a test
// gives it.
type fakeServer struct {
	t      *testing.T
	stream chan string

	mu      sync.Mutex
	threads map[string]map[string]any
	latest  int
	asked   [][]string // thread_ids of each request for changed threads
	old     bool       // it knows no statuses and no counts
	refuse  int        // so many further requests that only count
}

func newFakeServer(t *testing.T, threads int) *fakeServer {
	s := &fakeServer{t: t, stream: make(chan string, 10_000), threads: make(map[string]map[string]any)}
	for i := range threads {
		s.put(fmt.Sprintf("thread_%03d", i), "idle", "")
	}
	return s
}

// put changes a thread.
func (s *fakeServer) put(id, status, parent string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest++
	t := map[string]any{"thread_id": id, "latest_seq": s.latest, "state": "running", "summary": map[string]any{"title": id, "status": status}}
	if parent != "" {
		t["level"], t["parent"] = 1, map[string]any{"thread_id": parent}
	}
	s.threads[id] = t
}

// event streams an event of a thread.
func (s *fakeServer) event(id, method string) {
	s.mu.Lock()
	s.latest++
	seq := s.latest
	s.mu.Unlock()
	s.stream <- fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":{"seq":%d,"thread_seq":1,"thread_id":%q,"timestamp":"2026-03-01T12:00:00Z"}}`, method, seq, id)
}

func (s *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		s.serveStream(w, r)
		return
	}
	var request struct {
		Method string `json:"method"`
		Params struct {
			listParams
		} `json:"params"`
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		s.t.Error(err)
	}
	var result any = map[string]any{}
	if request.Method == "thread/list" {
		if s.old && (request.Params.Status != nil || request.Params.Counts) {
			w.WriteHeader(http.StatusOK)
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"status: is unknown","data":{"kind":"invalid_params"}}}`)
			return
		}
		if s.refuses(request.Params.listParams) {
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"too much at once","data":{"kind":"overloaded"}}}`)
			return
		}
		result = s.list(request.Params.listParams)
	}
	if err := json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": 1, "result": result}); err != nil && r.Context().Err() == nil { // else the test has ended
		s.t.Error(err)
	}
}

func (s *fakeServer) refuses(p listParams) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse == 0 || !p.Counts || p.Limit != 1 {
		return false
	}
	s.refuse--
	return true
}

// listParams are the params of thread/list.
type listParams struct {
	State  string   `json:"state"`
	Status []string `json:"status"`
	IDs    []string `json:"thread_ids"`
	Limit  int      `json:"limit"`
	Cursor string   `json:"cursor"`
	Counts bool     `json:"counts"`
}

// listed is the status by which a thread is listed.
func listed(t map[string]any) string {
	status := t["summary"].(map[string]any)["status"].(string)
	if word := map[string]string{"waiting": "needs_you", "idle": "done"}[status]; word != "" {
		return word
	}
	return status
}

// list is a page of threads, the newest first, and the counts of all at the top.
func (s *fakeServer) list(p listParams) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.IDs != nil {
		s.asked = append(s.asked, p.IDs)
	}
	rows, counts := []any{}, map[string]int{}
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(s.threads))) {
		t := s.threads[id]
		counts[listed(t)]++
		if p.IDs != nil && !slices.Contains(p.IDs, id) || p.State != "" && t["state"] != p.State || p.Status != nil && !slices.Contains(p.Status, listed(t)) {
			continue
		}
		rows = append(rows, t)
	}
	result := map[string]any{"latest_seq": s.latest}
	if p.Counts {
		result["counts"] = counts
	}
	from, _ := strconv.Atoi(p.Cursor) // "" is the first page
	if to := from + p.Limit; p.Limit > 0 && to < len(rows) {
		result["next_cursor"], rows = strconv.Itoa(to), rows[:to]
	}
	result["threads"] = rows[from:]
	return result
}

func (s *fakeServer) serveStream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	fmt.Fprintf(w, "{\"jsonrpc\":\"2.0\",\"method\":\"stream/opened\",\"params\":{\"log_id\":\"log\",\"after_seq\":%s,\"heartbeat_seconds\":15}}\n", strings.TrimPrefix(r.URL.Query().Get("after_seq"), "log:"))
	for {
		w.(http.Flusher).Flush()
		select {
		case line := <-s.stream:
			if s.brings(r, line) {
				fmt.Fprintln(w, line)
			}
		case <-r.Context().Done():
			return
		}
	}
}

// brings reports whether a stream was asked for the method of an event.
func (s *fakeServer) brings(r *http.Request, line string) bool {
	var event struct{ Method string }
	if err := json.Unmarshal([]byte(line), &event); err != nil {
		s.t.Error(err)
	}
	kind, _, _ := strings.Cut(event.Method, "/")
	asked := r.URL.Query()["method"]
	return slices.Contains(asked, event.Method) || slices.Contains(asked, kind+"/*")
}

// startFeed runs a feed until the test ends, and returns what it sends.
func startFeed(t *testing.T, s *fakeServer) <-chan tea.Msg {
	t.Helper()
	server := httptest.NewServer(s)
	c := client.New(client.At(server.URL, client.SourceGiven, "", false))
	p, _ := testProgram(t, Options{Client: c})
	got := make(chan tea.Msg, 10_000)
	p.send = func(msg tea.Msg) { got <- msg }
	p.feed()
	t.Cleanup(func() {
		p.work.Wait() // its context has ended
		c.Close()
		server.Close()
	})
	return got
}

// await waits for a message that a test wants.
func await(t *testing.T, got <-chan tea.Msg, what string, is func(tea.Msg) bool) {
	t.Helper()
	limit := time.After(30 * time.Second)
	for {
		select {
		case msg := <-got:
			if is(msg) {
				return
			}
		case <-limit:
			t.Fatalf("never: %s", what)
		}
	}
}

// lists reports whether a message lists a thread with a status.
func lists(msg tea.Msg, id, status string) bool {
	listed, ok := msg.(overview.Listed)
	return ok && slices.ContainsFunc(listed.Threads, func(t overview.Thread) bool { return t.ID == id && t.Summary.Status == status })
}

// However many events come, changed threads are read by at most four requests a
// second.
func TestAFloodOfEventsCostsFewRequests(t *testing.T) {
	s := newFakeServer(t, 300)
	got := startFeed(t, s)
	await(t, got, "all threads are listed", func(msg tea.Msg) bool {
		listed, ok := msg.(overview.Listed)
		return ok && listed.Whole && len(listed.Threads) == 300
	})
	began := time.Now()
	for range 20 {
		for i := range 300 {
			s.event(fmt.Sprintf("thread_%03d", i), "item/updated")
		}
	}
	s.put("thread_007", "waiting", "")
	s.event("thread_007", "item/created")
	await(t, got, "the last change is shown", func(msg tea.Msg) bool { return lists(msg, "thread_007", "waiting") })
	s.mu.Lock()
	defer s.mu.Unlock()
	took := time.Since(began) // no further request comes into the count
	if most := int(took/readEvery) + 2; len(s.asked) > most {
		t.Errorf("6,001 events cost %d requests in %s, want at most %d", len(s.asked), took, most)
	}
	for _, ids := range s.asked {
		if len(ids) > readTogether {
			t.Errorf("a request asks for %d threads", len(ids))
		}
	}
}

// What is new in an inbox is no event of a turn, but the row of its thread says it.
func TestWhatComesIntoAnInboxHasTheThreadReadAgain(t *testing.T) {
	for _, method := range []string{"inbox/posted", "inbox/stalled", "inbox/acked", "inbox/woken"} {
		s := newFakeServer(t, 2)
		got := startFeed(t, s)
		await(t, got, "all threads are listed", func(msg tea.Msg) bool { return lists(msg, "thread_000", "idle") })
		s.put("thread_000", "waiting", "")
		s.event("thread_000", method)
		await(t, got, method+" is shown", func(msg tea.Msg) bool { return lists(msg, "thread_000", "waiting") })
	}
}

// Branches and changed lines come without events: threads that work in a directory are
// read again, those where something happened last, and a bounded number.
func TestDirectoriesAreReadAgain(t *testing.T) {
	f := &feed{
		send: func(tea.Msg) {}, today: newSpending(time.Now()), wake: make(chan struct{}, 1),
		changed: map[string]struct{}{}, parents: map[string]string{}, working: map[string]int64{}, busy: map[string]struct{}{},
	}
	var all []thread
	for i := range directoriesMost + 3 {
		one := thread{Thread: overview.Thread{ID: fmt.Sprint("t", i), LatestSeq: int64(i + 1), Summary: overview.Summary{Cwd: "/src"}}}
		all = append(all, one)
	}
	all[directoriesMost+2].Summary.Cwd = ""
	all[directoriesMost+1].Summary.Status = "closed"
	f.deliver(all, overview.Listed{Whole: true})
	f.noteDirectories()
	ids := f.take()
	if len(ids) != directoriesMost || slices.Contains(ids, "t0") || !slices.Contains(ids, "t1") || slices.Contains(ids, fmt.Sprint("t", directoriesMost+1)) {
		t.Errorf("%d threads are read again: %q", len(ids), ids)
	}
	select {
	case <-f.wake:
	default:
		t.Error("the reader sleeps on")
	}
	all[1].Summary.Status = "closed"
	f.deliver(all[1:2], overview.Listed{})
	if f.noteDirectories(); slices.Contains(f.take(), "t1") {
		t.Error("a closed thread is read again")
	}
}

// The row of a parent counts its children, so it is read again when one changes.
func TestAChildThatChangesHasItsParentReadAgain(t *testing.T) {
	s := newFakeServer(t, 2)
	got := startFeed(t, s)
	await(t, got, "all threads are listed", func(msg tea.Msg) bool { return lists(msg, "thread_000", "idle") })
	s.put("thread_000", "working", "")
	s.put("child", "working", "thread_000")
	s.event("child", "thread/started")
	await(t, got, "the parent of a new child", func(msg tea.Msg) bool { return lists(msg, "thread_000", "working") })
	s.put("thread_000", "failed", "")
	s.put("child", "failed", "thread_000")
	s.event("child", "turn/failed")
	await(t, got, "the parent of a known child", func(msg tea.Msg) bool {
		return lists(msg, "thread_000", "failed") && lists(msg, "child", "failed")
	})
}

// Only a server that is here gets the directory of the terminal, and it is asked anew at
// each connection: behind an address there may be another server then.
func TestTheServerIsAskedWhetherItIsHere(t *testing.T) {
	for name, here := range map[string]func(*client.Client, string) bool{
		"here": func(_ *client.Client, logID string) bool { return logID == "log_here" }, "elsewhere": func(*client.Client, string) bool { return false },
	} {
		p, _ := testProgram(t, Options{Client: client.New(client.At("http://127.0.0.1:1", client.SourceGiven, "", false)), Cwd: "/home/me", Here: here})
		var sent []tea.Msg
		f := p.newFeed()
		f.send = func(msg tea.Msg) { sent = append(sent, msg) }
		f.hello(requests.Hello{LogID: "log_here"})
		want := map[string]overview.Terminal{"here": "/home/me", "elsewhere": ""}[name]
		if len(sent) != 1 || sent[0] != want {
			t.Errorf("%s: %v", name, sent)
		}
	}
}

// What a thread writes comes without events: the rows on the screen that work are read
// again, a bounded number, and none while another page is shown.
func TestRowsInSightAreReadAgain(t *testing.T) {
	p, _ := testProgram(t, Options{})
	f := &feed{wake: make(chan struct{}, 1), changed: map[string]struct{}{}}
	p.look = f.look
	listed := waiting(40)
	for i := range 30 {
		listed.Threads[i].Summary.Status = "working"
	}
	p.Update(listed)
	p.View()
	p.Update(tick{})
	f.noteSight()
	ids := f.take()
	if len(ids) == 0 || len(ids) > 24 || slices.Contains(ids, "thread_35") {
		t.Errorf("of 24 lines these are read again: %q", ids)
	}
	p.page = newStart(p.styles, "", nil, nil)
	p.Update(tick{})
	if f.noteSight(); len(f.take()) > 0 {
		t.Error("rows are read again that nobody sees")
	}
	many := make([]string, 3*sightMost)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	f.look(many)
	if f.noteSight(); len(f.take()) != sightMost {
		t.Error("the number of rows is not bounded")
	}
}

package dashboard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/conversation"
	"github.com/seed82539d15/holon/cmd/holon/dashboard/overview"
	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/rpc/client"
)

// counting is a fakeServer that counts its requests, and may hold the answers to requests for changed threads back.
type counting struct {
	*fakeServer
	hold  chan struct{} // closed: changed threads are answered; nil: at once
	asked chan struct{} // has an entry for each request for changed threads that is held

	mu       sync.Mutex
	requests map[string]int // by method
	streams  []url.Values
}

func (s *counting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		s.mu.Lock()
		s.streams = append(s.streams, r.URL.Query())
		s.mu.Unlock()
		s.fakeServer.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Error(err)
	}
	var request struct {
		Method string `json:"method"`
		Params struct {
			IDs []string `json:"thread_ids"`
		} `json:"params"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		s.t.Error(err)
	}
	s.mu.Lock()
	s.requests[request.Method]++
	s.mu.Unlock()
	if request.Params.IDs != nil && s.hold != nil {
		s.asked <- struct{}{}
		<-s.hold
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.fakeServer.ServeHTTP(w, r)
}

// counts is how often each method was called.
func (s *counting) counts() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.requests)
}

// startCounting runs the feed of a program until the test ends, and returns what it
// sends. Nothing is drawn by itself.
func startCounting(t *testing.T, threads int) (*counting, *program, <-chan tea.Msg) {
	t.Helper()
	s := &counting{fakeServer: newFakeServer(t, threads), requests: map[string]int{}}
	server := httptest.NewServer(s)
	c := client.New(client.At(server.URL, client.SourceGiven, "", false))
	p, _ := testProgram(t, Options{Client: c})
	got := make(chan tea.Msg, 10_000)
	p.send = func(msg tea.Msg) { got <- msg }
	t.Cleanup(func() {
		p.work.Wait() // its context has ended
		c.Close()
		server.Close()
	})
	return s, p, got
}

// opened waits until the feed has read everything.
func opened(t *testing.T, p *program, got <-chan tea.Msg, threads int) {
	t.Helper()
	p.feed()
	whole, spent := false, false
	await(t, got, "everything is read", func(msg tea.Msg) bool {
		switch msg := msg.(type) {
		case overview.Listed:
			if whole = true; len(msg.Threads) != threads {
				t.Errorf("%d threads are listed", len(msg.Threads))
			}
		case overview.Today:
			spent = true
		}
		p.Update(msg)
		p.View()
		return whole && spent
	})
}

// A thousand threads cost two pages, and what needs somebody and what is closed one each: no
// request per thread.
func TestOpeningTheOverviewOfAThousandThreadsCostsNineRequests(t *testing.T) {
	s, p, got := startCounting(t, 1000)
	opened(t, p, got, 1000)
	want := map[string]int{
		"initialize":  1,         // whose cursors say what was seen
		"thread/list": 1 + 2 + 1, // urgent, done, closed
		"cursor/read": 1 + 1,     // which restarts are known, and where the last dashboard ended
		"turn/list":   1 + 1,     // what has ended with one, and what was spent today
	}
	if counts := s.counts(); !maps.Equal(counts, want) {
		t.Errorf("the requests are %v, want %v", counts, want)
	}
	if n := p.counts().Requests; n != 9 {
		t.Errorf("%d requests are counted", n)
	}
}

// The stream of the overview has no deltas. However many events of threads come while a
// request is under way, one request reads the threads again, and one picture shows them.
func TestFiveThousandEventsCostTwoRequestsAndOnePictureEach(t *testing.T) {
	s, p, got := startCounting(t, 5)
	s.hold, s.asked = make(chan struct{}), make(chan struct{}, 10)
	opened(t, p, got, 5)
	before, drawn := s.counts()["thread/list"], p.counts()
	s.event("thread_000", "item/created")
	<-s.asked
	const events = 5000
	for i := range events {
		s.event(fmt.Sprintf("thread_%03d", i%5), "item/updated")
	}
	s.stream <- fmt.Sprintf(`{"jsonrpc":"2.0","method":"turn/completed","params":{"seq":%d,"thread_id":"thread_000","turn_id":"t","attempt":1,"completed_at":%q,"usage":{"cost":{"amount":1,"currency":"USD"}},"timestamp":"2026-03-01T12:00:00Z"}}`, s.latest+1, noon.Format(time.RFC3339))
	messages := 0
	show := func(msg tea.Msg) {
		if _, ok := msg.(screen.Connection); ok {
			return // that of the start
		}
		messages++
		p.Update(msg)
		p.View()
	}
	await(t, got, "all events have come", func(msg tea.Msg) bool {
		show(msg)
		today, ok := msg.(overview.Today)
		return ok && len(today.Spent) == 1
	})
	if n := s.counts()["thread/list"] - before; n != 1 {
		t.Errorf("%d requests are under way at once", n)
	}
	s.put("thread_004", "waiting", "")
	close(s.hold)
	await(t, got, "the last change is shown", func(msg tea.Msg) bool {
		show(msg)
		return lists(msg, "thread_004", "waiting")
	})
	if n := s.counts()["thread/list"] - before; n != 2 {
		t.Errorf("%d events cost %d requests, want 2", events, n)
	}
	after := p.counts()
	if n := after.Renders - drawn.Renders; n > messages || messages != 3 {
		t.Errorf("%d events came in %d messages, not the answers and the sum of the day, and were drawn %d times", events, messages, n)
	}
	if n := after.Rows - drawn.Rows; n > 24*(after.Renders-drawn.Renders) {
		t.Errorf("%d rows were drawn in %d pictures of 24 lines", n, after.Renders-drawn.Renders)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.streams) != 1 || s.streams[0].Get("content") != "summary" {
		t.Errorf("the streams are %v", s.streams)
	}
}

// openThread shows a thread that has nothing yet on the page of the program.
func openThread(t *testing.T, p *program, id string) *conversation.Model {
	t.Helper()
	page := conversation.New(conversation.Options{Thread: id, Styles: p.styles})
	p.page = page
	page.Update(p.now(), tea.WindowSizeMsg{Width: p.width, Height: p.height})
	answers := map[string]string{"thread/read": `{"thread":{"thread_id":"` + id + `","state":"running"},"latest_seq":0}`, "item/list": `{"items":[]}`, "turn/list": `{"turns":[]}`}
	for actions := page.Update(p.now(), conversation.Begin{}); len(actions) > 0; {
		action := actions[0]
		actions = actions[1:]
		if call, ok := action.(screen.Call); ok {
			if answers[call.Method] == "" {
				t.Fatalf("the page asks for %s", call.Method)
			}
			actions = append(actions, page.Update(p.now(), screen.Done{Action: call, Result: json.RawMessage(answers[call.Method])})...)
		}
	}
	return page
}

// threadEvent is an event of a thread.
func threadEvent(seq int, thread, method, members string) client.Event {
	return client.Event{Seq: int64(seq), ThreadID: thread, Method: method, Time: noon,
		Params: json.RawMessage(fmt.Sprintf(`{"seq":%d,"thread_id":%q,"turn_id":"t1","timestamp":"2026-03-01T12:00:00Z",%s}`, seq, thread, members))}
}

// Five thousand deltas a second, each a message of its own, make at most 30 pictures a
// second of the program's clock: one a frame.
func TestAFloodOfDeltasIsDrawnOnceAFrame(t *testing.T) {
	p, at := testProgram(t, Options{})
	page := openThread(t, p, "thread_1")
	show := func(e client.Event) {
		p.Update(toPage{page, e})
		for !p.tickAt.IsZero() && !at.Before(p.tickAt) { // the timer that the program has asked for
			p.Update(tick{number: p.ticks})
		}
		p.View()
	}
	show(threadEvent(1, "thread_1", "turn/started", `"state":"active"`))
	show(threadEvent(2, "thread_1", "item/created", `"item_id":"i1","status":"in_progress","type":"agent_message","content":{"type":"agent_message","role":"assistant","content":[]}`))
	*at = at.Add(time.Second)
	before := page.Counts()
	const deltas = 5000
	for i := range deltas {
		*at = at.Add(time.Second / deltas)
		show(threadEvent(3+i, "thread_1", "item/delta", fmt.Sprintf(`"item_id":"i1","offset":%d,"delta":{"type":"text","text":"word "}`, 5*i)))
	}
	after := page.Counts()
	if n := after.Renders - before.Renders; n > 31 || n < 25 {
		t.Errorf("%d deltas were drawn %d times in a second", deltas, n)
	}
	if n := after.Requests - before.Requests; n > 1 { // that the thread was looked at
		t.Errorf("%d deltas cost %d requests", deltas, n)
	}
}

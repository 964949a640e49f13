package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/overview"
	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/rpc/client"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// testProgram is a program of 80 × 24 without a server, and its clock.
func testProgram(t *testing.T, o Options) (*program, *time.Time) {
	t.Helper()
	at := noon
	o.Environ = []string{"NO_COLOR=1"}
	p := newProgram(t.Context(), o)
	p.now = func() time.Time { return at }
	p.page = p.overview
	p.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	return p, &at
}

func waiting(n int) overview.Listed {
	msg := overview.Listed{Whole: true}
	for i := range n {
		msg.Threads = append(msg.Threads, overview.Thread{ID: fmt.Sprintf("thread_%d", i), LatestSeq: 1, Summary: overview.Summary{
			Title: fmt.Sprintf("thread_%d", i), Status: "waiting", Since: noon.Add(time.Duration(i) * time.Second),
		}})
	}
	return msg
}

func lastLine(p *program) string {
	lines := strings.Split(p.View().Content, "\n")
	return strings.TrimRight(screen.OneLine(lines[len(lines)-1]), " ")
}

func TestTheTitleSaysHowManyNeedYou(t *testing.T) {
	p, _ := testProgram(t, Options{Bell: true})
	if got := p.View().WindowTitle; got != "holon" {
		t.Errorf("the title is %q", got)
	}
	p.Update(tea.ColorProfileMsg{})
	p.overview.Update(noon, waiting(1))
	if p.ring() != nil {
		t.Error("the bell rings for one that waited before")
	}
	p.overview.Update(noon, waiting(2))
	bell := p.ring()
	if bell == nil || !reflect.DeepEqual(bell(), tea.RawMsg{Msg: "\a"}) {
		t.Error("the bell does not ring")
	}
	if got := p.View().WindowTitle; got != "holon (2)" {
		t.Errorf("with two that wait the title is %q", got)
	}
	p.overview.Update(noon, waiting(1))
	if p.ring() != nil {
		t.Error("the bell rings although fewer wait")
	}
}

func TestAnUnchangedScreenIsNotDrawnAgain(t *testing.T) {
	p, _ := testProgram(t, Options{})
	p.Update(waiting(3))
	first := p.View()
	before := p.counts()
	for range 100 {
		p.Update(tea.ColorProfileMsg{})
		p.Update(tick{number: -1})
		if !reflect.DeepEqual(p.View(), first) {
			t.Fatal("the screen differs")
		}
	}
	if after := p.counts(); after != before {
		t.Errorf("100 messages that change nothing cost %+v, before %+v", after, before)
	}
}

func TestTheScreenFollowsTimeOnlyAsFarAsItShowsIt(t *testing.T) {
	p, at := testProgram(t, Options{})
	p.Update(waiting(1))
	if p.tickAt.Sub(noon) != time.Second {
		t.Errorf("with a wait of seconds it is drawn after %s", p.tickAt.Sub(noon))
	}
	*at = noon.Add(5*time.Minute + 20*time.Second)
	p.Update(tick{number: p.ticks})
	if !strings.Contains(p.View().Content, "5 min") || p.tickAt.Sub(*at) != 40*time.Second {
		t.Errorf("with a wait of minutes it is drawn after %s:\n%s", p.tickAt.Sub(*at), p.View().Content)
	}
}

func TestNoticesGiveWayToTheNextKeyAndToTime(t *testing.T) {
	p, at := testProgram(t, Options{Explain: func(error) string { return "Do this." }})
	p.Update(waiting(1))
	failed := toPage{p.overview, screen.Done{Action: screen.Retry{Turn: "t"}, Err: errors.New("no\x1b[31m")}}
	p.Update(failed)
	if got := lastLine(p); got != "No. Do this." {
		t.Errorf("the notice is %q", got)
	}
	p.Update(tea.KeyPressMsg{Code: 'j', Text: "j"})
	if got := lastLine(p); !strings.HasPrefix(got, "a answer") {
		t.Errorf("after a key the last line is %q", got)
	}
	p.Update(failed)
	p.Update(tea.PasteMsg{Content: "x"})
	if got := lastLine(p); !strings.HasPrefix(got, "Nothing is typed here: ") {
		t.Errorf("after a paste the last line is %q", got)
	}
	p.Update(failed)
	*at = noon.Add(noticeTime)
	p.Update(tick{number: p.ticks})
	if got := lastLine(p); !strings.HasPrefix(got, "a answer") {
		t.Errorf("later the last line is %q", got)
	}
}

func TestALostConnectionIsShownUntilItIsBack(t *testing.T) {
	p, at := testProgram(t, Options{})
	p.Update(waiting(1))
	for range 2 {
		p.Update(screen.Connection{State: client.State{Kind: client.Lost, Reason: fmt.Errorf("read the stream: %w", io.ErrUnexpectedEOF)}})
		*at = at.Add(time.Minute)
	}
	if got := lastLine(p); got != "The server is gone since 12:00:00; trying again. A key tries at once." {
		t.Errorf("the last line is %q", got)
	}
	if !strings.Contains(p.View().Content, "thread_0") {
		t.Error("the threads are gone")
	}
	p.Update(screen.Connection{State: client.State{Kind: client.Resumed}})
	if got := lastLine(p); !strings.HasPrefix(got, "a answer") {
		t.Errorf("after it is back the last line is %q", got)
	}
}

func TestWGoesToTheNextThatWaitsEverywhere(t *testing.T) {
	p, _ := testProgram(t, Options{})
	p.Update(waiting(3))
	w := tea.KeyPressMsg{Code: 'w', Text: "w"}
	p.Update(w)
	if got := p.overview.Selected(); got != "thread_1" {
		t.Errorf("selected is %s", got)
	}
	p.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
	if !strings.Contains(p.View().Content, "thread_1") || p.page == p.overview {
		t.Fatalf("Enter shows\n%s", p.View().Content)
	}
	p.Update(w)
	if !strings.Contains(p.View().Content, "thread_2") || p.page == p.overview {
		t.Errorf("w on a thread shows\n%s", p.View().Content)
	}
	p.Update(tea.KeyPressMsg{Code: tea.KeyEscape})
	if p.page != p.overview || p.overview.Selected() != "thread_2" {
		t.Errorf("back in the overview %s is selected", p.overview.Selected())
	}
	p, _ = testProgram(t, Options{})
	p.Update(waiting(1))
	p.Update(w)
	if got := lastLine(p); got != "Nothing else waits for you." {
		t.Errorf("w where nothing else waits says %q", got)
	}
}

func TestWhatComesForAPageThatWasLeftIsDropped(t *testing.T) {
	p, _ := testProgram(t, Options{})
	p.Update(waiting(1))
	left := &recorder{}
	p.Update(toPage{left, []client.Event{{Seq: 1}, {Seq: 2}}})
	if len(left.got) > 0 {
		t.Errorf("a page that was left gets %v", left.got)
	}
	p.page = left
	p.Update(toPage{left, []client.Event{{Seq: 1}, {Seq: 2}}})
	if want := []tea.Msg{[]client.Event{{Seq: 1}, {Seq: 2}}}; !reflect.DeepEqual(left.got, want) {
		t.Errorf("the page gets %v, want %v", left.got, want)
	}
}

// recorder is a page that keeps what it gets.
type recorder struct{ got []tea.Msg }

func (r *recorder) Update(_ time.Time, msg tea.Msg) []screen.Action {
	r.got = append(r.got, msg)
	return nil
}
func (r *recorder) Lines(_ time.Time, width, height int) []string {
	return screen.Fill(nil, width, height)
}
func (r *recorder) Changes(time.Time) time.Time           { return time.Time{} }
func (r *recorder) Cursor(int, int) (x, y int, show bool) { return 0, 0, false }

func TestTheScreenWithoutAServer(t *testing.T) {
	var chosen []string
	s := newStart(screen.Styles{}, "/data/mine", []Server{{"/data/other", "http://127.0.0.1:1"}}, func(data string) connected {
		chosen = append(chosen, data)
		return connected{}
	})
	text := strings.Join(s.Lines(noon, 60, 15), "\n")
	for _, part := range []string{"/data/mine", "> Start a server there", "/data/other  http://127.0.0.1:1", "q leave"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in\n%s", part, text)
		}
	}
	down, enter := tea.KeyPressMsg{Code: tea.KeyDown}, tea.KeyPressMsg{Code: tea.KeyEnter}
	for _, keys := range [][]tea.Msg{{enter, enter}, {startFailed{"no port"}, down, enter}} {
		for _, key := range keys {
			for _, action := range s.Update(noon, key) {
				action.(screen.Work).Do()
			}
		}
	}
	if want := []string{"/data/mine", "/data/other"}; !reflect.DeepEqual(chosen, want) {
		t.Errorf("connected is to %v, want %v", chosen, want)
	}
	s.Update(noon, startFailed{"no port"})
	if text := strings.Join(s.Lines(noon, 40, 15), "\n"); !strings.Contains(text, "no port") {
		t.Errorf("the reason of a failure is missing in\n%s", text)
	}
	if got := s.Update(noon, tea.KeyPressMsg{Code: 'q', Text: "q"}); !reflect.DeepEqual(got, []screen.Action{screen.Quit{}}) {
		t.Errorf("q gives %v", got)
	}
}

func TestTodayAddsUpAttemptsAndWhatSessionsAdd(t *testing.T) {
	s := newSpending(noon)
	s.read = true
	s.sessions["session"] = true
	end := func(method, thread, turn string, attempt int, cost float64, at time.Time) {
		params, err := json.Marshal(map[string]any{"thread_id": thread, "turn_id": turn, "attempt": attempt, "completed_at": at, "usage": map[string]any{"cost": map[string]any{"amount": cost, "currency": "USD"}}})
		if err != nil {
			t.Fatal(err)
		}
		s.event(client.Event{Method: method, Params: params}, noon)
	}
	end("turn/completed", "plain", "a", 1, 1, noon)
	end("turn/completed", "plain", "a", 1, 1, noon) // once more
	end("stream/rewind", "plain", "a", 1, 1, noon)  // the same attempt
	end("turn/completed", "plain", "a", 2, 2, noon) // another attempt
	end("turn/completed", "plain", "b", 1, 9, noon.Add(-24*time.Hour))
	end("turn/failed", "session", "c", 1, 10, noon.Add(-24*time.Hour)) // the session of yesterday
	end("turn/completed", "session", "d", 1, 10.5, noon)
	end("turn/completed", "session", "e", 1, 0.25, noon) // a new session
	if got := s.today(); got.Day != "2026-03-01" || len(got.Spent) != 1 || got.Spent[0] != (overview.Money{Amount: 3.75, Currency: "USD"}) {
		t.Errorf("today is %+v", got)
	}
	tomorrow := noon.Add(24 * time.Hour)
	params := `{"thread_id":"plain","turn_id":"f","attempt":1,"completed_at":"2026-03-02T11:00:00Z","usage":{"cost":{"amount":1,"currency":"EUR"}}}`
	got, more := s.event(client.Event{Method: "turn/completed", Params: []byte(params)}, tomorrow)
	if !more || got.Day != "2026-03-02" || len(got.Spent) != 1 || got.Spent[0].Amount != 1 {
		t.Errorf("the next day is %+v", got)
	}
}

func TestAChildLeadsBackToTheThreadAboveIt(t *testing.T) {
	p, _ := testProgram(t, Options{})
	p.Update(waiting(3))
	p.carryOut(p.now(), p.page, []screen.Action{screen.Open{Thread: "thread_1"}})
	p.carryOut(p.now(), p.page, []screen.Action{screen.Open{Thread: "thread_2"}})
	for _, want := range []string{"thread_2", "thread_1"} {
		if got := p.View().Content; !strings.Contains(got, want) || p.page == p.overview {
			t.Fatalf("%s is not shown:\n%s", want, got)
		}
		p.Update(tea.KeyPressMsg{Code: tea.KeyEscape})
	}
	if p.page != p.overview {
		t.Error("Esc does not lead to the overview")
	}
}

func TestTheStartedThreadIsTheAnswer(t *testing.T) {
	p, _ := testProgram(t, Options{})
	var result json.RawMessage
	answers := map[string]string{
		"thread/start": `{"thread_id":"thread_a","title":"long enough for the next answer"}`,
		"turn/start":   `{"turn_id":"turn_a"}`,
	}
	call := func(method string, _ any) error { return json.Unmarshal([]byte(answers[method]), &result) }
	started, err := p.startThread(screen.StartThread{Text: "hello"}, call, &result)
	if err != nil || string(started) != answers["thread/start"] {
		t.Errorf("the answer is %s, %v, want that of thread/start", started, err)
	}
}

// A refusal says what to do about it in a window of any size.
func TestARefusalSaysWhatToDo(t *testing.T) {
	const hint = "That takes more than HOLON_TOKEN. Whoever runs the server makes another token: holon token create NAME --role work"
	p, _ := testProgram(t, Options{Explain: func(error) string { return hint }})
	for _, size := range [][2]int{{40, 10}, {80, 24}, {120, 30}} {
		p.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		p.Update(waiting(3))
		p.Update(toPage{p.overview, screen.Done{Action: screen.Retry{Turn: "t"}, Err: errors.New("turn/retry takes the role work, and this token has the role read")}})
		var words []string
		for _, line := range strings.Split(p.View().Content, "\n") {
			words = append(words, strings.Fields(screen.OneLine(line))...)
		}
		if got := strings.Join(words, " "); !strings.HasSuffix(got, "Turn/retry takes the role work, and this token has the role read. "+hint) {
			t.Errorf("in %v the notice is cut:\n%s", size, p.View().Content)
		}
	}
}

// In a window of 40 columns the line says all that matters: which key leads to the next
// thread that waits, what has happened, and that there is no connection.
func TestASmallWindowSaysWhatToDo(t *testing.T) {
	p, _ := testProgram(t, Options{})
	p.Update(tea.WindowSizeMsg{Width: 40, Height: 10})
	p.Update(waiting(2))
	if got := lastLine(p); got != "a answer Enter open w next ? keys" {
		t.Errorf("the last line is %q", got)
	}
	p.say(noon, "Nothing to interrupt: thread_0 does not work at all, and it is long.")
	if got := p.View().Content; !strings.Contains(got, "Nothing to interrupt: thread_0 does not") || !strings.Contains(got, "work at all, and it is long.") {
		t.Errorf("the notice is cut:\n%s", got)
	}
	p.notice = ""
	p.Update(screen.Connection{State: client.State{Kind: client.Lost, Reason: io.EOF}})
	if got := lastLine(p); got != "The server is gone; trying again" {
		t.Errorf("the last line is %q", got)
	}
}

// A key tries at once, also while the first lists cannot be read.
func TestAKeyTriesAtOnceWhileTheServerIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := client.New(func() (client.Endpoint, error) { return client.Endpoint{}, io.EOF })
		defer c.Close()
		p, _ := testProgram(t, Options{Client: c})
		ctx, cancel := context.WithCancel(t.Context())
		p.ctx = ctx
		tried := make(chan tea.Msg, 10)
		p.send = func(msg tea.Msg) { tried <- msg }
		p.feed()
		for range 3 { // by keys alone: the clock of the bubble stands still
			synctest.Wait()
			if len(tried) != 1 {
				t.Fatalf("%d attempts", len(tried))
			}
			p.Update(<-tried)
			p.Update(tea.KeyPressMsg{Code: 'j', Text: "j"})
		}
		cancel()
		p.work.Wait()
	})
}

// However many threads are marked as seen at once, the server is asked for one after the
// other, and the screen learns of it once: else the next keys would wait for all of them.
func TestManySeenThreadsAreOneMessage(t *testing.T) {
	var asked, under, most atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		most.Store(max(most.Load(), under.Add(1)))
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		under.Add(-1)
	}))
	defer server.Close()
	c := client.New(client.At(server.URL, client.SourceGiven, "", false))
	defer c.Close()
	p, _ := testProgram(t, Options{Client: c})
	var actions []screen.Action
	for i := range 50 {
		actions = append(actions, screen.Seen{Thread: fmt.Sprint("t", i), Seq: 1})
	}
	command := p.carryOut(noon, p.overview, actions)
	if _, ok := command().(toPage); !ok || asked.Load() != 50 || most.Load() != 1 {
		t.Errorf("%d requests, %d at once", asked.Load(), most.Load())
	}
}

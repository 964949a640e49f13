package acp_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/agents/acp"
	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/internal/test/acptest"
	"github.com/seed82539d15/holon/internal/test/agenttest"
	"github.com/seed82539d15/holon/internal/test/notifytest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist/sqlite"
	"github.com/seed82539d15/holon/turns"
)

// server is an engine on a real store with an ACP agent, and its log so far.
type server struct {
	t      testing.TB
	engine *engine.Engine
	read   func() // begins to read the log
	stop   func()

	mu  sync.Mutex
	log []event
	at  chan struct{} // closed and replaced when the log grows
}

// event has the members of a notification that the tests check.
type event struct {
	Method string
	Params struct {
		ThreadID       string         `json:"thread_id"`
		TurnID         string         `json:"turn_id"`
		ItemID         string         `json:"item_id"`
		Status         items.Status   `json:"status"`
		Content        items.Raw      `json:"content"`
		StopReason     string         `json:"stop_reason"`
		Message        string         `json:"message"`
		Error          *turns.Failure `json:"error"`
		Undelivered    []string       `json:"undelivered_item_ids"`
		AgentSessionID string         `json:"agent_session_id"`
		Title          string         `json:"title"`
		State          string         `json:"state"`
		Delta          struct {
			Text string `json:"text"`
		} `json:"delta"`
	}
}

// serve starts an engine on the store in dir with badagent and these arguments.
func serve(t testing.TB, dir, words string, change ...func(*acp.Config)) *server {
	t.Helper()
	return serveCommand(t, dir, append([]string{acptest.Build(t, acptest.BadAgent)}, strings.Fields(words)...), change...)
}

func serveCommand(t testing.TB, dir string, command []string, change ...func(*acp.Config)) *server {
	t.Helper()
	return serveStore(t, dir, command, func(s agenttest.Store) agenttest.Store { return s }, change...)
}

// serveStore lets wrap see what the engine stores.
func serveStore(t testing.TB, dir string, command []string, wrap func(agenttest.Store) agenttest.Store, change ...func(*acp.Config)) *server {
	t.Helper()
	cfg := acp.Config{Command: command, CancelAfter: 2 * time.Second, Cwd: t.TempDir()}
	for _, f := range change {
		f(&cfg)
	}
	agent, err := acp.New("agent", cfg)
	if err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.Open(sqlite.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	engine, stop := agenttest.Serve(t, engine.Config{MaxActiveTurns: 100}, wrap(store), store.Reader(), agent)
	ctx, cancel := context.WithCancel(context.Background())
	read := make(chan struct{})
	s := &server{t: t, engine: engine, at: make(chan struct{})}
	s.read = sync.OnceFunc(func() {
		go func() {
			defer close(read)
			s.follow(ctx, notify.NewCursor(store.Tail(), store.Reader(), notify.Filter{}, 0))
		}()
	})
	s.stop = sync.OnceFunc(func() {
		s.read()
		cancel()
		<-read
		stop()
		if n := agent.Info().Processes; n != 0 {
			t.Errorf("%d processes are left", n)
		}
	})
	t.Cleanup(s.stop)
	return s
}

// follow reads the log until ctx is done.
func (s *server) follow(ctx context.Context, cursor *notify.Cursor) {
	var frames notifytest.Frames
	for {
		chunk, err := cursor.Next(ctx, 0)
		if err != nil {
			return
		}
		s.mu.Lock()
		frames.Each(chunk, func(_ int64, frame []byte) {
			var e event
			if err := json.Unmarshal(frame, &e, json.MatchCaseInsensitiveNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
				s.t.Errorf("%.200s: %v", frame, err)
			}
			s.log = append(s.log, e)
		})
		if len(chunk) > 0 {
			close(s.at)
			s.at = make(chan struct{})
		}
		s.mu.Unlock()
		if len(chunk) > 0 {
			continue
		}
		select {
		case <-cursor.Wait():
		case <-ctx.Done():
			return
		}
	}
}

// until waits for an event that matches and returns it.
func (s *server) until(what string, match func(event) bool) event {
	s.t.Helper()
	s.read()
	limit := time.NewTimer(acptest.Patience)
	defer limit.Stop()
	for seen := 0; ; {
		s.mu.Lock()
		log, at := s.log, s.at
		s.mu.Unlock()
		for ; seen < len(log); seen++ {
			if match(log[seen]) {
				return log[seen]
			}
		}
		select {
		case <-at:
		case <-limit.C:
			s.t.Fatalf("%s did not come; the log is %+v", what, log)
		}
	}
}

func input(text string) []turns.InputMessage {
	return []turns.InputMessage{{Type: "message", Role: "user", Content: []items.Part{{Type: items.PartText, Text: text}}}}
}

// start starts a turn in the thread. It makes the thread if necessary.
func (s *server) start(thread, text string) (turn string) {
	s.t.Helper()
	if _, err := s.engine.StartThread(s.t.Context(), turns.StartThread{ThreadID: thread, Agent: "agent"}); err != nil {
		s.t.Fatal(err)
	}
	r, err := s.engine.Start(s.t.Context(), turns.Start{ThreadID: thread, Input: input(text)})
	if err != nil {
		s.t.Fatal(err)
	}
	return r.TurnID
}

// end waits for the end of a turn.
func (s *server) end(turn string) event {
	s.t.Helper()
	return s.until("the end of the turn", func(e event) bool {
		return e.Params.TurnID == turn && (e.Method == notify.TurnCompleted || e.Method == notify.TurnFailed || e.Method == notify.TurnInterrupted)
	})
}

// item waits for an item of the turn of this kind to be made.
func (s *server) item(turn string, kind items.Kind) event {
	s.t.Helper()
	return s.until("an item "+string(kind), func(e event) bool {
		return e.Method == notify.ItemCreated && e.Params.TurnID == turn && kindOf(e) == kind
	})
}

func kindOf(e event) items.Kind {
	var head struct {
		Type items.Kind `json:"type"`
	}
	_ = json.Unmarshal(e.Params.Content, &head)
	return head.Type
}

// said is the final text of the agent's messages of the turn, and the status of
// each of its items by kind.
func (s *server) said(turn string) (said string, status map[items.Kind][]items.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, order := map[string]event{}, []string{}
	for _, e := range s.log {
		if e.Params.TurnID != turn || e.Params.ItemID == "" || e.Method == notify.ItemDelta {
			continue
		}
		if _, ok := last[e.Params.ItemID]; !ok {
			order = append(order, e.Params.ItemID)
		}
		last[e.Params.ItemID] = e
	}
	status = map[items.Kind][]items.Status{}
	var texts []string
	for _, id := range order {
		c, err := items.Decode(last[id].Params.Content)
		if err != nil {
			s.t.Errorf("%s: %v", last[id].Params.Content, err)
			continue
		}
		status[c.Kind()] = append(status[c.Kind()], last[id].Params.Status)
		if m, ok := c.(items.AgentMessage); ok {
			text, _ := items.TextOf(m)
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "|"), status
}

func (s *server) steer(turn, text string, interrupt bool) turns.SteerResult {
	s.t.Helper()
	r, err := s.engine.Steer(s.t.Context(), turns.Steer{TurnID: turn, Input: input(text), Interrupt: interrupt})
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

func (s *server) interrupt(turn string) {
	s.t.Helper()
	if _, _, err := s.engine.Interrupt(context.Background(), turns.Interrupt{TurnID: turn}); err != nil {
		s.t.Error(err)
	}
}

func TestEngineLetsAnyoneAnswerAPermission(t *testing.T) {
	s := serve(t, t.TempDir(), "")
	turn := s.start("t", "good")
	asked := s.item(turn, items.KindPermissionRequest)
	if _, err := s.engine.Respond(t.Context(), turns.Respond{ItemID: asked.Params.ItemID, OptionKind: items.AllowOnce}); err != nil {
		t.Fatal(err)
	}
	end := s.end(turn)
	said, status := s.said(turn)
	if end.Method != notify.TurnCompleted || end.Params.StopReason != "end_turn" || !strings.Contains(said, "selected") {
		t.Errorf("%+v, %q", end, said)
	}
	for kind, list := range status {
		for _, st := range list {
			if st != items.StatusCompleted {
				t.Errorf("a %s ended %s", kind, st)
			}
		}
	}
	for _, kind := range []items.Kind{items.KindPlan, items.KindReasoning, items.KindToolCall, items.KindCommandExecution, items.KindFileChange} {
		if len(status[kind]) == 0 {
			t.Errorf("no %s", kind)
		}
	}
}

// An agent works on after an option of a kind of its own: neither the request nor the call
// that it was about is declined.
func TestEngineDeclinesOnlyByAnOptionThatRejects(t *testing.T) {
	s := serve(t, t.TempDir(), "")
	for kind, want := range map[string]items.Status{`"allow_persistent"`: items.StatusCompleted, `null`: items.StatusCompleted, `"reject_and_tell"`: items.StatusDeclined} {
		turn := s.start("t", `permit {"toolCall":{"toolCallId":"`+strings.Trim(kind, `"`)+`","title":"push","kind":"execute","rawInput":{"command":"git push"}},"options":[{"optionId":"it","name":"It","kind":`+kind+`}]}`)
		asked := s.item(turn, items.KindPermissionRequest)
		r, err := s.engine.Respond(t.Context(), turns.Respond{ItemID: asked.Params.ItemID, OptionID: "it"})
		if err != nil {
			t.Fatal(err)
		}
		s.end(turn)
		said, status := s.said(turn)
		calls := status[items.KindCommandExecution]
		if r.Status != want || !slices.Equal(status[items.KindPermissionRequest], []items.Status{want}) || !slices.Equal(calls, []items.Status{want}) || said != "selected it" {
			t.Errorf("%s: %s, %v, %q", kind, r.Status, status, said)
		}
	}
}

func TestEngineStoresConfiguredAndExpiredAnswers(t *testing.T) {
	for _, c := range []struct {
		change func(*acp.Config)
		method string // of the event with the answer
		status items.Status
		want   string
	}{
		{func(c *acp.Config) { c.Permissions = acp.PermissionsAllow }, notify.ItemCreated, items.StatusCompleted, `"kind":"allow_once"`},
		{func(c *acp.Config) { c.Permissions = acp.PermissionsReject }, notify.ItemCreated, items.StatusDeclined, `"kind":"reject_once"`},
		{func(c *acp.Config) { c.PermissionTimeout = 50 * time.Millisecond }, notify.ItemUpdated, items.StatusDeclined, `"type":"expired"`},
	} {
		s := serve(t, t.TempDir(), "", c.change)
		turn := s.start("t", "ask Write?")
		s.end(turn)
		answered := s.until("the answer", func(e event) bool { return e.Method == c.method && kindOf(e) == items.KindPermissionRequest })
		if answered.Params.Status != c.status || !strings.Contains(string(answered.Params.Content), c.want) {
			t.Errorf("%s %s, want %s %s", answered.Params.Status, answered.Params.Content, c.status, c.want)
		}
		s.stop()
	}
}

// Nobody who watches takes a request that the server has answered for one that waits.
func TestEngineAllowsOurOwnToolsWithoutAQuestionThatWaits(t *testing.T) {
	s := serve(t, t.TempDir(), "", func(c *acp.Config) { c.Tools = &agenttest.Granter{} })
	turn := s.start("thread_1", `permit {"toolCall":{"toolCallId":"c1","name":"mcp__holon_12c351__work_start","title":"work"}}`)
	s.end(turn)
	asked := s.until("the request", func(e event) bool { return kindOf(e) == items.KindPermissionRequest })
	if asked.Method != notify.ItemCreated || asked.Params.Status != items.StatusCompleted || !strings.Contains(string(asked.Params.Content), `"resolved_by":"policy"`) {
		t.Errorf("%s %s %s", asked.Method, asked.Params.Status, asked.Params.Content)
	}
}

func TestEngineSteersAnAgentThatTakesIt(t *testing.T) {
	s := serve(t, t.TempDir(), "steering")
	turn := s.start("t", "say working\nawait-steer")
	s.item(turn, items.KindAgentMessage)
	r := s.steer(turn, "turn left", false)
	end := s.end(turn)
	said, status := s.said(turn)
	if r.Delivery != turns.Delivery("injected") || end.Method != notify.TurnCompleted || !strings.Contains(said, "steered: turn left") {
		t.Errorf("%+v, %+v, %q", r, end, said)
	}
	if got := status[items.KindUserMessage]; len(got) != 2 || got[1] != items.StatusCompleted {
		t.Errorf("messages %v", got)
	}
}

func TestEngineSteersAnyAgentByTheNextPrompt(t *testing.T) {
	for _, words := range []string{"", "steering=failed", "steering=end"} {
		s := serve(t, t.TempDir(), words)
		turn := s.start("t", "say working\nsleep 200")
		s.item(turn, items.KindAgentMessage)
		s.steer(turn, "say more\nviolations", false)
		end := s.end(turn)
		if said, _ := s.said(turn); end.Method != notify.TurnCompleted || !strings.HasSuffix(said, "more|none") {
			t.Errorf("%q: %+v, %q", words, end, said)
		}
		s.stop()
	}
}

func TestEngineCutsThePresentPromptForASteer(t *testing.T) {
	s := serve(t, t.TempDir(), "")
	turn := s.start("t", "say working\nwait")
	s.item(turn, items.KindAgentMessage)
	s.steer(turn, "say instead\nviolations", true)
	end := s.end(turn)
	if said, _ := s.said(turn); end.Method != notify.TurnCompleted || said != "working|instead|none" {
		t.Errorf("%+v, %q", end, said)
	}
}

func TestEngineDeliversASteerOrSaysThatItDidNot(t *testing.T) {
	s := serve(t, t.TempDir(), "")
	turn := s.start("t", "say working\nwait")
	s.item(turn, items.KindAgentMessage)
	r := s.steer(turn, "say never", false)
	s.interrupt(turn)
	if end := s.end(turn); end.Method != notify.TurnInterrupted || len(end.Params.Undelivered) != 1 || end.Params.Undelivered[0] != r.ItemIDs[0] {
		t.Errorf("%+v", end)
	}
}

func TestEngineInterruptsWithAQuestionOpen(t *testing.T) {
	s := serve(t, t.TempDir(), "")
	turn := s.start("t", "open-tool x\nsay partial\nhang-ask Write?")
	s.item(turn, items.KindPermissionRequest)
	s.interrupt(turn)
	end := s.end(turn)
	said, status := s.said(turn)
	if end.Method != notify.TurnInterrupted || !strings.Contains(said, "partial") {
		t.Errorf("%+v, %q", end, said)
	}
	if status[items.KindPermissionRequest][0] != items.StatusCancelled || status[items.KindToolCall][0] != items.StatusInterrupted {
		t.Errorf("%v", status)
	}
	turn = s.start("t", "violations")
	s.end(turn)
	if said, _ := s.said(turn); said != "none" {
		t.Error(said)
	}
}

func TestEngineFailsATurnWhoseAgentDies(t *testing.T) {
	s := serve(t, t.TempDir(), "")
	turn := s.start("t", "open-tool x\nsay partial\nask-two")
	s.item(turn, items.KindPermissionRequest)
	other := s.start("other", "kill 9 boom")
	for _, id := range []string{turn, other} {
		end := s.end(id)
		if end.Method != notify.TurnFailed || end.Params.Error.Kind != "agent_failed" || !strings.Contains(end.Params.Error.Message, "signal: killed: boom") {
			t.Errorf("%+v, %+v", end, end.Params.Error)
		}
	}
	said, status := s.said(turn)
	if said != "partial" || status[items.KindPermissionRequest][0] != items.StatusCancelled || status[items.KindToolCall][0] != items.StatusFailed {
		t.Errorf("%q, %v", said, status)
	}
}

func TestEngineEndsATurnWithItsWholeLastMessage(t *testing.T) {
	s := serve(t, t.TempDir(), "")
	for thread, prompt := range map[string]string{
		"ids":    "say first\nsay one,\ntool run them\nadd two,\nunknown\nadd three,\nupdate {\"sessionUpdate\":\"usage_update\",\"used\":null}\nadd four",
		"no-ids": "no-ids\nsay first\ntool run them\nsay one,\nunknown\nadd two,\nupdate {\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\"}}\nadd three,\nadd four",
	} {
		if end := s.end(s.start(thread, prompt)); end.Method != notify.TurnCompleted || end.Params.Message != "one,two,three,four" {
			t.Errorf("%s: %s %q", thread, end.Method, end.Params.Message)
		}
	}
}

func TestEngineKeepsWhatComesAfterTheTurn(t *testing.T) {
	s := serve(t, t.TempDir(), "")
	turn := s.start("t", "say now\ntitle A title\nlate 3")
	s.end(turn)
	late := s.until("the late message", func(e event) bool {
		return e.Method == notify.ItemCreated && e.Params.TurnID == "" && strings.Contains(string(e.Params.Content), "late 3")
	})
	if late.Params.ThreadID != "t" || late.Params.Status != items.StatusCompleted {
		t.Errorf("%+v", late)
	}
	s.until("the title", func(e event) bool { return e.Method == notify.ThreadUpdated && e.Params.Title == "A title" })
}

// TestEngineKeepsTheTitleThatAClientGave has the agent tell titles to two threads, also
// after a restart.
func TestEngineKeepsTheTitleThatAClientGave(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()+"/s"
	s := serve(t, dir, "no-resume state="+state)
	if _, err := s.engine.StartThread(t.Context(), turns.StartThread{ThreadID: "given", Agent: "agent", Title: "fix b"}); err != nil {
		t.Fatal(err)
	}
	for _, thread := range []string{"given", "other"} {
		s.end(s.start(thread, "title One"))
		s.end(s.start(thread, "title Two"))
	}
	s.stop()
	s = serve(t, dir, "no-resume state="+state)
	s.end(s.start("given", "title Three"))
	s.end(s.start("other", "title Three"))
	told := map[string][]string{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.log {
		if e.Method == notify.ThreadUpdated && e.Params.Title != "" {
			told[e.Params.ThreadID] = append(told[e.Params.ThreadID], e.Params.Title)
		}
	}
	if len(told) != 1 || !slices.Equal(told["other"], []string{"One", "Two", "Three"}) {
		t.Errorf("titles of the agent: %q", told)
	}
}

func TestEngineGoesOnInTheSessionAfterARestart(t *testing.T) {
	dir, state, cwd := t.TempDir(), t.TempDir()+"/s", t.TempDir()
	inCwd := func(c *acp.Config) { c.Cwd = cwd }
	s := serve(t, dir, "no-resume state="+state, inCwd)
	s.end(s.start("t", "say first words"))
	turn := s.start("t", "history\nask Write?\nask Write?")
	asked := s.item(turn, items.KindPermissionRequest)
	s.stop()

	s = serve(t, dir, "no-resume state="+state, inCwd)
	if _, err := s.engine.Respond(t.Context(), turns.Respond{ItemID: asked.Params.ItemID, OptionKind: items.AllowOnce}); err != nil {
		t.Fatal(err)
	}
	// The agent has its session, does the input again, and asks twice: once it has the answer.
	again := s.until("the second question", func(e event) bool {
		return e.Method == notify.ItemCreated && e.Params.Status == items.StatusPending && e.Params.ItemID != asked.Params.ItemID
	})
	if again.Params.TurnID != turn {
		t.Errorf("%+v", again)
	}
	s.until("the same request with its answer", func(e event) bool {
		return e.Method == notify.ItemCreated && e.Params.Status == items.StatusCompleted && strings.Contains(string(e.Params.Content), `"resolved_by":"restart"`)
	})
	if _, err := s.engine.Respond(t.Context(), turns.Respond{ItemID: again.Params.ItemID, OptionKind: items.RejectOnce}); err != nil {
		t.Fatal(err)
	}
	if end := s.end(turn); end.Method != notify.TurnCompleted {
		t.Errorf("%+v", end)
	}
	if said, _ := s.said(turn); !strings.Contains(said, "say first words") || !strings.Contains(said, "The server was restarted while you waited for: Write?. The answer: Yes.") {
		t.Errorf("%q", said)
	}
	s.stop()

	s = serve(t, dir, "forget state="+state, func(c *acp.Config) { c.Handover = true })
	next := s.start("t", "blocks") // the transcript makes it ask again, and no one answers
	s.until("the notice", func(e event) bool {
		return e.Params.TurnID == next && strings.Contains(string(e.Params.Content), "has lost the session") && strings.Contains(string(e.Params.Content), "what was said so far")
	})
}

func TestEngineConfiguresAndForks(t *testing.T) {
	s := serve(t, t.TempDir(), "state="+t.TempDir()+"/s")
	s.end(s.start("t", "say common"))
	r, err := s.engine.ThreadConfigure(t.Context(), turns.Configure{ThreadID: "t", Config: map[string]jsontext.Value{"mode": jsontext.Value(`"no-such"`)}})
	if err == nil {
		t.Errorf("%s", r.Config)
	}
	fork, err := s.engine.ThreadFork(t.Context(), turns.Fork{ThreadID: "t"})
	if err != nil {
		t.Fatal(err)
	}
	turn, err := s.engine.Start(t.Context(), turns.Start{ThreadID: fork.ThreadID, Input: input("session\nhistory")})
	if err != nil {
		t.Fatal(err)
	}
	s.end(turn.TurnID)
	if said, _ := s.said(turn.TurnID); !strings.Contains(said, "forked") || !strings.Contains(said, "say common") {
		t.Errorf("%q", said)
	}
}

// TestEngineEndsAllItemsOfManyInterruptsAndKills interrupts and kills a hundred
// times each: no item stays open, no process is left.
func TestEngineEndsAllItemsOfManyInterruptsAndKills(t *testing.T) {
	n := 100
	if testing.Short() {
		n = 20
	}
	s := serve(t, t.TempDir(), "state="+t.TempDir()+"/s", func(c *acp.Config) { c.CancelAfter, c.MaxProcesses = 200*time.Millisecond, 4 })
	ways := []string{"say x\nwait", "open-tool x\nsay x\nask y", "say x\ndeaf\nwait", "say x\nstream 500\nhang-ask y"}
	var wg sync.WaitGroup
	slots := make(chan struct{}, 8)
	run := func(i int, f func(i int)) {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			f(i)
		})
	}
	for i := range n {
		run(i, func(i int) {
			turn := s.start(fmt.Sprint("i", i), ways[i%len(ways)])
			s.item(turn, items.KindAgentMessage)
			s.interrupt(turn)
			if end := s.end(turn); end.Method != notify.TurnInterrupted {
				t.Errorf("%+v", end)
			}
		})
	}
	wg.Wait()
	for i := range n {
		run(i, func(i int) {
			turn := s.start(fmt.Sprint("k", i), "open-tool x\nsay x\nkill 9 boom")
			if end := s.end(turn); end.Method != notify.TurnFailed {
				t.Errorf("%+v", end)
			}
		})
	}
	wg.Wait()
	s.stop()
	open := map[string]event{}
	for _, e := range s.log {
		if e.Params.ItemID != "" && e.Method != notify.ItemDelta {
			open[e.Params.ItemID] = e
			if !e.Params.Status.Open() {
				delete(open, e.Params.ItemID)
			}
		}
	}
	if len(open) > 0 {
		t.Errorf("%d items are open: %+v", len(open), open)
	}
}

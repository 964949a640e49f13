package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// move is one command of one client, or an accident.
type move struct {
	Kind   string
	Thread int
	Pick   int // which of the turns, questions or keys known so far
	Wait   time.Duration
	Script script
}

// script is what the agent does with a prompt. Its input text is the index of
// the script in the program.
type script struct {
	Steps   []string
	Outcome string
	Deaf    bool
}

var moveKinds = []string{
	"start", "start", "start", "reject", "interrupting start", "steering start", "steer", "steer", "cut", "interrupt", "interrupt",
	"respond", "respond", "again", "pause thread", "resume thread", "resume thread", "close", "thread",
	"pause", "resume", "resume", "pause a while", "disk full",
	"configure", "fork", "speak", "speak", "retry", "retry", "rename", "give back", "move",
}

var stepKinds = []string{"message", "half", "delete", "tool", "ask", "ask over restarts", "ask over restarts", "bad", "progress", "usage", "wait", "wait", "flood",
	"sync", "title", "taking text", "configured ask", "step", "step", "nested", "in step", "in nested", "end step", "many steps"}

// outcomes of a prompt; "crash" is a crash in each attempt.
var outcomes = []string{"", "", "", "failed", "interrupted", "panic", "crash", "crash once", "crash once", "transient"}

// world is the model: the answers that clients have received.
type world struct {
	h          *harness
	neverClose bool

	mu       sync.Mutex
	scripts  []script
	started  map[string]turns.StartResult
	order    []string // turn ids
	steered  map[string]int64
	stopped  map[string]bool // turns whose interrupt was accepted
	answered map[string]items.Status
	closed   map[string]bool
	got      map[given]int           // how often each script reached the agent in each attempt
	seen     map[string]map[int]bool // scripts that reached the agent in any attempt, by turn
	retried  map[string]bool         // turns that turn/retry has retried
	spoken   []string                // items outside of turns, in the order in which they were put in
	told     map[string]int          // how often each answer was told after a restart
	outlived int                     // questions that were open when the server ended, and afterwards
	keys     []turns.Start
	first    []turns.StartResult
}

func newWorld() *world {
	return &world{
		started: map[string]turns.StartResult{}, steered: map[string]int64{}, stopped: map[string]bool{},
		answered: map[string]items.Status{}, closed: map[string]bool{}, got: map[given]int{},
		seen: map[string]map[int]bool{}, retried: map[string]bool{}, told: map[string]int{},
	}
}

// given is a script in an attempt of a turn.
type given struct{ script, attempt int }

func (w *world) input(s script) []turns.InputMessage {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.scripts = append(w.scripts, s)
	return text(fmt.Sprint(len(w.scripts) - 1))
}

// run is the agent.
func (w *world) run(ctx context.Context, p *turns.Prompt) turns.Outcome {
	if p.Attempt > 1 && p.Index == 0 {
		w.allAgain(p)
	}
	input := w.withoutDone(p)
	for _, m := range input {
		var i int
		if _, err := fmt.Sscan(m.Text(), &i); err != nil {
			return turns.Outcome{State: turns.Failed}
		}
		w.mu.Lock()
		s := w.scripts[i]
		w.reached(p, i)
		w.mu.Unlock()
		if s.Deaf {
			ctx = context.WithoutCancel(ctx)
		}
		for _, step := range s.Steps {
			if err := w.step(ctx, p, step); err != nil {
				return turns.Outcome{State: turns.Interrupted, StopReason: err.Error()}
			}
		}
		switch s.Outcome {
		case "panic":
			panic("as the script says")
		case "crash":
			return turns.Outcome{State: turns.Failed, Cause: turns.CauseCrash}
		case "transient":
			return turns.Outcome{State: turns.Failed, Cause: turns.CauseTransient}
		case "crash once":
			if p.Attempt == 1 {
				return turns.Outcome{State: turns.Failed, Cause: turns.CauseCrash}
			}
		case "":
		default:
			return turns.Outcome{State: turns.State(s.Outcome)}
		}
	}
	return turns.Outcome{}
}

// withoutDone is the input without what a prompt after a restart repeats, whose answers it
// counts.
func (w *world) withoutDone(p *turns.Prompt) (rest []items.UserMessage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(p.Input) == 0 || p.Input[0].Origin != items.OriginResume {
		return p.Input
	}
	for _, a := range p.Input[0].Answers {
		w.told[a.ItemID]++
	}
	for _, m := range p.Input[1:] {
		var i int
		if _, err := fmt.Sscan(m.Text(), &i); err != nil || w.got[given{i, p.Attempt}] == 0 {
			rest = append(rest, m)
		}
	}
	return rest
}

// outliving lists the questions that must be open after a restart. The engine has stopped.
func (w *world) outliving() (ids []string) {
	l, err := w.h.reader.ListItems(bg, items.Query{Status: items.StatusPending})
	if err != nil {
		w.h.t.Fatalf("list questions: %v", err)
	}
	for _, it := range l.Rows {
		if tn := w.h.turn(it.TurnID); tn.State == turns.Active && tn.Resumable && tn.Progress == turns.Waiting {
			ids = append(ids, it.ItemID)
		}
	}
	return ids
}

// checkOutlived checks that the questions are open after the start, or have expired.
func (w *world) checkOutlived(ids []string) {
	for _, id := range ids {
		it := w.h.item(id)
		content, err := items.Decode(it.Content)
		if err != nil {
			w.h.t.Fatal(err)
		}
		due, _ := items.Expiry(content)
		if it.Status != items.StatusPending && time.Now().Before(due) {
			w.h.t.Errorf("question %s did not outlive the server: %s %s", id, it.Status, it.Content)
		}
		w.outlived++
	}
}

// reached counts a script that the agent has received. The caller holds mu.
func (w *world) reached(p *turns.Prompt, i int) {
	w.got[given{i, p.Attempt}]++
	if w.seen[p.TurnID] == nil {
		w.seen[p.TurnID] = map[int]bool{}
	}
	w.seen[p.TurnID][i] = true
}

// allAgain checks that an attempt gets all input that earlier ones have received.
func (w *world) allAgain(p *turns.Prompt) {
	w.mu.Lock()
	defer w.mu.Unlock()
	has := map[int]bool{}
	for _, m := range p.Input {
		var i int
		if _, err := fmt.Sscan(m.Text(), &i); err == nil {
			has[i] = true
		}
	}
	for i := range w.seen[p.TurnID] {
		if !has[i] {
			w.h.t.Errorf("attempt %d of %s got %d texts and not %d, which an earlier one has got", p.Attempt, p.TurnID, len(p.Input), i)
		}
	}
}

func (w *world) step(ctx context.Context, p *turns.Prompt, step string) error {
	id := items.NewID()
	open := items.Create{ItemID: id, Content: items.NewAgentMessage("")}
	end := items.Update{ItemID: id, Status: items.StatusCompleted}
	switch step {
	case "message":
		return p.Emit(ctx, open, items.Append{ItemID: id, Text: "hello "}, items.Append{ItemID: id, Text: "world"}, end)
	case "half":
		return p.Emit(ctx, open, items.Append{ItemID: id, Text: "half a sen"})
	case "delete":
		return p.Emit(ctx, items.Create{ItemID: id, Status: items.StatusCompleted, Content: items.NewAgentMessage("x")}, items.Delete{ItemID: id})
	case "tool":
		if err := p.Emit(ctx, items.Create{ItemID: id, Content: tool("1", nil)}, items.Append{ItemID: id, Text: "out"}); err != nil {
			return err
		}
		return p.Emit(ctx, items.Update{ItemID: id, Status: items.StatusFailed})
	case "ask":
		_, err := p.Ask(ctx, permission(), turns.AskOptions{ExpiresAfter: 40 * time.Second, OnExpiry: items.RejectOnce})
		return err
	case "ask over restarts":
		_, err := p.Ask(ctx, permission(), turns.AskOptions{ExpiresAfter: 40 * time.Second, OnExpiry: items.RejectOnce, Resumes: true})
		return err
	case "bad":
		return p.Emit(ctx, items.Append{ItemID: "none", Text: "x"}, items.Create{ItemID: id, Content: permission()})
	case "progress":
		return p.Emit(ctx, items.Progress{Message: "one"}, items.Progress{Message: "two"})
	case "sync":
		create := items.Create{ItemID: id, Status: items.StatusCompleted, Content: items.NewAgentMessage("kept")}
		if err := p.Emit(ctx, create); err != nil {
			return err
		}
		if err := p.Sync(ctx); err != nil {
			return err
		}
		if it, err := w.h.faults.Item(bg, id); err != nil || it == nil {
			w.h.t.Errorf("sync came back before %s was there: %v", id, err)
		}
		return nil
	case "title":
		return p.Emit(ctx, items.SetThread{Title: id, AgentSessionID: "s"}, items.Progress{State: "starting"}, items.Progress{State: "running"})
	case "taking text":
		p.OnSteer(func(_ context.Context, m items.UserMessage) error { return w.inject(p, m) })
		return nil
	case "step":
		return p.Emit(ctx, items.StepStart{Step: "a"})
	case "nested":
		return p.Emit(ctx, items.StepStart{Step: "a/b", Reason: "why not"})
	case "in step":
		return p.Emit(ctx, inStep("a", "in a"), items.Append{ItemID: id, Text: "x"})
	case "in nested":
		c := inStep("a/b", "in a/b")
		return p.Emit(ctx, c, items.Append{ItemID: c.ItemID, Text: "more"})
	case "end step":
		return p.Emit(ctx, items.StepEnd{Step: "a"})
	case "many steps":
		return p.Emit(ctx, items.StepStart{Step: "a/b/c"}, inStep("a/b/c", "1"), items.StepStart{Step: "a/b"}, inStep("a/b", "2"), items.StepStart{Step: "a/b/c"}, items.StepStart{Step: "a"})
	case "configured ask":
		_, err := p.Ask(ctx, permission(), turns.AskOptions{OptionID: "no"})
		return err
	case "usage":
		return p.Emit(ctx, items.SetUsage{Usage: items.Usage{TotalTokens: 1}})
	case "flood":
		for range 40 {
			if err := p.Emit(ctx, open, items.Append{ItemID: id, Text: "flood"}, end); err != nil {
				return err
			}
			id = items.NewID()
			open.ItemID, end.ItemID = id, id
		}
		return nil
	}
	timer := time.NewTimer(700 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// inject accepts every other text.
func (w *world) inject(p *turns.Prompt, m items.UserMessage) error {
	var i int
	if _, err := fmt.Sscan(m.Text(), &i); err != nil || i%2 > 0 {
		return turns.ErrNotInjected
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reached(p, i)
	return nil
}

// random is the agent of the model: its prompts are scripts.
type random struct{ w *world }

func (random) Info() turns.AgentInfo { return turns.AgentInfo{Name: "random", Kind: "func"} }

func (r random) Run(ctx context.Context, p *turns.Prompt) turns.Outcome { return r.w.run(ctx, p) }

func (random) Configure(_ context.Context, t turns.AgentThread, set map[string]jsontext.Value) (turns.AgentThread, error) {
	time.Sleep(10 * time.Millisecond)
	t.Config = jsontext.Value(`{"mode":` + string(set["mode"]) + `}`)
	return t, nil
}

func (random) Fork(_ context.Context, t turns.AgentThread, _ string) (turns.AgentThread, error) {
	time.Sleep(10 * time.Millisecond)
	return t, nil
}

// speak emits a message in a thread outside of its turns.
func (w *world) speak(e *engine.Engine, thread string) {
	create := items.Create{ItemID: items.NewID(), Status: items.StatusCompleted, Content: items.NewAgentMessage("by the way")}
	err := e.Host().Emit(bg, thread, []items.Op{create, items.SetThread{Title: create.ItemID}})
	if w.ok("speak", err) {
		w.record(func() { w.spoken = append(w.spoken, create.ItemID) })
	}
}

// expected are the errors that a client may get in a state that does not allow its command.
var expected = []error{
	threads.ErrNotFound, threads.ErrClosed, threads.ErrPaused, turns.ErrBusy, turns.ErrNotFound, turns.ErrNotActive,
	turns.ErrNotEnded, turns.ErrCompleted, turns.ErrReviewed, turns.ErrNotInReview, turns.ErrContinued, turns.ErrChain, turns.ErrQueueFull, ledger.ErrStorageFull, turns.ErrDraining, turns.ErrOverloaded, items.ErrNotFound, items.ErrAlreadyResolved,
}

func (w *world) ok(what string, err error) bool {
	if err == nil {
		return true
	}
	if !slices.ContainsFunc(expected, func(e error) bool { return errors.Is(err, e) }) {
		w.h.t.Errorf("%s: %v", what, err)
	}
	return false
}

func (w *world) turn(pick int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.order) == 0 {
		return "turn_none"
	}
	// The newest are the interesting ones.
	return w.order[len(w.order)-1-pick%min(len(w.order), 6)]
}

// do executes one move.
func (w *world) do(e *engine.Engine, m move) {
	time.Sleep(m.Wait)
	th := fmt.Sprint("t", m.Thread)
	var policy *turns.RetryPolicy
	if m.Pick%5 > 0 {
		policy = &turns.RetryPolicy{OnCrash: turns.CrashRetry, MaxAttempts: m.Pick % 5, BackoffSeconds: float64(m.Pick%3) + 0.2}
	}
	switch m.Kind {
	case "start":
		w.start(e, turns.Start{ThreadID: th, Input: w.input(m.Script), TimeoutSeconds: float64(m.Pick%7) * 3, Retry: policy})
	case "reject":
		w.start(e, turns.Start{ThreadID: th, Input: w.input(m.Script), OnBusy: turns.BusyReject, Retry: policy})
	case "interrupting start":
		w.start(e, turns.Start{ThreadID: th, Input: w.input(m.Script), OnBusy: turns.BusyInterrupt, Retry: policy})
	case "steering start":
		w.start(e, turns.Start{ThreadID: th, Input: w.input(m.Script), OnBusy: turns.BusySteer, Retry: policy})
	case "again":
		w.again(e, turns.Start{ThreadID: th, Input: w.input(m.Script)}, m.Pick)
	case "steer", "cut":
		r, err := e.Steer(bg, turns.Steer{TurnID: w.turn(m.Pick), Input: w.input(m.Script), Interrupt: m.Kind == "cut"})
		if w.ok(m.Kind, err) {
			w.record(func() { w.steered[r.ItemIDs[0]] = r.Seq })
		}
	case "interrupt":
		id := w.turn(m.Pick)
		r, _, err := e.Interrupt(bg, turns.Interrupt{TurnID: id})
		if w.ok(m.Kind, err) {
			w.record(func() { w.stopped[r.TurnID] = true })
		}
	case "retry":
		r, err := e.Retry(bg, turns.Retry{TurnID: w.turn(m.Pick)})
		if w.ok("retry", err) {
			w.record(func() { w.retried[r.TurnID] = true })
		}
	case "respond":
		w.respond(e, m.Pick)
	case "pause thread":
		_, err := e.ChangeThread(bg, turns.ChangeThread{ThreadID: th, Verb: threads.VerbPause})
		w.ok(m.Kind, err)
	case "resume thread":
		_, err := e.ChangeThread(bg, turns.ChangeThread{ThreadID: th, Verb: threads.VerbResume})
		w.ok(m.Kind, err)
	case "close":
		if m.Pick%4 > 0 || w.neverClose {
			return // otherwise little would happen
		}
		if _, err := e.ChangeThread(bg, turns.ChangeThread{ThreadID: th, Verb: threads.VerbClose}); w.ok(m.Kind, err) {
			w.record(func() { w.closed[th] = true })
		}
	case "thread":
		_, err := e.StartThread(bg, turns.StartThread{ThreadID: th})
		w.ok(m.Kind, err)
	case "pause", "pause a while":
		p := turns.Pause{}
		if m.Kind != "pause" {
			p.TimeoutSeconds = 1
		}
		_, err := e.Pause(bg, p)
		w.ok(m.Kind, err)
	case "resume":
		_, err := e.Resume(bg, turns.Resume{})
		w.ok(m.Kind, err)
	case "configure":
		r, err := e.ThreadConfigure(bg, turns.Configure{ThreadID: th, Config: settings(fmt.Sprint(m.Pick))})
		if w.ok(m.Kind, err) && string(r.Config) != fmt.Sprintf(`{"mode":%d}`, m.Pick) {
			w.h.t.Errorf("configured %d: %s", m.Pick, r.Config)
		}
	case "rename":
		r, err := e.ThreadRename(bg, turns.RenameThread{ThreadID: th, Title: fmt.Sprint("title ", m.Pick)})
		if w.ok(m.Kind, err) && (r.Title != fmt.Sprint("title ", m.Pick) || r.TitleBy != threads.ByClient) {
			w.h.t.Errorf("renamed %d: %+v", m.Pick, r)
		}
	case "give back":
		r, err := e.ThreadRename(bg, turns.RenameThread{ThreadID: th})
		if w.ok(m.Kind, err) && r.TitleBy != "" {
			w.h.t.Errorf("given back: %+v", r)
		}
	case "move":
		r, err := e.ThreadConfigure(bg, turns.Configure{ThreadID: th, Cwd: fmt.Sprintf("/nowhere/%d", m.Pick)})
		if w.ok(m.Kind, err) && r.Cwd != fmt.Sprintf("/nowhere/%d", m.Pick) {
			w.h.t.Errorf("moved %d: %+v", m.Pick, r)
		}
	case "fork":
		_, err := e.ThreadFork(bg, turns.Fork{ThreadID: th})
		w.ok(m.Kind, err)
	case "speak":
		w.speak(e, th)
	case "disk full":
		w.h.faults.failAll(ledger.ErrStorageFull)
		time.Sleep(800 * time.Millisecond)
		w.h.faults.fail(nil)
	default:
		panic(m.Kind)
	}
}

func (w *world) record(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

func (w *world) start(e *engine.Engine, c turns.Start) {
	r, err := e.Start(bg, c)
	if !w.ok("start", err) {
		return
	}
	w.record(func() {
		if r.Steered {
			w.steered[r.ItemIDs[0]] = r.Seq
			return
		}
		w.started[r.TurnID] = r
		w.order = append(w.order, r.TurnID)
	})
}

// again uses a key for the first time or again.
func (w *world) again(e *engine.Engine, c turns.Start, pick int) {
	w.mu.Lock()
	if n := len(w.keys); n > 0 && pick%3 > 0 {
		i := pick % n
		c, first := w.keys[i], w.first[i]
		w.mu.Unlock()
		if r, err := e.Start(bg, c); w.ok("again", err) && fmt.Sprint(r) != fmt.Sprint(first) {
			w.h.t.Errorf("key %s: first %+v, again %+v", c.Key.Key, first, r)
		}
		return
	}
	w.mu.Unlock()
	c.Key = key(items.NewID(), "turn/start", c.ThreadID)
	r, err := e.Start(bg, c)
	if !w.ok("start with a key", err) {
		return
	}
	w.record(func() {
		w.keys, w.first = append(w.keys, c), append(w.first, r)
		w.started[r.TurnID] = r
		w.order = append(w.order, r.TurnID)
	})
}

func (w *world) respond(e *engine.Engine, pick int) {
	l, err := w.h.reader.ListItems(bg, items.Query{Status: items.StatusPending})
	if err != nil || len(l.Rows) == 0 {
		return
	}
	id := l.Rows[pick%len(l.Rows)].ItemID
	r, err := e.Respond(bg, turns.Respond{ItemID: id, OptionKind: []string{items.AllowOnce, items.RejectOnce}[pick%2]})
	if w.ok("respond", err) {
		w.record(func() {
			if s, twice := w.answered[id]; twice {
				w.h.t.Errorf("%s was answered %s and %s", id, s, r.Status)
			}
			w.answered[id] = r.Status
		})
	}
}

// settle waits until everything has ended.
func (w *world) settle() {
	h := w.h
	h.faults.heal()
	time.Sleep(2 * engine.HeldRetry) // until then a held thread still refuses with storage_full
	h.resume()
	for i := range 4 {
		// The thread may be closed, or not exist.
		_, err := h.engine.ChangeThread(bg, turns.ChangeThread{ThreadID: fmt.Sprint("t", i), Verb: threads.VerbResume})
		w.ok("resume", err)
	}
	for range 1000 {
		c, err := h.reader.Counts(bg)
		if err != nil {
			h.t.Fatalf("counts: %v", err)
		}
		if c.TurnsActive+c.TurnsQueued == 0 {
			break
		}
		time.Sleep(time.Minute)
	}
	synctest.Wait()
	h.pump()
	if g := h.engine.Gate(); g != (engine.GateState{}) {
		h.t.Errorf("at rest the gate holds %+v", g)
	}
	if l := h.engine.Load(); l.Active != 0 || l.Waiting != 0 {
		h.t.Errorf("at rest the engine has %+v", l)
	}
}

// check compares the answers to clients with the log.
func (w *world) check() {
	t := w.h.t
	first, last := map[string]event{}, map[string]event{}
	closed := map[string]bool{}
	items := map[string]event{}
	for _, e := range w.h.seen {
		switch {
		case e.ItemID != "":
			items[e.ItemID] = e
		case e.TurnID != "" && e.Method != notify.TurnLate:
			if _, ok := first[e.TurnID]; !ok {
				first[e.TurnID] = e
			}
			last[e.TurnID] = e
		case e.Method == notify.ThreadClosed:
			closed[e.ThreadID] = true
		}
	}
	for id, r := range w.started {
		e, ok := first[id]
		if !ok || e.State != string(r.State) || e.Position != r.Position || e.Seq > r.Seq {
			t.Errorf("told %+v, the log has %s", r, e)
		}
	}
	for id, e := range last {
		if !terminal(e.Method) {
			t.Errorf("turn %s never ended: %s", id, e)
		}
	}
	for id := range w.stopped {
		if e := last[id]; e.Method != notify.TurnInterrupted && !w.retried[id] {
			t.Errorf("an interrupt of %s was accepted: %s", id, e)
		}
	}
	for id, seq := range w.steered {
		if e, ok := items[id]; !ok || e.Seq < seq || e.Status.Open() {
			t.Errorf("steered text of %d: %s", seq, e)
		}
	}
	for id, status := range w.answered {
		if e := items[id]; e.Status != status {
			t.Errorf("answered %s: %s", status, e)
		}
	}
	for i, n := range w.got {
		if n > 1 {
			t.Errorf("script %d reached the agent %d times in attempt %d", i.script, n, i.attempt)
		}
	}
	for id, n := range w.told {
		if e := items[id]; n > 1 || e.Status.Open() {
			t.Errorf("the answer of %s was told %d times", e, n)
		}
	}
	for _, id := range w.spoken {
		// A crash loses what was not committed yet, and closed threads accept nothing.
		if e, ok := items[id]; e.TurnID != "" || (!ok && w.neverClose) {
			t.Errorf("said outside of a turn: %s", e)
		}
	}
	for id := range w.closed {
		if !closed[id] {
			t.Errorf("thread %s was never closed", id)
		}
	}
}

// play runs the programs of the clients at once, and everything again after
// each crash. drains says how long a crash is preceded by a stop in order; 0 = not.
func (w *world) play(phases [][][]move, crashAfter, drains []time.Duration) {
	h := w.h
	for i, clients := range phases {
		for j := range 4 {
			title := ""
			if j%2 == 0 {
				title = "given"
			}
			if _, err := h.engine.StartThread(bg, turns.StartThread{ThreadID: fmt.Sprint("t", j), Title: title}); err != nil {
				w.ok("thread", err)
			}
		}
		var wg sync.WaitGroup
		engine := h.engine
		for _, moves := range clients {
			wg.Go(func() {
				for _, m := range moves {
					w.do(engine, m)
				}
			})
		}
		if i == len(phases)-1 {
			wg.Wait()
			return
		}
		time.Sleep(crashAfter[i])
		if drains[i] > 0 {
			ctx, cancel := context.WithTimeout(bg, drains[i])
			_ = engine.Drain(ctx) // a second signal may come before it is over
			cancel()
		}
		stop := h.stop
		h.stop = nil
		outliving := w.crash(stop, &wg)
		h.up()
		w.checkOutlived(outliving)
	}
}

// crash stops the engine while clients are at work, and the store after they have
// been refused.
func (w *world) crash(stop func(), wg *sync.WaitGroup) (outliving []string) {
	w.h.stopEngine()
	wg.Wait()
	w.h.pump()
	outliving = w.outliving()
	stop()
	return outliving
}

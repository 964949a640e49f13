package rpc

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/notify/fold"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// memory is a log and rows without a disk: what rpc needs of a store.
type memory struct {
	mu      sync.Mutex
	events  []notify.Event
	first   int64
	tail    *notify.Tail
	threads map[string]*threads.Thread
	seqs    map[string]int64
	ahead   int64 // what Position says beyond the events that are there
	held    int64 // how many of the events are not published yet: readers have them
	scan    int64 // how many events one page looks at; 0 = all
	markers []fold.Marker
	tries   map[int64]*notify.Span // that stand, by Seq

	pages chan struct{} // Page waits until it is closed; nil = it does not

	slow time.Duration // what ListThreads takes, if its context does not end

	itemQuery items.Query     // of the last ListItems
	turnQuery turns.TurnQuery // of the last ReadTurn
}

func newMemory(tailBytes int) *memory {
	return &memory{first: 1, tail: notify.NewTail(tailBytes, 0), threads: map[string]*threads.Thread{}, seqs: map[string]int64{}, tries: map[int64]*notify.Span{}}
}

// append commits events of one thread and publishes them.
func (m *memory) append(t testing.TB, drafts ...notify.Draft) (last int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.commit(t, drafts...)
	m.publish()
	return m.latest()
}

// commit is the first half of append; the caller holds mu.
func (m *memory) commit(t testing.TB, drafts ...notify.Draft) {
	var fresh []notify.Event
	for _, d := range drafts {
		if err := d.Encode(); err != nil {
			t.Error(err)
		}
		id := d.Header.ThreadID
		if id != "" {
			m.seqs[id]++
		}
		fresh = append(fresh, d.Event(int64(len(m.events)+len(fresh))+1, m.seqs[id]))
		m.fold(t, &d, &fresh[len(fresh)-1])
	}
	m.events = append(m.events, fresh...)
	m.held += int64(len(fresh))
}

// publish is the second half of append.
func (m *memory) publish() {
	m.tail.Publish(m.events[m.latest()-m.held:])
	m.held = 0
}

// fold does with tries and markers what a store does.
func (m *memory) fold(t testing.TB, d *notify.Draft, e *notify.Event) {
	if e.Span == e.Seq {
		m.tries[e.Seq] = d.Span
	}
	if e.Method != notify.StreamRewind {
		return
	}
	read, err := fold.Parse(e.Method, e.Params)
	if err != nil {
		t.Error(err)
	}
	marker, _ := fold.MarkerOf(&read)
	m.markers = append(m.markers, marker)
	var of fold.Markers
	of.Add(marker)
	for seq, span := range m.tries {
		if after, hidden := of.Hides(span.Lineage); hidden && span.TurnID == marker.TurnID {
			e.Hides = append(e.Hides, notify.Hidden{Span: seq, After: after})
			delete(m.tries, seq)
		}
	}
}

// leavesOut reports whether collapse leaves the event out, as of the newest
// event.
func (m *memory) leavesOut() func(e *notify.Event) bool {
	c := fold.NewCollapser(m.latest(), m.markers...)
	return func(e *notify.Event) bool {
		read, err := fold.Parse(e.Method, e.Params)
		return err == nil && c.LeavesOut(&read)
	}
}

func (m *memory) latest() int64 { return int64(len(m.events)) }

// prune forgets the events before seq.
func (m *memory) prune(before int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.first = before
}

func (m *memory) Page(_ context.Context, q notify.Query) (notify.Page, error) {
	if m.pages != nil {
		<-m.pages
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p := notify.Page{Scanned: q.After, Latest: m.latest(), First: m.first}
	leavesOut := func(*notify.Event) bool { return false }
	if q.Collapse {
		p.AsOf, leavesOut = p.Latest, m.leavesOut()
	}
	size := 0
	for seq := max(q.After+1, m.first); seq <= m.latest(); seq++ {
		if m.scan > 0 && seq > q.After+m.scan {
			p.More = true
			break
		}
		e := m.events[seq-1]
		brief := q.Summary && !slices.Contains(q.Whole, e.ThreadID)
		if q.Filter.Match(e.ThreadID, e.Method) && !leavesOut(&e) && !(brief && e.Method == notify.ItemDelta) {
			if len(p.Events) == q.MaxEvents || len(p.Events) > 0 && size+len(e.Params) > q.MaxBytes {
				p.More = true
				break
			}
			if q.Parts && len(e.Params) > q.MaxBytes {
				p.Events = append(p.Events, notify.Event{Seq: seq, Method: e.Method, ThreadID: e.ThreadID})
				p.Scanned, p.More = seq, seq < p.Latest
				break
			}
			p.Events = append(p.Events, e)
			size += len(e.Params)
		}
		p.Scanned = seq
	}
	return p, nil
}

// Part implements notify.Log.
func (m *memory) Part(_ context.Context, seq int64, offset int, summary bool, b []byte) (n, size int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if seq < m.first {
		return 0, 0, &notify.ExpiredError{After: seq - 1, First: m.first}
	}
	e := m.events[seq-1]
	if summary {
		e.Params = notify.AppendSummary(nil, e.Method, e.Params)
	}
	return copy(b, e.Params[min(offset, len(e.Params)):]), len(e.Params), nil
}

func (m *memory) Position(context.Context) (api.Position, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return api.Position{LogID: testLogID, First: m.first, Latest: m.latest() + m.ahead}, nil
}

func (m *memory) Counts(ctx context.Context) (turns.Counts, error) {
	p, err := m.Position(ctx)
	return turns.Counts{Position: p, Threads: int64(len(m.threads))}, err
}

func (m *memory) ReadThread(_ context.Context, id string, _ int) (turns.ThreadSnapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return turns.ThreadSnapshot{Thread: m.threads[id], Latest: m.latest()}, nil
}

func (m *memory) ListThreads(ctx context.Context, q threads.Query) (turns.List[threads.Thread], error) {
	if m.slow > 0 {
		select {
		case <-ctx.Done():
			return turns.List[threads.Thread]{}, ctx.Err()
		case <-time.After(m.slow):
		}
	}
	if q.Cursor != "" {
		return turns.List[threads.Thread]{}, notify.ErrBadCursor
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	l := turns.List[threads.Thread]{Latest: m.latest()}
	for _, id := range slices.Sorted(maps.Keys(m.threads)) {
		l.Rows = append(l.Rows, *m.threads[id])
	}
	return l, nil
}

// Summaries has no more than threads.
func (m *memory) Summaries(ctx context.Context, q turns.SummaryQuery) (turns.SummaryList, error) {
	l, err := m.ListThreads(ctx, q.Query)
	out := turns.SummaryList{}
	out.Latest = l.Latest
	if q.Counts {
		out.Counts = &turns.StatusCounts{Done: len(l.Rows)}
	}
	for i := range l.Rows {
		if q.IDs == nil || slices.Contains(q.IDs, l.Rows[i].ThreadID) {
			out.Rows = append(out.Rows, turns.Summarized{Thread: l.Rows[i], Summary: turns.Summary{Status: turns.SummaryIdle}})
		}
	}
	return out, err
}

func (m *memory) ReadTurn(_ context.Context, q turns.TurnQuery) (turns.TurnSnapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turnQuery = q
	if q.TurnID != "tried" {
		return turns.TurnSnapshot{}, nil
	}
	s := turns.TurnSnapshot{Turn: &turns.Turn{TurnID: q.TurnID, State: turns.Active, Attempt: 2}, Latest: m.latest()}
	s.Attempts = []turns.Step{{Seq: 1, TurnID: q.TurnID, Epoch: 1, Superseded: true, HiddenBy: 4}, {Seq: 5, TurnID: q.TurnID, Epoch: 2}}
	s.Steps = []turns.Step{{Seq: 6, TurnID: q.TurnID, Step: "setup", Epoch: 2}}
	return s, nil
}

func (m *memory) Children(context.Context, string) (turns.Children, error) {
	return turns.Children{}, nil
}

func (m *memory) ListTurns(context.Context, turns.Query) (turns.List[turns.Turn], error) {
	return turns.List[turns.Turn]{}, nil
}

func (m *memory) ReadItem(_ context.Context, id string) (*items.Item, int64, error) {
	if !strings.HasPrefix(id, "big") {
		return nil, m.latest(), nil
	}
	var n int
	_, _ = fmt.Sscanf(id, "big%d", &n)
	return &items.Item{ItemID: id, Content: jsontext.Value(`{"type":"reasoning","text":"` + strings.Repeat("x", n) + `"}`)}, m.latest(), nil
}

func (m *memory) ListItems(_ context.Context, q items.Query) (turns.List[items.Item], error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.itemQuery = q
	return turns.List[items.Item]{}, nil
}

func (m *memory) ListSteps(context.Context, turns.StepQuery) (turns.List[turns.Step], error) {
	return turns.List[turns.Step]{}, nil
}

// fakeEngine does the minimum of each command.
type fakeEngine struct {
	sent   chan string // what follows the answers of Pause; nil = nothing
	t      testing.TB
	memory *memory

	mu       sync.Mutex
	calls    []string
	stubborn map[string]chan turns.InterruptResult // turns that end only when told
	block    chan struct{}                         // turn/start waits for it, if not nil
	asked    chan struct{}                         // thread/configure waits for it, if not nil
	failWith error
}

func (e *fakeEngine) note(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls = append(e.calls, fmt.Sprintf(format, args...))
}

func (e *fakeEngine) called() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string{}, e.calls...)
}

// noPruner has nothing to prune.
type noPruner struct{}

func (noPruner) Prune(context.Context, int64, *ledger.Key) (turns.PruneResult, error) {
	return turns.PruneResult{FirstSeq: 1}, nil
}

func draft(method, threadID string, body any) notify.Draft {
	return notify.Draft{Method: method, Header: notify.Header{ThreadID: threadID, Timestamp: notify.TimeOf(time.UnixMilli(1_700_000_000_000))}, Body: body}
}

func (e *fakeEngine) StartAndWait(ctx context.Context, c turns.Start, _ string) (turns.StartResult, func(context.Context) (turns.StartResult, func(bool), error), error) {
	e.note("StartAndWait")
	r, err := e.Start(ctx, c)
	return r, func(context.Context) (turns.StartResult, func(bool), error) { return r, nil, nil }, err
}

func (e *fakeEngine) Await(_ context.Context, c turns.Await, _ string) (turns.AwaitResult, func(bool), error) {
	if c.TimeoutSeconds != nil {
		e.note("Await %v for %v s", c.TurnIDs, *c.TimeoutSeconds)
	} else {
		e.note("Await %v", c.TurnIDs)
	}
	if e.sent != nil {
		return turns.AwaitResult{}, func(ok bool) { e.sent <- fmt.Sprint("await ", ok) }, nil
	}
	return turns.AwaitResult{}, nil, nil
}

func (e *fakeEngine) Detach(_ context.Context, c turns.DetachTurn) (turns.DetachResult, error) {
	e.note("Detach %s", c.TurnID)
	return turns.DetachResult{TurnID: c.TurnID, AttentionPolicy: turns.Notify}, nil
}

func (e *fakeEngine) StartThread(_ context.Context, c turns.StartThread) (turns.StartThreadResult, error) {
	e.note("StartThread %s", c.ThreadID)
	if e.failWith != nil {
		return turns.StartThreadResult{}, e.failWith
	}
	id := c.ThreadID
	if id == "" {
		id = threads.NewID()
	}
	seq := e.memory.append(e.t, draft(notify.ThreadStarted, id, &threads.Changed{Type: "started", State: threads.Running, SessionID: id}))
	e.memory.mu.Lock()
	e.memory.threads[id] = &threads.Thread{ThreadID: id, SessionID: id, State: threads.Running, Parent: c.Parent}
	if c.Parent != nil {
		e.memory.threads[id].Level = 1
	}
	e.memory.mu.Unlock()
	return turns.StartThreadResult{ThreadID: id, SessionID: id, State: threads.Running, Created: true, Seq: seq}, nil
}

func (e *fakeEngine) ChangeThread(_ context.Context, c turns.ChangeThread) (turns.ChangeThreadResult, error) {
	return turns.ChangeThreadResult{}, fmt.Errorf("change: %w", threads.ErrClosed)
}

func (e *fakeEngine) CloseThread(_ context.Context, c turns.CloseThread) (turns.ChangeThreadResult, <-chan turns.ChangeThreadResult, error) {
	return turns.ChangeThreadResult{}, nil, fmt.Errorf("close: %w", threads.ErrClosed)
}

func (e *fakeEngine) ThreadConfigure(ctx context.Context, c turns.Configure) (turns.ConfigureResult, error) {
	e.note("ThreadConfigure %s %s", c.ThreadID, c.Config["mode"])
	if e.sent != nil {
		api.AfterSent(ctx, func(ok bool) { e.sent <- fmt.Sprint("configure ", ok) })
	}
	if e.asked != nil {
		select {
		case <-e.asked:
		case <-ctx.Done():
			return turns.ConfigureResult{}, context.Cause(ctx)
		}
	}
	if e.failWith != nil {
		return turns.ConfigureResult{}, e.failWith
	}
	return turns.ConfigureResult{ThreadID: c.ThreadID, Config: jsontext.Value(`{"mode":"plan"}`)}, nil
}

func (e *fakeEngine) ThreadRename(_ context.Context, c turns.RenameThread) (turns.RenameThreadResult, error) {
	e.note("ThreadRename %s %q", c.ThreadID, c.Title)
	return turns.RenameThreadResult{ThreadID: c.ThreadID, Title: c.Title}, e.failWith
}

func (e *fakeEngine) ThreadFork(_ context.Context, c turns.Fork) (turns.ForkResult, error) {
	e.note("ThreadFork %s %s %s", c.ThreadID, c.AfterTurnID, c.NewThreadID)
	return turns.ForkResult{}, &turns.UnsupportedError{Agent: "echo", What: "cannot fork a conversation"}
}

func (e *fakeEngine) Start(_ context.Context, c turns.Start) (turns.StartResult, error) {
	text := ""
	if len(c.Input) > 0 && len(c.Input[0].Content) > 0 {
		text = c.Input[0].Content[0].Text
	}
	e.note("Start %s %s", c.ThreadID, text)
	if c.Retry != nil {
		e.note("retry %+v", *c.Retry)
	}
	if e.block != nil {
		<-e.block
	}
	if len(c.Input) == 0 {
		return turns.StartResult{}, &turns.InvalidError{Field: "input", Reason: "required", Text: "give at least one message"}
	}
	id := turns.NewID()
	seq := e.memory.append(e.t,
		draft(notify.TurnStarted, c.ThreadID, &turns.StartedEvent{Type: "started", State: turns.Active}),
		draft(notify.ItemCreated, c.ThreadID, &items.Created{ItemID: items.NewID(), Type: "created", Content: jsontext.Value(`{"type":"user_message"}`)}))
	return turns.StartResult{TurnID: id, ThreadID: c.ThreadID, State: turns.Active, Seq: seq}, nil
}

func (*fakeEngine) Review(context.Context, turns.ReviewTurn) (turns.ReviewTurnResult, error) {
	return turns.ReviewTurnResult{}, nil
}

func (e *fakeEngine) Retry(_ context.Context, c turns.Retry) (turns.RetryResult, error) {
	e.note("Retry %s %s", c.TurnID, c.Reason)
	return turns.RetryResult{TurnID: c.TurnID, State: turns.Active, Attempt: 2, Seq: e.memory.latest()}, e.failWith
}

func (e *fakeEngine) Steer(context.Context, turns.Steer) (turns.SteerResult, error) {
	panic("the agent's fault")
}

func (e *fakeEngine) Interrupt(ctx context.Context, c turns.Interrupt) (turns.InterruptResult, <-chan turns.InterruptResult, error) {
	e.note("Interrupt %s", c.TurnID)
	if e.sent != nil {
		api.AfterSent(ctx, func(ok bool) { e.sent <- fmt.Sprintf("%s %v", c.TurnID, ok) })
	}
	seq := e.memory.append(e.t, draft(notify.TurnProgress, "t", &turns.ProgressEvent{Type: "progress", State: turns.Interrupting}))
	r := turns.InterruptResult{TurnID: c.TurnID, State: "interrupting", Seq: seq}
	e.mu.Lock()
	defer e.mu.Unlock()
	if ended := e.stubborn[c.TurnID]; ended != nil {
		return r, ended, nil
	}
	r.State = "interrupted"
	return r, nil, nil
}

func (e *fakeEngine) Respond(context.Context, turns.Respond) (turns.RespondResult, error) {
	return turns.RespondResult{}, items.ErrAlreadyResolved
}

func (e *fakeEngine) Pause(ctx context.Context, c turns.Pause) (turns.PauseResult, error) {
	if e.sent != nil {
		api.AfterSent(ctx, func(ok bool) {
			if c.Reason == "panic" {
				panic("after the answer")
			}
			e.sent <- fmt.Sprintf("%.8s %v", c.Reason, ok)
		})
	}
	if len(c.Reason) > 64 {
		return turns.PauseResult{Message: c.Reason}, nil
	}
	if c.Key != nil {
		e.note("Pause %x", c.Key.Hash[:8])
	}
	return turns.PauseResult{Success: true, State: "paused"}, nil
}

func (e *fakeEngine) Resume(context.Context, turns.Resume) (turns.PauseResult, error) {
	return turns.PauseResult{}, fmt.Errorf("something in the disk: %w", context.Cause(context.Background()))
}
func (e *fakeEngine) State() string          { return "running" }
func (e *fakeEngine) Runtime() turns.Runtime { return turns.Runtime{} }
func (e *fakeEngine) Agents() []turns.AgentInfo {
	return []turns.AgentInfo{{Name: "echo", Kind: "echo"}}
}

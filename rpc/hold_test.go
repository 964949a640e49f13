package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// hastyEngine is an engine whose turns end as soon as they have started: the end of a turn is
// in the log before turn/start is answered.
type hastyEngine struct {
	*fakeEngine
	early func()              // what happens when the log has the events and the tail has not; nil = nothing
	late  func(turnID string) // what happens between the end of the turn and the answer; nil = nothing
	err   error               // that is answered after the commit
}

// Start commits like a store: readers of the log see the events first, then the caller hears
// of them, then they are in the tail.
func (e *hastyEngine) Start(_ context.Context, c turns.Start) (turns.StartResult, error) {
	id, m := c.Input[0].Content[0].Text, e.memory
	r := turns.StartResult{TurnID: id, ThreadID: c.ThreadID, State: turns.Active}
	m.mu.Lock()
	m.commit(e.t, draft(notify.TurnStarted, c.ThreadID, &turns.StartedEvent{Type: "started", State: turns.Active}), made(c.ThreadID))
	r.Seq = m.latest()
	m.commit(e.t, ended(c.ThreadID, id)) // of another unit of the transaction
	m.mu.Unlock()
	if e.early != nil {
		e.early()
	}
	if c.Key != nil && c.Key.Caller != nil {
		c.Key.Caller.Committed(r.Seq)
	}
	m.mu.Lock()
	m.publish()
	m.mu.Unlock()
	if e.late != nil {
		e.late(id)
	}
	return r, e.err
}

// StartAndWait is started by then, and late is what it waits for.
func (e *hastyEngine) StartAndWait(ctx context.Context, c turns.Start, _ string) (turns.StartResult, func(context.Context) (turns.StartResult, func(bool), error), error) {
	late := e.late
	e.late = nil
	r, err := e.Start(ctx, c)
	return r, func(context.Context) (turns.StartResult, func(bool), error) { late(r.TurnID); return r, nil, nil }, err
}

func made(threadID string) notify.Draft {
	return draft(notify.ItemCreated, threadID, &items.Created{ItemID: items.NewID(), Type: "created"})
}

func ended(threadID, turnID string) notify.Draft {
	d := draft(notify.TurnCompleted, threadID, &turns.EndedEvent{Type: "completed", State: turns.Completed})
	d.Header.TurnID = turnID
	return d
}

func startOf(id int) string {
	return request(fmt.Sprint(id), "turn/start", fmt.Sprintf(`{"thread_id":"t","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"turn_%d"}]}]}`, id))
}

// hasty runs a test in a bubble, with hasty turns.
func hasty(t *testing.T, test func(t *testing.T, r *rig, e *hastyEngine)) {
	t.Helper()
	e := &hastyEngine{}
	inBubble(t, func(t *testing.T, r *rig) {
		e.fakeEngine = r.engine
		test(t, r, e)
	}, func(c *Config) { c.Engine, c.Children = e, e })
}

// overtaken is the metric.
func (r *rig) overtaken() (n float64) {
	r.t.Helper()
	reg := prometheus.NewRegistry()
	reg.MustRegister(r.server.Collector())
	families, err := reg.Gather()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "holon_answers_overtaken_total" {
			return f.Metric[0].GetCounter().GetValue()
		}
	}
	r.t.Fatal("there is no metric")
	return 0
}

// order reads lines until all are there, and compares their order.
func (st *stream) order(want ...string) {
	st.t.Helper()
	for _, what := range want {
		st.expect(what)
	}
}

func TestAnswerComesBeforeWhatFollowsItsCommit(t *testing.T) {
	for _, query := range []string{"", "?method=turn/*&method=item/*", "?collapse=superseded", "?content=summary", "?within_thread_id=t"} {
		t.Run(query, func(t *testing.T) {
			hasty(t, func(t *testing.T, r *rig, e *hastyEngine) {
				e.late = func(string) { synctest.Wait() } // the stream has gone as far as it may
				st := r.open(http.MethodPost, "/rpc/stream"+query)
				st.expect("stream/opened")
				for i := range 3 {
					st.send(startOf(i))
					st.order("turn/started", "item/created", fmt.Sprintf("#%d", i), "turn/completed")
				}
				if n := r.overtaken(); n != 0 {
					t.Errorf("%v answers were overtaken", n)
				}
			})
		})
	}
}

// A stream that reads the log, not the tail, sees a commit before it is published.
func TestAStreamThatCatchesUpPassesNoCommitBeforeItsAnswer(t *testing.T) {
	for _, query := range []string{"", "&method=turn/*&method=item/*", "&content=summary"} {
		for _, when := range []string{"before the commit is published", "after it"} {
			t.Run(query+" "+when, func(t *testing.T) {
				hasty(t, func(t *testing.T, r *rig, e *hastyEngine) {
					pages := make(chan struct{})
					r.memory.pages = pages
					read := func() {
						close(pages)
						synctest.Wait()
					}
					if e.late = func(string) { synctest.Wait() }; when == "after it" {
						e.late = func(string) { read() }
					} else {
						e.early = read
					}
					const before = 20
					for range before {
						r.memory.append(t, made("other"))
					}
					r.memory.tail = notify.NewTail(1, before)
					r.server.cfg.Tail = r.memory.tail
					st := r.open(http.MethodPost, "/rpc/stream?after_seq=0"+query)
					st.expect("stream/opened")
					st.send(startOf(1))
					for range before {
						st.expect("item/created")
					}
					st.order("turn/started", "item/created", "#1", "turn/completed")
				})
			})
		}
	}
}

func TestStreamWaitsForAnAnswerForAtMost100Milliseconds(t *testing.T) {
	hasty(t, func(t *testing.T, r *rig, e *hastyEngine) {
		answer := make(chan struct{})
		e.late = func(string) { <-answer }
		st := r.open(http.MethodPost, "/rpc/stream")
		st.expect("stream/opened")
		began := time.Now() // of the bubble: only waiting takes time
		st.send(startOf(1))
		st.order("turn/started", "item/created")
		if took := time.Since(began); took != 0 {
			t.Errorf("the events of the commit came after %v", took)
		}
		st.expect("turn/completed")
		if took := time.Since(began); took != holdFor {
			t.Errorf("what follows came after %v", took)
		}
		if n := r.overtaken(); n != 1 {
			t.Errorf("the metric says %v", n)
		}
		// It has waited once for this command: not again, whatever comes.
		r.memory.append(t, made("other"))
		st.expect("item/created")
		if took := time.Since(began); took != holdFor {
			t.Errorf("a further event came after %v", took)
		}
		close(answer)
		st.expect("#1")
		// The next command is waited for again.
		e.late = func(string) { synctest.Wait() }
		st.send(startOf(2))
		st.order("turn/started", "item/created", "#2", "turn/completed")
		if n := r.overtaken(); n != 1 {
			t.Errorf("the metric says %v", n)
		}
	})
}

// Events of others wait for one command only, however many are sent at once.
func TestManyCommandsInFlightHoldTheStreamOneAtATime(t *testing.T) {
	hasty(t, func(t *testing.T, r *rig, e *hastyEngine) {
		const n = 64
		e.late = func(string) { time.Sleep(holdFor * 9 / 10) }
		st := r.open(http.MethodPost, "/rpc/stream")
		st.expect("stream/opened")
		began := time.Now()
		var lines []string
		for i := range n {
			lines = append(lines, startOf(i))
		}
		st.send(strings.Join(lines, "\n"))
		synctest.Wait()
		r.memory.append(t, draft(notify.ThreadUpdated, "other", &threads.Changed{Type: "updated"}))
		st.order("turn/started", "item/created", "#0", "turn/completed", "thread/updated")
		if took := time.Since(began); took != holdFor*9/10 {
			t.Errorf("the event of another came after %v", took)
		}
		for i := 1; i < n; i++ {
			st.order("turn/started", "item/created", fmt.Sprintf("#%d", i), "turn/completed")
		}
		if n := r.overtaken(); n != 0 {
			t.Errorf("%v answers were overtaken", n)
		}
	})
}

func TestAnErrorAfterACommitComesBeforeWhatFollows(t *testing.T) {
	hasty(t, func(t *testing.T, r *rig, e *hastyEngine) {
		e.late, e.err = func(string) { synctest.Wait() }, errors.New("no")
		st := r.open(http.MethodPost, "/rpc/stream")
		st.expect("stream/opened")
		st.send(startOf(1))
		st.order("turn/started", "item/created", "#1", "turn/completed")
	})
}

// Of these the answer comes later, with others, or not at all.
func TestWhatIsNotAnsweredAtItsCommitHoldsNothing(t *testing.T) {
	start := startOf(1)
	waits := strings.Replace(start, `"thread_id"`, `"wait_seconds":5,"thread_id"`, 1)
	for name, line := range map[string]string{
		"a batch":            "[" + start + "]",
		"a notification":     strings.Replace(start, `"id":1,`, "", 1),
		"another stream":     "",
		"POST /rpc":          "",
		"one that waits":     waits,
		"a stream that left": "",
	} {
		t.Run(name, func(t *testing.T) {
			hasty(t, func(t *testing.T, r *rig, e *hastyEngine) {
				answer := make(chan struct{})
				e.late = func(string) { <-answer }
				st := r.open(http.MethodPost, "/rpc/stream")
				st.expect("stream/opened")
				began := time.Now()
				switch name {
				case "another stream":
					other := r.open(http.MethodPost, "/rpc/stream")
					other.send(start)
				case "POST /rpc":
					go r.post(start)
				case "a stream that left":
					other := r.open(http.MethodPost, "/rpc/stream")
					other.send(start)
					synctest.Wait()
					_ = other.in.CloseWithError(errors.New("gone"))
				default:
					st.send(line)
				}
				st.order("turn/started", "item/created", "turn/completed")
				if took := time.Since(began); took != 0 {
					t.Errorf("it held the stream for %v", took)
				}
				close(answer)
				synctest.Wait()
				if n := r.overtaken(); n != 0 {
					t.Errorf("the metric says %v", n)
				}
			})
		})
	}
}

// The writer may take the queue, find it empty, and read events after the answer was queued.
func TestAnAnswerInTheQueueHoldsTheStreamToo(t *testing.T) {
	m := newMemory(0)
	r := newRigWith(t, m)
	o := &outlet{server: r.server, duplex: newDuplex(4)}
	m.append(t, made("t"), made("t"), made("t"))
	var first, second hold
	first.begin(o.duplex)
	first.Committed(1)
	if got := mayReach(o); got != 1 {
		t.Errorf("before the answer is queued the stream may reach %d", got)
	}
	if _, ok := o.enqueue(answer{hold: &first}); !ok {
		t.Fatal("the answer is not queued")
	}
	second.begin(o.duplex)
	second.Committed(2)
	second.Committed(3) // a further unit of the command: the first one holds
	if got := mayReach(o); got != 1 {
		t.Errorf("while the answer is in the queue the stream may reach %d", got)
	}
	o.take()
	if got := mayReach(o); got != 2 {
		t.Errorf("when the first answer is taken the stream may reach %d", got)
	}
	first.Committed(3) // of a command that has been answered
	if first.release(); mayReach(o) != 2 {
		t.Error("the end of one command ends the hold of another")
	}
	if second.release(); mayReach(o) != 3 {
		t.Errorf("when nothing runs the stream may reach %d", mayReach(o))
	}
}

// The first commit of a log may be published after the writer has asked how far it may go.
func TestTheFirstCommitOfALogPassesNoAnswer(t *testing.T) {
	later := newMemory(0)
	r := newRigWith(t, newMemory(0)) // what the writer asks
	var w bytes.Buffer
	o := &outlet{server: r.server, w: &w, duplex: newDuplex(1), cursor: notify.NewCursor(later.tail, later, notify.Filter{}, 0)}
	defer o.drop()
	later.append(t, made("t"), made("t"))
	if wrote, moved, err := o.events(t.Context(), 0); wrote || moved || err != nil || w.Len() > 0 {
		t.Errorf("wrote %v, moved %v, %v: %s", wrote, moved, err, &w)
	}
	select {
	case <-mayWrite(o):
	default:
		t.Error("the writer is not woken for what was published meanwhile")
	}
}

// The answer of a command that waits may come to the queue before that of a command which has
// committed before it.
func TestALateAnswerInTheQueuePassesNoCommitBeforeItsAnswer(t *testing.T) {
	m := newMemory(0)
	r := newRigWith(t, m)
	var w bytes.Buffer
	o := &outlet{server: r.server, w: &w, duplex: newDuplex(8), cursor: notify.NewCursor(r.server.cfg.Tail, m, notify.Filter{}, 0)}
	defer o.drop()
	m.append(t, made("t"), made("t"), made("t"))
	var h hold
	h.begin(o.duplex)
	h.Committed(1)
	for _, a := range []answer{{line: []byte("#read\n")}, {line: []byte("#interrupt\n"), seq: 3}, {line: []byte("#list\n")}, {line: []byte("#start\n"), seq: 1, hold: &h}, {line: []byte("#last\n")}} {
		if _, ok := o.enqueue(a); !ok {
			t.Fatal("an answer is not queued")
		}
		o.slots <- struct{}{}
	}
	o.drain(t.Context())
	var got []string
	for line := range strings.Lines(w.String()) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") {
			line = "event"
		}
		got = append(got, line)
	}
	if want := "#read #list event #start event event #interrupt #last"; strings.Join(got, " ") != want {
		t.Errorf("%s, want %s", strings.Join(got, " "), want)
	}
}

// Nothing else wakes the writer then: a heartbeat would be the next.
func TestTheEndOfAHoldWakesTheStream(t *testing.T) {
	hasty(t, func(t *testing.T, r *rig, e *hastyEngine) {
		e.late = func(string) { synctest.Wait() }
		st := r.open(http.MethodPost, "/rpc/stream")
		st.expect("stream/opened")
		began := time.Now()
		st.send(startOf(1))
		st.order("turn/started", "item/created", "#1", "turn/completed")
		if took := time.Since(began); took != 0 {
			t.Errorf("what follows came %v after the answer", took)
		}
	})
}

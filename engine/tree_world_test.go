package engine_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// maxTreeTurns is how many turns clients and agents start in a run. Wakes come on top.
const maxTreeTurns = 30

// forest runs a program, and remembers what clients and agents have seen of it.
type forest struct {
	h *harness
	p *treeProgram
	f treeProfile
	v *variant

	mu       sync.Mutex
	started  int
	order    []string             // turns that were started, the oldest first
	queued   map[string]int64     // the seqs of answers to turn/start
	owners   map[string]string    // of child turns: the thread that is told
	notes    map[string]int64     // child turns that were said to be detached, and the seq
	prompts  map[string]int       // prompts so far, by thread
	given    map[string]entrySet  // entries that the agent has got, by attempt of a turn
	lists    map[string]string    // what it has got of child turns of earlier attempts
	reading  []string             // turns whose agents have not read yet what their prompts tell
	written  []writtenEnd         // ends that answers have shown to an owner's agent
	asking   []*asking            // requests that may have reserved ends
	verdicts int                  // that were given
	died     int                  // lives that died at a commit
	freed    int                  // child turns that were detached while their owner waited
	ended    []int64              // the newest seq of each life that is over
	began    []time.Time          // when lives began
	orderly  map[int]bool         // lives that ended after all that clients did, by a stop without a failing commit
	seen     map[string][]endSeen // ends that anybody was shown in an answer
	jobs     map[string]string    // what jobs have answered that have completed, by parent turn and name; "" = it was asked for
	rework   int                  // jobs that were found done in a later attempt
}

type entrySet map[string]bool

// writtenEnd is an end in an answer of turn/await that was written to the connection.
type writtenEnd struct {
	owner, turnID string
	entry         string
	seq           int64 // of the newest event then
	life          int
}

// endSeen is an end that an answer has shown.
type endSeen struct {
	state   turns.State
	attempt int
}

// asking is a request that may reserve ends, from the newest event when it began to that
// when it was over.
type asking struct {
	owner    string
	ids      []string // none = all
	from, to int64    // to is 0 while it is not over
}

func newForest(p *treeProgram, v *variant) *forest {
	return &forest{
		p: p, f: treeProfiles[p.Profile], v: v, queued: map[string]int64{}, owners: map[string]string{}, notes: map[string]int64{},
		orderly: map[int]bool{}, prompts: map[string]int{}, given: map[string]entrySet{}, lists: map[string]string{}, seen: map[string][]endSeen{},
		jobs: map[string]string{},
	}
}

// life is the server from a start to its end, as clients and agents use it.
type life struct {
	n    int
	e    *engine.Engine
	head func() int64
	ctx  context.Context // of connections
	cut  context.CancelFunc
	wg   sync.WaitGroup // what clients do
}

func (w *forest) record(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// branch is the agent of all threads. It is of kind acp, so that inboxes wake it.
type branch struct {
	w *forest
	l *life
}

func (*branch) Info() turns.AgentInfo { return turns.AgentInfo{Name: "branch", Kind: turns.KindACP} }

// attemptKey names an attempt of a turn.
func attemptKey(turnID string, attempt int) string { return fmt.Sprint(turnID, " ", attempt) }

// parentThread is the owner of a thread, "" if it is a root.
func parentThread(id string) string { return id[:len(id)-1] }

// below lists the child threads of a thread.
func (p *treeProgram) below(id string) (list []string) {
	for _, th := range p.Threads {
		if parentThread(th) == id {
			list = append(list, th)
		}
	}
	return list
}

// thoughts are how long an agent thinks.
var thoughts = append([]time.Duration{4 * time.Second, time.Millisecond, time.Millisecond}, waits[4:]...)

// Run does with a prompt what the seed says about the prompts of this thread.
func (b *branch) Run(ctx context.Context, p *turns.Prompt) turns.Outcome {
	w, l := b.w, b.l
	var n int
	w.record(func() {
		n = w.prompts[p.ThreadID]
		w.prompts[p.ThreadID]++
	})
	r := rand.New(rand.NewPCG(w.p.Seed, hashOf(fmt.Sprint(p.ThreadID, " ", n))))
	stopped := turns.Outcome{State: turns.Interrupted}
	crashed := turns.Outcome{State: turns.Failed, Cause: turns.CauseCrash, Failure: &turns.Failure{Kind: "agent_failed", Message: "it died"}}
	think := func() bool {
		select {
		case <-time.After(oneOf(r, thoughts)): // never at once: a loop of prompts takes time
			return true
		case <-ctx.Done():
			return false
		}
	}
	tells := slices.ContainsFunc(p.Input, func(m items.UserMessage) bool { return len(m.Entries) > 0 })
	if tells {
		w.record(func() { w.reading = append(w.reading, p.TurnID) })
	}
	read := think()
	if tells {
		w.record(func() {
			i := slices.Index(w.reading, p.TurnID)
			w.reading = slices.Delete(w.reading, i, i+1)
		})
	}
	if !read {
		return turns.Outcome{State: turns.Interrupted, Unread: !w.v.losesCut}
	}
	woken := false
	w.record(func() {
		now := attemptKey(p.TurnID, p.Attempt)
		if w.given[now] == nil {
			w.given[now] = entrySet{}
		}
		for _, m := range p.Input {
			woken = woken || m.Origin == items.OriginWake
			if m.Origin == items.OriginWake && len(m.Entries) == 0 {
				w.lists[now] += m.Text()
			}
			for _, e := range m.Entries {
				w.given[now][e.EntryID] = true
			}
		}
	})
	if w.program(p.TurnID) {
		w.doJobs(l, ctx, p, r)
		if w.f.redo > 0 && slices.Contains(w.p.Threads, p.ThreadID) && r.IntN(10) < w.f.redo {
			return crashed
		}
	}
	start := r.IntN(10) < w.f.children
	if woken {
		start = r.IntN(10) < w.f.more
	}
	if below := w.p.below(p.ThreadID); start && len(below) > 0 {
		call := r.IntN(10) < w.f.calls
		for range 1 + r.IntN(w.f.atOnce) {
			c := turns.Start{ThreadID: oneOf(r, below), Parent: childOf(p.ThreadID), Background: woken || r.IntN(2) == 0, Retry: retriesOf(r.IntN(100))}
			if w.f.reviews > 0 {
				c.Review = w.policyOf(r.IntN(1000))
			}
			if call {
				c.WaitSeconds = float64(r.IntN(3))
			}
			w.startChild(l, ctx, c, p.ThreadID, r.IntN(1000))
		}
		if call && r.IntN(2) == 0 {
			w.await(l, ctx, turns.Await{OwnerThreadID: p.ThreadID, TimeoutSeconds: seconds(float64(r.IntN(3)))}, p.ThreadID, r.IntN(1000))
		}
	}
	if w.f.outside > 0 && r.IntN(10) < w.f.outside {
		w.startChild(l, ctx, turns.Start{ThreadID: oneOf(r, w.p.Threads), Parent: childOf(p.ThreadID), Background: true, Retry: retriesOf(r.IntN(100))}, p.ThreadID, 0)
	}
	if w.f.reviews > 0 && r.IntN(2) == 0 { // an owner that reviews its own child
		w.verdict(l, ctx, p.ThreadID, r.IntN(1000), turns.ByOwner)
	}
	if r.IntN(12) == 0 && parentThread(p.ThreadID) != "" {
		_, _ = l.e.Inboxes().Send(ctx, inbox.Send{ThreadID: parentThread(p.ThreadID), Text: "so far, so good", Sender: p.ThreadID})
	}
	if r.IntN(10) >= w.f.silent || n > 40 {
		result := fmt.Sprint("result ", n, " of ", p.ThreadID)
		if w.f.long > 0 && r.IntN(10) < w.f.long { // four have no room in one list
			result += "\n" + strings.Repeat("x", turns.MaxResultText)
		}
		if p.Emit(ctx, items.Create{ItemID: items.NewID(), Status: items.StatusCompleted, Content: items.NewAgentMessage(result)}) != nil {
			return stopped
		}
	}
	if !think() {
		return stopped
	}
	fate := r.IntN(12)
	if w.f.brittle > 0 && r.IntN(10) < w.f.brittle {
		fate = 1
	}
	switch fate {
	case 0:
		return turns.Outcome{State: turns.Failed, Failure: &turns.Failure{Kind: "agent_failed", Message: "it failed"}}
	case 1:
		return crashed
	}
	return turns.Outcome{State: turns.Completed}
}

// retriesOf is the retry policy of a turn.
func retriesOf(pick int) *turns.RetryPolicy {
	if pick%3 == 0 {
		return nil
	}
	return &turns.RetryPolicy{OnCrash: turns.CrashRetry, MaxAttempts: 2 + pick%3, BackoffSeconds: float64(pick%2) / 2}
}

// policyOf is the review policy of a turn.
func (w *forest) policyOf(pick int) turns.ReviewPolicy {
	if pick%10 >= w.f.reviews {
		return ""
	}
	return turns.ReviewPolicies[pick/10%len(turns.ReviewPolicies)]
}

// verdict gives a verdict about a turn that waits for one, below an owner or anywhere. A
// client waits a moment for such a turn.
func (w *forest) verdict(l *life, ctx context.Context, owner string, pick int, by turns.By) {
	var list turns.List[turns.Turn]
	for i := 0; ; i++ {
		var err error
		list, err = w.h.reader.ListTurns(ctx, turns.Query{ParentThreadID: owner, Review: turns.ReviewPending, Limit: 5})
		if err != nil || len(list.Rows) == 0 && (by != turns.ByClient || i == 30 || ctx.Err() != nil) {
			return
		}
		if len(list.Rows) > 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	t := &list.Rows[pick%len(list.Rows)]
	c := turns.ReviewTurn{TurnID: t.TurnID, Attempt: t.Attempt, Verdict: []turns.ReviewState{turns.Rejected, turns.Approved, turns.Rejected, turns.Blocked}[pick%4], Note: "look again", By: by}
	if c.Verdict == turns.Rejected && pick%5 == 0 {
		c.Continue = new(bool)
	}
	w.give(l, ctx, c)
}

// give gives a verdict, and knows the turn that follows from it.
func (w *forest) give(l *life, ctx context.Context, c turns.ReviewTurn) {
	r, err := l.e.Review(ctx, c)
	if w.ok(ctx, "verdict", err) {
		w.record(func() {
			w.verdicts++
			if r.ContinuedBy != "" {
				w.order, w.queued[r.ContinuedBy] = append(w.order, r.ContinuedBy), r.Seq
				w.owners[r.ContinuedBy] = w.owners[r.TurnID]
			}
		})
	}
}

// mayStart reports whether the run may have another turn.
func (w *forest) mayStart() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.started++
	return w.started <= maxTreeTurns
}

func (w *forest) noteStart(r turns.StartResult) {
	w.record(func() {
		if r.Steered {
			return
		}
		w.order, w.queued[r.TurnID] = append(w.order, r.TurnID), r.Seq
		if r.Parent != nil {
			w.owners[r.TurnID] = r.Parent.ThreadID
		}
		if r.Detached != nil {
			w.notes[r.TurnID] = r.Seq
		}
	})
}

// startChild starts a child turn, and waits for it if the request says so.
func (w *forest) startChild(l *life, ctx context.Context, c turns.Start, caller string, pick int) {
	if !w.mayStart() {
		return
	}
	c.Input, c.Title = text("go"), "work of "+c.ThreadID
	if c.WaitSeconds == 0 {
		if r, err := l.e.Start(ctx, c); w.ok(ctx, "start of a child", err) {
			w.noteStart(r)
		}
		return
	}
	q := w.asks(l, c.Parent.ThreadID, nil)
	defer w.answered(l, q)
	r, wait, err := l.e.Children().StartAndWait(ctx, c, caller)
	if !w.ok(ctx, "start of a child", err) {
		return
	}
	w.noteStart(r)
	r, sent, err := wait(ctx)
	if w.ok(ctx, "wait for a child", err) {
		w.noteStart(r)
		w.write(l, ctx, c.Parent.ThreadID, r.Results, sent, pick)
	}
}

// program reports whether a turn is that of a program that asks for jobs.
func (w *forest) program(turnID string) bool {
	return w.f.jobs > 0 && hashOf(turnID)%10 < uint64(w.f.jobs)
}

func hashOf(s string) uint64 {
	hash := fnv.New64a()
	fmt.Fprint(hash, s)
	return hash.Sum64()
}

// doJobs asks for the jobs of a turn, as its program does in each attempt.
func (w *forest) doJobs(l *life, ctx context.Context, p *turns.Prompt, r *rand.Rand) {
	if !slices.Contains(w.p.Threads, p.ThreadID) {
		return // a job has none of its own here
	}
	for i := range 1 + hashOf(p.TurnID)%3 {
		w.job(l, ctx, &threads.Parent{ThreadID: p.ThreadID, TurnID: p.TurnID, Attempt: p.Attempt}, fmt.Sprint("part/", i), p.ThreadID, float64(1+r.IntN(4)))
	}
}

// job asks for a job, and waits for it.
func (w *forest) job(l *life, ctx context.Context, parent *threads.Parent, name, caller string, seconds float64) {
	key := parent.TurnID + " " + name
	asked, before := false, ""
	w.record(func() { before, asked = w.jobs[key] })
	if !asked && !w.mayStart() {
		return
	}
	n := int(hashOf(key) % 1000)
	c := turns.Start{Job: name, Title: "job " + name, Input: text("do " + name), Parent: parent, Retry: retriesOf(n), Review: w.policyOf(n), WaitSeconds: seconds}
	r, wait, err := l.e.Children().StartAndWait(ctx, c, caller)
	if !w.ok(ctx, "job", err) {
		return
	}
	w.record(func() {
		if _, known := w.jobs[key]; !known {
			w.jobs[key] = ""
		}
	})
	if !r.Found {
		w.noteStart(r)
	}
	r, sent, err := wait(ctx)
	if !w.ok(ctx, "wait for a job", err) {
		return
	}
	x := r.Results[0]
	if sent != nil || r.Detached != nil || x.Job != name {
		w.h.t.Errorf("J3: the answer about the job %s is %+v", name, r)
	}
	if x.State != turns.Completed || x.Review != nil {
		return // one that was reviewed may be tried again by a client
	}
	w.record(func() {
		w.seen[x.EndOf()] = append(w.seen[x.EndOf()], endSeen{x.State, x.Attempt})
		if got := fmt.Sprint(x.EndOf(), x.Attempt, x.Text); before == "" {
			w.jobs[key] = got
		} else if w.rework++; got != before {
			w.h.t.Errorf("J2: the job %s has answered %s, and now %s", key, before, got)
		}
	})
}

func (w *forest) asks(l *life, owner string, ids []string) *asking {
	q := &asking{owner: owner, ids: ids, from: l.head()}
	w.record(func() { w.asking = append(w.asking, q) })
	return q
}

func (w *forest) answered(l *life, q *asking) { w.record(func() { q.to = max(1, l.head()) }) }

// await waits for ends, and writes the answer.
func (w *forest) await(l *life, ctx context.Context, c turns.Await, caller string, pick int) {
	q := w.asks(l, c.OwnerThreadID, c.TurnIDs)
	defer w.answered(l, q)
	r, sent, err := l.e.Children().Await(ctx, c, caller)
	if !w.ok(ctx, "await", err) {
		return
	}
	w.record(func() {
		for _, x := range r.Results {
			if x.Accepted() {
				w.seen[x.EndOf()] = append(w.seen[x.EndOf()], endSeen{x.State, x.Attempt})
			}
		}
	})
	w.write(l, ctx, c.OwnerThreadID, r.Results, sent, pick)
}

// write writes an answer to a connection, which may break.
func (w *forest) write(l *life, ctx context.Context, owner string, results []turns.Result, sent func(bool), pick int) {
	if sent == nil {
		return
	}
	if w.v.marksFirst {
		sent(true)
		sent = func(bool) {}
	}
	timer := time.NewTimer(waits[pick%len(waits)])
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		sent(false)
		return
	}
	if pick%5 == 0 {
		sent(false)
		return
	}
	w.record(func() {
		for _, r := range results {
			if r.Accepted() && r.EntryID != "" {
				w.written = append(w.written, writtenEnd{owner: owner, turnID: r.EndOf(), entry: string(r.EntryID), seq: l.head(), life: l.n})
			}
		}
	})
	sent(true)
}

// ok reports whether there is no error. One that no client may get fails the run.
func (w *forest) ok(ctx context.Context, what string, err error) bool {
	if err == nil || ctx.Err() != nil { // nobody waits for the answer any more
		return err == nil
	}
	var bad *turns.InvalidError
	var many *turns.TooManyError
	var other *turns.ReviewedAttemptError
	var late *turns.SupersededError
	if errors.As(err, &bad) || errors.As(err, &late) || errors.Is(err, turns.ErrBetween) || errors.As(err, &other) || errors.As(err, &many) || errors.Is(err, turns.ErrAlreadyDecided) || errors.Is(err, inbox.ErrEntryNotFound) ||
		slices.ContainsFunc(expected, func(e error) bool { return errors.Is(err, e) }) {
		return false
	}
	w.h.t.Errorf("%s: %v", what, err)
	return false
}

// pick is one of the newest turns.
func (w *forest) pick(n int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.order) == 0 {
		return "turn_none"
	}
	return w.order[len(w.order)-1-n%min(len(w.order), 6)]
}

// pickChild is one of the newest child turns.
func (w *forest) pickChild(n int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := slices.DeleteFunc(slices.Clone(w.order), func(id string) bool { return w.owners[id] == "" })
	if len(list) == 0 {
		return "turn_none"
	}
	return list[len(list)-1-n%min(len(list), 3)]
}

// childrenOf lists some child turns of a thread, wrong ones among them at times.
func (w *forest) childrenOf(owner string, n int) (ids []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, id := range w.order {
		if w.owners[id] == owner && (n+i)%3 > 0 {
			ids = append(ids, id)
		}
	}
	if n%7 == 0 {
		ids = append(ids, "turn_none")
	}
	return ids
}

// do makes one move.
func (w *forest) do(l *life, m treeMove) {
	th, e, pick := w.p.Threads[m.Thread], l.e, m.Pick
	owner, thread := parentThread(th), th
	if owner == "" { // children are below roots
		owner, thread = th, oneOf(rand.New(rand.NewPCG(uint64(pick), 3)), w.p.below(th))
	}
	child := turns.Start{ThreadID: thread, Parent: childOf(owner), Retry: retriesOf(pick), OnBusy: []turns.OnBusy{"", "", turns.BusyReject}[pick%3], Review: w.policyOf(pick)}
	switch m.Kind {
	case "start":
		if !w.mayStart() {
			return
		}
		c := turns.Start{ThreadID: th, Input: text("go"), Retry: retriesOf(pick), OnBusy: []turns.OnBusy{"", "", "", turns.BusyInterrupt, turns.BusySteer, turns.BusyReject}[pick%6], Review: w.policyOf(pick)}
		if pick%11 == 0 {
			c.TimeoutSeconds = 2
		}
		if r, err := e.Start(l.ctx, c); w.ok(l.ctx, m.Kind, err) {
			w.noteStart(r)
		}
	case "child":
		w.startChild(l, l.ctx, child, "", pick)
	case "background":
		child.Background = true
		w.startChild(l, l.ctx, child, "", pick)
	case "job":
		id := w.pick(pick)
		if t, err := w.h.reader.Turn(l.ctx, id); err == nil && t != nil && slices.Contains(w.p.Threads, t.ThreadID) {
			l.wg.Go(func() {
				w.job(l, l.ctx, &threads.Parent{ThreadID: t.ThreadID, TurnID: id}, fmt.Sprint("part/", pick%3), "", float64(1+pick%4))
			})
		}
	case "outside": // it is refused in the thread itself, and above it
		child.ThreadID, child.Parent, child.Background = w.p.Threads[pick%len(w.p.Threads)], childOf(th), true
		w.startChild(l, l.ctx, child, "", pick)
	case "named":
		child.Parent = &threads.Parent{ThreadID: owner, TurnID: w.pick(pick)}
		w.startChild(l, l.ctx, child, "", pick)
	case "wait":
		child.WaitSeconds = float64(1 + pick%4)
		l.wg.Go(func() { w.startChild(l, l.ctx, child, "", pick) })
	case "detach", "late detach":
		if m.Kind != "detach" { // its owner waits by now
			time.Sleep(1500 * time.Millisecond)
		}
		r, err := e.Children().Detach(l.ctx, turns.DetachTurn{TurnID: w.pickChild(pick)})
		if w.ok(l.ctx, m.Kind, err) && r.AttentionPolicy == turns.Notify {
			w.record(func() { w.notes[r.TurnID] = r.Seq })
		}
	case "await":
		c := turns.Await{OwnerThreadID: owner, TimeoutSeconds: seconds([]float64{0, 0.3, 5, 30}[pick%4]), WaitFor: []turns.WaitFor{"", turns.WaitAll}[pick%2]}
		if pick%3 > 0 {
			c.TurnIDs = w.childrenOf(owner, pick)
		}
		l.wg.Go(func() {
			ctx, cancel := context.WithCancel(l.ctx)
			defer cancel()
			if pick%5 == 1 { // a client that hangs up
				stop := time.AfterFunc(waits[pick%len(waits)], cancel)
				defer stop.Stop()
			}
			w.await(l, ctx, c, "", pick)
		})
	case "watch":
		if ids := w.childrenOf(owner, pick); len(ids) > 0 {
			l.wg.Go(func() {
				w.await(l, l.ctx, turns.Await{TurnIDs: ids, TimeoutSeconds: seconds([]float64{0, 5}[pick%2])}, "", pick)
			})
		}
	case "cut unread": // once a prompt has entries
		for range 50 {
			var id string
			w.record(func() {
				if len(w.reading) > 0 {
					id = w.reading[pick%len(w.reading)]
				}
			})
			if id != "" {
				_, err := e.Steer(l.ctx, turns.Steer{TurnID: id, Input: text("and this"), Interrupt: true})
				w.ok(l.ctx, m.Kind, err)
				return
			}
			select {
			case <-l.ctx.Done():
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	case "steer", "cut":
		_, err := e.Steer(l.ctx, turns.Steer{TurnID: w.pick(pick), Input: text("and this"), Interrupt: m.Kind == "cut"})
		w.ok(l.ctx, m.Kind, err)
	case "interrupt":
		_, _, err := e.Interrupt(l.ctx, turns.Interrupt{TurnID: w.pick(pick)})
		w.ok(l.ctx, m.Kind, err)
	case "retry":
		_, err := e.Retry(l.ctx, turns.Retry{TurnID: w.pick(pick)})
		w.ok(l.ctx, m.Kind, err)
	case "verdict":
		w.verdict(l, l.ctx, []string{"", owner}[pick%2], pick, turns.ByClient)
	case "wrong verdict":
		w.give(l, l.ctx, turns.ReviewTurn{TurnID: w.pick(pick), Attempt: 1 + pick%2, Verdict: turns.Verdicts[pick%3], Note: "look again"})
	case "ack":
		if page, err := w.h.reader.ReadInbox(l.ctx, inbox.Read{ThreadID: owner, Limit: 10}); err == nil && len(page.Entries) > 0 {
			_, err := e.Inboxes().Ack(l.ctx, inbox.Ack{ThreadID: owner, EntryIDs: []notify.ID{page.Entries[pick%len(page.Entries)].EntryID}})
			w.ok(l.ctx, m.Kind, err)
		}
	case "wake":
		_, err := e.Inboxes().Wake(l.ctx, inbox.WakeNow{ThreadID: owner})
		w.ok(l.ctx, m.Kind, err)
	case "send", "report":
		c := inbox.Send{ThreadID: owner, Text: "hello"}
		if m.Kind == "report" {
			c.Sender = thread
		}
		_, err := e.Inboxes().Send(l.ctx, c)
		w.ok(l.ctx, m.Kind, err)
	case "urgent":
		it := item(fmt.Sprint("urgent ", pick))
		it.Grouping = &inbox.Grouping{Flush: inbox.FlushImmediate}
		_, err := e.Inboxes().Ingest(l.ctx, inbox.Ingest{ThreadID: owner, Items: []inbox.Item{it}})
		w.ok(l.ctx, m.Kind, err)
	case "pause thread", "resume thread":
		_, err := e.ChangeThread(l.ctx, turns.ChangeThread{ThreadID: th, Verb: map[string]threads.Verb{"pause thread": threads.VerbPause, "resume thread": threads.VerbResume}[m.Kind]})
		w.ok(l.ctx, m.Kind, err)
	case "pause":
		_, err := e.Pause(l.ctx, turns.Pause{TimeoutSeconds: []float64{0.3, 1}[pick%2]})
		w.ok(l.ctx, m.Kind, err)
	case "idle", "none":
		policy := inbox.Policy{Wake: map[string]inbox.Wake{"idle": inbox.WakeIdle, "none": inbox.WakeNone}[m.Kind]}
		soon := int64(300)
		switch pick % 3 {
		case 0:
			policy.WakeWhen = inbox.WhenEach
		case 1:
			policy.WakeWhen, policy.WakeMaxWaitMs = inbox.WhenSettled, &soon
		}
		if pick%4 == 0 {
			policy.WakeWindowMs = new([]int64{0, 300, 5000}[pick/4%3])
		}
		if n := map[bool]int{true: 2, false: 5}[w.p.Profile == "windows"]; pick%n == 0 {
			policy.ToldLeaseMs = new([]int64{60_000, 60_000, 0}[pick/n%3])
			if n == 2 {
				policy.Ack = inbox.AckExplicit
			}
		}
		_, err := e.Inboxes().Configure(l.ctx, inbox.Configure{ThreadID: owner, Policy: policy})
		w.ok(l.ctx, m.Kind, err)
	case "close":
		if pick%4 == 0 && parentThread(th) != "" {
			_, err := e.ChangeThread(l.ctx, turns.ChangeThread{ThreadID: th, Verb: threads.VerbClose})
			w.ok(l.ctx, m.Kind, err)
		}
	default:
		panic(m.Kind)
	}
}

// play runs the program, and everything to its end.
func (w *forest) play(t testing.TB) {
	b := &branch{w: w}
	h := newHarness(t, setup{
		cfg: engine.Config{
			Reviews:        map[string]turns.ReviewRule{b.Info().Name: {Timeout: []time.Duration{time.Second, time.Minute, time.Hour}[w.p.Seed%3]}},
			MaxActiveTurns: w.p.Slots, MaxQueue: 10, InterruptAfter: time.Second, DrainAfter: 300 * time.Millisecond, DrainGrace: 200 * time.Millisecond,
		},
		agents: []turns.Agent{b}, rows: w.v.rows, normal: true,
	})
	w.h, h.lends = h, true
	defer h.close()
	w.begin(b)
	for _, id := range w.p.Threads {
		if owner := parentThread(id); owner != "" {
			h.childThread(owner, id, b.Info().Name)
		} else {
			h.thread(id, b.Info().Name)
		}
	}
	for i := range w.p.Lives {
		w.live(b, &w.p.Lives[i], i == len(w.p.Lives)-1)
	}
	w.settle(b.l)
	w.properties()
	if !w.v.broken {
		h.check()
	}
}

// begin prepares a life, before anything of it moves.
func (w *forest) begin(b *branch) {
	ctx, cut := context.WithCancel(bg)
	b.l = &life{n: len(w.ended), e: w.h.engine, head: w.h.store.Tail().Head, ctx: ctx, cut: cut}
	w.record(func() { w.began = append(w.began, time.Now()) })
	r := rand.New(rand.NewPCG(w.p.Seed, 5+uint64(b.l.n)))
	w.h.faults.holdBack(func(u *ledger.Unit) <-chan struct{} {
		if len(u.Drafts) == 0 || u.Drafts[0].Header.ThreadID == "" {
			return nil // a pause is committed under a lock: time stands still while others wait for it
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if r.IntN(100) >= w.p.Slow {
			return nil
		}
		committed := make(chan struct{})
		time.AfterFunc(oneOf(r, []time.Duration{time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond}), func() { close(committed) })
		return committed
	})
	if w.v.arm != nil {
		w.v.arm(w)
	}
}

// live runs one life, and starts the next one.
func (w *forest) live(b *branch, is *treeLife, last bool) {
	h, l := w.h, b.l
	died := make(chan struct{})
	if is.Crash > 0 {
		left := is.Crash
		h.faults.fail(func(*ledger.Unit) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			if left--; left == 0 {
				close(died)
			}
			if left <= 0 {
				return ledger.ErrStorageFull
			}
			return nil
		})
	}
	done := make(chan struct{})
	for _, moves := range is.Clients {
		l.wg.Go(func() {
			for _, m := range moves {
				select {
				case <-l.ctx.Done():
					return
				case <-time.After(m.Wait):
				}
				w.do(l, m)
			}
		})
	}
	go func() {
		l.wg.Wait()
		close(done)
	}()
	select {
	case <-died:
		w.died++
	case <-done:
	}
	if last {
		<-done
		return
	}
	if is.End == "drain" {
		select {
		case <-died:
		default:
			_ = h.engine.Drain(bg)
		}
	}
	if is.End == "stop" { // its connections end before it
		l.cut()
		<-done
	}
	if is.End == "stop" {
		select {
		case <-died:
		default:
			w.orderly[l.n] = true
		}
	}
	h.stopEngine()
	l.cut()
	<-done
	select {
	case <-died: // at a commit of the stop itself
		delete(w.orderly, l.n)
	default:
	}
	w.record(func() { w.ended = append(w.ended, l.head()) })
	h.pump()
	h.down()
	if w.v.between != nil {
		w.v.between(w)
	}
	h.upWithout()
	w.begin(b)
	if err := h.engine.Recover(bg); err != nil {
		h.t.Fatalf("recover: %v", err)
	}
	h.run()
}

// settle lets all clocks run down: everything is resumed, and nothing holds.
func (w *forest) settle(l *life) {
	h := w.h
	h.resume()
	done := func(id, what string, err error) {
		if errors.Is(err, threads.ErrClosed) { // it may be closed at any time, with the one above it
			synctest.Wait()
			if th, failed := h.reader.ReadThread(bg, id, 0); failed == nil && !th.Thread.Open() {
				return
			}
		}
		if err != nil {
			h.t.Fatalf("%s %s: %v", what, id, err)
		}
	}
	for i, id := range w.p.Threads {
		th, err := h.reader.ReadThread(bg, id, 0)
		if err != nil || !th.Thread.Open() {
			continue
		}
		if th.Thread.State == threads.Paused {
			_, err := h.engine.ChangeThread(bg, turns.ChangeThread{ThreadID: id, Verb: threads.VerbResume})
			done(id, "resume", err)
		}
		if (w.p.Seed+uint64(i))%3 > 0 { // others stay as they are
			_, err := h.inboxes().Configure(bg, inbox.Configure{ThreadID: id, Policy: inbox.Policy{Wake: inbox.WakeIdle}})
			done(id, "configure", err)
			if th.Thread.Held {
				_, err := h.inboxes().Wake(bg, inbox.WakeNow{ThreadID: id})
				done(id, "wake", err)
			}
		}
	}
	rest := 10 * time.Millisecond
	for range 60 {
		time.Sleep(rest)
		synctest.Wait()
		if rest = min(2*rest, 5*time.Minute); w.atRest() {
			break
		}
	}
	l.cut()
	time.Sleep(time.Minute) // nothing comes any more
	synctest.Wait()
	h.pump()
	w.record(func() { w.ended = append(w.ended, l.head()) })
}

// atRest reports whether no turn is left, and no thread waits for its next wake.
func (w *forest) atRest() bool {
	c, err := w.h.reader.Counts(bg)
	if err != nil {
		w.h.t.Fatalf("counts: %v", err)
	}
	if c.TurnsActive+c.TurnsQueued > 0 {
		return false
	}
	if list, err := w.h.reader.ListTurns(bg, turns.Query{Review: turns.ReviewPending, Limit: 1}); err != nil || len(list.Rows) > 0 {
		return false
	}
	for _, id := range w.p.Threads {
		if box := w.h.box(id); box != nil && (box.LeaseAt != 0 || box.NewEntries > 0 && w.mayBeWoken(id, box)) {
			return false
		}
	}
	return true
}

// mayBeWoken reports whether new entries of the inbox wake the thread, now or later.
func (w *forest) mayBeWoken(id string, box *inbox.Inbox) bool {
	th, err := w.h.reader.ReadThread(bg, id, 0)
	if err != nil {
		w.h.t.Fatalf("read %s: %v", id, err)
	}
	return th.Thread.State == threads.Running && !th.Thread.Held && cmp.Or(box.Policy.Wake, inbox.WakeIdle) == inbox.WakeIdle &&
		box.Stalled != inbox.StallSilent && box.Stalled != inbox.StallChain
}

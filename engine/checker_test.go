package engine_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/notify/fold"
	"github.com/seed82539d15/holon/persist"
	"github.com/seed82539d15/holon/persist/sqlite"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// checker checks that a whole log keeps the invariants (I2, I3, I5), and that the
// rows are its fold. It knows nothing of the engine.
type checker struct {
	t         testing.TB
	maxActive int
	failed    bool
	replaces  bool // agents replace texts with Update: deltas need not add up across that

	threads map[string]*threads.Thread
	turns   map[string]*turns.Turn
	tries   map[try]*turns.Step
	paths   map[path]*path1
	marks   map[string]*fold.Markers
	items   map[string]*items.Item
	runtime turns.Runtime
	inboxes *inboxes
	now     event // the one that is being folded

	titles    map[string]bool // threads with a title that a client gave
	threadSeq map[string]int64
	order     map[string][]string // item ids of a turn, in the order of their creation
	texts     map[string]*textSoFar
	latest    int64
	continues string // the turn that must be queued next
	// lent are the active turns that have waited: another may have been given their
	// slot meanwhile, and they go on without.
	lent    map[string]bool
	counted map[string]bool // attempts whose usage is in what their thread has spent
	expect  *event          // a turn's first event: an item/created of its input must follow
}

// textSoFar is the text of an item in a client that adds up deltas.
type textSoFar struct {
	text string
	cut  bool
}

func newChecker(t testing.TB, maxActive int) *checker {
	c := &checker{
		t: t, maxActive: maxActive,
		threads: map[string]*threads.Thread{}, turns: map[string]*turns.Turn{}, items: map[string]*items.Item{},
		tries: map[try]*turns.Step{}, paths: map[path]*path1{}, marks: map[string]*fold.Markers{},
		titles: map[string]bool{}, threadSeq: map[string]int64{}, order: map[string][]string{}, texts: map[string]*textSoFar{}, lent: map[string]bool{}, counted: map[string]bool{},
	}
	c.inboxes = newInboxFold(c)
	return c
}

func (c *checker) errorf(e event, format string, args ...any) {
	c.t.Helper()
	c.failed = true
	c.t.Errorf("event %s:\n\t"+format, append([]any{e}, args...)...)
}

func (c *checker) log(all []event) {
	c.t.Helper()
	for _, e := range all {
		c.event(e)
		if c.failed {
			c.t.Logf("the log so far:\n%s", list(all[:e.Seq]))
			return
		}
	}
	if c.expect != nil {
		c.errorf(*c.expect, "the log ends before the turn's input")
	}
}

func (c *checker) event(e event) {
	c.t.Helper()
	if e.Seq != c.latest+1 {
		c.errorf(e, "seq follows %d", c.latest)
	}
	c.latest = e.Seq
	if e.Timestamp.IsZero() {
		c.errorf(e, "has no timestamp")
	}
	if e.ThreadID != "" {
		if e.ThreadSeq != c.threadSeq[e.ThreadID]+1 {
			c.errorf(e, "thread_seq follows %d", c.threadSeq[e.ThreadID])
		}
		c.threadSeq[e.ThreadID] = e.ThreadSeq
		if th := c.threads[e.ThreadID]; th != nil && th.State == threads.Closed {
			c.errorf(e, "follows thread/closed")
		} else if e.Method == notify.ThreadClosed {
			c.noneInReview(e)
		} else if (th == nil) != (e.Method == notify.ThreadStarted) {
			c.errorf(e, "thread/started is not the first event of its thread")
		}
	}
	if x := c.expect; x != nil {
		c.expect = nil
		if e.Method != notify.ItemCreated || e.TurnID != x.TurnID || kindOf(e) != items.KindUserMessage || e.Status != items.StatusCompleted {
			c.errorf(e, "the turn's input should follow %s", x)
		}
	}
	body := e.body(c.t)
	if isInbox(e.Method) {
		e.TurnID = "" // it is in the body: these events belong to no turn
	}
	c.lineage(&e, body)
	c.spends(e, body)
	switch b := body.(type) {
	case *turns.StepEvent:
		c.step(e, b)
	case *turns.RewindEvent:
		c.rewind(e, b)
	case *turns.LateEvent:
		c.late(e, b)
	case *threads.Changed, *threads.Updated:
		if u, ok := b.(*threads.Updated); ok && u.TitleBy == threads.ByClient {
			c.titles[e.ThreadID] = u.Title != ""
		} else if ok && u.Title != "" && c.titles[e.ThreadID] {
			c.errorf(e, "replaces a title that a client gave")
		}
		if s, ok := b.(*threads.Changed); ok && e.Method == notify.ThreadStarted {
			c.titles[e.ThreadID] = s.Title != ""
		}
		c.threads[e.ThreadID] = threads.Apply(c.threads[e.ThreadID], e.header(), body)
	case *turns.RuntimeEvent:
		paused := b.Type == "paused"
		if paused == c.runtime.Paused && !(paused && c.runtime.GivesWayTo(b)) {
			c.errorf(e, "repeats")
		}
		c.runtime = *turns.ApplyRuntime(c.runtime, e.header(), body)
	case *turns.QueuedEvent, *turns.StartedEvent, *turns.ProgressEvent, *turns.EndedEvent:
		c.turn(e, body)
	case *turns.DetachedEvent:
		prev := c.turns[e.TurnID]
		if prev == nil || prev.AttentionPolicy != turns.Blocking || b.AttentionPolicy != turns.Notify { // P5
			c.errorf(e, "detaches %+v", prev)
			break
		}
		c.turns[e.TurnID] = turns.Apply(prev, e.header(), b)
	case *turns.ReviewedEvent:
		c.reviewed(e, b)
	default:
		if !isInbox(e.Method) {
			c.item(e, body)
		}
	}
	c.inboxEvent(e, body)
	if th := c.threads[e.ThreadID]; th != nil {
		th.LatestSeq, th.LatestThreadSeq = e.Seq, e.ThreadSeq
	}
}

// leavesJobs reports whether the turn may complete although its jobs have not ended.
func (c *checker) leavesJobs(t *turns.Turn) bool {
	if t.HadItsPrompts() {
		return true
	}
	for _, q := range c.turns {
		if q.ThreadID == t.ThreadID && q.State == turns.Queued && !q.IsChild() {
			return true
		}
	}
	return false
}

func (c *checker) turn(e event, body any) {
	c.t.Helper()
	prev := c.turns[e.TurnID]
	if want := 1; prev != nil && e.Attempt != prev.Attempt || prev == nil && e.Attempt != want {
		c.errorf(e, "attempt is %d", e.Attempt)
	}
	if prev != nil && prev.State.Ended() {
		c.errorf(e, "follows the turn's end")
	}
	next := turns.Apply(prev, e.header(), body)
	if next.State == turns.Completed {
		for _, t := range c.turns { // P6
			if t.Parent != nil && t.Parent.TurnID == e.TurnID && t.AttentionPolicy == turns.Blocking && !t.State.Ended() && !t.InReview() && (t.Job == "" || !c.leavesJobs(next)) {
				c.errorf(e, "completes before its blocking child %s", t.TurnID)
			}
		}
	}
	switch b := body.(type) {
	case *turns.QueuedEvent:
		if prev == nil {
			c.continuation(e, b)
		}
		if prev != nil && (prev.State != turns.Queued || prev.Attempt == 1) {
			c.errorf(e, "is not the turn's first event")
		}
		ahead := 0
		for _, t := range c.turns {
			if t.ThreadID == e.ThreadID && t.State == turns.Queued && t.TurnID != e.TurnID {
				if t.Rank == b.Rank {
					c.errorf(e, "has the rank of %s", t.TurnID)
				}
				if t.Rank < b.Rank {
					ahead++
				}
			}
		}
		if b.Position != ahead+1 {
			c.errorf(e, "says position %d, %d are ahead", b.Position, ahead)
		}
	case *turns.StartedEvent:
		c.started(e, prev, b)
		delete(c.lent, e.TurnID)
	case *turns.ProgressEvent:
		if prev == nil || prev.State != turns.Active {
			c.errorf(e, "is no event of an active turn")
		} else if prev.Progress == b.State && b.Message == "" && slices.Equal(prev.WaitsFor, b.WaitsFor) {
			c.errorf(e, "says nothing new")
		}
		c.lent[e.TurnID] = c.lent[e.TurnID] || b.State == turns.Waiting
	case *turns.EndedEvent:
		c.ended(e, prev, b)
		if prev != nil {
			c.endInReview(e, prev, b)
		}
	}
	if prev == nil {
		c.expect = &e
	}
	c.turns[e.TurnID] = next
}

func (c *checker) started(e event, prev *turns.Turn, b *turns.StartedEvent) {
	c.t.Helper()
	if c.runtime.Paused {
		c.errorf(e, "is between holon/paused and holon/resumed")
	}
	goesOn := prev != nil && prev.State == turns.Active // it has waited for its next attempt
	if th := c.threads[e.ThreadID]; th.State != threads.Running && (!goesOn || th.State != threads.Paused) {
		c.errorf(e, "the thread is %s", th.State)
	}
	active := 0
	for _, t := range c.turns {
		if t.State == turns.Active && t.TurnID != e.TurnID {
			if t.Progress != turns.Waiting && !c.lent[t.TurnID] {
				active++
			}
			if t.ThreadID == e.ThreadID {
				c.errorf(e, "%s is active in the thread", t.TurnID)
			}
		}
		if t.ThreadID == e.ThreadID && t.State == turns.Queued && !goesOn && (prev == nil || t.Rank < prev.Rank) {
			c.errorf(e, "overtakes %s", t.TurnID)
		}
	}
	if active >= c.maxActive {
		c.errorf(e, "%d turns are active already", active)
	}
	want := turns.OriginClient
	if b.Origin == turns.OriginWake && prev == nil {
		want = turns.OriginWake
		for _, t := range c.turns {
			if t.ThreadID == e.ThreadID && t.State == turns.Queued {
				c.errorf(e, "overtakes %s", t.TurnID)
			}
		}
	}
	if prev != nil {
		want = turns.OriginQueue
		if prev.Attempt > 1 {
			want = turns.OriginRetry
			if b.FirstStartedAt.IsZero() || string(b.Metadata) != string(prev.Metadata) || b.TimeoutSeconds != prev.TimeoutSeconds {
				c.errorf(e, "does not say what was asked for")
			}
		}
		if prev.State != turns.Queued && (!goesOn || prev.RetryAt.IsZero()) {
			c.errorf(e, "the turn was %s", prev.State)
		}
	}
	if b.Origin != want {
		c.errorf(e, "has origin %s", b.Origin)
	}
}

func (c *checker) ended(e event, prev *turns.Turn, b *turns.EndedEvent) {
	c.t.Helper()
	if prev == nil {
		c.errorf(e, "of a turn that never began")
		return
	}
	if prev.State == turns.Queued && b.State != turns.Interrupted {
		c.errorf(e, "of a turn that has not started")
	}
	if string(b.State) != b.Type || "turn/"+b.Type != e.Method {
		c.errorf(e, "has type %q and state %q", b.Type, b.State)
	}
	if (b.State == turns.Failed) != (b.Error != nil) {
		c.errorf(e, "error is %v", b.Error)
	}
	undelivered := map[string]bool{}
	for _, id := range b.UndeliveredItemIDs {
		undelivered[id] = true
	}
	for _, id := range c.order[e.TurnID] {
		it := c.items[id]
		if it.Status.Open() {
			c.errorf(e, "item %s is still %s", id, it.Status)
		}
		if lost := it.Type == items.KindUserMessage && it.Status == items.StatusInterrupted; lost != undelivered[id] {
			c.errorf(e, "item %s is a %s and %s, but undelivered_item_ids are %v", id, it.Type, it.Status, b.UndeliveredItemIDs)
		}
	}
	if said, whole := c.said(e.TurnID); b.State != turns.Interrupted && whole && b.Message != said && !slices.Contains(results, b.Message) {
		c.errorf(e, "has the message %.80q, the agent's last one is %.80q", b.Message, said)
	}
}

// results are the end messages that the agents of these tests set themselves.
var results = []string{"done", "m", "my answer is 42"}

// said is the agent's last live message of a turn, as the end of the turn repeats
// it. whole is false if the bound of the item has cut it.
func (c *checker) said(turnID string) (text string, whole bool) {
	for _, id := range slices.Backward(c.order[turnID]) {
		it, so := c.items[id], c.texts[id]
		if it.Type != items.KindAgentMessage || it.Status == items.StatusDeleted || strings.TrimSpace(so.text) == "" {
			continue
		}
		if m := c.marks[turnID]; m != nil && m.Stale(it.Lineage, it.CreatedSeq) {
			continue
		}
		return items.NewText(so.text, turns.MaxEndMessageBytes).String(), !so.cut
	}
	return "", true
}

// active is the number of active turns at the end of the log, and how many
// of them wait, for a person or for their next attempt.
func (c *checker) active() (active, waiting int) {
	for _, t := range c.turns {
		if t.State == turns.Active {
			active++
			if t.Progress == turns.Waiting {
				waiting++
			}
		}
	}
	return active, waiting
}

// rows compares the store's rows with the fold.
func (c *checker) rows(reader *sqlite.Reader) {
	c.t.Helper()
	n := 0
	pages(c.t, func(cursor string) (string, error) {
		l, err := reader.ListThreads(bg, threads.Query{Cursor: cursor, Limit: 1000})
		for i := range l.Rows {
			n++
			same(c.t, "thread", &l.Rows[i], c.threads[l.Rows[i].ThreadID])
		}
		return l.Next, err
	})
	pages(c.t, func(cursor string) (string, error) {
		l, err := reader.ListTurns(bg, turns.Query{Cursor: cursor, Limit: 1000})
		for i := range l.Rows {
			n++
			same(c.t, "turn", &l.Rows[i], c.turns[l.Rows[i].TurnID])
		}
		return l.Next, err
	})
	pages(c.t, func(cursor string) (string, error) {
		l, err := reader.ListItems(bg, items.Query{Cursor: cursor, Limit: 1000, IncludeSuperseded: true})
		for i := range l.Rows {
			n++
			l.Rows[i].Superseded, l.Rows[i].SupersededBySeq = c.unflag(&l.Rows[i]), 0
			same(c.t, "item", &l.Rows[i], c.folded(l.Rows[i].ItemID))
		}
		return l.Next, err
	})
	if want := len(c.threads) + len(c.turns) + len(c.items); n != want {
		c.t.Errorf("%d rows, the log makes %d", n, want)
	}
	c.steps(reader)
	rt, err := reader.Runtime(bg)
	if err != nil {
		c.t.Error(err)
	}
	same(c.t, "runtime", &rt, &c.runtime)
	c.inboxes.compare(c.t, reader)
	// doctor --refold must have the same result.
	out, err := persist.Refold(bg, reader)
	if err != nil || out.Threads+out.Pruned != len(c.threads) || len(out.Differences) > 0 {
		c.t.Errorf("refold: %+v, %v", out, err)
	}
}

func pages(t testing.TB, page func(cursor string) (next string, err error)) {
	t.Helper()
	for cursor := ""; ; {
		next, err := page(cursor)
		if err != nil {
			t.Fatalf("list: %v", err)
		}
		if next == "" {
			return
		}
		cursor = next
	}
}

func same[T any](t testing.TB, what string, got, want *T) {
	t.Helper()
	if want == nil || !reflect.DeepEqual(*got, *want) {
		t.Errorf("%s row is\n\t%+v\nthe log makes\n\t%+v", what, *got, want)
	}
}

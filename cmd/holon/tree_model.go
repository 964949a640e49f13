package main

import (
	"cmp"
	"slices"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/internal/sanitize"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// forest are threads with their child threads, turns and open questions: read once,
// and then folded from events. One goroutine uses it.
type forest struct {
	root    string // the only tree that is shown; "" = all that have something to show
	threads map[string]*treeThread
	latest  int64 // of the reads
}

// treeThread is a thread in a forest.
type treeThread struct {
	ID        string         `json:"thread_id"`
	Title     string         `json:"title,omitzero"`
	Agent     string         `json:"agent"`
	State     threads.State  `json:"state"`
	Turn      *turns.Turn    `json:"turn,omitzero"`   // the active one, else the next in the queue, else the last
	Queued    int            `json:"queued,omitzero"` // turns
	Questions []treeQuestion `json:"questions,omitzero"`
	Children  []*treeThread  `json:"children,omitzero"`
	Outside   []*turns.Turn  `json:"outside,omitzero"` // that work for it in threads that are not below it, and have not ended

	parent  string // "" = it is no child thread
	created int64
	open    map[string]*turns.Turn // that have not ended
	last    *turns.Turn            // that has ended; nil = none, or it is not known yet
}

// treeQuestion is an open question of an agent.
type treeQuestion struct {
	ItemID string `json:"item_id"`
	TurnID string `json:"turn_id,omitzero"`
	Text   string `json:"text"`

	about bool // the text may not have what it is about yet: see wordQuestions
}

// forestResult is a forest as programs get it.
type forestResult struct {
	Threads []*treeThread `json:"threads"` // the roots
	Latest  int64         `json:"latest_seq"`
}

func newForest(root string) *forest { return &forest{root: root, threads: map[string]*treeThread{}} }

// addThread adds a thread, or returns the one that is there.
func (f *forest) addThread(t threads.Thread) *treeThread {
	node := f.threads[t.ThreadID]
	if node == nil {
		node = &treeThread{ID: t.ThreadID, Agent: t.Agent, created: t.CreatedSeq, open: map[string]*turns.Turn{}}
		if t.Level > 0 && t.Parent != nil {
			node.parent = t.Parent.ThreadID
		}
		f.threads[t.ThreadID] = node
	}
	node.Title, node.State = t.Title, t.State
	return node
}

// addTurn adds a turn, or replaces it.
func (f *forest) addTurn(t *turns.Turn) {
	node := f.threads[t.ThreadID]
	if node == nil {
		return
	}
	if !t.State.Ended() {
		node.open[t.TurnID] = t
		if node.last != nil && node.last.TurnID == t.TurnID {
			node.last = nil // it is tried again
		}
		return
	}
	delete(node.open, t.TurnID)
	node.last = t
	node.Questions = slices.DeleteFunc(node.Questions, func(q treeQuestion) bool { return q.TurnID == t.TurnID })
}

func (f *forest) ask(threadID string, q treeQuestion) {
	if node := f.threads[threadID]; node != nil && !slices.ContainsFunc(node.Questions, func(has treeQuestion) bool { return has.ItemID == q.ItemID }) {
		node.Questions = append(node.Questions, q)
	}
}

func (f *forest) answered(threadID, itemID string) {
	if node := f.threads[threadID]; node != nil {
		node.Questions = slices.DeleteFunc(node.Questions, func(q treeQuestion) bool { return q.ItemID == itemID })
	}
}

// forestEvents are the events from which apply reads.
var forestEvents = []string{"thread/*", "turn/*", notify.ItemCreated, notify.ItemUpdated, notify.ItemDeleted}

// apply folds an event into the forest. What it cannot read it leaves out.
func (f *forest) apply(e client.Event) {
	if e.Seq <= f.latest {
		return
	}
	switch e.Method {
	case notify.ThreadStarted:
		var t threads.Thread
		if jsonv2.Unmarshal(e.Params, &t) == nil {
			t.CreatedSeq = e.Seq
			f.addThread(t)
		}
	case notify.ThreadPaused, notify.ThreadResumed, notify.ThreadUpdated, notify.ThreadClosed:
		var t threads.Thread
		if node := f.threads[e.ThreadID]; node != nil && jsonv2.Unmarshal(e.Params, &t) == nil {
			if t.Title != "" || t.TitleBy != "" { // else it has not changed
				node.Title = t.Title
			}
			node.State = cmp.Or(t.State, node.State)
		}
	case notify.ItemCreated, notify.ItemUpdated, notify.ItemDeleted:
		f.applyItem(e)
	default:
		f.applyTurn(e)
	}
}

func (f *forest) applyItem(e client.Event) {
	var p struct {
		Status  string         `json:"status"`
		Content jsontext.Value `json:"content"`
	}
	if jsonv2.Unmarshal(e.Params, &p) != nil {
		return
	}
	if p.Status == "pending" {
		f.ask(e.ThreadID, questionOf(e.ItemID, e.TurnID, p.Content))
	} else {
		f.answered(e.ThreadID, e.ItemID)
	}
}

func questionOf(itemID, turnID string, content jsontext.Value) treeQuestion {
	c := timeline.ReadContent([]byte(content))
	return treeQuestion{ItemID: itemID, TurnID: turnID, Text: questionLine(c.Phrase), about: c.Subject.ItemID != ""}
}

// questionLine returns the phrase of a question in the one line of a tree.
func questionLine(phrase string) string { return sanitize.Line(phrase, turns.MaxSummaryText) }

// unworded returns the questions whose text may not have what they are about yet, by thread.
func (f *forest) unworded() map[string][]*treeQuestion {
	all := map[string][]*treeQuestion{}
	for id, t := range f.threads {
		for i := range t.Questions {
			if q := &t.Questions[i]; q.about {
				all[id] = append(all[id], q)
			}
		}
	}
	return all
}

func (f *forest) applyTurn(e client.Event) {
	node := f.threads[e.ThreadID]
	if node == nil || e.TurnID == "" || e.Method == notify.TurnLate {
		return
	}
	var next turns.Turn
	if prev := node.turn(e.TurnID); prev != nil {
		next = *prev
	}
	var p struct {
		turns.Turn
		State   string            `json:"state"` // of turn/progress it is the progress
		Verdict turns.ReviewState `json:"verdict"`
	}
	if jsonv2.Unmarshal(e.Params, &p) != nil {
		return
	}
	p.Turn.State = turns.State(p.State)
	now := p.Turn
	next.TurnID, next.ThreadID, next.Attempt = e.TurnID, e.ThreadID, max(now.Attempt, next.Attempt)
	next.Title, next.AttentionPolicy = cmp.Or(now.Title, next.Title), cmp.Or(now.AttentionPolicy, next.AttentionPolicy)
	next.Parent, next.Outside = cmp.Or(now.Parent, next.Parent), now.Outside || next.Outside
	switch e.Method {
	case notify.TurnQueued:
		next.State, next.QueuedAt, next.CreatedSeq = turns.Queued, now.QueuedAt, cmp.Or(next.CreatedSeq, e.Seq)
	case notify.TurnStarted:
		next.State, next.Progress, next.StartedAt, next.RetryAt, next.WaitsFor = turns.Active, turns.Running, now.StartedAt, notify.Time{}, nil
		node.Questions = slices.DeleteFunc(node.Questions, func(q treeQuestion) bool { return q.TurnID == e.TurnID })
	case notify.TurnProgress:
		next.State, next.Progress, next.RetryAt, next.WaitsFor = turns.Active, cmp.Or(turns.Progress(p.State), next.Progress), now.RetryAt, now.WaitsFor
	case notify.TurnCompleted, notify.TurnInterrupted, notify.TurnFailed:
		next.State, next.CompletedAt, next.Error, next.Reason, next.WaitsFor = now.State, now.CompletedAt, now.Error, now.Reason, nil
		next.StopReason = now.StopReason
		next.Review = now.Review
		if !now.StartedAt.IsZero() {
			next.StartedAt = now.StartedAt
		}
	}
	if e.Method == notify.TurnReviewed {
		next.State, next.Review = now.State, &turns.Review{State: p.Verdict}
	}
	f.addTurn(&next)
}

// turn returns a turn that the forest knows, or nil.
func (t *treeThread) turn(id string) *turns.Turn {
	if t.last != nil && t.last.TurnID == id {
		return t.last
	}
	return t.open[id]
}

// arrange chooses what is shown of each thread, and puts child threads below their
// owners. It returns the roots, the oldest first.
func (f *forest) arrange() (roots []*treeThread) {
	all := make([]*treeThread, 0, len(f.threads))
	for _, t := range f.threads {
		t.Children, t.Outside, t.Turn, t.Queued = nil, nil, t.last, 0
		var first *turns.Turn
		for _, turn := range t.open {
			if turn.State == turns.Queued {
				t.Queued++
			}
			if first == nil || first.State == turns.Queued && (turn.State != turns.Queued || turn.CreatedSeq < first.CreatedSeq) {
				first = turn
			}
		}
		if first != nil {
			t.Turn = first
		}
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b *treeThread) int { return cmp.Compare(a.created, b.created) })
	for _, t := range all {
		for _, turn := range t.open {
			if owner := f.ownerOf(turn); owner != nil && turn.Outside {
				owner.Outside = append(owner.Outside, turn)
			}
		}
	}
	for _, t := range all {
		slices.SortFunc(t.Outside, func(a, b *turns.Turn) int { return cmp.Compare(a.CreatedSeq, b.CreatedSeq) })
		owner := f.threads[t.parent]
		switch {
		case t.State == threads.Closed && t.ID != f.root:
		case t.ID == f.root, f.root == "" && owner == nil:
			roots = append(roots, t)
		case owner != nil:
			owner.Children = append(owner.Children, t)
		}
	}
	if f.root != "" {
		return roots
	}
	return slices.DeleteFunc(roots, func(t *treeThread) bool {
		return len(t.Children)+len(t.Outside)+len(t.open)+len(t.Questions) == 0
	})
}

// ownerOf returns the thread for which a turn works, or nil.
func (f *forest) ownerOf(t *turns.Turn) *treeThread {
	if t.Parent == nil {
		return nil
	}
	return f.threads[t.Parent.ThreadID]
}

// result returns what programs get.
func (f *forest) result() forestResult {
	return forestResult{Threads: append([]*treeThread{}, f.arrange()...), Latest: f.latest}
}

// running reports whether a time in the picture moves.
func (f *forest) running() bool {
	for _, t := range f.threads {
		if len(t.open) > 0 {
			return true
		}
	}
	return false
}

// tookOf returns for how long the current attempt of a turn has run, or its last one ran.
func tookOf(t *turns.Turn, now time.Time) time.Duration {
	since := t.StartedAt
	if since.IsZero() {
		return 0
	}
	if t.State.Ended() {
		now = t.CompletedAt.Time
	}
	return max(0, now.Sub(since.Time))
}

package dispatch

import (
	"fmt"
	"slices"
	"time"

	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// modelThread is a thread of a run and what its agent does: one turn at a time, with
// steps, questions, retries and reviews, as an engine writes them.
type modelThread struct {
	r    *modelRun
	m    *persisttest.Maker
	last time.Time // of its clock
	now  *modelTurn
	past []*modelTurn // those that have ended
}

type modelTurn struct {
	id        string
	ended     bool
	reviewed  bool // its end waits for a verdict
	continued bool // another turn continues it, so it is not retried
	damaged   bool
	asked     []string // questions that wait
}

// modelSteps are the paths of steps.
var modelSteps = []string{"a", "b", "a/x"}

func newModelThread(r *modelRun, id string) *modelThread {
	epoch := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	th := &modelThread{r: r, m: persisttest.NewMaker(r.t, agents{r.w.store, r.a}, id), last: epoch}
	th.clock()
	th.m.Start()
	th.m.Commit()
	return th
}

// clock sets the maker's clock to the time in the bubble.
func (th *modelThread) clock() {
	th.m.Later(time.Since(th.last))
	th.last = time.Now()
}

func (th *modelThread) count(what string) { th.r.counts[what]++ }

// move does something of a kind, or what has to come before it.
func (th *modelThread) move(m modelMove) {
	th.clock()
	t := th.now
	if t == nil {
		th.start(m.How)
		return
	}
	switch {
	case t.ended && t.reviewed && m.Kind != "retry":
		th.verdict(m.How)
	case m.Kind == "repair":
		th.repair()
	case m.Kind == "retry", t.ended && m.Kind == "work" && m.How%3 == 0:
		th.retry(m.How / 3)
	case t.ended:
		th.start(m.How)
	case m.Kind == "end":
		th.end(m.How, false)
	case m.Kind == "damage":
		th.end(0, true)
	case m.Kind == "ask":
		th.ask()
	case m.Kind == "answer" && len(t.asked) > 0:
		th.answer(m.How)
	default:
		th.work(m.How)
	}
}

func (th *modelThread) start(int) {
	if th.now != nil {
		th.past = append(th.past, th.now)
	}
	th.r.turns++
	th.now = &modelTurn{id: fmt.Sprint("t", th.r.turns)}
	th.m.Attempt(th.now.id)
	th.m.Commit()
	th.count("turns")
}

// work goes on with the turn.
func (th *modelThread) work(how int) {
	m, id := th.m, th.now.id
	step := modelSteps[how/10%len(modelSteps)]
	live := m.Live(id, step) != nil
	switch what := how % 10; {
	case what < 4 && !live && m.Live(id, notify.StepAbove(step)) != nil:
		m.Begin(id, step)
	case what < 5 && live:
		m.End(id, step, turns.StepCompleted)
	case what < 7 && live: // the step is tried again
		m.In(id, "")
		m.Interrupt(id, step)
		m.Rewind(id, step, turns.CauseTransient)
		if how%3 == 0 && m.Live(id, notify.StepAbove(step)) != nil {
			m.Begin(id, step)
		}
		th.count("rewinds of steps")
	case what < 8:
		th.ask()
		return
	case what < 9 && len(th.now.asked) > 0:
		th.answer(how / 10)
		return
	default:
		m.Messages(id, 1, 30)
	}
	m.Commit()
	th.forgetAnswered()
}

// ask creates an item that waits for a person.
func (th *modelThread) ask() {
	th.r.items++
	id := fmt.Sprint("q", th.r.items)
	if th.r.items%2 == 0 {
		th.m.Create(th.now.id, id, items.StatusPending, permission)
	} else {
		th.m.Create(th.now.id, id, items.StatusPending, items.Question{Type: items.KindQuestion, Message: "which one?"})
	}
	th.m.Commit()
	th.now.asked = append(th.now.asked, id)
	th.count("questions")
}

// answer answers a question, or withdraws it.
func (th *modelThread) answer(how int) {
	id := th.now.asked[how%len(th.now.asked)]
	row := th.m.Items[id]
	switch how % 3 {
	case 0:
		th.m.Add(notify.ItemDeleted, th.now.id, id, &items.Deleted{ItemID: id, Type: "deleted", Status: items.StatusDeleted})
	case 1:
		th.m.Add(notify.ItemUpdated, th.now.id, id, &items.Updated{ItemID: id, Type: "updated", Status: items.StatusInterrupted, Content: row.Content})
	default:
		th.m.Add(notify.ItemUpdated, th.now.id, id, &items.Updated{ItemID: id, Type: "updated", Status: items.StatusCompleted, Content: row.Content})
	}
	th.m.Commit()
	th.forgetAnswered()
}

func (th *modelThread) forgetAnswered() {
	th.now.asked = slices.DeleteFunc(th.now.asked, func(id string) bool { return th.m.Items[id].Status != items.StatusPending })
}

// end ends the turn, after its questions. damaged leaves a row that does not agree.
func (th *modelThread) end(how int, damaged bool) {
	t := th.now
	th.m.Interrupt(t.id, "")
	method, body := notify.TurnCompleted, &turns.EndedEvent{Type: "completed", State: turns.Completed, Message: "done"}
	switch how % 8 {
	case 5:
		method, body = notify.TurnFailed, &turns.EndedEvent{Type: "failed", State: turns.Failed}
	case 6:
		method, body = notify.TurnInterrupted, &turns.EndedEvent{Type: "interrupted", State: turns.Interrupted}
	}
	body.CompletedAt = notify.TimeOf(time.Now())
	if t.reviewed = how%3 == 1 && body.State != turns.Interrupted; t.reviewed {
		body.Review = &turns.ReviewAsked{Policy: turns.ReviewAlways, State: turns.ReviewPending, DueAt: notify.TimeOf(time.Now().Add(24 * time.Hour))}
		th.count("reviews")
	}
	th.m.Add(method, t.id, "", body)
	if damaged && !t.reviewed {
		t.damaged = true
		th.row(t.id, func(row *turns.Turn) { row.CompletedAt = notify.TimeOf(row.CompletedAt.Add(time.Second)) })
		th.damage(t.id, true)
		th.count("damages")
	}
	th.m.Commit()
	t.ended, t.asked = true, nil
	th.count("ends")
}

// row changes the row of a turn in the unit.
func (th *modelThread) row(id string, change func(*turns.Turn)) {
	row := *th.m.Row(turns.Table, id).(*turns.Turn)
	change(&row)
	th.m.Put(&row)
}

// damage tells the model that the row of a turn does not agree with its end.
func (th *modelThread) damage(id string, on bool) {
	th.r.a.mu.Lock()
	defer th.r.a.mu.Unlock()
	th.r.a.log.damaged[id] = on
	if on {
		th.r.a.log.broken[id] = true
	}
}

// repair makes the row of a damaged turn right again, with an event of the turn.
func (th *modelThread) repair() {
	for _, t := range append(slices.Clone(th.past), th.now) {
		if !t.damaged || !t.ended {
			continue
		}
		t.damaged = false
		th.m.Create(t.id, fmt.Sprint("repair", t.id), items.StatusCompleted, items.NewNotice("info", "repaired"))
		th.row(t.id, func(row *turns.Turn) { row.CompletedAt = notify.TimeOf(row.CompletedAt.Add(-time.Second)) })
		th.r.a.mu.Lock()
		th.r.a.log.damaged[t.id] = false // from the commit on
		th.r.a.mu.Unlock()
		th.m.Commit()
		th.count("repairs")
		return
	}
}

// retry gives up the live attempt of the turn, or of one that has ended, and begins
// the next, in one commit or in two.
func (th *modelThread) retry(how int) {
	t := th.now
	if t.continued || t.damaged {
		th.start(how)
		return
	}
	for i, past := range th.past {
		if t.ended && !t.reviewed && how%4 == 0 && i == how/4%len(th.past) && !past.continued && !past.damaged {
			th.past[i], th.now = t, past
			t = past
		}
	}
	ended := t.ended
	th.m.In(t.id, "")
	th.m.Interrupt(t.id, "")
	th.m.Rewind(t.id, "", turns.CauseRequest)
	if how%2 == 0 {
		th.m.Commit()
	}
	th.m.Attempt(t.id)
	th.m.Commit()
	t.ended, t.reviewed, t.asked = false, false, nil
	if ended {
		th.count("retries of ends")
	}
}

// verdict decides about an end that waits for a review.
func (th *modelThread) verdict(how int) {
	t := th.now
	body := &turns.ReviewedEvent{
		Type: "reviewed", State: th.m.Turns[t.id].State, Verdict: turns.Approved, Policy: turns.ReviewAlways, By: turns.ByClient, ReviewedAt: notify.TimeOf(time.Now()),
	}
	switch how % 4 {
	case 1:
		body.Verdict, body.Reason, body.By = turns.Blocked, turns.ReviewTimeout, turns.ByServer
	case 2:
		body.Verdict, body.Note = turns.Rejected, "no"
	case 3:
		body.Verdict, body.Note, body.ContinuedBy = turns.Rejected, "more", fmt.Sprint("t", th.r.turns+1)
		t.continued = true
	}
	th.m.Add(notify.TurnReviewed, t.id, "", body)
	th.m.Commit()
	t.reviewed = false
	th.count(string(body.Verdict))
	if t.continued {
		th.start(how)
	}
}

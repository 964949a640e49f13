package dispatch

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/persist/persisttest"
)

func ask(m *persisttest.Maker, turn, item string) {
	m.Create(turn, item, items.StatusPending, permission)
	m.Commit()
}

func answer(m *persisttest.Maker, turn, item string) {
	p := permission
	p.Outcome, p.ResolvedBy = &items.Outcome{Type: items.OutcomeSelected, OptionID: "y", Kind: items.AllowOnce}, "client"
	m.Update(turn, item, items.StatusCompleted, p)
	m.Commit()
}

func TestAQuestionAndItsAnswerAreDelivered(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "", bridges.OnQuestions)
		m := w.thread("a")
		turn(m, "t1")
		m.Messages("t1", 3, 20)
		m.Commit()
		ask(m, "t1", "i1")
		synctest.Wait()
		w.target.mu.Lock()
		q := w.target.got[0].envelope
		w.target.mu.Unlock()
		if q.EventType != bridges.TypeQuestion || q.Data.Question == nil || q.Data.Question.Title != "run make" || q.Data.Question.Options[0].Label != "Yes" {
			t.Errorf("question: %+v", q)
		}
		answer(m, "t1", "i1")
		synctest.Wait()
		w.target.mu.Lock()
		a := w.target.got[1].envelope
		w.target.mu.Unlock()
		if a.EventType != bridges.TypeAnswer || a.Data.ResolvedBy != "client" || string(a.Data.Outcome) != `{"type":"selected","option_id":"y","kind":"allow_once"}` {
			t.Errorf("answer: %+v", a)
		}
		want(t, "arrived", w.target.take(), "item.created 8, item.updated 9")
	})
}

// TestAnAnsweredQuestionIsNotSent, nor its answer: nobody was asked.
func TestAnAnsweredQuestionIsNotSent(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "", bridges.OnQuestions)
		w.target.answer = func(*bridges.Outgoing, int) bridges.Result {
			return bridges.Result{Outcome: bridges.Failed, Error: "connection_refused", Unhealthy: true}
		}
		m := w.thread("a")
		turn(m, "t1")
		ask(m, "t1", "i1")
		synctest.Wait()
		answer(m, "t1", "i1")
		synctest.Wait()
		w.target.mu.Lock()
		w.target.answer = nil
		w.target.mu.Unlock()
		time.Sleep(time.Hour)
		want(t, "arrived", w.target.take(), "")
		want(t, "rows", w.deliveries("s"), "question 5 suppressed (answered), answer 6 suppressed (unasked)")
	})
}

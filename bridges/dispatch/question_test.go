package dispatch

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/items"
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

// TestAQuestionIsSentWithWhatItIsAbout, without secrets, also where it is cut; and with the answer.
func TestAQuestionIsSentWithWhatItIsAbout(t *testing.T) {
	const key = "ghp_SENTINEL0123456789abcdefghijklmnopqr"
	for command, title := range map[string]string{
		"make deploy":                        "run make deploy",
		"deploy --key " + key:                "run deploy --key [redacted]",
		"deploy --key ghp_\x1b[0m" + key[4:]: "run deploy --key [redacted]",
		strings.Repeat("x", 185) + " " + key: "run " + strings.Repeat("x", 185) + " [redacted]",
		strings.Repeat("long ", 100):         "run " + strings.Repeat("long ", 40)[:199] + "…",
	} {
		inWorld(t, func(t *testing.T, w *world) {
			w.bridge("b")
			w.subscribe("s", "b", "", bridges.OnQuestions)
			m := w.thread("a")
			turn(m, "t1")
			m.Create("t1", "i0", items.StatusInProgress, items.CommandExecution{Type: items.KindCommandExecution, Command: command})
			p := permission
			p.Title, p.Subject = "Show the date", items.Subject{ItemID: "i0", Type: "command"}
			m.Create("t1", "i1", items.StatusPending, p)
			m.Commit()
			synctest.Wait()
			p.Outcome, p.ResolvedBy = &items.Outcome{Type: items.OutcomeSelected, OptionID: "y", Kind: items.AllowOnce}, "client"
			m.Update("t1", "i1", items.StatusCompleted, p)
			m.Commit()
			synctest.Wait()
			w.target.mu.Lock()
			defer w.target.mu.Unlock()
			if len(w.target.got) != 2 {
				t.Fatalf("%d were sent", len(w.target.got))
			}
			for _, a := range w.target.got {
				want(t, string(a.envelope.EventType), a.envelope.Data.Question.Title, title)
			}
		})
	}
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

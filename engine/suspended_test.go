package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// endings are the ways in which a server ends: a question must outlive each.
var endings = map[string]func(*harness){
	"killed":           (*harness).restart,
	"stopped":          (*harness).stopAndStart,
	"stopped too late": func(h *harness) { cut := h.drainBegins(); h.restart(); cut() },
}

// stopAndStart is a stop in order and a start.
func (h *harness) stopAndStart() {
	h.t.Helper()
	if _, err := h.drain(); err != nil {
		h.t.Errorf("drain: %v", err)
	}
	h.restart()
}

// drainBegins is the beginning of a stop in order, which a second signal ends.
func (h *harness) drainBegins() (cut func()) {
	ctx, cut := context.WithCancel(bg)
	go func() { _ = h.engine.Drain(ctx) }() // its end is not waited for
	synctest.Wait()
	return cut
}

// overEnding runs f for every way in which a server ends.
func overEnding(t *testing.T, o setup, f func(h *harness, restart func())) {
	for name, end := range endings {
		t.Run(name, func(t *testing.T) {
			bubble(t, o, func(h *harness) { f(h, func() { end(h) }) })
		})
	}
}

// asksOn is a turn whose agent can go on after a restart, with a question of it.
func (h *harness) asksOn(c turns.Start, q items.Content, o turns.AskOptions) (*call, *asked) {
	h.t.Helper()
	if c.ThreadID == "" {
		c.ThreadID = "a"
	}
	h.thread(c.ThreadID, "")
	h.startWith(c)
	p := h.next(h.agent)
	o.Resumes = true
	return p, h.ask(p, q, o)
}

func (h *harness) answer(itemID, option string) {
	h.t.Helper()
	if _, err := h.engine.Respond(bg, turns.Respond{ItemID: itemID, OptionID: option}); err != nil {
		h.t.Fatalf("respond: %v", err)
	}
}

// waitsWithoutProcess checks that the turn waits for the question, and that nothing runs.
func (h *harness) waitsWithoutProcess(turnID, itemID string) {
	h.t.Helper()
	h.idle(h.agent)
	if tn, it := h.turn(turnID), h.item(itemID); !tn.WaitsForPerson() || tn.SuspendedSeq == 0 || it.Status != items.StatusPending {
		h.t.Fatalf("turn %+v\nquestion %+v", tn, it)
	}
}

const restartedText = "The server was restarted while you waited for: may I?. The answer: Yes. Go on; repeat nothing that was done."

func TestQuestionOutlivesTheServer(t *testing.T) {
	for _, policy := range []*turns.RetryPolicy{nil, retrying()} {
		t.Run(fmt.Sprintf("policy %v", policy != nil), func(t *testing.T) {
			overEnding(t, setup{cfg: engine.Config{MaxActiveTurns: 1}}, func(h *harness, restart func()) {
				c, q := h.asksOn(turns.Start{Retry: policy}, permission(), turns.AskOptions{})
				open := h.message(c, "half a sen")
				s := h.steer(c.TurnID, "and more", false)
				synctest.Wait()
				before := len(h.of(func(e event) bool { return e.TurnID == c.TurnID }))
				restart()
				h.waitsWithoutProcess(c.TurnID, q.id)
				if n := len(h.of(func(e event) bool { return e.TurnID == c.TurnID })); n != before+1 {
					t.Errorf("the turn has %d events, had %d: a stop writes nothing of it, a start one", n, before)
				}
				h.slots(0, 1)
				h.thread("b", "quick") // its slot is free
				other := h.start("b")
				h.ended(other.TurnID)
				restart()
				h.waitsWithoutProcess(c.TurnID, q.id)
				h.answer(q.id, "yes")
				again := h.next(h.agent)
				h.slots(1, 0)
				want := restartedText + "|do it|and more"
				if again.TurnID != c.TurnID || again.Attempt != 1 || again.said() != want {
					t.Errorf("attempt %d: %q, want %q", again.Attempt, again.said(), want)
				}
				if m := again.Input[0]; m.Origin != items.OriginResume || len(m.Answers) != 1 || m.Answers[0] != (items.ToldAnswer{ItemID: q.id, Title: "may I?", Answer: "Yes"}) {
					t.Errorf("message %+v", m)
				}
				if it := h.item(open); it.Status != items.StatusInterrupted {
					t.Errorf("what was open: %+v", it)
				}
				if it := h.item(s.ItemIDs[0]); it.Status != items.StatusCompleted {
					t.Errorf("steer: %+v", it)
				}
				again.end(turns.Completed)
				if e := h.ended(c.TurnID); e.Method != notify.TurnCompleted || e.Attempt != 1 {
					t.Errorf("ended: %s", e)
				}
				h.idle(h.agent)
			})
		})
	}
}

func TestAnswerIsGivenOnceToTheSameRequestOnly(t *testing.T) {
	about := func(h *harness, c *call, command string) items.PermissionRequest {
		id := items.NewID()
		h.emit(c, items.Create{ItemID: id, Content: items.CommandExecution{
			Type: items.KindCommandExecution, ToolCallID: id, Title: "t " + id, ToolKind: "execute", Command: command, Cwd: "/w", Input: items.Raw(`{"command":"` + command + `"}`),
		}})
		p := permission()
		p.Title, p.Subject = "t "+id, items.Subject{Type: "command", ItemID: id, Command: command, Cwd: "/w"}
		return p
	}
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		h.start("a")
		c := h.next(h.agent)
		q := h.ask(c, about(h, c, "make"), turns.AskOptions{Resumes: true})
		h.restart()
		h.answer(q.id, "no")
		again := h.next(h.agent)
		other := h.ask(again, about(h, again, "make clean"), turns.AskOptions{Resumes: true})
		if it := h.item(other.id); it.Status != items.StatusPending {
			t.Errorf("another command: %+v", it)
		}
		more := about(h, again, "make")
		more.Options = more.Options[:1]
		options := h.ask(again, more, turns.AskOptions{Resumes: true})
		if it := h.item(options.id); it.Status != items.StatusPending {
			t.Errorf("other options: %+v", it)
		}
		same := h.ask(again, about(h, again, "make"), turns.AskOptions{Resumes: true})
		if a := h.got(same); a.Status != items.StatusDeclined || a.Outcome.OptionID != "no" {
			t.Errorf("answered %+v", a)
		}
		if it := h.item(same.id); it.Status != items.StatusDeclined || !strings.Contains(string(it.Content), `"resolved_by":"restart"`) {
			t.Errorf("the same: %+v", it)
		}
		twice := h.ask(again, about(h, again, "make"), turns.AskOptions{Resumes: true})
		if it := h.item(twice.id); it.Status != items.StatusPending {
			t.Errorf("asked twice: %+v", it)
		}
		again.end(turns.Completed)
		h.ended(c.TurnID)
	})
}

func TestEachAnswerIsToldOverSeveralRestarts(t *testing.T) {
	overEnding(t, setup{}, func(h *harness, restart func()) {
		c, first := h.asksOn(turns.Start{}, permission(), turns.AskOptions{})
		second := h.ask(c, items.Question{Type: items.KindQuestion, Message: "how many?"}, turns.AskOptions{Resumes: true})
		restart()
		h.answer(first.id, "yes")
		h.waitsWithoutProcess(c.TurnID, second.id)
		restart()
		h.waitsWithoutProcess(c.TurnID, second.id)
		if _, err := h.engine.Respond(bg, turns.Respond{ItemID: second.id, Answer: []byte(`{"n":3}`)}); err != nil {
			t.Fatal(err)
		}
		again := h.next(h.agent)
		want := `The server was restarted while you waited for: may I?. The answer: Yes. You also waited for: how many?. The answer: {"n":3}. Go on; repeat nothing that was done.|do it`
		if again.said() != want {
			t.Errorf("told %q, want %q", again.said(), want)
		}
		again.end(turns.Completed)
		h.ended(c.TurnID)
	})
}

func TestExpiryHoldsOverARestart(t *testing.T) {
	overEnding(t, setup{}, func(h *harness, restart func()) {
		c, q := h.asksOn(turns.Start{}, permission(), turns.AskOptions{ExpiresAfter: time.Hour, OnExpiry: items.RejectOnce})
		began := time.Now()
		time.Sleep(30 * time.Minute)
		restart()
		h.waitsWithoutProcess(c.TurnID, q.id)
		time.Sleep(30 * time.Minute)
		again := h.next(h.agent)
		if d := time.Since(began).Round(time.Minute); d != time.Hour {
			t.Errorf("expired after %v", d)
		}
		if it := h.item(q.id); it.Status != items.StatusDeclined {
			t.Errorf("question %+v", it)
		}
		if !strings.Contains(again.said(), "The answer: No.") {
			t.Errorf("told %q", again.said())
		}
		again.end(turns.Completed)
		h.ended(c.TurnID)
	})
}

func TestAnswerInADrainIsRefusedAndTakenAfterIt(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c, q := h.asksOn(turns.Start{}, permission(), turns.AskOptions{})
		defer h.drainBegins()()
		respond := turns.Respond{ItemID: q.id, OptionID: "yes", Key: key("item/respond", "once", 1)}
		if _, err := h.engine.Respond(bg, respond); !errors.Is(err, turns.ErrDraining) {
			t.Errorf("in the drain: %v", err)
		}
		h.restart()
		for range 2 {
			if r, err := h.engine.Respond(bg, respond); err != nil || r.Status != items.StatusCompleted {
				t.Errorf("after the drain: %+v, %v", r, err)
			}
		}
		h.next(h.agent).end(turns.Completed)
		h.ended(c.TurnID)
		h.idle(h.agent)
	})
}

// The stop must not put words into the agent's memory, and what its process does from then
// on must not become part of the turn.
func TestStopTellsAnAgentThatWaitsNothing(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "deaf")
		h.start("a")
		c := h.next(h.deaf)
		q := h.ask(c, permission(), turns.AskOptions{Resumes: true})
		if d, err := h.drain(); err != nil || d != 0 {
			t.Errorf("drained in %v: %v", d, err)
		}
		if a := <-q.answer; !errors.Is(<-q.err, turns.ErrPromptOver) {
			t.Errorf("the agent got %+v", a)
		}
		if cause := contextCause(c); !errors.Is(cause, turns.ErrServerStops) {
			t.Errorf("cause %v", cause)
		}
		_ = c.Emit(bg, items.Create{ItemID: items.NewID(), Status: items.StatusCompleted, Content: items.NewAgentMessage("too late")})
		c.end(turns.Completed)
		h.none("of the turn", func(e event) bool { return e.TurnID == c.TurnID && e.Seq > h.turn(c.TurnID).UpdatedSeq })
		h.restart()
		if it := h.item(q.id); it.Status != items.StatusPending {
			t.Errorf("question %+v", it)
		}
	})
}

func TestTurnThatAsksInADrainIsLeftToTheNextServer(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.prompt()
		defer h.drainBegins()()
		time.Sleep(time.Second)
		q := h.ask(c, permission(), turns.AskOptions{Resumes: true})
		synctest.Wait()
		if n := h.engine.Load().Active; n != 0 {
			t.Errorf("the drain waits for %d turns", n)
		}
		h.restart()
		h.waitsWithoutProcess(c.TurnID, q.id)
	})
}

func TestAgentThatCannotGoOnIsTriedAgainElseItsTurnEnds(t *testing.T) {
	for name, policy := range map[string]*turns.RetryPolicy{"without a policy": nil, "with one": {OnCrash: turns.CrashRetry, MaxAttempts: 1}} {
		t.Run(name, func(t *testing.T) {
			overEnding(t, setup{}, func(h *harness, restart func()) {
				h.thread("a", "")
				h.startWith(turns.Start{ThreadID: "a", Retry: policy})
				c := h.next(h.agent)
				q := h.ask(c, permission(), turns.AskOptions{})
				restart()
				if it := h.item(q.id); it.Status != items.StatusCancelled || !strings.Contains(string(it.Content), `"reason":"restart"`) {
					t.Errorf("question %s %s", it.Status, it.Content)
				}
				if policy == nil {
					if e := h.ended(c.TurnID); e.Method != notify.TurnInterrupted || e.Reason != "server restarted" {
						t.Errorf("ended: %s", e)
					}
					return
				}
				again := h.next(h.agent) // a restart while it waits is not its fault, so the attempt does not count
				if again.Attempt != 2 || again.said() != "do it" || h.turn(c.TurnID).Uncounted != 1 {
					t.Errorf("attempt %d: %q", again.Attempt, again.said())
				}
				again.end(turns.Completed)
				h.ended(c.TurnID)
			})
		})
	}
}

func TestSessionThatIsLostEndsLikeAnAgentThatCannotGoOn(t *testing.T) {
	for name, policy := range map[string]*turns.RetryPolicy{"without a policy": nil, "with one": retrying()} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				c, q := h.asksOn(turns.Start{Retry: policy}, permission(), turns.AskOptions{})
				h.restart()
				h.answer(q.id, "yes")
				lost := turns.FailedWith(turns.KindAgentUnavailable, "no such session")
				lost.Cause = turns.CauseServer
				h.next(h.agent).out <- lost
				if policy == nil {
					if e := h.ended(c.TurnID); e.Method != notify.TurnInterrupted || e.Reason != "server restarted" {
						t.Errorf("ended: %s", e)
					}
					return
				}
				again := h.next(h.agent)
				if again.Attempt != 2 || again.said() != "do it" { // the answer was of the attempt that is superseded
					t.Errorf("attempt %d: %q", again.Attempt, again.said())
				}
				again.end(turns.Completed)
				h.ended(c.TurnID)
			})
		})
	}
}

// The answer is in the log before the prompt that tells it.
func TestAnswerOutlivesAKillBeforeThePrompt(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c, q := h.asksOn(turns.Start{}, permission(), turns.AskOptions{})
		h.restart()
		h.faults.fail(func(u *ledger.Unit) error {
			for _, d := range u.Drafts {
				if d.Method == notify.TurnProgress {
					return ledger.ErrStorageFull
				}
			}
			return nil
		})
		h.answer(q.id, "yes")
		h.idle(h.agent)
		if tn := h.turn(c.TurnID); tn.SuspendedSeq == 0 {
			t.Errorf("turn %+v", tn)
		}
		h.restart()
		again := h.next(h.agent)
		if again.said() != restartedText+"|do it" {
			t.Errorf("told %q", again.said())
		}
		again.end(turns.Completed)
		h.ended(c.TurnID)
	})
}

func TestFullDiskPutsThePromptAfterARestartOff(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c, q := h.asksOn(turns.Start{}, permission(), turns.AskOptions{})
		h.restart()
		full := 0
		h.faults.fail(func(u *ledger.Unit) error {
			for _, d := range u.Drafts {
				if d.Method == notify.TurnProgress && full < 3 {
					full++
					return ledger.ErrStorageFull
				}
			}
			return nil
		})
		h.answer(q.id, "yes")
		h.next(h.agent).end(turns.Completed)
		h.ended(c.TurnID)
		if full != 3 {
			t.Errorf("refused %d times", full)
		}
	})
}

func TestCommandsOnATurnThatWaitsWithoutAProcess(t *testing.T) {
	suspended := func(t *testing.T, f func(h *harness, turnID, question string)) {
		bubble(t, setup{}, func(h *harness) {
			c, q := h.asksOn(turns.Start{}, permission(), turns.AskOptions{})
			h.restart()
			h.waitsWithoutProcess(c.TurnID, q.id)
			f(h, c.TurnID, q.id)
		})
	}
	t.Run("interrupt ends it at once", func(t *testing.T) {
		suspended(t, func(h *harness, turnID, question string) {
			if r, _ := h.interrupt(turnID); r.State != string(turns.Interrupted) {
				t.Errorf("answer %+v", r)
			}
			if it := h.item(question); it.Status != items.StatusCancelled {
				t.Errorf("question %+v", it)
			}
			h.idleGate()
		})
	})
	t.Run("a steer waits for the answer", func(t *testing.T) {
		suspended(t, func(h *harness, turnID, question string) {
			h.steer(turnID, "be quick", false)
			h.waitsWithoutProcess(turnID, question)
			h.answer(question, "yes")
			c := h.next(h.agent)
			if c.said() != restartedText+"|do it|be quick" {
				t.Errorf("told %q", c.said())
			}
			c.end(turns.Completed)
			h.ended(turnID)
		})
	})
	t.Run("a steer that cuts cancels the question", func(t *testing.T) {
		suspended(t, func(h *harness, turnID, question string) {
			h.steer(turnID, "leave that", true)
			c := h.next(h.agent)
			if !strings.HasSuffix(c.said(), "The answer: none, the question was cancelled. Go on; repeat nothing that was done.|do it|leave that") {
				t.Errorf("told %q", c.said())
			}
			c.end(turns.Completed)
			h.ended(turnID)
		})
	})
	t.Run("its timeout stands still", func(t *testing.T) {
		bubble(t, setup{}, func(h *harness) {
			c, q := h.asksOn(turns.Start{TimeoutSeconds: 60}, permission(), turns.AskOptions{})
			time.Sleep(time.Hour)
			h.restart()
			time.Sleep(time.Hour)
			h.answer(q.id, "yes")
			again := h.next(h.agent)
			began := time.Now()
			if e := h.ended(c.TurnID); e.Error == nil || e.Error.Kind != "timeout" || time.Since(began) != time.Minute {
				t.Errorf("ended after %v: %s", time.Since(began), e)
			}
			_ = again
		})
	})
}

func TestStopThatWasAskedForHasPriorityOverTheQuestion(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("d", "deaf")
		h.startWith(turns.Start{ThreadID: "d", Retry: retrying()})
		c := h.next(h.deaf)
		q := h.ask(c, permission(), turns.AskOptions{Resumes: true})
		h.interrupt(c.TurnID)
		go h.deaf.free()
		h.restart()
		if e := h.ended(c.TurnID); e.Method != notify.TurnInterrupted || e.Reason != "requested by a client" && e.Reason != "server restarted" {
			t.Errorf("ended: %s", e)
		}
		if it := h.item(q.id); it.Status != items.StatusCancelled {
			t.Errorf("question %+v", it)
		}
	})
}

// A stop in order does not use up attempts: an upgrade is not the turn's fault.
func TestStopDoesNotCountAgainstTheAttempts(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.tried(turns.Start{Retry: &turns.RetryPolicy{OnCrash: turns.CrashRetry, MaxAttempts: 2, BackoffSeconds: 1}})
		for n := 1; n <= 5; n++ {
			h.message(c, "I work")
			h.stopAndStart()
			marker, _ := h.marker(c.TurnID, n)
			if !strings.Contains(string(marker.raw), `"uncounted":true`) {
				t.Fatalf("marker %s", marker.raw)
			}
			c = h.next(h.agent)
			if c.Attempt != n+1 {
				t.Fatalf("attempt %d after %d stops", c.Attempt, n)
			}
		}
		h.message(c, "I work")
		h.restart() // a kill counts
		c = h.next(h.agent)
		h.message(c, "I work")
		h.restart()
		if e := h.ended(c.TurnID); e.Method != notify.TurnFailed || e.Error.Kind != "unavailable" || e.Attempt != 7 {
			t.Errorf("ended: %s", e)
		}
	})
}

func TestThreeRestartsWithoutOutputFailTheTurn(t *testing.T) {
	overEnding(t, setup{}, func(h *harness, restart func()) {
		h.tried(turns.Start{Retry: &turns.RetryPolicy{OnCrash: turns.CrashRetry, MaxAttempts: 9, BackoffSeconds: 1}})
		h.stopAndStart()
		h.next(h.agent)
		h.restart()
		c := h.next(h.agent)
		h.message(c, "I work") // they are in a row only without this
		h.stopAndStart()
		for range 2 {
			h.next(h.agent)
			h.stopAndStart()
		}
		c = h.next(h.agent)
		restart()
		if e := h.ended(c.TurnID); e.Method != notify.TurnFailed || !strings.Contains(e.Error.Message, "3 restarts") {
			t.Errorf("ended: %s", e)
		}
		h.idle(h.agent)
	})
}

// The agent worked for 2 of 6 seconds, and a person took 9 to answer.
func TestWaitForAPersonIsNotRunTimeAfterAKill(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.tried(turns.Start{TimeoutSeconds: 6})
		time.Sleep(time.Second)
		q := h.ask(c, permission(), turns.AskOptions{})
		time.Sleep(9 * time.Second)
		h.allow(q)
		time.Sleep(time.Second)
		h.message(c, "on it")
		h.restart()
		marker, _ := h.marker(c.TurnID, 1)
		if !strings.Contains(string(marker.raw), `"used_ms":2000`) {
			t.Errorf("marker %s", marker.raw)
		}
	})
}

func contextCause(c *call) error { return context.Cause(c.ctx) }

// A question is output of its attempt, also for a server that has only read it.
func TestAttemptThatAskedOverARestartIsNotSilent(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c, q := h.asksOn(turns.Start{Retry: retrying()}, permission(), turns.AskOptions{})
		for range 4 {
			h.restart()
			h.answer(q.id, "yes")
			h.next(h.agent)
			h.stopAndStart()
			c = h.next(h.agent)
			q = h.ask(c, permission(), turns.AskOptions{Resumes: true})
		}
		if tn := h.turn(c.TurnID); tn.SilentRestarts != 0 || tn.Attempt != 5 {
			t.Errorf("turn %+v", tn)
		}
		h.answer(q.id, "yes")
		c.end(turns.Completed)
		h.ended(c.TurnID)
	})
}

// The third silent restart fails the turn also if a second signal cuts its stop off.
func TestThirdSilentRestartThatIsCutOffFailsTheTurn(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("d", "deaf")
		h.startWith(turns.Start{ThreadID: "d", Retry: &turns.RetryPolicy{OnCrash: turns.CrashRetry, MaxAttempts: 9, BackoffSeconds: 1}})
		for range 2 {
			h.next(h.deaf)
			h.stopAndStart()
		}
		c := h.next(h.deaf)
		cut := h.drainBegins()
		h.event(notify.TurnProgress, func(e event) bool { return e.TurnID == c.TurnID && e.State == string(turns.Interrupting) })
		h.restart()
		cut()
		if e := h.ended(c.TurnID); e.Method != notify.TurnFailed || !strings.Contains(e.Error.Message, "3 restarts") {
			t.Errorf("ended: %s", e)
		}
	})
}

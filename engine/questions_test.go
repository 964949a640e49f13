package engine_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

func TestAnswersEndQuestionsAsTheirKindSays(t *testing.T) {
	question := items.Question{Type: items.KindQuestion, Message: "how many?"}
	for name, c := range map[string]struct {
		question items.Content
		answer   turns.Respond
		status   items.Status
		outcome  items.Outcome
	}{
		"allow by id":    {permission(), turns.Respond{OptionID: "yes"}, items.StatusCompleted, items.Outcome{Type: "selected", OptionID: "yes", Kind: items.AllowOnce}},
		"allow by kind":  {permission(), turns.Respond{OptionKind: items.AllowOnce}, items.StatusCompleted, items.Outcome{Type: "selected", OptionID: "yes", Kind: items.AllowOnce}},
		"reject by kind": {permission(), turns.Respond{OptionKind: items.RejectOnce}, items.StatusDeclined, items.Outcome{Type: "selected", OptionID: "no", Kind: items.RejectOnce}},
		"cancel":         {permission(), turns.Respond{Outcome: "cancelled"}, items.StatusCancelled, items.Outcome{Type: "cancelled"}},
		"answer":         {question, turns.Respond{Answer: jsontext.Value(`{"n":3}`)}, items.StatusCompleted, items.Outcome{Type: "answered"}},
		"cancel answer":  {question, turns.Respond{Outcome: "cancelled"}, items.StatusCancelled, items.Outcome{Type: "cancelled"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				p := h.prompt()
				q := h.ask(p, c.question, turns.AskOptions{})
				c.answer.ItemID = q.id
				r, err := h.engine.Respond(bg, c.answer)
				if err != nil || r.Status != c.status || r.Outcome != c.outcome {
					t.Fatalf("respond: %+v, %v", r, err)
				}
				a := h.got(q)
				if a.Status != c.status || a.Outcome != c.outcome || string(a.Answer) != string(c.answer.Answer) {
					t.Errorf("the agent got %+v", a)
				}
				if e := h.event(notify.ItemUpdated, ofItem(q.id)); e.Status != c.status {
					t.Errorf("updated: %s", e)
				}
				if tn := h.turn(p.TurnID); tn.Progress != turns.Running {
					t.Errorf("the turn is %s", tn.Progress)
				}
				if _, err := h.engine.Respond(bg, c.answer); !errors.Is(err, items.ErrAlreadyResolved) {
					t.Errorf("a second answer: %v", err)
				}
				p.end(turns.Completed)
				h.ended(p.TurnID)
			})
		})
	}
}

func TestAnswersThatDoNotFitAreRefusedAndChangeNothing(t *testing.T) {
	question := items.Question{Type: items.KindQuestion, Message: "how many?"}
	for name, c := range map[string]struct {
		question items.Content
		answer   turns.Respond
		field    string
	}{
		"nothing":                  {permission(), turns.Respond{}, "option_id"},
		"two":                      {permission(), turns.Respond{OptionID: "yes", OptionKind: items.AllowOnce}, "option_id"},
		"unknown id":               {permission(), turns.Respond{OptionID: "maybe"}, "option_id"},
		"unknown kind":             {permission(), turns.Respond{OptionKind: items.AllowAlways}, "kind"},
		"unknown outcome":          {permission(), turns.Respond{Outcome: "lost"}, "outcome"},
		"an answer to a request":   {permission(), turns.Respond{Answer: jsontext.Value("1")}, "answer"},
		"an option for a question": {question, turns.Respond{OptionKind: items.AllowOnce}, "answer"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				p := h.prompt()
				q := h.ask(p, c.question, turns.AskOptions{})
				c.answer.ItemID = q.id
				before := len(h.seen)
				_, err := h.engine.Respond(bg, c.answer)
				var invalid *turns.InvalidError
				if !errors.As(err, &invalid) || invalid.Field != c.field {
					t.Errorf("%v", err)
				}
				if h.pump(); len(h.seen) != before || h.item(q.id).Status != items.StatusPending {
					t.Error("something has changed")
				}
				p.end(turns.Completed)
				h.ended(p.TurnID)
			})
		})
	}
}

// A client that may answer one question must not answer later ones with it.
func TestAnAnswerForOnceIsNotForAlways(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		p := h.prompt()
		request := permission()
		request.Options = append(request.Options,
			items.Option{OptionID: "ever", Name: "Always", Kind: items.AllowAlways}, items.Option{OptionID: "never", Name: "Never", Kind: items.RejectAlways},
			items.Option{OptionID: "persistent", Name: "Persistently", Kind: "allow_persistent"}, items.Option{OptionID: "kindless", Name: "Whatever"})
		q := h.ask(p, request, turns.AskOptions{})
		before := len(h.seen)
		for _, c := range []turns.Respond{{OptionID: "ever"}, {OptionID: "persistent"}, {OptionID: "kindless"}, {OptionKind: items.AllowAlways}, {OptionKind: "allow_persistent"}} {
			c.ItemID, c.Once, c.By = q.id, true, "token:phone"
			if _, err := h.engine.Respond(bg, c); !errors.Is(err, turns.ErrOnlyOnce) {
				t.Errorf("%+v: %v", c, err)
			}
		}
		if h.pump(); len(h.seen) != before || h.item(q.id).Status != items.StatusPending {
			t.Error("something has changed")
		}
		if _, err := h.engine.Respond(bg, turns.Respond{ItemID: q.id, OptionKind: items.AllowOnce, Once: true, By: "token:phone"}); err != nil {
			t.Fatal(err)
		}
		if a := h.got(q); a.Outcome.OptionID != "yes" {
			t.Errorf("the agent got %+v", a)
		}
		q = h.ask(p, request, turns.AskOptions{})
		if _, err := h.engine.Respond(bg, turns.Respond{ItemID: q.id, OptionID: "never", Once: true, By: "token:phone"}); err != nil {
			t.Fatal(err)
		}
		if a := h.got(q); a.Outcome.OptionID != "never" {
			t.Errorf("the agent got %+v", a)
		}
		p.end(turns.Completed)
		h.ended(p.TurnID)
	})
}

// The agent works on after every option that does not reject, also one of a kind of its own.
func TestOnlyAnOptionThatRejectsDeclines(t *testing.T) {
	for kind, want := range map[string]items.Status{
		items.AllowOnce: items.StatusCompleted, items.AllowAlways: items.StatusCompleted, "allow_persistent": items.StatusCompleted,
		"other": items.StatusCompleted, "": items.StatusCompleted,
		items.RejectOnce: items.StatusDeclined, items.RejectAlways: items.StatusDeclined, "reject_and_stop": items.StatusDeclined,
	} {
		t.Run(kind, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				p := h.prompt()
				request := permission()
				request.Options = []items.Option{{OptionID: "it", Name: "It", Kind: kind}}
				q := h.ask(p, request, turns.AskOptions{})
				r, err := h.engine.Respond(bg, turns.Respond{ItemID: q.id, OptionID: "it"})
				if err != nil {
					t.Fatal(err)
				}
				a := h.got(q)
				decided := h.ask(p, request, turns.AskOptions{OptionID: "it"})
				if b := h.got(decided); a.Status != want || b.Status != want || r.Status != want {
					t.Errorf("the agent got %+v, %+v, the client %+v", a, b, r)
				}
				if h.pump(); h.item(q.id).Status != want || h.item(decided.id).Status != want {
					t.Errorf("in the log: %s, %s", h.item(q.id).Status, h.item(decided.id).Status)
				}
				p.end(turns.Completed)
				h.ended(p.TurnID)
			})
		})
	}
}

func TestQuestionsExpireAsConfigured(t *testing.T) {
	for name, c := range map[string]struct {
		onExpiry string
		status   items.Status
		outcome  items.Outcome
	}{
		"rejected":      {items.RejectOnce, items.StatusDeclined, items.Outcome{Type: "expired", OptionID: "no", Kind: items.RejectOnce}},
		"allowed":       {items.AllowOnce, items.StatusCompleted, items.Outcome{Type: "expired", OptionID: "yes", Kind: items.AllowOnce}},
		"nothing":       {"", items.StatusCancelled, items.Outcome{Type: "expired"}},
		"no such kind ": {items.AllowAlways, items.StatusCancelled, items.Outcome{Type: "expired"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				p := h.prompt()
				other := h.ask(p, permission(), turns.AskOptions{})
				began := time.Now()
				q := h.ask(p, permission(), turns.AskOptions{ExpiresAfter: 30 * time.Second, OnExpiry: c.onExpiry})
				a := h.got(q)
				if d := time.Since(began); d != 30*time.Second {
					t.Errorf("expired after %v", d)
				}
				if a.Status != c.status || a.Outcome != c.outcome {
					t.Errorf("the agent got %+v", a)
				}
				if tn := h.turn(p.TurnID); tn.Progress != turns.Waiting {
					t.Errorf("another question waits, and the turn is %s", tn.Progress)
				}
				if _, err := h.engine.Respond(bg, turns.Respond{ItemID: q.id, OptionID: "yes"}); !errors.Is(err, items.ErrAlreadyResolved) {
					t.Errorf("an answer after the expiry: %v", err)
				}
				if _, err := h.engine.Respond(bg, turns.Respond{ItemID: other.id, OptionID: "yes"}); err != nil {
					t.Error(err)
				}
				h.got(other)
				p.end(turns.Completed)
				h.ended(p.TurnID)
			})
		})
	}
}

func TestQuestionThatTheConfigurationAnswersWaitsForNobody(t *testing.T) {
	for id, want := range map[string]struct {
		status   items.Status
		kind     string
		by, show string
	}{"yes": {items.StatusCompleted, items.AllowOnce, "", "configuration"}, "no": {items.StatusDeclined, items.RejectOnce, "policy", "policy"}} {
		t.Run(id, func(t *testing.T) {
			bubble(t, setup{cfg: engine.Config{MaxOpenItems: 1}}, func(h *harness) {
				p := h.prompt()
				h.message(p, "open")
				a, err := p.Ask(bg, permission(), turns.AskOptions{OptionID: id, By: want.by, ExpiresAfter: time.Second})
				outcome := items.Outcome{Type: "selected", OptionID: id, Kind: want.kind}
				if err != nil || a.Status != want.status || a.Outcome != outcome {
					t.Errorf("the agent got %+v, %v", a, err)
				}
				made := h.event(notify.ItemCreated, func(e event) bool { return kindOf(e) == items.KindPermissionRequest })
				c, err := items.Decode(made.Content)
				q, _ := c.(items.PermissionRequest)
				if err != nil || made.Status != want.status || q.Outcome == nil || *q.Outcome != outcome || q.ResolvedBy != want.show || q.ExpiresAt != "" {
					t.Errorf("created %s", made)
				}
				h.none("nobody is waited for", func(e event) bool {
					return e.Method == notify.TurnProgress || e.Method == notify.ItemUpdated && e.ItemID == made.ItemID
				})
				if _, err := h.engine.Respond(bg, turns.Respond{ItemID: made.ItemID, OptionID: "yes"}); !errors.Is(err, items.ErrAlreadyResolved) {
					t.Errorf("an answer after that: %v", err)
				}
				p.end(turns.Completed)
				h.ended(p.TurnID)
			})
		})
	}
}

func TestConfigurationChoosesOnlyWhatIsOffered(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		p := h.prompt()
		for _, question := range []items.Content{permission(), items.Question{Type: items.KindQuestion, Message: "how many?"}} {
			if _, err := p.Ask(bg, question, turns.AskOptions{OptionID: "maybe"}); !errors.Is(err, items.ErrRefused) {
				t.Errorf("%s: %v", question.Kind(), err)
			}
		}
		h.none("nothing is stored", func(e event) bool {
			return e.TurnID != "" && e.Method == notify.ItemCreated && e.Status == items.StatusPending
		})
		p.end(turns.Completed)
		h.ended(p.TurnID)
	})
}

func TestFirstAnswerWins(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		p := h.prompt()
		q := h.ask(p, permission(), turns.AskOptions{})
		var mu sync.Mutex
		var winners []string
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				option := []string{"yes", "no"}[i%2]
				_, err := h.engine.Respond(bg, turns.Respond{ItemID: q.id, OptionID: option})
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					winners = append(winners, option)
				} else if !errors.Is(err, items.ErrAlreadyResolved) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if a := h.got(q); len(winners) != 1 || a.Outcome.OptionID != winners[0] {
			t.Errorf("%v won, the agent got %+v", winners, a)
		}
		p.end(turns.Completed)
		h.ended(p.TurnID)
	})
}

func TestQuestionsEndCancelledBeforeTheAgentIsToldToStop(t *testing.T) {
	// An agent that waits for a person does not react to anything else.
	for name, stop := range map[string]func(h *harness, p *call){
		"interrupt": func(h *harness, p *call) { h.interrupt(p.TurnID) },
		"close":     func(h *harness, _ *call) { h.change("a", "close") },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				h.thread("a", "deaf")
				h.start("a")
				p := h.next(h.deaf)
				q := h.ask(p, permission(), turns.AskOptions{})
				stop(h, p)
				if a := h.got(q); a.Status != items.StatusCancelled {
					t.Errorf("the agent got %+v", a)
				}
				if a, err := p.Ask(bg, permission(), turns.AskOptions{}); err != nil || a.Status != items.StatusCancelled {
					t.Errorf("a question of a turn that stops: %+v, %v", a, err)
				}
				p.end(turns.Completed)
				h.ended(p.TurnID)
			})
		})
	}
}

func TestAskRefusesWhatIsNoQuestion(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		p := h.prompt()
		if _, err := p.Ask(bg, items.NewAgentMessage("x"), turns.AskOptions{}); !errors.Is(err, items.ErrRefused) {
			t.Errorf("ask with a message: %v", err)
		}
		p.end(turns.Completed)
		h.ended(p.TurnID)
	})
}

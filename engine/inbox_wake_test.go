package engine_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

func TestNewEntriesWakeAThreadOnceAndAreAcknowledgedByItsTurn(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "model")
		r := h.ingest("a", many(5, func(i int) inbox.Item { return item(fmt.Sprint(i)) })...)
		c := h.next(h.model)
		if len(c.Input) != 1 || c.Input[0].Origin != items.OriginWake || len(toldIn(c)) != 5 {
			t.Fatalf("input %+v", c.Input)
		}
		for i, id := range toldIn(c) {
			if id != string(r.Results[i].EntryID) || !strings.Contains(c.said(), fmt.Sprint("item ", i)) {
				t.Errorf("told %s, ingested %+v: %s", id, r.Results[i], c.said())
			}
		}
		later := h.send("a", "while you work") // it is not acknowledged by the turn
		for _, e := range h.entries("a") {
			if want := c.TurnID; e.EntryID != later && e.ToldByTurnID != want || e.EntryID == later && e.ToldByTurnID != "" {
				t.Errorf("entry %+v", e)
			}
		}
		h.idle(h.model)
		h.speak(c)
		acked := bodies[inbox.Acked](h, notify.InboxAcked, "a")
		if len(acked) != 1 || acked[0].By != inbox.ByTurn || acked[0].TurnID != c.TurnID || acked[0].RawCount != 5 {
			t.Errorf("acked %+v", acked)
		}
		c = h.next(h.model)
		if l := toldIn(c); len(l) != 1 || l[0] != string(later) || !strings.Contains(c.said(), "while you work") {
			t.Errorf("told %v: %s", l, c.said())
		}
		h.speak(c)
		h.idle(h.model)
		if n := h.wakes("a"); n != 2 || len(h.entries("a")) != 0 {
			t.Errorf("%d wakes, entries %s", n, ids(h.entries("a")))
		}
	})
}

func TestWakeIsOneTransaction(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "model")
		units := h.countUnits(notify.InboxTold)
		h.send("a", "x")
		c := h.next(h.model)
		all := h.of(func(e event) bool { return e.TurnID == c.TurnID || e.Method == notify.InboxTold })
		if len(all) < 3 || all[0].Method != notify.TurnStarted || all[1].Method != notify.ItemCreated || all[2].Method != notify.InboxTold ||
			!all[0].Timestamp.Equal(all[2].Timestamp.Time) || units() != 1 {
			t.Errorf("%d units; %s", units(), list(all))
		}
		h.speak(c)
	})
}

func TestAWakeTellsAHundredEntriesAtMost(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "model")
		h.change("a", threads.VerbPause)
		h.ingest("a", many(150, func(i int) inbox.Item { return item(fmt.Sprint(i)) })...)
		h.change("a", threads.VerbResume)
		for _, want := range []int{100, 50} {
			c := h.next(h.model)
			if n := len(toldIn(c)); n != want {
				t.Errorf("told %d, want %d", n, want)
			}
			h.speak(c)
		}
		h.idle(h.model)
	})
}

func TestAWakeTellsSixtyFourKiBAtMost(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "model")
		h.change("a", threads.VerbPause)
		var sent []string
		for i := range 10 {
			sent = append(sent, string(h.send("a", fmt.Sprintf("%16384d", i))))
		}
		h.change("a", threads.VerbResume)
		for _, want := range []int{3, 3, 3, 1} {
			c := h.next(h.model)
			if got := toldIn(c); len(got) != want || fmt.Sprint(got) != fmt.Sprint(sent[:want]) || len(c.said()) > 64<<10 {
				t.Fatalf("told %v in %d bytes, want %v", got, len(c.said()), sent[:want])
			}
			sent = sent[want:]
			h.speak(c)
		}
		h.idle(h.model)
		if l := h.entries("a"); len(l) != 0 {
			t.Errorf("entries %s", ids(l))
		}
	})
}

// What keeps a thread from being woken, and what ends that.
func TestNothingWakesAThreadWhile(t *testing.T) {
	drainAndRestart := func(h *harness) {
		if _, err := h.drain(); err != nil {
			h.t.Error(err)
		}
	}
	for name, c := range map[string]struct {
		begin func(h *harness)
		end   func(h *harness)
	}{
		"a turn is active": {
			func(h *harness) { h.start("a"); h.busyCall = h.next(h.model) },
			func(h *harness) { h.speak(h.busyCall) },
		},
		"a turn is queued": {
			func(h *harness) {
				h.pause()
				h.start("a")
			},
			func(h *harness) {
				h.resume()
				c := h.next(h.model)
				if len(toldIn(c)) != 0 {
					h.t.Error("the wake came before the queued turn")
				}
				h.speak(c)
			},
		},
		"a turn waits for its retry": {
			func(h *harness) {
				h.startWith(turns.Start{ThreadID: "a", Retry: retrying()})
				h.next(h.model).crash()
				synctest.Wait()
			},
			func(h *harness) {
				c := h.next(h.model)
				if c.Attempt != 2 {
					h.t.Errorf("attempt %d", c.Attempt)
				}
				h.speak(c)
			},
		},
		"the thread is paused": {
			func(h *harness) { h.change("a", threads.VerbPause) },
			func(h *harness) { h.change("a", threads.VerbResume) },
		},
		"the runtime is paused": {func(h *harness) { h.pause() }, func(h *harness) { h.resume() }},
		"the server drains":     {drainAndRestart, func(h *harness) { h.restart() }},
		"its policy says none": {
			func(h *harness) { h.configure("a", inbox.Policy{Wake: inbox.WakeNone}) },
			func(h *harness) { h.configure("a", inbox.Policy{Wake: inbox.WakeIdle}) },
		},
		"others take all slots": {
			func(h *harness) {
				h.thread("b", "")
				h.thread("c", "")
				h.start("b")
				h.start("c")
				h.busyCall = h.next(h.agent)
				h.next(h.agent)
			},
			func(h *harness) { h.busyCall.end(turns.Completed) },
		},
		"it is held": {
			func(h *harness) {
				r := h.start("a")
				h.next(h.model)
				h.interrupt(r.TurnID)
				h.ended(r.TurnID)
			},
			func(h *harness) { h.wakeNow("a") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{cfg: engine.Config{MaxActiveTurns: 2}}, func(h *harness) {
				h.thread("a", "model")
				c.begin(h)
				h.send("a", "hello")
				h.send("a", "and more")
				synctest.Wait()
				h.idle(h.model)
				if n := h.wakes("a"); n != 0 {
					t.Errorf("%d wakes", n)
				}
				c.end(h)
				w := h.next(h.model)
				if len(toldIn(w)) != 2 || h.wakes("a") != 1 {
					t.Errorf("told %v, %d wakes", toldIn(w), h.wakes("a"))
				}
				h.speak(w)
				h.idle(h.model)
			})
		})
	}
}

// While the thread waited for a slot, a client has acknowledged everything.
func TestAllIsJudgedAgainWhenASlotIsFree(t *testing.T) {
	for name, change := range map[string]func(h *harness, id notify.ID){
		"acknowledged": func(h *harness, id notify.ID) { h.ackEntries("a", id) },
		"wake none":    func(h *harness, _ notify.ID) { h.configure("a", inbox.Policy{Wake: inbox.WakeNone}) },
		"paused":       func(h *harness, _ notify.ID) { h.change("a", threads.VerbPause) },
		"closed":       func(h *harness, _ notify.ID) { h.change("a", threads.VerbClose) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{cfg: engine.Config{MaxActiveTurns: 1}}, func(h *harness) {
				h.thread("a", "model")
				h.thread("b", "")
				h.start("b")
				c := h.next(h.agent)
				id := h.send("a", "hello")
				h.idle(h.model)
				if g := h.engine.Gate(); g.Waiting != 1 {
					t.Errorf("gate %+v", g)
				}
				change(h, id)
				c.end(turns.Completed)
				h.ended(c.TurnID)
				h.idle(h.model)
				if g := h.engine.Gate(); g != (engine.GateState{}) {
					t.Errorf("gate %+v", g)
				}
				if n := h.wakes("a"); n != 0 {
					t.Errorf("%d wakes", n)
				}
			})
		})
	}
}

func TestWhoInterruptsDecidesWhetherAThreadIsHeld(t *testing.T) {
	held := func(h *harness) bool {
		th, err := h.reader.ReadThread(bg, "a", 0)
		if err != nil {
			h.t.Fatal(err)
		}
		return th.Thread.Held
	}
	t.Run("a client", func(t *testing.T) {
		bubble(t, setup{}, func(h *harness) {
			h.thread("a", "model")
			h.send("a", "hello")
			c := h.next(h.model)
			h.message(c, "half a sen")
			h.interrupt(c.TurnID)
			h.ended(c.TurnID)
			h.send("a", "new")
			h.idle(h.model)
			h.restart()
			h.idle(h.model)
			if !held(h) || h.wakes("a") != 1 {
				t.Errorf("held %v, %d wakes", held(h), h.wakes("a"))
			}
			r := h.start("a")
			c = h.next(h.model)
			if held(h) || c.TurnID != r.TurnID {
				t.Errorf("a turn runs, and the thread is held")
			}
			h.speak(c)
			c = h.next(h.model)
			if l := toldIn(c); len(l) != 1 { // what was told before stays told
				t.Errorf("told %v", l)
			}
			h.speak(c)
		})
	})
	t.Run("a client, of a queued turn", func(t *testing.T) {
		bubble(t, setup{}, func(h *harness) {
			h.thread("a", "model")
			h.start("a")
			c := h.next(h.model)
			h.send("a", "hello")
			queued := h.start("a")
			h.interrupt(queued.TurnID)
			h.speak(c)
			if held(h) {
				t.Error("held, although no active turn was interrupted")
			}
			h.speak(h.next(h.model))
		})
	})
	t.Run("a newer turn of a client", func(t *testing.T) {
		bubble(t, setup{}, func(h *harness) {
			h.thread("a", "model")
			h.start("a")
			h.next(h.model)
			h.send("a", "hello")
			h.startWith(turns.Start{ThreadID: "a", OnBusy: turns.BusyInterrupt})
			h.speak(h.next(h.model))
			c := h.next(h.model)
			if len(toldIn(c)) != 1 {
				t.Errorf("told %v", toldIn(c))
			}
			h.speak(c)
		})
	})
	t.Run("the server", func(t *testing.T) {
		bubble(t, setup{}, func(h *harness) {
			h.thread("a", "model")
			r := h.start("a")
			h.next(h.model)
			h.send("a", "hello")
			h.restart()
			if e := h.ended(r.TurnID); e.Method != notify.TurnInterrupted || held(h) {
				t.Errorf("%s, held %v", e, held(h))
			}
			h.speak(h.next(h.model))
		})
	})
}

// What several sources bring while the agent works is told in one turn.
func TestOneWakeTellsWhatAllSourcesHaveBrought(t *testing.T) {
	bubble(t, setup{follow: true}, func(h *harness) {
		h.thread("a", "model")
		h.thread("b", "quick")
		h.subscribe("a", inbox.Subscribe{Source: inbox.SourceEvents})
		h.timer("a", inbox.CreateTimer{At: notify.TimeOf(time.Now().Add(time.Minute))})
		h.start("a")
		busy := h.next(h.model)
		other := item("1")
		other.Source = "monitor"
		h.ingest("a", item("1"), grouped("2", "pr:1"), grouped("3", "pr:1"))
		h.ingest("a", other)
		h.send("a", "hello")
		h.ended(h.start("b").TurnID)
		time.Sleep(2 * time.Minute)
		h.idle(h.model)
		h.speak(busy)
		c := h.next(h.model)
		sources := map[string]int{}
		for _, e := range c.Input[0].Entries {
			sources[e.Source]++
		}
		if want := (map[string]int{"ci": 2, "monitor": 1, inbox.SourceMessage: 1, inbox.SourceEvents: 1, inbox.SourceTimer: 1}); !maps.Equal(sources, want) {
			t.Errorf("told %v, want %v", sources, want)
		}
		if !strings.Contains(c.said(), "(ci, 2 items)") || !strings.Contains(c.said(), "(monitor, 1 item)") {
			t.Errorf("the items of each are not counted: %s", c.said())
		}
		h.speak(c)
		time.Sleep(time.Hour)
		h.idle(h.model)
		if n := h.wakes("a"); n != 1 || len(h.entries("a")) != 0 {
			t.Errorf("%d wakes, entries %s", n, ids(h.entries("a")))
		}
	})
}

func TestExplicitPolicyAcknowledgesNothingByItself(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "model")
		h.configure("a", inbox.Policy{Ack: inbox.AckExplicit})
		id := h.send("a", "hello")
		c := h.next(h.model)
		h.speak(c)
		h.idle(h.model)
		if l := h.entries("a"); len(l) != 1 || l[0].ToldByTurnID != c.TurnID {
			t.Errorf("entries %+v", l)
		}
		if got := h.wakeNow("a"); len(got) != 1 || got[0] != id {
			t.Errorf("woken %v", got)
		}
		h.speak(h.next(h.model))
		if r := h.ackEntries("a", id); r.AckedEntries != 1 {
			t.Errorf("ack %+v", r)
		}
		h.idle(h.model)
	})
}

func TestWakeTurnThatFailsAfterAWordKeepsItsEntriesTold(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "model")
		id := h.send("a", "hello")
		c := h.next(h.model)
		h.message(c, "half")
		c.end(turns.Failed)
		h.ended(c.TurnID)
		time.Sleep(time.Hour)
		h.idle(h.model)
		if l := h.entries("a"); len(l) != 1 || l[0].EntryID != id || l[0].ToldByTurnID != c.TurnID {
			t.Errorf("entries %+v", l)
		}
		h.wakeNow("a")
		h.speak(h.next(h.model))
	})
}

func TestPolicyNoneAndMailboxesNeverWake(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		for id, agent := range map[string]string{"none": "model", "box": "mailbox", "exec": "puppet"} {
			h.thread(id, agent)
		}
		h.configure("none", inbox.Policy{Wake: inbox.WakeNone})
		var bad *turns.InvalidError
		if _, err := h.inboxes().Configure(bg, inbox.Configure{ThreadID: "box", Policy: inbox.Policy{Wake: inbox.WakeIdle}}); !errors.As(err, &bad) || bad.Field != "policy.wake" {
			t.Errorf("a mailbox that is to be woken: %v", err)
		}
		for _, id := range []string{"none", "box", "exec"} {
			h.send(id, "hello")
			h.wakeNow(id)
		}
		h.restart()
		time.Sleep(time.Hour)
		h.idle(h.model)
		h.idle(h.agent)
		for _, id := range []string{"none", "box", "exec"} {
			if n := h.wakes(id); n != 0 || len(h.entries(id)) != 1 {
				t.Errorf("%s: %d wakes", id, n)
			}
		}
		var runsNone *turns.UnsupportedError
		if _, err := h.engine.Start(bg, turns.Start{ThreadID: "box", Input: text("x")}); !errors.As(err, &runsNone) {
			t.Errorf("start: %v", err)
		}
		h.configure("exec", inbox.Policy{Wake: inbox.WakeIdle})
		c := h.next(h.agent)
		h.message(c, "m")
		c.end(turns.Completed)
		h.ended(c.TurnID)
	})
}

// The end of a turn decides about what it was told, also if a client has called
// inbox/wake meanwhile.
func TestWakeDuringATurnLeavesWhatItWasTold(t *testing.T) {
	begin := func(h *harness) (id notify.ID, c *call) {
		h.thread("a", "model")
		id = h.send("a", "hello")
		c = h.next(h.model)
		return id, c
	}
	t.Run("and it completes", func(t *testing.T) {
		bubble(t, setup{}, func(h *harness) {
			_, c := begin(h)
			if got := h.wakeNow("a"); len(got) != 0 {
				t.Errorf("woken %v", got)
			}
			h.speak(c)
			time.Sleep(time.Hour)
			h.idle(h.model)
			if l := h.entries("a"); len(l) != 0 || h.wakes("a") != 1 {
				t.Errorf("entries %s, %d wakes", ids(l), h.wakes("a"))
			}
		})
	})
	t.Run("and it says nothing", func(t *testing.T) {
		bubble(t, setup{}, func(h *harness) {
			id, c := begin(h)
			h.wakeNow("a")
			c.end(turns.Completed)
			h.ended(c.TurnID)
			ended := time.Now()
			if l := bodies[inbox.Untold](h, notify.InboxUntold, "a"); len(l) != 1 || l[0].Silent != 1 || l[0].EntryIDs[0] != id || h.box("a").Silent != 1 {
				t.Errorf("untold %+v, %d silent wakes", l, h.box("a").Silent)
			}
			c = h.next(h.model)
			if d := time.Since(ended).Round(time.Second); d != 5*time.Second {
				t.Errorf("woken again after %v", d)
			}
			h.speak(c)
		})
	})
	t.Run("between its attempts", func(t *testing.T) {
		bubble(t, setup{}, func(h *harness) {
			_, c := begin(h)
			c.crash()
			synctest.Wait()
			if got := h.wakeNow("a"); len(got) != 0 {
				t.Errorf("woken %v", got)
			}
			h.speak(h.next(h.model))
			if l := h.entries("a"); len(l) != 0 || h.wakes("a") != 1 {
				t.Errorf("entries %s, %d wakes", ids(l), h.wakes("a"))
			}
		})
	})
	t.Run("but not what others were told", func(t *testing.T) {
		bubble(t, setup{}, func(h *harness) {
			old, c := begin(h)
			h.message(c, "half")
			c.end(turns.Failed)
			h.ended(c.TurnID)
			h.send("a", "again")
			c = h.next(h.model)
			if got := h.wakeNow("a"); len(got) != 1 || got[0] != old {
				t.Errorf("woken %v, want %s", got, old)
			}
			h.speak(c)
			c = h.next(h.model)
			if l := toldIn(c); len(l) != 1 || l[0] != string(old) {
				t.Errorf("told %v", l)
			}
			h.speak(c)
		})
	})
}

func TestRetryOfAWakeTellsNothingNew(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "model")
		first := h.send("a", "hello")
		c := h.next(h.model)
		h.message(c, "half")
		later := h.send("a", "later")
		c.crash()
		again := h.next(h.model)
		if again.TurnID != c.TurnID || again.Attempt != 2 || fmt.Sprint(toldIn(again)) != fmt.Sprintf("[%s]", first) {
			t.Errorf("attempt %d of %s, told %v", again.Attempt, again.TurnID, toldIn(again))
		}
		h.speak(again)
		c = h.next(h.model)
		if fmt.Sprint(toldIn(c)) != fmt.Sprintf("[%s]", later) {
			t.Errorf("told %v", toldIn(c))
		}
		h.speak(c)
		if n := len(bodies[inbox.Told](h, notify.InboxTold, "a")); n != 2 || len(h.entries("a")) != 0 {
			t.Errorf("told %d times, entries %s", n, ids(h.entries("a")))
		}
	})
}

func TestWakeTurnsAttemptsAreFiveAtMost(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "model")
		h.send("a", "hello")
		var id string
		for n := 1; n <= 5; n++ {
			c := h.next(h.model)
			if id = c.TurnID; c.Attempt != n {
				t.Errorf("attempt %d", c.Attempt)
			}
			c.crash()
		}
		if e := h.ended(id); e.Method != notify.TurnFailed {
			t.Errorf("ended %s", e)
		}
		if l := bodies[inbox.Untold](h, notify.InboxUntold, "a"); len(l) != 1 || l[0].Silent != 1 {
			t.Errorf("untold %+v", l)
		}
		h.speak(h.next(h.model))
	})
}

// Servers are replaced while a wake is at work: each gives its attempt up, and
// the next one continues, until an agent can finish.
func TestDrainGivesAWakesAttemptUp(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "model")
		id := h.send("a", "hello")
		var turn string
		for n := 1; n <= 3; n++ {
			c := h.next(h.model)
			if turn = c.TurnID; c.Attempt != n || fmt.Sprint(toldIn(c)) != fmt.Sprintf("[%s]", id) {
				t.Errorf("attempt %d, told %v", c.Attempt, toldIn(c))
			}
			h.message(c, "half")
			if _, err := h.drain(); err != nil {
				t.Errorf("drain: %v", err)
			}
			if tn := h.turn(turn); tn.State != turns.Active || tn.Attempt != n+1 {
				t.Fatalf("after drain %d the turn is %s in attempt %d", n, tn.State, tn.Attempt)
			}
			h.restart()
		}
		c := h.next(h.model)
		h.speak(c)
		if l := h.entries("a"); len(l) != 0 || c.TurnID != turn || h.wakes("a") != 1 {
			t.Errorf("entries %s, turn %s, %d wakes", ids(l), c.TurnID, h.wakes("a"))
		}
	})
}

// An agent that has spoken is not silent because the server was restarted.
func TestWordsBeforeARestartCount(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "model")
		h.send("a", "hello")
		for n := 1; n <= 5; n++ {
			c := h.next(h.model)
			h.message(c, "half")
			synctest.Wait() // it is stored
			h.restart()
		}
		h.none("untold", func(e event) bool { return e.Method == notify.InboxUntold })
		if l := h.entries("a"); len(l) != 1 || l[0].ToldByTurnID == "" {
			t.Errorf("entries %+v", l)
		}
		h.idle(h.model)
	})
}

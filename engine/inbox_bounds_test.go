package engine_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// stalls are the bounds that were reached so far.
func (h *harness) stalls(thread string) (out []inbox.Stall) {
	h.t.Helper()
	synctest.Wait()
	for _, b := range bodies[inbox.Stalled](h, notify.InboxStalled, thread) {
		out = append(out, b.Reason)
	}
	return out
}

// silent lets the agent end n prompts without a word, and returns how long each
// wake came after the end of the one before.
func (h *harness) silent(n int) (pauses []time.Duration) {
	h.t.Helper()
	for i := range n {
		began := time.Now()
		c := h.next(h.model)
		if i > 0 {
			pauses = append(pauses, time.Since(began).Round(time.Second))
		}
		c.end(turns.Completed)
		h.ended(c.TurnID)
	}
	return pauses
}

func TestAgentThatSaysNothingIsWokenMoreAndMoreSeldomAndThenNotAtAll(t *testing.T) {
	for name, lift := range map[string]func(h *harness){
		"lifted by a wake": func(h *harness) { h.wakeNow("a") },
		"lifted by a client's turn": func(h *harness) {
			h.start("a")
			h.speak(h.next(h.model))
		},
	} {
		for _, restarts := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", restarted ", restarts), func(t *testing.T) {
				bubble(t, setup{}, func(h *harness) {
					h.thread("a", "model")
					id := h.send("a", "hello")
					if restarts {
						h.silent(1)
						h.restart() // the pause is in the log
						began := time.Now()
						h.silent(1)
						if d := time.Since(began).Round(time.Second); d != 5*time.Second {
							t.Errorf("after the restart it waited %v", d)
						}
						h.silent(3)
					} else if p := h.silent(5); fmt.Sprint(p) != "[5s 10s 20s 40s]" {
						t.Errorf("pauses %v", p)
					}
					if s := h.stalls("a"); len(s) != 1 || s[0] != inbox.StallSilent {
						t.Errorf("stalled %v", s)
					}
					untold := bodies[inbox.Untold](h, notify.InboxUntold, "a")
					if len(untold) != 5 || untold[4].Silent != 5 || untold[0].EntryIDs[0] != id {
						t.Errorf("untold %+v", untold)
					}
					h.send("a", "more")
					if restarts {
						h.restart()
					}
					time.Sleep(48 * time.Minute)
					h.idle(h.model)
					lift(h)
					c := h.next(h.model)
					if len(toldIn(c)) != 2 {
						t.Errorf("told %v", toldIn(c))
					}
					h.speak(c)
					if l := h.entries("a"); len(l) != 0 {
						t.Errorf("entries %s", ids(l))
					}
				})
			})
		}
	}
}

func TestOneWordEndsTheCountOfSilentWakes(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "model")
		h.send("a", "hello")
		h.silent(4)
		h.speak(h.next(h.model))
		h.send("a", "again")
		if p := h.silent(5); fmt.Sprint(p) != "[5s 10s 20s 40s]" {
			t.Errorf("pauses %v", p)
		}
		if s := h.stalls("a"); len(s) != 1 {
			t.Errorf("stalled %v", s)
		}
	})
}

func TestThirtyWakesAnHour(t *testing.T) {
	for name, lift := range map[string]func(h *harness, began time.Time){
		"time lifts it": func(h *harness, began time.Time) {
			time.Sleep(time.Until(began.Add(time.Hour - 2*time.Second)))
			h.idle(h.model)
			time.Sleep(2 * time.Second)
		},
		"time lifts it, also after a restart": func(h *harness, began time.Time) {
			h.restart()
			time.Sleep(time.Until(began.Add(time.Hour - 2*time.Second)))
			h.idle(h.model)
			time.Sleep(2 * time.Second)
		},
		"a wake lifts it": func(h *harness, _ time.Time) { h.wakeNow("a") },
		"a client's turn lifts it": func(h *harness, _ time.Time) {
			h.start("a")
			h.speak(h.next(h.model))
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				h.thread("a", "model")
				var began time.Time // the first wake
				for i := range inbox.MaxWakesAnHour {
					h.send("a", fmt.Sprint(i))
					c := h.next(h.model)
					if i == 0 {
						began = time.Now()
					}
					h.speak(c)
					time.Sleep(time.Minute)
				}
				h.send("a", "one more")
				h.idle(h.model)
				stalled := bodies[inbox.Stalled](h, notify.InboxStalled, "a")
				if len(stalled) != 1 || stalled[0].Reason != inbox.StallRate || !stalled[0].Until.Equal(began.Add(time.Hour)) {
					t.Fatalf("stalled %+v", stalled)
				}
				lift(h, began)
				c := h.next(h.model)
				if len(toldIn(c)) != 1 {
					t.Errorf("told %v", toldIn(c))
				}
				h.speak(c)
				if b := h.box("a"); b.Stalled != "" || b.NewEntries != 0 {
					t.Errorf("inbox %+v", b)
				}
			})
		})
	}
}

// Two agents whose threads follow each other: each end wakes the other.
func TestThreadsThatFollowEachOtherStop(t *testing.T) {
	for name, lift := range map[string]func(h *harness, thread string){
		"lifted by a wake":          func(h *harness, thread string) { h.wakeNow(thread) },
		"lifted by a client's turn": func(h *harness, thread string) { h.start(thread) },
	} {
		t.Run(name, func(t *testing.T) { followEachOther(t, lift) })
	}
}

func followEachOther(t *testing.T, lift func(h *harness, thread string)) {
	bubble(t, setup{follow: true}, func(h *harness) {
		for id, other := range map[string]string{"a": "b", "b": "a"} {
			h.thread(id, "model")
			h.subscribe(id, inbox.Subscribe{SubscriptionID: "other", Source: inbox.SourceEvents, ThreadIDs: []string{other}})
		}
		over := make(chan struct{})
		go func() {
			for {
				select {
				case c := <-h.model.calls:
					h.message(c, "and you?")
					c.end(turns.Completed)
				case <-over:
					return
				}
			}
		}()
		h.start("a")
		time.Sleep(3 * time.Hour)
		if n := h.wakes("a") + h.wakes("b"); n != inbox.MaxChain-1 {
			t.Errorf("%d wakes", n)
		}
		if s := append(h.stalls("a"), h.stalls("b")...); len(s) != 1 || s[0] != inbox.StallChain {
			t.Errorf("stalled %v", s)
		}
		h.restart()
		time.Sleep(3 * time.Hour)
		if n := h.wakes("a") + h.wakes("b"); n != inbox.MaxChain-1 {
			t.Errorf("%d wakes after the restart", n)
		}
		stalled := "a"
		if len(h.stalls("b")) > 0 {
			stalled = "b"
		}
		if l := h.entries(stalled); len(l) != 1 {
			t.Errorf("entries %s", ids(l))
		}
		lift(h, stalled)
		time.Sleep(3 * time.Hour)
		if n, s := h.wakes("a")+h.wakes("b"), append(h.stalls("a"), h.stalls("b")...); n < 2*inbox.MaxChain-1 || n > 3*inbox.MaxChain || len(s) != 2 {
			t.Errorf("lifted: %d wakes, stalled %v", n, s)
		}
		close(over)
	})
}

// A turn that a client starts begins a chain of its own.
func TestChainBeginsAnewWithAClientsTurn(t *testing.T) {
	bubble(t, setup{follow: true}, func(h *harness) {
		h.thread("a", "model")
		h.thread("b", "quick")
		h.subscribe("a", inbox.Subscribe{Source: inbox.SourceEvents, ThreadIDs: []string{"b"}})
		for range 20 {
			h.start("b")
			c := h.next(h.model)
			h.speak(c)
			if tn := h.turn(c.TurnID); tn.Chain != 1 {
				t.Errorf("chain %d", tn.Chain)
			}
			time.Sleep(3 * time.Minute)
		}
		if s := h.stalls("a"); len(s) != 0 {
			t.Errorf("stalled %v", s)
		}
		h.change("a", threads.VerbClose)
	})
}

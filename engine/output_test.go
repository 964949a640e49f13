package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math"
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

// prompt starts a thread and a turn, and returns its first prompt.
func (h *harness) prompt() *call {
	h.t.Helper()
	h.thread("a", "")
	h.start("a")
	return h.next(h.agent)
}

// notices are the messages of the notice items so far.
func (h *harness) notices() (out []string) {
	synctest.Wait()
	for _, e := range h.of(func(e event) bool { return e.Method == notify.ItemCreated && kindOf(e) == items.KindNotice }) {
		c, err := items.Decode(e.Content)
		if err != nil {
			h.t.Fatal(err)
		}
		out = append(out, c.(items.Notice).Message)
	}
	return out
}

func tool(id string, input items.Raw) items.ToolCall {
	return items.ToolCall{Type: items.KindToolCall, ToolCallID: id, Title: "t", ToolKind: "other", Input: input}
}

func TestWhatAnItemDoesNotAllowBecomesANotice(t *testing.T) {
	bad := items.Raw(`{"never closed"`)
	for name, ops := range map[string]func(ended, open string) []items.Op{
		"append to an ended item": func(ended, _ string) []items.Op { return []items.Op{items.Append{ItemID: ended, Text: "x"}} },
		"append to no item":       func(_, _ string) []items.Op { return []items.Op{items.Append{ItemID: "item_no", Text: "x"}} },
		"update of an ended item": func(ended, _ string) []items.Op { return []items.Op{items.Update{ItemID: ended}} },
		"create of an open item": func(_, open string) []items.Op {
			return []items.Op{items.Create{ItemID: open, Content: items.NewAgentMessage("")}}
		},
		"create without content": func(_, _ string) []items.Op { return []items.Op{items.Create{ItemID: items.NewID()}} },
		"create without id":      func(_, _ string) []items.Op { return []items.Op{items.Create{Content: items.NewAgentMessage("")}} },
		"create of a question": func(_, _ string) []items.Op {
			return []items.Op{items.Create{ItemID: items.NewID(), Content: permission()}}
		},
		"create of a user message": func(_, _ string) []items.Op {
			return []items.Op{items.Create{ItemID: items.NewID(), Content: items.UserMessage{Type: items.KindUserMessage}}}
		},
		"create as deleted": func(_, _ string) []items.Op {
			return []items.Op{items.Create{ItemID: items.NewID(), Status: items.StatusDeleted, Content: items.NewAgentMessage("")}}
		},
		"create of what is no JSON": func(_, _ string) []items.Op {
			return []items.Op{items.Create{ItemID: items.NewID(), Content: tool("1", bad)}}
		},
		"update to another kind": func(_, open string) []items.Op {
			return []items.Op{items.Update{ItemID: open, Content: items.Plan{Type: items.KindPlan}}}
		},
		"update to what is no JSON": func(_, _ string) []items.Op {
			id := items.NewID()
			return []items.Op{
				items.Create{ItemID: id, Content: tool("1", nil)}, items.Append{ItemID: id, Text: "kept"},
				items.Update{ItemID: id, Content: tool("1", bad), Status: items.StatusCompleted},
			}
		},
		"delete of a foreign item": func(_, _ string) []items.Op { return []items.Op{items.Delete{ItemID: "item_no"}} },
		"a second delete": func(ended, _ string) []items.Op {
			return []items.Op{items.Delete{ItemID: ended}, items.Delete{ItemID: ended}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				c := h.prompt()
				ended, open := items.NewID(), items.NewID()
				h.emit(c,
					items.Create{ItemID: ended, Status: items.StatusCompleted, Content: items.NewAgentMessage("done")},
					items.Create{ItemID: open, Content: items.NewAgentMessage("")})
				h.emit(c, ops(ended, open)...)
				if n := h.notices(); len(n) != 1 {
					t.Errorf("notices: %q", n)
				}
				if it := h.item(open); it.Status != items.StatusInProgress || it.Type != items.KindAgentMessage {
					t.Errorf("the open item is %+v", it)
				}
				c.end(turns.Completed)
				if e := h.ended(c.TurnID); e.Method != notify.TurnCompleted {
					t.Errorf("ended: %s", e)
				}
			})
		})
	}
}

func TestNoticesOfATurnAreBounded(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.prompt()
		for range 3 * engine.MaxNotices {
			h.emit(c, items.Append{ItemID: "item_no", Text: "x"})
		}
		n := h.notices()
		if len(n) != engine.MaxNotices || !strings.Contains(n[len(n)-1], "not shown") {
			t.Errorf("%d notices, the last: %q", len(n), n[len(n)-1])
		}
		c.end(turns.Completed)
		h.ended(c.TurnID)
	})
}

func TestItemIDThatIsTakenIsRefusedWhereverItWasUsed(t *testing.T) {
	message := func(id string) items.Create {
		return items.Create{ItemID: id, Status: items.StatusCompleted, Content: items.NewAgentMessage("done")}
	}
	bubble(t, setup{}, func(h *harness) {
		c := h.prompt()
		input := h.event(notify.ItemCreated, nil).ItemID
		q := h.ask(c, permission(), turns.AskOptions{})
		_, _ = h.engine.Respond(bg, turns.Respond{ItemID: q.id, OptionID: "yes"})
		early, first := items.NewID(), items.NewID()
		h.emit(c, message(first), message("mine"))
		h.event(notify.ItemCreated, ofItem("mine"))
		taken := []string{input, q.id, first, "mine"}
		for i, id := range taken {
			h.emit(c, message(id))
			if n := h.notices(); len(n) != i+1 || !strings.Contains(n[i], "exists already") {
				t.Fatalf("%s a second time: %q", id, n)
			}
		}
		// In one unit, out of order, and as a question.
		both := items.NewID()
		h.emit(c, message(both), message(both), message(early))
		if a, err := c.Sink.Ask(bg, first, permission(), turns.AskOptions{}); err != nil || a.Status != items.StatusCancelled {
			t.Errorf("asked with an id that is taken: %+v, %v", a, err)
		}
		if n := h.notices(); len(n) != len(taken)+2 {
			t.Errorf("notices: %q", n)
		}
		h.event(notify.ItemCreated, ofItem(early))
		c.end(turns.Completed)
		if e := h.ended(c.TurnID); e.Method != notify.TurnCompleted {
			t.Errorf("ended: %s", e)
		}
		h.restart()
		r := h.start("a")
		c = h.next(h.agent)
		h.emit(c, message(first), message("mine"))
		if n := h.notices(); len(n) != len(taken)+4 {
			t.Errorf("after a restart: %q", n)
		}
		c.end(turns.Completed)
		h.ended(r.TurnID)
	})
}

// Only the store finds an id that another thread has used since.
func TestItemIDOfAnotherThreadFailsOnlyTheTurnOfTheAgentThatUsesIt(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.prompt()
		steered := h.steer(c.TurnID, "more", false)
		q := h.ask(c, permission(), turns.AskOptions{})
		h.thread("b", "")
		other := h.start("b")
		o := h.next(h.agent)
		id := h.message(o, "x")
		h.event(notify.ItemCreated, ofItem(id))
		h.emit(c, items.Create{ItemID: id, Status: items.StatusCompleted, Content: items.NewAgentMessage("done")})
		e := h.ended(c.TurnID)
		if e.Method != notify.TurnFailed || e.Error.Kind != "internal" || len(e.Undelivered) != 1 || e.Undelivered[0] != steered.ItemIDs[0] {
			t.Errorf("ended: %s", e)
		}
		<-c.Over
		<-q.answer
		synctest.Wait() // an end is seen before its slot is free
		if l := h.engine.Load(); l.Waiting != 0 || l.Active != 1 {
			t.Errorf("load: %+v", l)
		}
		o.end(turns.Completed)
		h.ended(other.TurnID)
		r := h.start("a")
		h.next(h.agent).end(turns.Completed)
		h.ended(r.TurnID)
	})
}

func TestDeletedItemIsGoneInWhateverCommitItWasMade(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.prompt()
		ids := []string{items.NewID(), items.NewID(), items.NewID(), items.NewID()}
		// Created and deleted in one commit, ended and open.
		h.emit(c,
			items.Create{ItemID: ids[0], Status: items.StatusCompleted, Content: items.NewAgentMessage("x")}, items.Delete{ItemID: ids[0]},
			items.Create{ItemID: ids[1], Content: items.NewAgentMessage("x")}, items.Append{ItemID: ids[1], Text: "y"}, items.Delete{ItemID: ids[1]})
		// In two.
		h.emit(c, items.Create{ItemID: ids[2], Status: items.StatusCompleted, Content: items.NewAgentMessage("x")}, items.Create{ItemID: ids[3], Content: items.NewAgentMessage("x")})
		h.event(notify.ItemCreated, ofItem(ids[3]))
		h.emit(c, items.Delete{ItemID: ids[2]}, items.Delete{ItemID: ids[3]})
		for _, id := range ids {
			h.event(notify.ItemDeleted, ofItem(id))
			if it := h.item(id); it.Status != items.StatusDeleted {
				t.Errorf("item is %s", it.Status)
			}
		}
		c.end(turns.Completed)
		if e := h.ended(c.TurnID); e.Method != notify.TurnCompleted {
			t.Errorf("ended: %s", e)
		}
	})
}

func TestDeletedQuestionIsNoLongerWaitedFor(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		h.startWith(turns.Start{ThreadID: "a", TimeoutSeconds: 5})
		c := h.next(h.agent)
		q := h.ask(c, permission(), turns.AskOptions{})
		h.emit(c, items.Delete{ItemID: q.id})
		if a := h.got(q); a.Outcome.Type != items.OutcomeCancelled {
			t.Errorf("answer %+v", a)
		}
		if tn := h.turn(c.TurnID); tn.Progress != turns.Running {
			t.Errorf("the turn is %s", tn.Progress)
		}
		if e := h.ended(c.TurnID); e.Method != notify.TurnFailed || e.Error.Kind != "timeout" {
			t.Errorf("the clock stood still: %s", e)
		}
	})
}

func TestItemsAtTheirBoundKeepHeadAndTail(t *testing.T) {
	const bound = 8 << 10
	head, tail := strings.Repeat("head ", 200), strings.Repeat(" tail", 200)
	for name, content := range map[string]items.Content{
		"message": items.NewAgentMessage(""),
		"tool":    tool("1", items.Raw(`"`+strings.Repeat("i", bound/2)+`"`)),
		"huge":    tool("1", items.Raw(`"`+strings.Repeat("i", 2*bound)+`"`)),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{cfg: engine.Config{MaxItemBytes: bound}}, func(h *harness) {
				c := h.prompt()
				id := items.NewID()
				h.emit(c, items.Create{ItemID: id, Content: content}, items.Append{ItemID: id, Text: head})
				total := len(head)
				for range 40 {
					h.emit(c, items.Append{ItemID: id, Text: strings.Repeat("·middle·", 64)})
					total += len(strings.Repeat("·middle·", 64))
				}
				h.emit(c, items.Append{ItemID: id, Text: tail}, items.Update{ItemID: id, Status: items.StatusCompleted})
				total += len(tail)
				e := h.event(notify.ItemUpdated, ofItem(id))
				if !e.Truncated || e.TotalBytes < int64(total) || len(e.Content) > bound {
					t.Errorf("truncated %v, total %d of %d, %d bytes", e.Truncated, e.TotalBytes, total, len(e.Content))
				}
				sum := 0
				for _, d := range h.of(func(e event) bool { return e.Method == notify.ItemDelta }) {
					sum += len(d.Delta.Text)
				}
				if name != "huge" && (sum == 0 || sum > bound) {
					t.Errorf("deltas have %d bytes, the bound is %d", sum, bound)
				}
				got, err := items.Decode(e.Content)
				if err != nil {
					t.Fatal(err)
				}
				if text, _ := items.TextOf(got); name != "huge" && (!strings.HasPrefix(text, "head head") || !strings.HasSuffix(text, "tail tail")) {
					t.Errorf("text is %.40q … %q", text, text[max(0, len(text)-40):])
				}
				c.end(turns.Completed)
				h.ended(c.TurnID)
			})
		})
	}
}

func TestTextIsNotCutForWhatTheAgentSentInItsOwnProtocol(t *testing.T) {
	bubble(t, setup{cfg: engine.Config{MaxItemBytes: 4 << 10}}, func(h *harness) {
		c := h.prompt()
		raw := []items.Raw{items.Raw(`"` + strings.Repeat("r", 3<<10) + `"`)}
		call := tool("1", nil)
		call.Raw = raw
		message := items.NewAgentMessage("")
		message.Raw = raw
		for _, content := range []items.Content{call, message} {
			id := items.NewID()
			h.emit(c, items.Create{ItemID: id, Content: content}, items.Append{ItemID: id, Text: strings.Repeat("t", 3<<10)},
				items.Update{ItemID: id, Status: items.StatusCompleted})
			e := h.event(notify.ItemUpdated, ofItem(id))
			if !e.Truncated || strings.Contains(string(e.Content), "rrr") || strings.Count(string(e.Content), "t") < 3<<10 {
				t.Errorf("updated: %s", e)
			}
		}
		c.end(turns.Completed)
		h.ended(c.TurnID)
	})
}

func TestOpenItemAtItsBoundEndsTruncatedWithItsTurn(t *testing.T) {
	bubble(t, setup{cfg: engine.Config{MaxItemBytes: 4 << 10}}, func(h *harness) {
		c := h.prompt()
		id := h.message(c, strings.Repeat("x", 3<<10))
		h.emit(c, items.Append{ItemID: id, Text: strings.Repeat("y", 3<<10)}, items.Append{ItemID: id, Text: "after"})
		c.end(turns.Completed)
		h.ended(c.TurnID)
		it := h.item(id)
		if !it.Truncated || it.TotalBytes < 6<<10 || it.Status != items.StatusCompleted || !strings.Contains(string(it.Content), "after") {
			t.Errorf("item: %+v", it)
		}
	})
}

func TestOffsetsCountWhatIsStoredOfInvalidText(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.prompt()
		id := items.NewID()
		h.emit(c, items.Create{ItemID: id, Content: items.NewAgentMessage("a\xff\xfeb")},
			items.Append{ItemID: id, Text: "c\xe2\x82"}, items.Append{ItemID: id, Text: "é🙂"}, items.Update{ItemID: id, Status: items.StatusCompleted})
		h.event(notify.ItemUpdated, ofItem(id)) // the checker adds up
		c.end(turns.Completed)
		h.ended(c.TurnID)
	})
}

func TestReplacedTextIsWhatLaterDeltasFollow(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.mayFail = true
		c := h.prompt()
		id := h.message(c, "a long draft that is thrown away")
		h.emit(c, items.Update{ItemID: id, Content: items.NewAgentMessage("new ")}, items.Append{ItemID: id, Text: "text"},
			items.Update{ItemID: id, Status: items.StatusCompleted})
		c.end(turns.Completed)
		h.ended(c.TurnID)
		if it := h.item(id); !strings.Contains(string(it.Content), `"new text"`) {
			t.Errorf("content %s", it.Content)
		}
	})
}

func TestDeltasThatWaitForOneCommitAreMerged(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.prompt()
		a, b := items.NewID(), items.NewID()
		var ops []items.Op
		for _, id := range []string{a, b} {
			ops = append(ops, items.Create{ItemID: id, Content: items.NewAgentMessage("")})
		}
		for i := range 300 {
			ops = append(ops, items.Append{ItemID: a, Text: fmt.Sprint(i, " ")})
		}
		ops = append(ops, items.Append{ItemID: b, Text: "x"}, items.Append{ItemID: a, Text: "end"})
		h.emit(c, ops...)
		h.event(notify.ItemDelta, func(e event) bool { return e.Delta.Text == "end" })
		if n := len(h.of(func(e event) bool { return e.Method == notify.ItemDelta })); n != 3 {
			t.Errorf("%d deltas, want 3: a, b, a", n)
		}
		// A merged delta has at most one chunk of a stream.
		ops = nil
		for range 8 {
			ops = append(ops, items.Append{ItemID: b, Text: strings.Repeat("y", engine.DeltaBytes/4)})
		}
		h.emit(c, ops...)
		synctest.Wait()
		for _, e := range h.of(func(e event) bool { return e.Method == notify.ItemDelta }) {
			if len(e.Delta.Text) > engine.DeltaBytes {
				t.Errorf("a delta has %d bytes", len(e.Delta.Text))
			}
		}
		c.end(turns.Completed)
		h.ended(c.TurnID)
	})
}

func TestProgressMessagesComeOnceASecondTheNewestWins(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.prompt()
		var want []string
		for second := range 3 {
			for i := range 10 {
				h.emit(c, items.Progress{Message: fmt.Sprint(second, ".", i)})
				time.Sleep(100 * time.Millisecond)
			}
		}
		want = []string{"0.0", "0.9", "1.9", "2.9"}
		time.Sleep(2 * time.Second)
		var got []string
		all := h.of(func(e event) bool { return e.Method == notify.TurnProgress })
		for i, e := range all {
			got = append(got, e.Message)
			if i > 0 && e.Timestamp.Sub(all[i-1].Timestamp.Time) < time.Second {
				t.Errorf("%s comes %v after the one before", e, e.Timestamp.Sub(all[i-1].Timestamp.Time))
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("messages %v, want %v", got, want)
		}
		h.emit(c, items.Progress{Message: "now"}, items.Progress{Message: "never seen"})
		c.end(turns.Completed)
		h.ended(c.TurnID)
		time.Sleep(5 * time.Second)
		h.none("progress after the end", func(e event) bool { return e.Message == "never seen" })
	})
}

func TestProgressTellsEveryChangeOfStateAtOnce(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.prompt()
		h.emit(c,
			items.Progress{State: "running"}, // it is
			items.Progress{State: "starting", Message: "starting the agent"},
			items.Progress{State: "starting", Message: "one"},
			items.Progress{State: "starting", Message: "two"},
			items.Progress{State: "running"},
			items.Progress{},
			items.Progress{State: "waiting"})
		time.Sleep(5 * time.Second)
		q := h.ask(c, permission(), turns.AskOptions{})
		h.emit(c, items.Progress{State: "starting"}, items.Progress{State: "running", Message: "not yet"})
		time.Sleep(5 * time.Second)
		if _, err := h.engine.Respond(bg, turns.Respond{ItemID: q.id, OptionID: "yes"}); err != nil {
			t.Fatal(err)
		}
		h.got(q)
		c.end(turns.Completed)
		h.ended(c.TurnID)
		var got []string
		for _, e := range h.of(func(e event) bool { return e.Method == notify.TurnProgress }) {
			got = append(got, e.State+":"+e.Message)
		}
		if want := "starting:starting the agent running: waiting: waiting:not yet running:"; strings.Join(got, " ") != want {
			t.Errorf("progress %q, want %q", got, want)
		}
		if n := h.notices(); len(n) != 1 || !strings.Contains(n[0], "neither starting nor running") {
			t.Errorf("notices: %q", n)
		}
	})
}

func TestSyncReturnsWhenWhatWasEmittedIsDurable(t *testing.T) {
	for name, fault := range map[string]func(h *harness) (mend func()){
		"slow":      func(h *harness) func() { return h.hold(has(notify.ItemCreated)) },
		"full disk": func(h *harness) func() { h.faults.failAll(ledger.ErrStorageFull); return h.faults.heal },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				c := h.prompt()
				if err := c.Sync(bg); err != nil { // nothing to wait for
					t.Fatal(err)
				}
				mend := fault(h)
				one := said("one")
				h.emit(c, one)
				done := make(chan error, 1)
				go func() { done <- c.Sync(bg) }()
				time.Sleep(time.Minute)
				select {
				case err := <-done:
					t.Fatalf("sync came back before the commit: %v", err)
				default:
				}
				ctx, cancel := context.WithTimeout(bg, time.Second)
				defer cancel()
				if err := c.Sync(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("sync with a deadline: %v", err)
				}
				mend()
				if err := <-done; err != nil {
					t.Errorf("sync: %v", err)
				}
				if h.item(one.ItemID) == nil {
					t.Error("sync came back, the item is not there")
				}
				c.end(turns.Completed)
				h.ended(c.TurnID)
				if err := c.Sync(bg); !errors.Is(err, turns.ErrPromptOver) {
					t.Errorf("sync when over: %v", err)
				}
			})
		})
	}
}

func TestSyncEndsWhenTheStorageFails(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.prompt()
		h.faults.breakDown()
		h.emit(c, said("one"))
		if err := c.Sync(bg); !errors.Is(err, turns.ErrPromptOver) {
			t.Errorf("sync: %v", err)
		}
	})
}

func TestFullInboxMakesTheAgentWait(t *testing.T) {
	const bound = 64 << 10
	bubble(t, setup{cfg: engine.Config{IntakeBytes: bound}}, func(h *harness) {
		c := h.prompt()
		gate := make(chan struct{})
		h.faults.holdBack(func(*ledger.Unit) <-chan struct{} { return gate })
		const chunk = 8 << 10
		sent := make(chan int, 1)
		go func() {
			n := 0
			id := items.NewID()
			_ = c.Emit(bg, items.Create{ItemID: id, Content: items.NewAgentMessage("")})
			for range 200 {
				if err := c.Emit(bg, items.Append{ItemID: id, Text: strings.Repeat("x", chunk)}); err != nil {
					break
				}
				n++
			}
			sent <- n
		}()
		synctest.Wait() // the agent is blocked
		if n := h.engine.IntakeBytes("a"); n == 0 || n > bound {
			t.Errorf("%d bytes wait, the bound is %d", n, bound)
		}
		select {
		case n := <-sent:
			t.Fatalf("the agent was not held: %d", n)
		default:
		}
		h.faults.heal()
		close(gate)
		if n := <-sent; n != 200 {
			t.Errorf("%d groups went through", n)
		}
		c.end(turns.Completed)
		h.ended(c.TurnID)
		sum := 0
		for _, d := range h.of(func(e event) bool { return e.Method == notify.ItemDelta }) {
			sum += len(d.Delta.Text)
		}
		if sum < 100*chunk {
			t.Errorf("deltas have %d bytes", sum)
		}
	})
}

func TestUsageThatCannotBeStoredFailsTheTurnOnly(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.prompt()
		h.emit(c, items.SetUsage{Usage: items.Usage{Cost: &items.Cost{Amount: math.NaN(), Currency: "EUR"}}})
		c.end(turns.Completed)
		if e := h.ended(c.TurnID); e.Method != notify.TurnFailed || e.Error.Kind != "internal" {
			t.Errorf("ended: %s", e)
		}
	})
}

func TestOpenItemsOfATurnAreBounded(t *testing.T) {
	bubble(t, setup{cfg: engine.Config{MaxOpenItems: 2}}, func(h *harness) {
		c := h.prompt()
		h.message(c, "1")
		h.message(c, "2")
		h.emit(c, items.Create{ItemID: items.NewID(), Content: items.NewAgentMessage("3")})
		if n := h.notices(); len(n) != 1 {
			t.Errorf("notices %q", n)
		}
		a, err := c.Ask(bg, permission(), turns.AskOptions{})
		if err != nil || a.Status != items.StatusCancelled {
			t.Errorf("a question above the bound: %+v, %v", a, err)
		}
		c.end(turns.Completed)
		h.ended(c.TurnID)
	})
}

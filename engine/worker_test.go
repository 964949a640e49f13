package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// remote is an agent named "remote": its turns are claimed.
type remote struct {
	leases turns.LeasePolicy
	retry  turns.RetryPolicy
}

func (remote) Info() turns.AgentInfo { return turns.AgentInfo{Name: "remote", Kind: "worker"} }

func (remote) Run(context.Context, *turns.Prompt) turns.Outcome {
	panic("the turn of a remote agent was run")
}

func (r remote) Leases() turns.LeasePolicy { return r.leases }

func (r remote) RetryPolicy() turns.RetryPolicy { return r.retry }

// remotely is a harness whose agent "remote" retries after 10 s, or not.
func remotely(retry bool) setup {
	r := remote{}
	if retry {
		r.retry = *retrying()
	}
	return setup{agents: []turns.Agent{r}}
}

// claim claims a turn that waits.
func (h *harness) claim(worker string) turns.ClaimResult {
	h.t.Helper()
	r, err := h.workers.Claim(bg, turns.Claim{Agent: "remote", Worker: worker})
	if err != nil || r.Turn == nil || r.Lease == nil {
		h.t.Fatalf("claim: %+v, %v", r, err)
	}
	return r
}

// work starts a turn in thread a, and claims it.
func (h *harness) work() turns.ClaimResult {
	h.t.Helper()
	h.thread("a", "remote")
	h.start("a")
	return h.claim("w")
}

func (h *harness) renew(l *turns.Lease) turns.RenewResult {
	h.t.Helper()
	r, err := h.workers.Renew(bg, turns.Renew{Lease: *l})
	if err != nil {
		h.t.Fatalf("renew: %v", err)
	}
	return r
}

func (h *harness) write(l *turns.Lease, ops ...turns.ItemOp) turns.WriteItemsResult {
	h.t.Helper()
	r, err := h.workers.WriteItems(bg, turns.WriteItems{Lease: *l, Ops: ops})
	if err != nil {
		h.t.Fatalf("write: %v", err)
	}
	return r
}

func (h *harness) step(l *turns.Lease, path string) turns.StartStepResult {
	h.t.Helper()
	r, err := h.workers.StepStart(bg, turns.StartStep{Lease: *l, Step: path})
	if err != nil {
		h.t.Fatalf("step: %v", err)
	}
	return r
}

func (h *harness) complete(l *turns.Lease) turns.EndTurnResult {
	h.t.Helper()
	r, err := h.workers.Complete(bg, turns.CompleteTurn{Lease: *l, Message: "done"})
	if err != nil {
		h.t.Fatalf("complete: %v", err)
	}
	return r
}

// message is the op that creates a message.
func message(id, text string) turns.ItemOp {
	return turns.ItemOp{Op: turns.OpCreate, ItemID: id, Content: jsontext.Value(fmt.Sprintf(`{"type":"agent_message","content":[{"type":"output_text","text":%q}]}`, text))}
}

// superseded returns err as a *SupersededError.
func (h *harness) superseded(err error) *turns.SupersededError {
	h.t.Helper()
	var s *turns.SupersededError
	if !errors.As(err, &s) || !errors.Is(err, turns.ErrSuperseded) {
		h.t.Fatalf("not refused as superseded: %v", err)
	}
	return s
}

func (h *harness) late() []event {
	return h.of(func(e event) bool { return e.Method == notify.TurnLate })
}

func TestWorkerClaimsWritesAndCompletesATurn(t *testing.T) {
	bubble(t, remotely(false), func(h *harness) {
		if _, err := h.engine.StartThread(bg, turns.StartThread{ThreadID: "a", Agent: "remote", Cwd: "/work"}); err != nil {
			t.Fatal(err)
		}
		started := h.start("a")
		if tn := h.turn(started.TurnID); tn.State != turns.Active || tn.Progress != turns.Starting || tn.ClaimedSeq != 0 {
			t.Errorf("before it is claimed the turn is %+v", tn)
		}
		c := h.claim("here")
		claimed := h.event(notify.TurnProgress, func(e event) bool { return e.State == string(turns.Running) })
		if c.Turn.TurnID != started.TurnID || c.Turn.Attempt != 1 || c.Turn.Worker != "here" || c.Turn.ClaimedSeq != claimed.Seq || c.Seq != claimed.Seq ||
			c.Cwd != "/work" || len(c.Input) != 1 || c.Input[0].Content[0].Text != "do it" || c.Input[0].Role != "user" {
			t.Errorf("claimed %+v", c)
		}
		if d := time.Until(c.Lease.ExpiresAt.Time); d != turns.DefaultLease {
			t.Errorf("the lease is for %v", d)
		}
		if again := h.step(c.Lease, "setup/clone"); again.Epoch != 1 {
			t.Errorf("step %+v", again)
		}
		op := message("m-1", "hel")
		op.Step = "setup/clone"
		r := h.write(c.Lease, op, turns.ItemOp{Op: turns.OpAppend, ItemID: "m-1", Text: "lo"},
			turns.ItemOp{Op: turns.OpUpdate, ItemID: "m-1", Status: items.StatusCompleted}, message("", "open"))
		if len(r.Items) != 4 || r.Items[0].ItemID != "m-1" || r.Items[2].Status != items.StatusCompleted || r.Items[3].Status != items.StatusInProgress || !items.Made(r.Items[3].ItemID) {
			t.Errorf("wrote %+v", r)
		}
		if it := h.item("m-1"); it.Step != "setup/clone" || it.Status != items.StatusCompleted || !strings.Contains(string(it.Content), `"hello"`) {
			t.Errorf("item %+v", it)
		}
		e, err := h.workers.StepEnd(bg, turns.EndStep{Lease: *c.Lease, Step: "setup"})
		if err != nil || e.Status != turns.StepCompleted || e.Epoch != 1 {
			t.Errorf("step end %+v, %v", e, err)
		}
		var bad *turns.InvalidError
		if _, err := h.workers.StepEnd(bg, turns.EndStep{Lease: *c.Lease, Step: "setup"}); !errors.As(err, &bad) || bad.Reason != "ended" {
			t.Errorf("the second end: %v", err)
		}
		if _, err := h.workers.StepStart(bg, turns.StartStep{Lease: *c.Lease, Step: "setup/more"}); !errors.As(err, &bad) || bad.Reason != "ended" {
			t.Errorf("a step below one that has ended: %v", err)
		}
		if _, err := h.workers.WriteItems(bg, turns.WriteItems{Lease: *c.Lease, Ops: []turns.ItemOp{op}}); !errors.As(err, &bad) || bad.Field != "ops[0].step" {
			t.Errorf("an item of a step that has ended: %v", err)
		}
		end, err := h.workers.Complete(bg, turns.CompleteTurn{Lease: *c.Lease, Message: "done", Usage: &items.Usage{TotalTokens: 7}})
		tn := h.turn(started.TurnID)
		if err != nil || end.State != turns.Completed || end.Seq != tn.UpdatedSeq || tn.Message != "done" || tn.Usage == nil || tn.Usage.TotalTokens != 7 {
			t.Errorf("completed %+v, %v: %+v", end, err, tn)
		}
		if it := h.item(r.Items[3].ItemID); it.Status != items.StatusCompleted {
			t.Errorf("what was open is %s", it.Status)
		}
		if _, err := h.workers.Complete(bg, turns.CompleteTurn{Lease: *c.Lease}); !errors.Is(err, turns.ErrNotActive) {
			t.Errorf("twice: %v", err)
		}
		if n := len(h.late()); n > 0 {
			t.Errorf("%d turn/late of a live attempt", n)
		}
	})
}

func TestLeaseIsCheckedWithEveryWrite(t *testing.T) {
	bubble(t, remotely(true), func(h *harness) {
		c := h.work()
		for name, l := range map[string]turns.Lease{
			"no token":         {TurnID: c.Lease.TurnID, Attempt: 1},
			"another attempt":  {TurnID: c.Lease.TurnID, Attempt: 2, Token: c.Lease.Token},
			"another turn":     {TurnID: "turn_x", Attempt: 1, Token: c.Lease.Token},
			"a token cut down": {TurnID: c.Lease.TurnID, Attempt: 1, Token: c.Lease.Token[1:]},
		} {
			for i, f := range h.byLease(l) {
				if err := f(); !errors.Is(err, turns.ErrLease) {
					t.Errorf("%s, command %d: %v", name, i, err)
				}
			}
		}
		h.restart() // the secret stays
		h.complete(c.Lease)
	})
}

// byLease are all commands of a worker.
func (h *harness) byLease(l turns.Lease) []func() error {
	return []func() error{
		func() error { _, err := h.workers.Renew(bg, turns.Renew{Lease: l}); return err },
		func() error { _, err := h.workers.StepStart(bg, turns.StartStep{Lease: l, Step: "s"}); return err },
		func() error { _, err := h.workers.StepEnd(bg, turns.EndStep{Lease: l, Step: "s"}); return err },
		func() error {
			_, err := h.workers.WriteItems(bg, turns.WriteItems{Lease: l, Ops: []turns.ItemOp{message("", "x"), message("", "y")}})
			return err
		},
		func() error { _, err := h.workers.Fail(bg, turns.FailTurn{Lease: l}); return err },
		func() error { _, err := h.workers.Complete(bg, turns.CompleteTurn{Lease: l}); return err },
	}
}

func TestTwoWorkersWithOneLease(t *testing.T) {
	bubble(t, remotely(true), func(h *harness) {
		c := h.work()
		copied := *c.Lease // a second process that was given the same lease
		h.write(c.Lease, message("first", "x"))
		h.write(&copied, message("second", "y"))
		if r := h.complete(&copied); r.State != turns.Completed {
			t.Errorf("completed %+v", r)
		}
		for i, f := range h.byLease(*c.Lease) {
			if err := f(); !errors.Is(err, turns.ErrNotActive) {
				t.Errorf("after the end, command %d: %v", i, err)
			}
		}
		if n := len(h.late()); n > 0 {
			t.Errorf("%d turn/late", n)
		}
	})
}

func TestWorkerThatWakesUpAfterItsLeaseIsRefusedKeptAndNotSeen(t *testing.T) {
	for _, ended := range []bool{false, true} {
		t.Run(fmt.Sprint("ended ", ended), func(t *testing.T) {
			bubble(t, remotely(true), func(h *harness) {
				c := h.work()
				turnID := c.Turn.TurnID
				h.step(c.Lease, "build")
				op := message("old", "half a sen")
				op.Step = "build"
				h.write(c.Lease, op)
				h.steer(turnID, "and this", false)
				time.Sleep(29 * time.Second)
				h.renew(c.Lease)
				time.Sleep(30*time.Second - time.Millisecond)
				h.none("the lease is good", func(e event) bool { return e.Method == notify.StreamRewind })
				time.Sleep(time.Millisecond)
				marker, wait := h.marker(turnID, 1)
				if marker.Reason != string(turns.CauseLease) || wait.State != string(turns.Waiting) {
					t.Errorf("marker %s, then %s", marker, wait)
				}
				if it := h.item("old"); it.Status != items.StatusInterrupted || !it.Superseded {
					t.Errorf("item %+v", it)
				}
				time.Sleep(12 * time.Second)
				second := h.claim("w2")
				if second.Turn.TurnID != turnID || second.Lease.Attempt != 2 || len(second.Input) != 2 || second.Input[1].Content[0].Text != "and this" {
					t.Errorf("the second claim %+v", second)
				}
				if ended {
					h.complete(second.Lease)
				}

				// The first one wakes up.
				refused := 0
				for i, f := range h.byLease(*c.Lease) {
					s := h.superseded(f())
					if s.TurnID != turnID || s.Attempt != 2 || s.Step != "" || s.Epoch != 2 || (s.Seq == 0) != (i == 0) {
						t.Errorf("command %d: %+v", i, s)
					}
					refused++
				}
				_, err := h.workers.WriteItems(bg, turns.WriteItems{Lease: *c.Lease, Ops: []turns.ItemOp{{Op: turns.OpAppend, ItemID: "old", Text: "tence"}}})
				h.superseded(err)
				late := h.late()
				if len(late) != refused+1 { // renew writes nothing, the batch has two
					t.Errorf("%d turn/late of %d refusals:\n%s", len(late), refused, list(late))
				}
				last := late[len(late)-1]
				if last.Attempt != 1 || last.Step != "build" || last.Epoch != 1 || !strings.Contains(string(last.raw), `"method":"item/delta"`) || len(last.Lineage) > 0 {
					t.Errorf("kept %s", last.raw)
				}
				if it := h.item("old"); !strings.Contains(string(it.Content), `half a sen"`) {
					t.Errorf("the item was written to: %s", it.Content)
				}
				if !ended {
					h.complete(second.Lease)
				}
				if e := h.endedIn(turnID, 2); e.Method != notify.TurnCompleted {
					t.Errorf("ended %s", e)
				}
			})
		})
	}
}

func TestLateWritesAreBounded(t *testing.T) {
	bubble(t, remotely(true), func(h *harness) {
		c := h.work()
		time.Sleep(31 * time.Second)
		h.marker(c.Turn.TurnID, 1)
		var ops []turns.ItemOp
		for range turns.MaxBatchOps {
			ops = append(ops, message("", "late"))
		}
		for i := range 5 {
			_, err := h.workers.WriteItems(bg, turns.WriteItems{Lease: *c.Lease, Ops: ops, Key: key("k", "item/batch", 1)})
			if s := h.superseded(err); (s.Seq == 0) != (i == 4) {
				t.Errorf("batch %d: %+v", i, s)
			}
		}
		if n := len(h.late()); n != turns.MaxLate {
			t.Errorf("%d turn/late", n)
		}
	})
}

func TestBatchIsAllOrNothing(t *testing.T) {
	bubble(t, remotely(true), func(h *harness) {
		c := h.work()
		h.write(c.Lease, message("open", "a"), message("gone", "b"))
		h.write(c.Lease, turns.ItemOp{Op: turns.OpUpdate, ItemID: "gone", Status: items.StatusCompleted})
		user := c.Input[0].ItemID
		latest := func() int64 { h.pump(); return h.seen[len(h.seen)-1].Seq }
		before := latest()
		var bad *turns.InvalidError
		for name, c2 := range map[string]struct {
			op    turns.ItemOp
			field string
			is    error
		}{
			"an item that ended":    {turns.ItemOp{Op: turns.OpAppend, ItemID: "gone", Text: "x"}, "ops[3].item_id", nil},
			"an item that is not":   {turns.ItemOp{Op: turns.OpAppend, ItemID: "none", Text: "x"}, "", items.ErrNotFound},
			"an id that was used":   {message("gone", "x"), "", items.ErrConflict},
			"an id of this batch":   {message("new", "x"), "", items.ErrConflict},
			"a user's message":      {turns.ItemOp{Op: turns.OpDelete, ItemID: user}, "ops[3].item_id", nil},
			"another kind":          {turns.ItemOp{Op: turns.OpUpdate, ItemID: "open", Content: jsontext.Value(`{"type":"notice","message":"x"}`)}, "ops[3].status", nil},
			"a user message":        {turns.ItemOp{Op: turns.OpCreate, Content: jsontext.Value(`{"type":"user_message"}`)}, "ops[3].content", nil},
			"a question":            {turns.ItemOp{Op: turns.OpCreate, Content: jsontext.Value(`{"type":"question"}`)}, "ops[3].content", nil},
			"no content":            {turns.ItemOp{Op: turns.OpCreate}, "ops[3].content", nil},
			"an unknown kind":       {turns.ItemOp{Op: turns.OpCreate, Content: jsontext.Value(`{"type":"what"}`)}, "ops[3].content", nil},
			"an unknown member":     {turns.ItemOp{Op: turns.OpCreate, Content: jsontext.Value(`{"type":"agent_message","text":"x"}`)}, "ops[3].content", nil},
			"an image":              {turns.ItemOp{Op: turns.OpCreate, Content: jsontext.Value(`{"type":"agent_message","content":[{"type":"image","text":"x"}]}`)}, "ops[3].content", nil},
			"no step":               {turns.ItemOp{Op: turns.OpCreate, Step: "s", Content: message("", "x").Content}, "ops[3].step", nil},
			"an epoch yet to come":  {turns.ItemOp{Op: turns.OpCreate, Epoch: 2, Content: message("", "x").Content}, "ops[3].epoch", nil},
			"a status it cannot be": {turns.ItemOp{Op: turns.OpUpdate, ItemID: "open", Status: items.StatusPending}, "ops[3].status", nil},
			"a strange member":      {turns.ItemOp{Op: turns.OpDelete, ItemID: "open", Text: "x"}, "ops[3].text", nil},
			"no verb":               {turns.ItemOp{ItemID: "open"}, "ops[3].op", nil},
			"no id":                 {turns.ItemOp{Op: turns.OpAppend, Text: "x"}, "ops[3].item_id", nil},
		} {
			_, err := h.workers.WriteItems(bg, turns.WriteItems{Lease: *c.Lease, Ops: []turns.ItemOp{
				message("new", "x"), {Op: turns.OpAppend, ItemID: "open", Text: "more"}, {Op: turns.OpUpdate, ItemID: "new", Status: items.StatusFailed}, c2.op,
			}})
			switch {
			case c2.is != nil && !errors.Is(err, c2.is), c2.is == nil && (!errors.As(err, &bad) || bad.Field != c2.field):
				t.Errorf("%s: %v (%+v)", name, err, bad)
			}
		}
		for name, group := range map[string]struct {
			ops   []turns.ItemOp
			field string
		}{
			"none":      {nil, "ops"},
			"too many":  {make([]turns.ItemOp, turns.MaxBatchOps+1), "ops"},
			"too large": {[]turns.ItemOp{message("", strings.Repeat("x", turns.MaxBatchBytes))}, "ops[0].content"},
			"text too large": {[]turns.ItemOp{
				message("new", "x"), {Op: turns.OpAppend, ItemID: "open", Text: strings.Repeat("x", turns.MaxBatchBytes)},
			}, "ops[1].text"},
		} {
			if _, err := h.workers.WriteItems(bg, turns.WriteItems{Lease: *c.Lease, Ops: group.ops}); !errors.As(err, &bad) || bad.Field != group.field {
				t.Errorf("%s: %v", name, err)
			}
		}
		for text, raw := range map[string]string{
			"foo: there is no such member":            `{"type":"agent_message","role":"assistant","content":[],"foo":1}`,
			"content: it must be an array":            `{"type":"agent_message","content":"x"}`,
			"it must be an object":                    `"x"`,
			"format: it must be markdown or plain":    `{"type":"agent_message","format":"html","content":[]}`,
			"content[0].type: it must be output_text": `{"type":"agent_message","content":[{"type":"image"}]}`,
			`unknown kind of item "no_such_one"`:      `{"type":"no_such_one"}`,
		} {
			_, err := h.workers.WriteItems(bg, turns.WriteItems{Lease: *c.Lease, Ops: []turns.ItemOp{{Op: turns.OpCreate, Content: jsontext.Value(raw)}}})
			if !errors.As(err, &bad) || bad.Field != "ops[0].content" || bad.Text != text {
				t.Errorf("%s: %v", raw, err)
			}
		}
		if n := latest(); n != before {
			t.Errorf("%d events were stored:\n%s", n-before, list(h.seen[before:]))
		}
		h.write(c.Lease, turns.ItemOp{Op: turns.OpAppend, ItemID: "open", Text: "b"})
		if it, err := h.reader.Item(bg, "open"); err != nil || it.Status != items.StatusInProgress || !strings.Contains(string(it.Content), `"ab"`) {
			t.Errorf("open is %+v, %v", it, err)
		}
		h.write(c.Lease, turns.ItemOp{Op: turns.OpDelete, ItemID: "open"}, turns.ItemOp{Op: turns.OpDelete, ItemID: "gone"})
		h.complete(c.Lease)
	})
}

func TestWriteToASupersededStepOrItemIsLate(t *testing.T) {
	bubble(t, remotely(true), func(h *harness) {
		c := h.work()
		h.step(c.Lease, "a/b")
		op := message("old", "x")
		op.Step, op.Epoch = "a/b", 1
		h.write(c.Lease, op)
		h.steer(c.Turn.TurnID, "hello", false)
		if again := h.step(c.Lease, "a"); again.Epoch != 2 {
			t.Errorf("started again: %+v", again)
		}
		keep := message("kept", "x")
		keep.Step = "a"
		_, err := h.workers.WriteItems(bg, turns.WriteItems{Lease: *c.Lease, Ops: []turns.ItemOp{
			keep, {Op: turns.OpAppend, ItemID: "old", Text: "y"}, {Op: turns.OpDelete, ItemID: "old"},
		}})
		if s := h.superseded(err); s.Attempt != 1 || s.Step != "a/b" || s.Epoch != 0 || s.Seq == 0 {
			t.Errorf("superseded %+v", s)
		}
		op.ItemID = "new"
		if _, err = h.workers.WriteItems(bg, turns.WriteItems{Lease: *c.Lease, Ops: []turns.ItemOp{op}}); h.superseded(err).Step != "a/b" {
			t.Errorf("create: %v", err)
		}
		h.step(c.Lease, "a/b")
		if _, err = h.workers.StepEnd(bg, turns.EndStep{Lease: *c.Lease, Step: "a/b", Epoch: 1}); h.superseded(err).Epoch != 2 {
			t.Errorf("end: %v", err)
		}
		_, err = h.workers.WriteItems(bg, turns.WriteItems{Lease: *c.Lease, Ops: []turns.ItemOp{{Op: turns.OpDelete, ItemID: "old"}}})
		if s := h.superseded(err); s.Step != "a/b" || s.Epoch != 2 { // although the step has a live try
			t.Errorf("delete: %+v", s)
		}
		late := h.late()
		if len(late) != 5 {
			t.Fatalf("late:\n%s", list(late))
		}
		for _, e := range late {
			if e.Step != "a/b" || e.Epoch != 1 || e.Attempt != 1 {
				t.Errorf("late %s", e.raw)
			}
		}
		h.none("a part of the refused batch", func(e event) bool { return e.ItemID == "kept" || e.ItemID == "new" })
		if _, err := h.workers.StepEnd(bg, turns.EndStep{Lease: *c.Lease, Step: "a/b", Epoch: 2}); err != nil {
			t.Error(err)
		}
		h.complete(c.Lease)
	})
}

func TestItemIDIsUniqueInTheWholeLog(t *testing.T) {
	bubble(t, remotely(false), func(h *harness) {
		h.thread("a", "remote")
		h.thread("b", "remote")
		h.start("a")
		h.start("b")
		one, two := h.claim(""), h.claim("")
		h.write(one.Lease, message("mine", "x"))
		if _, err := h.workers.WriteItems(bg, turns.WriteItems{Lease: *two.Lease, Ops: []turns.ItemOp{message("mine", "y")}}); !errors.Is(err, items.ErrConflict) {
			t.Errorf("in another thread: %v", err)
		}
		if _, err := h.workers.WriteItems(bg, turns.WriteItems{Lease: *two.Lease, Ops: []turns.ItemOp{{Op: turns.OpAppend, ItemID: "mine", Text: "y"}}}); !errors.Is(err, items.ErrNotFound) {
			t.Errorf("to an item of another turn: %v", err)
		}
		// Both have looked the id up, and neither has found it.
		release := h.hold(func(u *ledger.Unit) bool {
			return len(u.Drafts) > 0 && u.Drafts[0].ItemID == "both"
		})
		errs := make(chan error, 2)
		for _, l := range []*turns.Lease{one.Lease, two.Lease} {
			go func() {
				_, err := h.workers.WriteItems(bg, turns.WriteItems{Lease: *l, Ops: []turns.ItemOp{message("both", "x")}})
				errs <- err
			}()
		}
		synctest.Wait()
		release()
		first, second := <-errs, <-errs
		if first != nil {
			first, second = second, first
		}
		if first != nil || !errors.Is(second, items.ErrConflict) {
			t.Errorf("at once: %v, %v", first, second)
		}
		h.complete(one.Lease)
		h.complete(two.Lease)
	})
}

func TestNothingIsKeptInAThreadThatHasClosed(t *testing.T) {
	bubble(t, remotely(true), func(h *harness) {
		c := h.work()
		h.marker(c.Turn.TurnID, 1)
		h.change("a", threads.VerbClose)
		_, err := h.workers.WriteItems(bg, turns.WriteItems{Lease: *c.Lease, Ops: []turns.ItemOp{message("", "late")}})
		if s := h.superseded(err); s.Attempt != 2 || s.Seq != 0 {
			t.Errorf("superseded %+v", s)
		}
	})
}

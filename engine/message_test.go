package engine_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// A client that reads only the end of a turn has its answer.
func TestEndHasTheLastMessage(t *testing.T) {
	type step func(h *harness, c *call)
	emit := func(ops ...items.Op) step { return func(h *harness, c *call) { h.emit(c, ops...) } }
	create := func(id, text string) items.Op {
		return items.Create{ItemID: id, Content: items.NewAgentMessage(text)}
	}
	done := func(id string) items.Op { return items.Update{ItemID: id, Status: items.StatusCompleted} }
	in := func(step, id, text string) items.Op {
		return items.Create{ItemID: id, Step: step, Status: items.StatusCompleted, Content: items.NewAgentMessage(text)}
	}
	rest := func(*harness, *call) { synctest.Wait() } // earlier output is committed separately
	for name, c := range map[string]struct {
		steps []step
		end   turns.Outcome
		want  string
	}{
		"of a text that streams":        {[]step{emit(create("a", ""), items.Append{ItemID: "a", Text: "hel"}, items.Append{ItemID: "a", Text: "lo"})}, turns.Outcome{}, "hello"},
		"of one that has ended":         {[]step{emit(create("a", "x"), done("a"))}, turns.Outcome{}, "x"},
		"made at once":                  {[]step{emit(in("", "a", "x"))}, turns.Outcome{}, "x"},
		"replaced":                      {[]step{emit(create("a", "x"), items.Update{ItemID: "a", Content: items.NewAgentMessage("y")})}, turns.Outcome{}, "y"},
		"the newest":                    {[]step{emit(in("", "a", "x"), create("b", "y"))}, turns.Outcome{}, "y"},
		"by its beginning":              {[]step{emit(create("a", "x"), in("", "b", "y"), done("a"))}, turns.Outcome{}, "y"},
		"that has a text":               {[]step{emit(in("", "a", "x"), create("b", " \n"), in("", "c", ""))}, turns.Outcome{}, "x"},
		"of messages only":              {[]step{emit(in("", "a", "x"), items.Create{ItemID: "b", Content: items.Reasoning{Type: items.KindReasoning, Text: "hm"}})}, turns.Outcome{}, "x"},
		"none":                          {nil, turns.Outcome{}, ""},
		"that was not deleted":          {[]step{emit(in("", "a", "x"), create("b", "y")), rest, emit(items.Delete{ItemID: "b"})}, turns.Outcome{}, "x"},
		"deleted after its end":         {[]step{emit(in("", "a", "x"), in("", "b", "y"), items.Delete{ItemID: "b"})}, turns.Outcome{}, "x"},
		"after one that was deleted":    {[]step{emit(in("", "a", "x"), items.Delete{ItemID: "a"}, in("", "b", "y"))}, turns.Outcome{}, "y"},
		"of an older one that is open":  {[]step{emit(create("a", "x"), in("", "b", "y"), items.Delete{ItemID: "b"}, items.Append{ItemID: "a", Text: "!"})}, turns.Outcome{}, "x!"},
		"older, ended after a deletion": {[]step{emit(create("a", "x"), in("", "b", "y"), in("", "c", "z"), items.Delete{ItemID: "c"}, done("a"))}, turns.Outcome{}, "y"},
		"of the step that is live":      {[]step{emit(in("", "a", "x"), items.StepStart{Step: "s"}, in("s", "b", "y")), rest, emit(items.StepStart{Step: "s"})}, turns.Outcome{}, "x"},
		"of a step's newest try":        {[]step{emit(in("", "a", "x"), items.StepStart{Step: "s"}, in("s", "b", "y"), items.StepStart{Step: "s"}, in("s", "c", "z"))}, turns.Outcome{}, "z"},
		"cut short":                     {[]step{emit(create("a", "x"))}, turns.Outcome{State: turns.Failed}, "x"},
		"that the agent gives":          {[]step{emit(in("", "a", "x"))}, turns.Outcome{Message: "done"}, "done"},
		"of a failure with a reason":    {[]step{emit(in("", "a", "x"))}, turns.FailedWith(turns.KindAgentFailed, "boom"), "x"},
		"of an interruption":            {[]step{emit(in("", "a", "x"))}, turns.Outcome{State: turns.Interrupted}, "Turn interrupted: the agent stopped"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				h.mayFail = name == "replaced"
				p := h.prompt()
				for _, do := range c.steps {
					do(h, p)
				}
				p.out <- c.end
				if e := h.ended(p.TurnID); e.Message != c.want || h.turn(p.TurnID).Message != c.want {
					t.Errorf("ended %s with %q, the row says %q, want %q", e.Method, e.Message, h.turn(p.TurnID).Message, c.want)
				}
			})
		})
	}
}

// A message that is shown without its item is shown as it is meant: its format goes with it.
func TestAnEndHasTheFormatOfItsMessage(t *testing.T) {
	message := func(text string, f items.Format) items.AgentMessage {
		m := items.NewAgentMessage(text)
		m.Format = f
		return m
	}
	said := func(id string, f items.Format) items.Op {
		return items.Create{ItemID: id, Status: items.StatusCompleted, Content: message("__init__.py", f)}
	}
	for name, c := range map[string]struct {
		said []items.Op
		end  turns.Outcome
		want items.Format
	}{
		"plain":                {[]items.Op{said("a", "plain")}, turns.Outcome{}, "plain"},
		"of the last one":      {[]items.Op{said("a", "plain"), said("b", "")}, turns.Outcome{}, ""},
		"of an open one":       {[]items.Op{said("a", ""), items.Create{ItemID: "b", Content: message("", "plain")}, items.Append{ItemID: "b", Text: "x"}}, turns.Outcome{}, "plain"},
		"read from the log":    {[]items.Op{said("a", "plain"), said("b", ""), items.Delete{ItemID: "b"}}, turns.Outcome{}, "plain"},
		"of a failure":         {[]items.Op{said("a", "plain")}, turns.Outcome{State: turns.Failed}, "plain"},
		"of the agent's words": {[]items.Op{said("a", "")}, turns.Outcome{Message: "done", Format: "plain"}, "plain"},
		"not of its item then": {[]items.Op{said("a", "plain")}, turns.Outcome{Message: "done"}, ""},
		"an interruption":      {[]items.Op{said("a", "plain")}, turns.Outcome{State: turns.Interrupted}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				p := h.prompt()
				h.emit(p, c.said...)
				p.out <- c.end
				if e := h.ended(p.TurnID); e.Format != c.want || h.turn(p.TurnID).Format != c.want {
					t.Errorf("%s of format %q, the row says %q, want %q", e.Method, e.Format, h.turn(p.TurnID).Format, c.want)
				}
			})
		})
	}
}

func TestAWorkerSaysTheFormatOfItsResult(t *testing.T) {
	bubble(t, remotely(false), func(h *harness) {
		c := h.work()
		var bad *turns.InvalidError
		if _, err := h.workers.Complete(bg, turns.CompleteTurn{Lease: *c.Lease, Message: "done", Format: "html"}); !errors.As(err, &bad) || bad.Field != "format" {
			t.Errorf("format html: %v", err)
		}
		if _, err := h.workers.Complete(bg, turns.CompleteTurn{Lease: *c.Lease, Message: "done", Format: "plain"}); err != nil {
			t.Fatal(err)
		}
		if e := h.ended(c.Turn.TurnID); e.Message != "done" || e.Format != items.FormatPlain {
			t.Errorf("ended with %q of format %q", e.Message, e.Format)
		}
	})
}

// completeSilently completes without a message of the worker.
func (h *harness) completeSilently(l *turns.Lease) {
	h.t.Helper()
	if _, err := h.workers.Complete(bg, turns.CompleteTurn{Lease: *l}); err != nil {
		h.t.Fatalf("complete: %v", err)
	}
}

func TestEndHasAnAttemptsOwnMessageOnly(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		c := h.tried(turns.Start{ThreadID: "a", Retry: &turns.RetryPolicy{OnCrash: turns.CrashRetry}})
		h.message(c, "of the first attempt")
		c.crash()
		c = h.next(h.agent)
		c.end(turns.Completed)
		if e := h.ended(c.TurnID); e.Message != "" {
			t.Errorf("ended with %q", e.Message)
		}
	})
}

func TestEndHasTheMessageOfBeforeARestart(t *testing.T) {
	bubble(t, remotely(true), func(h *harness) {
		c := h.work()
		h.write(c.Lease, message("m", "hel"), turns.ItemOp{Op: turns.OpAppend, ItemID: "m", Text: "lo"})
		h.restart()
		h.completeSilently(c.Lease)
		if e := h.ended(c.Turn.TurnID); e.Message != "hello" {
			t.Errorf("ended with %q", e.Message)
		}
	})
}

// A refused batch of a worker adds no message.
func TestEndHasNoMessageThatWasRefused(t *testing.T) {
	bubble(t, remotely(true), func(h *harness) {
		c := h.work()
		ops := []turns.ItemOp{message("m", "x"), {Op: turns.OpUpdate, ItemID: "m", Status: items.StatusCompleted}, {Op: turns.OpDelete, ItemID: "none"}}
		if _, err := h.workers.WriteItems(bg, turns.WriteItems{Lease: *c.Lease, Ops: ops}); err == nil {
			t.Fatal("the batch was taken")
		}
		h.completeSilently(c.Lease)
		if e := h.ended(c.Turn.TurnID); e.Message != "" {
			t.Errorf("ended with %q", e.Message)
		}
	})
}

func TestLongMessageIsCutInTheEnd(t *testing.T) {
	for name, rune := range map[string]string{"ascii": "x", "wide": "€", "escaped": "\""} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				c := h.prompt()
				h.message(c, "begin "+strings.Repeat(rune, turns.MaxEndMessageBytes)+" end")
				c.end(turns.Completed)
				e := h.ended(c.TurnID)
				raw, err := json.Marshal(e.Message)
				if err != nil || len(raw)-2 > turns.MaxEndMessageBytes || len(raw) < turns.MaxEndMessageBytes/2 || !utf8.ValidString(e.Message) {
					t.Errorf("%d bytes, %v", len(raw), err)
				}
				row := h.turn(c.TurnID)
				if !e.MessageTruncated || !row.MessageTruncated || row.Message != e.Message {
					t.Errorf("cut: the event says %v, the row %v", e.MessageTruncated, row.MessageTruncated)
				}
				if !strings.HasPrefix(e.Message, "begin ") || !strings.HasSuffix(e.Message, " end") || !strings.Contains(e.Message, "bytes left out") {
					t.Errorf("%.40q … %q", e.Message, e.Message[len(e.Message)-20:])
				}
			})
		})
	}
}

// A restarted server reads an open message from the log. It must not count as newer
// than one that has ended meanwhile.
func TestEndHasTheNewestMessageAlsoAfterARestart(t *testing.T) {
	for name, c := range map[string]struct{ after, want string }{
		"none since": {"", "newer"}, "one since": {"newest", "newest"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, remotely(true), func(h *harness) {
				w := h.work()
				h.write(w.Lease, message("old", "old"), message("new", "newer"), turns.ItemOp{Op: turns.OpUpdate, ItemID: "new", Status: items.StatusCompleted})
				h.restart()
				if c.after != "" {
					h.write(w.Lease, message("newest", c.after))
				}
				h.completeSilently(w.Lease)
				if e := h.ended(w.Turn.TurnID); e.Message != c.want {
					t.Errorf("message %q, want %q", e.Message, c.want)
				}
			})
		})
	}
}

package mapping

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/seed82539d15/holon/internal/test/agenttest"
	"github.com/seed82539d15/holon/items"
)

// tb lets a Sink report to rapid, so that a failure is shrunk.
type tb struct {
	testing.TB
	rt *rapid.T
}

func (t tb) Helper()                           {}
func (t tb) Errorf(format string, args ...any) { t.rt.Errorf(format, args...) }

// world drives a Session as its caller would and tracks input and output. Each
// prompt has its own sink, which knows no item of an earlier one: the engine
// has ended those.
type world struct {
	rt      *rapid.T
	s       *Session
	sink    *agenttest.Sink // nil outside of a prompt
	in, out map[items.Kind]string
	strange int // updates of an unknown kind that went in
	kept    int // and came out as extensions
	asked   []items.PermissionRequest
}

const unknownKind = "x_unknown"

func TestAnySequenceOfUpdatesIsAllowedAndLosesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &world{
			rt: rt, s: New(Options{KeepRaw: rapid.Bool().Draw(rt, "keep raw"), Cwd: "/p"}),
			in: map[items.Kind]string{}, out: map[items.Kind]string{},
		}
		rt.Repeat(map[string]func(*rapid.T){
			"update":  func(*rapid.T) { w.update() },
			"updates": func(*rapid.T) { w.update(); w.update(); w.update() },
			"ask":     func(*rapid.T) { w.ask() },
			"begin or end": func(*rapid.T) {
				if w.sink == nil {
					w.begin()
				} else {
					w.end()
				}
			},
			"flush": func(*rapid.T) {
				if w.sink == nil {
					w.outside(w.s.Flush())
				}
			},
		})
		if w.sink != nil {
			w.end()
		}
		w.outside(w.s.Gone())
		for _, kind := range []items.Kind{items.KindAgentMessage, items.KindReasoning} {
			if w.in[kind] != w.out[kind] {
				rt.Errorf("%s: went in as %q, came out as %q", kind, w.in[kind], w.out[kind])
			}
		}
		if w.strange != w.kept {
			rt.Errorf("%d updates of an unknown kind made %d extensions", w.strange, w.kept)
		}
	})
}

func (w *world) begin() {
	w.sink = agenttest.NewSink(tb{rt: w.rt})
	w.emit(w.s.Begin(rapid.IntRange(0, 1).Draw(w.rt, "index")))
}

func (w *world) end() {
	w.emit(w.s.PromptEnded(jsontext.Value(`{"stopReason":"end_turn","usage":{"inputTokens":1,"outputTokens":1,"totalTokens":2}}`), rapid.Bool().Draw(w.rt, "interrupted")))
	for _, it := range w.sink.Items() {
		w.count(it.Kind, it.Text, it.Content)
		if it.Status.Open() && (it.Kind == items.KindAgentMessage || it.Kind == items.KindReasoning || it.Kind == items.KindPlan) {
			w.rt.Errorf("%s %s is open after the prompt's end", it.Kind, it.ID)
		}
	}
	w.sink, w.asked = nil, nil
}

func (w *world) count(kind items.Kind, text string, content items.Content) {
	w.out[kind] += text
	if e, ok := content.(items.Extension); ok && e.NativeKind == unknownKind {
		w.kept++
	}
}

func (w *world) emit(ops []items.Op) {
	if err := w.sink.Emit(context.Background(), ops); err != nil {
		w.rt.Fatal(err)
	}
}

// outside checks that ops are allowed outside of a turn.
func (w *world) outside(ops []items.Op) {
	for _, op := range ops {
		switch op := op.(type) {
		case items.SetThread:
		case items.Create:
			if status, err := items.Next(items.Absent, op.Content.Kind(), items.VerbCreate, op.Status); err != nil || status.Open() {
				w.rt.Errorf("outside of a turn, an item is created %q: %v", status, err)
			}
			text, _ := items.TextOf(op.Content)
			w.count(op.Content.Kind(), text, op.Content)
		default:
			w.rt.Errorf("outside of a turn: %#v", op)
		}
	}
}

func (w *world) update() {
	raw := w.draw()
	if w.sink == nil {
		w.outside(w.s.Outside(raw))
		return
	}
	w.emit(w.s.Update(raw))
}

func (w *world) ask() {
	if w.sink == nil {
		return
	}
	if len(w.asked) > 0 && rapid.Bool().Draw(w.rt, "answer") {
		status := rapid.SampledFrom([]items.Status{items.StatusCompleted, items.StatusDeclined}).Draw(w.rt, "answer")
		w.s.Answered(w.asked[0], items.Answer{Status: status})
		w.asked = w.asked[1:]
		return
	}
	call := w.drawCall()
	ops, q, err := w.s.Permission(encode(map[string]any{
		"sessionId": "s", "toolCall": call,
		"options": []any{map[string]any{"optionId": "o", "name": "n", "kind": "allow_once"}},
	}))
	w.emit(ops)
	if err != nil {
		w.rt.Errorf("permission: %v", err)
	}
	w.asked = append(w.asked, q)
}

func encode(v any) jsontext.Value {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return b
}

// draw makes an update and records what of it must not be lost.
func (w *world) draw() jsontext.Value {
	rt := w.rt
	maybe := func(name string) bool { return rapid.Bool().Draw(rt, name) }
	switch rapid.IntRange(0, 9).Draw(rt, "update") {
	case 0, 1, 2:
		kind, name := items.KindAgentMessage, "agent_message_chunk"
		if maybe("thought") {
			kind, name = items.KindReasoning, "agent_thought_chunk"
		}
		text := rapid.StringN(0, 6, -1).Draw(rt, "text")
		w.in[kind] += text
		u := map[string]any{"sessionUpdate": name, "content": map[string]any{"type": "text", "text": text}}
		if maybe("with id") {
			u["messageId"] = fmt.Sprint("m", rapid.IntRange(0, 1).Draw(rt, "message"))
		}
		return encode(u)
	case 3, 4, 5:
		u := w.drawCall()
		u["sessionUpdate"] = rapid.SampledFrom([]string{"tool_call", "tool_call_update"}).Draw(rt, "of call")
		return encode(u)
	case 6:
		entries := []any{}
		for range rapid.IntRange(0, 2).Draw(rt, "entries") {
			entries = append(entries, map[string]any{"content": "c", "status": rapid.SampledFrom([]string{"pending", "completed"}).Draw(rt, "entry")})
		}
		if maybe("with plan id") {
			return encode(map[string]any{"sessionUpdate": "plan_update", "plan": map[string]any{"type": "items", "planId": "p", "entries": entries}})
		}
		return encode(map[string]any{"sessionUpdate": "plan", "entries": entries})
	case 7:
		return encode(map[string]any{"sessionUpdate": "plan_removed", "planId": "p"})
	case 8:
		return encode(map[string]any{"sessionUpdate": "usage_update", "used": rapid.IntRange(0, 3).Draw(rt, "used"), "size": 9})
	}
	w.strange++
	return encode(map[string]any{"sessionUpdate": unknownKind, "n": w.strange})
}

// drawCall makes some members of a tool call, not all of them valid.
func (w *world) drawCall() map[string]any {
	rt := w.rt
	u := map[string]any{"toolCallId": fmt.Sprint("c", rapid.IntRange(0, 2).Draw(rt, "call"))}
	set := func(name string, values ...any) {
		if rapid.Bool().Draw(rt, name+" given") {
			u[name] = rapid.SampledFrom(values).Draw(rt, name)
		}
	}
	text := strings.Repeat("line\n", rapid.IntRange(0, 3).Draw(rt, "lines"))
	set("title", "t", "u", 5)
	set("kind", "execute", "edit", "read", "other", nil)
	set("status", "pending", "in_progress", "completed", "failed", "cancelled", "sleeping")
	set("rawInput", map[string]any{}, map[string]any{"command": "ls"}, map[string]any{"path": "/p/a"}, "x")
	set("rawOutput", text, map[string]any{"output": text, "exit_code": 1}, []any{1})
	set("locations", []any{}, []any{map[string]any{"path": "/p/a"}}, []any{7})
	set("content",
		[]any{map[string]any{"type": "content", "content": map[string]any{"type": "text", "text": text}}},
		[]any{map[string]any{"type": "diff", "path": "/p/a", "oldText": nil, "newText": "x"}},
		[]any{map[string]any{"type": "terminal", "terminalId": "t"}, "odd"},
		[]any{}, "odd")
	set("_meta", map[string]any{"terminal_output": map[string]any{"data": "out", "terminal_id": "t"}},
		map[string]any{"terminal_exit": map[string]any{"exit_code": 0}}, map[string]any{"mcp_output_delta": map[string]any{"data": "p"}})
	return u
}

package mapping

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/internal/test/agenttest"
	"github.com/seed82539d15/holon/items"
)

func TestRawOfAnItemIsBounded(t *testing.T) {
	s := New(Options{KeepRaw: true})
	s.Begin(0)
	chunk := jsontext.Value(fmt.Sprintf(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%q}}`, strings.Repeat("x", 1000)))
	for range 200 {
		s.Update(chunk)
	}
	ops := s.PromptEnded(nil, false)
	message := ops[0].(items.Update).Content.(items.AgentMessage)
	if got := len(message.Content[0].Text); got != 200_000 {
		t.Errorf("%d bytes of text, want 200000", got)
	}
	size := 0
	for _, r := range message.Raw[:len(message.Raw)-1] {
		size += len(r)
	}
	if size > 64<<10 || size < 60<<10 {
		t.Errorf("raw has %d bytes, want nearly 64 KiB", size)
	}
	if last := string(message.Raw[len(message.Raw)-1]); last != `{"truncated":true}` {
		t.Errorf("raw ends with %s", last)
	}
}

func TestOnlySoManyCallsAreRemembered(t *testing.T) {
	s := New(Options{})
	sink := agenttest.NewSink(t)
	emit := func(ops []items.Op) {
		if err := sink.Emit(t.Context(), ops); err != nil {
			t.Fatal(err)
		}
	}
	call := func(status string, n int) {
		emit(s.Update(jsontext.Value(fmt.Sprintf(`{"sessionUpdate":"tool_call","toolCallId":"c%d","title":"t","status":%q}`, n, status))))
	}
	call("in_progress", 0)
	for n := 1; n < 3*maxCalls; n++ {
		call("completed", n)
	}
	if got := len(s.calls.byID); got != maxCalls || len(s.calls.order) != got {
		t.Errorf("%d calls, in order %d, want %d", got, len(s.calls.order), maxCalls)
	}
	if open := sink.Open(); len(open) != 1 {
		t.Fatalf("%d open items, want the one of the call that has not ended", len(open))
	}
	call("completed", 0)
	if open := sink.Open(); len(open) != 0 {
		t.Errorf("open items %+v", open)
	}

	for n := range 2 * maxCalls { // none of them ends: the oldest are given up
		call("in_progress", 10_000+n)
	}
	if got := len(sink.Open()); got != maxCalls {
		t.Errorf("%d open items, want %d", got, maxCalls)
	}
}

func TestTextOutsideOfATurnIsGatheredUpToABound(t *testing.T) {
	s := New(Options{})
	piece := strings.Repeat("y", 10_000)
	chunk := jsontext.Value(fmt.Sprintf(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%q}}`, piece))
	var got []int
	note := func(ops []items.Op) {
		for _, op := range ops {
			text, _ := items.TextOf(op.(items.Create).Content)
			got = append(got, len(text))
		}
	}
	for range 120 {
		note(s.Outside(chunk))
	}
	note(s.Flush())
	total := 0
	for _, n := range got {
		if n > maxGathered+len(piece) {
			t.Errorf("an item of %d bytes", n)
		}
		total += n
	}
	if total != 1_200_000 || len(got) != 3 {
		t.Errorf("items of %v bytes, %d in all; want 3 of 1200000", got, total)
	}
}

func TestOutputPastTheBoundKeepsHeadAndTail(t *testing.T) {
	s := New(Options{})
	s.Update(jsontext.Value(`{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","kind":"execute","rawInput":{"command":"yes"}}`))
	data := strings.Repeat("z", 1<<20)
	for n := range 6 {
		ops := s.Update(jsontext.Value(fmt.Sprintf(`{"sessionUpdate":"tool_call_update","toolCallId":"c","_meta":{"terminal_output":{"data":%q}}}`, fmt.Sprint(n, data))))
		if a, ok := ops[0].(items.Append); !ok || len(ops) != 1 || len(a.Text) != 1<<20+1 {
			t.Fatalf("%d ops, the first %T", len(ops), ops[0])
		}
	}
	ops := s.Update(jsontext.Value(`{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed","rawOutput":{"exit_code":0}}`))
	text, _ := items.TextOf(ops[0].(items.Update).Content)
	if len(text) < 1<<20 || len(text) > maxKept || !strings.HasPrefix(text, "0z") || !strings.HasSuffix(text, "z") {
		t.Errorf("%d bytes of output, %.3q to %.3q", len(text), text, text[len(text)-3:])
	}
}

func TestARepeatedMessageIsKnownOnlyForAWhile(t *testing.T) {
	s := New(Options{})
	for n := range 10 * maxRecent {
		s.Update(jsontext.Value(fmt.Sprintf(`{"sessionUpdate":"agent_message","messageId":"m%d","content":[{"type":"text","text":"a"}]}`, n)))
	}
	if len(s.messages.recent) != maxRecent {
		t.Errorf("%d messages remembered, want %d", len(s.messages.recent), maxRecent)
	}
}

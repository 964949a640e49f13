package rpc

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// worked writes 7 events, of which 4 and 5 are deltas, and returns them as a stream of
// summaries sends them.
func worked(r *rig) (want []string) {
	output := strings.Repeat("o", 300_000)
	put := func(method string, body any) {
		d := draft(method, "t", body)
		d.Header.TurnID = "turn"
		r.memory.append(r.t, d)
	}
	content, _ := items.Encode(items.ToolCall{Type: items.KindToolCall, Title: "Run the tests", Output: output})
	put(notify.ThreadStarted, &threads.Changed{Type: "started", Title: "a title", Metadata: []byte(`{"k":"v"}`)})
	put(notify.TurnStarted, &turns.StartedEvent{Type: "started", State: turns.Active})
	put(notify.ItemCreated, &items.Created{ItemID: "item", Type: "created", Status: items.StatusInProgress, Content: content})
	for range 2 {
		put(notify.ItemDelta, &items.Delta{ItemID: "item", Type: "delta"})
	}
	put(notify.ItemUpdated, &items.Updated{ItemID: "item", Type: "updated", Status: items.StatusCompleted, Content: content})
	put(notify.TurnCompleted, &turns.EndedEvent{Type: "completed", State: turns.Completed, Message: output})
	for _, e := range r.memory.events {
		if e.Method != notify.ItemDelta {
			e.Params = notify.AppendSummary(nil, e.Method, e.Params)
			want = append(want, strings.TrimSuffix(string(e.AppendFrame(nil)), "\n"))
		}
	}
	return want
}

// frames reads lines until n of them are events. It leaves out what frames of SSE have
// besides.
func (st *stream) frames(n int) (lines []string) {
	st.t.Helper()
	for len(lines) < n {
		line := strings.TrimPrefix(st.next(), "data: ")
		if strings.HasPrefix(line, "{") && parse(st.t, line).Params.Seq > 0 && !strings.Contains(line, `"method":"stream/`) {
			lines = append(lines, line)
		}
	}
	return lines
}

func TestSummariesOnEveryWayToSubscribe(t *testing.T) {
	for name, tail := range map[string]int{"from the tail": 0, "from the log": 1} {
		t.Run(name, func(t *testing.T) {
			r := newRigWith(t, newMemory(tail))
			want := worked(r)
			subscribed := r.open("POST", "/rpc/stream?thread_id=nobody")
			subscribed.send(request("1", "stream/subscribe", `{"after_seq":0,"content":"summary"}`))
			all := map[string]*stream{
				"GET": r.open("GET", "/rpc/stream?content=summary&after_seq=0"), "POST": r.open("POST", "/rpc/stream?content=summary&after_seq=0"),
				"SSE": r.open("GET", "/events?content=summary&after_seq=0"), "subscribe": subscribed,
				"of a thread": r.open("GET", "/rpc/stream?content=summary&after_seq=0&thread_id=t"),
				"collapsed":   r.open("GET", "/rpc/stream?content=summary&after_seq=0&collapse=superseded&method=thread/*&method=turn/*&method=item/*"),
			}
			for way, st := range all {
				if got := st.frames(len(want)); !slices.Equal(got, want) {
					t.Errorf("%s: %.2000s\nwant %.2000s", way, got, want)
				}
			}
			whole := r.open("GET", "/rpc/stream?after_seq=0")
			for i, line := range whole.frames(7) {
				if line+"\n" != string(r.memory.events[i].AppendFrame(nil)) {
					t.Errorf("another stream is not whole: %.300s", line)
				}
			}
		})
	}
}

func TestEventListOfSummaries(t *testing.T) {
	r := newRig(t)
	want := worked(r)
	_, answer := r.post(request("1", "event/list", `{"after_seq":0,"content":"summary","thread_id":"t"}`))
	var p struct {
		Events []struct {
			Method string
			Params json.RawMessage
		}
		Next int64 `json:"next_after_seq"`
	}
	if err := json.Unmarshal(parse(t, answer).Result, &p); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range p.Events {
		got = append(got, fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, e.Method, e.Params))
	}
	if !slices.Equal(got, want) || p.Next != 7 {
		t.Errorf("%.2000s\nwant %.2000s, next %d", got, want, p.Next)
	}
}

// A subscriber that asks for less is answered after the same events, and its position
// passes the deltas.
func TestHeartbeatsAndAnswersOfSummaries(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Limits.HeartbeatSeconds = 0.05 })
	st := r.open("POST", "/rpc/stream?content=summary")
	st.expect(notify.StreamOpened)
	for range 3 {
		r.memory.append(t, draft(notify.ItemDelta, "t", &items.Delta{Type: "delta"}))
	}
	for m := st.message(); m.Method != notify.StreamHeartbeat || m.Params.Seq != 3; m = st.message() {
		if m.Method != notify.StreamHeartbeat || m.Params.Seq > 3 {
			t.Fatalf("%+v", m)
		}
	}
	st.send(request("1", "stream/unsubscribe", `{}`))
	if m := st.expect("#1"); !strings.Contains(string(m.Result), `"after_seq":3`) {
		t.Errorf("%s", m.Result)
	}
}

func TestContentThatIsNoneIsRefused(t *testing.T) {
	r := newRig(t)
	for _, query := range []string{"content=all", "content=", "content=summary&content=summary", "content=Summary"} {
		for _, path := range []string{"/rpc/stream?", "/events?"} {
			resp, err := r.client.Get(r.url + path + query)
			if err != nil {
				t.Fatal(err)
			}
			var m message
			err = json.NewDecoder(resp.Body).Decode(&m)
			resp.Body.Close()
			if err != nil || resp.StatusCode != 400 || m.Error == nil || m.Error.Data.Kind != api.KindInvalidParams || m.Error.Data.Field != "content" {
				t.Errorf("%s%s: %d %+v %v", path, query, resp.StatusCode, m.Error, err)
			}
		}
	}
	for method, rest := range map[string]string{"event/list": `"after_seq":0,`, "stream/subscribe": ``} {
		for _, value := range []string{`"all"`, `true`} {
			st := r.open("POST", "/rpc/stream?method=none/none")
			st.expect(notify.StreamOpened)
			st.send(request("1", method, `{`+rest+`"content":`+value+`}`))
			if m := st.expect("#1"); m.Error == nil || m.Error.Code != -32602 || m.Error.Data.Field != "content" {
				t.Errorf("%s of %s: %+v", method, value, m.Error)
			}
		}
	}
}

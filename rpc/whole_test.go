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
)

// say writes an item of a thread: whole it has 4 events, in summaries 2.
func say(r *rig, thread string) {
	content, _ := items.Encode(items.ToolCall{Type: items.KindToolCall, Title: "Run the tests", Output: strings.Repeat("o", 3000)})
	id := fmt.Sprint("item_", r.memory.tail.Head())
	r.memory.append(r.t,
		draft(notify.ItemCreated, thread, &items.Created{ItemID: id, Type: "created", Status: items.StatusInProgress, Content: content}),
		draft(notify.ItemDelta, thread, &items.Delta{ItemID: id, Type: "delta", Delta: items.DeltaText{Text: "o"}}))
	r.memory.append(r.t,
		draft(notify.ItemDelta, thread, &items.Delta{ItemID: id, Type: "delta", Delta: items.DeltaText{Text: "o"}}),
		draft(notify.ItemUpdated, thread, &items.Updated{ItemID: id, Type: "updated", Status: items.StatusCompleted, Content: content}))
}

// sentWhole are the frames of a stream of summaries after a seq with these threads
// whole.
func (r *rig) sentWhole(after int64, whole ...string) (want []string) {
	for _, e := range r.memory.events[after:] {
		if !slices.Contains(whole, e.ThreadID) {
			if e.Method == notify.ItemDelta {
				continue
			}
			e.Params = notify.AppendSummary(nil, e.Method, e.Params)
		}
		want = append(want, strings.TrimSuffix(string(e.AppendFrame(nil)), "\n"))
	}
	return want
}

// toHead reads the events up to the newest one, which every summary has.
func (st *stream) toHead(r *rig) (lines []string) {
	for {
		line := strings.TrimPrefix(st.next(), "data: ")
		if !strings.HasPrefix(line, "{") || strings.Contains(line, `"method":"stream/`) {
			continue
		}
		m := parse(st.t, line)
		if m.Params.Seq > 0 {
			lines = append(lines, line)
		}
		if m.Error != nil || m.Params.Seq >= r.memory.tail.Head() {
			return lines
		}
	}
}

func TestWholeThreadsOnEveryWayToSubscribe(t *testing.T) {
	for name, tail := range map[string]int{"from the tail": 0, "from the log": 1} {
		t.Run(name, func(t *testing.T) {
			r := newRigWith(t, newMemory(tail))
			for _, id := range []string{"a", "b", "c", "a"} {
				say(r, id)
			}
			r.note("")
			subscribed := r.open("POST", "/rpc/stream?thread_id=nobody")
			subscribed.send(request("1", "stream/subscribe", `{"after_seq":0,"content":"summary","whole_thread_ids":["a"]}`))
			type way struct {
				st    *stream
				whole []string
			}
			const q = "content=summary&after_seq=0&whole_thread_id="
			all := map[string]way{
				"GET": {r.open("GET", "/rpc/stream?"+q+"a"), []string{"a"}}, "POST": {r.open("POST", "/rpc/stream?"+q+"b"), []string{"b"}},
				"SSE": {r.open("GET", "/events?"+q+"c"), []string{"c"}}, "subscribe": {subscribed, []string{"a"}},
				"twice the same":      {r.open("GET", "/rpc/stream?"+q+"b&whole_thread_id=b"), []string{"b"}},
				"one that is to come": {r.open("GET", "/rpc/stream?"+q+"later&whole_thread_id=c"), []string{"later", "c"}},
				"collapsed":           {r.open("GET", "/rpc/stream?"+q+"a&collapse=superseded"), []string{"a"}},
			}
			for way, w := range all {
				want := r.sentWhole(0, w.whole...)
				if got := w.st.toHead(r); !slices.Equal(got, want) {
					t.Errorf("%s: %.2000s\nwant %.2000s", way, got, want)
				}
			}
			from := r.memory.tail.Head()
			for _, id := range []string{"b", "later", "a"} {
				say(r, id)
			}
			for way, w := range all {
				want := r.sentWhole(from, w.whole...)
				if got := w.st.toHead(r); !slices.Equal(got, want) {
					t.Errorf("live on %s: %.2000s\nwant %.2000s", way, got, want)
				}
			}
		})
	}
}

// A new subscription has whole threads of its own, and continues where the old one was.
func TestANewSubscriptionHasOtherWholeThreads(t *testing.T) {
	r := newRig(t)
	st := r.open("POST", "/rpc/stream?after_seq=0&content=summary&whole_thread_id=a")
	st.expect(notify.StreamOpened)
	whole := []string{"a"}
	for _, next := range []string{"b", "", "a"} {
		from := r.memory.tail.Head()
		say(r, "a")
		say(r, "b")
		want := r.sentWhole(from, whole...)
		if got := st.toHead(r); !slices.Equal(got, want) {
			t.Errorf("whole %s: %.2000s\nwant %.2000s", whole, got, want)
		}
		params := fmt.Sprintf(`{"after_seq":%d,"content":"summary"}`, r.memory.tail.Head())
		if whole = nil; next != "" {
			whole = []string{next}
			params = fmt.Sprintf(`{"after_seq":%d,"content":"summary","whole_thread_ids":[%q]}`, r.memory.tail.Head(), next)
		}
		st.send(request("1", "stream/subscribe", params))
		st.expect("#1")
	}
}

func TestEventListOfWholeThreads(t *testing.T) {
	r := newRig(t)
	say(r, "a")
	say(r, "b")
	_, answer := r.post(request("1", "event/list", `{"after_seq":0,"content":"summary","whole_thread_ids":["b","b","nobody"]}`))
	var p struct {
		Events []struct {
			Method string
			Params json.RawMessage
		}
	}
	if err := json.Unmarshal(parse(t, answer).Result, &p); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range p.Events {
		got = append(got, fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, e.Method, e.Params))
	}
	if want := r.sentWhole(0, "b"); !slices.Equal(got, want) {
		t.Errorf("%.2000s\nwant %.2000s", got, want)
	}
}

func TestBadWholeThreadsAreRefused(t *testing.T) {
	r := newRig(t)
	const q = "content=summary&whole_thread_id="
	for _, c := range []struct{ query, field, reason string }{
		{"whole_thread_id=t", "whole_thread_id", "not_summary"},
		{"whole_thread_id=t&collapse=superseded&thread_id=t", "whole_thread_id", "not_summary"},
		{q, "whole_thread_id[0]", "malformed"},
		{q + "t&whole_thread_id=" + strings.Repeat("x", 129), "whole_thread_id[1]", "malformed"},
		{q + "t" + strings.Repeat("&whole_thread_id=t", 100), "whole_thread_id", "too_many"},
		{"content=summary&whole_thread_ids=t", "whole_thread_ids", "unknown_field"},
	} {
		for _, path := range []string{"/rpc/stream?", "/events?"} {
			resp, err := r.client.Get(r.url + path + c.query)
			if err != nil {
				t.Fatal(err)
			}
			var m message
			err = json.NewDecoder(resp.Body).Decode(&m)
			resp.Body.Close()
			if err != nil || m.Error == nil {
				t.Errorf("%s%.60s: %d, %v", path, c.query, resp.StatusCode, err)
				continue
			}
			if got := fmt.Sprint(resp.StatusCode, m.Error.Data.Kind, m.Error.Data.Field, m.Error.Data.Reason); got != fmt.Sprint(400, api.KindInvalidParams, c.field, c.reason) {
				t.Errorf("%s%.60s: %s", path, c.query, got)
			}
			if !strings.HasPrefix(m.Error.Message, c.field+": ") && c.reason == "not_summary" {
				t.Errorf("the message is %s", m.Error.Message)
			}
		}
	}
}

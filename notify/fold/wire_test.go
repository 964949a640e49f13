package fold

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/notify"
)

// encode returns the event's params as a server sends them.
func encode(e *Event) []byte {
	return params(e, true)
}

// params encodes an event with or without the members that came with attempts.
func params(e *Event, attempts bool) []byte {
	p := map[string]any{"seq": e.Seq, "thread_id": e.ThreadID, "timestamp": "2026-11-21T10:00:00.000Z", "unheard_of": []int{1}}
	set := func(name string, v any, there bool) {
		if there {
			p[name] = v
		}
	}
	b := &e.Body
	set("turn_id", e.TurnID, e.TurnID != "")
	set("item_id", e.ItemID, e.ItemID != "")
	set("attempt", e.Attempt, e.Attempt > 0)
	set("status", b.Status, b.Status != "")
	set("content", b.Content, b.Content != nil)
	set("state", b.State, b.State != "")
	set("message", b.Message, b.Message != "")
	set("origin", b.Origin, b.Origin != "")
	set("reason", b.Reason, b.Reason != "")
	if e.Method == notify.ItemDelta {
		p["delta"], p["offset"] = map[string]string{"text": b.Text}, b.Offset
	}
	if attempts {
		set("step", e.Step, len(e.Lineage) > 0 || e.Method == notify.StreamRewind || e.Method == notify.TurnLate)
		set("epoch", e.Epoch, e.Epoch > 0)
		set("lineage", e.Lineage, len(e.Lineage) > 0)
		set("new_epoch", b.NewEpoch, b.NewEpoch > 0)
		set("superseded_after_seq", b.After, e.Method == notify.StreamRewind)
	}
	raw, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	return raw
}

// oldClient knows only the methods and members from before attempts.
func oldClient(log []jsontext.Value, methods []string) (map[string]look, error) {
	out := map[string]look{}
	for i, raw := range log {
		var p struct {
			TurnID string `json:"turn_id"`
			ItemID string `json:"item_id"`
			Status string `json:"status"`
			State  string `json:"state"`
			Offset int64  `json:"offset"`
			Delta  struct {
				Text string `json:"text"`
			} `json:"delta"`
		}
		if err := json.Unmarshal(raw, &p); err != nil {
			return nil, err
		}
		l := out[p.ItemID]
		switch methods[i] {
		case notify.ItemCreated, notify.ItemUpdated, notify.ItemDeleted:
			l.state = p.Status
			out[p.ItemID] = l
		case notify.ItemDelta:
			if p.Offset != int64(len(l.text)) {
				return nil, fmt.Errorf("item %s: text at %d after %d bytes", p.ItemID, p.Offset, len(l.text))
			}
			l.text += p.Delta.Text
			out[p.ItemID] = l
		case notify.TurnQueued, notify.TurnStarted, notify.TurnFailed:
			out[p.TurnID] = look{state: p.State}
		}
	}
	return out, nil
}

func TestClientThatIgnoresTheNewFieldsSeesWhatItSawBefore(t *testing.T) {
	for seed := range uint64(500) {
		w := newWorld(rand.New(rand.NewPCG(seed, 9)), nothing)
		for range 40 {
			w.step()
		}
		var now, before []jsontext.Value
		var nowMethods, beforeMethods []string
		view := New(Options{})
		for i := range w.log {
			x := &w.log[i]
			view.Apply(&x.e)
			now, nowMethods = append(now, encode(&x.e)), append(nowMethods, x.e.Method)
			if !x.mark && !x.late && !strings.HasPrefix(x.e.Method, "step/") {
				before, beforeMethods = append(before, params(&x.e, false)), append(beforeMethods, x.e.Method)
			}
		}
		got, err := oldClient(now, nowMethods)
		if err != nil {
			t.Fatalf("case %d: %v", seed, err)
		}
		want, err := oldClient(before, beforeMethods)
		if err != nil {
			t.Fatalf("case %d: %v", seed, err)
		}
		if !maps.Equal(got, want) {
			t.Fatalf("case %d: it sees %v, and saw %v", seed, got, want)
		}
		if !w.calm {
			continue
		}
		view.Turns(func(turn *Turn) bool {
			if got[turn.TurnID].state != turn.State {
				t.Errorf("case %d: without a retry it sees %v, the view has %s", seed, got[turn.TurnID], turn.State)
			}
			for _, it := range turn.Items() {
				text, _ := it.Text()
				if got[it.ItemID] != (look{state: it.Status, text: text}) {
					t.Errorf("case %d: item %s: it sees %v, the view has %s %q", seed, it.ItemID, got[it.ItemID], it.Status, text)
				}
			}
			return true
		})
	}
}

func TestParseToleratesWhatItDoesNotKnow(t *testing.T) {
	for method, text := range map[string]string{
		"item/sparkled": `{"seq":3,"turn_id":"t","lineage":[{"step":"","epoch":2,"host":"a"}],"status":{"a":1},"content":7}`,
		"turn/started":  `{"seq":3,"turn_id":"t","state":"resting","lineage":[{"step":"","epoch":2}],"seq_of_what":[]}`,
		"item/created":  `{"seq":3,"turn_id":"t","item_id":"i","status":"glowing","content":"just text","lineage":[{"step":"","epoch":2}]}`,
		"item/updated":  `{"seq":3,"seq":3,"turn_id":"t","item_id":"i","content":{"type":"reasoning","text":{}},"lineage":[{"step":"","epoch":2}]}`,
	} {
		e, err := Parse(method, []byte(text))
		if err != nil {
			t.Errorf("%s: %v", method, err)
			continue
		}
		v := New(Options{})
		if c := v.Apply(&e); c.Kind != Joined || v.Cursor() != 3 {
			t.Errorf("%s: %v, cursor %d", method, c.Kind, v.Cursor())
		}
		if c := v.Apply(&Event{Seq: 4, Method: notify.StreamRewind, TurnID: "t", Body: Body{NewEpoch: 3}}); len(c.Superseded) != 1 {
			t.Errorf("%s: a marker does not supersede it", method)
		}
	}
	if e, err := Parse("stream/rewind", []byte(`{"seq":9,"turn_id":"t","step":"a/b","new_epoch":4,"superseded_after_seq":5,"reason":"lease"}`)); err != nil {
		t.Error(err)
	} else if m, ok := MarkerOf(&e); !ok || m != (Marker{Seq: 9, TurnID: "t", Step: "a/b", NewEpoch: 4, After: 5, Reason: "lease"}) {
		t.Errorf("marker %+v", m)
	}
	if _, err := Parse("item/created", []byte(`{"seq":`)); err == nil {
		t.Error("params that are not JSON are accepted")
	}
}

func FuzzParse(f *testing.F) {
	f.Add("stream/rewind", []byte(`{"seq":9,"turn_id":"t","step":"a","new_epoch":4,"superseded_after_seq":5}`))
	f.Add("item/delta", []byte(`{"seq":3,"turn_id":"t","item_id":"i","delta":{"text":"x"},"offset":-4,"lineage":[{"step":"","epoch":2}]}`))
	f.Add("item/created", []byte(`{"seq":1,"turn_id":"t","item_id":"i","content":{"type":"agent_message","content":[]}}`))
	f.Fuzz(func(t *testing.T, method string, params []byte) {
		e, err := Parse(method, params)
		if err != nil {
			return
		}
		v := New(Options{KeepEnded: 1, KeepTurns: 2})
		for range 2 {
			v.Apply(&e)
			e.Seq++
			v.Apply(&Event{Seq: e.Seq + 1, Method: notify.StreamRewind, TurnID: e.TurnID, Step: e.Step, Body: Body{NewEpoch: e.Epoch + 1}})
		}
	})
}

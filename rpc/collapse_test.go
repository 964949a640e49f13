package rpc

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// tried is a turn as an engine writes it.
type tried struct {
	t       testing.TB
	memory  *memory
	thread  string
	turn    string
	attempt *notify.Span
}

// put appends an event of a try; a nil try means an event that is never
// superseded.
func (x *tried) put(method string, in *notify.Span, body any) int64 {
	d := draft(method, x.thread, body)
	d.Header.TurnID, d.Header.Seq = x.turn, notify.Provisional(0)
	if in != nil {
		d.In(in)
	}
	seq := x.memory.append(x.t, d)
	if in != nil {
		in.AssignSeqs(seq)
	}
	return seq
}

// begin starts an attempt.
func (x *tried) begin(epoch int) {
	x.attempt = notify.NewSpan(x.turn, "", epoch, nil)
	x.put(notify.TurnStarted, x.attempt, &turns.StartedEvent{Type: "started", State: turns.Active})
}

func (x *tried) say(n int) {
	for range n {
		x.put(notify.TurnProgress, x.attempt, &turns.ProgressEvent{Type: "progress", State: turns.Running})
	}
}

// giveUp writes the marker of the turn itself.
func (x *tried) giveUp(epoch int) int64 {
	return x.put(notify.StreamRewind, nil, &turns.RewindEvent{Type: "rewind", NewEpoch: epoch, Reason: turns.CauseCrash})
}

// retried writes 9 events into an empty memory: 1 to 3 of an attempt that
// marker 4 supersedes, a late one, and 6 to 9 of the live attempt.
func retried(r *rig) *tried {
	x := &tried{t: r.t, memory: r.memory, thread: "t", turn: "turn"}
	x.begin(1)
	x.say(2)
	x.giveUp(2)
	x.put(notify.TurnLate, nil, &turns.LateEvent{Type: "late", Epoch: 1})
	x.begin(2)
	x.say(3)
	return x
}

// seqs reads the seqs of n events of a stream.
func (st *stream) seqs(n int) (seqs []int64) {
	st.t.Helper()
	for len(seqs) < n {
		if m := st.message(); m.Method != notify.StreamHeartbeat {
			seqs = append(seqs, m.Params.Seq)
		}
	}
	return seqs
}

func TestCollapsedStreamLeavesOutSupersededEvents(t *testing.T) {
	for name, tail := range map[string]int{"from the tail": 0, "from the log": 1} {
		t.Run(name, func(t *testing.T) {
			r := newRigWith(t, newMemory(tail))
			x := retried(r)
			for query, want := range map[string][]int64{
				"after_seq=0":                     {4, 6, 7, 8, 9},
				"after_seq=2":                     {4, 6, 7, 8, 9}, // inside what is superseded
				"after_seq=4":                     {6, 7, 8, 9},
				"after_seq=0&method=turn/started": {4, 6},
				"after_seq=0&method=turn/started&thread_id=t": {4, 6},
			} {
				st := r.open("GET", "/rpc/stream?collapse=superseded&"+query)
				opened := st.next()
				if !strings.Contains(opened, `"as_of_seq":9`) {
					t.Errorf("%s: %s", query, opened)
				}
				if got := st.seqs(len(want)); !slices.Equal(got, want) {
					t.Errorf("%s: %v, want %v", query, got, want)
				}
				st.quiet()
				st.close()
			}
			// While a stream is open, the marker and the events after it come.
			live := r.open("GET", "/rpc/stream?collapse=superseded")
			live.expect(notify.StreamOpened)
			plain := r.open("GET", "/rpc/stream?after_seq=0")
			plain.expect(notify.StreamOpened)
			x.say(1)
			if got := live.seqs(1); got[0] != 10 {
				t.Errorf("live: %v", got)
			}
			x.giveUp(3)
			x.begin(3)
			if got := live.seqs(2); !slices.Equal(got, []int64{11, 12}) {
				t.Errorf("live: %v", got)
			}
			for i := range 12 {
				e := &r.memory.events[i]
				if got := plain.next() + "\n"; got != string(e.AppendFrame(nil)) {
					t.Errorf("without collapse event %d is %s", e.Seq, got)
				}
			}
			late := r.open("GET", "/rpc/stream?collapse=superseded&after_seq=5")
			late.expect(notify.StreamOpened)
			if got := late.seqs(2); !slices.Equal(got, []int64{11, 12}) {
				t.Errorf("after marker 11: %v", got)
			}
		})
	}
}

func TestCollapseOnEveryWayToSubscribe(t *testing.T) {
	r := newRig(t)
	retried(r)
	want := []int64{4, 6, 7, 8, 9}
	st := r.open("POST", "/rpc/stream")
	if opened := st.next(); strings.Contains(opened, "as_of_seq") {
		t.Errorf("not asked for: %s", opened)
	}
	st.send(request("1", "stream/subscribe", `{"after_seq":0,"collapse":"superseded"}`))
	if m := st.expect("#1"); string(m.Result) != `{"after_seq":0,"latest_seq":9,"log_id":"log-1","as_of_seq":9}` {
		t.Errorf("%s", m.Result)
	}
	if got := st.seqs(5); !slices.Equal(got, want) {
		t.Errorf("subscribed: %v", got)
	}
	st.send(request("2", "stream/subscribe", `{"after_seq":7}`))
	if m := st.expect("#2"); string(m.Result) != `{"after_seq":7,"latest_seq":9,"log_id":"log-1"}` {
		t.Errorf("%s", m.Result)
	}
	st.seqs(2)

	ev := r.open("GET", "/events?collapse=superseded", "Last-Event-ID", "0")
	if id, opened := ev.next(), ev.next(); id != "id: log-1:0" || !strings.Contains(opened, `"as_of_seq":9`) {
		t.Errorf("%s %s", id, opened)
	}
	ev.next()
	for _, seq := range want {
		id, data, _ := ev.next(), ev.next(), ev.next()
		if frame := r.memory.events[seq-1].AppendFrame(nil); id != fmt.Sprint("id: log-1:", seq) || data+"\n" != "data: "+string(frame) {
			t.Errorf("%s %s", id, data)
		}
	}
}

func TestHeartbeatTellsACollapsedStreamWhereItIs(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Limits.HeartbeatSeconds = 0.1 })
	x := retried(r)
	st := r.open("GET", "/rpc/stream?collapse=superseded")
	st.expect(notify.StreamOpened)
	for range 3 {
		x.put(notify.TurnLate, nil, &turns.LateEvent{Type: "late", Epoch: 1})
	}
	for m := st.expect(notify.StreamHeartbeat); m.Params.Seq != 12; m = st.expect(notify.StreamHeartbeat) {
		if m.Params.Seq < 9 || m.Params.Seq > 12 {
			t.Fatalf("seq %d", m.Params.Seq)
		}
	}
}

func TestEventListCollapses(t *testing.T) {
	r := newRig(t)
	retried(r)
	r.memory.scan = 2
	type page struct {
		Events       []api.ListedEvent `json:"events"`
		NextAfterSeq int64             `json:"next_after_seq"`
		HasMore      bool              `json:"has_more"`
		AsOfSeq      *int64            `json:"as_of_seq"`
	}
	list := func(params string) (p page) {
		_, answer := r.post(request("1", "event/list", params))
		if err := json.Unmarshal(parse(t, answer).Result, &p); err != nil {
			t.Fatalf("%s: %v", answer, err)
		}
		return p
	}
	var got []int64
	empty := 0
	for after, more := int64(0), true; more; {
		p := list(fmt.Sprintf(`{"after_seq":%d,"collapse":"superseded"}`, after))
		if p.AsOfSeq == nil || *p.AsOfSeq != 9 || p.NextAfterSeq <= after {
			t.Fatalf("after %d: %+v", after, p)
		}
		for _, e := range p.Events {
			got = append(got, e.Seq)
			if frame := r.memory.events[e.Seq-1]; string(e.Params) != string(frame.Params) {
				t.Errorf("event %d is %s", e.Seq, e.Params)
			}
		}
		if after, more = p.NextAfterSeq, p.HasMore; more && len(p.Events) == 0 {
			empty++
		}
	}
	if !slices.Equal(got, []int64{4, 6, 7, 8, 9}) || empty == 0 {
		t.Errorf("%v, with %d empty pages on the way", got, empty)
	}
	if p := list(`{"after_seq":0}`); p.AsOfSeq != nil || len(p.Events) != 2 {
		t.Errorf("without collapse: %+v", p)
	}
	empties := newRig(t)
	_, answer := empties.post(request("1", "event/list", `{"after_seq":0,"collapse":"superseded"}`))
	if !strings.Contains(answer, `"as_of_seq":0`) {
		t.Errorf("an empty log: %s", answer)
	}
}

func TestCollapseThatIsNoneIsRefused(t *testing.T) {
	r := newRig(t)
	for _, query := range []string{"collapse=all", "collapse=", "collapse=superseded&collapse=superseded", "collapse=true"} {
		for _, path := range []string{"/rpc/stream?", "/events?"} {
			resp, err := r.client.Get(r.url + path + query)
			if err != nil {
				t.Fatal(err)
			}
			var m message
			err = json.NewDecoder(resp.Body).Decode(&m)
			resp.Body.Close()
			if err != nil || resp.StatusCode != 400 || m.Error == nil || m.Error.Data.Kind != api.KindInvalidParams || m.Error.Data.Field != "collapse" {
				t.Errorf("%s%s: %d %+v %v", path, query, resp.StatusCode, m.Error, err)
			}
		}
	}
}

func TestReadsAskForWhatIsSuperseded(t *testing.T) {
	r := newRig(t)
	for params, want := range map[string]bool{`{}`: false, `{"include_superseded":true}`: true, `{"include_superseded":false}`: false} {
		r.post(request("1", "item/list", params))
		if r.memory.itemQuery.IncludeSuperseded != want {
			t.Errorf("item/list %s asks %+v", params, r.memory.itemQuery)
		}
	}
	_, answer := r.post(request("1", "turn/read", `{"turn_id":"tried","include_superseded":true}`))
	if q := (turns.TurnQuery{TurnID: "tried", IncludeSuperseded: true}); r.memory.turnQuery != q {
		t.Errorf("turn/read asks %+v", r.memory.turnQuery)
	}
	var p struct {
		Attempts, Steps []struct {
			Epoch        int
			Step         string
			Superseded   bool
			SupersededBy int64 `json:"superseded_by_seq"`
		}
	}
	if err := json.Unmarshal(parse(t, answer).Result, &p); err != nil {
		t.Fatal(err)
	}
	if len(p.Attempts) != 2 || !p.Attempts[0].Superseded || p.Attempts[0].SupersededBy != 4 || p.Attempts[1].Epoch != 2 || len(p.Steps) != 1 || p.Steps[0].Step != "setup" {
		t.Errorf("%s", answer)
	}
}

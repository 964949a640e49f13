package rpc

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

const hello = `{"thread_id":"t","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]}]}`

func TestEventsOfARequestComeBeforeItsResponse(t *testing.T) {
	r := newRig(t)
	st := r.open("POST", "/rpc/stream")
	st.expect("stream/opened")
	for i := range 50 {
		st.send(request(fmt.Sprint(i), "turn/start", hello))
		started := st.expect("turn/started")
		created := st.expect("item/created")
		st.expect(fmt.Sprintf("#%d", i))
		if created.Params.Seq != started.Params.Seq+1 {
			t.Fatalf("seqs %d and %d", started.Params.Seq, created.Params.Seq)
		}
	}
}

func TestPipelinedRequestsAreAnsweredInOrderWithTheirEventsFirst(t *testing.T) {
	r := newRig(t)
	st := r.open("POST", "/rpc/stream")
	st.expect("stream/opened")
	const n = 200
	var lines []string
	for i := range n {
		lines = append(lines, request(fmt.Sprint(i), "turn/start", hello))
	}
	st.send(lines...)
	seen := int64(0)
	for answered := 0; answered < n; {
		m := st.message()
		if m.Method != "" {
			seen = m.Params.Seq
			continue
		}
		if seen < int64(2*answered+2) {
			t.Fatalf("answer %s came after seq %d", m.ID, seen)
		}
		answered++
	}
}

func TestSubscribeAnswersBeforeTheFirstEventOfTheNewSubscription(t *testing.T) {
	r := newRig(t)
	for range 10 {
		r.memory.append(t, draft(notify.ThreadStarted, "t", &threads.Changed{Type: "started"}))
	}
	st := r.open("POST", "/rpc/stream")
	st.expect("stream/opened")
	st.send(request("1", "stream/subscribe", `{"after_seq":4}`))
	if got := st.expect("#1"); string(got.Result) != `{"after_seq":4,"latest_seq":10,"log_id":"log-1"}` {
		t.Fatalf("result %s", got.Result)
	}
	for seq := int64(5); seq <= 10; seq++ {
		if m := st.expect("thread/started"); m.Params.Seq != seq {
			t.Fatalf("seq %d, want %d", m.Params.Seq, seq)
		}
	}
	st.send(request("2", "stream/unsubscribe", `{}`))
	st.expect("#2")
	r.memory.append(t, draft(notify.ThreadStarted, "t", &threads.Changed{Type: "started"}))
	st.quiet()
	st.send(request("3", "stream/subscribe", `{"methods":["turn/*"]}`), request("4", "turn/start", hello))
	st.expect("#3")
	st.expect("turn/started")
	st.expect("#4")
	st.quiet()
}

func TestSubscribeAsABatchMemberAndAsANotification(t *testing.T) {
	r := newRig(t)
	r.memory.append(t, draft(notify.ThreadStarted, "t", &threads.Changed{Type: "started"}))
	st := r.open("POST", "/rpc/stream")
	st.expect("stream/opened")
	st.send("[" + request("1", "stream/subscribe", `{"after_seq":0}`) + "," + request("2", "holon/status", `{}`) + "]")
	if line := st.next(); !strings.HasPrefix(line, `[{"jsonrpc":"2.0","id":1,`) {
		t.Fatal(line)
	}
	st.expect("thread/started")
	st.send(`{"jsonrpc":"2.0","method":"stream/subscribe","params":{"after_seq":0}}`)
	st.expect("thread/started")
}

func TestInterruptWaitsWithoutDelayingOthers(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		ended := make(chan turns.InterruptResult, 1)
		r.engine.stubborn = map[string]chan turns.InterruptResult{"slow": ended}
		st := r.open("POST", "/rpc/stream")
		st.expect("stream/opened")
		st.send(request("1", "turn/interrupt", `{"turn_id":"slow"}`), request("2", "holon/status", `{}`), request("1", "holon/status", `{}`))
		var order []string
		for range 3 {
			m := st.message()
			if m.Method != "" {
				order = append(order, m.Method)
				continue
			}
			order = append(order, string(m.ID))
			if string(m.ID) == "1" && (m.Error == nil || m.Error.Data.Kind != api.KindDuplicateID) {
				t.Fatalf("the id is in flight, got %+v", m)
			}
		}
		if got := strings.Join(order, " "); got != "turn/progress 2 1" && got != "2 turn/progress 1" && got != "2 1 turn/progress" {
			t.Fatal(got)
		}
		ended <- turns.InterruptResult{TurnID: "slow", State: "interrupted", Seq: 1}
		if m := st.expect("#1"); !strings.Contains(string(m.Result), `"interrupted"`) {
			t.Fatalf("%s", m.Result)
		}
	})
}

func TestInterruptAnswersInterruptingAfterTwoSeconds(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.engine.stubborn = map[string]chan turns.InterruptResult{"slow": make(chan turns.InterruptResult)}
		began := time.Now()
		_, answer := r.post(request("1", "turn/interrupt", `{"turn_id":"slow"}`))
		if took := time.Since(began); took != api.InterruptWait {
			t.Fatalf("took %v", took)
		}
		if !strings.Contains(answer, `"state":"interrupting"`) {
			t.Fatal(answer)
		}
	})
}

func TestReadingStopsAtMaxInFlight(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		ended := make(chan turns.InterruptResult, 10)
		r.engine.stubborn = map[string]chan turns.InterruptResult{"slow": ended}
		st := r.open("POST", "/rpc/stream?method=none/none")
		st.expect("stream/opened")
		for i := range 3 {
			st.send(request(fmt.Sprint(i), "turn/interrupt", `{"turn_id":"slow"}`))
		}
		st.send(request("9", "holon/status", `{}`))
		st.quiet()
		ended <- turns.InterruptResult{State: "interrupted"}
		got := map[string]bool{string(st.message().ID): true, string(st.message().ID): true}
		if !got["9"] || len(got) != 2 {
			t.Fatalf("%v", got)
		}
		ended <- turns.InterruptResult{}
		ended <- turns.InterruptResult{}
		st.message()
		st.message()
	}, func(c *Config) { c.Limits.MaxInFlight = 3 })
}

func TestEndOfBodyAnswersWhatIsPendingAndGoesOn(t *testing.T) {
	r := newRig(t)
	st := r.open("POST", "/rpc/stream")
	st.expect("stream/opened")
	_, _ = st.in.Write([]byte(request("1", "turn/start", hello))) // no LF
	_ = st.in.Close()
	st.expect("turn/started")
	st.expect("item/created")
	st.expect("#1")
	r.memory.append(t, draft(notify.ThreadStarted, "t", &threads.Changed{Type: "started"}))
	st.expect("thread/started")
}

func TestCloseSaysGoodbyeAfterTheLastEvent(t *testing.T) {
	r := newRig(t)
	one, two := r.open("GET", "/rpc/stream"), r.open("POST", "/rpc/stream")
	one.expect("stream/opened")
	two.expect("stream/opened")
	r.memory.append(t, draft(notify.ThreadStarted, "t", &threads.Changed{Type: "started"}))
	if err := r.server.Close(t.Context(), Closing{Code: api.CloseStopping, Reason: "bye", Reconnect: true}); err != nil {
		t.Fatal(err)
	}
	for _, st := range []*stream{one, two} {
		st.expect("thread/started")
		if m := st.expect("stream/closing"); m.Params.Seq != 1 || m.Params.Code != api.CloseStopping {
			t.Fatalf("%+v", m.Params)
		}
		if line, ok := <-st.lines; ok {
			t.Fatalf("after closing: %s", line)
		}
	}
	resp, err := r.client.Get(r.url + "/rpc/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 503 {
		t.Fatalf("a new stream got %d", resp.StatusCode)
	}
}

func TestSubscribeNeverMixesTheOldAndTheNewSubscription(t *testing.T) {
	r := newRig(t)
	st := r.open("POST", "/rpc/stream")
	st.expect("stream/opened")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for range 500 { // each round below reads the log from its beginning
			select {
			case <-stop:
				return
			case <-time.After(200 * time.Microsecond):
				r.memory.append(t, draft(notify.ThreadStarted, "t", &threads.Changed{Type: "started"}))
			}
		}
	}()
	defer func() { close(stop); <-stopped }()
	last := int64(0)
	for i := range 40 {
		id := fmt.Sprint(i)
		st.send(request(id, "stream/subscribe", `{"after_seq":0}`))
		for {
			m := st.message()
			if m.Method == "" {
				break
			}
			if last > 0 && m.Params.Seq != last+1 {
				t.Fatalf("seq %d after %d, before the answer", m.Params.Seq, last)
			}
			last = m.Params.Seq
		}
		// The log has begun by now, or will in a moment.
		if m := st.expect("thread/started"); m.Params.Seq != 1 {
			t.Fatalf("the new subscription begins with %d", m.Params.Seq)
		}
		last = 1
	}
}

func TestSubscriptionWaitsForItsAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.memory.append(t, draft(notify.ThreadStarted, "t", &threads.Changed{Type: "started"}))
		ended := make(chan turns.InterruptResult, 1)
		r.engine.stubborn = map[string]chan turns.InterruptResult{"slow": ended}
		st := r.open("POST", "/rpc/stream")
		st.expect("stream/opened")
		st.send("[" + request("1", "stream/subscribe", `{"after_seq":0}`) + "," + request("2", "turn/interrupt", `{"turn_id":"slow"}`) + "]")
		st.quiet()
		ended <- turns.InterruptResult{State: "interrupted"}
		if line := st.next(); !strings.HasPrefix(line, "[") {
			t.Fatal(line)
		}
		if m := st.expect("thread/started"); m.Params.Seq != 1 {
			t.Fatalf("%+v", m.Params)
		}
	})
}

func TestUnsubscribeEndsASubscriptionWhoseAnswerIsStillToCome(t *testing.T) {
	r := newRig(t)
	r.memory.append(t, started())
	st := r.open("POST", "/rpc/stream")
	st.expect("stream/opened")
	// In a batch no answer is written before the last member has been executed.
	st.send("[" + request("1", "stream/subscribe", `{"after_seq":0}`) + "," + request("2", "stream/unsubscribe", `{}`) + "]")
	if line := st.next(); !strings.Contains(line, `"id":2,"result":{"after_seq":0,"latest_seq":1,`) {
		t.Error(line)
	}
	r.memory.append(t, started())
	st.quiet()
	st.send("[" + request("3", "stream/unsubscribe", `{}`) + "," + request("4", "stream/subscribe", `{"after_seq":1}`) + "," +
		request("5", "stream/subscribe", `{"after_seq":0}`) + "]")
	st.next()
	for seq := int64(1); seq <= 2; seq++ {
		if m := st.expect("thread/started"); m.Params.Seq != seq {
			t.Fatalf("seq %d, want %d", m.Params.Seq, seq)
		}
	}
	st.quiet()
}

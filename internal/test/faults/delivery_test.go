//go:build linux

package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// The server is killed at every write while it delivers to a receiver that fails: it
// answers 500, or resets the connection before or after it has read. Every accepted end
// and every question reaches the receiver, or a row says why not; an id never has two
// bodies, and no end counts before it is accepted.
func TestKillAtEveryWriteOfDeliveriesLosesNone(t *testing.T) {
	target := newReceiver(t)
	sweep(t, func() *session { return newDelivering(t, target) },
		func(ops []string) []int { return spread(numbers(len(ops)), either(12, len(ops))) })
}

// receiver takes webhooks. What it does with the first attempt of an id follows from
// the id. Each session has a path of its own.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	sessions int
	got      map[string]*webhooks // by path
}

// webhooks is what a session has received, by webhook-id.
type webhooks struct {
	bodies   map[string]string
	attempts map[string]int
	faults   []string // what must not happen
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{got: map[string]*webhooks{}}
	r.Server = httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) serve(w http.ResponseWriter, req *http.Request) {
	id := req.Header.Get("Webhook-Id")
	r.mu.Lock()
	in := r.got[req.URL.Path]
	in.attempts[id]++
	first := in.attempts[id] == 1
	r.mu.Unlock()
	h := fnv.New32()
	_, _ = io.WriteString(h, id[strings.Index(id, "notif:"):])
	fault := h.Sum32() % 8
	if first && fault == 0 {
		panic(http.ErrAbortHandler) // before it has read
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	r.mu.Lock()
	if before, ok := in.bodies[id]; ok && before != string(body) {
		in.faults = append(in.faults, fmt.Sprintf("%s has two bodies:\n%s\n%s", id, before, body))
	}
	in.bodies[id] = string(body)
	r.mu.Unlock()
	switch {
	case first && fault == 1:
		panic(http.ErrAbortHandler) // after it has read
	case first && fault == 2:
		w.WriteHeader(http.StatusInternalServerError)
	}
}

// newDelivering returns a session whose server delivers to the receiver.
func newDelivering(t *testing.T, target *receiver) *session {
	target.mu.Lock()
	target.sessions++
	path := fmt.Sprintf("/%d", target.sessions)
	in := &webhooks{bodies: map[string]string{}, attempts: map[string]int{}}
	target.got[path] = in
	target.mu.Unlock()
	file, err := os.CreateTemp(scratch, "bridges*.toml")
	if err == nil {
		_, err = fmt.Fprintf(file, "[bridges.hook]\nkind = \"webhook\"\nurl = %q\nallow_private = true\nsecret = %q\n", target.URL+path, sendSecret)
	}
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	c := &session{acks: map[string]reply{}, view: newView(0), folded: newFolded(), turns: -1, args: []string{"--config", file.Name()}}
	c.play = c.deliver
	c.check = func(s *server, log []string, ended bool) error {
		target.mu.Lock()
		defer target.mu.Unlock()
		if len(in.faults) > 0 {
			return errors.New(in.faults[0])
		}
		if !ended {
			return nil
		}
		return in.complete(s, log)
	}
	return c
}

// deliver is the script.
func (c *session) deliver(s *server) error {
	ids := map[string]string{}
	keyed := func(key, method string, params object) func() error {
		return func() error {
			r, err := c.do(s, key, method, params)
			ids[key] = r.TurnID
			return err
		}
	}
	later := func(key, method string, params func() object) func() error {
		return func() error { return keyed(key, method, params())() }
	}
	steps := []func() error{
		keyed("a", "thread/start", object{"thread_id": "a"}),
		keyed("b", "thread/start", object{"thread_id": "b"}),
		keyed("all", "subscription/create", object{"subscription_id": "all", "bridge_id": "hook", "on": []string{"final", "questions", "progress"}, "from": "beginning", "include_text": true}),
		keyed("one", "subscription/create", object{"subscription_id": "one", "bridge_id": "hook", "thread_id": "b", "order": "strict"}),
		keyed("a1", "turn/start", turn("a", "/say hello")),
		keyed("b1", "turn/start", turn("b", "/ask may I?")),
		func() error { return s.answer("b") },
		keyed("b2", "turn/start", turn("b", "/fail on purpose")),
		func() error { return s.ends(ids["b2"]) },
		later("retry", "turn/retry", func() object { return object{"turn_id": ids["b2"]} }),
		func() error { return s.idle(startWithin) },
		keyed("b3", "turn/start", turn("b", "/say draft").with("review", "always")),
		func() error { return s.idle(startWithin) },
		later("reject", "turn/review", func() object {
			return object{"turn_id": ids["b3"], "attempt": 1, "verdict": "rejected", "note": "/say better"}
		}),
		func() error { return s.idle(startWithin) },
		func() error { return s.approve(c) },
		keyed("pause", "bridge/pause", object{"bridge_id": "hook"}),
		keyed("a2", "turn/start", turn("a", "/say paused")),
		func() error { return s.idle(startWithin) },
		keyed("resume", "bridge/resume", object{"bridge_id": "hook"}),
		func() error { return s.delivered("all", "one") },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// answer answers the question of a thread, if one waits.
func (s *server) answer(thread string) error {
	for deadline := time.Now().Add(startWithin); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		var list struct {
			Items []struct {
				ItemID string `json:"item_id"`
			} `json:"items"`
		}
		r, err := s.call("item/list", object{"thread_id": thread, "status": "pending"})
		if err != nil {
			return err
		}
		if err := r.into(&list); err != nil {
			return err
		}
		for _, it := range list.Items {
			if _, err := s.call("item/respond", object{"item_id": it.ItemID, "kind": "allow_once"}); err != nil && kindOf(err) == "broken" {
				return err
			}
		}
		var st struct {
			Turns struct{ Queued, Active int }
		}
		if r, err = s.call("holon/status", nil); err != nil {
			return err
		}
		if err := r.into(&st); err != nil || st.Turns.Queued+st.Turns.Active == 0 {
			return err
		}
	}
	return errors.New("the turn does not end")
}

// approve approves everything that is in review.
func (s *server) approve(c *session) error {
	var list struct {
		Turns []struct {
			TurnID  string `json:"turn_id"`
			Attempt int    `json:"attempt"`
		} `json:"turns"`
	}
	r, err := s.call("turn/list", object{"review": "pending"})
	if err != nil {
		return err
	}
	if err := r.into(&list); err != nil {
		return err
	}
	for _, t := range list.Turns {
		if err := c.only(c.do(s, "approve-"+t.TurnID, "turn/review", object{"turn_id": t.TurnID, "attempt": t.Attempt, "verdict": "approved"})); err != nil {
			return err
		}
	}
	return nil
}

// delivered waits until nothing of these subscriptions is open, and they have looked
// at the whole log.
func (s *server) delivered(ids ...string) error {
	var last string
	for deadline := time.Now().Add(2 * startWithin); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		done := true
		for _, id := range ids {
			var read struct {
				LatestSeq    int64 `json:"latest_seq"`
				Subscription struct {
					State   string `json:"state"`
					Pending int    `json:"pending"`
					Cursor  struct {
						Scanned int64 `json:"scanned_seq"`
					} `json:"cursor"`
				} `json:"subscription"`
			}
			r, err := s.call("subscription/read", object{"subscription_id": id})
			if err != nil {
				return err
			}
			if err := r.into(&read); err != nil {
				return err
			}
			last = string(r.Raw)
			done = done && read.Subscription.Pending == 0 && read.Subscription.State == "active" && read.Subscription.Cursor.Scanned >= read.LatestSeq
		}
		if done {
			return nil
		}
	}
	return fmt.Errorf("not everything is delivered: %s", last)
}

// complete checks that what was chosen has arrived, or that a row says why not.
func (in *webhooks) complete(s *server, log []string) error {
	arrived := map[string]bool{}
	for id, body := range in.bodies {
		var e struct {
			DeliveryID string `json:"delivery_id"`
			Final      bool   `json:"final"`
			Seq        int64  `json:"seq"`
		}
		if err := json.Unmarshal([]byte(body), &e); err != nil {
			return err
		}
		if !strings.HasSuffix(id, ":"+e.DeliveryID) {
			return fmt.Errorf("%s carries %s", id, e.DeliveryID)
		}
		arrived[e.DeliveryID] = true
		if line := log[e.Seq-1]; e.Final && !acceptedEnd(line) {
			return fmt.Errorf("%s is final, and its event is %s", id, line)
		}
	}
	for _, sub := range []string{"all", "one"} {
		states := map[int64]string{}
		var list struct {
			Deliveries []struct {
				Seq   int64  `json:"seq"`
				State string `json:"state"`
			} `json:"deliveries"`
		}
		r, err := s.call("delivery/list", object{"subscription_id": sub, "limit": 1000})
		if err != nil {
			return err
		}
		if err := r.into(&list); err != nil {
			return err
		}
		newest := int64(0)
		for _, d := range list.Deliveries {
			states[d.Seq] = d.State
			newest = max(newest, d.Seq)
			if id := fmt.Sprintf("notif:%s:%d", sub, d.Seq); d.State == "delivered" && !arrived[id] {
				return fmt.Errorf("%s counts as delivered and has not arrived", id)
			}
		}
		for i, line := range log {
			seq, chosen := int64(i+1), acceptedEnd(line) || strings.Contains(line, `"item/created"`) && strings.Contains(line, `"status":"pending"`)
			if sub == "one" {
				chosen = acceptedEnd(line) && strings.Contains(line, `"thread_id":"b"`)
			}
			switch state := states[seq]; {
			case !chosen:
			case state == "delivered" || state == "suppressed" || state == "superseded" || state == "dead":
			case state == "" && subscribedAfter(log, sub) > seq:
			default:
				return fmt.Errorf("event %d for %s is %q: %s", seq, sub, state, line)
			}
		}
		var read struct {
			Subscription struct {
				Cursor struct {
					Last int64 `json:"last_sequence"`
				} `json:"cursor"`
			} `json:"subscription"`
		}
		if r, err = s.call("subscription/read", object{"subscription_id": sub}); err == nil {
			err = r.into(&read)
		}
		if err != nil {
			return err
		}
		if read.Subscription.Cursor.Last != newest {
			return fmt.Errorf("the cursor of %s is at %d, its newest delivery is %d", sub, read.Subscription.Cursor.Last, newest)
		}
	}
	return nil
}

// acceptedEnd reports whether a line of the log is an end that counts without a review,
// or the verdict that makes one count.
func acceptedEnd(line string) bool {
	switch methodOf(line) {
	case "turn/completed", "turn/failed", "turn/interrupted":
		return !strings.Contains(line, `"review":`)
	case "turn/reviewed":
		return !strings.Contains(line, `"continued_by":`)
	}
	return false
}

// subscribedAfter is the seq at which a subscription was created; "all" begins before.
func subscribedAfter(log []string, sub string) int64 {
	if sub == "all" {
		return 0
	}
	for i, line := range log {
		if methodOf(line) == "subscription/created" && strings.Contains(line, `"subscription_id":"`+sub+`"`) {
			return int64(i + 1)
		}
	}
	return 0
}

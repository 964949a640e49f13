//go:build linux

package faults

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"
)

// The server is killed at every write while events from outside arrive for three
// inboxes, are grouped, told to an agent and acknowledged. The sender repeats what
// was not answered, as senders of webhooks do.
func TestKillAtEveryWriteOfInboxesLosesNoItem(t *testing.T) {
	sweep(t, func() *session { return newInboxLoad(sendByIngest).session },
		func(ops []string) []int { return spread(numbers(len(ops)), either(8, len(ops))) })
}

// The same with webhooks, whose sender is told only that all is stored.
func TestKillAtEveryWriteOfWebhooksLosesNoItem(t *testing.T) {
	sweep(t, func() *session { return newHookLoad(t).session },
		func(ops []string) []int { return spread(numbers(len(ops)), either(8, len(ops))) })
}

// inboxLoad is a session that fills inboxes. It knows what was acknowledged to the
// sender, and what an answered inbox/ack has acknowledged.
type inboxLoad struct {
	*session
	send   sender
	hooked bool                       // the inboxes subscribe to webhooks
	params map[string]object          // of each key, from its first use on
	raws   map[string]json.RawMessage // the first answer to each key
	sent   map[origin]string          // the acknowledged items, with their raw_id if the sender was told
	acked  map[string]bool            // raw_ids that an answered inbox/ack has acknowledged
}

// origin identifies an item, whatever brings it.
type origin struct{ thread, source, native string }

// outside is an item as its sender has it.
type outside struct {
	native, ref, family string // without a ref it is not grouped
	immediate           bool
}

// sender brings items to an inbox. An error is a lost connection, or a promise
// that is broken. It calls c.arrived for what the server has acknowledged.
type sender func(c *inboxLoad, s *server, thread string, list []outside) error

// The threads of the load: the agent of the first is woken and acknowledges by the
// ends of its turns, the second is read and acknowledged by a client, and what
// arrives at the third waits for a flush by hand.
const (
	wokenInbox = "woken"
	readInbox  = "read"
	heldInbox  = "held"
)

const inboxSource = "outside"

func newInboxLoad(send sender) *inboxLoad {
	c := &inboxLoad{
		session: &session{acks: map[string]reply{}, view: newView(0), folded: newFolded(), turns: -1},
		send:    send, params: map[string]object{}, raws: map[string]json.RawMessage{}, sent: map[origin]string{}, acked: map[string]bool{},
	}
	c.play, c.check = c.fill, c.itemsKept
	return c
}

// hookOf is the source of the webhooks of an inbox.
func hookOf(thread string) string { return "hook-" + thread }

const hookSecret = "a-secret-of-the-sender"

// newHookLoad returns a load whose items come as webhooks, each inbox has a source.
func newHookLoad(t testing.TB) *inboxLoad {
	c := newInboxLoad(sendByPost)
	c.hooked = true
	var text string
	for _, thread := range []string{wokenInbox, readInbox, heldInbox} {
		text += fmt.Sprintf("[sources.%s]\nkind = \"webhook\"\nverify = \"bearer\"\nsecret = %q\nnative_id = \"payload.native\"\n"+
			"resource_ref = \"payload.ref\"\nevent_family = \"payload.family\"\nimmediate = \"payload.immediate\"\n", hookOf(thread), hookSecret)
	}
	file, err := os.CreateTemp(scratch, "hooks*.toml") // one for each, because others are being read
	if err == nil {
		_, err = file.WriteString(text)
	}
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	c.args = []string{"--config", file.Name()}
	return c
}

// fill is the script.
func (c *inboxLoad) fill(s *server) error {
	policy := func(window int, wake string) object {
		return object{"window_ms": window, "max_delay_ms": 2 * window, "max_items": 4, "wake": wake}
	}
	var steps []func() error
	for _, in := range []struct {
		thread string
		policy object
	}{{wokenInbox, policy(100, "idle")}, {readInbox, policy(100, "none")}, {heldInbox, policy(600_000, "none")}} {
		steps = append(steps,
			func() error { return c.keyed(s, in.thread, "thread/start", object{"thread_id": in.thread}) },
			func() error {
				return c.keyed(s, in.thread+"-policy", "inbox/configure", object{"thread_id": in.thread, "policy": in.policy})
			},
			func() error {
				if !c.hooked {
					return nil
				}
				return c.keyed(s, in.thread+"-hook", "inbox/subscribe", object{"thread_id": in.thread, "source": hookOf(in.thread)})
			})
	}
	brings := func(thread string, list ...outside) {
		steps = append(steps, func() error { return c.send(c, s, thread, list) })
	}
	a, b := "pr:1", "pr:2"
	brings(readInbox, outside{"r1", a, "reviews", false}, outside{"r2", a, "reviews", false}, outside{"r3", "", "", false}, outside{"r4", b, "reviews", false})
	brings(wokenInbox, outside{"w1", a, "comments", false}, outside{"w2", "", "", false})
	steps = append(steps,
		func() error { return c.createTimer(s) },
		func() error {
			return c.ingestKeyed(s, "k1", readInbox, outside{"k1", a, "reviews", false}, outside{"k2", "", "", false})
		},
		func() error {
			return c.ingestKeyed(s, "k2", heldInbox, outside{"h1", a, "reviews", false}, outside{"h2", b, "reviews", false})
		},
		func() error { return c.settled(s, readInbox) },
		func() error { return c.ackThrough(s, "through", readInbox) },
	)
	brings(readInbox, outside{"r5", a, "reviews", false}, outside{"r6", b, "reviews", true}, outside{"r7", a, "reviews", false})
	brings(wokenInbox, outside{"w3", a, "comments", true})
	brings(heldInbox, outside{"h3", a, "reviews", false})
	steps = append(steps,
		func() error { return c.timerFired(s) },
		func() error { return c.settled(s, readInbox) },
		func() error { return c.ackSome(s, "some", readInbox) },
		func() error { return c.keyed(s, "flush", "inbox/flush", object{"thread_id": heldInbox}) },
		func() error { return c.woken(s) },
	)
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// keyed sends a change with its key. Done again it is the same request, and must
// be answered the same, byte for byte.
func (c *inboxLoad) keyed(s *server, key, method string, params object) error {
	if c.params[key] == nil {
		c.params[key] = params.with("idempotency_key", key)
	}
	r, err := s.call(method, c.params[key])
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, key, err)
	}
	if before := c.raws[key]; before != nil && !bytes.Equal(before, r.Raw) {
		return fmt.Errorf("%s %s was answered %s, now %s", method, key, before, r.Raw)
	}
	c.raws[key], c.acks[key] = r.Raw, r
	return nil
}

func itemsOf(list []outside) (items []object) {
	for _, o := range list {
		item := object{"source": inboxSource, "native_id": o.native, "summary": "about " + o.native, "payload": object{"native": o.native}}
		if o.ref != "" {
			flush := "normal"
			if o.immediate {
				flush = "immediate"
			}
			item["grouping"] = object{"resource_ref": o.ref, "event_family": o.family, "flush": flush}
		}
		items = append(items, item)
	}
	return items
}

// ingested is the result of inbox/ingest.
type ingested struct {
	Results []struct {
		RawID     string `json:"raw_id"`
		Duplicate bool   `json:"duplicate"`
	} `json:"results"`
}

// ingestKeyed sends items with an idempotency key, which makes even the repetition
// answer duplicate: false.
func (c *inboxLoad) ingestKeyed(s *server, key, thread string, list ...outside) error {
	if err := c.keyed(s, key, "inbox/ingest", object{"thread_id": thread, "items": itemsOf(list)}); err != nil {
		return err
	}
	var got ingested
	if err := json.Unmarshal(c.raws[key], &got); err != nil {
		return err
	}
	for i, o := range list {
		if err := c.arrived(thread, inboxSource, o, got.Results[i].RawID); err != nil {
			return err
		}
	}
	return nil
}

// sendByIngest sends items without a key, as often as the script is done: all that
// were acknowledged before must be duplicates.
func sendByIngest(c *inboxLoad, s *server, thread string, list []outside) error {
	r, err := s.call("inbox/ingest", object{"thread_id": thread, "items": itemsOf(list)})
	var got ingested
	if err == nil {
		err = r.into(&got)
	}
	if err != nil {
		return fmt.Errorf("inbox/ingest into %s: %w", thread, err)
	}
	for i, o := range list {
		if _, before := c.sent[origin{thread, inboxSource, o.native}]; before && !got.Results[i].Duplicate {
			return fmt.Errorf("%s of %s was acknowledged, and is new now", o.native, thread)
		}
		if err := c.arrived(thread, inboxSource, o, got.Results[i].RawID); err != nil {
			return err
		}
	}
	return nil
}

// sendByPost sends each item as a webhook. 202 says that it is stored.
func sendByPost(c *inboxLoad, s *server, thread string, list []outside) error {
	for _, o := range list {
		body := mustJSON(object{"native": o.native, "ref": o.ref, "family": o.family, "immediate": o.immediate})
		req, err := http.NewRequest(http.MethodPost, "http://localhost/hooks/"+hookOf(thread), bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+hookSecret)
		res, err := s.client.Do(req)
		if err != nil {
			return err
		}
		_ = res.Body.Close() // the status says it all
		if res.StatusCode != http.StatusAccepted {
			return fmt.Errorf("POST /hooks/%s: %s", hookOf(thread), res.Status)
		}
		if err := c.arrived(thread, hookOf(thread), o, ""); err != nil {
			return err
		}
	}
	return nil
}

// arrived notes that the server has acknowledged an item. rawID is "" if it did
// not say.
func (c *inboxLoad) arrived(thread, source string, o outside, rawID string) error {
	id := origin{thread, source, o.native}
	if before := c.sent[id]; before != "" && rawID != before {
		return fmt.Errorf("%s was %s, now %s", id, before, rawID)
	}
	if c.sent[id] == "" {
		c.sent[id] = rawID
	}
	return nil
}

// settled waits until nothing of an inbox is pending.
func (c *inboxLoad) settled(s *server, thread string) error {
	return within(func() (bool, error) {
		p, err := s.inbox(object{"thread_id": thread})
		return p.Pending == 0, err
	}, "something of "+thread+" stays pending")
}

// createTimer creates a timer that fires soon. If its time has passed before the
// request could be repeated, and it does not exist, the client takes another time.
func (c *inboxLoad) createTimer(s *server) error {
	for {
		at := time.Now().Add(150 * time.Millisecond).UTC().Format(time.RFC3339Nano)
		err := c.keyed(s, "timer", "timer/create", object{"thread_id": readInbox, "timer_id": "once", "at": at, "text": "look"})
		if kindOf(err) != "invalid_params" || c.raws["timer"] != nil {
			return err
		}
		delete(c.params, "timer")
	}
}

// timerFired waits until the timer has fired, which ends it.
func (c *inboxLoad) timerFired(s *server) error {
	return within(func() (bool, error) {
		r, err := s.call("timer/list", object{"thread_id": readInbox})
		var list struct {
			Timers []json.RawMessage `json:"timers"`
		}
		if err == nil {
			err = r.into(&list)
		}
		return len(list.Timers) == 0, err
	}, "the timer does not fire")
}

// woken waits until the agent has been told everything, and has ended its turns.
func (c *inboxLoad) woken(s *server) error {
	err := within(func() (bool, error) {
		p, err := s.inbox(object{"thread_id": wokenInbox})
		return p.Pending+p.Unacked == 0, err
	}, "the agent does not acknowledge what it was told")
	if err == nil {
		err = s.idle(startWithin)
	}
	return err
}

func within(done func() (bool, error), otherwise string) error {
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if ok, err := done(); ok || err != nil {
			return err
		}
	}
	return fmt.Errorf("%s", otherwise)
}

// ackThrough acknowledges everything up to the newest visible entry but one.
func (c *inboxLoad) ackThrough(s *server, key, thread string) error {
	return c.ack(s, key, thread, func(list []inboxEntry) (object, []inboxEntry) {
		n := max(1, len(list)-1)
		return object{"through_entry_id": list[n-1].EntryID}, list[:n]
	})
}

// ackSome acknowledges the first visible entry, and the last.
func (c *inboxLoad) ackSome(s *server, key, thread string) error {
	return c.ack(s, key, thread, func(list []inboxEntry) (object, []inboxEntry) {
		some := []inboxEntry{list[0], list[len(list)-1]}
		return object{"entry_ids": slices.Compact([]string{some[0].EntryID, some[1].EntryID})}, some
	})
}

// ack acknowledges entries that choose selects. What they show is noted once the
// ack has been answered.
func (c *inboxLoad) ack(s *server, key, thread string, choose func([]inboxEntry) (params object, covered []inboxEntry)) error {
	params, covers := c.params[key], key+"-covers"
	if params == nil {
		p, err := s.inbox(object{"thread_id": thread})
		if err != nil {
			return err
		}
		if len(p.Entries) == 0 {
			return fmt.Errorf("there is nothing to acknowledge in %s", thread)
		}
		chosen, covered := choose(p.Entries)
		var ids []string
		for _, e := range covered {
			items, err := s.expand(thread, e.EntryID)
			if err != nil {
				return err
			}
			for _, it := range items {
				ids = append(ids, it.RawID)
			}
		}
		c.params[covers] = object{"raw_ids": ids}
		params = chosen.with("thread_id", thread)
	}
	if err := c.keyed(s, key, "inbox/ack", params); err != nil {
		return err
	}
	for _, id := range c.params[covers]["raw_ids"].([]string) {
		c.acked[id] = true
	}
	return nil
}

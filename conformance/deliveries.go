package conformance

import (
	"strings"
	"time"
)

// bridge creates a bridge that no other check uses, and which reaches nothing: bridges
// of clients must not connect to this machine. It is deleted at the end.
func (p *probe) bridge(c caller, more obj) (id string, r object) {
	id = p.nonce("bridge")
	p.later(func() { p.http().try("bridge/delete", obj{"bridge_id": id, "cascade": true}) })
	return id, p.call(c, "bridge/create", with(obj{"bridge_id": id, "kind": "webhook", "url": "https://localhost/conformance"}, more))
}

// awaits asks again and again until something holds, or the check's patience ends.
func (p *probe) awaits(holds func() bool) {
	again, end := time.NewTicker(20*time.Millisecond), time.NewTimer(p.opts.Patience)
	defer again.Stop()
	defer end.Stop()
	for !holds() {
		select {
		case <-again.C:
		case <-end.C:
			return
		}
	}
}

func deliveryChecks() []check {
	return []check{
		{id: "delivery.bridge", sentence: "A bridge is created, listed, paused, resumed and deleted, and each change is an event of the whole log.", source: srcDelivery, run: func(p *probe) {
			d := p.duplex("")
			id, created := p.bridge(d, nil)
			p.must(created.str("bridge.state") == "active" && created.str("bridge.kind") == "webhook" && created.isBool("bridge.configured") && !created.isTrue("bridge.configured"), "the bridge is %s", encode(created))
			p.mustTime(created, "the bridge", "bridge.created_at", "bridge.updated_at")
			p.must(created.num("bridge.created_seq") == created.num("seq"), "created_seq is %v, the seq %v", created.num("bridge.created_seq"), created.num("seq"))
			p.refuse(d, -32003, "conflict", "bridge/create", obj{"bridge_id": id, "kind": "ntfy"})
			updated := p.call(d, "bridge/update", obj{"bridge_id": id, "on_pause": "drop"})
			p.must(updated.str("bridge.on_pause") == "drop", "after the update it is %s", encode(updated))
			paused := p.call(d, "bridge/pause", obj{"bridge_id": id, "reason": "lunch"})
			p.must(paused.str("bridge.state") == "paused" && paused.str("bridge.reason") == "lunch", "after the pause it is %s", encode(paused))
			read := p.call(d, "bridge/read", obj{"bridge_id": id})
			p.must(read.str("bridge.state") == "paused" && read.isInt("latest_seq"), "it is read as %s", encode(read))
			resumed := p.call(d, "bridge/resume", obj{"bridge_id": id})
			p.must(resumed.str("bridge.state") == "active", "after resuming it is %s", encode(resumed))
			listed := false
			for _, b := range p.pages("bridge/list", "bridges", obj{}, 2) {
				listed = listed || b.str("bridge_id") == id
			}
			p.must(listed, "bridge/list does not have it")
			deleted := p.call(d, "bridge/delete", obj{"bridge_id": id})
			for method, r := range map[string]object{"bridge/created": created, "bridge/updated": updated, "bridge/paused": paused, "bridge/resumed": resumed, "bridge/deleted": deleted} {
				e := d.event(method, "bridge_id", id)
				p.must(e.seq() == int64(r.num("seq")) && !e.args().has("thread_id") && e.args().str("by") == "client", "%s is %s", method, clip(e.raw, 300))
			}
			for _, method := range []string{"bridge/read", "bridge/update", "bridge/pause", "bridge/resume", "bridge/test", "bridge/rotate_secret", "bridge/delete"} {
				p.refuse(d, -32002, "bridge_not_found", method, obj{"bridge_id": id})
			}
		}},
		{id: "delivery.secret", sentence: "A secret that the server makes is in the first answer only, and what is read has its last four characters.", source: srcDelivery, run: func(p *probe) {
			d := p.duplex("")
			key := p.nonce("key")
			id, first := p.bridge(d, obj{"idempotency_key": key})
			secret := first.str("secret")
			p.must(strings.HasPrefix(secret, "whsec_") && len(secret) >= 38, "the secret has %d characters", len(secret))
			again := p.call(d, "bridge/create", obj{"bridge_id": id, "kind": "webhook", "url": "https://localhost/conformance", "idempotency_key": key})
			p.must(!again.has("secret") && again.num("seq") == first.num("seq"), "the key again answers %s", encode(again))
			rotated := p.call(d, "bridge/rotate_secret", obj{"bridge_id": id})
			p.must(strings.HasPrefix(rotated.str("secret"), "whsec_") && rotated.str("secret") != secret, "the rotation makes no new secret")
			own := "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw9QZ0aGVyZQ=="
			given := p.call(d, "bridge/rotate_secret", obj{"bridge_id": id, "secret": own})
			p.must(!given.has("secret") && given.str("bridge.secret_hint") == "ZQ==", "a secret of the client's own is answered: %s", encode(given))
			events := clip(d.event("bridge/rotated", "bridge_id", id).raw, 1<<16)
			for _, r := range []object{again, given, p.call(d, "bridge/read", obj{"bridge_id": id}), p.call(d, "bridge/list", obj{"limit": 1000})} {
				events += encode(r)
			}
			for _, s := range []string{secret, rotated.str("secret"), own} {
				p.must(!strings.Contains(events, s), "a secret can be read")
			}
			f := p.refuse(d, -32602, "invalid_params", "bridge/rotate_secret", obj{"bridge_id": id, "secret": "whsec_no"})
			p.must(f.str("data.field") == "secret" && !strings.Contains(encode(f), "whsec_no"), "the error is %s", encode(f))
		}},
		{id: "delivery.address", sentence: "A bridge of a client takes https on port 443 to public addresses only, and no members of other kinds.", source: srcDelivery, run: func(p *probe) {
			for _, params := range []obj{
				{"kind": "webhook", "url": "http://example.com/"}, {"kind": "webhook", "url": "https://example.com:8443/"}, {"kind": "webhook", "url": "https://127.0.0.1/"},
				{"kind": "webhook", "url": "https://[::1]/"}, {"kind": "webhook", "url": "https://169.254.169.254/"}, {"kind": "webhook", "url": "https://10.0.0.1/"},
				{"kind": "webhook", "url": "https://user:secret@example.com/"}, {"kind": "webhook"}, {"kind": "command"}, {"kind": "github"}, {"kind": "slack"}, {},
				{"kind": "webhook", "url": "https://example.com/", "topic": "x"}, {"kind": "ntfy", "url": "https://example.com/"}, {"kind": "ntfy", "command": []string{"x"}},
				{"kind": "ntfy", "allow_private": true},
			} {
				p.refuse(p.http(), -32602, "invalid_params", "bridge/create", params)
			}
			c := p.http()
			id, _ := p.bridge(c, nil)
			r := p.call(c, "bridge/test", obj{"bridge_id": id})
			p.must(r.isBool("delivered") && !r.isTrue("delivered") && r.str("error") == "private_address" && r.isInt("latency_ms"), "a name of this machine: %s", encode(r))
		}},
		{id: "delivery.subscription", sentence: "Creating a subscription that exists elsewhere moves nothing; deleting it keeps its cursor, and creating it again goes on there.", source: srcDelivery, run: func(p *probe) {
			d := p.duplex("")
			bridge, _ := p.bridge(d, nil)
			thread := p.thread(d, nil).str("thread_id")
			id := p.nonce("sub")
			params := obj{"subscription_id": id, "bridge_id": bridge, "thread_id": thread}
			r := p.call(d, "subscription/create", params)
			s := r.obj("subscription")
			p.must(r.isTrue("created") && s.str("state") == "active" && s.num("pending") == 0 && s.num("dead") == 0 && s.str("order") == "turn", "the subscription is %s", encode(r))
			p.must(len(s.list("on")) == 1 && s.list("on")[0] == "final", "it chooses %s", encode(s.list("on")))
			cursor := s.obj("cursor")
			p.must(cursor.str("consumer_id") == "subscription:"+id && cursor.str("stream_name") == "events" && cursor.str("subject_id") == thread && cursor.num("last_sequence") == 0 && !cursor.isTrue("exists"), "its cursor is %s", encode(cursor))
			e := d.event("subscription/created", "subscription_id", id).args()
			p.must(!e.has("thread_id") && e.str("subject_thread_id") == thread && e.str("bridge_id") == bridge, "the event is %s", encode(e))
			again := p.call(d, "subscription/create", params)
			p.must(again.isBool("created") && !again.isTrue("created"), "again it is created: %s", encode(again))
			other, _ := p.bridge(d, nil)
			for _, more := range []obj{{"bridge_id": other}, {"thread_id": nil}, {"thread_id": p.thread(d, nil).str("thread_id")}} {
				f := p.refuse(d, -32003, "conflict", "subscription/create", with(params, more))
				p.must(f.str("data.reason") == "moved", "the error is %s", encode(f))
			}
			f := p.refuse(d, -32003, "conflict", "bridge/delete", obj{"bridge_id": bridge})
			p.must(f.str("data.reason") == "in_use", "the error is %s", encode(f))
			deleted := p.call(d, "subscription/delete", obj{"subscription_id": id})
			p.must(deleted.str("subscription.state") == "deleted", "after the deletion it is %s", encode(deleted))
			p.must(p.call(d, "subscription/read", obj{"subscription_id": id}).str("subscription.state") == "deleted", "a deleted one cannot be read")
			for include, want := range map[bool]int{false: 0, true: 1} {
				n := len(p.call(d, "subscription/list", obj{"bridge_id": bridge, "include_deleted": include}).list("subscriptions"))
				p.must(n == want, "with include_deleted %v there are %d", include, n)
			}
			back := p.call(d, "subscription/create", params)
			p.must(back.isTrue("created") && back.str("subscription.state") == "active", "created again it is %s", encode(back))
		}},
		{id: "delivery.target", sentence: "subscription/update with another target goes on at the same cursor, in a new generation; what was not sent yet keeps its id and is sent there.", source: srcDelivery, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			bridge, _ := p.bridge(d, nil)
			other, _ := p.bridge(d, nil)
			thread := p.echoThread(d)
			id := p.nonce("sub")
			p.call(d, "subscription/create", obj{"subscription_id": id, "bridge_id": bridge, "thread_id": thread})
			turn := p.turn(d, thread, "/say done").str("turn_id")
			end := d.event("turn/completed", "turn_id", turn).seq()
			delivery := obj{"delivery_id": "notif:" + id + ":" + itoa(end)}
			p.awaits(func() bool {
				return len(p.call(d, "delivery/list", obj{"subscription_id": id}).objs("deliveries")) == 1
			})
			before := p.call(d, "subscription/read", obj{"subscription_id": id}).obj("subscription")
			p.refuse(d, -32002, "bridge_not_found", "subscription/update", obj{"subscription_id": id, "bridge_id": p.nonce("none")})
			p.refuse(d, -32602, "invalid_params", "subscription/update", obj{"subscription_id": id, "target": obj{"topic": "x"}})
			same := p.call(d, "subscription/update", obj{"subscription_id": id, "bridge_id": bridge, "target": obj{}}).obj("subscription")
			p.must(same.num("generation") == before.num("generation"), "the same target makes %s", encode(same))
			moved := p.call(d, "subscription/update", obj{"subscription_id": id, "bridge_id": other}).obj("subscription")
			p.must(moved.str("bridge_id") == other && moved.num("generation") > before.num("generation") && moved.num("pending") == 1 && moved.num("cursor.last_sequence") == before.num("cursor.last_sequence"), "it is %s, before it was %s", encode(moved), encode(before))
			e := d.event("subscription/updated", "subscription_id", id, "bridge_id", other).args()
			p.must(e.num("generation") == moved.num("generation"), "the event is %s", encode(e))
			one := p.call(d, "delivery/read", delivery).obj("delivery")
			p.must(one.str("bridge_id") == other && one.str("state") == "pending" && int64(one.num("seq")) == end, "the delivery is %s", encode(one))
			p.call(d, "subscription/delete", obj{"subscription_id": id})
			back := p.call(d, "subscription/create", obj{"subscription_id": id, "bridge_id": bridge, "thread_id": thread})
			p.must(back.isTrue("created") && back.str("subscription.bridge_id") == bridge && back.num("subscription.pending") == 1, "created again elsewhere it is %s", encode(back))
		}},
		{id: "delivery.turn", sentence: "A subscription of one turn has ended when the turn is over and nothing is left to be sent; lists have it with include_ended.", source: srcDelivery, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			bridge, _ := p.bridge(d, nil)
			thread := p.echoThread(d)
			turn := p.turn(d, thread, "/sleep 60000").str("turn_id")
			id := p.nonce("sub")
			params := obj{"subscription_id": id, "bridge_id": bridge, "turn_id": turn, "on": []string{"questions"}}
			p.refuse(d, -32002, "turn_not_found", "subscription/create", with(params, obj{"turn_id": p.nonce("turn")}))
			p.refuse(d, -32602, "invalid_params", "subscription/create", with(params, obj{"on": []string{"inbox"}}))
			p.refuse(d, -32602, "invalid_params", "subscription/create", with(params, obj{"thread_id": p.thread(d, nil).str("thread_id")}))
			r := p.call(d, "subscription/create", params)
			p.must(r.str("subscription.turn_id") == turn && r.str("subscription.thread_id") == thread && r.str("subscription.state") == "active", "it is %s", encode(r))
			f := p.refuse(d, -32003, "conflict", "subscription/create", obj{"subscription_id": id, "bridge_id": bridge, "thread_id": thread})
			p.must(f.str("data.reason") == "moved", "the error is %s", encode(f))
			p.call(d, "turn/interrupt", obj{"turn_id": turn})
			e := d.event("subscription/ended", "subscription_id", id).args()
			p.must(e.str("state") == "ended" && e.str("subject_turn_id") == turn && e.str("by") == "server", "the event is %s", encode(e))
			read := p.call(d, "subscription/read", obj{"subscription_id": id}).obj("subscription")
			p.must(read.str("state") == "ended" && read.num("pending") == 0, "it is read as %s", encode(read))
			for include, want := range map[bool]int{false: 0, true: 1} {
				n := len(p.call(d, "subscription/list", obj{"bridge_id": bridge, "include_ended": include}).list("subscriptions"))
				p.must(n == want, "with include_ended %v there are %d", include, n)
			}
			p.call(d, "turn/retry", obj{"turn_id": turn})
			again := d.event("subscription/resumed", "subscription_id", id).args()
			p.must(again.str("state") == "active" && again.str("by") == "server", "after a retry the event is %s", encode(again))
			p.call(d, "turn/interrupt", obj{"turn_id": turn})
			d.event("subscription/ended", "subscription_id", id)
			p.call(d, "subscription/delete", obj{"subscription_id": id})
		}},
		{id: "delivery.refused", sentence: "Subscriptions and deliveries that are not there, and params that do not fit, are refused.", source: srcDelivery, run: func(p *probe) {
			c := p.http()
			bridge, _ := p.bridge(c, nil)
			none := p.nonce("none")
			p.refuse(c, -32002, "bridge_not_found", "subscription/create", obj{"bridge_id": none})
			p.refuse(c, -32002, "thread_not_found", "subscription/create", obj{"bridge_id": bridge, "thread_id": none})
			for _, more := range []obj{{"on": []string{"all"}}, {"methods": []string{"item/delta"}}, {"methods": []string{"turn/*"}}, {"order": "none"}, {"from": "then"}, {"from": -1}, {"target": obj{"topic": "x"}}, {"subscription_id": "a b"}} {
				p.refuse(c, -32602, "invalid_params", "subscription/create", with(obj{"bridge_id": bridge}, more))
			}
			f := p.refuse(c, -32005, "cursor_ahead", "subscription/create", obj{"bridge_id": bridge, "from": 1 << 52})
			p.mustHave(f, "the error", "data.first_seq", "data.latest_seq", "data.log_id")
			for _, method := range []string{"subscription/read", "subscription/update", "subscription/pause", "subscription/resume", "subscription/delete"} {
				p.refuse(c, -32002, "subscription_not_found", method, obj{"subscription_id": none})
			}
			p.refuse(c, -32002, "subscription_not_found", "subscription/reset", obj{"subscription_id": none, "to_seq": 0, "reason": "x"})
			p.refuse(c, -32002, "subscription_not_found", "subscription/skip", obj{"subscription_id": none, "reason": "x"})
			p.refuse(c, -32002, "delivery_not_found", "delivery/read", obj{"delivery_id": "notif:" + none + ":1"})
			p.refuse(c, -32002, "delivery_not_found", "delivery/redeliver", obj{"delivery_id": "notif:" + none + ":1"})
		}},
		{id: "delivery.fails", sentence: "An accepted end becomes a delivery with the seq of its event; what its attempts came to can be read, and a reset or a skip needs a reason.", source: srcDelivery, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			bridge, _ := p.bridge(d, nil)
			thread := p.echoThread(d)
			id := p.nonce("sub")
			p.call(d, "subscription/create", obj{"subscription_id": id, "bridge_id": bridge, "thread_id": thread})
			turn := p.turn(d, thread, "/say done").str("turn_id")
			end := d.event("turn/completed", "turn_id", turn).seq()
			var list []object
			p.awaits(func() bool {
				list = p.call(d, "delivery/list", obj{"subscription_id": id}).objs("deliveries")
				return len(list) == 1 && list[0].num("attempts") > 0 && list[0].has("next_attempt_at")
			})
			p.must(len(list) == 1, "there are %d deliveries of one end", len(list))
			one := list[0]
			p.must(one.str("delivery_id") == "notif:"+id+":"+itoa(end) && int64(one.num("seq")) == end && one.str("state") == "pending" && one.str("event_type") == "final" && one.str("turn_id") == turn && !one.has("tries"), "the delivery is %s", encode(one))
			read := p.call(d, "delivery/read", obj{"delivery_id": one.str("delivery_id")})
			try := read.objs("delivery.tries")
			p.must(len(try) > 0 && try[0].str("outcome") == "failed" && try[0].str("error") == "private_address" && read.isInt("latest_seq"), "it is read as %s", encode(read))
			p.mustTime(try[0], "an attempt", "at")
			s := p.call(d, "subscription/read", obj{"subscription_id": id}).obj("subscription")
			p.must(s.num("pending") == 1 && s.str("cursor.last_error") == "private_address" && s.num("cursor.last_sequence") == 0 && s.num("cursor.scanned_seq") >= float64(end), "the subscription is %s", encode(s))
			p.must(p.call(d, "cursor/read", obj{"consumer_id": "subscription:" + id, "stream_name": "events", "subject_id": thread}).str("cursor.last_error") == "private_address", "cursor/read has another cursor")

			p.refuse(d, -32602, "invalid_params", "subscription/skip", obj{"subscription_id": id})
			f := p.refuse(d, -32003, "conflict", "subscription/skip", obj{"subscription_id": id, "reason": "x"})
			p.must(f.str("data.reason") == "not_held", "the error is %s", encode(f))
			p.call(d, "subscription/pause", obj{"subscription_id": id})
			skipped := p.call(d, "subscription/skip", obj{"subscription_id": id, "reason": "nobody waits"})
			p.must(skipped.num("subscription.pending") == 0 || p.call(d, "subscription/read", obj{"subscription_id": id}).num("subscription.pending") == 0, "after the skip it is %s", encode(skipped))
			e := d.event("subscription/skipped", "subscription_id", id).args()
			p.must(e.str("reason") == "nobody waits" && int64(e.num("to_seq")) >= end, "the event is %s", encode(e))
			p.must(p.call(d, "delivery/read", obj{"delivery_id": one.str("delivery_id")}).str("delivery.state") == "suppressed", "what was skipped is not suppressed")

			p.refuse(d, -32602, "invalid_params", "subscription/reset", obj{"subscription_id": id, "to_seq": 0})
			reset := p.call(d, "subscription/reset", obj{"subscription_id": id, "to_seq": 0, "reason": "once more"})
			p.must(reset.num("subscription.generation") > s.num("generation") && reset.num("subscription.cursor.last_sequence") == 0, "after the reset it is %s", encode(reset))
			for _, method := range []string{"subscription/reset", "cursor/reset"} {
				var a object
				if method == "cursor/reset" {
					a = d.event(method, "consumer_id", "subscription:"+id).args()
				} else {
					a = d.event(method, "subscription_id", id).args()
				}
				p.must(a.str("reason") == "once more" && a.str("by") == "client", "%s is %s", method, encode(a))
			}
		}},
	}
}

package conformance

import (
	"slices"
	"strings"
	"time"
)

// soon is a policy that tries a turn again at once.
var soon = obj{"retry": obj{"on_crash": "retry", "max_attempts": 3, "backoff_seconds": 0.05}}

// later is a policy that tries a turn again when no check runs any more.
var later = obj{"retry": obj{"on_crash": "retry", "backoff_seconds": 3600, "backoff_max_seconds": 3600}}

// ends are the terminal events of a turn so far.
func ends(events []*message) (list []*message) {
	for _, m := range events {
		if isTerminal(m) {
			list = append(list, m)
		}
	}
	return list
}

// standingEnd waits for a request's answer, by which all has come that the
// turn will say, and returns the one end that stands.
func (p *probe) standingEnd(d *duplex, turn string) *message {
	p.call(d, "holon/status", nil)
	all := ends(standing(d.ofTurn(turn)))
	p.must(len(all) == 1, "%d ends of the turn stand: %s", len(all), methods(all))
	return all[0]
}

// retriedStart waits for the start of a further attempt.
func (in *inbox) retriedStart(turn string) *message {
	return in.event("turn/started", "turn_id", turn, "origin", "retry")
}

func attemptChecks() []check {
	return []check{
		{id: "attempt.order", sentence: "A crash that is tried again: the open items end, then comes the marker, the progress that waits, and turn/started with origin retry.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn := p.turn(d, p.echoThread(d), "/step a\n/crash 1\n/say better", soon).str("turn_id")
			end := d.completed(turn)
			marker := d.event("stream/rewind", "turn_id", turn)
			a := marker.args()
			p.mustHave(a, "stream/rewind", "type", "thread_id", "thread_seq", "timestamp", "step", "new_epoch", "superseded_after_seq", "reason")
			p.must(a.str("type") == "rewind" && a.str("step") == "" && a.num("new_epoch") == 2 && a.str("reason") == "agent_crash", "the marker is %s", clip(marker.raw, 300))
			p.must(!a.has("lineage"), "the marker has a lineage, and could be superseded")
			first := d.event("turn/started", "turn_id", turn)
			p.must(int64(a.num("superseded_after_seq")) < first.seq(), "superseded_after_seq is %v, the turn started at %d", a["superseded_after_seq"], first.seq())
			waiting := d.eventFrom(marker.at, "turn/progress", "turn_id", turn, "state", "waiting")
			p.mustTime(waiting.args(), "turn/progress", "retry_at")
			again := d.retriedStart(turn)
			p.must(marker.seq() < waiting.seq() && waiting.seq() < again.seq() && again.seq() < end.seq(), "the order is not marker, waiting, started, end: %s", methods(d.ofTurn(turn)))
			b := again.args()
			p.must(b.num("attempt") == 2 && b.num("epoch") == 2, "turn/started has attempt %v, epoch %v", b["attempt"], b["epoch"])
			p.mustTime(b, "turn/started", "started_at", "first_started_at")
			var before []*message
			for _, m := range d.ofTurn(turn) {
				if m.seq() < marker.seq() {
					before = append(before, m)
				}
			}
			p.mustEndItems(before)
		}},
		{id: "attempt.one_end", sentence: "Of a turn that was tried again exactly one end stands, and reads say what it says.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn := p.turn(d, p.echoThread(d), "/crash 1\n/say better", soon).str("turn_id")
			d.completed(turn)
			end := p.standingEnd(d, turn)
			p.must(end.method == "turn/completed" && end.args().num("attempt") == 2, "the end that stands is %s", clip(end.raw, 300))
			r := p.call(d, "turn/read", obj{"turn_id": turn})
			p.must(r.str("turn.state") == "completed" && r.num("turn.attempt") == 2, "turn/read says %v in attempt %v", r.str("turn.state"), r.num("turn.attempt"))
			attempts := r.objs("attempts")
			p.must(len(attempts) == 2 && attempts[0].isTrue("superseded") && !attempts[1].isTrue("superseded"), "attempts are %v", r["attempts"])
		}},
		{id: "attempt.lineage", sentence: "Events of a turn have step, epoch and lineage, the turn first and the event's own step last; messages of persons have none.", source: srcEvents, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn := p.turn(d, p.echoThread(d), "/crash 1\n/step a/b\n/say deep\n/end\n/end\n/say flat", soon).str("turn_id")
			d.completed(turn)
			said := map[string]bool{}
			for _, m := range d.ofTurn(turn) {
				a := m.args()
				refs := a.objs("lineage")
				if m.method == "stream/rewind" || m.method == "turn/queued" || a.str("content.type") == "user_message" {
					p.must(!a.has("lineage"), "this has a lineage: %s", clip(m.raw, 200))
					continue
				}
				p.must(len(refs) > 0, "this has no lineage: %s", clip(m.raw, 200))
				root, own := refs[0], refs[len(refs)-1]
				p.must(root.str("step") == "" && root.num("epoch") == a.num("attempt"), "the lineage of attempt %v begins with %v", a["attempt"], root)
				p.must(own.str("step") == a.str("step") && own.num("epoch") == a.num("epoch"), "the lineage of step %q, epoch %v ends with %v", a.str("step"), a["epoch"], own)
				for i, ref := range refs[1:] {
					above := refs[i].str("step")
					p.must(above == "" || strings.HasPrefix(ref.str("step"), above+"/"), "the lineage is %v", refs)
				}
				said[a.str("step")] = said[a.str("step")] || m.method == "item/created"
			}
			p.must(said["a/b"] && said[""], "items were made in the steps %v, want a/b and the turn", said)
		}},
		{id: "attempt.exhausted", sentence: "Out of attempts the turn fails, with the failure of the last one.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn := p.turn(d, p.echoThread(d), "/crash", obj{"retry": obj{"on_crash": "retry", "max_attempts": 2, "backoff_seconds": 0.05}}).str("turn_id")
			d.retriedStart(turn)
			m := d.await("the end of attempt 2", 0, func(m *message) bool {
				return isTerminal(m) && m.args().str("turn_id") == turn && m.args().num("attempt") == 2
			})
			p.must(m.method == "turn/failed" && m.args().str("error.kind") == "agent_failed", "it ended with %s", clip(m.raw, 300))
			p.must(p.standingEnd(d, turn) == m, "another end stands")
		}},
		{id: "attempt.no_policy", sentence: "Without a policy a crash ends the turn, and nothing is taken back.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn := p.turn(d, p.echoThread(d), "/crash 1", obj{"retry": obj{"on_crash": "interrupt"}}).str("turn_id")
			p.must(d.outcome(turn).method == "turn/failed", "it ended with %s", d.outcome(turn).method)
			p.call(d, "holon/status", nil)
			for _, m := range d.ofTurn(turn) {
				p.must(m.method != "stream/rewind", "a marker came: %s", clip(m.raw, 200))
			}
		}},
		{id: "attempt.transient", sentence: "A failure that the agent calls transient is tried again; another one is not.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			thread := p.echoThread(d)
			turn := p.turn(d, thread, "/transient 1\n/say better", soon).str("turn_id")
			d.completed(turn)
			p.must(d.event("stream/rewind", "turn_id", turn).args().str("reason") == "transient", "the reason is %q", d.event("stream/rewind", "turn_id", turn).args().str("reason"))
			turn = p.turn(d, thread, "/fail for good", soon).str("turn_id")
			p.must(d.outcome(turn).method == "turn/failed", "it ended with %s", d.outcome(turn).method)
		}},
		{id: "attempt.backoff", sentence: "While a turn waits for its next attempt it is active, holds its thread, and can be interrupted at once.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			thread := p.echoThread(d)
			turn := p.turn(d, thread, "/crash", later).str("turn_id")
			d.event("turn/progress", "turn_id", turn, "state", "waiting")
			row := p.call(d, "turn/read", obj{"turn_id": turn}).obj("turn")
			p.must(row.str("state") == "active" && row.isTime("retry_at"), "turn/read says %s", encode(obj(row)))
			p.must(p.turn(d, thread, "/say after").str("state") == "queued", "a further turn of the thread did not queue")
			began := time.Now()
			r := p.call(d, "turn/interrupt", obj{"turn_id": turn})
			p.must(r.str("state") == "interrupted", "state is %q after %s", r.str("state"), time.Since(began))
			p.must(p.standingEnd(d, turn).method == "turn/interrupted", "it ended with %s", p.standingEnd(d, turn).method)
		}},
		{id: "attempt.by_hand", sentence: "turn/retry tries a failed turn again: the marker, then turn/started; the same turn_id, the next attempt.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn := p.turn(d, p.echoThread(d), "/crash 1\n/say better").str("turn_id")
			p.must(d.outcome(turn).method == "turn/failed", "it ended with %s", d.outcome(turn).method)
			params := obj{"turn_id": turn, "reason": "once more", "idempotency_key": p.nonce("key")}
			r := p.call(d, "turn/retry", params)
			p.mustHave(r, "turn/retry", "turn_id", "thread_id", "state", "attempt", "seq")
			p.must(r.str("turn_id") == turn && r.num("attempt") == 2 && r.str("state") == "active", "turn/retry answered %s", encode(obj(r)))
			again := d.retriedStart(turn)
			p.must(d.event("stream/rewind", "turn_id", turn, "reason", "requested").seq() < again.seq(), "turn/started came before the marker")
			p.must(again.seq() <= int64(r.num("seq")), "turn/started has seq %d, the result says %v", again.seq(), r["seq"])
			d.eventFrom(again.at, "turn/completed", "turn_id", turn)
			p.must(p.standingEnd(d, turn).method == "turn/completed", "it ended with %s", p.standingEnd(d, turn).method)
			p.must(p.call(d, "turn/retry", params).num("attempt") == 2, "the same key tried it once more")
		}},
		{id: "attempt.by_hand_queued", sentence: "turn/retry of a turn whose thread is busy goes to the end of the queue.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			thread := p.echoThread(d)
			turn := p.turn(d, thread, "/fail oh").str("turn_id")
			d.outcome(turn)
			p.running(d, thread, "/sleep 20000")
			p.turn(d, thread, "/say first")
			r := p.call(d, "turn/retry", obj{"turn_id": turn})
			p.must(r.str("state") == "queued" && r.num("position") == 2, "turn/retry answered %s", encode(obj(r)))
			marker := d.event("stream/rewind", "turn_id", turn)
			p.must(d.eventFrom(marker.at, "turn/queued", "turn_id", turn).args().num("attempt") == 2, "turn/queued is not of attempt 2")
		}},
		{id: "attempt.by_hand_refused", sentence: "A turn that has completed or has not ended is a conflict, one of a closed thread thread_closed.", source: srcErrors, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			thread := p.echoThread(d)
			turn := p.turn(d, thread, "/say x").str("turn_id")
			d.completed(turn)
			f := p.refuse(d, -32003, "conflict", "turn/retry", obj{"turn_id": turn})
			p.must(f.str("data.reason") == "completed", "data.reason is %q", f.str("data.reason"))
			turn = p.running(d, thread, "/sleep 20000")
			f = p.refuse(d, -32003, "conflict", "turn/retry", obj{"turn_id": turn})
			p.must(f.str("data.reason") == "not_ended", "data.reason is %q", f.str("data.reason"))
			p.call(d, "thread/close", obj{"thread_id": thread})
			d.outcome(turn)
			p.refuse(d, -32004, "thread_closed", "turn/retry", obj{"turn_id": turn})
			p.refuse(d, -32002, "turn_not_found", "turn/retry", obj{"turn_id": "turn_00000000-0000-7000-8000-000000000000"})
		}},
		{id: "attempt.input_again", sentence: "A new attempt gets the input and every accepted steer again; their messages are of no attempt.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn := p.running(d, p.echoThread(d), "/ask May I fail?\n/transient 1", soon)
			first := d.itemOf(turn, "permission_request").str("item_id")
			p.steered(d, turn, "/say steered", nil)
			p.call(d, "item/respond", obj{"item_id": first, "kind": "allow_once"})
			again := d.retriedStart(turn)
			second := d.await("the question of attempt 2", again.at, func(m *message) bool {
				return m.method == "item/created" && m.args().str("content.type") == "permission_request"
			})
			p.call(d, "item/respond", obj{"item_id": second.args().str("item_id"), "kind": "allow_once"})
			d.completed(turn)
			var said []string
			for _, m := range standing(d.ofTurn(turn)) {
				if a := m.args(); m.method == "item/updated" && a.str("content.type") == "agent_message" {
					said = append(said, firstText(a))
				}
			}
			p.must(slices.Contains(said, "begun") && slices.Contains(said, "steered"), "the attempt that stands says %q", said)
			for _, m := range d.ofTurn(turn) {
				if m.method == "item/created" && m.args().str("content.type") == "user_message" {
					p.must(!m.args().has("lineage"), "a message of a person has a lineage: %s", clip(m.raw, 200))
				}
			}
		}},
		{id: "attempt.policy_params", sentence: "A policy that cannot be is refused, and names its member.", source: srcErrors, needs: needEcho, run: func(p *probe) {
			thread := p.echoThread(p.http())
			for field, policy := range map[string]obj{
				"retry.on_crash": {"on_crash": "again"}, "retry.max_attempts": {"max_attempts": 1000},
				"retry.backoff_seconds": {"backoff_seconds": -1}, "retry.attempts": {"attempts": 3},
			} {
				f := p.refuse(p.http(), -32602, "invalid_params", "turn/start", startParams(thread, "/say x", obj{"retry": policy}))
				p.must(f.str("data.field") == field, "data.field is %q, want %s", f.str("data.field"), field)
			}
		}},
	}
}

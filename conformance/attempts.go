package conformance

import (
	"slices"
	"strings"
)

// soon is a policy that retries a turn at once.
var soon = obj{"retry": obj{"on_crash": "retry", "max_attempts": 3, "backoff_seconds": 0.05}}

// ends returns the terminal events of a turn so far.
func ends(events []*message) (list []*message) {
	for _, m := range events {
		if isTerminal(m) {
			list = append(list, m)
		}
	}
	return list
}

// liveEnd waits for the answer of a request, after which no event of the turn
// is missing, and returns the turn's one live end.
func (p *probe) liveEnd(d *duplex, turn string) *message {
	p.call(d, "holon/status", nil)
	all := ends(liveEvents(d.ofTurn(turn)))
	p.must(len(all) == 1, "%d ends of the turn are live: %s", len(all), methodsOf(all))
	return all[0]
}

// retriedStart waits for the start of a further attempt.
func (in *received) retriedStart(turn string) *message {
	return in.event("turn/started", "turn_id", turn, "origin", "retry")
}

func attemptChecks() []check {
	return []check{
		{id: "attempt.order", sentence: "A crash that is retried: the open items end, then come the marker, the progress that waits, and turn/started with origin retry.", source: srcMethods, needs: needEcho, run: func(p *probe) {
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
			p.must(marker.seq() < waiting.seq() && waiting.seq() < again.seq() && again.seq() < end.seq(), "the order is not marker, waiting, started, end: %s", methodsOf(d.ofTurn(turn)))
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
		{id: "attempt.one_end", sentence: "A turn that was retried has exactly one live end, and reads agree with it.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn := p.turn(d, p.echoThread(d), "/crash 1\n/say better", soon).str("turn_id")
			d.completed(turn)
			end := p.liveEnd(d, turn)
			p.must(end.method == "turn/completed" && end.args().num("attempt") == 2, "the live end is %s", clip(end.raw, 300))
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
		{id: "attempt.input_again", sentence: "A new attempt gets the input and every accepted steer again; their messages belong to no attempt.", source: srcMethods, needs: needEcho, run: func(p *probe) {
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
			for _, m := range liveEvents(d.ofTurn(turn)) {
				if a := m.args(); m.method == "item/updated" && a.str("content.type") == "agent_message" {
					said = append(said, firstText(a))
				}
			}
			p.must(slices.Contains(said, "begun") && slices.Contains(said, "steered"), "the live attempt says %q", said)
			for _, m := range d.ofTurn(turn) {
				if m.method == "item/created" && m.args().str("content.type") == "user_message" {
					p.must(!m.args().has("lineage"), "a message of a person has a lineage: %s", clip(m.raw, 200))
				}
			}
		}},
	}
}

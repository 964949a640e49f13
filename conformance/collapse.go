package conformance

import (
	"bytes"
	"net/url"
	"slices"
)

// retried is a turn of the echo agent in which a step, with a step inside it,
// is retried.
type retried struct {
	thread, turn string
	from, to     int64      // seqs: all events of the thread are in (from, to]
	all          []*message // of the thread, received live, without collapse
	live         []*message // the events that collapse keeps
}

const retriedScript = "/say before\n/step a\n/say one\n/step a/b\n/say two\n/again a\n/say three"

// retry makes such a turn and waits for its end on the stream, which is
// unfiltered. from is the position at which the stream began.
func (p *probe) retry(d *duplex) *retried {
	x := &retried{from: int64(d.opened().num("latest_seq")), thread: p.echoThread(d)}
	x.turn = p.turn(d, x.thread, retriedScript).str("turn_id")
	x.to = d.completed(x.turn).seq()
	x.all = d.ofThread(x.thread)
	x.live = liveEvents(x.all)
	p.must(slices.ContainsFunc(x.all, func(m *message) bool { return m.method == "stream/rewind" }), "a step was retried, and no stream/rewind came: %s", methodsOf(x.all))
	p.must(len(x.live) < len(x.all)-2, "%d of %d events are live: the marker supersedes hardly any", len(x.live), len(x.all))
	return x
}

// liveEvents applies the rule of rewind.md: it returns the markers, and the
// events that none of them supersedes.
func liveEvents(all []*message) []*message {
	var kept []*message
	for _, m := range all {
		if m.method != "turn/late" && !slices.ContainsFunc(all, func(by *message) bool { return supersedes(by, m) }) {
			kept = append(kept, m)
		}
	}
	return kept
}

// supersedes reports whether by is a marker that supersedes the event.
func supersedes(by, m *message) bool {
	marker, e := by.args(), m.args()
	if by.method != "stream/rewind" || marker.str("turn_id") != e.str("turn_id") || m.seq() <= int64(marker.num("superseded_after_seq")) {
		return false
	}
	return slices.ContainsFunc(e.objs("lineage"), func(ref object) bool {
		return ref.str("step") == marker.str("step") && ref.num("epoch") < marker.num("new_epoch")
	})
}

// received waits for the end of the turn on a stream and returns the received
// events of the thread.
func (x *retried) received(in *received) []*message {
	in.upTo(x.to)
	return in.events(func(m *message) bool { return m.args().str("thread_id") == x.thread && m.seq() <= x.to })
}

// mustGive asserts that the stream sent exactly these events of the thread.
func (x *retried) mustGive(p *probe, in *received, want []*message) {
	p.mustEqual(in.name, x.received(in), want)
}

// mustEqual asserts that events are the same, byte for byte.
func (p *probe) mustEqual(what string, got, want []*message) {
	p.must(len(got) == len(want), "%s gave %d events, want %d: %s", what, len(got), len(want), methodsOf(got))
	for i, m := range want {
		p.must(bytes.Equal(bytes.TrimRight(got[i].raw, "\n"), bytes.TrimRight(m.raw, "\n")), "%s: event %d is %s, want %s", what, i, clip(got[i].raw, 200), clip(m.raw, 200))
	}
}

// collapsed subscribes in each way with collapse, and with a further query and
// params.
func (p *probe) collapsed(query url.Values, params obj) []*received {
	query.Set("collapse", "superseded")
	params["collapse"] = "superseded"
	q := "?" + query.Encode()
	subscribed := p.duplex("?thread_id=nobody")
	p.call(subscribed, "stream/subscribe", params)
	return []*received{p.listen(q).received, p.events(q).received, p.duplex(q).received, subscribed.received}
}

func collapseChecks() []check {
	return []check{
		{id: "collapse.off", sentence: "Without collapse superseded events come as well, in the bytes they had live.", source: srcRewind, needs: needEcho, run: func(p *probe) {
			x := p.retry(p.duplex(""))
			for _, in := range []*received{p.listen("?after_seq=" + itoa(x.from)).received, p.events("?after_seq=" + itoa(x.from)).received} {
				p.must(!in.opened().has("as_of_seq"), "%s: as_of_seq is there without collapse", in.name)
				x.mustGive(p, in, x.all)
			}
		}},
		{id: "collapse.streams", sentence: "With collapse=superseded every kind of stream leaves out what is superseded, and nothing else; the bytes are the same.", source: srcRewind, needs: needEcho, run: func(p *probe) {
			x := p.retry(p.duplex(""))
			after := itoa(x.from)
			for _, in := range p.collapsed(url.Values{"after_seq": {after}}, obj{"after_seq": x.from}) {
				x.mustGive(p, in, x.live)
			}
			for _, in := range p.collapsed(url.Values{"after_seq": {after}, "thread_id": {x.thread}}, obj{"after_seq": x.from, "thread_ids": []any{x.thread}}) {
				x.mustGive(p, in, x.live)
			}
		}},
		{id: "collapse.live", sentence: "A collapsed stream that was open all the time sends the marker and every live event; the marker supersedes the others it has sent.", source: srcRewind, needs: needEcho, run: func(p *probe) {
			live := p.listen("?collapse=superseded")
			live.opened()
			x := p.retry(p.duplex(""))
			p.mustEqual(live.name, liveEvents(x.received(live.received)), x.live)
		}},
		{id: "collapse.markers", sentence: "A method filter does not remove markers of a thread that passes, with collapse or without.", source: srcRewind, needs: needEcho, run: func(p *probe) {
			x := p.retry(p.duplex(""))
			var want []*message
			for _, m := range x.all {
				if m.method == "turn/completed" || m.method == "stream/rewind" {
					want = append(want, m)
				}
			}
			query := url.Values{"after_seq": {itoa(x.from)}, "thread_id": {x.thread}, "method": {"turn/completed"}}
			x.mustGive(p, p.listen("?"+query.Encode()).received, want)
			for _, in := range p.collapsed(query, obj{"after_seq": x.from, "thread_ids": []any{x.thread}, "methods": []any{"turn/completed"}}) {
				x.mustGive(p, in, want)
			}
		}},
		{id: "collapse.cursor", sentence: "A cursor inside a superseded part stays valid.", source: srcRewind, needs: needEcho, run: func(p *probe) {
			x := p.retry(p.duplex(""))
			for _, m := range x.all {
				if m == x.all[len(x.all)-1] || slices.Contains(x.live, m) {
					continue
				}
				l := p.listen("?collapse=superseded&after_seq=" + itoa(m.seq()))
				p.must(int64(l.opened().num("after_seq")) == m.seq(), "stream/opened says after_seq %v, asked for %d", l.opened()["after_seq"], m.seq())
				at := slices.IndexFunc(x.live, func(s *message) bool { return s.seq() > m.seq() })
				x.mustGive(p, l.received, x.live[at:])
			}
		}},
		{id: "collapse.event_list", sentence: "event/list leaves out the same; next_after_seq is the last seq that was looked at, also of an empty page.", source: srcRewind, needs: needEcho, run: func(p *probe) {
			x := p.retry(p.duplex(""))
			var got []object
			for after := x.from; after < x.to; {
				r := p.call(p.http(), "event/list", obj{"after_seq": after, "limit": 2, "thread_id": x.thread, "collapse": "superseded"})
				p.must(r.isInt("as_of_seq") && int64(r.num("as_of_seq")) >= x.to, "as_of_seq is %v, the turn ended at %d", r["as_of_seq"], x.to)
				got = append(got, r.objs("events")...)
				next := int64(r.num("next_after_seq"))
				p.must(next > after, "next_after_seq stays at %d", next)
				p.must(r.isTrue("has_more") || next >= x.to, "no more after %d, the turn ended at %d", next, x.to)
				after = next
			}
			p.must(len(got) == len(x.live), "event/list gave %d events, want %d", len(got), len(x.live))
			for i, m := range x.live {
				p.must(int64(got[i].num("seq")) == m.seq() && got[i].str("method") == m.method, "event %d is %s %v, want %s %d", i, got[i].str("method"), got[i]["seq"], m.method, m.seq())
			}
		}},
		{id: "collapse.as_of", sentence: "With collapse an answer has as_of_seq; without it has none.", source: srcRewind, needs: needEcho, run: func(p *probe) {
			x := p.retry(p.duplex(""))
			d := p.duplex("?collapse=superseded")
			for what, o := range map[string]object{
				"stream/opened": d.opened(), "stream/subscribe": p.call(d, "stream/subscribe", obj{"after_seq": x.from, "collapse": "superseded"}),
				"event/list": p.call(d, "event/list", obj{"after_seq": x.from, "collapse": "superseded"}),
			} {
				p.must(o.isInt("as_of_seq") && int64(o.num("as_of_seq")) >= x.to, "%s: as_of_seq is %v, the turn ended at %d", what, o["as_of_seq"], x.to)
			}
			for what, o := range map[string]object{
				"stream/subscribe": p.call(d, "stream/subscribe", obj{"after_seq": x.from}), "event/list": p.call(d, "event/list", obj{"after_seq": x.from}),
			} {
				p.must(!o.has("as_of_seq"), "%s: as_of_seq is there without collapse", what)
			}
		}},
		{id: "collapse.lists", sentence: "item/list shows live items; include_superseded adds the superseded ones, and says by which marker.", source: srcRewind, needs: needEcho, run: func(p *probe) {
			x := p.retry(p.duplex(""))
			var stand, all []string
			for _, m := range x.all {
				if id := m.args().str("item_id"); m.method == "item/created" {
					all = append(all, id)
					if slices.Contains(x.live, m) {
						stand = append(stand, id)
					}
				}
			}
			for _, by := range []obj{{"turn_id": x.turn}, {"thread_id": x.thread}} {
				got := p.pages("item/list", "items", by, 2)
				p.must(slices.Equal(ids(got), stand), "item/list gave %v, want %v", ids(got), stand)
				by["include_superseded"] = true
				got = p.pages("item/list", "items", by, 2)
				p.must(slices.Equal(ids(got), all), "with include_superseded item/list gave %v, want %v", ids(got), all)
				for _, it := range got {
					gone := !slices.Contains(stand, it.str("item_id"))
					p.must(it.isTrue("superseded") == gone && (it.num("superseded_by_seq") > 0) == gone, "item %s has superseded %v by %v", it.str("item_id"), it["superseded"], it["superseded_by_seq"])
				}
			}
		}},
	}
}

func ids(list []object) (ids []string) {
	for _, o := range list {
		ids = append(ids, o.str("item_id"))
	}
	return ids
}

package conformance

import (
	"net/url"
	"slices"
	"strings"
)

// filtered replays from a position with a filter, on GET /rpc/stream and with
// stream/subscribe, and compares the received events with want. An unfiltered
// stream has found want: a filtered stream may be silent at its end.
func (p *probe) filtered(from int64, query url.Values, params obj, want []*message) {
	query.Set("after_seq", itoa(from))
	params["after_seq"] = from
	l := p.listen("?" + query.Encode())
	d := p.duplex("?thread_id=nobody")
	p.call(d, "stream/subscribe", params)
	for _, in := range []*received{l.received, d.received} {
		if len(want) > 0 {
			in.upTo(want[len(want)-1].seq())
		}
		got := in.events(func(m *message) bool { return m.seq() <= p.lastSeq(want) })
		p.must(len(got) == len(want), "%s with %s gave %d events, want %d: %s", in.name, query.Encode(), len(got), len(want), methodsOf(got))
		for i := range want {
			p.must(got[i].seq() == want[i].seq() && string(got[i].params) == string(want[i].params), "%s: event %d is %s, want %s", in.name, i, clip(got[i].raw, 200), clip(want[i].raw, 200))
		}
	}
}

// lastSeq returns the seq of the last event, or 0.
func (p *probe) lastSeq(events []*message) int64 {
	if len(events) == 0 {
		return 0
	}
	return events[len(events)-1].seq()
}

func filterChecks() []check {
	return []check{
		{id: "filter.thread", sentence: "thread_id chooses the events of threads, and may be given several times.", source: srcStreams, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			from := int64(d.opened().num("latest_seq"))
			a, b := p.burst(d), p.burst(d)
			p.burst(d)
			p.filtered(from, url.Values{"thread_id": {a}}, obj{"thread_ids": []any{a}}, d.ofThread(a))
			both := d.events(func(m *message) bool {
				t := m.args().str("thread_id")
				return t == a || t == b
			})
			p.filtered(from, url.Values{"thread_id": {a, b}}, obj{"thread_ids": []any{a, b}}, both)
		}},
		{id: "filter.within", sentence: "within_thread_id chooses the events of threads and of all child threads below them, and narrows together with thread_id.", source: srcStreams, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			from := int64(d.opened().num("latest_seq"))
			owner := p.echoThread(d)
			p.burst(d)
			child := p.child(d, owner)
			below := p.child(d, child)
			for _, id := range []string{below, child} {
				d.completed(p.turn(d, id, "/say hello").str("turn_id"))
			}
			within := func(ids ...string) []*message {
				return d.events(func(m *message) bool { return slices.Contains(ids, m.args().str("thread_id")) })
			}
			p.filtered(from, url.Values{"within_thread_id": {owner}}, obj{"within_thread_ids": []any{owner}}, within(owner, child, below))
			p.filtered(from, url.Values{"within_thread_id": {child, "nobody"}}, obj{"within_thread_ids": []any{child, "nobody"}}, within(child, below))
			p.filtered(from, url.Values{"within_thread_id": {child}, "thread_id": {owner, below}}, obj{"within_thread_ids": []any{child}, "thread_ids": []any{owner, below}}, within(below))
			var listed []object
			for after, more := from, true; more; {
				r := p.call(d, "event/list", obj{"after_seq": after, "within_thread_ids": []any{child}})
				listed = append(listed, r.objs("events")...)
				after, more = int64(r.num("next_after_seq")), r.isTrue("has_more")
			}
			p.must(len(listed) == len(within(child, below)), "event/list has %d events, want %d", len(listed), len(within(child, below)))
		}},
		{id: "filter.method", sentence: "method chooses events by exact name, and may be given several times.", source: srcStreams, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			from := int64(d.opened().num("latest_seq"))
			p.burst(d)
			names := []string{"turn/started", "turn/completed"}
			want := d.events(func(m *message) bool { return slices.Contains(names, m.method) })
			p.filtered(from, url.Values{"method": names}, obj{"methods": []any{names[0], names[1]}}, want)
		}},
		{id: "filter.kind", sentence: "A method such as item/* chooses a whole kind.", source: srcStreams, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			from := int64(d.opened().num("latest_seq"))
			p.burst(d)
			want := d.events(func(m *message) bool { return strings.HasPrefix(m.method, "item/") })
			p.filtered(from, url.Values{"method": {"item/*"}}, obj{"methods": []any{"item/*"}}, want)
		}},
		{id: "filter.both", sentence: "thread_id and method narrow together.", source: srcStreams, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			from := int64(d.opened().num("latest_seq"))
			a := p.burst(d)
			p.burst(d)
			var want []*message
			for _, m := range d.ofThread(a) {
				if strings.HasPrefix(m.method, "turn/") {
					want = append(want, m)
				}
			}
			p.filtered(from, url.Values{"thread_id": {a}, "method": {"turn/*"}}, obj{"thread_ids": []any{a}, "methods": []any{"turn/*"}}, want)
		}},
		{id: "filter.live", sentence: "A filter holds for live events too.", source: srcStreams, run: func(p *probe) {
			id := p.nonce("live")
			l := p.listen("?thread_id=" + id)
			l.opened()
			other := p.thread(p.http(), nil).str("thread_id")
			p.thread(p.http(), obj{"thread_id": id})
			l.event("thread/started", "thread_id", id)
			p.must(len(l.ofThread(other)) == 0, "events of another thread came through")
		}},
		{id: "filter.control", sentence: "stream/opened is not filtered out.", source: srcStreams, run: func(p *probe) {
			p.listen("?method=turn/started&thread_id=nobody").opened()
		}},
	}
}

package conformance

import (
	"maps"
	"net/url"
	"reflect"
	"slices"
	"unicode/utf8"
)

// summaryText is how many characters a summary leaves of a title or a message.
const summaryText = 200

// worked is a thread with all that a summary cuts.
type worked struct {
	thread   string
	from, to int64      // seqs: all events of the thread are in (from, to]
	all      []*message // of the thread, received whole
}

// work makes such a thread and waits for its last event on the stream, which is whole.
func (p *probe) work(d *duplex) *worked {
	w := &worked{from: int64(d.opened().num("latest_seq"))}
	w.thread = p.thread(d, obj{"agent": "echo", "metadata": obj{"note": "no overview needs it"}}).str("thread_id")
	p.call(d, "inbox/ingest", obj{"thread_id": w.thread, "items": []any{obj{"source": "conformance", "native_id": "1", "summary": "one line", "payload": obj{"much": "more"}}}})
	turn := p.turn(d, w.thread, "/say short\n/deltas 20 30\n/ask May I?\n/items 1 5000").str("turn_id")
	p.call(d, "item/respond", obj{"item_id": d.itemOf(turn, "permission_request").str("item_id"), "kind": "allow_once"})
	w.to = d.completed(turn).seq()
	w.all = w.received(d.received)
	p.must(slices.ContainsFunc(w.all, func(m *message) bool { return m.method == "item/delta" }), "the turn has no item/delta: %s", methodsOf(w.all))
	return w
}

// received returns the events of the thread that have come on a stream.
func (w *worked) received(in *received) []*message {
	in.upTo(w.to)
	return in.events(func(m *message) bool { return m.args().str("thread_id") == w.thread && m.seq() <= w.to })
}

// paramsOf decodes the params of events.
func paramsOf(list []*message) (params []object) {
	for _, m := range list {
		params = append(params, m.args())
	}
	return params
}

// mustBeWhole asserts that what came is every event, as another stream has sent it.
func (w *worked) mustBeWhole(p *probe, what string, got []object) {
	p.must(len(got) == len(w.all), "%s gave %d events of the whole thread, want %d", what, len(got), len(w.all))
	for i, m := range w.all {
		p.must(reflect.DeepEqual(map[string]any(got[i]), map[string]any(m.args())), "%s: %s is %v, want %v", what, m.method, got[i], m.args())
	}
}

// listed returns the events of the thread in event/list of summaries, with threads that
// are whole.
func (w *worked) listed(p *probe, whole ...any) (got []object) {
	for after := w.from; after < w.to; {
		r := p.call(p.http(), "event/list", obj{"after_seq": after, "limit": 3, "thread_id": w.thread, "content": "summary", "whole_thread_ids": whole})
		for _, e := range r.objs("events") {
			if int64(e.num("seq")) <= w.to {
				got = append(got, e.obj("params"))
			}
		}
		next := int64(r.num("next_after_seq"))
		p.must(next > after, "next_after_seq stays at %d", next)
		after = next
	}
	return got
}

// mustSummarize asserts that what came is the summary of the whole events.
func (w *worked) mustSummarize(p *probe, what string, got []object) {
	whole := slices.DeleteFunc(slices.Clone(w.all), func(m *message) bool { return m.method == "item/delta" })
	p.must(len(got) == len(whole), "%s gave %d events, want %d", what, len(got), len(whole))
	for i, m := range whole {
		p.mustBeSummary(what+": "+m.method, got[i], m.args())
	}
}

// mustBeSummary compares an event with its whole.
func (p *probe) mustBeSummary(what string, got, whole object) {
	want := maps.Clone(whole)
	if content := whole.obj("content"); want.has("content") {
		short := map[string]any{"type": content["type"]}
		if title := got.obj("content")["title"]; title != nil {
			short["title"] = title
		}
		if content.isStr("title") {
			p.must(got.str("content.title") == content.str("title"), "%s: the title is %q, want %q", what, got.str("content.title"), content.str("title"))
		}
		want["content"] = short
	}
	if message := whole.str("message"); utf8.RuneCountInString(message) > summaryText {
		want["message"], want["message_truncated"] = string([]rune(message)[:summaryText]), true
	}
	if !whole.has("turn_id") {
		for _, name := range []string{"metadata", "config", "payload"} {
			delete(want, name)
		}
	}
	p.must(reflect.DeepEqual(map[string]any(got), map[string]any(want)), "%s is %v, want %v", what, got, want)
}

func contentChecks() []check {
	return []check{
		{id: "content.streams", sentence: "With content=summary every kind of stream sends the same events without deltas, contents cut to type and title, messages to 200 characters.", source: srcStreams, needs: needEcho, run: func(p *probe) {
			w := p.work(p.duplex(""))
			query := "?" + url.Values{"content": {"summary"}, "after_seq": {itoa(w.from)}}.Encode()
			subscribed := p.duplex("?thread_id=nobody")
			subscribed.summaries.Store(true)
			p.call(subscribed, "stream/subscribe", obj{"content": "summary", "after_seq": w.from})
			for _, in := range []*received{p.listen(query).received, p.events(query).received, p.duplex(query).received, subscribed.received} {
				w.mustSummarize(p, in.name, paramsOf(w.received(in)))
			}
		}},
		{id: "content.event_list", sentence: "event/list with content summary gives the same summaries; next_after_seq passes deltas.", source: srcStreams, needs: needEcho, run: func(p *probe) {
			w := p.work(p.duplex(""))
			w.mustSummarize(p, "event/list", w.listed(p))
		}},
		{id: "content.whole", sentence: "Beside content=summary whole_thread_id sends all events of a thread as they are, replayed and live, and of others still summaries.", source: srcStreams, needs: needEcho, run: func(p *probe) {
			a := p.work(p.duplex(""))
			query := "?" + url.Values{"content": {"summary"}, "whole_thread_id": {a.thread, "nobody", a.thread}, "after_seq": {itoa(a.from)}}.Encode()
			all := []*received{p.listen(query).received, p.events(query).received, p.duplex(query).received}
			subscribed := p.duplex("?thread_id=nobody")
			subscribed.summaries.Store(true)
			p.call(subscribed, "stream/subscribe", obj{"content": "summary", "whole_thread_ids": []any{a.thread}, "after_seq": a.from})
			d := p.duplex("")
			b := p.work(d) // live on all of these streams
			turn := p.turn(d, a.thread, "/deltas 5 5").str("turn_id")
			a.to = d.completed(turn).seq()
			a.all = append(a.all, a.received(d.received)...)
			for _, in := range append(all, subscribed.received) {
				a.mustBeWhole(p, in.name, paramsOf(a.received(in)))
				b.mustSummarize(p, in.name, paramsOf(b.received(in)))
			}
			a.mustBeWhole(p, "event/list", a.listed(p, "nobody", a.thread))
			b.mustSummarize(p, "event/list", b.listed(p, a.thread))
		}},
		{id: "content.live", sentence: "A live stream of summaries sends what another stream sends whole; a cursor of one continues the other.", source: srcStreams, needs: needEcho, run: func(p *probe) {
			live := p.listen("?content=summary")
			live.opened()
			w := p.work(p.duplex(""))
			w.mustSummarize(p, live.name, paramsOf(w.received(live.received)))
			half := w.all[len(w.all)/2].seq()
			rest := p.listen("?after_seq=" + itoa(half) + "&thread_id=" + w.thread)
			for _, m := range w.received(rest.received) {
				at := slices.IndexFunc(w.all, func(e *message) bool { return e.seq() == m.seq() })
				p.must(at >= 0 && string(w.all[at].params) == string(m.params), "%s: another stream has %s", m.method, clip(m.raw, 200))
			}
		}},
	}
}

package conformance

func subscribeChecks() []check {
	return []check{
		{id: "subscribe.replaces", sentence: "A new subscription replaces the old one: its response comes before its first event.", source: srcStreams, run: func(p *probe) {
			t := p.thread(p.http(), nil)
			from := int64(t.num("seq")) - 1
			d := p.duplex("")
			d.opened()
			id := d.start("stream/subscribe", obj{"after_seq": from})
			m := d.answer(id)
			p.must(m.failure == nil, "it was refused: %s", clip(m.failure, 200))
			ev := d.event("thread/started", "thread_id", t.str("thread_id"))
			p.must(ev.at > m.at, "an event of the new subscription came before its response")
			p.must(ev.seq() == from+1, "the first event has seq %d, want %d", ev.seq(), from+1)
		}},
		{id: "subscribe.own", sentence: "A subscription belongs to its connection; others keep theirs.", source: srcStreams, run: func(p *probe) {
			a, b := p.duplex(""), p.duplex("")
			a.opened()
			b.opened()
			p.call(a, "stream/unsubscribe", obj{})
			t := p.thread(p.http(), nil).str("thread_id")
			b.event("thread/started", "thread_id", t)
		}},
	}
}

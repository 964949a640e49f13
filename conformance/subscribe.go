package conformance

func subscribeChecks() []check {
	return []check{
		{id: "subscribe.result", sentence: "stream/subscribe answers after_seq, latest_seq and log_id.", source: srcStreams, run: func(p *probe) {
			d := p.duplex("")
			o := d.opened()
			from := p.oldest()
			r := p.call(d, "stream/subscribe", obj{"after_seq": from})
			p.must(r.isInt("after_seq") && int64(r.num("after_seq")) == from, "after_seq is %v", r["after_seq"])
			p.must(r.isInt("latest_seq") && r.num("latest_seq") >= o.num("latest_seq"), "latest_seq is %v", r["latest_seq"])
			p.must(r.str("log_id") == o.str("log_id") && r.str("log_id") != "", "log_id is %q", r.str("log_id"))
		}},
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
		{id: "subscribe.live", sentence: "Without after_seq the new subscription is live.", source: srcStreams, run: func(p *probe) {
			old := p.thread(p.http(), nil).str("thread_id")
			d := p.duplex("?thread_id=nobody")
			r := p.call(d, "stream/subscribe", obj{})
			p.must(r.num("after_seq") == r.num("latest_seq"), "after_seq is %v, latest_seq %v", r["after_seq"], r["latest_seq"])
			t := p.thread(p.http(), nil).str("thread_id")
			d.event("thread/started", "thread_id", t)
			p.must(len(d.ofThread(old)) == 0, "an old event came")
		}},
		{id: "subscribe.log_id", sentence: "stream/subscribe takes the log_id that goes with its cursor.", source: srcStreams, run: func(p *probe) {
			d := p.duplex("")
			p.call(d, "stream/subscribe", obj{"after_seq": p.oldest(), "log_id": d.opened().str("log_id")})
		}},
		{id: "subscribe.unsubscribe", sentence: "After stream/unsubscribe no event comes; requests are answered on.", source: srcStreams, run: func(p *probe) {
			d := p.duplex("")
			d.opened()
			p.call(d, "stream/unsubscribe", obj{})
			from := d.mark()
			t := p.thread(d, nil).str("thread_id")
			p.call(d, "holon/status", nil)
			for _, m := range d.all()[from:] {
				p.must(!m.isEvent(), "an event came: %s", clip(m.raw, 200))
			}
			p.call(d, "stream/subscribe", obj{"after_seq": p.oldest(), "thread_ids": []any{t}})
			d.event("thread/started", "thread_id", t)
		}},
		{id: "subscribe.filter_off", sentence: "A new subscription forgets the filters of the old one.", source: srcStreams, run: func(p *probe) {
			d := p.duplex("?thread_id=nobody")
			d.opened()
			p.call(d, "stream/subscribe", obj{"methods": []any{"thread/closed"}})
			p.call(d, "stream/subscribe", obj{})
			t := p.thread(p.http(), nil).str("thread_id")
			d.event("thread/started", "thread_id", t)
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

package conformance

import (
	"bytes"
	"time"
)

// burst makes a small mixed history on a new thread and returns the thread. It
// has every kind of event that does not disturb other checks.
func (p *probe) burst(d *duplex) string {
	thread := p.echoThread(d)
	p.completedTurn(d, thread)
	turn := p.turn(d, thread, "/say a\n/items 2 20\n/deltas 5 9\n/delete").str("turn_id")
	d.completed(turn)
	p.call(d, "thread/pause", obj{"thread_id": thread})
	p.call(d, "thread/resume", obj{"thread_id": thread})
	return thread
}

func streamChecks() []check {
	return []check{
		{id: "stream.opened", sentence: "The first line of every stream is stream/opened with all its fields.", source: srcStreams, run: func(p *probe) {
			for _, in := range []*received{p.listen("").received, p.listen(p.fromOldest()).received, p.duplex("").received} {
				o := in.opened()
				p.mustHave(o, in.name+": stream/opened", "log_id", "after_seq", "latest_seq", "first_seq", "protocol_version", "server", "heartbeat_seconds")
				p.must(o.isInt("after_seq") && o.isInt("latest_seq") && o.isInt("first_seq"), "%s: a seq is no integer", in.name)
				p.must(o.num("after_seq") <= o.num("latest_seq"), "%s: after_seq %v is above latest_seq %v", in.name, o["after_seq"], o["latest_seq"])
			}
		}},
		{id: "stream.opened_once", sentence: "stream/opened comes once on a stream.", source: srcStreams, run: func(p *probe) {
			d := p.duplex(p.fromOldest())
			p.call(d, "stream/subscribe", obj{})
			p.call(d, "stream/subscribe", obj{"after_seq": p.oldest()})
			p.call(d, "holon/status", nil)
			n := 0
			for _, m := range d.all() {
				if m.method == "stream/opened" {
					n++
				}
			}
			p.must(n == 1, "it came %d times", n)
		}},
		{id: "stream.live", sentence: "A stream without a cursor begins now: it gives the next event and none before.", source: srcStreams, run: func(p *probe) {
			p.thread(p.http(), nil)
			l := p.listen("")
			o := l.opened()
			p.must(o.num("after_seq") == o.num("latest_seq"), "after_seq is %v, latest_seq %v", o["after_seq"], o["latest_seq"])
			t := p.thread(p.http(), nil)
			first := l.await("an event", 0, func(m *message) bool { return m.isEvent() })
			p.must(first.seq() == int64(o.num("latest_seq"))+1, "the first event has seq %d, latest_seq was %v", first.seq(), o["latest_seq"])
			l.event("thread/started", "thread_id", t.str("thread_id"))
		}},
		{id: "stream.seq_dense", sentence: "seq is dense over the whole log: every event is one more than the one before.", source: srcStreams, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			from := d.opened().num("latest_seq")
			p.burst(d)
			head := p.call(d, "holon/status", nil).num("latest_seq")
			l := p.listen("?after_seq=" + itoa(int64(from)))
			l.upTo(int64(head))
			next := int64(from) + 1
			for _, m := range l.events(func(*message) bool { return true }) {
				p.must(m.seq() == next, "after seq %d came %d", next-1, m.seq())
				next++
			}
		}},
		{id: "stream.thread_seq_dense", sentence: "thread_seq is dense within its thread, from 1.", source: srcStreams, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			thread := p.burst(d)
			for i, m := range d.ofThread(thread) {
				p.must(m.args().num("thread_seq") == float64(i+1), "event %d of the thread has thread_seq %v", i+1, m.args()["thread_seq"])
			}
		}},
		{id: "stream.replay_same_bytes", sentence: "A replay gives the same bytes as the live stream, on every transport.", source: srcStreams, needs: needEcho, run: func(p *probe) {
			live := p.duplex("")
			from := int64(live.opened().num("latest_seq"))
			p.burst(live)
			head := int64(p.call(live, "holon/status", nil).num("latest_seq"))
			live.upTo(head)
			want := lines(live.received, from, head)
			query := "?after_seq=" + itoa(from)
			resub := p.duplex("")
			p.call(resub, "stream/subscribe", obj{"after_seq": from})
			for _, in := range []*received{p.listen(query).received, p.duplex(query).received, p.events(query).received, resub.received} {
				in.upTo(head)
				got := lines(in, from, head)
				p.must(len(got) == len(want), "%s gave %d events, live there were %d", in.name, len(got), len(want))
				for i := range want {
					p.must(bytes.Equal(got[i], want[i]), "%s: event %d is %s, live it was %s", in.name, i+1, clip(got[i], 200), clip(want[i], 200))
				}
			}
		}},
		{id: "stream.all_see_the_same", sentence: "Several live streams see the same events in the same order with the same bytes.", source: srcStreams, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			o := d.opened()
			others := []*received{p.listen("").received, p.listen("").received, p.events("").received}
			from := int64(o.num("latest_seq"))
			for _, in := range others {
				from = max(from, int64(in.opened().num("latest_seq")))
			}
			p.burst(d)
			head := int64(p.call(d, "holon/status", nil).num("latest_seq"))
			d.upTo(head)
			want := lines(d.received, from, head)
			for _, in := range others {
				in.upTo(head)
				p.must(bytes.Equal(bytes.Join(lines(in, from, head), nil), bytes.Join(want, nil)), "%s differs from the two-way stream", in.name)
			}
		}},
		{id: "stream.events_first", sentence: "On a stream that has caught up the events of a request come before its response.", source: srcStreams, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			d.opened()
			d.caughtUp()
			thread := p.echoThread(d)
			for _, c := range []struct {
				method string
				params any
			}{
				{"thread/pause", obj{"thread_id": thread}}, {"thread/resume", obj{"thread_id": thread}},
				{"turn/start", startParams(thread, "/say begun\n/sleep 20000")},
				{"turn/start", startParams(thread, "queued")}, {"thread/close", obj{"thread_id": thread}},
			} {
				m := d.try(c.method, c.params)
				p.must(m.failure == nil, "%s was refused: %s", c.method, clip(m.failure, 200))
				seq := int64(decode(m.result).num("seq"))
				d.upTo(seq)
				for _, ev := range d.events(func(ev *message) bool { return ev.seq() <= seq }) {
					p.must(ev.at < m.at, "the event %s with seq %d came after the response of %s with seq %d", ev.method, ev.seq(), c.method, seq)
				}
			}
		}},
		{id: "stream.answer_before_next", sentence: "What follows the commit of a command comes after its response: a turn that ends at once does not end before turn/start is answered.", source: srcStreams, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			d.opened()
			d.caughtUp()
			thread := p.echoThread(d)
			const turns = 20
			overtaken := 0
			for range turns {
				m := d.try("turn/start", startParams(thread, "ends at once"))
				p.must(m.failure == nil, "turn/start was refused: %s", clip(m.failure, 200))
				if d.completed(decode(m.result).str("turn_id")).at < m.at {
					overtaken++
				}
			}
			// A stream waits for 100 ms at most, so a busy machine may have an exception.
			p.must(overtaken <= turns/10, "%d of %d turns ended before turn/start was answered", overtaken, turns)
		}},
		{id: "stream.filtered_response", sentence: "A filtered stream that does not get the events of a request still gets the response.", source: srcStreams, run: func(p *probe) {
			d := p.duplex("?thread_id=" + p.nonce("nobody"))
			p.promptly(2*time.Second, "the response", func() { p.thread(d, nil) })
		}},
		{id: "stream.end_of_body", sentence: "After the end of the request body pending requests are answered and notifications continue.", source: srcFrames, run: func(p *probe) {
			d := p.duplex("")
			d.opened()
			id := d.start("holon/status", nil)
			d.body.Close()
			d.answer(id)
			t := p.thread(p.http(), nil).str("thread_id")
			d.event("thread/started", "thread_id", t)
		}},
		{id: "stream.heartbeat", sentence: "After the silence that stream/opened names a heartbeat comes; its seq is a valid cursor, also on a filtered stream.", source: srcStreams, needs: background, run: func(p *probe) {
			quiet := "?thread_id=" + p.nonce("nobody")
			began := time.Now() // the silence begins later
			l := p.listen(quiet)
			wait := time.Duration(l.opened().num("heartbeat_seconds") * float64(time.Second))
			p.must(wait > 0, "stream/opened has no heartbeat_seconds")
			if wait+5*time.Second > p.opts.Timeout {
				p.skipf("a heartbeat takes %s, the check has %s", wait, p.opts.Timeout)
			}
			m := l.find(0, wait+5*time.Second, func(m *message) bool { return m.method == "stream/heartbeat" })
			p.must(m != nil, "no heartbeat within %s", wait+5*time.Second)
			p.must(time.Since(began) > wait/2, "the heartbeat came after %s of silence, want %s", time.Since(began), wait)
			p.must(m.args().isInt("seq"), "the heartbeat has no seq: %s", clip(m.raw, 200))
			again := p.listen(quiet + "&after_seq=" + itoa(int64(m.args().num("seq"))))
			again.opened()
		}},
		{id: "stream.told_is_never_ahead", sentence: "A seq that a client has received is never ahead, not even in the moment after.", source: srcStreams, run: func(p *probe) {
			for range 10 {
				t := p.thread(p.http(), nil)
				r := p.peek(ask{verb: "GET", path: "/rpc/stream?after_seq=" + itoa(int64(t.num("seq")))})
				p.must(r.status == 200, "after_seq %v, just received, got status %d", t["seq"], r.status)
			}
		}},
	}
}

// lines returns the raw bytes of the events in (from, to], without line ends.
func lines(in *received, from, to int64) [][]byte {
	var out [][]byte
	for _, m := range in.events(func(m *message) bool { return m.seq() > from && m.seq() <= to }) {
		out = append(out, bytes.TrimRight(m.raw, "\n"))
	}
	return out
}

package conformance

import (
	"io"
	"net/url"
	"strings"
	"time"
)

// refusedCursor asserts that a stream with the query and headers is refused,
// at once and with the position of the log, on every transport.
func (p *probe) refusedCursor(status, code int, kind, query string, header ...string) {
	for _, a := range []ask{
		{verb: "GET", path: "/rpc/stream" + query, header: header}, {verb: "GET", path: "/events" + query, header: header},
		{verb: "POST", path: "/rpc/stream" + query, header: header, body: strings.NewReader("")},
	} {
		what := a.verb + " " + a.path + " " + strings.Join(header, "; ")
		r := p.peek(a)
		p.must(r.status == status, "%s got status %d, want %d", what, r.status, status)
		m, err := parseMessage([]byte(strings.TrimSpace(string(r.body))))
		p.must(err == nil, "%s: the body is no JSON-RPC message: %v", what, err)
		p.mustError(m, code, kind, what)
		f := m.fault()
		p.must(f.isInt("data.first_seq") && f.isInt("data.latest_seq") && f.str("data.log_id") != "", "%s: data lacks the position of the log: %s", what, encode(obj(f)))
	}
}

func cursorChecks() []check {
	return []check{
		{id: "cursor.zero", sentence: "after_seq=0 begins at the first event; once that has been pruned it gets 410 cursor_expired, and the oldest cursor is one below first_seq.", source: srcStreams, run: func(p *probe) {
			p.thread(p.http(), nil)
			if p.oldest() > 0 {
				p.refusedCursor(410, -32005, "cursor_expired", "?after_seq=0")
				p.refusedCursor(410, -32005, "cursor_expired", "", "Last-Event-ID: "+itoa(p.oldest()-1))
				p.refuse(p.http(), -32005, "cursor_expired", "event/list", obj{"after_seq": 0})
			}
			l := p.listen(p.fromOldest())
			first := l.await("an event", 0, func(m *message) bool { return m.isEvent() })
			p.must(first.seq() == int64(l.opened().num("first_seq")), "the first event has seq %d, first_seq is %v", first.seq(), l.opened()["first_seq"])
		}},
		{id: "cursor.after", sentence: "after_seq=N begins with the event after N.", source: srcStreams, run: func(p *probe) {
			a, b := p.thread(p.http(), nil), p.thread(p.http(), nil)
			l := p.listen("?after_seq=" + itoa(int64(a.num("seq"))))
			o := l.opened()
			p.must(o.num("after_seq") == a.num("seq"), "stream/opened says after_seq %v, asked for %v", o["after_seq"], a["seq"])
			first := l.await("an event", 0, func(m *message) bool { return m.isEvent() })
			p.must(first.seq() == int64(a.num("seq"))+1, "the first event has seq %d", first.seq())
			l.upTo(int64(b.num("seq")))
		}},
		{id: "cursor.header", sentence: "Last-Event-ID is a cursor.", source: srcStreams, run: func(p *probe) {
			a := p.thread(p.http(), nil)
			p.thread(p.http(), nil)
			l := p.listen("", "Last-Event-ID: "+itoa(int64(a.num("seq"))))
			first := l.await("an event", 0, func(m *message) bool { return m.isEvent() })
			p.must(first.seq() == int64(a.num("seq"))+1, "the first event has seq %d, want %v+1", first.seq(), a["seq"])
		}},
		{id: "cursor.header_wins", sentence: "Last-Event-ID wins over after_seq, the value 0 included.", source: srcStreams, run: func(p *probe) {
			a := p.thread(p.http(), nil)
			seq := itoa(int64(a.num("seq")))
			p.thread(p.http(), nil)
			oldest := p.oldest()
			l := p.listen(p.fromOldest(), "Last-Event-ID: "+seq)
			p.must(l.opened().num("after_seq") == a.num("seq"), "the query won over the header: after_seq is %v", l.opened()["after_seq"])
			if oldest > 0 { // the header is used, and its 0 is no longer valid
				p.refusedCursor(410, -32005, "cursor_expired", "?after_seq="+seq, "Last-Event-ID: 0")
				return
			}
			l = p.listen("?after_seq="+seq, "Last-Event-ID: 0")
			p.must(l.opened().num("after_seq") == 0, "the query won over the header 0: after_seq is %v", l.opened()["after_seq"])
		}},
		{id: "cursor.log_id", sentence: "A cursor may be written <log_id>:N, in the query and in the header.", source: srcStreams, run: func(p *probe) {
			a := p.thread(p.http(), nil)
			p.thread(p.http(), nil)
			seq := itoa(int64(a.num("seq")))
			log := p.call(p.http(), "holon/status", nil).str("log_id")
			p.must(log != "", "holon/status has no log_id")
			for _, l := range []*listener{
				p.listen("?after_seq=" + url.QueryEscape(log+":"+seq)), p.listen("", "Last-Event-ID: "+log+":"+seq),
			} {
				first := l.await("an event", 0, func(m *message) bool { return m.isEvent() })
				p.must(first.seq() == int64(a.num("seq"))+1, "the first event has seq %d", first.seq())
			}
		}},
		{id: "cursor.refused_at_once", sentence: "A refusal is sent at once, also while the request body is still open.", source: srcStreams, run: func(p *probe) {
			p.promptly(2*time.Second, "the refusal", func() {
				reader, writer := io.Pipe()
				defer writer.Close()
				r := p.peek(ask{verb: "POST", path: "/rpc/stream?after_seq=abc", body: reader})
				p.must(r.status == 400, "got status %d, want 400", r.status)
			})
		}},
		{id: "cursor.resume", sentence: "A client that leaves and comes back with its last seq has missed nothing and got nothing twice.", source: srcStreams, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			from := int64(d.opened().num("latest_seq"))
			thread := p.echoThread(d)
			l := p.listen("")
			l.opened()
			turn := p.turn(d, thread, "/deltas 40 10 20").str("turn_id")
			at := l.event("item/delta", "turn_id", turn).seq()
			l.close()
			var got []*message
			for at < d.completed(turn).seq() {
				next := p.listen("?after_seq=" + itoa(at))
				next.await("an event", 0, func(m *message) bool { return m.isEvent() })
				next.close()
				for _, ev := range next.events(func(*message) bool { return true }) {
					p.must(ev.seq() == at+1, "after %d came %d", at, ev.seq())
					at = ev.seq()
					got = append(got, ev)
				}
			}
			p.must(len(got) > 0 && at > from, "nothing came")
		}},
	}
}

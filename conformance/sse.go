package conformance

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"time"
)

// sseEvent is one event of /events: the values of its fields, in order.
type sseEvent struct {
	id    string
	names []string
	lines int
}

// events opens GET /events. The data of each event is a message.
func (p *probe) events(query string, header ...string) *listener {
	res, cancel := p.openStream(ask{verb: "GET", path: "/events" + query, header: append([]string{"Accept: text/event-stream"}, header...)})
	l := &listener{received: newReceived(p, "GET /events"+query), header: res.Header}
	l.close = p.reading(res.Body, cancel, func() { l.readSSE(res.Body) })
	return l
}

// readSSE reads events as a browser does: fields until an empty line, several
// data fields joined by LF, comments skipped.
func (l *listener) readSSE(r io.Reader) {
	buffered := bufio.NewReaderSize(r, 64<<10)
	var ev sseEvent
	var data []byte
	for {
		line, err := buffered.ReadBytes('\n')
		if err != nil {
			l.finish(err)
			return
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			if ev.lines > 0 {
				l.sseMu.Lock()
				l.sse = append(l.sse, ev)
				l.sseMu.Unlock()
				l.take(data, nil)
			}
			ev, data = sseEvent{}, nil
			continue
		}
		name, value, _ := strings.Cut(string(line), ":")
		if name == "" {
			continue
		}
		ev.names = append(ev.names, name)
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "id":
			ev.id = value
		case "data":
			if ev.lines++; ev.lines > 1 {
				data = append(data, '\n')
			}
			data = append(data, value...)
		}
	}
}

// frame returns the SSE event of the message.
func (l *listener) frame(m *message) sseEvent {
	l.sseMu.Lock()
	defer l.sseMu.Unlock()
	if m.at >= len(l.sse) {
		return sseEvent{}
	}
	return l.sse[m.at]
}

func sseChecks() []check {
	return []check{
		{id: "sse.type", sentence: "/events answers text/event-stream, neither cached nor buffered.", source: srcFrames, run: func(p *probe) {
			l := p.events("")
			p.must(strings.HasPrefix(l.header.Get("Content-Type"), "text/event-stream"), "Content-Type is %q", l.header.Get("Content-Type"))
			p.must(strings.Contains(l.header.Get("Cache-Control"), "no-cache"), "Cache-Control is %q", l.header.Get("Cache-Control"))
			l.opened()
		}},
		{id: "sse.data", sentence: "data is the whole notification on one line, the same bytes as the NDJSON line.", source: srcFrames, run: func(p *probe) {
			nd, sse := p.listen(""), p.events("")
			nd.opened()
			sse.opened()
			t := p.thread(p.http(), obj{"title": "Grüße \"x\" \\ \u2028 <&>"}).str("thread_id")
			a := nd.event("thread/started", "thread_id", t)
			b := sse.event("thread/started", "thread_id", t)
			p.must(bytes.Equal(bytes.TrimRight(a.raw, "\n"), b.raw), "data is %s, the line is %s", clip(b.raw, 300), clip(a.raw, 300))
			p.must(sse.frame(b).lines == 1, "the event has %d data lines", sse.frame(b).lines)
		}},
		{id: "sse.id", sentence: "Events have id <log_id>:<seq>.", source: srcFrames, run: func(p *probe) {
			l := p.events("")
			log := l.opened().str("log_id")
			t := p.thread(p.http(), nil)
			m := l.event("thread/started", "thread_id", t.str("thread_id"))
			want := log + ":" + itoa(m.seq())
			p.must(l.frame(m).id == want, "id is %q, want %q", l.frame(m).id, want)
		}},
		{id: "sse.opened_id", sentence: "stream/opened has the id of the position the stream begins after.", source: srcFrames, run: func(p *probe) {
			l := p.events("")
			m := l.await("stream/opened", 0, func(m *message) bool { return m.method == "stream/opened" })
			opened := l.opened()
			want := opened.str("log_id") + ":" + itoa(int64(opened.num("after_seq")))
			p.must(l.frame(m).id == want, "id is %q, want %q", l.frame(m).id, want)
		}},
		{id: "sse.no_event_field", sentence: "No event has an event field, so that onmessage gets them all.", source: srcFrames, run: func(p *probe) {
			l := p.events(p.fromOldest())
			l.await("an event", 0, func(m *message) bool { return m.isEvent() || m.method == "stream/opened" })
			l.sseMu.Lock()
			defer l.sseMu.Unlock()
			for _, ev := range l.sse {
				for _, name := range ev.names {
					p.must(name == "data" || name == "id" || name == "retry", "an event has a field %q", name)
				}
			}
		}},
		{id: "sse.resume", sentence: "A browser that sends the last id as Last-Event-ID continues after it.", source: srcSSE, run: func(p *probe) {
			l := p.events("")
			l.opened()
			t := p.thread(p.http(), nil)
			m := l.event("thread/started", "thread_id", t.str("thread_id"))
			id := l.frame(m).id
			l.close()
			next := p.thread(p.http(), nil)
			again := p.events("", "Last-Event-ID: "+id)
			first := again.await("an event", 0, func(m *message) bool { return m.isEvent() })
			p.must(first.seq() == m.seq()+1, "the first event has seq %d, want %d", first.seq(), m.seq()+1)
			again.upTo(int64(next.num("seq")))
		}},
		{id: "sse.filter", sentence: "/events takes the same filters.", source: srcStreams, run: func(p *probe) {
			id := p.nonce("sse")
			l := p.events("?thread_id=" + id + "&method=thread/*")
			l.opened()
			other := p.thread(p.http(), nil).str("thread_id")
			p.thread(p.http(), obj{"thread_id": id})
			l.event("thread/started", "thread_id", id)
			p.must(len(l.ofThread(other)) == 0, "events of another thread came through")
		}},
		{id: "sse.heartbeat", sentence: "Heartbeats have an id too, so that a browser's cursor moves on in silence.", source: srcFrames, needs: background, run: func(p *probe) {
			l := p.events("?thread_id=" + p.nonce("nobody"))
			o := l.opened()
			wait := time.Duration(o.num("heartbeat_seconds") * float64(time.Second))
			if wait+5*time.Second > p.opts.Timeout {
				p.skipf("a heartbeat takes %s, the check has %s", wait, p.opts.Timeout)
			}
			m := l.find(0, wait+5*time.Second, func(m *message) bool { return m.method == "stream/heartbeat" })
			p.must(m != nil, "no heartbeat within %s", wait+5*time.Second)
			want := o.str("log_id") + ":" + itoa(int64(m.args().num("seq")))
			p.must(l.frame(m).id == want, "its id is %q, want %q", l.frame(m).id, want)
		}},
	}
}

package conformance

import (
	"fmt"
	"strings"
)

func frameChecks() []check {
	return []check{
		{id: "frame.crlf", sentence: "A CR before the LF is white space.", source: srcFrames, run: func(p *probe) {
			d := p.duplex("")
			d.sendRaw(request("1", plain, nil) + "\r\n")
			p.must(d.answer("1").code() != -32700, "the line was refused")
		}},
		{id: "frame.empty_lines", sentence: "Empty lines are ignored.", source: srcFrames, run: func(p *probe) {
			d := p.duplex("")
			d.sendRaw("\n\r\n\n" + request("1", plain, nil) + "\n\n")
			d.answer("1")
			for _, m := range d.all() {
				p.must(m.failure == nil, "something was refused: %s", clip(m.raw, 200))
			}
		}},
		{id: "frame.last_line", sentence: "A last line without LF counts.", source: srcFrames, run: func(p *probe) {
			d := p.duplex("")
			d.sendRaw(request("1", plain, nil))
			d.body.Close()
			d.answer("1")
		}},
		{id: "frame.pieces", sentence: "A line may arrive in many pieces, and many lines in one.", source: srcFrames, run: func(p *probe) {
			d := p.duplex("")
			for _, c := range request("1", plain, nil) + "\n" {
				d.sendRaw(string(c))
			}
			d.answer("1")
			d.sendRaw(request("2", plain, nil) + "\n" + request("3", plain, nil) + "\n" + request("4", plain, nil) + "\n")
			for _, id := range []string{"2", "3", "4"} {
				d.answer(id)
			}
		}},
		{id: "frame.lives_on", sentence: "The connection stays open after every kind of bad frame.", source: srcFrames, run: func(p *probe) {
			d := p.duplex("")
			bad := []string{
				`{"jsonrpc":`, "\xff\xfe", `5`, `null`, `"x"`, `[]`, `{}`, `true`, nested(65),
				`{"jsonrpc":"1.0","id":1,"method":"x"}`, request("1.5", plain, nil), request("{}", plain, nil), `[1]`, `]`,
			}
			from := d.mark()
			for i, frame := range bad {
				d.send(frame)
				id := fmt.Sprintf(`"after %d"`, i)
				d.send(request(id, plain, nil))
				m := d.answerFrom(from, id)
				p.must(m.failure == nil, "the good frame after %q was refused: %s", clip([]byte(frame), 60), clip(m.failure, 200))
			}
			got := 0
			for _, m := range d.all()[from:] {
				if m.failure != nil || strings.HasPrefix(string(m.raw), "[") {
					got++
				}
			}
			p.must(got == len(bad), "%d bad frames got %d errors", len(bad), got)
		}},
		{id: "frame.too_large_post", sentence: "A message over max_frame_bytes on POST /rpc gets 413 and -32600 frame_too_large.", source: srcFrames, run: func(p *probe) {
			r := p.post(oversized(p))
			p.must(r.status == 413, "got status %d, want 413", r.status)
			m, err := parseMessage([]byte(strings.TrimSpace(string(r.body))))
			p.must(err == nil, "the body is no JSON-RPC message: %v", err)
			p.mustError(m, -32600, "frame_too_large", "the message")
		}},
		{id: "frame.too_large_stream", sentence: "A line over max_frame_bytes gets frame_too_large and the next line is served.", source: srcFrames, run: func(p *probe) {
			d := p.duplex("")
			d.sendRaw(oversized(p) + "\n" + request(`"next"`, plain, nil) + "\n")
			bad := d.await("an error", 0, func(m *message) bool { return m.failure != nil })
			p.mustError(bad, -32600, "frame_too_large", "the line")
			p.must(string(bad.id) == "null", "the answer has id %s, want null", bad.id)
			p.must(d.answer(`"next"`).failure == nil, "the next line was refused")
		}},
		{id: "frame.largest", sentence: "A line of exactly max_frame_bytes is served.", source: srcFrames, run: func(p *probe) {
			limit := p.facts.limit("max_frame_bytes", 4<<20)
			frame := request("1", plain, `{"_meta":"`)
			frame = strings.TrimSuffix(frame, "}")
			frame += strings.Repeat("x", limit-len(frame)-3) + `"}}`
			m := p.rpc(frame)
			p.must(m.failure == nil, "a message of %d bytes was refused: %s", len(frame), clip(m.failure, 200))
		}},
		{id: "frame.pipelined", sentence: "Many requests in one write are all answered; the server reads slower instead of refusing.", source: srcFrames, run: func(p *probe) {
			d := p.duplex("")
			n := 5 * p.facts.limit("max_in_flight", 64)
			var b strings.Builder
			for i := range n {
				b.WriteString(request(fmt.Sprintf(`"p%d"`, i), plain, nil) + "\n")
			}
			d.sendRaw(b.String())
			for i := range n {
				m := d.answer(fmt.Sprintf(`"p%d"`, i))
				p.must(m.failure == nil, "request %d of %d was refused: %s", i, n, clip(m.failure, 200))
			}
		}},
		{id: "frame.order", sentence: "Requests of one connection take effect in the order of their arrival.", source: srcFrames, run: func(p *probe) {
			d := p.duplex("")
			id := p.nonce("order")
			p.later(func() { p.http().try("thread/close", obj{"thread_id": id}) })
			d.sendRaw(request("1", "thread/read", obj{"thread_id": id}) + "\n" +
				request("2", "thread/start", obj{"thread_id": id}) + "\n" +
				request("3", "thread/read", obj{"thread_id": id}) + "\n" +
				request("4", "thread/close", obj{"thread_id": id}) + "\n" +
				request("5", "thread/pause", obj{"thread_id": id}) + "\n")
			p.mustError(d.answer("1"), -32002, "thread_not_found", "thread/read before thread/start")
			for _, ok := range []string{"2", "3", "4"} {
				p.must(d.answer(ok).failure == nil, "request %s was refused: %s", ok, clip(d.answer(ok).failure, 200))
			}
			p.mustError(d.answer("5"), -32004, "thread_closed", "thread/pause after thread/close")
		}},
		{id: "frame.response_dropped", sentence: "A response object on a stream that answers nothing is dropped.", source: srcFrames, run: func(p *probe) {
			d := p.duplex("")
			d.send(`{"jsonrpc":"2.0","id":77,"result":{}}`)
			d.send(request("78", plain, nil))
			d.answer("78")
			for _, m := range d.all() {
				p.must(!m.isResponse() || string(m.id) == "78", "it was answered: %s", clip(m.raw, 200))
			}
		}},
		{id: "frame.one_message_one_line", sentence: "Every line of a stream is one JSON-RPC 2.0 message ended by LF.", source: srcFrames, needs: last, run: func(p *probe) {
			l := p.listen(p.fromOldest())
			l.opened()
			for _, flaw := range p.seen.look().flaws {
				p.failf("%s", flaw)
			}
		}},
	}
}

// oversized returns a request a little over the frame limit.
func oversized(p *probe) string {
	return request("1", plain, `{"_meta":"`+strings.Repeat("x", p.facts.limit("max_frame_bytes", 4<<20))+`"}`)
}

package conformance

import "strings"

// plain is a method that every server of the protocol has and that changes
// nothing. The envelope checks accept both a result and an error of it where
// only the envelope matters, so that they mean something elsewhere too.
const plain = "holon/status"

// refusedFrame makes a check for a frame that must get an error with id null.
func refusedFrame(id, sentence, source, frame string, code int, kind string) check {
	return check{id: "envelope." + id, sentence: sentence, source: source, run: func(p *probe) {
		m := p.rpc(frame)
		p.mustError(m, code, kind, "the frame")
		p.must(string(m.id) == "null", "the answer has id %s, want null", m.id)
	}}
}

// acceptedFrame makes a check for a frame that must be taken as a request with
// id 1: the answer may be a result or a method's error, but no envelope error.
func acceptedFrame(id, sentence, source, frame string) check {
	return check{id: "envelope." + id, sentence: sentence, source: source, run: func(p *probe) {
		m := p.rpc(frame)
		p.must(string(m.id) == "1", "the answer has id %s, want 1", m.id)
		p.must(m.code() != -32700 && m.code() != -32600, "the frame was refused: %s", clip(m.failure, 200))
	}}
}

func envelopeChecks() []check {
	return []check{
		refusedFrame("parse_error", "Broken JSON gets -32700 with id null.", srcError,
			`{"jsonrpc":"2.0","id":1,"method":`, -32700, "parse_error"),
		refusedFrame("parse_error_bare_word", "A line that is no JSON at all gets -32700.", srcError,
			`hello`, -32700, "parse_error"),
		{id: "envelope.parse_error_trailing", sentence: "Something behind the message gets -32700.", source: srcFrames, run: func(p *probe) {
			p.mustError(p.rpc(`{"jsonrpc":"2.0","id":1,"method":"holon/status"} x`), -32700, "parse_error", "the frame")
		}},
		{id: "envelope.invalid_utf8", sentence: "Invalid UTF-8 gets -32700.", source: srcFrames, run: func(p *probe) {
			p.mustError(p.rpc("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"holon/status\",\"params\":{\"_meta\":\"\xff\xfe\"}}"), -32700, "parse_error", "the frame")
		}},
		acceptedFrame("nesting_64", "A message nested 64 levels deep is accepted.", srcFrames, nested(64)),
		{id: "envelope.nesting_65", sentence: "A message nested 65 levels deep gets -32600.", source: srcFrames, run: func(p *probe) {
			p.mustError(p.rpc(nested(65)), -32600, "invalid_request", "the frame")
		}},
		{id: "envelope.nesting_deep", sentence: "A message nested 100,000 levels deep gets an error and no crash.", source: srcFrames, run: func(p *probe) {
			m := p.rpc(nested(100_000))
			p.must(m.code() == -32600 || m.code() == -32700, "got %s", clip(m.raw, 200))
			p.rpc(request("1", plain, nil))
		}},
		{id: "envelope.missing_jsonrpc", sentence: "A request without jsonrpc gets -32600 and its id back.", source: srcRequest, run: func(p *probe) {
			m := p.rpc(`{"id":1,"method":"holon/status"}`)
			p.mustError(m, -32600, "invalid_request", "the frame")
			p.must(string(m.id) == "1", "the id could be read, but the answer has id %s", m.id)
		}},
		{id: "envelope.other_jsonrpc", sentence: "Any jsonrpc value other than the string 2.0 gets -32600.", source: srcRequest, run: func(p *probe) {
			for _, v := range []string{`"1.0"`, `"2"`, `2.0`, `null`, `"2.00"`, `["2.0"]`} {
				p.mustError(p.rpc(`{"jsonrpc":`+v+`,"id":1,"method":"holon/status"}`), -32600, "invalid_request", "jsonrpc "+v)
			}
		}},
		refusedFrame("scalar", "A JSON value that is no message gets -32600.", srcRequest, `5`, -32600, "invalid_request"),
		refusedFrame("empty_object", "An empty object gets -32600.", srcRequest, `{}`, -32600, "invalid_request"),
		{id: "envelope.method_missing", sentence: "A request without method gets -32600.", source: srcRequest, run: func(p *probe) {
			p.mustError(p.rpc(`{"jsonrpc":"2.0","id":1}`), -32600, "invalid_request", "the frame")
		}},
		{id: "envelope.method_not_string", sentence: "A method that is no string gets -32600.", source: srcRequest, run: func(p *probe) {
			for _, v := range []string{`1`, `null`, `{}`, `["holon/status"]`, `true`} {
				p.mustError(p.rpc(`{"jsonrpc":"2.0","id":1,"method":`+v+`}`), -32600, "invalid_request", "method "+v)
			}
		}},
		{id: "envelope.duplicate_key", sentence: "A known key given twice in the envelope gets -32600.", source: srcFrames, run: func(p *probe) {
			for _, frame := range []string{
				`{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"holon/status"}`,
				`{"jsonrpc":"2.0","id":1,"id":2,"method":"holon/status"}`,
				`{"jsonrpc":"2.0","id":1,"method":"holon/status","method":"holon/status"}`,
				`{"jsonrpc":"2.0","id":1,"method":"holon/status","params":{},"params":{}}`,
				`{"jsonrpc":"2.0","id":1,"method":"holon/status","m\u0065thod":"holon/status"}`,
			} {
				p.mustError(p.rpc(frame), -32600, "invalid_request", frame)
			}
		}},
		acceptedFrame("unknown_key", "Unknown keys of the envelope are ignored.", srcFrames,
			`{"jsonrpc":"2.0","trace":{"a":[1]},"id":1,"method":"holon/status"}`),
		acceptedFrame("any_key_order", "The keys of the envelope may come in any order.", srcRequest,
			`{"params":{},"method":"holon/status","id":1,"jsonrpc":"2.0"}`),
		acceptedFrame("white_space", "White space inside a message is allowed.", srcFrames,
			" \t{ \"jsonrpc\" : \"2.0\" , \"id\" : 1 ,\t\"method\" : \"holon/status\" } \r"),
		acceptedFrame("escaped_method", "Escapes in the method's string mean the characters they stand for.", srcRequest,
			`{"jsonrpc":"2.0","id":1,"method":"holon\/st\u0061tus"}`),
		{id: "envelope.case_exact", sentence: "Keys of the envelope are matched exactly, not by folding case.", source: srcFrames, run: func(p *probe) {
			for _, frame := range []string{
				`{"jsonrpc":"2.0","id":1,"Method":"holon/status"}`,
				`{"JSONRPC":"2.0","id":1,"method":"holon/status"}`,
			} {
				p.mustError(p.rpc(frame), -32600, "invalid_request", frame)
			}
			r := p.post(`{"jsonrpc":"2.0","ID":1,"method":"holon/status"}`)
			p.must(len(strings.TrimSpace(string(r.body))) == 0, `a message with "ID" has no id, but was answered: %s`, clip(r.body, 200))
		}},
		{id: "envelope.method_not_found", sentence: "An unknown method gets -32601 and its name in data.method.", source: srcErrors, run: func(p *probe) {
			for _, name := range []string{"no/such_method", "rpc.nothing", "holon/Status", ""} {
				f := p.refuse(p.http(), -32601, "method_not_found", name, nil)
				p.must(f.str("data.method") == name, "data.method is %q, want %q", f.str("data.method"), name)
			}
		}},
		{id: "envelope.error_data", sentence: "Every error has data.kind and data.retryable.", source: srcErrors, run: func(p *probe) {
			for _, frame := range []string{`{`, `{}`, request("1", "no/such", nil), request("1", "thread/read", obj{"nope": 1})} {
				f := p.rpc(frame).fault()
				p.must(f.isStr("data.kind") && f.isBool("data.retryable"), "error %s lacks kind or retryable", encode(map[string]any(f)))
			}
		}},
		{id: "envelope.notification", sentence: "A message without id is executed and never answered.", source: srcNotify, run: func(p *probe) {
			id := p.nonce("note")
			r := p.post(request("", "thread/start", obj{"thread_id": id}))
			p.later(func() { p.http().try("thread/close", obj{"thread_id": id}) })
			p.must(len(r.body) == 0, "a notification was answered: %s", clip(r.body, 200))
			p.call(p.http(), "thread/read", obj{"thread_id": id})
		}},
		{id: "envelope.notification_error", sentence: "A notification that fails is not answered either.", source: srcNotify, run: func(p *probe) {
			for _, frame := range []string{request("", "no/such", nil), request("", "thread/read", obj{"nope": 1})} {
				r := p.post(frame)
				p.must(len(r.body) == 0, "%s was answered: %s", frame, clip(r.body, 200))
			}
		}},
		refusedFrame("notification_wrong", "A wrong envelope without id is answered with id null.", srcFrames,
			`{"jsonrpc":"1.0","method":"holon/status"}`, -32600, "invalid_request"),
		{id: "envelope.response_dropped", sentence: "A response object that answers nothing is dropped without a word.", source: srcFrames, run: func(p *probe) {
			for _, frame := range []string{
				`{"jsonrpc":"2.0","id":77,"result":{}}`,
				`{"jsonrpc":"2.0","id":77,"error":{"code":-32603,"message":"no"}}`,
			} {
				r := p.post(frame)
				p.must(len(strings.TrimSpace(string(r.body))) == 0, "it was answered: %s", clip(r.body, 200))
			}
		}},
	}
}

// nested is a request with id 1 whose nesting is as deep as asked, the message
// itself being level 1 and params level 2.
func nested(depth int) string {
	inner := depth - 2
	return `{"jsonrpc":"2.0","id":1,"method":"holon/status","params":{"_meta":` +
		strings.Repeat("[", inner) + strings.Repeat("]", inner) + `}}`
}

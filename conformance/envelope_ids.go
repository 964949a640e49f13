package conformance

import "strings"

// echoedIDs makes a check for ids that must come back byte for byte.
func echoedIDs(id, sentence string, ids ...string) check {
	return check{id: "id." + id, sentence: sentence, source: srcFrames, run: func(p *probe) {
		for _, want := range ids {
			m := p.rpc(request(want, plain, nil))
			p.must(string(m.id) == want, "id %s came back as %s", clip([]byte(want), 80), clip(m.id, 80))
			// An error of the method must carry it as well.
			m = p.rpc(request(want, "no/such_method", nil))
			p.must(string(m.id) == want, "id %s came back on an error as %s", clip([]byte(want), 80), clip(m.id, 80))
		}
	}}
}

// refusedIDs makes a check for ids that must get -32600.
func refusedIDs(id, sentence string, ids ...string) check {
	return check{id: "id." + id, sentence: sentence, source: srcFrames, run: func(p *probe) {
		for _, bad := range ids {
			m := p.rpc(request(bad, plain, nil))
			p.mustError(m, -32600, "invalid_request", "id "+bad)
			p.must(string(m.id) == "null", "the answer to id %s has id %s, want null", bad, m.id)
		}
	}}
}

func idChecks() []check {
	return []check{
		echoedIDs("integer", "Integer ids come back byte for byte.", "0", "1", "42", "9007199254740993"),
		echoedIDs("negative", "Negative integer ids come back byte for byte.", "-1", "-9223372036854775808", "-0"),
		echoedIDs("huge", "Integer ids beyond 64 bits come back byte for byte.",
			"18446744073709551616", strings.Repeat("9", 100)),
		echoedIDs("string", "String ids come back byte for byte.",
			`"a"`, `""`, `"1"`, `"null"`, `"Grüße 世界 🎉"`, `"`+strings.Repeat("x", 1000)+`"`),
		echoedIDs("string_escapes", "String ids keep the escapes they were written with.",
			`"\u0041"`, `"\/"`, `"a\"b\\c"`, `"\ud83c\udf89"`, `"\n\t"`, `"<>&\u2028"`, `"<>&"`),
		{id: "id.null", sentence: "An id of null is a request, answered with id null.", source: srcFrames, run: func(p *probe) {
			m := p.rpc(request("null", plain, nil))
			p.must(string(m.id) == "null", "the answer has id %s", m.id)
			p.must(m.code() != -32600, "the request was refused: %s", clip(m.failure, 200))
		}},
		refusedIDs("fraction", "A fraction as id gets -32600.", "1.5", "1.0", "-0.5"),
		refusedIDs("exponent", "An exponent as id gets -32600.", "1e3", "1E0", "2e-1"),
		refusedIDs("object", "An object as id gets -32600.", "{}", `{"a":1}`),
		refusedIDs("array", "An array as id gets -32600.", "[]", "[1]"),
		refusedIDs("boolean", "A boolean as id gets -32600.", "true", "false"),
		{id: "id.reuse", sentence: "An id may be used again once it was answered.", source: srcFrames, run: func(p *probe) {
			d := p.duplex("")
			for range 3 {
				from := d.mark()
				d.send(request("7", plain, nil))
				m := d.answerFrom(from, "7")
				p.must(m.code() != -32600, "the id was refused: %s", clip(m.failure, 200))
			}
		}},
		{id: "id.duplicate_in_flight", sentence: "An id still in flight on its connection gets -32600 duplicate_id.", source: srcFrames, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn := p.running(d, p.echoThread(d), "/stubborn 1500")
			from := d.mark()
			d.send(request(`"twice"`, "turn/interrupt", obj{"turn_id": turn}))
			d.send(request(`"twice"`, plain, nil))
			first := d.answerFrom(from, `"twice"`)
			second := d.answerFrom(first.at+1, `"twice"`)
			p.mustError(first, -32600, "duplicate_id", "the second request with the id")
			p.must(second.failure == nil, "the first request was refused: %s", clip(second.failure, 200))
		}},
		{id: "id.per_connection", sentence: "The same id on two connections is no duplicate.", source: srcFrames, needs: needEcho, run: func(p *probe) {
			a, b := p.duplex(""), p.duplex("")
			turn := p.running(a, p.echoThread(a), "/stubborn 1000")
			from := a.mark()
			a.send(request("5", "turn/interrupt", obj{"turn_id": turn}))
			b.send(request("5", plain, nil))
			p.must(b.answer("5").failure == nil, "the other connection's request was refused")
			p.must(a.answerFrom(from, "5").failure == nil, "the first connection's request was refused")
		}},
	}
}

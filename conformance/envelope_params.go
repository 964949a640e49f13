package conformance

func paramsChecks() []check {
	return []check{
		{id: "params.absent", sentence: "Params may be absent, null or an object; the first two mean an empty object.", source: srcFrames, run: func(p *probe) {
			for _, frame := range []string{
				request("1", plain, nil), request("1", plain, "null"), request("1", plain, "{}"),
			} {
				m := p.rpc(frame)
				p.must(m.failure == nil, "%s was refused: %s", frame, clip(m.failure, 200))
			}
		}},
		{id: "params.null_is_empty", sentence: "Null params of a method with required fields get -32602, as an empty object does.", source: srcFrames, run: func(p *probe) {
			for _, v := range []any{nil, "null", "{}"} {
				f := p.refuse(p.http(), -32602, "invalid_params", "thread/read", v)
				p.must(f.str("data.field") == "thread_id", "data.field is %q, want thread_id", f.str("data.field"))
			}
		}},
		{id: "params.array", sentence: "An array as params gets -32602: params are named.", source: srcFrames, run: func(p *probe) {
			p.refuse(p.http(), -32602, "invalid_params", plain, "[]")
			p.refuse(p.http(), -32602, "invalid_params", plain, "[1,2]")
		}},
		{id: "params.scalar", sentence: "Params that are neither object, array nor null get -32600.", source: srcRequest, run: func(p *probe) {
			for _, v := range []string{`5`, `"x"`, `true`, `false`, `1.5`} {
				m := p.rpc(request("1", plain, v))
				p.mustError(m, -32600, "invalid_request", "params "+v)
				p.must(string(m.id) == "1", "the id could be read, but the answer has id %s", m.id)
			}
		}},
		{id: "params.unknown", sentence: "An unknown key in params gets -32602 with the field.", source: srcFrames, run: func(p *probe) {
			for method, params := range map[string]obj{
				plain:          {"nope": 1},
				"thread/list":  {"nope": nil},
				"rpc.discover": {"nope": 1},
				"thread/start": {"nope": obj{}},
				"holon/resume": {"nope": 1},
				"event/list":   {"after_seq": 0, "nope": 1},
			} {
				f := p.refuse(p.http(), -32602, "invalid_params", method, params)
				p.must(f.str("data.field") == "nope", "%s: data.field is %q, want nope", method, f.str("data.field"))
			}
		}},
		{id: "params.unknown_nested", sentence: "An unknown key inside params gets -32602 with the whole path.", source: srcErrors, run: func(p *probe) {
			f := p.refuse(p.http(), -32602, "invalid_params", "initialize",
				obj{"client_info": obj{"name": "conformance", "version": "1", "nope": 1}})
			p.must(f.str("data.field") == "client_info.nope", "data.field is %q, want client_info.nope", f.str("data.field"))
		}},
		{id: "params.meta", sentence: "The keys _meta and extended_context are allowed in all params.", source: srcFrames, run: func(p *probe) {
			for _, method := range []string{plain, "thread/list", "rpc.discover"} {
				p.call(p.http(), method, `{"_meta":{"trace":"x"},"extended_context":[1,{"a":null}]}`)
			}
		}},
		{id: "params.case_exact", sentence: "Keys of params are matched exactly, not by folding case.", source: srcFrames, run: func(p *probe) {
			f := p.refuse(p.http(), -32602, "invalid_params", "thread/read", `{"THREAD_ID":"x"}`)
			p.must(f.str("data.field") != "", "data.field is missing")
			p.refuse(p.http(), -32602, "invalid_params", "thread/read", `{"thread_id":"x","Thread_Id":"y"}`)
		}},
		{id: "params.duplicate_key", sentence: "A key given twice in params gets -32602.", source: srcFrames, run: func(p *probe) {
			p.refuse(p.http(), -32602, "invalid_params", "thread/read", `{"thread_id":"x","thread_id":"x"}`)
			p.refuse(p.http(), -32602, "invalid_params", "thread/read", `{"thread_id":"x","thre\u0061d_id":"x"}`)
		}},
		{id: "params.wrong_type", sentence: "A field of the wrong type gets -32602 with the field.", source: srcErrors, run: func(p *probe) {
			for _, c := range []struct{ method, params, field string }{
				{"thread/read", `{"thread_id":5}`, "thread_id"},
				{"thread/list", `{"limit":"many"}`, "limit"},
				{"event/list", `{"after_seq":"x"}`, "after_seq"},
				{"event/list", `{"after_seq":1.5}`, "after_seq"},
				{"thread/start", `{"title":{}}`, "title"},
				{"turn/start", `{"thread_id":"x","input":"hello"}`, "input"},
			} {
				f := p.refuse(p.http(), -32602, "invalid_params", c.method, c.params)
				p.must(f.str("data.field") == c.field, "%s %s: data.field is %q, want %s", c.method, c.params, f.str("data.field"), c.field)
			}
		}},
	}
}

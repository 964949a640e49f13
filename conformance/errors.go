package conformance

import (
	"slices"
	"strings"
)

// kinds is the table of protocol.md §5: every kind and its code.
var kinds = map[string]int{
	"parse_error":     -32700,
	"invalid_request": -32600, "frame_too_large": -32600, "duplicate_id": -32600,
	"method_not_found": -32601,
	"invalid_params":   -32602, "invalid_cursor": -32602,
	"internal":         -32603,
	"unavailable":      -32000,
	"outcome_unknown":  -32000,
	"overloaded":       -32001,
	"thread_not_found": -32002, "turn_not_found": -32002, "item_not_found": -32002, "agent_not_found": -32002,
	"entry_not_found": -32002, "entry_expired": -32002, "digest_not_found": -32002, "timer_not_found": -32002, "subscription_not_found": -32002, "cursor_not_found": -32002,
	"bridge_not_found": -32002, "delivery_not_found": -32002, "token_not_found": -32002,
	"idempotency_conflict": -32003, "conflict": -32003,
	"thread_closed": -32004, "thread_paused": -32004, "thread_busy": -32004, "turn_not_active": -32004, "already_resolved": -32004,
	"cursor_expired": -32005, "cursor_ahead": -32005, "log_changed": -32005,
	"unauthorized": -32006, "forbidden": -32006,
	"storage_full": -32007, "storage_failed": -32007,
	"agent_failed": -32008, "agent_unavailable": -32008, "agent_unsupported": -32008, "timeout": -32008,
	"attempt_superseded": -32009,
}

func errorChecks() []check {
	return []check{
		{id: "error.table", sentence: "Every error that was seen has a code, a message, a kind of the table with its code, and retryable.", source: srcErrors, needs: last, run: func(p *probe) {
			p.rpc(`{`)
			p.rpc(request("1", "thread/read", obj{"thread_id": p.nonce("missing")}))
			for _, raw := range p.seen.look().errors {
				f := decode(raw)
				kind := f.str("data.kind")
				code, known := kinds[kind]
				p.must(known, "the kind %q is not in the table: %s", kind, clip(raw, 200))
				p.must(int(f.num("code")) == code, "the kind %s has code %v, want %d", kind, f["code"], code)
				p.must(f.isBool("data.retryable"), "no retryable: %s", clip(raw, 200))
				p.must(f.str("message") != "", "no message: %s", clip(raw, 200))
			}
		}},
		{id: "error.no_internal", sentence: "Nothing that the suite does makes the server answer -32603 internal.", source: srcErrors, needs: last, run: func(p *probe) {
			p.rpc(request("1", plain, nil))
			for _, raw := range p.seen.look().errors {
				p.must(decode(raw).str("data.kind") != "internal", "an internal error was answered: %s", clip(raw, 300))
			}
		}},
		{id: "error.no_token", sentence: "No message that was seen contains the token.", source: srcAdmit, needs: last, run: func(p *probe) {
			if p.end.token == "" {
				p.skipf("needs the server's token, to look for it")
			}
			r := p.post(request("1", "holon/logStream", obj{"max_lines": 10000}))
			p.must(!strings.Contains(string(r.body), p.end.token), "the token is in the log")
			m := p.do(ask{verb: "GET", path: "/metrics"})
			p.must(!strings.Contains(string(m.body), p.end.token), "the token is in the metrics")
			seen := p.seen.look()
			for _, raw := range slices.Concat(seen.errors, seen.results["initialize"], seen.results["holon/status"]) {
				p.must(!strings.Contains(string(raw), p.end.token), "the token is in a message")
			}
		}},
	}
}

package conformance

import "strings"

// plain is a method that every server has and that changes nothing.
const plain = "holon/status"

func envelopeChecks() []check {
	return []check{
		{id: "envelope.nesting_64", sentence: "A message nested 64 levels deep is accepted.", source: srcFrames, run: func(p *probe) {
			m := p.rpc(nested(64))
			p.must(string(m.id) == "1" && m.failure == nil, "it was answered %s", clip(m.raw, 200))
		}},
		{id: "envelope.nesting_65", sentence: "A message nested 65 levels deep gets -32600.", source: srcFrames, run: func(p *probe) {
			p.mustError(p.rpc(nested(65)), -32600, "invalid_request", "the frame")
		}},
		{id: "envelope.nesting_deep", sentence: "A message nested 100,000 levels deep gets an error and no crash.", source: srcFrames, run: func(p *probe) {
			m := p.rpc(nested(100_000))
			p.must(m.code() == -32600 || m.code() == -32700, "got %s", clip(m.raw, 200))
			p.rpc(request("1", plain, nil))
		}},
	}
}

// nested returns a request with id 1 of the given nesting depth. The message itself
// is level 1, params level 2.
func nested(depth int) string {
	inner := depth - 2
	return `{"jsonrpc":"2.0","id":1,"method":"holon/status","params":{"_meta":` +
		strings.Repeat("[", inner) + strings.Repeat("]", inner) + `}}`
}

//go:build linux

package faults

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"strings"
)

// goodFrames are what mutations begin with: every envelope and most methods.
var goodFrames = []string{
	`{"jsonrpc":"2.0","id":1,"method":"holon/status","params":{}}`,
	`{"jsonrpc":"2.0","id":"x-1","method":"thread/start","params":{"thread_id":"f","title":"a \u00fc \ud83d\ude00"}}`,
	`{"jsonrpc":"2.0","id":2,"method":"turn/start","params":{"thread_id":"f","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}],"idempotency_key":"k"}}`,
	`{"jsonrpc":"2.0","id":3,"method":"event/list","params":{"after_seq":0,"limit":10}}`,
	`{"jsonrpc":"2.0","id":4,"method":"item/list","params":{"thread_id":"f","cursor":null}}`,
	`{"jsonrpc":"2.0","id":null,"method":"thread/list"}`,
	`{"jsonrpc":"2.0","method":"holon/status"}`,
	`[{"jsonrpc":"2.0","id":5,"method":"holon/status"},{"jsonrpc":"2.0","method":"holon/status"},7]`,
	`{"jsonrpc":"2.0","id":6,"method":"stream/subscribe","params":{"after_seq":0,"methods":["turn/*"]}}`,
	`{"jsonrpc":"2.0","id":10,"method":"turn/start","params":{"thread_id":"f","on_busy":"steer","timeout_seconds":5,"metadata":{},"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"/items 2 10"}]}]}}`,
	`{"jsonrpc":"2.0","id":7,"method":"turn/interrupt","params":{"turn_id":"turn_0"}}`,
	`{"jsonrpc":"2.0","id":8,"method":"initialize","params":{"client_info":{"name":"f","version":"1"}}}`,
	`{"jsonrpc":"2.0","id":9,"result":{}}`,
}

// mutate damages a frame in one to four ways: as text, or as JSON that stays
// JSON. The result has no line feed.
func mutate(rng *rand.Rand, frame string) []byte {
	b := []byte(frame)
	damage := damageText
	if rng.IntN(2) == 0 {
		damage = damageJSON
	}
	for range 1 + rng.IntN(4) {
		if b = damage(rng, b); len(b) == 0 {
			b = []byte(" ")
		}
	}
	return bytes.ReplaceAll(b, []byte("\n"), []byte(" "))
}

func insert(b []byte, at int, piece []byte) []byte {
	return append(b[:at:at], append(piece, b[at:]...)...)
}

func damageText(rng *rand.Rand, b []byte) []byte {
	at := rng.IntN(len(b) + 1)
	end := min(len(b), at+rng.IntN(20))
	switch rng.IntN(7) {
	case 0: // a bit
		if at < len(b) {
			b[at] ^= 1 << rng.IntN(8)
		}
	case 1: // a byte that is no text
		return insert(b, at, []byte{byte(rng.IntN(256))})
	case 2: // a part is gone
		return append(b[:at:at], b[end:]...)
	case 3: // a part is there twice
		return append(b[:end:end], b[at:]...)
	case 4: // cut off
		return b[:at]
	case 5: // another frame within
		return insert(b, at, []byte(goodFrames[rng.IntN(len(goodFrames))]))
	case 6: // long
		return insert(b, at, bytes.Repeat([]byte("x"), rng.IntN(5000)))
	}
	return b
}

var (
	jsonValue = regexp.MustCompile(`:("[^"]*"|\d+|null|\{\})`)
	jsonName  = regexp.MustCompile(`"([a-z_]+)":`)
)

func damageJSON(rng *rand.Rand, b []byte) []byte {
	odd := []string{
		"1e999", "-0", "9223372036854775808", "1.5", "-1", "true", `""`, "null", "{}", "[]", `"\ud800"`, `"\u0000"`,
		`"` + strings.Repeat("y", 70_000) + `"`, strings.Repeat("[", 70) + strings.Repeat("]", 70), `"2.0"`, `"turn_0"`, `"item/*"`,
	}
	which := jsonValue
	if rng.IntN(3) == 0 {
		which = jsonName
	}
	all := which.FindAllSubmatchIndex(b, -1)
	if len(all) == 0 {
		return b
	}
	at := all[rng.IntN(len(all))]
	switch {
	case which == jsonValue: // another value
		return append(append(b[:at[2]:at[2]], odd[rng.IntN(len(odd))]...), b[at[3]:]...)
	case rng.IntN(2) == 0: // another name
		names := []string{"id", "ID", "jsonrpc", "method", "params", "thread_id", "input", "after_seq", "zz", ""}
		return append(append(b[:at[2]:at[2]], names[rng.IntN(len(names))]...), b[at[3]:]...)
	default: // a member more, maybe one that is there
		return insert(b, at[0], []byte(`"`+string(b[at[2]:at[3]])+`":`+odd[rng.IntN(len(odd))]+`,`))
	}
}

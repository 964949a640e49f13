package fold

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// hand writes a vector by hand: events of the turn t, numbered from 1 unless they
// say otherwise.
func hand(name, about string, lines ...string) *vector {
	v := &vector{Name: "hand-" + name, About: about}
	for i, line := range lines {
		method, params := line, ""
		for j := range line {
			if line[j] == ' ' {
				method, params = line[:j], line[j+1:]
				break
			}
		}
		raw := jsontext.Value(`{"seq":` + fmt.Sprint(i+1) + `,"thread_id":"thread","turn_id":"t",` + params + `}`)
		if len(params) > 0 && params[0] == '{' {
			raw = jsontext.Value(params)
		}
		v.Events = append(v.Events, sent{Method: method, Params: raw})
	}
	return v
}

func (v *vector) lookAfter(events ...int) *vector {
	v.looks = events
	return v
}

func (v *vector) with(o bounds) *vector {
	v.Options = o
	return v
}

// Lineages of the vectors.
const (
	one    = `"attempt":1,"lineage":[{"step":"","epoch":1}]`
	two    = `"attempt":2,"lineage":[{"step":"","epoch":2}]`
	clone1 = `"attempt":1,"step":"setup/clone","epoch":1,"lineage":[{"step":"","epoch":1},{"step":"setup","epoch":1},{"step":"setup/clone","epoch":1}]`
	clone2 = `"attempt":1,"step":"setup/clone","epoch":2,"lineage":[{"step":"","epoch":1},{"step":"setup","epoch":1},{"step":"setup/clone","epoch":2}]`
	setup2 = `"attempt":2,"step":"setup","epoch":2,"lineage":[{"step":"","epoch":2},{"step":"setup","epoch":2}]`
)

func handVectors() []*vector {
	return []*vector{
		hand("worked-example", "The worked example of docs/rewind.md.",
			`turn/started "type":"started","state":"active","origin":"client",`+one,
			`item/created "item_id":"u","type":"created","status":"completed","attempt":1,"content":{"type":"user_message","role":"user","content":[]}`,
			`step/started "type":"started","status":"in_progress",`+clone1,
			`item/created "item_id":"a","status":"in_progress","content":{"type":"reasoning","text":""},`+clone1,
			`item/updated "item_id":"a","status":"interrupted","content":{"type":"reasoning","text":""},`+clone1,
			`stream/rewind "step":"setup/clone","new_epoch":2,"superseded_after_seq":2,"reason":"step_started"`,
			`step/started "type":"started","status":"in_progress",`+clone2,
			`item/created "item_id":"b","status":"completed","content":{"type":"plan","entries":[]},`+clone2,
			`stream/rewind "step":"","new_epoch":2,"superseded_after_seq":0,"reason":"agent_crash"`,
			`turn/started "state":"active","origin":"retry",`+two,
			`turn/late "type":"late","step":"setup/clone","epoch":2,"attempt":1,"event":{"method":"item/delta"}`,
			`step/started "status":"in_progress",`+setup2,
			`turn/completed "state":"completed","message":"Done.",`+two,
		).lookAfter(6, 9),
		hand("rule-to-the-letter", "Logs that no server writes: a bound that is still to come, and an item that a later try writes to.",
			`stream/rewind "step":"","new_epoch":2,"superseded_after_seq":4`,
			`holon/paused {"seq":2,"type":"paused"}`,
			`turn/progress "state":"running",`+one,
			`turn/progress "state":"waiting","message":"at the bound",`+one,
			`turn/progress "state":"interrupting",`+one,
			`item/created "item_id":"i","status":"in_progress","content":{"type":"reasoning","text":""},`+one,
			`item/delta "item_id":"i","delta":{"text":"old"},"offset":0,`+one,
			`item/delta "item_id":"i","delta":{"text":"new"},"offset":0,`+two,
			`item/updated "item_id":"i","status":"failed","content":{"type":"reasoning","text":"x"},`+one,
		).lookAfter(5, 7),
		hand("opposite-markers", "Two markers on one step, neither of which covers the other: the lower bound counts for the lower epochs.",
			`item/created "item_id":"a","status":"completed","content":{"type":"plan"},`+one,
			`item/created "item_id":"b","status":"completed","content":{"type":"plan"},`+one,
			`stream/rewind "step":"","new_epoch":2,"superseded_after_seq":1`,
			`item/created "item_id":"c","status":"completed","content":{"type":"plan"},`+two,
			`item/created "item_id":"d","status":"completed","content":{"type":"plan"},`+two,
			`stream/rewind "step":"","new_epoch":3,"superseded_after_seq":4`,
			`stream/rewind "step":"","new_epoch":2,"superseded_after_seq":0`,
		).lookAfter(3, 6),
		hand("positions", "Notifications without a place in the log, and positions that come without an event.",
			`stream/opened {"log_id":"log","after_seq":0,"latest_seq":9,"first_seq":1,"seq":9}`,
			`stream/heartbeat {"seq":5}`,
			`turn/started {"seq":4,"turn_id":"t","state":"active"}`,
			`thread/started {"thread_id":"default"}`,
			`holon/log {"stream_id":"s","position":1,"level":"info","message":"hello"}`,
			`holon/paused {"seq":6,"type":"paused"}`,
			`stream/closing {"code":"server_stopping","reason":"","reconnect":true,"retry_after_ms":100,"seq":7}`,
			`item/delta {"seq":8,"thread_id":"thread","turn_id":"t","item_id":"i","delta":{"text":"tail"},"offset":100}`,
			`stream/heartbeat {"seq":3}`,
		),
		hand("offsets", "Deltas whose offsets go on, jump back (also to 0), jump ahead, repeat, and are empty.",
			`item/created "item_id":"i","status":"in_progress","content":{"type":"agent_message","content":[{"type":"output_text","text":"Hello"}]}`,
			`item/delta "item_id":"i","delta":{"text":", world"},"offset":5`,
			`item/delta "item_id":"i","delta":{"text":", moon"},"offset":5`,
			`item/delta "item_id":"i","delta":{"text":""},"offset":5`,
			`item/delta "item_id":"i","delta":{"text":"Bye"},"offset":0`,
			`item/delta "item_id":"i","delta":{"text":"far"},"offset":40`,
			`item/delta "item_id":"i","delta":{"text":"ther"},"offset":43`,
			`item/delta "item_id":"i","delta":{"text":"back"},"offset":39`,
			`item/delta "item_id":"i","delta":{"text":"below"},"offset":-4`,
		).lookAfter(2, 3, 4, 5, 6, 7, 8),
		hand("cut-characters", "Offsets count bytes. One that cuts a character leaves bytes that are not UTF-8.",
			`item/created "item_id":"i","status":"in_progress","content":{"type":"reasoning","text":"\ufeffäöü😀"}`,
			`item/delta "item_id":"i","delta":{"text":"三"},"offset":13`,
			`item/delta "item_id":"i","delta":{"text":"x"},"offset":12`,
			`item/delta "item_id":"i","delta":{"text":"yz😀"},"offset":13`,
			`item/delta "item_id":"i","delta":{"text":"!"},"offset":4`,
			`item/delta "item_id":"i","delta":{"text":"?"},"offset":3`,
			`item/delta "item_id":"i","delta":{"text":"e\u0301\u0000\u2028"},"offset":1`,
		).lookAfter(1, 2, 3, 4, 5, 6),
		hand("contents", "What each kind of content says of the text, and contents of other shapes.",
			`item/created "item_id":"message","status":"in_progress","content":{"type":"agent_message","content":[{"type":"output_text","text":"a"},{"type":"output_text","text":"b"}]}`,
			`item/created "item_id":"empty","status":"in_progress","content":{"type":"agent_message","content":[]}`,
			`item/created "item_id":"reasoning","status":"in_progress","content":{"type":"reasoning","text":"r"}`,
			`item/created "item_id":"tool","status":"in_progress","content":{"type":"tool_call","output":"o"}`,
			`item/created "item_id":"command","status":"in_progress","content":{"type":"command_execution","command":"ls","output":"c"}`,
			`item/created "item_id":"user","status":"completed","content":{"type":"user_message","content":[{"type":"text","text":"hi"}]}`,
			`item/created "item_id":"unknown","status":"glowing","content":{"type":"hologram","text":"h"},"truncated":true`,
			`item/created "item_id":"string","status":"in_progress","content":"just text"`,
			`item/created "item_id":"null","status":"in_progress","content":null`,
			`item/created "item_id":"none","status":"in_progress"`,
			`item/created "item_id":"shape","status":"in_progress","content":{"type":"reasoning","text":{}}`,
			`item/created "item_id":"number","status":"in_progress","content":{"type":7,"text":"x"}`,
			`item/delta "item_id":"none","delta":{"text":"grows all the same"},"offset":0`,
			`item/updated "item_id":"tool","status":"completed","content":{"type":"tool_call","output":"whole"}`,
			`item/updated "item_id":"message","status":"completed"`,
			`item/deleted "item_id":"user","status":"deleted"`,
			`item/deleted "item_id":"never-seen"`,
			`item/sparkled "item_id":"user","status":{"a":1},"content":7`,
		),
		hand("summaries", "With content=summary there are no deltas, and contents have only type and title.",
			`turn/started "state":"active","origin":"client",`+one,
			`item/created {"seq":2,"turn_id":"t","item_id":"a","status":"in_progress","content":{"type":"agent_message"},`+one+`}`,
			`item/created {"seq":3,"turn_id":"t","item_id":"c","status":"in_progress","content":{"type":"command_execution","title":"ls"},`+one+`}`,
			`stream/heartbeat {"seq":40}`,
			`item/updated {"seq":41,"turn_id":"t","item_id":"a","status":"completed","content":{"type":"agent_message"},`+one+`}`,
			`turn/completed {"seq":42,"turn_id":"t","state":"completed","message":"…","message_truncated":true,`+one+`}`,
		),
		hand("ends", "An end is superseded by a retry, which waits first: of such a turn its progress may be all that is known.",
			`turn/queued "state":"queued","reason":"busy","position":1`,
			`turn/started "state":"active","origin":"queue",`+one,
			`step/started "status":"in_progress",`+clone1,
			`step/ended "status":"failed","reason":"exit status 1",`+clone1,
			`turn/failed "state":"failed","message":"It failed.","reason":"agent",`+one,
			`stream/rewind "step":"","new_epoch":2,"superseded_after_seq":0,"reason":"requested"`,
			`turn/progress "state":"waiting","message":"in 5 s",`+two,
			`turn/started "state":"active","origin":"retry",`+two,
			`turn/interrupted "state":"interrupted","message":"Turn interrupted: enough","reason":"client",`+two,
			`turn/reviewed "state":"interrupted","verdict":"approved","reason":"not of the end"`,
		).lookAfter(1, 2, 4, 5, 6, 7, 8),
		hand("forgotten", "Bounds: the ended turn whose last event is the oldest goes first, then the open ones; a late event brings none back.",
			`turn/started {"seq":1,"turn_id":"long"}`,
			`turn/started {"seq":2,"turn_id":"a"}`,
			`turn/completed {"seq":3,"turn_id":"a"}`,
			`turn/started {"seq":4,"turn_id":"b"}`,
			`turn/failed {"seq":5,"turn_id":"b"}`,
			`item/created {"seq":6,"turn_id":"a","item_id":"after","status":"completed"}`,
			`turn/started {"seq":7,"turn_id":"c"}`,
			`turn/interrupted {"seq":8,"turn_id":"c"}`,
			`turn/late {"seq":9,"turn_id":"b","step":"","epoch":1}`,
			`turn/started {"seq":10,"turn_id":"d"}`,
			`turn/started {"seq":11,"turn_id":"e"}`,
			`turn/started {"seq":12,"turn_id":"f"}`,
			`stream/rewind {"seq":13,"turn_id":"a","step":"","new_epoch":2,"superseded_after_seq":0}`,
			`turn/progress {"seq":14,"turn_id":"long","state":"running",`+one+`}`,
		).with(bounds{KeepEnded: 2, KeepTurns: 4}).lookAfter(5, 8, 9, 10, 11, 12, 13),
		hand("no-bounds", "-1 means no bound, and a turn whose end is superseded counts as open again.",
			`turn/started {"seq":1,"turn_id":"a",`+one+`}`,
			`turn/completed {"seq":2,"turn_id":"a","state":"completed",`+one+`}`,
			`turn/completed {"seq":3,"turn_id":"b"}`,
			`stream/rewind {"seq":4,"turn_id":"a","step":"","new_epoch":2,"superseded_after_seq":0}`,
			`turn/completed {"seq":5,"turn_id":"c"}`,
		).with(bounds{KeepEnded: -1, KeepTurns: -1}),
		hand("ended-again", "With one ended turn kept, a turn that a marker reopens is not the one to be forgotten.",
			`turn/started {"seq":1,"turn_id":"a",`+one+`}`,
			`turn/completed {"seq":2,"turn_id":"a","state":"completed",`+one+`}`,
			`stream/rewind {"seq":3,"turn_id":"a","step":"","new_epoch":2,"superseded_after_seq":0}`,
			`turn/completed {"seq":4,"turn_id":"b"}`,
			`turn/completed {"seq":5,"turn_id":"c"}`,
			`holon/resumed {"seq":6,"type":"resumed"}`,
		).with(bounds{KeepEnded: 1}).lookAfter(3, 4),
	}
}

package notify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/internal/test/notifytest"
)

const summaryHead = `{"seq":7,"thread_seq":3,"thread_id":"thread_a","turn_id":"turn_a","attempt":1,"timestamp":"2026-11-23T10:00:00.000Z"`

// What a summary leaves of each event, and that a member that is not named here stays.
func TestASummaryHasTypesTitlesAndBeginnings(t *testing.T) {
	long := strings.Repeat("ü", 5000)
	item := func(content string) string {
		return `,"item_id":"i","type":"updated","status":"failed","content":` + content
	}
	for _, c := range []struct{ method, body, want string }{
		{ItemCreated, item(`{"type":"user_message","role":"user","content":[{"type":"input_text","text":"secret"}],"origin":"client","entries":[{"entry_id":"ent_1","summary":"x"}]}`), item(`{"type":"user_message"}`)},
		{ItemUpdated, item(`{"type":"agent_message","role":"assistant","content":[{"type":"output_text","text":"`+long+`"}],"raw":[{"title":"no"}]}`) + `,"truncated":true,"total_bytes":9`, item(`{"type":"agent_message"}`) + `,"truncated":true,"total_bytes":9`},
		{ItemCreated, item(`{"type":"reasoning","text":"t","summary":"s"}`), item(`{"type":"reasoning"}`)},
		{ItemUpdated, item(`{"type":"tool_call","tool_call_id":"c","name":"n","title":"Read \"main.go\"","kind":"read","input":{"title":"no"},"output":"` + long + `","error":"e"}`), item(`{"type":"tool_call","title":"Read \"main.go\""}`)},
		{ItemUpdated, item(`{"type":"command_execution","title":"","kind":"execute","command":"make test","output":"x"}`), item(`{"type":"command_execution","title":"make test"}`)},
		{ItemUpdated, item(`{"type":"command_execution","command":"make test","title":"Run the tests"}`), item(`{"type":"command_execution","title":"Run the tests"}`)},
		{ItemCreated, item(`{"type":"file_change","changes":[{"path":"a.go","operation":"add","new_text":"x"},{"path":"b.go"}]}`), item(`{"type":"file_change","title":"a.go"}`)},
		{ItemCreated, item(`{"type":"plan","entries":[{"content":"first","status":"completed"},{"content":"second","priority":"high","status":"in_progress"},{"content":"third","status":"in_progress"}]}`), item(`{"type":"plan","title":"second"}`)},
		{ItemCreated, item(`{"type":"plan","entries":[{"content":"first","status":"pending"},{"status":"pending"},7]}`), item(`{"type":"plan","title":"first"}`)},
		{ItemCreated, item(`{"type":"plan","entries":[]}`), item(`{"type":"plan"}`)},
		{ItemCreated, item(`{"type":"permission_request","title":"` + long + `","subject":{"command":"rm"},"options":[{"option_id":"o"}]}`), item(`{"type":"permission_request","title":"` + strings.Repeat("ü", 199) + `…"}`)},
		{ItemCreated, item(`{"type":"question","message":"Which one?","schema":{"title":"no"}}`), item(`{"type":"question","title":"Which one?"}`)},
		{ItemCreated, item(`{"type":"notice","severity":"info","message":"m","data":{}}`), item(`{"type":"notice","title":"m"}`)},
		{ItemCreated, item(`{"type":"usage","total_tokens":9}`), item(`{"type":"usage"}`)},
		{ItemCreated, item(`{"type":"extension","native_kind":"n","payload":{"title":"no"}}`), item(`{"type":"extension"}`)},
		{ItemCreated, item(`{"type":"of the future","title":5,"more":[[]]}`), item(`{"type":"of the future"}`)},
		{ItemCreated, item(`7`), `,"item_id":"i","type":"updated","status":"failed"`},
		{ItemDeleted, `,"item_id":"i","type":"deleted","status":"deleted"`, `,"item_id":"i","type":"deleted","status":"deleted"`},
		{TurnCompleted, `,"type":"completed","message":"` + long + `","usage":{"total_tokens":9},"new":[1]`, `,"type":"completed","message":"` + strings.Repeat("ü", 200) + `","usage":{"total_tokens":9},"new":[1],"message_truncated":true`},
		{TurnCompleted, `,"message":"` + long + `","message_truncated":true,"title":"t"`, `,"message":"` + strings.Repeat("ü", 200) + `","title":"t","message_truncated":true`},
		{TurnCompleted, `,"message":"short","message_truncated":true`, `,"message":"short","message_truncated":true`},
		{TurnFailed, `,"error":{"kind":"k","message":"m"},"message":"` + strings.Repeat("x", 200) + `"`, `,"error":{"kind":"k","message":"m"},"message":"` + strings.Repeat("x", 200) + `"`},
		{TurnProgress, `,"state":"waiting","result":{"message":"` + long + `","stop_reason":"end_turn"},"message":"m"`, `,"state":"waiting","result":{"message":"` + strings.Repeat("ü", 200) + `","stop_reason":"end_turn","message_truncated":true},"message":"m"`},
		{ThreadStarted, `,"state":"running","metadata":{"k":"` + long + `"},"title":"t","parent":{"thread_id":"p"}`, `,"state":"running","title":"t","parent":{"thread_id":"p"}`},
		{ThreadUpdated, `,"config":{"mode":"m"},"agent_session_id":"s"`, `,"agent_session_id":"s"`},
		{TurnQueued, `,"metadata":{"a":"secret"},"position":1`, `,"position":1`},
		{InboxReceived, `,"raw_id":"raw_7","summary":"s","payload":{"text":"x"},"digest_id":"dig_7"`, `,"raw_id":"raw_7","summary":"s","digest_id":"dig_7"`},
		{TurnLate, `,"type":"late","step":"s","epoch":1,"event":{"method":"item/created","params":{"item_id":"i","content":{"type":"notice","message":"m","data":1}}}`, `,"type":"late","step":"s","epoch":1,"event":{"method":"item/created","params":{"item_id":"i","content":{"type":"notice","title":"m"}}}`},
		{TurnLate, `,"event":{"method":"item/delta","params":{"item_id":"i","delta":{"text":"x"},"offset":3}}`, `,"event":{"method":"item/delta","params":{"item_id":"i","offset":3}}`},
		{StreamRewind, `,"type":"rewind","message":"` + long + `"`, `,"type":"rewind","message":"` + long + `"`},
		{BridgeCreated, `,"payload":1,"content":{},"message":"m"`, `,"payload":1,"content":{},"message":"m"`},
	} {
		if got := string(AppendSummary(nil, c.method, []byte(summaryHead+c.body+`}`))); got != summaryHead+c.want+`}` {
			t.Errorf("%s%.200s\n is %.400s\nwant %.400s", c.method, c.body, got, summaryHead+c.want+`}`)
		}
	}
}

// A text is cut between characters, also if they are escaped.
func TestATextIsCutBetweenCharacters(t *testing.T) {
	for _, char := range []string{"x", "ü", "😀", `\n`, `\"`, `\\`, `\u00e4`, `\ud83d\ude00`, `\uD83D\uDE00`, `\ud83d`, `\ude00`} {
		for n := 198; n < 203; n++ {
			in := `{"message":"` + strings.Repeat(char, n) + `"}`
			want := in
			if n > SummaryText {
				want = `{"message":"` + strings.Repeat(char, SummaryText) + `","message_truncated":true}`
			}
			if got := string(AppendSummary(nil, TurnCompleted, []byte(in))); got != want {
				t.Errorf("%d of %s: %s", n, char, got)
			}
		}
	}
}

func TestWhatIsNoEventIsNotSummarized(t *testing.T) {
	for _, in := range []string{``, `7`, `"x"`, `[{"content":{}}]`, `{"content":`, `{"content":{"type":"x"}`, `{"content" {}}`, `{"content":{"entries":[}}`, `nul`} {
		if got := string(AppendSummary([]byte("before "), ItemCreated, []byte(in))); got != "before "+in {
			t.Errorf("%q became %q", in, got)
		}
	}
}

// A summary takes no memory for what it leaves out.
func TestTheSummaryOfALargeEventIsMadeWithoutACopy(t *testing.T) {
	params := []byte(summaryHead + `,"content":{"type":"tool_call","title":"t","output":"` + strings.Repeat("x", 4<<20) + `"}}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 10 {
		AppendSummary(nil, ItemUpdated, params)
	}
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) / 10; n > 256<<10 {
		t.Errorf("the summary of 4 MiB took %d bytes", n)
	}
}

// Whatever the params are: the summary is JSON, not longer than they are by more than
// the one member that it adds to an object, and names the same.
func FuzzSummary(f *testing.F) {
	for _, method := range []string{ItemCreated, TurnCompleted, TurnProgress, ThreadStarted, InboxReceived, TurnLate} {
		for _, body := range []string{
			`"content":{"type":"plan","entries":[{"content":"c","status":"in_progress"}],"changes":[{"path":"p"}]}`,
			`"content":{"title":"\ud83d\ude00","command":"c","message":"m"},"delta":{"text":"x"}`,
			`"message":"` + strings.Repeat(`ü\n`, 150) + `","message_truncated":false,"result":{"message":"` + strings.Repeat("x", 250) + `"}`,
			`"event":{"method":"item/created","params":{"content":{"type":"x","title":"` + strings.Repeat("y", 300) + `"}}}`,
			`"metadata":{},"config":[],"payload":null,"raw":[]`,
		} {
			f.Add(method, []byte(summaryHead+`,"item_id":"i",`+body+`}`))
		}
	}
	f.Fuzz(func(t *testing.T, method string, params []byte) {
		var before map[string]json.RawMessage
		if json.Unmarshal(params, &before) != nil || before == nil {
			return
		}
		kept := bytes.Clone(params)
		got := AppendSummary(nil, method, params)
		if !bytes.Equal(kept, params) {
			t.Fatal("the event itself was changed")
		}
		var after map[string]json.RawMessage
		if err := json.Unmarshal(got, &after); err != nil {
			t.Fatalf("%v: %s", err, got)
		}
		const flag = `,"message_truncated":true`
		if len(got) > len(params)+3*len(flag)+len("…") {
			t.Fatalf("%d bytes became %d", len(params), len(got))
		}
		for _, name := range []string{"seq", "thread_seq", "thread_id", "turn_id", "item_id", "attempt", "status", "state", "lineage"} {
			if !bytes.Equal(before[name], after[name]) {
				t.Fatalf("%s was %s, is %s", name, before[name], after[name])
			}
		}
		for _, name := range slices.Collect(maps.Keys(after)) {
			if before[name] == nil && name != "message_truncated" {
				t.Fatalf("%s was not there", name)
			}
		}
	})
}

// The summary of a stream is the same from the tail and from the log: without deltas,
// in chunks of the usual size, with the seqs of what it has.
func TestAStreamOfSummariesIsTheSameFromTailAndLog(t *testing.T) {
	var events []Event
	var want []string
	for i := range 400 {
		method, body := ItemUpdated, fmt.Sprintf(`"content":{"type":"tool_call","title":"%s","output":%q}`, strings.Repeat("t", i), strings.Repeat("o", 200*i))
		switch {
		case i == 200:
			body = fmt.Sprintf(`"content":{"type":"tool_call","title":"large","output":%q}`, strings.Repeat("o", 3<<20))
		case i%3 == 0:
			method, body = ItemDelta, `"delta":{"text":"x"}`
		}
		e := Event{Seq: int64(i + 1), ThreadID: "a", Method: method, Params: fmt.Appendf(nil, `{"seq":%d,"thread_seq":%d,"thread_id":"a","more":"%0500d",%s}`, i+1, i+1, i, body)}
		events = append(events, e)
		if method != ItemDelta {
			short := e
			short.Params = AppendSummary(nil, method, e.Params)
			want = append(want, string(short.AppendFrame(nil)))
		}
	}
	live := NewTail(16<<20, 0)
	live.Publish(events[:150])
	live.Publish(events[150:])
	for name, tail := range map[string]*Tail{"tail": live, "log": NewTail(0, int64(len(events)))} {
		c := NewCursor(tail, pageLog(events), Filter{}, 0)
		c.Summarize()
		budget := NewBudget(8 << 20)
		c.Share(budget)
		var got []string
		var frames notifytest.Frames
		for c.After() < 400 {
			chunk, err := c.Next(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			if len(chunk) > ChunkBytes || budget.Used() > ChunkBytes {
				t.Errorf("from the %s: a chunk of %d bytes, %d are held", name, len(chunk), budget.Used())
			}
			frames.Each(chunk, func(seq int64, frame []byte) {
				if !strings.Contains(string(frame), fmt.Sprintf(`"seq":%d,`, seq)) {
					t.Errorf("seq %d of %s", seq, frame)
				}
				got = append(got, string(frame))
			})
		}
		if !slices.Equal(got, want) {
			t.Errorf("from the %s: %d frames, want %d", name, len(got), len(want))
		}
		if n := c.After(); n != 400 {
			t.Errorf("from the %s: the cursor is at %d", name, n)
		}
		c.Close()
	}
}

package exec

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/internal/test/agenttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// printed runs the events through an output, as of one process that exits with
// 0.
func printed(t testing.TB, text string) (*agenttest.Sink, turns.Outcome) {
	t.Helper()
	return printedInPieces(t, []byte(text), len(text)+1)
}

func printedInPieces(t testing.TB, text []byte, piece int) (*agenttest.Sink, turns.Outcome) {
	t.Helper()
	sink := agenttest.NewSink(t)
	out := sink.Run(t.Context(), replay{text, piece}, turns.Prompt{})
	return sink, out
}

// replay is an agent that feeds bytes to an eventOutput, without a process.
type replay struct {
	text  []byte
	piece int
}

func (replay) Info() turns.AgentInfo { return turns.AgentInfo{Name: "replay", Kind: Kind} }

func (r replay) Run(ctx context.Context, p *turns.Prompt) turns.Outcome {
	o := newEventOutput(p, &feeder{}, items.FormatMarkdown)
	if err := o.read(ctx, pieces{bytes.NewReader(r.text), r.piece}); err != nil {
		return turns.Outcome{State: turns.Interrupted}
	}
	if err := o.finish(ctx, turns.Completed); err != nil {
		return turns.Outcome{State: turns.Interrupted}
	}
	if o.result() != nil {
		return o.result().outcome()
	}
	return turns.Outcome{}
}

// pieces reads at most n bytes at once.
type pieces struct {
	io.Reader
	size int
}

func (p pieces) Read(b []byte) (int, error) { return p.Reader.Read(b[:min(len(b), p.size)]) }

// notices returns the messages of the warnings.
func notices(t testing.TB, s *agenttest.Sink) (out []string) {
	t.Helper()
	for _, it := range s.Items() {
		if n, ok := it.Content.(items.Notice); ok && n.Severity == "warning" {
			if it.Status != items.StatusCompleted {
				t.Errorf("notice %q is %s", n.Message, it.Status)
			}
			out = append(out, n.Message)
		}
	}
	return out
}

func summary(s *agenttest.Sink) string {
	var out []string
	for _, it := range s.Items() {
		out = append(out, fmt.Sprintf("%s %s %q", it.Kind, it.Status, it.Text))
	}
	return strings.Join(out, "\n")
}

func TestEventsBecomeItems(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"message":                {`{"event":"message","text":"hi"}`, `agent_message completed "hi"`},
		"message without text":   {`{"event":"message"}`, `agent_message completed ""`},
		"last line without LF":   {"\n\r\n" + `{"event":"message","text":"hi"}` + "\r\n" + `{"event":"message","text":"ho"}`, "agent_message completed \"hi\"\nagent_message completed \"ho\""},
		"deltas":                 {`{"event":"delta","id":"m","text":"a "}` + "\n" + `{"event":"delta","id":"m","text":"b"}`, `agent_message completed "a b"`},
		"deltas ended":           {`{"event":"delta","id":"m","text":"a"}` + "\n" + `{"event":"item","id":"m","status":"failed"}`, `agent_message failed "a"`},
		"empty delta":            {`{"event":"delta","id":"m","text":""}`, `agent_message completed ""`},
		"item without id":        {`{"event":"item","content":{"type":"notice","message":"n"}}`, `notice completed ""`},
		"item without id ended":  {`{"event":"item","status":"declined","content":{"type":"plan","entries":[{"content":"x"}]}}`, `plan declined ""`},
		"reasoning":              {`{"event":"item","id":"r","content":{"type":"reasoning","text":"hm"}}` + "\n" + `{"event":"delta","id":"r","text":" yes"}`, `reasoning completed "hm yes"`},
		"tool left open":         {`{"event":"item","id":"t","content":{"type":"tool_call","title":"T"}}`, `tool_call in_progress ""`},
		"tool replaced":          {`{"event":"item","id":"t","content":{"type":"tool_call","title":"T"}}` + "\n" + `{"event":"delta","id":"t","text":"x"}` + "\n" + `{"event":"item","id":"t","status":"completed","content":{"type":"tool_call","title":"T","output":"all"}}`, `tool_call completed "all"`},
		"deleted":                {`{"event":"message","id":"m","text":"a"}` + "\n" + `{"event":"delete","id":"m"}`, `agent_message deleted "a"`},
		"agent_message item":     {`{"event":"item","id":"m","content":{"type":"agent_message","content":[{"text":"t"}]}}`, `agent_message completed "t"`},
		"agent_message of parts": {`{"event":"item","id":"m","content":{"type":"agent_message","content":[{"text":"t"},{"type":"output_text","text":"u"}]}}`, `agent_message completed "tu"`},
	} {
		sink, _ := printed(t, c.text)
		if got := summary(sink); got != c.want {
			t.Errorf("%s: made\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

func TestContentIsCompleted(t *testing.T) {
	sink, _ := printed(t, `{"event":"item","id":"run","content":{"type":"command_execution","command":"ls","exit_code":0}}
{"event":"item","id":"call","content":{"type":"tool_call","title":"T","input":{"deep":[1,{"x":"y"}]}}}
{"event":"item","id":"e","content":{"type":"error","message":"m"}}
{"event":"item","content":{"type":"extension","native_kind":"mine","payload":[1]}}
{"event":"item","id":"m","content":{"type":"agent_message","phase":"final"}}`)
	made := sink.Items()
	if len(made) != 5 {
		t.Fatalf("made\n%s", summary(sink))
	}
	if c := made[0].Content.(items.CommandExecution); c.ToolCallID != "run" || c.ToolKind != "execute" || c.Title != "ls" || c.ExitCode == nil || *c.ExitCode != 0 {
		t.Errorf("%+v", c)
	}
	if c := made[1].Content.(items.ToolCall); c.ToolCallID != "call" || c.ToolKind != "other" || string(c.Input) != `{"deep":[1,{"x":"y"}]}` {
		t.Errorf("%+v", c)
	}
	if c := made[2].Content.(items.Error); c.ErrorKind != "agent_failed" {
		t.Errorf("%+v", c)
	}
	if c := made[3].Content.(items.Extension); c.NativeKind != "mine" || string(c.Payload) != "[1]" {
		t.Errorf("%+v", c)
	}
	if c := made[4].Content.(items.AgentMessage); c.Role != "assistant" || c.Phase != "final" || len(c.Content) != 1 {
		t.Errorf("%+v", c)
	}
}

func TestUsageAndProgressMakeNoItems(t *testing.T) {
	sink, _ := printed(t, `{"event":"progress","message":"reading"}
{"event":"usage","input_tokens":5,"output_tokens":7,"cost":{"amount":0.5,"currency":"EUR"}}
{"event":"progress","message":"`+strings.Repeat("é", 1000)+`"}`)
	u := sink.Usage()
	if u == nil || u.Type != items.KindUsage || u.InputTokens != 5 || u.TotalTokens != 12 || u.Cost == nil || u.Cost.Amount != 0.5 {
		t.Errorf("usage %+v", u)
	}
	if p := sink.Progress(); len(p) != 2 || p[0] != "reading" || len(p[1]) != maxProgress+len("…") {
		t.Errorf("progress %q", p)
	}
	if len(sink.Items()) != 0 {
		t.Errorf("made\n%s", summary(sink))
	}
}

func TestResultDecidesTheOutcome(t *testing.T) {
	for line, want := range map[string]turns.Outcome{
		`{"event":"result","state":"completed"}`:                                     {State: turns.Completed, StopReason: "end_turn"},
		`{"event":"result","state":"completed","message":"m","stop_reason":"limit"}`: {State: turns.Completed, Message: "m", StopReason: "limit"},
		`{"event":"result","state":"completed","message":"m","format":"plain"}`:      {State: turns.Completed, Message: "m", Format: "plain", StopReason: "end_turn"},
		`{"event":"result","state":"failed","message":"no key"}`:                     {State: turns.Failed, StopReason: "error", Failure: &turns.Failure{Kind: "agent_failed", Message: "no key"}},
		`{"event":"result","state":"failed"}`:                                        {State: turns.Failed, StopReason: "error", Failure: &turns.Failure{Kind: "agent_failed", Message: "the agent said that it failed"}},
	} {
		_, out := prompt(t, shell(t, "cat >/dev/null; printf '%s\\n' '"+line+"'", events, func(c *Config) { c.Input = InputText }), turns.Prompt{}, "")
		if out.State != want.State || out.Message != want.Message || out.StopReason != want.StopReason || (out.Failure == nil) != (want.Failure == nil) || (out.Failure != nil && *out.Failure != *want.Failure) {
			t.Errorf("%s: %+v, want %+v", line, out, want)
		}
	}
	_, out := prompt(t, shell(t, `echo '{"event":"result","state":"completed"}'; exit 4`, events), turns.Prompt{}, "")
	if out.State != turns.Failed || out.Failure.Message != "exit status 4" {
		t.Errorf("a bad exit status after a good result: %+v", out)
	}
}

// badLines are invalid lines, with a part of the notice about them.
var badLines = map[string]string{
	`hello`:                               "invalid character",
	`{"event":"message","text":"a"`:       "unexpected EOF",
	`{"event":"message"} {}`:              "invalid character",
	`[]`:                                  `it must be an object`,
	`5`:                                   `it must be an object`,
	`null`:                                `no member "event"`,
	`{}`:                                  `no member "event"`,
	`{"Event":"message"}`:                 `no member "event"`,
	`{"event":null}`:                      `no member "event"`,
	`{"event":"shout"}`:                   `unknown event "shout"`,
	`{"event":"message","text":5}`:        `text: it must be a string`,
	`{"event":"message","txt":"a"}`:       `txt: there is no such member`,
	`{"event":"message","Text":"a"}`:      `Text: there is no such member`,
	`{"event":"message","event":"delta"}`: "event: the member is there twice",
	`{"event":"message","id":"old","text":"a"}`:                                                                                  `already something with id "old"`,
	`{"event":"message","id":"` + strings.Repeat("i", 257) + `"}`:                                                                "id is longer than 256 bytes",
	`{"event":"delta","text":"a"}`:                                                                                               "id is missing",
	`{"event":"delta","id":"old","text":"a"}`:                                                                                    "it has ended as completed",
	`{"event":"item","id":"x"}`:                                                                                                  `there is no item "x"`,
	`{"event":"item"}`:                                                                                                           "content is missing",
	`{"event":"item","id":"old","status":"failed"}`:                                                                              "it has ended as completed",
	`{"event":"item","id":"open"}`:                                                                                               "nothing to change",
	`{"event":"item","id":"open","status":"deleted"}`:                                                                            `status "deleted" cannot be set`,
	`{"event":"item","id":"open","status":"great"}`:                                                                              `status "great" cannot be set`,
	`{"event":"item","id":"open","content":{"type":"reasoning","text":"a"}}`:                                                     "is a plan and stays one",
	`{"event":"delta","id":"open","text":"a"}`:                                                                                   "it has no text that grows",
	`{"event":"item","id":"x","status":"pending","content":{"type":"plan","entries":[]}}`:                                        `status "pending" cannot be set`,
	`{"event":"item","status":"in_progress","content":{"type":"plan","entries":[]}}`:                                             "without id cannot be ended",
	`{"event":"item","id":"x","content":{"type":"plan","entires":[]}}`:                                                           `content: entires: there is no such member`,
	`{"event":"item","id":"x","content":{"type":"user_message"}}`:                                                                "only clients make user messages",
	`{"event":"item","id":"x","content":{"type":"question","message":"?"}}`:                                                      `the events "ask" and "question"`,
	`{"event":"item","id":"x","content":{"type":"usage"}}`:                                                                       `the event "usage"`,
	`{"event":"item","id":"x","content":{"type":"poem"}}`:                                                                        `there is no type "poem"`,
	`{"event":"item","id":"x","content":{}}`:                                                                                     "type is missing",
	`{"event":"item","id":"x","content":7}`:                                                                                      `content: it must be an object`,
	`{"event":"item","id":"x","content":{"type":"agent_message","content":[{"type":"image"}]}}`:                                  "content[0].type: it must be output_text",
	`{"event":"item","id":"x","content":{"type":"agent_message","format":"html","content":[]}}`:                                  "format: it must be markdown or plain",
	`{"event":"item","id":"x","content":{"type":"extension","native_kind":"k"}}`:                                                 "payload are needed",
	`{"event":"item","id":"x","content":{"type":"tool_call","input":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}}`: "nested 42 deep",
	`{"event":"delete","id":"x"}`:                                                                                                `there is no item "x"`,
	`{"event":"delete"}`:                                                                                                         `there is no item ""`,
	`{"event":"delete","id":"gone"}`:                                                                                             "it is deleted",
	`{"event":"usage","input_tokens":-1}`:                                                                                        "cannot be negative",
	`{"event":"usage","input_tokens":1.5}`:                                                                                       `input_tokens: it must be an integer that fits 64 bits`,
	`{"event":"ask","id":"q","title":"t"}`:                                                                                       `questions need input = "json"`,
	`{"event":"ask","title":"t"}`:                                                                                                "id is missing",
	`{"event":"ask","id":"q","title":"t","subject":{"tool":"x"}}`:                                                                `subject.tool`,
	`{"event":"ask","id":"q","title":"t","subject":"x"}`:                                                                         `subject: it must be an object`,
	`{"event":"ask","id":"q"}`:                                                                                                   "title is missing",
	`{"event":"ask","id":"open","title":"t"}`:                                                                                    `already something with id "open"`,
	`{"event":"ask","id":"q","title":"t","options":[{"option_id":"a","kind":"maybe"}]}`:                                          `options[0].kind "maybe"`,
	`{"event":"ask","id":"q","title":"t","options":[{"kind":"allow_once"}]}`:                                                     "options[0].option_id is missing",
	`{"event":"ask","id":"q","title":"t","on_expiry":"allow_always"}`:                                                            "is the kind of no option",
	`{"event":"ask","id":"q","title":"t","expires_seconds":-1}`:                                                                  "expires_seconds must be",
	`{"event":"ask","id":"q","title":"t","expires_seconds":1e300}`:                                                               "expires_seconds must be",
	`{"event":"question","id":"q"}`:                                                                                              "message is missing",
	`{"event":"question","id":"q","message":"m","schema":{},"url":"u"}`:                                                          "exclude each other",
	`{"event":"question","id":"q","message":"m","schema":[]}`:                                                                    "no JSON Schema",
}

// Whatever an agent writes for text is shown, and what JSON has no number for is null.
func TestMistakesOfEncodersAreMended(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"half of a character":       {`{"event":"message","text":"x \ud83d"}`, `agent_message completed "x �"`},
		"bytes that are not UTF-8":  {`{"event":"message","text":"x` + "\xff" + `"}`, `agent_message completed "x�"`},
		"a byte order mark":         {"\ufeff" + `{"event":"message","text":"first line"}`, `agent_message completed "first line"`},
		"no number":                 {`{"event":"item","content":{"type":"tool_call","title":"T","input":{"loss":[NaN,-Infinity]}}}`, `tool_call completed ""`},
		"halves over deltas":        {`{"event":"delta","id":"a","text":"good \ud83d"}` + "\n" + `{"event":"delta","id":"a","text":"\ude00 morning"}`, `agent_message completed "good 😀 morning"`},
		"halves with a mark":        {"\ufeff" + `{"event":"delta","id":"a","text":"\ud83d"}` + "\n\ufeff" + `{"event":"delta","id":"a","text":"\ude00"}`, `agent_message completed "😀"`},
		"halves of two texts":       {`{"event":"delta","id":"a","text":"1\ud83d"}` + "\n" + `{"event":"delta","id":"b","text":"2\ud83d"}` + "\n" + `{"event":"delta","id":"a","text":"\ude00"}` + "\n" + `{"event":"delta","id":"b","text":"\ude01"}`, "agent_message completed \"1😀\"\nagent_message completed \"2😁\""},
		"a second half alone":       {`{"event":"delta","id":"a","text":"x"}` + "\n" + `{"event":"delta","id":"a","text":"\ude00"}`, `agent_message completed "x�"`},
		"the other half never":      {`{"event":"delta","id":"a","text":"x\ud83d"}`, `agent_message completed "x�"`},
		"another character instead": {`{"event":"delta","id":"a","text":"x\ud83d"}` + "\n" + `{"event":"delta","id":"a","text":"y"}`, `agent_message completed "x�y"`},
		"ended within a character":  {`{"event":"delta","id":"a","text":"x\ud83d"}` + "\n" + `{"event":"item","id":"a","status":"failed"}`, `agent_message failed "x�"`},
		"output of a tool":          {`{"event":"item","id":"t","content":{"type":"tool_call","title":"T"}}` + "\n" + `{"event":"delta","id":"t","text":"\ud83d"}`, `tool_call in_progress "�"`},
		"replaced by a whole text":  {`{"event":"item","id":"r","content":{"type":"reasoning","text":""}}` + "\n" + `{"event":"delta","id":"r","text":"x\ud83d"}` + "\n" + `{"event":"item","id":"r","content":{"type":"reasoning","text":"x😀"}}`, `reasoning completed "x😀"`},
		"U+FFFD that was written":   {`{"event":"delta","id":"a","text":"�"}` + "\n" + `{"event":"delta","id":"a","text":"\ufffd"}`, `agent_message completed "��"`},
	} {
		sink, _ := printed(t, c.text)
		if got := summary(sink); got != c.want {
			t.Errorf("%s: made\n%s\nwant\n%s", name, got, c.want)
		}
	}
	sink, _ := printed(t, `{"event":"item","content":{"type":"tool_call","title":"T","input":{"loss":NaN}}}`)
	if c := sink.Items()[0].Content.(items.ToolCall); string(c.Input) != `{"loss":null}` {
		t.Errorf("%s", c.Input)
	}
}

func TestAResultThatIsNotUnderstoodFailsTheTurn(t *testing.T) {
	for line, want := range map[string]string{
		`{"event":"result"}`: `state "" is neither`,
		`{"event":"result","state":"completed","message":"m","format":"html"}`:  `format: it must be markdown or plain`,
		`{"event":"result","state":"interrupted"}`:                              `state "interrupted" is neither`,
		`{"event":"result","state":"failed","message":"3 tests`:                 `"message":"3 tests`,
		`{"state":"failed","message":"bad \x","event":"result"}`:                `bad \x`,
		"\ufeff" + `{"event":"result","state":"failed","why":"tests"}`:          `why: there is no such member`,
		`{"event":"result","state":"failed","state":"failed"}`:                  `state: the member is there twice`,
		`{"event":"result","message":"` + strings.Repeat("x", maxLine):          `longer than 4194304 bytes: {"event":"result"`,
		"\ufeff \t" + `{"event":"result","state":"failed"`:                      `{"event":"result","state":"failed"`,
		`{"event":"progress","message":"x"}{"event":"result","state":"failed"}`: `{"event":"progress","message":"x"}{"event":"result","state":"failed"}`,
		`{"event":"usage","input_tokens":NaN} {"event":"result","state":`:       `{"event":"result","state":`,
	} {
		sink, out := printed(t, `{"event":"message","text":"hi"}`+"\n"+line+"\n")
		if out.State != turns.Failed || out.Failure == nil || !strings.Contains(out.Failure.Message, want) || len(out.Failure.Message) > 1000 {
			t.Errorf("%.100s: %+v, want %q", line, out, want)
		}
		if said := notices(t, sink); len(said) != 1 {
			t.Errorf("%.100s: notices %q", line, said)
		}
	}
	if _, out := printed(t, `{"event":"result","state":"failed","message":"x \ud83d"}`); out.Failure == nil || out.Failure.Message != "x �" {
		t.Errorf("mended: %+v", out)
	}
	for _, line := range []string{`{"event":"message","text":"result`, `{"event":"message","x":{"event":"result"}}`, `the result`, `{"event":"message","x":{{"event":"result"}`, `I send {"event":"result","state":"failed"}`, `{"event":"result"`[1:]} {
		if _, out := printed(t, line); out.State == turns.Failed {
			t.Errorf("%s: %+v", line, out)
		}
	}
	if _, out := printed(t, `{"event":"result","state":"completed"}`+"\n"+`{"event":"result","state":`); out.State != turns.Completed {
		t.Errorf("after the result: %+v", out)
	}
}

// An agent whose question was not understood may wait for the answer: a person is told,
// whatever else it has printed.
func TestAQuestionThatIsNotUnderstoodAlwaysHasANotice(t *testing.T) {
	sink, _ := printed(t, strings.Repeat("log\n", maxNotices+5)+strings.Repeat(`{"event":"ask","id":"q","title":"Delete`+"\n", maxNotices+2))
	said := notices(t, sink)
	if len(said) != 2*maxNotices+1 || !strings.HasPrefix(said[maxNotices], "line 26 ") || !strings.HasPrefix(said[2*maxNotices], "7 more lines") {
		t.Errorf("%d notices: %q", len(said), said)
	}
	for _, line := range []string{
		`{"event":"ask","id":"q","title":"Delete it?","subject":{"type":"command","tool":"rm"}}`,
		`{"event":"ask","id":"q","title":"Delete it?","subject":{"type":"command","command":["rm","x"]}}`,
		`{"event":"ask","id":"q","title":"Delete it?","subject":"rm x"}`,
		`{"event":"question","id":"q","message":"Which branch?","schema":[]}`,
	} {
		sink, _ = printed(t, line)
		if said := notices(t, sink); len(said) != 1 || !strings.HasSuffix(said[0], ". It is a question that nobody was asked; the agent may wait for the answer: "+line) {
			t.Errorf("%s: %q", line, said)
		}
	}
	sink = agenttest.NewSink(t)
	asked := make(chan items.Content, 1)
	sink.OnAsk = func(_ context.Context, q items.Content, _ turns.AskOptions) (turns.Answer, error) {
		asked <- q
		return turns.Answer{Status: items.StatusCancelled}, nil
	}
	o := newEventOutput(&turns.Prompt{Sink: sink}, &feeder{lines: make(chan []byte, answersAhead)}, items.FormatMarkdown)
	if err := o.read(t.Context(), strings.NewReader(`{"event":"ask","id":"q","title":"Delete it? \ud83d"}`)); err != nil {
		t.Fatal(err)
	}
	if q := (<-asked).(items.PermissionRequest); q.Title != "Delete it? �" {
		t.Errorf("asked %q", q.Title)
	}
	if err := o.finish(t.Context(), turns.Completed); err != nil {
		t.Fatal(err)
	}
}

func TestBadLinesBecomeNoticesAndChangeNothing(t *testing.T) {
	before := `{"event":"message","id":"old","text":"o"}
{"event":"item","id":"open","content":{"type":"plan","entries":[]}}
{"event":"message","id":"gone","text":"g"}
{"event":"delete","id":"gone"}
`
	for line, want := range badLines {
		sink, out := printed(t, before+line+"\n"+`{"event":"message","text":"after"}`)
		said := notices(t, sink)
		if len(said) != 1 || !strings.Contains(said[0], want) || !strings.HasPrefix(said[0], "line 5 of the agent's output was not understood: ") {
			t.Errorf("%.100s: notices %q, want %q", line, said, want)
			continue
		}
		if strings.Contains(said[0], "json: ") || strings.Contains(said[0], "jsontext: ") {
			t.Errorf("%.100s: %q names a package", line, said[0])
		}
		if out.State == turns.Failed {
			t.Errorf("%.100s: %+v", line, out)
		}
		if n := len(sink.Items()); n != 5 {
			t.Errorf("%.100s: %d items\n%s", line, n, summary(sink))
		}
		if data := sink.Items()[3].Content.(items.Notice).Data; !strings.Contains(string(data), `"line":5`) {
			t.Errorf("%.100s: data %s", line, data)
		}
	}
}

func TestNoticesAboutBadLinesAreBounded(t *testing.T) {
	sink, _ := printed(t, strings.Repeat("bad\n", maxNotices+50)+`{"event":"message","text":"good"}`)
	said := notices(t, sink)
	if len(said) != maxNotices+1 || said[maxNotices] != "50 more lines of the agent's output were not understood" {
		t.Errorf("%d notices, the last %q", len(said), said[len(said)-1])
	}
	if got := sink.Texts(items.KindAgentMessage); len(got) != 1 {
		t.Errorf("said %q", got)
	}
}

func TestLongLineIsRefused(t *testing.T) {
	good := `{"event":"message","text":"good"}` + "\n"
	sink, _ := printed(t, `{"event":"message","text":"`+strings.Repeat("x", maxLine)+"\"}\n"+good)
	if said := notices(t, sink); len(said) != 1 || !strings.HasSuffix(said[0], "longer than 4194304 bytes") || len(sink.Items()) != 2 {
		t.Errorf("notices %q", said)
	}
	largest := `{"event":"message","text":"`
	largest += strings.Repeat("x", maxLine-len(largest)-2) + `"}`
	if sink, _ := printed(t, largest+"\n"); len(notices(t, sink)) != 0 {
		t.Errorf("a line of exactly %d bytes was refused", len(largest))
	}
}

func TestNothingCountsAfterTheResult(t *testing.T) {
	sink, out := printed(t, `{"event":"result","state":"completed","stop_reason":"first"}
{"event":"result","state":"failed"}
{"event":"message","text":"more"}`)
	if out.State != turns.Completed || out.StopReason != "first" || len(notices(t, sink)) != 2 || len(sink.Items()) != 2 {
		t.Errorf("%+v\n%s", out, summary(sink))
	}
}

func TestItemsThatAreRememberedAreBounded(t *testing.T) {
	var text strings.Builder
	for i := range 3 * maxItems {
		fmt.Fprintf(&text, `{"event":"message","id":"m%d","text":""}`+"\n", i)
	}
	sink := agenttest.NewSink(t)
	o := newEventOutput(&turns.Prompt{Sink: sink}, &feeder{}, items.FormatMarkdown)
	if err := o.read(t.Context(), strings.NewReader(text.String())); err != nil || len(o.known) > maxItems || len(o.order) != len(o.known) {
		t.Errorf("%v, %d remembered", err, len(o.known))
	}
	if len(sink.Items()) != 3*maxItems {
		t.Errorf("%d items made", len(sink.Items()))
	}
	text.Reset()
	for i := range maxOpen + 1 {
		fmt.Fprintf(&text, `{"event":"item","id":"p%d","content":{"type":"plan","entries":[]}}`+"\n", i)
	}
	text.WriteString(`{"event":"item","id":"p7","status":"completed"}` + "\n" + `{"event":"delta","id":"new","text":"fits"}`)
	sink, _ = printed(t, text.String())
	if said := notices(t, sink); len(said) != 1 || !strings.HasSuffix(said[0], "100 items are open, as many as there may be") {
		t.Errorf("notices %q", said)
	}
}

func TestLargeDeltaIsSplitBetweenCodePoints(t *testing.T) {
	sink, _ := printed(t, `{"event":"delta","id":"m","text":"x`+strings.Repeat("é", maxDelta)+`"}`)
	it := sink.Items()[0]
	if len(it.Deltas) != 3 || it.Text != "x"+strings.Repeat("é", maxDelta) {
		t.Errorf("%d deltas, %d bytes", len(it.Deltas), len(it.Text))
	}
}

func TestAnswersComeBackOnStdin(t *testing.T) {
	a := shell(t, `read -r prompt
		echo '{"event":"message","id":"m","text":"before"}'
		echo '{"event":"ask","id":"q1","title":"Run it?","subject":{"type":"command","item_id":"m","command":"ls"},"expires_seconds":90,"on_expiry":"reject_once"}'
		read -r answer
		printf '{"event":"item","content":{"type":"extension","native_kind":"answer","payload":%s}}\n' "$answer"
		echo '{"event":"question","id":"q1","message":"Which?","schema":{"type":"string"}}'
		read -r answer
		printf '{"event":"item","content":{"type":"extension","native_kind":"answer","payload":%s}}\n' "$answer"`, events)
	sink := agenttest.NewSink(t)
	sink.OnAsk = func(_ context.Context, q items.Content, o turns.AskOptions) (turns.Answer, error) {
		if got := sink.Texts(items.KindAgentMessage); len(got) != 1 {
			t.Errorf("asked before what was said first was handed over: %q", got)
		}
		if q, ok := q.(items.PermissionRequest); ok {
			if q.Title != "Run it?" || q.Subject.Command != "ls" || q.Subject.ItemID != sink.Items()[0].ID || len(q.Options) != 2 || o.ExpiresAfter != 90*time.Second || o.OnExpiry != items.RejectOnce {
				t.Errorf("asked %+v, %+v", q, o)
			}
			return turns.Answer{Status: items.StatusCompleted, Outcome: items.Outcome{Type: items.OutcomeSelected, OptionID: "allow_once", Kind: items.AllowOnce}}, nil
		}
		return turns.Answer{Status: items.StatusCompleted, Outcome: items.Outcome{Type: items.OutcomeAnswered}, Answer: jsontext.Value(`"this"`)}, nil
	}
	out := sink.Run(t.Context(), a, turns.Prompt{}, "go")
	if out.State != turns.Completed || len(notices(t, sink)) != 0 {
		t.Errorf("%+v, %q", out, notices(t, sink))
	}
	var got []string
	for _, it := range sink.Items() {
		if c, ok := it.Content.(items.Extension); ok {
			got = append(got, string(c.Payload))
		}
	}
	want := `[{"event":"answer","id":"q1","status":"completed","outcome":{"type":"selected","option_id":"allow_once","kind":"allow_once"}} {"event":"answer","id":"q1","status":"completed","outcome":{"type":"answered"},"answer":"this"}]`
	if fmt.Sprint(got) != want {
		t.Errorf("answers %s\nwant %s", got, want)
	}
}

func TestWhatWasSaidBeforeAQuestionIsHandedOverFirst(t *testing.T) {
	sink := agenttest.NewSink(t)
	said := make(chan int, 1)
	sink.OnAsk = func(context.Context, items.Content, turns.AskOptions) (turns.Answer, error) {
		said <- len(sink.Texts(items.KindAgentMessage))
		return turns.Answer{Status: items.StatusCancelled}, nil
	}
	o := newEventOutput(&turns.Prompt{Sink: sink}, &feeder{lines: make(chan []byte, answersAhead)}, items.FormatMarkdown)
	text := `{"event":"message","text":"before"}` + "\n" + `{"event":"ask","id":"q","title":"t"}` + "\n"
	if err := o.read(t.Context(), strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	if n := <-said; n != 1 {
		t.Errorf("%d messages were there when the question came", n)
	}
	if err := o.finish(t.Context(), turns.Completed); err != nil {
		t.Fatal(err)
	}
}

func TestQuestionsThatNobodyAnswersEndWithTheProcess(t *testing.T) {
	sink, out := prompt(t, shell(t, `echo '{"event":"ask","id":"q","title":"t"}'; sleep 0.2`, events), turns.Prompt{}, "")
	if made := sink.Items(); out.State != turns.Completed || len(made) != 1 || made[0].Status != items.StatusCancelled {
		t.Errorf("%+v, %+v", out, made)
	}
}

func TestQuestionsThatWaitAreBounded(t *testing.T) {
	sink, _ := prompt(t, shell(t, `i=0; while [ $i -lt 17 ]; do echo '{"event":"ask","id":"q'$i'","title":"t"}'; i=$((i+1)); done; sleep 0.2`, events), turns.Prompt{}, "")
	if said := notices(t, sink); len(said) != 1 || !strings.Contains(said[0], "16 questions wait already. It is a question that nobody was asked") {
		t.Errorf("notices %q", said)
	}
}

func TestAgentThatNeverReadsItsAnswersStillEnds(t *testing.T) {
	sink := agenttest.NewSink(t)
	sink.OnAsk = func(context.Context, items.Content, turns.AskOptions) (turns.Answer, error) {
		return turns.Answer{Status: items.StatusCompleted, Outcome: items.Outcome{Type: items.OutcomeAnswered}, Answer: jsontext.Value(`"` + strings.Repeat("x", 1<<20) + `"`)}, nil
	}
	out := sink.Run(t.Context(), shell(t, `i=0; while [ $i -lt 16 ]; do echo '{"event":"question","id":"q'$i'","message":"m"}'; i=$((i+1)); done; sleep 0.2`, events), turns.Prompt{})
	if out.State != turns.Completed || len(sink.Open()) != 0 {
		t.Errorf("%+v, open %+v", out, sink.Open())
	}
}

// TestDocumentedEventsAreUnderstood reads the events that docs/write-an-agent.md shows.
func TestDocumentedEventsAreUnderstood(t *testing.T) {
	doc, err := os.ReadFile("../../docs/write-an-agent.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(doc), "```ndjson\n")[1:]
	shown := map[string]bool{}
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```")
		sink := agenttest.NewSink(t)
		ctx, cancel := context.WithCancel(t.Context())
		o := newEventOutput(&turns.Prompt{Sink: sink}, &feeder{lines: make(chan []byte, answersAhead)}, items.FormatMarkdown)
		if err := o.read(ctx, strings.NewReader(block)); err != nil {
			t.Fatal(err)
		}
		cancel()
		_ = o.finish(ctx, turns.Interrupted)
		if said := notices(t, sink); len(said) > 0 {
			t.Errorf("%s\n%q", block, said)
		}
		for _, line := range strings.Split(strings.TrimSpace(block), "\n") {
			if e, err := decodeEvent([]byte(line)); err == nil {
				shown[fmt.Sprintf("%T", e)] = true
			}
		}
	}
	if len(shown) != 10 {
		t.Errorf("the documentation shows %d of 10 events: %v", len(shown), shown)
	}
}

// TestEveryEventAndMemberIsDocumented compares the table of docs/write-an-agent.md with
// the decoded members.
func TestEveryEventAndMemberIsDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/write-an-agent.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (.*?) \\| ").FindAllStringSubmatch(string(doc), -1) {
		if documented[row[1]] == "" {
			documented[row[1]] = row[2]
		}
	}
	for name, e := range map[string]any{
		"message": messageEvent{}, "delta": deltaEvent{}, "item": itemEvent{}, "delete": deleteEvent{}, "usage": usageEvent{},
		"step": stepEvent{}, "progress": progressEvent{}, "ask": askEvent{}, "question": questionEvent{}, "result": resultEvent{},
	} {
		for i := range reflect.TypeOf(e).NumField() {
			member := reflect.TypeOf(e).Field(i).Tag.Get("json")
			if found, _ := regexp.MatchString("`"+member+`\b`, documented[name]); member != "event" && !found {
				t.Errorf("event %q: the table does not have the member %q: %s", name, member, documented[name])
			}
		}
	}
	_, ask, _ := strings.Cut(string(doc), "\n| `ask` |")
	ask, _, _ = strings.Cut(ask, "\n")
	for first, members := range map[string]any{"{type?": items.Subject{}, "{option_id": items.Option{}} {
		_, list, _ := strings.Cut(ask, first)
		list, _, _ = strings.Cut(first+list, "}")
		for i := range reflect.TypeOf(members).NumField() {
			member, _, _ := strings.Cut(reflect.TypeOf(members).Field(i).Tag.Get("json"), ",")
			if found, _ := regexp.MatchString(`\b`+member+`\b`, list); !found {
				t.Errorf("event \"ask\": the table does not have the member %q of its objects: %s", member, ask)
			}
		}
	}
}

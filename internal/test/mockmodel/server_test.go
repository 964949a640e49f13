package mockmodel

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// syncBuffer is a log that a test reads while the server writes.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func start(t *testing.T) (*Server, *syncBuffer) {
	t.Helper()
	log := &syncBuffer{}
	s, err := Start(Options{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return s, log
}

func post(t *testing.T, ctx context.Context, target, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// sse reads the data of every event.
func sse(t *testing.T, r io.Reader) (data []string) {
	t.Helper()
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		if line, ok := strings.CutPrefix(in.Text(), "data: "); ok {
			data = append(data, line)
		}
	}
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
	return data
}

// dig returns the member at a path such as "choices.0.delta.content".
func dig(text, path string) any {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return nil
	}
	for step := range strings.SplitSeq(path, ".") {
		switch at := v.(type) {
		case map[string]any:
			v = at[step]
		case []any:
			var i int
			if _, err := fmt.Sscan(step, &i); err != nil || i >= len(at) {
				return nil
			}
			v = at[i]
		default:
			return nil
		}
	}
	return v
}

// wire is one API from the client's side.
type wire struct {
	name   string
	path   string
	whole  string // path of an answer in one piece
	body   string // %s is the prompt, %t whether to stream
	texts  string // where pieces of text are
	think  string
	call   string // where the called tool's name is
	args   string
	answer string // where the text of a whole answer is
	after  string // a body with a tool's result
	look   string // a body with an image
}

var wires = []wire{
	{
		name: "chat", path: "/v1/chat/completions", whole: "/v1/chat/completions",
		body:  `{"model":"m","stream":%[2]t,"messages":[{"role":"system","content":"TOOL"},{"role":"user","content":[{"type":"text","text":%[1]q}]}],"tools":[{"type":"function","function":{"name":"bash"}}]}`,
		texts: "choices.0.delta.content", think: "choices.0.delta.reasoning_content",
		call: "choices.0.delta.tool_calls.0.function.name", args: "choices.0.delta.tool_calls.0.function.arguments",
		answer: "choices.0.message.content",
		after:  `{"stream":true,"messages":[{"role":"user","content":"TOOL"},{"role":"assistant","content":null,"tool_calls":[{}]},{"role":"tool","content":"SAY no"}],"tools":[{"function":{"name":"bash"}}]}`,
		look:   `{"stream":true,"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}},{"type":"text","text":"LOOK"}]}],"tools":[{"function":{"name":"bash"}}]}`,
	}, {
		name: "responses", path: "/v1/responses", whole: "/v1/responses",
		body:  `{"model":"m","stream":%[2]t,"input":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"TOOL"}]},{"type":"message","role":"user","content":[{"type":"input_text","text":%[1]q}]}],"tools":[{"type":"function","name":"exec_command"}]}`,
		texts: "delta", think: "delta", call: "item.name", args: "item.arguments", answer: "output.0.content.0.text",
		after: `{"stream":true,"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"TOOL"}]},{"type":"function_call","name":"exec_command"},{"type":"function_call_output","output":"SAY no"}],"tools":[{"type":"function","name":"exec_command"}]}`,
		look:  `{"stream":true,"input":[{"type":"message","role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,AA=="},{"type":"input_text","text":"LOOK"}]}],"tools":[{"type":"function","name":"exec_command"}]}`,
	}, {
		name: "messages", path: "/v1/messages?beta=true", whole: "/v1/messages",
		body:  `{"model":"m","stream":%[2]t,"system":[{"type":"text","text":"TOOL"}],"messages":[{"role":"user","content":%[1]q}],"tools":[{"name":"Bash"}]}`,
		texts: "delta.text", think: "delta.thinking", call: "content_block.name", args: "delta.partial_json", answer: "content.0.text",
		after: `{"stream":true,"messages":[{"role":"user","content":"TOOL"},{"role":"assistant","content":[{"type":"tool_use"}]},{"role":"user","content":[{"type":"tool_result","content":"SAY no"}]}],"tools":[{"name":"Bash"}]}`,
		look:  `{"stream":true,"messages":[{"role":"user","content":[{"type":"image","source":{}},{"type":"text","text":"LOOK"}]}],"tools":[{"name":"Bash"}]}`,
	}, {
		name: "gemini", path: "/v1beta/models/x:streamGenerateContent?alt=sse", whole: "/v1beta/models/x:generateContent",
		body:  `{"systemInstruction":{"parts":[{"text":"TOOL"}]},"contents":[{"role":"user","parts":[{"text":%[1]q}]}],"tools":[{"functionDeclarations":[{"name":"run_shell_command"}]}]}`,
		texts: "candidates.0.content.parts.0.text", think: "candidates.0.content.parts.0.text",
		call: "candidates.0.content.parts.0.functionCall.name", args: "candidates.0.content.parts.0.functionCall.args.command",
		answer: "candidates.0.content.parts.0.text",
		after:  `{"contents":[{"role":"user","parts":[{"text":"TOOL"}]},{"role":"model","parts":[{"functionCall":{"name":"x"}}]},{"role":"user","parts":[{"functionResponse":{"name":"x"}}]}],"tools":[{"functionDeclarations":[{"name":"run_shell_command"}]}]}`,
		look:   `{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"AA=="}},{"text":"LOOK"}]}],"tools":[{"functionDeclarations":[{"name":"run_shell_command"}]}]}`,
	},
}

func (w wire) ask(t *testing.T, s *Server, prompt string) []string {
	t.Helper()
	body := w.body
	if strings.Contains(body, "%[2]t") {
		body = fmt.Sprintf(body, prompt, true)
	} else {
		body = fmt.Sprintf(body, prompt)
	}
	res := post(t, t.Context(), s.URL()+w.path, body)
	defer res.Body.Close()
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%s %s", res.Status, res.Header)
	}
	return sse(t, res.Body)
}

// gather joins the texts at a path in every event.
func gather(data []string, path string) string {
	text := ""
	for _, d := range data {
		if piece, ok := dig(d, path).(string); ok {
			text += piece
		}
	}
	return text
}

func TestEveryAPIStreamsTextToolsAndThoughts(t *testing.T) {
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			s, log := start(t)
			data := w.ask(t, s, "hi")
			if text := gather(data, w.texts); text != "Hello from the mock model." {
				t.Errorf("says %q", text)
			}
			if len(data) < 6 {
				t.Errorf("only %d events: nothing was streamed", len(data))
			}
			if text := gather(w.ask(t, s, "THINK"), w.think); !strings.Contains(strings.ReplaceAll(text, "**", ""), "Let me think about this.") {
				t.Errorf("thinks %q", text)
			}
			data = w.ask(t, s, "TOOL")
			if gather(data, w.call) == "" || !strings.Contains(gather(data, w.args), "echo hello-from-tool") {
				t.Errorf("calls %q with %q in %q", gather(data, w.call), gather(data, w.args), data)
			}
			res := post(t, t.Context(), s.URL()+w.path, w.after)
			defer res.Body.Close()
			if text := gather(sse(t, res.Body), w.texts); text != "The tool is done." {
				t.Errorf("says %q after a tool", text)
			}
			if !strings.Contains(log.String(), `"api":"`+w.name+`"`) {
				t.Errorf("logged %s", log)
			}
		})
	}
}

func TestEveryAPISeesImages(t *testing.T) {
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			s, _ := start(t)
			res := post(t, t.Context(), s.URL()+w.path, w.look)
			defer res.Body.Close()
			if text := gather(sse(t, res.Body), w.texts); text != "I see 1 images." {
				t.Errorf("says %q", text)
			}
		})
	}
}

func TestEveryAPIAnswersInOnePiece(t *testing.T) {
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			s, _ := start(t)
			body := w.body
			if strings.Contains(body, "%[2]t") {
				body = fmt.Sprintf(body, "hi", false)
			} else {
				body = fmt.Sprintf(body, "hi")
			}
			res := post(t, t.Context(), s.URL()+w.whole, body)
			defer res.Body.Close()
			b, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatal(err)
			}
			if got := dig(string(b), w.answer); got != "Hello from the mock model." {
				t.Errorf("got %v in %s", got, b)
			}
		})
	}
}

func TestAnAgentThatHangsUpEndsItsStream(t *testing.T) {
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			s, _ := start(t)
			ctx, hangUp := context.WithCancel(t.Context())
			defer hangUp()
			body := w.body
			if strings.Contains(body, "%[2]t") {
				body = fmt.Sprintf(body, "SLOW", true)
			} else {
				body = fmt.Sprintf(body, "SLOW")
			}
			res := post(t, ctx, s.URL()+w.path, body)
			defer res.Body.Close()
			if _, err := bufio.NewReader(res.Body).ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			if s.Streaming() != 1 {
				t.Errorf("%d answers are streamed", s.Streaming())
			}
			hangUp()
			for deadline := time.Now().Add(20 * time.Second); s.Streaming() != 0; {
				if time.Now().After(deadline) {
					t.Fatal("the stream goes on")
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
}

func TestAgentsFindTheSmallThingsTheyAskFor(t *testing.T) {
	s, _ := start(t)
	for _, tc := range []struct{ path, body, at, want string }{
		{"/v1/messages/count_tokens", `{}`, "input_tokens", "100"},
		{"/v1beta/models/x:countTokens", `{}`, "totalTokens", "100"},
		{"/v1beta/models/x:generateContent", `{"generationConfig":{"responseMimeType":"application/json"}}`, "candidates.0.content.parts.0.text", sideAnswer},
	} {
		res := post(t, t.Context(), s.URL()+tc.path, tc.body)
		b, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || fmt.Sprint(dig(string(b), tc.at)) != tc.want {
			t.Errorf("%s: %s %v", tc.path, b, err)
		}
	}
	res, err := http.Get(s.URL() + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || dig(string(b), "data.0.id") != "mock-1" {
		t.Errorf("%s %v", b, err)
	}
	if s.Requests() != 4 {
		t.Errorf("%d requests were counted", s.Requests())
	}
}

func TestWhatMakesNoSenseIsRefused(t *testing.T) {
	s, _ := start(t)
	for _, tc := range []struct {
		path, body string
		status     int
	}{
		{"/", "{}", 404},
		{"/v1/messages", "{", 400},
		{"/v1/messages", `{"messages":5}`, 400},
		{"/v1/responses", `{"input":[5]}`, 400},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":7}]}`, 400},
		{"/x:generateContent", `[]`, 400},
	} {
		res := post(t, t.Context(), s.URL()+tc.path, tc.body)
		res.Body.Close()
		if res.StatusCode != tc.status {
			t.Errorf("%s %s: %s", tc.path, tc.body, res.Status)
		}
	}
}

func TestOnlyThisMachineCanConnect(t *testing.T) {
	s, _ := start(t)
	u, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	if ip := net.ParseIP(u.Hostname()); ip == nil || !ip.IsLoopback() {
		t.Errorf("listens at %s", s.URL())
	}
	if _, err := Start(Options{Port: 1 << 20}); err == nil {
		t.Error("a port that is none was taken")
	}
}

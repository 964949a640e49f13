package tools

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/tokens"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// fake answers methods with what a test says, and remembers what was asked.
type fake struct {
	t       testing.TB
	mu      sync.Mutex
	asked   []string
	answers map[string]func(ctx context.Context, params string) (string, *api.Error)
}

func newFake(t testing.TB) *fake {
	f := &fake{t: t, answers: map[string]func(context.Context, string) (string, *api.Error){}}
	f.say("turn/list", `{"turns":[{"turn_id":"turn_own","thread_id":"own","state":"active","attempt":2,"created_seq":1,"updated_seq":1}],"latest_seq":1}`)
	return f
}

// say sets the answer of a method.
func (f *fake) say(method, result string) {
	f.do(method, func(context.Context, string) (string, *api.Error) { return result, nil })
}

func (f *fake) do(method string, what func(ctx context.Context, params string) (string, *api.Error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers[method] = what
}

func (f *fake) Call(ctx context.Context, method string, params any) (jsontext.Value, *api.Error) {
	raw, err := json.Marshal(params, json.Deterministic(true))
	if err != nil {
		f.t.Error(err)
	}
	agent, ok := api.AgentOf(ctx)
	if !ok {
		f.t.Errorf("%s without an agent", method)
	}
	f.mu.Lock()
	f.asked = append(f.asked, fmt.Sprintf("%s %s %s", agent.ThreadID, method, raw))
	what := f.answers[method]
	f.mu.Unlock()
	if what == nil {
		return nil, api.Errorf(api.KindMethodNotFound, "there is no method %s", method)
	}
	result, refused := what(ctx, string(raw))
	return jsontext.Value(result), refused
}

// calls returns what was asked since the last time, without turn/list.
func (f *fake) calls() (list []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.asked {
		if !strings.HasPrefix(c, "own turn/list") {
			list = append(list, c)
		}
	}
	f.asked = nil
	return list
}

// served is the tools behind HTTP. The token is the agent's thread.
type served struct {
	*fake
	tools *Server
	url   string
}

func serve(t *testing.T) *served {
	t.Helper()
	s := &served{fake: newFake(t)}
	s.tools = New(Config{Caller: s.fake, Version: "test", Progress: time.Millisecond})
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		thread, _, _ := strings.Cut(token, "/")
		s.tools.ServeHTTP(w, r.WithContext(api.WithAgent(r.Context(), tokens.Agent{ThreadID: thread})))
	}))
	t.Cleanup(h.Close)
	s.url = h.URL
	return s
}

// withToken sends a token.
type withToken string

func (w withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(w))
	return http.DefaultTransport.RoundTrip(r)
}

// connect is a client over HTTP.
func (s *served) connect(t *testing.T, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, o).Connect(context.Background(), &mcp.StreamableClientTransport{
		Endpoint: s.url, HTTPClient: &http.Client{Transport: withToken("own")}, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(); http.DefaultTransport.(*http.Transport).CloseIdleConnections() })
	return c
}

// overStdio is a client over a pair of streams.
func overStdio(t *testing.T, f *fake, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	near, far := net.Pipe()
	s := New(Config{Caller: f, Version: "test", Progress: time.Millisecond})
	ended := make(chan error, 1)
	go func() {
		ended <- s.ServeStdio(api.WithAgent(context.Background(), tokens.Agent{ThreadID: "own"}), far, far)
		_ = far.Close()
	}()
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, o).Connect(context.Background(), &mcp.IOTransport{Reader: near, Writer: near}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close()
		_ = near.Close()
		if err := <-ended; err != nil {
			t.Errorf("the server on stdio ended with %v", err)
		}
	})
	return c
}

// use calls a tool and returns its text and data.
func use(t *testing.T, c *mcp.ClientSession, name string, args map[string]any, meta mcp.Meta) (text, data string, failed bool) {
	t.Helper()
	res, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: args, Meta: meta})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	raw, err := json.Marshal(res.StructuredContent, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Content) != 1 {
		t.Fatalf("%s: %d parts", name, len(res.Content))
	}
	return res.Content[0].(*mcp.TextContent).Text, string(raw), res.IsError
}

// post sends one message as an older client does, and returns the answer to be read.
func (s *served) post(ctx context.Context, t *testing.T, token, body string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{
		"Authorization": "Bearer " + token, "Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2025-06-18",
	} {
		r.Header.Set(k, v)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// all reads an answer to its end.
func all(t *testing.T, resp *http.Response) string {
	t.Helper()
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func toolCall(id, name, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, name, args)
}

func soon[T any](t *testing.T, c <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s did not happen", what)
	}
	return v
}

package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/seed82539d15/holon/lines"
	"github.com/seed82539d15/holon/rpc/frame"
)

func TestConnectEndsWhenAllIsAnswered(t *testing.T) {
	s := startServer(t)
	input := strings.Join([]string{
		`{"jsonrpc":"2.0","id":1,"method":"thread/start","params":{"thread_id":"t"}}`,
		`{"jsonrpc":"2.0","id":"two","method":"turn/start","params":{"thread_id":"t","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"/sleep 60000"}]}]}}`,
		``,
		`no json`,
		`{"jsonrpc":"2.0","method":"holon/status"}`,
		`{"jsonrpc":"2.0","id":99,"result":{}}`,
		`[{"jsonrpc":"2.0","id":5,"method":"holon/status"},{"jsonrpc":"2.0","method":"holon/status"}]`,
		`[{"jsonrpc":"2.0","method":"holon/status"}]`,
		`{"id":7,"method":"holon/status"}`,
		`{"jsonrpc":"2.0","id":8,"method":"nope"}`,
	}, "\n") // the last line without its end counts too
	r := holon(t, s.data, input, "connect")
	if r.code != exitOK || r.err != "" {
		t.Fatalf("exit %d: %s", r.code, r.err)
	}
	for _, want := range []string{`"id":1,"result"`, `"id":"two","result"`, `"id":null,"error"`, `[{"jsonrpc":"2.0","id":5`, `"id":7,"error"`, `"id":8,"error"`, `"method":"thread/started"`, `"method":"stream/opened"`} {
		if !strings.Contains(r.out, want) {
			t.Errorf("no %s in:\n%s", want, r.out)
		}
	}
	if r := holon(t, s.data, "", "connect", "-o", "json"); r.code != exitUsage {
		t.Errorf("-o json: %+v", r)
	}
}

func TestConnectTellsWhyTheServerLeft(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		if err := control.EnableFullDuplex(); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/x-ndjson")
		fmt.Fprintln(w, `{"jsonrpc":"2.0","method":"stream/closing","params":{"code":"draining","reason":"server stopping","reconnect":true}}`)
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	r := holon(t, t.TempDir(), `{"jsonrpc":"2.0","id":1,"method":"x"}`, "connect", "--url", server.URL)
	if r.code != exitFailed || !strings.Contains(r.err, "server stopping [draining]") {
		t.Errorf("%+v", r)
	}
}

// Every library for LSP begins a message with a header.
func TestConnectSaysWhatIsSpokenToAClientOfLSP(t *testing.T) {
	s := startServer(t)
	body := `{"jsonrpc":"2.0","id":1,"method":"holon/status"}`
	message := fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
	r := holon(t, s.data, message+message, "connect")
	if strings.Count(r.err, frame.NotFramed) != 1 || strings.Count(r.out, frame.NotFramed) != 1 {
		t.Errorf("stderr %q, stdout %q", r.err, r.out)
	}
	for _, tc := range []struct {
		in    string
		notes int
	}{{message, 1}, {"content-length:5\n", 1}, {body + "\n" + message, 0}, {"Content", 0}, {"", 0}} {
		notes := 0
		f := &framingNotice{in: iotest.OneByteReader(strings.NewReader(tc.in)), note: func(string, ...any) { notes++ }}
		if read, err := io.ReadAll(f); err != nil || string(read) != tc.in || notes != tc.notes {
			t.Errorf("%q: %q, %v, %d notes, want %d", tc.in, read, err, notes, tc.notes)
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return copy(p, strings.Repeat("x", len(p))), nil }

// TestConnectBoundsALine gives a line that never ends, and looks at what is
// passed on.
func TestConnectBoundsALine(t *testing.T) {
	b := &bridge{changed: make(chan struct{}, 1)}
	var passed strings.Builder
	if err := b.send(io.MultiReader(strings.NewReader("{}\n"), endless{}), &passed); !errors.Is(err, lines.ErrTooLong) {
		t.Errorf("sent: %v", err)
	}
	if passed.String() != "{}\n" {
		t.Errorf("%d bytes were passed on", passed.Len())
	}
	if err := b.receive(endless{}, io.Discard); !errors.Is(err, lines.ErrTooLong) {
		t.Errorf("received: %v", err)
	}
}

func TestWhatIsAnswered(t *testing.T) {
	cases := map[string]bool{
		``: false, `  `: false, `{`: true, `5`: true, `null`: true, `[]`: true, `[1]`: true, `{}`: true,
		`{"jsonrpc":"2.0","method":"m"}`:                                         false,
		`{"jsonrpc":"2.0","method":"m","id":null}`:                               true,
		`{"jsonrpc":"2.0","method":"m","id":1}`:                                  true,
		`{"jsonrpc":"1.0","method":"m"}`:                                         true,
		`{"method":"m"}`:                                                         true,
		`{"jsonrpc":"2.0","result":1,"id":1}`:                                    false,
		`{"jsonrpc":"2.0","error":{},"id":1}`:                                    false,
		`[{"jsonrpc":"2.0","method":"m"}]`:                                       false,
		`[{"jsonrpc":"2.0","method":"m"},{"jsonrpc":"2.0","method":"m","id":1}]`: true,
	}
	for line, want := range cases {
		if got := expectsAnswer([]byte(line)); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}

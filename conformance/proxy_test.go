package conformance

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// meddler is between the suite and the real server and breaks one rule.
type meddler struct {
	// request changes what goes to the server.
	request func(*http.Request)
	// line changes a line that comes back on a stream; it may return none or
	// several lines, each with its LF.
	line func(r *http.Request, n int, line []byte) []byte
}

// behind serves the real server's answers, modified by the meddler.
func behind(t *testing.T, base string, m meddler) string {
	t.Helper()
	target, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	proxy := &httputil.ReverseProxy{
		Transport:     transport,
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0), // clients that leave are what checks do
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			if m.request != nil {
				m.request(r.Out)
			}
		},
		ModifyResponse: func(res *http.Response) error {
			kind := res.Header.Get("Content-Type")
			if m.line != nil && (strings.HasPrefix(kind, "application/x-ndjson") || strings.HasPrefix(kind, "text/event-stream")) {
				res.Body = meddled(res.Request, res.Body, m.line)
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex()
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// meddled passes lines through a function.
func meddled(r *http.Request, body io.ReadCloser, change func(*http.Request, int, []byte) []byte) io.ReadCloser {
	out, in := io.Pipe()
	go func() {
		lines := bufio.NewReader(body)
		for n := 0; ; n++ {
			line, err := lines.ReadBytes('\n')
			if len(line) > 0 {
				if changed := change(r, n, line); len(changed) > 0 {
					if _, err := in.Write(changed); err != nil {
						break
					}
				}
			}
			if err != nil {
				in.CloseWithError(err)
				break
			}
		}
		body.Close()
	}()
	return struct {
		io.Reader
		io.Closer
	}{out, closeBoth{out, body}}
}

type closeBoth struct{ a, b io.Closer }

func (c closeBoth) Close() error { _ = c.a.Close(); return c.b.Close() }

// TestSuiteFindsFaultsOfStreams breaks one rule of the real server's streams
// at a time and asserts which checks see it. At least these must; a fault such
// as a lost event is rightly seen by many others too.
func TestSuiteFindsFaultsOfStreams(t *testing.T) {
	t.Parallel()
	var counter atomic.Int64
	has := func(line []byte, what string) bool { return bytes.Contains(line, []byte(what)) }
	for name, c := range map[string]struct {
		meddler
		filter string
		want   []string
	}{
		"nothing": {meddler{line: func(_ *http.Request, _ int, line []byte) []byte { return line }},
			"stream.*,cursor.*,filter.*,subscribe.*,sse.*,delta.*", nil},
		"one delta in ten is lost": {meddler{line: func(_ *http.Request, _ int, line []byte) []byte {
			if has(line, `"item/delta"`) && counter.Add(1)%10 == 9 {
				return nil
			}
			return line
		}}, "delta.add_up", []string{"delta.add_up"}},
		"deltas come twice": {meddler{line: func(_ *http.Request, _ int, line []byte) []byte {
			if has(line, `"item/delta"`) {
				return append(line, line...)
			}
			return line
		}}, "delta.*,stream.seq_dense,stream.thread_seq_dense", []string{"delta.add_up", "delta.unicode", "delta.words", "stream.seq_dense", "stream.thread_seq_dense"}},
		"replays are encoded anew": {meddler{line: func(r *http.Request, _ int, line []byte) []byte {
			if r.URL.Query().Has("after_seq") {
				return bytes.Replace(line, []byte(`"jsonrpc":"2.0","method"`), []byte(`"jsonrpc": "2.0","method"`), 1)
			}
			return line
		}}, "stream.*", []string{"stream.replay_same_bytes"}},
		"Last-Event-ID is not read": {meddler{request: func(r *http.Request) { r.Header.Del("Last-Event-ID") }},
			"cursor.*,sse.*", []string{"cursor.ahead", "cursor.header", "cursor.header_wins", "cursor.log_changed", "cursor.log_id", "cursor.malformed", "sse.resume"}},
		"filters are not read": {meddler{request: func(r *http.Request) {
			q := r.URL.Query()
			q.Del("method")
			r.URL.RawQuery = q.Encode()
		}}, "filter.*", []string{"filter.both", "filter.kind", "filter.method"}},
		"threads below are not read": {meddler{request: func(r *http.Request) {
			q := r.URL.Query()
			q.Del("within_thread_id")
			r.URL.RawQuery = q.Encode()
		}}, "filter.*", []string{"filter.within"}},
		"summaries are whole": {meddler{request: func(r *http.Request) {
			q := r.URL.Query()
			q.Del("content")
			r.URL.RawQuery = q.Encode()
		}}, "content.*", []string{"content.live", "content.streams", "content.unknown", "content.whole", "content.whole_alone"}},
		"threads that are whole are not read": {meddler{request: func(r *http.Request) {
			q := r.URL.Query()
			q.Del("whole_thread_id")
			r.URL.RawQuery = q.Encode()
		}}, "content.*", []string{"content.whole", "content.whole_alone"}},
		"summaries have deltas": {meddler{line: func(r *http.Request, _ int, line []byte) []byte {
			if r.URL.Query().Has("content") && has(line, `"turn/completed"`) {
				return append(bytes.Replace(line, []byte("turn/completed"), []byte("item/delta"), 1), line...)
			}
			return line
		}}, "content.*", []string{"content.live", "content.streams", "content.whole"}},
		"SSE without ids": {meddler{line: func(_ *http.Request, _ int, line []byte) []byte {
			if bytes.HasPrefix(line, []byte("id:")) {
				return nil
			}
			return line
		}}, "sse.*", []string{"sse.heartbeat", "sse.id", "sse.opened_id", "sse.resume"}},
		"SSE with event names": {meddler{line: func(_ *http.Request, _ int, line []byte) []byte {
			if bytes.HasPrefix(line, []byte("data:")) {
				return append([]byte("event: notification\n"), line...)
			}
			return line
		}}, "sse.*", []string{"sse.no_event_field"}},
		"streams open twice": {meddler{line: func(_ *http.Request, n int, line []byte) []byte {
			if n == 0 && !bytes.HasPrefix(line, []byte("id:")) && !bytes.HasPrefix(line, []byte("data:")) {
				return append(line, line...)
			}
			return line
		}}, "stream.opened*", []string{"stream.opened_once"}},
		"a turn ends twice": {meddler{line: func(_ *http.Request, _ int, line []byte) []byte {
			if has(line, `"turn/completed"`) {
				return append(line, line...)
			}
			return line
		}}, "turn.one_end,turn.order", []string{"turn.one_end"}},
		"items end after the turn": {meddler{line: func(_ *http.Request, _ int, line []byte) []byte {
			if has(line, `"item/updated"`) {
				return nil
			}
			return line
		}}, "turn.order,turn.one_end", []string{"turn.one_end", "turn.order"}},
		"names are composed": {meddler{line: func(_ *http.Request, _ int, line []byte) []byte {
			return bytes.Replace(line, []byte(`"turn/progress"`), []byte(`"turn.progress"`), 1)
		}}, "turn.progress,interrupt.active,name.seen", []string{"name.seen", "turn.progress"}},
		"named tokens are not looked at": {meddler{request: func(r *http.Request) {
			if strings.Contains(r.Header.Get("Authorization"), "holon_token_") {
				r.Header.Del("Authorization")
			}
		}}, "token.*", []string{"token.console", "token.expires", "token.limited", "token.revoke", "token.role", "token.targets"}},
		"an undeclared field": {meddler{line: func(_ *http.Request, _ int, line []byte) []byte {
			return bytes.Replace(line, []byte(`"status":"completed"`), []byte(`"status":5`), 1)
		}}, "schema.notifications", []string{"schema.notifications"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, "--heartbeat-seconds", "1")
			at := behind(t, s.http, c.meddler)
			var r *Report
			// A busy machine can be slower than the patience: a patient run decides.
			for _, patience := range []time.Duration{1500 * time.Millisecond, 0} {
				var err error
				if r, err = Run(t.Context(), Target{URL: at, Token: s.token}, Options{Filter: c.filter, Patience: patience}); err != nil {
					t.Fatal(err)
				}
				if slices.Equal(r.failing(), c.want) {
					return
				}
			}
			var b strings.Builder
			_ = r.WriteText(&b)
			t.Errorf("these fail: %v\nwant:       %v\n%s", r.failing(), c.want, firstFailures(b.String()))
		})
	}
}

// firstFailures keeps a report readable in a test's output.
func firstFailures(report string) string {
	lines := strings.Split(report, "\n")
	var out []string
	for i, l := range lines {
		if strings.HasPrefix(l, "  fail") || strings.HasPrefix(l, "  error") {
			out = append(out, lines[i:min(i+3, len(lines))]...)
		}
	}
	return fmt.Sprint(strings.Join(out, "\n"))
}

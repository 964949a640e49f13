package client

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeLog is a server of a fixed log whose streams the test may break.
type fakeLog struct {
	logID     string
	events    int
	heartbeat float64
	// spoil decides how the nth stream (from 1) behaves.
	spoil func(n int, s *fakeStream)
	// line is the event of a seq; nil means eventLine.
	line func(seq int) string

	mu       sync.Mutex
	streams  int
	cursors  []string
	collapse []string // of the queries
}

// fakeStream is one GET /rpc/stream under way.
type fakeStream struct {
	logID   string
	w       http.ResponseWriter
	r       *http.Request
	after   int
	latest  int
	asOf    int
	skip    int  // this seq is left out
	repeat  bool // every event comes twice
	cutAt   int  // bytes after which the connection is cut, 0 never
	closing string
	silent  bool // nothing follows stream/opened
}

func (f *fakeLog) start(t *testing.T) *Client {
	t.Helper()
	server := httptest.NewServer(f.handler())
	c := New(At(server.URL, SourceGiven, "", false))
	t.Cleanup(func() { c.Close(); server.Close() })
	return c
}

func (f *fakeLog) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /rpc/stream", func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.streams++
		n := f.streams
		raw := r.URL.Query().Get("after_seq")
		f.cursors = append(f.cursors, raw)
		f.collapse = append(f.collapse, r.URL.Query().Get("collapse"))
		current := f.logID
		f.mu.Unlock()
		logID, cursor, found := strings.Cut(raw, ":")
		if !found {
			logID, cursor = current, raw
		}
		after := f.events
		if cursor != "" {
			after, _ = strconv.Atoi(cursor)
		}
		if logID != current {
			refuse(w, http.StatusConflict, -32005, KindLogChanged)
			return
		}
		if after > f.events {
			refuse(w, http.StatusConflict, -32005, KindCursorAhead)
			return
		}
		s := &fakeStream{logID: current, w: w, r: r, after: after, latest: f.events}
		if f.spoil != nil {
			f.spoil(n, s)
		}
		s.serve(f)
	})
	mux.HandleFunc("POST /rpc/stream", serveEcho)
	mux.HandleFunc("POST /rpc", func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			refuse(w, http.StatusBadRequest, -32700, "parse_error")
			return
		}
		if request.Method != "echo" {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method","data":{"kind":"method_not_found","retryable":false}}}`, request.ID)
			return
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"params":%s,"authorization":%q}}`, request.ID, request.Params, r.Header.Get("Authorization"))
	})
	return mux
}

func refuse(w http.ResponseWriter, status, code int, kind string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":"refused","data":{"kind":%q,"retryable":false,"first_seq":5,"latest_seq":9,"log_id":"log"}}}`, code, kind)
}

func (s *fakeStream) serve(f *fakeLog) {
	s.w.Header().Set("Content-Type", "application/x-ndjson")
	written := 0
	line := f.line
	if line == nil {
		line = eventLine
	}
	write := func(line string) bool {
		line += "\n"
		if s.cutAt > 0 && written+len(line) > s.cutAt {
			fmt.Fprint(s.w, line[:s.cutAt-written])
			s.w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		written += len(line)
		_, err := fmt.Fprint(s.w, line)
		s.w.(http.Flusher).Flush()
		return err == nil
	}
	write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"stream/opened","params":{"log_id":%q,"after_seq":%d,"first_seq":1,"latest_seq":%d,"as_of_seq":%d,"heartbeat_seconds":%g}}`, s.logID, s.after, s.latest, s.asOf, f.heartbeat))
	if s.silent {
		<-s.r.Context().Done()
		return
	}
	for seq := s.after + 1; seq <= s.latest; seq++ {
		if seq == s.skip {
			continue
		}
		if !write(line(seq)) || s.repeat && !write(line(seq)) {
			return
		}
	}
	if s.closing != "" {
		write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"stream/closing","params":%s}`, s.closing))
		return
	}
	<-s.r.Context().Done()
}

func eventLine(seq int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"item/delta","params":{"seq":%d,"thread_seq":%d,"thread_id":"thread_a","timestamp":"2026-11-21T10:00:00.000Z","delta":{"text":"ä %d"}}}`, seq, seq, seq)
}

// serveEcho answers every request of a two-way stream with its params, after a
// notification; the method hold is never answered and cut ends the stream.
func serveEcho(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	if err := control.EnableFullDuplex(); err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	control.Flush()
	lines := bufio.NewScanner(r.Body)
	for lines.Scan() {
		var request struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if err := json.Unmarshal(lines.Bytes(), &request); err != nil {
			continue
		}
		switch request.Method {
		case "hold":
			continue
		case "cut":
			// Aborting waits for the request's body unless reading it times out.
			control.SetReadDeadline(time.Now())
			panic(http.ErrAbortHandler)
		case "refuse":
			fmt.Fprintf(w, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-32001,\"message\":\"full\",\"data\":{\"kind\":\"overloaded\",\"retryable\":true,\"retry_after_ms\":250}}}\n", request.ID)
		default:
			fmt.Fprintf(w, "%s\n{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n", eventLine(7), request.ID, request.Params)
		}
		control.Flush()
	}
}

// soon bounds the wait of a test.
const soon = 20 * time.Second

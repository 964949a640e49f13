package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// A server that names one position for ever must not keep a command for ever.
func TestListsEndAtAPositionThatWasThereBefore(t *testing.T) {
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		if requests.Add(1) > 50 {
			panic(http.ErrAbortHandler)
		}
		result := `{"thread":{"thread_id":"thread_a"},"thread_id":"thread_a"}`
		switch {
		case strings.HasSuffix(q.Method, "/list"), strings.HasPrefix(q.Method, "inbox/"):
			result = `{"next_cursor":"7","next_after_entry_id":"ent_7","next_after_raw_id":"raw_7","latest_seq":9,"as_of_seq":9}`
		}
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(q.ID)+`,"result":`+result+`}`)
	}))
	defer server.Close()
	p := newUser(t)
	for _, command := range []string{
		"threads --limit=0", "threads --limit=0 -o json", "turns --limit=0", "items --limit=0", "token list", "bridge list", "deliveries --limit=0",
		"notify list", "respond", "review", "inbox thread_a --limit=0", "inbox show ent_1 --thread=thread_a --limit=0",
	} {
		requests.Store(0)
		r := p.holon(append(strings.Fields(command), "--url", server.URL)...)
		if n := requests.Load(); r.code != exitFailed || n > 5 || !strings.Contains(r.err, "a second time") {
			t.Errorf("%s: exit %d after %d requests: %s%s", command, r.code, n, r.out, r.err)
		}
	}
}

package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/api"
)

// starts opens a stream on each transport and returns where it begins. On SSE the
// lines have a prefix.
func (r *rig) starts(query string, header ...string) (after []int64) {
	r.t.Helper()
	for _, c := range []struct{ verb, path string }{{"GET", "/rpc/stream"}, {"POST", "/rpc/stream"}, {"GET", "/events"}} {
		st := r.open(c.verb, c.path+query, header...)
		line := st.next()
		for !strings.Contains(line, "stream/opened") {
			line = st.next()
		}
		after = append(after, parse(r.t, strings.TrimPrefix(line, "data: ")).Params.AfterSeq)
		st.close()
	}
	return after
}

// TestStreamStartsAfterTheCursorOfItsConsumer is the table of what wins: the header,
// then after_seq, then the cursor, then from now on.
func TestStreamStartsAfterTheCursorOfItsConsumer(t *testing.T) {
	r, _, _ := withEvents(t, 10)
	r.cursor("advance", `{"consumer_id":"laptop","stream_name":"events","last_sequence":4}`)
	r.cursor("advance", `{"consumer_id":"laptop","stream_name":"events","subject_id":"thread_a","last_sequence":7}`)
	r.cursor("advance", `{"consumer_id":"laptop","stream_name":"mail","last_sequence":9}`)
	for _, c := range []struct {
		query, header string
		want          int64
	}{
		{"", "", 10},
		{"?consumer=laptop", "", 4},
		{"?consumer=" + url.QueryEscape(" laptop "), "", 4},
		{"?consumer=laptop&thread_id=thread_a", "", 7},
		{"?consumer=laptop&thread_id=thread_a&method=item/*", "", 7},
		{"?consumer=laptop&thread_id=thread_a&thread_id=thread_b", "", 4}, // of no single thread
		{"?consumer=laptop&thread_id=thread_b", "", 0},                    // no row
		{"?consumer=laptop&collapse=superseded", "", 4},
		{"?consumer=nobody", "", 0},
		{"?consumer=subscription:a", "", 0}, // reading is allowed
		{"?consumer=laptop&after_seq=2", "", 2},
		{"?consumer=laptop&after_seq=0", "", 0},
		{"?consumer=laptop", "6", 6},
		{"?consumer=laptop", "0", 0},
		{"?consumer=laptop&after_seq=2", "0", 0},
		{"?consumer=laptop&after_seq=x", "3", 3},
		{"?after_seq=2", "0", 0},
	} {
		var header []string
		if c.header != "" {
			header = []string{"Last-Event-ID", c.header}
		}
		for i, got := range r.starts(c.query, header...) {
			if got != c.want {
				t.Errorf("%s, Last-Event-ID %q, transport %d: after %d, want %d", c.query, c.header, i, got, c.want)
			}
		}
	}
}

func TestSubscriptionStartsAfterTheCursorOfItsConsumer(t *testing.T) {
	r, store, m := withEvents(t, 10)
	at, err := store.Reader().Position(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	r.cursor("advance", `{"consumer_id":"laptop","stream_name":"events","last_sequence":4}`)
	r.cursor("advance", `{"consumer_id":"laptop","stream_name":"events","subject_id":"thread_a","last_sequence":7}`)
	st := r.open("POST", "/rpc/stream")
	st.expect("stream/opened")
	for i, c := range []struct {
		params string
		want   int64
	}{
		{`{"consumer":"laptop","thread_ids":["thread_a"]}`, 7}, {`{"consumer":"laptop"}`, 4}, {`{"consumer":"nobody","thread_ids":["thread_b"]}`, 0},
		{`{"consumer":"laptop","after_seq":9}`, 9}, {`{"consumer":"laptop","after_seq":10}`, 10}, {`{"consumer":"laptop","log_id":"` + at.LogID + `"}`, 4},
	} {
		id := fmt.Sprint(i + 1)
		st.send(request(id, "stream/subscribe", c.params))
		var answer message
		for answer = st.message(); string(answer.ID) != id; answer = st.message() {
		}
		var got api.StreamSubscribeResult
		if err := json.Unmarshal(answer.Result, &got); err != nil || got.AfterSeq != c.want {
			t.Errorf("%s: %s, want after %d", c.params, answer.Result, c.want)
		}
	}
	for bad, kind := range map[string]api.Kind{
		`{"consumer":""}`: api.KindInvalidParams, `{"consumer":"` + strings.Repeat("n", 257) + `"}`: api.KindInvalidParams,
		`{"consumer":"laptop","log_id":"another"}`: api.KindLogChanged,
	} {
		st.send(request("99", "stream/subscribe", bad))
		var answer message
		for answer = st.message(); string(answer.ID) != "99"; answer = st.message() {
		}
		if answer.Error == nil || answer.Error.Data.Kind != kind || kind == api.KindInvalidParams && answer.Error.Data.Field != "consumer" {
			t.Errorf("%.40s: %+v", bad, answer.Error)
		}
	}
	// What comes is what the consumer has not confirmed.
	other := r.open("GET", "/rpc/stream?consumer=laptop&thread_id=thread_a")
	other.expect("stream/opened")
	m.Messages("", 1, 5)
	m.Commit()
	for seq := int64(8); seq <= 11; seq++ {
		if got := other.message(); got.Params.Seq != seq {
			t.Fatalf("got seq %d, want %d", got.Params.Seq, seq)
		}
	}
}

// TestStreamOfAConsumerThatCannotBeFollowedIsRefused: never a silent gap.
func TestStreamOfAConsumerThatCannotBeFollowedIsRefused(t *testing.T) {
	r, store, _ := withEvents(t, 10)
	r.cursor("advance", `{"consumer_id":"old","stream_name":"events","last_sequence":2}`)
	r.cursor("advance", `{"consumer_id":"edge","stream_name":"events","last_sequence":5}`)
	if p, err := store.Prune(context.Background(), 6); err != nil || p.First != 6 {
		t.Fatalf("%+v, %v", p, err)
	}
	if _, err := store.Append(ownUnit(t, store, "above", 50)); err != nil { // as a damaged log would have it
		t.Fatal(err)
	}
	bare := newRig(t)
	for _, c := range []struct {
		r      *rig
		query  string
		header []string
		status int
		kind   api.Kind
		field  string
	}{
		{r, "?consumer=old", nil, 410, api.KindCursorExpired, ""}, {r, "?consumer=nobody", nil, 410, api.KindCursorExpired, ""},
		{r, "?consumer=above", nil, 409, api.KindCursorAhead, ""},
		{r, "?consumer=", nil, 400, api.KindInvalidParams, "consumer"}, {r, "?consumer=a&consumer=b", nil, 400, api.KindInvalidParams, "consumer"},
		{r, "?consumer=" + strings.Repeat("n", 257), nil, 400, api.KindInvalidParams, "consumer"},
		{r, "?consumer=edge", []string{"Last-Event-ID", "five"}, 400, api.KindInvalidCursor, "Last-Event-ID"},
		{r, "?consumer=edge", []string{"Last-Event-ID", ""}, 400, api.KindInvalidCursor, "Last-Event-ID"},
		{r, "?consumer=edge&after_seq=x", nil, 400, api.KindInvalidCursor, "after_seq"},
		{bare, "?consumer=a", nil, 503, api.KindUnavailable, ""},
	} {
		for _, path := range []string{"/rpc/stream", "/events"} {
			req, err := http.NewRequest("GET", c.r.url+path+c.query, nil)
			if err != nil {
				t.Fatal(err)
			}
			if c.header != nil {
				req.Header.Set(c.header[0], c.header[1])
			}
			resp, err := c.r.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if e := parse(t, string(body)).Error; resp.StatusCode != c.status || e == nil || e.Data.Kind != c.kind || e.Data.Field != c.field {
				t.Errorf("%s%.40s %q: status %d, %s", path, c.query, c.header, resp.StatusCode, body)
			}
		}
	}
	if got := r.starts("?consumer=edge"); got[0] != 5 {
		t.Errorf("the oldest cursor that can be followed starts after %d", got[0])
	}
	// The way on: a position that the log has.
	r.cursor("advance", `{"consumer_id":"nobody","stream_name":"events","last_sequence":5}`)
	r.cursor("reset", `{"consumer_id":"above","stream_name":"events","last_sequence":10,"reason":"damaged"}`)
	if got := r.starts("?consumer=nobody"); got[0] != 5 {
		t.Errorf("after %d", got[0])
	}
	if got := r.starts("?consumer=above"); got[0] != 10 {
		t.Errorf("after %d", got[0])
	}
}

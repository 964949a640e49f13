package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist/sqlite"
	"github.com/seed82539d15/holon/threads"
)

// withEvents is a server over a log of n events of thread_a.
func withEvents(t *testing.T, n int) (*rig, *sqlite.Store, *persisttest.Maker) {
	t.Helper()
	r, store := stored(t, 0)
	m := persisttest.NewMaker(t, store, "thread_a").Start()
	m.Messages("", n-1, 5)
	m.Commit()
	return r, store, m
}

// cursorAnswer is what the methods of cursors answer.
type cursorAnswer struct {
	Cursor     map[string]any   `json:"cursor"`
	Cursors    []map[string]any `json:"cursors"`
	Seq        int64            `json:"seq"`
	LatestSeq  int64            `json:"latest_seq"`
	NextCursor string           `json:"next_cursor"`
}

// cursor makes a request that must succeed.
func (r *rig) cursor(method, params string) (out cursorAnswer) {
	r.t.Helper()
	_, answer := r.post(request("1", "cursor/"+method, params))
	m := parse(r.t, answer)
	if m.Error != nil {
		r.t.Fatalf("%s %s: %s", method, params, answer)
	}
	if err := json.Unmarshal(m.Result, &out); err != nil {
		r.t.Fatal(err)
	}
	return out
}

// refused makes a request that must fail.
func (r *rig) refused(method, params string, kind api.Kind) *api.Error {
	r.t.Helper()
	_, answer := r.post(request("1", method, params))
	m := parse(r.t, answer)
	if m.Error == nil || m.Error.Data.Kind != kind {
		r.t.Fatalf("%s %s: %s, want %s", method, params, answer, kind)
	}
	return m.Error
}

func TestCursorWithoutARowHasAZeroState(t *testing.T) {
	r, _, _ := withEvents(t, 3)
	got := r.cursor("read", `{"consumer_id":" laptop ","stream_name":"events"}`)
	if b, _ := json.Marshal(got.Cursor); string(b) != `{"consumer_id":"laptop","exists":false,"last_sequence":0,"stream_name":"events","subject_id":""}` || got.LatestSeq != 3 {
		t.Errorf("%s at %d", b, got.LatestSeq)
	}
	r.cursor("error", `{"consumer_id":"laptop","stream_name":"events","error":"down"}`)
	if c := r.cursor("read", `{"consumer_id":"laptop","stream_name":"events"}`).Cursor; c["exists"] != true || c["last_error"] != "down" || c["last_sequence"] != 0.0 {
		t.Errorf("%v", c)
	}
}

func TestCursorOnlyAdvances(t *testing.T) {
	r, store, _ := withEvents(t, 5)
	const name = `"consumer_id":"laptop","stream_name":"events","subject_id":"thread_a"`
	first := r.cursor("advance", `{`+name+`,"last_sequence":3,"delivery_id":"d3","delivered_at":"2026-11-22T10:00:00Z"}`)
	if first.Seq != 5 || first.Cursor["last_delivered_at"] != "2026-11-22T10:00:00.000Z" || first.Cursor["exists"] != true {
		t.Errorf("%+v", first)
	}
	r.cursor("error", `{`+name+`,"error":"`+strings.Repeat("ü", 2000)+`"}`)
	if text := r.cursor("read", `{`+name+`}`).Cursor["last_error"].(string); len(text) != 2048 || strings.Trim(text, "ü") != "" {
		t.Errorf("the error has %d bytes", len(text))
	}
	again := r.cursor("advance", `{`+name+`,"last_sequence":3,"delivery_id":"d3","delivered_at":"2026-11-23T10:00:00Z"}`)
	if again.Cursor["last_delivered_at"] != first.Cursor["last_delivered_at"] || again.Cursor["last_error"] != nil {
		t.Errorf("the repetition: %v", again.Cursor)
	}
	for _, more := range []string{`"last_sequence":2,"delivery_id":"d3"`, `"last_sequence":3`, `"last_sequence":3,"delivery_id":"d4"`} {
		e := r.refused("cursor/advance", `{`+name+`,`+more+`}`, api.KindConflict)
		if e.Code != -32003 || e.Data.Reason != "not_monotonic" || e.Data.Cursor == nil || e.Data.Cursor.LastSequence != 3 || e.Data.Cursor.LastDeliveryID != "d3" {
			t.Errorf("%s: %+v", more, e.Data)
		}
	}
	e := r.refused("cursor/advance", `{`+name+`,"last_sequence":6}`, api.KindCursorAhead)
	if e.Code != -32005 || e.Data.LatestSeq == nil || *e.Data.LatestSeq != 5 || *e.Data.FirstSeq != 1 || e.Data.LogID != testLogID {
		t.Errorf("%+v", e.Data)
	}
	r.refused("cursor/reset", `{`+name+`,"last_sequence":6,"reason":"x"}`, api.KindCursorAhead)
	r.cursor("advance", `{"consumer_id":"laptop","stream_name":"mail","last_sequence":600}`) // of its own
	if head := store.Tail().Head(); head != 5 {
		t.Errorf("rows alone were to change, the log is at %d", head)
	}
}

func TestCursorResetAndDeletionAreEvents(t *testing.T) {
	r, store, m := withEvents(t, 5)
	m.Add(notify.ThreadClosed, "", "", &threads.Changed{Type: "closed", State: threads.Closed})
	m.Commit() // events about the thread may still come
	const name = `"consumer_id":"laptop","stream_name":"events","subject_id":"thread_a"`
	for _, method := range []string{"cursor/reset", "cursor/delete"} {
		if e := r.refused(method, `{`+name+more(method)+`,"reason":"x"}`, api.KindCursorNotFound); e.Code != -32002 {
			t.Errorf("%+v", e)
		}
	}
	r.cursor("advance", `{`+name+`,"last_sequence":4,"delivery_id":"d"}`)
	reset := r.cursor("reset", `{`+name+`,"last_sequence":1,"reason":" lost my notes ","idempotency_key":"k"}`)
	if reset.Seq != 7 || reset.Cursor["last_sequence"] != 1.0 || reset.Cursor["last_delivery_id"] != nil || reset.Cursor["last_delivered_at"] != nil || reset.Cursor["last_error"] != nil {
		t.Errorf("%+v", reset)
	}
	if again := r.cursor("reset", `{`+name+`,"last_sequence":1,"reason":" lost my notes ","idempotency_key":"k"}`); again.Seq != 7 {
		t.Errorf("the same key: %+v", again)
	}
	r.refused("cursor/reset", `{`+name+`,"last_sequence":1,"reason":" "}`, api.KindInvalidParams)
	gone := r.cursor("delete", `{`+name+`,"reason":"unused"}`)
	if gone.Seq != 8 || gone.Cursor["exists"] != false || gone.Cursor["last_sequence"] != 0.0 {
		t.Errorf("%+v", gone)
	}
	p, err := store.Reader().Page(context.Background(), notify.Query{After: 6, MaxEvents: 10, MaxBytes: 1 << 20})
	if err != nil || len(p.Events) != 2 {
		t.Fatalf("%+v, %v", p, err)
	}
	for i, want := range []string{
		`"consumer_id":"laptop","stream_name":"events","subject_id":"thread_a","subject_thread_id":"thread_a","from_sequence":4,"to_sequence":1,"reason":"lost my notes","by":"client"}`,
		`"consumer_id":"laptop","stream_name":"events","subject_id":"thread_a","subject_thread_id":"thread_a","from_sequence":1,"to_sequence":0,"reason":"unused","by":"client"}`,
	} {
		e := p.Events[i]
		if e.Method != []string{notify.CursorReset, notify.CursorDeleted}[i] || e.ThreadID != "" || !strings.HasSuffix(string(e.Params), want) || strings.Contains(string(e.Params), `"thread_id"`) {
			t.Errorf("%s %s", e.Method, e.Params)
		}
	}
}

// more is the member that cursor/reset needs besides the name.
func more(method string) string {
	if method == "cursor/reset" {
		return `,"last_sequence":1`
	}
	return ""
}

// TestCursorD12CursorsWithoutTheirConsumerAreListed: the cursors of a consumer of
// the server are there to be read, whether the consumer still exists or not.
func TestCursorD12CursorsWithoutTheirConsumerAreListed(t *testing.T) {
	r, store, _ := withEvents(t, 3)
	if _, err := store.Append(ownUnit(t, store, "subscription:gone", 2)); err != nil {
		t.Fatal(err)
	}
	r.cursor("advance", `{"consumer_id":"laptop","stream_name":"events","last_sequence":1}`)
	r.cursor("advance", `{"consumer_id":"laptop","stream_name":"events","subject_id":"thread_a","last_sequence":1}`)
	r.cursor("advance", `{"consumer_id":"laptop","stream_name":"mail","last_sequence":1}`)
	for params, want := range map[string]string{
		`{}`: "subscription:gone events, laptop events, laptop events thread_a, laptop mail", `{"order":"desc","limit":2}`: "laptop mail, laptop events thread_a",
		`{"consumer_id":"subscription:gone"}`: "subscription:gone events", `{"consumer_id":" laptop "}`: "laptop events, laptop events thread_a, laptop mail",
		`{"stream_name":"mail"}`: "laptop mail", `{"subject_id":"thread_a"}`: "laptop events thread_a",
		`{"subject_id":""}`: "subscription:gone events, laptop events, laptop mail", `{"consumer_id":"laptop","stream_name":"events","subject_id":""}`: "laptop events",
		`{"subject_id":null}`: "subscription:gone events, laptop events, laptop events thread_a, laptop mail", `{"consumer_id":"nobody"}`: "",
	} {
		list := r.cursor("list", params)
		var got []string
		for _, c := range list.Cursors {
			got = append(got, strings.TrimSpace(fmt.Sprint(c["consumer_id"], " ", c["stream_name"], " ", c["subject_id"])))
		}
		if strings.Join(got, ", ") != want || list.LatestSeq != 3 || (list.NextCursor != "") != strings.Contains(params, "limit") {
			t.Errorf("%s: %q, next %q, want %q", params, strings.Join(got, ", "), list.NextCursor, want)
		}
	}
	next := r.cursor("list", `{"order":"desc","limit":2}`).NextCursor
	if page := r.cursor("list", `{"order":"desc","limit":2,"cursor":"`+next+`"}`); len(page.Cursors) != 2 || page.Cursors[1]["consumer_id"] != "subscription:gone" || page.NextCursor != "" {
		t.Errorf("%+v", page)
	}
	// scanned_seq is the business of who made the service.
	if c := r.cursor("read", `{"consumer_id":"subscription:gone","stream_name":"events"}`).Cursor; c["scanned_seq"] != float64(len("subscription:gone")) || c["last_sequence"] != 2.0 {
		t.Errorf("%v", c)
	}
	if c := r.cursor("read", `{"consumer_id":"laptop","stream_name":"events"}`).Cursor; c["scanned_seq"] != nil {
		t.Errorf("%v", c)
	}
	for method, params := range map[string]string{
		"advance": `,"last_sequence":3}`, "error": `,"error":"x"}`, "reset": `,"last_sequence":0,"reason":"x"}`, "delete": `,"reason":"x"}`,
	} {
		if e := r.refused("cursor/"+method, `{"consumer_id":" subscription:gone","stream_name":"events"`+params, api.KindForbidden); e.Code != -32006 || e.Data.Field != "consumer_id" {
			t.Errorf("%s: %+v", method, e)
		}
	}
}

// TestCursorD13OneRowForAllEventsOfAConsumer: many events are one row.
func TestCursorD13OneRowForAllEventsOfAConsumer(t *testing.T) {
	r, _, _ := withEvents(t, 40)
	for seq := 1; seq <= 40; seq++ {
		r.cursor("advance", fmt.Sprintf(`{"consumer_id":"laptop","stream_name":"events","last_sequence":%d,"delivery_id":"d%d"}`, seq, seq))
	}
	if list := r.cursor("list", `{}`); len(list.Cursors) != 1 || list.Cursors[0]["last_sequence"] != 40.0 || list.Cursors[0]["last_delivery_id"] != "d40" {
		t.Errorf("%+v", list)
	}
}

// ownUnit is a unit in which the server advances the cursor of its own consumer.
func ownUnit(t *testing.T, store *sqlite.Store, consumer string, to int64) *ledger.Unit {
	t.Helper()
	before, _, err := store.Reader().ReadCursor(context.Background(), cursors.Name{ConsumerID: consumer, StreamName: cursors.StreamEvents})
	if err != nil {
		t.Fatal(err)
	}
	after, err := before.Advance(to, &cursors.Delivery{ID: "d"}, notify.TimeFromMilli(1))
	if err != nil {
		t.Fatal(err)
	}
	u := &ledger.Unit{}
	cursors.Write(u, before, after)
	return u
}

func TestParamsOfCursorsAreChecked(t *testing.T) {
	r, _, _ := withEvents(t, 2)
	long := strings.Repeat("n", 257)
	for _, c := range []struct{ method, params, field string }{
		{"read", `{"stream_name":"events"}`, "consumer_id"}, {"read", `{"consumer_id":"a"}`, "stream_name"},
		{"read", `{"consumer_id":" ","stream_name":"events"}`, "consumer_id"}, {"read", `{"consumer_id":"a","stream_name":"events","subject_id":"` + long + `"}`, "subject_id"},
		{"read", `{"consumer_id":"a","stream_name":"events","subject_id":7}`, "subject_id"},
		{"advance", `{"consumer_id":"a","stream_name":"events"}`, "last_sequence"}, {"advance", `{"consumer_id":"a","stream_name":"events","last_sequence":-1}`, "last_sequence"},
		{"advance", `{"consumer_id":"a","stream_name":"events","last_sequence":1,"delivery_id":"` + long + `"}`, "delivery_id"},
		{"error", `{"consumer_id":"a","stream_name":"events"}`, "error"}, {"reset", `{"consumer_id":"a","stream_name":"events","last_sequence":1}`, "reason"},
		{"delete", `{"consumer_id":"a","stream_name":"events"}`, "reason"}, {"list", `{"consumer_id":""}`, "consumer_id"},
		{"list", `{"limit":0}`, "limit"}, {"list", `{"order":"up"}`, "order"}, {"read", `{"consumer_id":"a","stream_name":"events","x":1}`, "x"},
	} {
		if e := r.refused("cursor/"+c.method, c.params, api.KindInvalidParams); e.Data.Field != c.field {
			t.Errorf("%s %.80s: field %q, want %q", c.method, c.params, e.Data.Field, c.field)
		}
	}
	r.refused("cursor/list", `{"cursor":"x"}`, api.KindInvalidCursor)
	bare := newRig(t)
	bare.refused("cursor/read", `{"consumer_id":"a","stream_name":"events"}`, api.KindUnavailable)
	bare.refused("cursor/list", `{}`, api.KindUnavailable)
}

func TestCursorsHaveNoMoreThanTheirBound(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Cursors = fullCursors{} })
	e := r.refused("cursor/advance", `{"consumer_id":"a","stream_name":"events","last_sequence":0}`, api.KindOverloaded)
	if e.Code != -32001 || !e.Data.Retryable || e.Data.RetryAfterMs == 0 {
		t.Errorf("%+v", e)
	}
	_, answer := r.post(request("1", "initialize", `{}`))
	if !strings.Contains(answer, `"max_cursors":100000`) || !strings.Contains(answer, `"max_cursor_name_bytes":256`) || !strings.Contains(answer, `"max_cursor_text_bytes":2048`) {
		t.Error("initialize does not tell the bounds")
	}
}

// fullCursors have no room.
type fullCursors struct{ api.Cursors }

func (fullCursors) Advance(context.Context, cursors.Advance) (cursors.Result, error) {
	return cursors.Result{}, cursors.ErrTooMany
}

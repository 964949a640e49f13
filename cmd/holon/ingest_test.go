package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/rpc/client"
)

func TestIngestStoresEachItemOnce(t *testing.T) {
	s := startMailbox(t)
	var input strings.Builder
	for i := range 600 {
		fmt.Fprintf(&input, `{"native_id":"n%d","summary":"Build %d failed"}`+"\n", i, i)
	}
	r := holon(t, s.data, input.String(), "ingest", "me", "--source=ci")
	if r.code != exitOK || r.out != "" || r.err != "stored 600, 0 duplicates\n" {
		t.Fatalf("%+v", r)
	}
	r = holon(t, s.data, input.String()+"\n"+`{"native_id":"new"}`, "ingest", "me", "--source=ci", "-o", "json")
	object := oneObject(t, r.out)
	if object["stored"] != 1.0 || object["duplicates"] != 600.0 || !strings.Contains(r.err, "stored 1, 600 duplicates") {
		t.Errorf("%+v", r)
	}
	r = holon(t, s.data, `{"native_id":"n1"}`+"\n\n"+`{"native_id":"n2","source":"ci"}`+"\n", "ingest", "me", "--source=ci", "-o", "jsonl")
	if lines := strings.Split(r.out, "\n"); len(lines) != 3 || oneObject(t, lines[1])["line"] != 3.0 || oneObject(t, lines[0])["duplicate"] != true {
		t.Errorf("%+v", r)
	}
	if out := s.want("inbox", "-n", "0"); strings.Count(out, "\n") != 602 {
		t.Errorf("%d lines", strings.Count(out, "\n"))
	}
}

func TestWrongLinesEndIngest(t *testing.T) {
	s := startMailbox(t)
	for name, tc := range map[string]struct{ line, err string }{
		"no JSON":        {`hello`, "line 3: it is not an item"},
		"no object":      {`["native_id"]`, "line 3: it is not an item"},
		"no id":          {`{"summary":"x"}`, "line 3: native_id must not be empty"},
		"unknown member": {`{"native_id":"x","sumary":"y"}`, "sumary"},
		"another source": {`{"native_id":"x","source":"other"}`, `its source is "other"`},
		"bad summary":    {`{"native_id":"x","summary":"a\u0007b"}`, "line 3: summary must be one line"},
		"bad time":       {`{"native_id":"x","occurred_at":"today"}`, "occurred_at"},
		"bad grouping":   {`{"native_id":"x","grouping":{"flush":"later"}}`, "grouping.flush"},
		"large payload":  {`{"native_id":"x","payload":"` + strings.Repeat("x", 70_000) + `"}`, "payload has"},
		"long line":      {`{"native_id":"x","payload":"` + strings.Repeat("x", 2<<20) + `"}`, "line 3: the line is"},
	} {
		t.Run(name, func(t *testing.T) {
			input := fmt.Sprintf("{\"native_id\":%q}\n\n%s\n{\"native_id\":\"after\"}\n", name, tc.line)
			r := holon(t, s.data, input, "ingest", "me", "--source=ci")
			if r.code != exitFailed || !strings.Contains(r.err, tc.err) || !strings.Contains(r.err, "stored 1, 0 duplicates") {
				t.Errorf("%+v", r)
			}
		})
	}
	if r := holon(t, s.data, `{"native_id":"x"}`, "ingest", "me", "--source=message"); r.code != exitFailed || !strings.Contains(r.err, "belongs to the server") || !strings.Contains(r.err, "line 1") {
		t.Errorf("a source of the server: %+v", r)
	}
	if r := holon(t, s.data, `{"native_id":"x"}`, "ingest", "nobody", "--source=ci"); r.code != exitFailed || !strings.Contains(r.err, `"thread_id":"nobody","agent":"mailbox"`) {
		t.Errorf("no such thread: %+v", r)
	}
}

// A payload of the largest size arrives, whatever its characters.
func TestPayloadsArriveUnchanged(t *testing.T) {
	s := startMailbox(t)
	markup := strings.Repeat("<&>\u2028", 10_000)
	r := holon(t, s.data, `{"native_id":"x","payload":"`+markup+`"}`, "ingest", "me", "--source=ci")
	if r.code != exitOK {
		t.Fatalf("%+v", r)
	}
	out := s.want("inbox", "show", "ent_3", "-o", "json")
	items := oneObject(t, out)["items"].([]any)
	if items[0].(map[string]any)["payload"] != markup {
		t.Error("the payload has changed")
	}
}

func TestIngestWorksOnALivePipe(t *testing.T) {
	s := startMailbox(t)
	in, feed := io.Pipe()
	defer in.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out, errs buffer
	g := &globals{console: console{in: in, out: &out, err: &errs, environ: []string{"HOLON_DATA=" + s.data, "XDG_CONFIG_HOME=" + t.TempDir()}}}
	code := make(chan int, 1)
	go func() { code <- execute(ctx, g, []string{"ingest", "me", "--source=ci"}) }()
	for _, id := range []string{"one", "two"} {
		if _, err := fmt.Fprintf(feed, "{\"native_id\":%q}\n", id); err != nil {
			t.Fatal(err)
		}
		eventually(t, id+" is stored while the pipe is open", func() bool { return strings.Contains(s.want("inbox"), "ci "+id) })
	}
	feed.Close()
	if got := <-code; got != exitOK || errs.String() != "stored 2, 0 duplicates\n" {
		t.Errorf("exit %d: %s", got, errs.String())
	}
}

// A signal that comes while a batch is under way does not lose it.
func TestIngestKeepsItsBatchOverASignal(t *testing.T) {
	s := startMailbox(t)
	record, err := client.ReadServerFile(s.data)
	if err != nil {
		t.Fatal(err)
	}
	there, err := url.Parse(record.URLs[0])
	if err != nil {
		t.Fatal(err)
	}
	token, err := os.ReadFile(filepath.Join(s.data, "token"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	forward := httputil.NewSingleHostReverseProxy(there)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if strings.Contains(string(body), "inbox/ingest") {
			cancel() // as a signal does
		}
		r.Body, r.Host = io.NopCloser(bytes.NewReader(body)), there.Host
		forward.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	in, feed := io.Pipe()
	defer in.Close()
	go func() { _, _ = io.WriteString(feed, `{"native_id":"one"}`+"\n") }()
	var out, errs buffer
	g := &globals{console: console{in: in, out: &out, err: &errs, environ: []string{"HOLON_DATA=" + s.data, "HOLON_URL=" + proxy.URL, "HOLON_TOKEN=" + strings.TrimSpace(string(token)), "XDG_CONFIG_HOME=" + t.TempDir()}}}
	if code := execute(ctx, g, []string{"ingest", "me", "--source=ci"}); code != exitFailed || !strings.Contains(errs.String(), "stored 1, 0 duplicates") {
		t.Errorf("exit %d: %s", code, errs.String())
	}
	if got := s.want("inbox"); !strings.Contains(got, "ci one") {
		t.Errorf("the inbox has %s", got)
	}
}

// While the inbox is full, ingest waits; then it goes on.
func TestIngestWaitsWhileTheInboxIsFull(t *testing.T) {
	s := startMailbox(t)
	var input strings.Builder
	for i := range 10_001 {
		fmt.Fprintf(&input, `{"native_id":"n%d"}`+"\n", i)
	}
	r := holon(t, s.data, input.String(), "ingest", "me", "--source=ci", "--wait=1ms")
	stored := 0 // whole batches, which end early where the input is slow
	_, told, _ := strings.Cut(r.err, "stored ")
	if _, err := fmt.Sscanf(told, "%d, 0 duplicates", &stored); err != nil || stored > 10_000 || stored+inbox.MaxItems <= 10_000 {
		t.Fatalf("%+v", r)
	}
	if r.code != exitFailed || !strings.Contains(r.err, fmt.Sprintf("line %d: ", stored+1)) || !strings.Contains(r.err, "holon inbox ack --all me") {
		t.Fatalf("%+v", r)
	}
	done := make(chan result, 1)
	go func() { done <- holon(t, s.data, input.String(), "ingest", "me", "--source=ci") }()
	if out := s.want("inbox", "ack", "--all", "-o", "json"); oneObject(t, out)["acked_items"] != float64(stored) {
		t.Errorf("acknowledged: %s", out)
	}
	if r := <-done; r.code != exitOK || !strings.Contains(r.err, fmt.Sprintf("stored %d, %d duplicates", 10_001-stored, stored)) {
		t.Errorf("%+v", r)
	}
}

// An identity whose characters were lost could be that of another item, which would be lost.
func TestIngestRefusesAnIdentityThatIsNotText(t *testing.T) {
	for _, id := range []string{`n\ud83d`, `n\ud83c`, "n\xff"} {
		items := make(chan numbered, 1)
		err := readItems(t.Context(), strings.NewReader(`{"native_id":"`+id+`"}`), "ci", items)
		if err == nil || !strings.Contains(err.Error(), "line 1: native_id is not UTF-8") {
			t.Errorf("%q: %d items, %v", id, len(items), err)
		}
	}
}

// What programs get wrong in their JSON keeps no item from being stored.
func TestIngestReadsJSONWithTheUsualMistakes(t *testing.T) {
	half, payload := "cut \ufffd", func(v string) string { return `"payload":` + v }
	for _, tc := range []struct{ line, summary, payload string }{
		{`{"native_id":"n","summary":"cut \ud83d"}`, half, ""},
		{`{"native_id":"n","summary":"cut \ude00"}`, half, ""},
		{`{"native_id":"n","summary":"whole \ud83d\ude00"}`, "whole 😀", ""},
		{"{\"native_id\":\"n\",\"summary\":\"cut \xf0\x9f\"}", "cut \ufffd\ufffd", ""},
		{"\ufeff" + `{"native_id":"n","summary":"x"}`, "x", ""},
		{`{"native_id":"n",` + payload(`{"load":NaN,"max":[Infinity,-Infinity],"of":"NaN"}`) + `}`, "", `{"load":null,"max":[null,null],"of":"NaN"}`},
		{`{"native_id":"n",` + payload(`"\ud83d"`) + `}`, "", "\"\ufffd\""},
	} {
		items := make(chan numbered, 2)
		err := readItems(t.Context(), strings.NewReader(tc.line+"\n"+`{"native_id":"next"}`), "ci", items)
		if err != nil || len(items) != 2 {
			t.Errorf("%s: %d items, %v", tc.line, len(items), err)
			continue
		}
		got := <-items
		if value := string(got.Payload); got.NativeID != "n" || got.Summary != tc.summary || value != tc.payload {
			t.Errorf("%s is read as %q, %s", tc.line, got.Summary, value)
		}
	}
}

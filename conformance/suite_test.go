package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"flag"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// Runs of the suite wait for most of their time: more of them fit on few cores.
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("8")
	}
	// A connection that net/http cuts early lingers 500 ms, longer than goleak waits.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"), goleak.Cleanup(cleanUpBinary))
}

// fakeAreas are the areas whose rules the fake server follows.
const fakeAreas = "envelope.*,id.*,batch.*,params.*,frame.*,http.status_*"

func runAgainst(t *testing.T, h http.Handler, filter string) *Report {
	t.Helper()
	return runPatiently(t, h, filter, time.Second)
}

func runPatiently(t *testing.T, h http.Handler, filter string, patience time.Duration) *Report {
	t.Helper()
	srv := httptest.NewServer(h)
	defer srv.Close()
	r, err := Run(t.Context(), Target{URL: srv.URL}, Options{Filter: filter, Patience: patience, Timeout: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// failing are the ids of the checks that fail, for whatever reason.
func (r *Report) failing() []string {
	ids := slices.Concat(r.IDs(Fail), r.IDs(Error))
	slices.Sort(ids)
	return ids
}

func TestEveryCheckSaysWhatAndWhence(t *testing.T) {
	seen := map[string]bool{}
	form := regexp.MustCompile(`^[a-z]+\.[a-z0-9_]+$`)
	for _, c := range table() {
		if !form.MatchString(c.id) {
			t.Errorf("the id %q is not area.name", c.id)
		}
		if seen[c.id] {
			t.Errorf("the id %s is used twice", c.id)
		}
		seen[c.id] = true
		if len(c.sentence) < 20 || !strings.HasSuffix(c.sentence, ".") {
			t.Errorf("%s: %q is no full sentence", c.id, c.sentence)
		}
		if !strings.Contains(c.source, "§") {
			t.Errorf("%s: the source %q names no section", c.id, c.source)
		}
		if c.run == nil {
			t.Errorf("%s does nothing", c.id)
		}
		if c.area() < 0 {
			t.Errorf("%s is of no area", c.id)
		}
	}
	if len(List()) != len(seen) {
		t.Errorf("List gives %d checks of %d", len(List()), len(seen))
	}
}

func TestServerThatKeepsTheRulesPasses(t *testing.T) {
	r := runPatiently(t, newFake(""), fakeAreas, 5*time.Second)
	if r.Failed() {
		var b strings.Builder
		_ = r.WriteText(&b)
		t.Fatalf("the fake without a fault fails:\n%s", b.String())
	}
	if r.Passed < 60 {
		t.Fatalf("only %d checks ran", r.Passed)
	}
}

func TestAServerWithoutNamedTokensSkipsTheirChecks(t *testing.T) {
	r := runAgainst(t, newFake(""), "token.*")
	if n := len(tokenChecks()); r.Failed() || len(r.IDs(Skip)) != n {
		t.Errorf("skipped %v of %d, failing %v", r.IDs(Skip), n, r.failing())
	}
}

// TestSuiteFindsEachFault runs the suite against servers with one fault each.
// The list is exact: a check that misses a fault and a check that fails without
// a reason are both faults of the suite.
func TestSuiteFindsEachFault(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string][]string{
		"mends ids": {"id.huge", "id.integer", "id.negative", "id.string_escapes"},
		"any version": {"envelope.case_exact", "envelope.missing_jsonrpc", "envelope.notification_wrong",
			"envelope.other_jsonrpc"},
		"folds case":            {"envelope.case_exact"},
		"any depth":             {"envelope.nesting_65", "frame.lives_on"},
		"last key wins":         {"envelope.duplicate_key"},
		"answers notifications": {"batch.mixed", "batch.notifications", "envelope.case_exact", "envelope.notification", "envelope.notification_error", "http.status_204"},
		"unwraps batches":       {"batch.duplicate_id", "batch.hundred", "batch.mixed", "batch.nested", "batch.on_stream", "batch.one", "batch.order", "http.status_batch"},
		"takes unknown params":  {"params.case_exact", "params.unknown"},
		"needs nothing":         {"params.null_is_empty"},
		"no kinds":              nil,
		"always 200":            {"frame.too_large_post", "http.status_204", "http.status_400"},
		"needs the last LF":     {"frame.last_line"},
		"dies of bad frames":    {"frame.response_dropped"},
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			r := runAgainst(t, newFake(fault), fakeAreas)
			got := r.failing()
			if want != nil && !slices.Equal(got, want) {
				// A busy machine can be slower than the patience: a patient run decides.
				r = runPatiently(t, newFake(fault), fakeAreas, 5*time.Second)
				got = r.failing()
			}
			if want == nil {
				if len(got) < 20 {
					t.Fatalf("only %d checks fail: %v", len(got), got)
				}
				return
			}
			if !slices.Equal(got, want) {
				var b strings.Builder
				_ = r.WriteText(&b)
				t.Errorf("these fail: %v\nwant:       %v\n%s", got, want, b.String())
			}
		})
	}
}

func TestDroppedIDsFailEveryCheckOfIDs(t *testing.T) {
	want := []string{"id.integer", "id.negative", "id.huge", "id.string", "id.string_escapes", "id.reuse"}
	got := runAgainst(t, newFake("drops ids"), "id.*").IDs(Fail)
	if !slices.Equal(got, want) { // a busy machine can be slower than the patience
		got = runPatiently(t, newFake("drops ids"), "id.*", 5*time.Second).IDs(Fail)
	}
	if !slices.Equal(got, want) {
		t.Errorf("these fail: %v, want %v", got, want)
	}
}

func TestComposedNamesAreFound(t *testing.T) {
	if got := runAgainst(t, newFake("composes names"), "name.seen").IDs(Fail); len(got) != 1 {
		t.Errorf("name.seen did not fail")
	}
	if got := runAgainst(t, newFake("two versions"), "frame.one_message_one_line").IDs(Fail); len(got) != 1 {
		t.Errorf("a response of another version was not found")
	}
	if got := runAgainst(t, newFake("no kinds"), "error.table").IDs(Fail); len(got) != 1 {
		t.Errorf("an error without a kind was not found")
	}
}

// TestForeignServerGetsAReport runs the suite against servers that do not speak
// the protocol: it reports each check and ends.
func TestForeignServerGetsAReport(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]http.Handler{
		"404 everywhere": http.NotFoundHandler(),
		"200 and HTML": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("<html>hello</html>"))
		}),
		"hangs up": http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }),
		"array for everything": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("[1,null,{}]\n"))
		}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := runPatiently(t, h, "", 200*time.Millisecond)
			if len(r.Results) != len(table()) {
				t.Fatalf("%d results for %d checks", len(r.Results), len(table()))
			}
			if !r.Failed() || r.Failures < 80 {
				t.Errorf("only %d checks fail", r.Failures)
			}
			for _, res := range r.Results {
				if res.Outcome == Error {
					t.Errorf("%s went wrong: %s", res.ID, res.Message)
				}
				if res.Outcome != Pass && res.Message == "" {
					t.Errorf("%s does not say why it did not pass", res.ID)
				}
			}
			// Only checks that such a server may satisfy by accident pass.
			for _, id := range r.IDs(Pass) {
				if !slices.Contains([]string{"http.unknown_path", "http.health", "id.null", "error.no_internal", "envelope.case_exact",
					"admission.own_origin", "admission.health_any_host", "admission.loopback_host", "http.status_batch"}, id) {
					t.Errorf("%s passes against a server that speaks nothing of the protocol", id)
				}
			}
		})
	}
}

// TestSilentServerEndsInTime runs the suite against a server that accepts
// connections and sends nothing.
func TestSilentServerEndsInTime(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	r, err := Run(t.Context(), Target{URL: "http://" + ln.Addr().String()},
		Options{Filter: "envelope.parse_error,stream.opened,turn.order", Timeout: 400 * time.Millisecond, Patience: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if r.Failures != 2 || r.Skipped != 1 {
		t.Errorf("got %d failures and %d skipped, want 2 and 1", r.Failures, r.Skipped)
	}
}

func TestPanicIsOneChecksResult(t *testing.T) {
	s := &session{end: &endpoint{}, opts: Options{Timeout: time.Second}, seen: newObserver()}
	results := make([]Result, 2)
	s.runAll(t.Context(), []check{
		{id: "a.a", run: func(*probe) { panic("oh") }},
		{id: "a.b", run: func(*probe) {}},
	}, results)
	if results[0].Outcome != Error || !strings.Contains(results[0].Message, "oh") || results[1].Outcome != Pass {
		t.Errorf("got %+v", results)
	}
}

func TestStoppedRunSkipsTheRest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := Run(ctx, Target{URL: "http://127.0.0.1:1"}, Options{Filter: "envelope.*"})
	if err == nil || r.Skipped != len(r.Results) {
		t.Errorf("err %v, %d of %d skipped", err, r.Skipped, len(r.Results))
	}
}

func TestTargetAndFilterThatMakeNoSenseAreRefused(t *testing.T) {
	for _, url := range []string{"", "unix:", "ftp://x", "http://", "127.0.0.1:80", "http://a b"} {
		if _, err := Run(t.Context(), Target{URL: url}, Options{}); err == nil {
			t.Errorf("the target %q was taken", url)
		}
	}
	for _, filter := range []string{"nope.*", "[", "envelope.*,nope"} {
		if _, err := Run(t.Context(), Target{URL: "http://127.0.0.1:1"}, Options{Filter: filter}); err == nil {
			t.Errorf("the filter %q was taken", filter)
		}
	}
}

func TestReportWritersTellTheSame(t *testing.T) {
	r := &Report{URL: "http://x", Results: []Result{
		{ID: "a.one", Sentence: "It does.", Source: "S §1", Outcome: Pass},
		{ID: "a.two", Sentence: "It does <so>.", Source: "S §1", Outcome: Fail, Message: "no \x1b[31mred\x00", Evidence: []string{"> a", "< \x07b"}},
		{ID: "b.three", Sentence: "It may.", Source: "S §2", Outcome: Skip, Message: "needs more"},
		{ID: "b.four", Sentence: "It cannot.", Source: "S §2", Outcome: Error, Message: "panic"},
	}}
	r.count()
	var text, js, ju bytes.Buffer
	for _, err := range []error{r.WriteText(&text), r.WriteJSON(&js), r.WriteJUnit(&ju)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if !strings.HasSuffix(text.String(), "1 passed, 1 failed, 1 errors, 1 skipped\n") {
		t.Errorf("the text does not end with the counts:\n%s", text.String())
	}
	if strings.ContainsAny(text.String(), "\x1b\x00\x07") {
		t.Errorf("the text holds control characters: %q", text.String())
	}
	var back Report
	if err := json.Unmarshal(js.Bytes(), &back); err != nil || len(back.Results) != 4 || back.Failures != 1 {
		t.Errorf("the JSON reads back as %+v (%v)", back, err)
	}
	var suites junitSuites
	if err := xml.Unmarshal(ju.Bytes(), &suites); err != nil || suites.Tests != 4 || len(suites.Suites) != 2 || suites.Suites[0].Cases[1].Failure == nil {
		t.Errorf("the XML reads back as %+v (%v)", suites, err)
	}
	if !r.Failed() || (&Report{Skipped: 3, Passed: 1}).Failed() {
		t.Errorf("Failed does not follow the counts")
	}
}

func TestEvidenceIsBounded(t *testing.T) {
	tr := &trail{}
	for range 1000 {
		tr.add("<", bytes.Repeat([]byte("x"), 10_000))
	}
	lines := tr.lines()
	if len(lines) != trailLines || len(lines[0]) > trailWidth+40 {
		t.Errorf("%d lines of %d bytes", len(lines), len(lines[0]))
	}
}

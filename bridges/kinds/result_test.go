package kinds

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/bridges"
)

func TestRetryAfterIsReadInAllItsForms(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "0": time.Second, "1": time.Second, "120": 2 * time.Minute, " 7 ": 7 * time.Second, "86400": maxWait, "86401": maxWait,
		"9223372036854775807": maxWait, strings.Repeat("9", 200): maxWait, "-5": 0, "1.5": 0, "soon": 0, "1e9": 0, "0x10": 0,
		"Fri, 02 Jan 2026 03:05:05 GMT": time.Minute, "Friday, 02-Jan-26 03:05:05 GMT": time.Minute, "Fri Jan  2 03:05:05 2026": time.Minute,
		"Fri, 02 Jan 2026 03:00:00 GMT": time.Second, "Fri, 02 Jan 2099 03:00:00 GMT": maxWait, "2026-01-02": 0,
	} {
		if got := retryAfter(http.Header{"Retry-After": {text}}, now); got != want {
			t.Errorf("Retry-After %q is %v, want %v", text, got, want)
		}
	}
}

func TestOutcomeOfEachStatus(t *testing.T) {
	for status := 100; status < 600; status++ {
		got := (&sender{}).judge(answer{status: status, header: http.Header{}, sent: true})
		want := bridges.Refused
		switch {
		case status >= 200 && status <= 299:
			want = bridges.Delivered
		case status == 410:
			want = bridges.Gone
		case status == 429:
			want = bridges.Wait
		case status < 400 || status > 499:
			want = bridges.Failed
		}
		if got.Outcome != want || got.Unhealthy != (status >= 500) || got.Arrived != (status >= 500 || status == 303) || (got.Error == "") != (want == bridges.Delivered) {
			t.Errorf("%d: %+v", status, got)
		}
	}
	for _, status := range []int{301, 400, 500} { // only 429 and 503 hold a bridge
		if got := (&sender{}).judge(answer{status: status, header: http.Header{"Retry-After": {"5"}}}); got.Outcome == bridges.Wait {
			t.Errorf("%d with Retry-After: %+v", status, got)
		}
	}
}

// Whatever form a target sends a secret back in, no result has it.
func TestSecretsAreRemovedFromAnswers(t *testing.T) {
	const secret = "Zm9v/YmFy+cXV4=very&secret"
	s := sender{secrets: forms(secret, "ci", "")}
	escaped := strings.ReplaceAll(secret, "/", `\/`)
	encoded := base64.StdEncoding.EncodeToString([]byte(secret))
	for what, c := range map[string]struct{ body, mustNot string }{
		"plain":              {"x " + secret + " y", "YmFy"},
		"JSON":               {`{"a":"` + escaped + `"}`, "YmFy"},
		"a query":            {"?k=" + url.QueryEscape(secret), "very"},
		"a path":             {"/" + url.PathEscape(secret), "very"},
		"Base64":             {"Basic " + encoded, encoded[8:16]},
		"many":               {strings.Repeat(secret, 3000), "YmFy"},
		"cut at the end":     {"x " + secret[:len(secret)-3], "YmFy"},
		"cut, and many":      {strings.Repeat(secret, 3000)[:maxAnswer], secret[:6]},
		"across 1 KiB":       {strings.Repeat("x", 1<<10-6) + secret, secret[:6]},
		"across after one":   {secret + strings.Repeat("x", 1<<10-14) + secret, secret[:6]},
		"another's":          {"Authorization: Bearer abcdef123456", "abcdef123456"},
		"a member":           {`{"password":"hunter2"}`, "hunter2"},
		"bytes and a secret": {"\xff\xfe" + secret + "\xff", "YmFy"},
	} {
		got := string(s.shown([]byte(c.body)))
		if strings.Contains(got, c.mustNot) || len(got) > shownAnswer || got == "" {
			t.Errorf("%s: %q", what, got)
		}
	}
	if got := string(s.shown([]byte("the ci failed"))); got != "the ci failed" {
		t.Errorf("a short topic is no secret: %q", got)
	}
	if got := s.shown(nil); got != nil {
		t.Errorf("no answer is shown as %q", got)
	}
}

// stalled are targets that never come to an end, each in another place.
var stalled = map[string]func(*http.Request) (*http.Response, error){
	"before the answer": func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	},
	"in the answer": func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(&stall{r.Context()})}, nil
	},
}

type stall struct{ ctx context.Context }

// Read implements io.Reader: a byte each second.
func (s *stall) Read(b []byte) (int, error) {
	select {
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	case <-time.After(time.Second):
		b[0] = ' '
		return 1, nil
	}
}

func TestAttemptEndsAfterTwentySeconds(t *testing.T) {
	for where, send := range stalled {
		for _, c := range []Config{
			{Kind: bridges.KindWebhook, URL: "https://example.com", Secret: NewWebhookSecret()},
			{Kind: bridges.KindNtfy, Topic: "topic"},
			{Kind: bridges.KindSlack, Secret: "token-123"},
			{Kind: bridges.KindGitHub, Secret: "token-123"},
		} {
			targets := map[bridges.Kind]bridges.Target{bridges.KindSlack: {Channel: "C1"}, bridges.KindGitHub: {Repository: "a/b", Number: 1}}
			synctest.Test(t, func(t *testing.T) {
				client := NewClient(ClientConfig{})
				client.send = func(r *http.Request) (*http.Response, error) {
					if err := r.Context().Err(); err != nil {
						return nil, err
					}
					return send(r)
				}
				ch, err := New(c, Shared{Client: client})
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				cards := []bridges.Card{{Key: "a", Post: true, RemoteID: "C1/1.1 C1/1.2"}, {Key: "b", RemoteID: "C1/1.3"}}
				got := ch.Send(t.Context(), &bridges.Outgoing{
					ID: "x", Body: []byte(`{"event_type":"final"}`), Arrived: true, Cards: cards, Target: targets[c.Kind],
				})
				if took := time.Since(began); took != attemptTime {
					t.Errorf("%s, %s: it took %v: %+v", c.Kind, where, took, got)
				}
				status := c.Kind == bridges.KindWebhook && where == "in the answer"
				if (got.Outcome == bridges.Delivered) != status {
					t.Errorf("%s, %s: %+v", c.Kind, where, got)
				}
			})
		}
	}
}

// endless counts what is read of it.
type endless struct{ read int }

// Read implements io.Reader.
func (e *endless) Read(b []byte) (int, error) {
	e.read += len(b)
	return len(b), nil
}

func TestOnlySixtyFourKilobytesOfAnAnswerAreRead(t *testing.T) {
	client, body := NewClient(ClientConfig{}), &endless{}
	client.send = func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: io.NopCloser(body)}, nil
	}
	got := client.do(t.Context(), false, request{method: http.MethodPost, url: mustURL("https://example.com"), header: http.Header{}})
	if body.read != maxAnswer || len(got.body) != maxAnswer || got.status != 200 {
		t.Errorf("%d bytes were read, %d are kept", body.read, len(got.body))
	}
}

func TestOnlyTheBeginningOfAProgramsOutputIsKept(t *testing.T) {
	var h head
	for range 100 {
		if n, err := h.Write(make([]byte, 1000)); n != 1000 || err != nil {
			t.Fatal(n, err)
		}
	}
	if len(h.b) != maxAnswer {
		t.Errorf("%d bytes are kept", len(h.b))
	}
}

// A page of comments may end anywhere; what is behind its end is read one by one.
func TestPageThatIsCutOff(t *testing.T) {
	for body, want := range map[string]comments{
		``:                        {cut: true},
		`[`:                       {cut: true},
		`[]`:                      {},
		`{"message":"x"}`:         {cut: true},
		`[{"id":1}]`:              {whole: make([]gitHubComment, 1)},
		`[{"id":1}`:               {whole: make([]gitHubComment, 1), cut: true},
		`[{"id":1},`:              {whole: make([]gitHubComment, 1), cut: true},
		`[{"id":1},{"id":2,"bo`:   {whole: make([]gitHubComment, 1), cut: true},
		`[{"id":1},{"id":"two"}]`: {whole: make([]gitHubComment, 1), cut: true},
	} {
		client := NewClient(ClientConfig{})
		client.send = func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(body))}, nil
		}
		g := newGitHub(Config{Kind: bridges.KindGitHub, Secret: "token-123"}, client)
		a, end := g.begin(t.Context())
		s := search{c: &gitHubCall{g: g, a: a, o: &bridges.Outgoing{Target: bridges.Target{Repository: "a/b", Number: 1}}}}
		got, _, _ := s.page(findPage, 1)
		end()
		if len(got.whole) != len(want.whole) || got.cut != want.cut {
			t.Errorf("%s: %+v", body, got)
		}
	}
}

// An answer that says all and then does not end has said all.
func TestAnswerThatIsCompleteCounts(t *testing.T) {
	for what, rest := range map[string]func(context.Context) io.Reader{
		"a stall": func(ctx context.Context) io.Reader { return &stall{ctx} },
		"spaces":  func(context.Context) io.Reader { return strings.NewReader(strings.Repeat(" ", 1<<20)) },
	} {
		for _, c := range []struct {
			config Config
			target bridges.Target
			body   string
			id     string
		}{
			{Config{Kind: bridges.KindSlack, Secret: "token-123"}, bridges.Target{Channel: "C1"}, `{"ok":true,"channel":"C1","ts":"1.1"}`, "C1/1.1"},
			{Config{Kind: bridges.KindGitHub, Secret: "token-123"}, bridges.Target{Repository: "a/b", Number: 1}, `{"url":"x","id":7,"body":"…`, "7"},
		} {
			synctest.Test(t, func(t *testing.T) {
				client := NewClient(ClientConfig{})
				client.send = func(r *http.Request) (*http.Response, error) {
					return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(io.MultiReader(strings.NewReader(c.body), rest(r.Context())))}, nil
				}
				ch, err := New(c.config, Shared{Client: client})
				if err != nil {
					t.Fatal(err)
				}
				got := ch.Send(t.Context(), &bridges.Outgoing{
					ID: "x", Body: []byte(`{"event_type":"final"}`), Cards: []bridges.Card{{Key: "a", Post: true}}, Target: c.target,
				})
				if got.Outcome != bridges.Delivered || got.RemoteIDs[0] != c.id {
					t.Errorf("%s, %s: %+v", c.config.Kind, what, got)
				}
			})
		}
	}
}

func TestBridgesAreNotPrinted(t *testing.T) {
	const secret = "xoxb-secret-1"
	whsec := NewWebhookSecret()
	for _, c := range []Config{
		{Kind: bridges.KindSlack, Secret: secret}, {Kind: bridges.KindSlack, WebhookURL: "https://hooks.slack.com/" + secret}, {Kind: bridges.KindGitHub, Secret: secret},
		{Kind: bridges.KindNtfy, Topic: secret, Secret: secret}, {Kind: bridges.KindWebhook, URL: "https://example.com/?k=" + secret, Secret: whsec, Previous: whsec},
	} {
		ch, err := New(c, Shared{})
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(c)
		for _, s := range []string{fmt.Sprint(c, &c, ch), fmt.Sprintf("%v %+v %#v %s", c, c, c, c), fmt.Sprintf("%v %+v %#v %s", ch, ch, ch, ch), string(b)} {
			if err != nil || strings.Contains(s, secret) || strings.Contains(s, whsec) {
				t.Errorf("%s is printed as %s: %v", c.Kind, s, err)
			}
		}
	}
}

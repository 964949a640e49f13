package receiver

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// call sends a request and decodes the answer, if result is not nil.
func call(t *testing.T, method, url, id, body string, result any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if id != "" {
		req.Header.Set(HeaderID, id)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		t.Fatalf("%s %s: %s", method, url, resp.Status)
	}
	if result == nil {
		return
	}
	if err := json.NewDecoder(resp.Body).Decode(result); err != nil {
		t.Fatal(err)
	}
}

func start(t *testing.T, r *Receiver) string {
	s := httptest.NewUnstartedServer(r)
	s.Config.ConnContext = WithConn
	s.Start()
	t.Cleanup(s.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return s.URL
}

func TestReceiverTellsRepeatedWebhooksFromNewOnes(t *testing.T) {
	var bodies []string
	before := time.Now()
	url := start(t, New(func(at time.Time, r Request) {
		if at.Before(before) {
			t.Errorf("a webhook came at %v, before %v", at, before)
		}
		bodies = append(bodies, string(r.Body))
	}))
	for _, id := range []string{"one", "two", "two"} {
		call(t, "POST", url+"/hook", id, "the body of "+id, nil)
	}
	var c Counts
	call(t, "GET", url+"/until?n=2", "", "", &c)
	if c.Requests != 3 || c.Distinct != 2 || c.Connections != 1 || c.LastNew.Before(before) {
		t.Errorf("%+v", c)
	}
	if len(bodies) != 3 || bodies[2] != "the body of two" {
		t.Errorf("%q", bodies)
	}
	var first Request
	call(t, "GET", url+"/first", "", "", &first)
	if string(first.Body) != "the body of one" || first.Header.Get(HeaderID) != "one" {
		t.Errorf("%+v", first)
	}
	call(t, "POST", url+"/reset", "", "", nil)
	call(t, "POST", url+"/hook", "one", "", nil)
	c = Counts{}
	call(t, "GET", url+"/until?n=1", "", "", &c)
	if c.Requests != 1 || c.Distinct != 1 || c.Connections != 1 {
		t.Errorf("after the reset: %+v", c)
	}
}

func TestReceiverAnswersWhenAllHaveCome(t *testing.T) {
	url := start(t, New(nil))
	answered := make(chan Counts, 2)
	for range 2 {
		go func() {
			var c Counts
			call(t, "GET", url+"/until?n=2", "", "", &c)
			answered <- c
		}()
	}
	call(t, "POST", url+"/hook", "one", "", nil)
	call(t, "POST", url+"/hook", "one", "", nil)
	select {
	case c := <-answered:
		t.Fatalf("it answered after one webhook: %+v", c)
	default:
	}
	call(t, "POST", url+"/hook", "two", "", nil)
	for range 2 {
		if c := <-answered; c.Distinct != 2 || c.Requests != 3 {
			t.Errorf("%+v", c)
		}
	}
}

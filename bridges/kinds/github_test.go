package kinds_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/bridges/kinds"
	"github.com/seed82539d15/holon/internal/test/kindstest"
)

func TestGitHubIsCalledAsItsDocumentationSays(t *testing.T) {
	g, r := newGitHubRig(t)
	must(t, r.show("first", true, false), bridges.Delivered)
	must(t, r.show("second", false, false), bridges.Delivered)
	must(t, r.show("third", true, false), bridges.Delivered)
	var calls []string
	for _, req := range g.Requests() {
		calls = append(calls, req.Method+" "+strings.TrimPrefix(req.Path, "/api/v3"))
		h := req.Header
		if h.Get("Accept") != "application/vnd.github+json" || h.Get("X-GitHub-Api-Version") != "2022-11-28" || h.Get("Authorization") != "Bearer "+testToken {
			t.Errorf("%v", h)
		}
	}
	want := []string{
		"POST /repos/octo/parser/issues/1/comments", "PATCH /repos/octo/parser/issues/comments/5001",
		"POST /repos/octo/parser/issues/1/comments", "DELETE /repos/octo/parser/issues/comments/5001",
	}
	if fmt.Sprint(calls) != fmt.Sprint(want) {
		t.Errorf("\n got %v\nwant %v", calls, want)
	}
}

// After an answer that was lost the comment is found by its mark, wherever it is
// among others.
func TestCommentWhoseAnswerWasLostIsFound(t *testing.T) {
	for _, c := range []struct {
		what          string
		before, after int
		size          int
		others        int64
	}{
		{"alone", 0, 0, 0, 0}, {"among others", 3, 3, 100, kindstest.Stranger}, {"on the last page", 45, 3, 100, kindstest.Stranger}, {"on the page before", 45, 12, 100, kindstest.Stranger},
		{"among huge comments", 3, 3, 60000, kindstest.Stranger}, {"on a page of huge comments", 15, 2, 30000, kindstest.Stranger}, {"among its account's own", 5, 5, 50, kindstest.Account},
	} {
		g, r := newGitHubRig(t)
		for i := range c.before {
			g.Add(c.others, fmt.Sprint("before ", i, strings.Repeat("x", c.size)))
		}
		g.Fail(kindstest.LosesAnswer)
		must(t, r.show("news", true, false), bridges.Failed)
		for i := range c.after {
			g.Add(c.others, fmt.Sprint("after ", i, strings.Repeat("x", c.size)))
		}
		must(t, r.show("news", true, true), bridges.Delivered)
		n := 0
		for _, comment := range g.Comments(1) {
			if strings.Contains(comment.Body, "news") {
				n++
				if r.id != fmt.Sprint(comment.ID) {
					t.Errorf("%s: the remote id is %s, the comment %d", c.what, r.id, comment.ID)
				}
			}
		}
		if n != 1 {
			t.Errorf("%s: it is there %d times", c.what, n)
		}
		if n := len(g.Requests()); n > 25 {
			t.Errorf("%s: %d requests", c.what, n)
		}
	}
}

// The account of a token is asked for once.
func TestAccountIsAskedForOnce(t *testing.T) {
	g, r := newGitHubRig(t)
	for i := range 5 {
		must(t, r.show(fmt.Sprint("news ", i), true, true), bridges.Delivered)
	}
	n := 0
	for _, req := range g.Requests() {
		if req.Path == "/api/v3/user" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d times", n)
	}
}

// Anybody can write a comment with the mark of another one.
func TestMarksOfStrangersDoNotCount(t *testing.T) {
	g, r := newGitHubRig(t)
	must(t, r.show("news", true, false), bridges.Delivered)
	comment := g.Comments(1)[0]
	g.Delete(comment.ID)
	g.Add(kindstest.Stranger, comment.Body)
	g.Add(kindstest.Account, comment.Body+" and more") // quoted, as in an answer of a person with this account
	r.id = ""
	must(t, r.show("news", true, true), bridges.Delivered)
	if all := g.Comments(1); len(all) != 3 || r.id != fmt.Sprint(all[2].ID) {
		t.Errorf("%+v", all)
	}
}

// The token of an app has no account. Then nothing is found, and posted again.
func TestTokenOfAnApp(t *testing.T) {
	g, r := newGitHubRig(t)
	g.App = true
	g.Fail(kindstest.LosesAnswer)
	must(t, r.show("news", true, false), bridges.Failed)
	must(t, r.show("news", true, true), bridges.Delivered)
	r.sees("news", "news")
}

func TestGitHubsLimits(t *testing.T) {
	in := func(d time.Duration) string { return fmt.Sprint(time.Now().Add(d).Unix()) }
	for what, c := range map[string]struct {
		h    http.Header
		want time.Duration
	}{
		"retry-after":            {http.Header{"Retry-After": {"90"}}, 90 * time.Second},
		"reset":                  {http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {in(20 * time.Minute)}}, 20 * time.Minute},
		"reset in the past":      {http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {in(-time.Hour)}}, time.Second},
		"reset in a year":        {http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"9223372036854775807"}}, 24 * time.Hour},
		"remaining alone":        {http.Header{"X-Ratelimit-Remaining": {"0"}}, time.Minute},
		"secondary without time": {http.Header{"X-Ratelimit-Remaining": {"4000"}}, time.Minute},
	} {
		g, r := newGitHubRig(t)
		g.Limit(c.h)
		got := must(t, r.show("x", true, false), bridges.Wait)
		if off := got.RetryAfter - c.want; off < -time.Minute || off > time.Minute || got.Unhealthy || got.Arrived || got.RetryAfter <= 0 {
			t.Errorf("%s: %v, want %v: %s", what, got.RetryAfter, c.want, describe(got))
		}
		must(t, r.show("x", true, false), bridges.Delivered)
	}
}

func TestGitHubsRefusals(t *testing.T) {
	for status, want := range map[int]bridges.Outcome{403: bridges.Refused, 404: bridges.Refused, 410: bridges.Gone, 422: bridges.Refused} {
		g, r := newGitHubRig(t)
		g.Break(1, status)
		if got := must(t, r.show("x", true, false), want); got.Status != status || got.Arrived {
			t.Errorf("%s", describe(got))
		}
	}
	_, r := newGitHubRig(t)
	r.target.Number = 99
	must(t, r.show("x", true, false), bridges.Refused)
	g := kindstest.NewGitHub(t, "another-token")
	ch := open(t, kinds.Config{Kind: bridges.KindGitHub, APIURL: g.APIURL(), Secret: testToken})
	must(t, send(t, ch, outgoing(kindstest.Final(), r.target)), bridges.Refused)
}

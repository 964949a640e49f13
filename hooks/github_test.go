package hooks

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/inbox"
)

// github makes an item of an event of GitHub, as the source "gh" does.
func github(t testing.TB, c *Compiled, event, body string, header ...string) (inbox.Item, bool) {
	t.Helper()
	h := http.Header{"X-Github-Event": {event}}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	m, err := c.item(h, []byte(body), proof{})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.item.Check("item"); err != nil {
		t.Fatal(err)
	}
	return m.item, m.drop
}

func ghSource(t testing.TB) *Compiled {
	t.Helper()
	c, err := Compile(Source{Name: "gh", Kind: KindGitHub, Secret: "s"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func recorded(t testing.TB, name string) string {
	t.Helper()
	raw, err := os.ReadFile("testdata/github/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// shown is an item as the tables below write it.
func shown(it inbox.Item) string {
	group := "-"
	if g := it.Grouping; g != nil {
		group = strings.TrimSpace(fmt.Sprint(g.ResourceRef, " ", g.EventFamily, " ", g.Flush, " ", g.Breaks))
	}
	at := "-"
	if !it.OccurredAt.IsZero() {
		at = it.OccurredAt.Format("2006-01-02T15:04:05")
	}
	return fmt.Sprintf("%s | %s | %s | %s", group, it.Sender, at, it.Summary)
}

func TestRecordedEventsOfGitHub(t *testing.T) {
	for name, want := range map[string]string{
		"pull_request_review_comment.created": `pr:2 review_comments | Codertocat | 2019-05-15T15:20:37 | Codertocat commented on README.md in pr:2 "Update the README with new information.": Maybe you should use more emoji on this line.`,
		"pull_request_review.submitted":       `pr:2 reviews | Codertocat | 2019-05-15T15:20:38 | Codertocat reviewed pr:2 "Update the README with new information."`,
		"pull_request.closed":                 `pr:2 lifecycle immediate after | Codertocat | 2019-05-15T15:21:18 | Codertocat closed pr:2 "Update the README with new information." without merging`,
		"pull_request.synchronize":            `- | Codertocat | 2019-05-15T15:20:33 | Codertocat pushed commits to pr:2 "Update the README with new information."`,
		"issue_comment.created":               `issue:1 comments | Codertocat | 2019-05-15T15:20:21 | Codertocat commented on issue:1 "Spelling error in the README file": You are totally right! I'll get this fixed right away.`,
		"workflow_run.completed":              `workflow_run:289782451 ci_updates immediate | Codertocat | 2020-10-05T16:33:49 | CI "test" succeeded on master (run 163)`,
		"workflow_job.completed":              `workflow_run:2202229078 ci_updates | Codertocat | 2021-08-05T10:38:16 | job "linters" of "CodeQL" failed on main`,
		"check_run.completed":                 `pr:2 ci_updates first | Codertocat | 2019-05-15T15:21:12 | check "Octocoders-linter" failed on changes`,
		"push":                                `- | Codertocat | 2019-05-15T15:20:41 | Codertocat pushed tag simple-tag in Codertocat/Hello-World`,
	} {
		event, _, _ := strings.Cut(name, ".")
		body := recorded(t, name)
		it, drop := github(t, ghSource(t), event, body)
		if shown(it) != want || drop {
			t.Errorf("%s:\n%s, want\n%s", name, shown(it), want)
		}
		if !bytes.Equal(it.Payload, []byte(strings.TrimSpace(body))) || it.Truncated || it.Source != "gh" || len(it.NativeID) != 64 {
			t.Errorf("%s: %+v", name, it)
		}
	}
	if _, drop := github(t, ghSource(t), "ping", recorded(t, "ping")); !drop {
		t.Error("a ping is stored")
	}
}

// Everything that happens around one pull request.
func TestEventsOfAPullRequest(t *testing.T) {
	const head = `"sender": {"login": "octocat"}, "repository": {"id": 7, "full_name": "octo/parser"}, `
	pr := func(more string) string {
		return head + `"pull_request": {"number": 135, "title": "Fix the parser", "created_at": "2026-01-01T10:00:00Z", "updated_at": "2026-01-02T10:00:00Z"` + more + `}`
	}
	issue := func(more string) string {
		return head + `"issue": {"number": 135, "title": "Fix the parser", "updated_at": "2026-01-02T10:00:00Z"` + more + `}`
	}
	run := func(more string) string {
		return head + `"workflow_run": {"id": 99, "name": "build", "head_branch": "main", "run_number": 42, "updated_at": "2026-01-03T10:00:00Z"` + more + `}`
	}
	const comment = `, "comment": {"created_at": "2026-01-01T11:00:00Z", "updated_at": "2026-01-01T12:00:00Z", "body": "Why not\r\n\r\na table?", "path": "parser.go"}`
	for i, c := range []struct{ event, body, want string }{
		{"pull_request", `"action": "opened", ` + pr(`, "body": "It hangs."`), `pr:135 lifecycle | octocat | 2026-01-01T10:00:00 | octocat opened pr:135 "Fix the parser": It hangs.`},
		{"pull_request", `"action": "reopened", ` + pr(``), `pr:135 lifecycle | octocat | 2026-01-02T10:00:00 | octocat reopened pr:135 "Fix the parser"`},
		{"pull_request", `"action": "labeled", "label": {"name": "bug"}, ` + pr(``), `- | octocat | 2026-01-02T10:00:00 | octocat labeled pr:135 "Fix the parser": bug`},
		{"pull_request", `"action": "review_requested", "requested_reviewer": {"login": "hubot"}, ` + pr(``), `- | octocat | 2026-01-02T10:00:00 | octocat asked for a review of pr:135 "Fix the parser": hubot`},
		{"pull_request", `"action": "ready_for_review", ` + pr(``), `- | octocat | 2026-01-02T10:00:00 | octocat marked pr:135 "Fix the parser" as ready for review`},
		{"pull_request", `"action": "closed", ` + pr(`, "merged": true, "merged_at": "2026-01-04T10:00:00Z"`), `pr:135 lifecycle immediate after | octocat | 2026-01-04T10:00:00 | octocat merged pr:135 "Fix the parser"`},
		{"pull_request_review", `"action": "submitted", "review": {"state": "changes_requested", "submitted_at": "2026-01-01T13:00:00Z", "body": "Almost."}, ` + pr(``), `pr:135 reviews | octocat | 2026-01-01T13:00:00 | octocat requested changes on pr:135 "Fix the parser": Almost.`},
		{"pull_request_review", `"action": "submitted", "review": {"state": "approved", "body": null}, ` + pr(``), `pr:135 reviews | octocat | - | octocat approved pr:135 "Fix the parser"`},
		{"pull_request_review", `"action": "dismissed", "review": {"state": "dismissed"}, ` + pr(``), `pr:135 reviews | octocat | - | octocat dismissed a review of pr:135 "Fix the parser"`},
		{"pull_request_review_comment", `"action": "created", ` + pr(``) + comment, `pr:135 review_comments | octocat | 2026-01-01T11:00:00 | octocat commented on parser.go in pr:135 "Fix the parser": Why not a table?`},
		{"pull_request_review_comment", `"action": "edited", ` + pr(``) + comment, `pr:135 review_comments | octocat | 2026-01-01T12:00:00 | octocat edited a comment on parser.go in pr:135 "Fix the parser": Why not a table?`},
		{"issue_comment", `"action": "created", ` + issue(`, "pull_request": {"url": "u"}`) + comment, `pr:135 comments | octocat | 2026-01-01T11:00:00 | octocat commented on pr:135 "Fix the parser": Why not a table?`},
		{"issue_comment", `"action": "deleted", ` + issue(``) + comment, `issue:135 comments | octocat | - | octocat deleted a comment on issue:135 "Fix the parser"`},
		{"issues", `"action": "closed", ` + issue(`, "state_reason": "not_planned"`), `issue:135 lifecycle immediate after | octocat | 2026-01-02T10:00:00 | octocat closed issue:135 "Fix the parser" as not planned`},
		{"issues", `"action": "assigned", "assignee": {"login": "hubot"}, ` + issue(``), `- | octocat | 2026-01-02T10:00:00 | octocat assigned issue:135 "Fix the parser": hubot`},
		{"workflow_run", `"action": "completed", ` + run(`, "conclusion": "failure"`), `workflow_run:99 ci_updates immediate | octocat | 2026-01-03T10:00:00 | CI "build" failed on main (run 42)`},
		{"workflow_run", `"action": "in_progress", ` + run(``), `workflow_run:99 ci_updates | octocat | 2026-01-03T10:00:00 | CI "build" is running on main (run 42)`},
		{"workflow_run", `"action": "completed", ` + run(`, "conclusion": "of_a_new_kind"`), `workflow_run:99 ci_updates immediate | octocat | 2026-01-03T10:00:00 | CI "build" ended: of a new kind on main (run 42)`},
		{"check_run", `"action": "completed", ` + head + `"check_run": {"name": "lint", "conclusion": "success", "details_url": "https://github.com/octo/parser/actions/runs/99/job/1", "check_suite": {"id": 5, "head_branch": "main"}}`, `workflow_run:99 ci_updates immediate | octocat | - | check "lint" succeeded on main`},
		{"check_suite", `"action": "requested", ` + head + `"check_suite": {"id": 5, "app": {"name": "Lint"}, "head_branch": null}`, `check_suite:5 ci_updates | octocat | - | check suite "Lint" was requested`},
		{"push", `"ref": "refs/heads/main", "commits": [{}, {}], "head_commit": {"message": "Fix it\n\nLong.", "timestamp": "2026-01-01T12:00:00+02:00"}, ` + head + `"x": 1`, `- | octocat | 2026-01-01T10:00:00 | octocat pushed 2 commits to main in octo/parser: Fix it`},
		{"release", `"action": "published", ` + head + `"x": 1`, `- | octocat | - | github: release published in octo/parser`},
		{"", head + `"x": 1`, `- | octocat | - | github: event in octo/parser`},
		// What is unknown or has another shape is never grouped.
		{"pull_request_review_comment", `"action": "created", ` + head + `"pull_request": {"number": "135"}` + comment, `- | octocat | - | github: pull_request_review_comment created in octo/parser`},
		{"issues", `"action": "closed", "issue": 5`, `- |  | - | github: issues closed`},
		{"workflow_run", `"action": {}, "workflow_run": {"id": -1}, "sender": []`, `- |  | - | github: workflow_run`},
	} {
		it, drop := github(t, ghSource(t), c.event, "{"+c.body+"}")
		if shown(it) != c.want || drop {
			t.Errorf("%d %s:\n%s, want\n%s", i, c.event, shown(it), c.want)
		}
	}
}

// Pull requests of the same number in two repositories are never in one group.
func TestRepositoriesAreNeverInOneGroup(t *testing.T) {
	body := func(id int, name string) string {
		return fmt.Sprintf(`{"action": "created", "sender": {"login": "a"}, "repository": {"id": %d, "full_name": "%s"}, "comment": {"body": "x"},
			"pull_request": {"number": 135, "title": "Fix"}}`, id, name)
	}
	c := ghSource(t)
	for i, s := range []struct {
		id           int
		name, target string
		want         string
	}{
		{1, "octo/one", "repository", "pr:135"},
		{2, "octo/two", "repository", "octo/two#pr:135"},
		{1, "octo/renamed", "", "pr:135"},
		{1, "octo/one", "organization", "octo/one#pr:135"},
		{3, "octo/three", "integration", "octo/three#pr:135"},
	} {
		it, _ := github(t, c, "pull_request_review_comment", body(s.id, s.name), "X-GitHub-Hook-Installation-Target-Type", s.target)
		if it.Grouping == nil || it.Grouping.ResourceRef != s.want || it.Summary != "a commented on "+s.want+` "Fix": x` {
			t.Errorf("%d: %s", i, shown(it))
		}
	}
}

// FuzzItem checks that whatever a known sender sends becomes a valid item or an
// error.
func FuzzItem(f *testing.F) {
	files, err := filepath.Glob("testdata/github/*.json")
	if err != nil || len(files) == 0 {
		f.Fatal(err)
	}
	for _, path := range files {
		raw, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		event, _, _ := strings.Cut(filepath.Base(path), ".")
		f.Add(event, raw)
	}
	f.Add("push", []byte(`{"ref":"refs/heads/\u2028","commits":[1],"head_commit":{"message":"\u0000"}}`))
	general, err := Compile(Source{
		Name: "w", Kind: KindWebhook, Secret: "s", Verify: VerifyBearer, NativeID: "payload.id", Summary: "payload.ref", ResourceRef: "payload.ref",
		EventFamily: "payload.action", Immediate: "payload.now", Breaks: "payload.breaks", Filter: "payload.id != 5",
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, event string, body []byte) {
		for _, c := range []*Compiled{ghSource(t), general} {
			m, err := c.item(http.Header{"X-Github-Event": {event}}, body, proof{})
			if err != nil {
				continue
			}
			if err := m.item.Check("item"); err != nil {
				t.Fatalf("%v", err)
			}
			if raw, err := json.Marshal(m.item); err != nil {
				t.Fatalf("%s: %v", raw, err)
			}
		}
	})
}

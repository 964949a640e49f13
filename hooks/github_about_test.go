package hooks

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/inbox"
)

// What an event of GitHub is about, what came of it, and its kind if it has no group.
func TestSubjectsOfEventsOfGitHub(t *testing.T) {
	const head = `"repository": {"id": 7, "full_name": "o/r"}, "sender": {"login": "ann"}, `
	const pull = `"pull_request": {"number": 135}`
	long := strings.Repeat("é", 200)
	for _, c := range []struct{ event, body, want string }{
		{"issue_comment", `"action": "created", "issue": {"number": 8}, "comment": {"id": 99}`, "comment:99 | | "},
		{"issue_comment", `"action": "deleted", "issue": {"number": 8}, "comment": {"id": 99}`, "comment:99 | | "},
		{"issue_comment", `"action": "created", "issue": {"number": 8}, "comment": {"id": "x"}`, " | | "},
		{"pull_request_review_comment", `"action": "edited", "comment": {"id": 5}, ` + pull, "comment:5 | | "},
		{"pull_request_review", `"action": "dismissed", "review": {"id": 6, "state": "dismissed"}, ` + pull, "review:6 | | "},
		{"workflow_run", `"action": "in_progress", "workflow_run": {"id": 3, "name": "lint", "conclusion": null}`, "run:3 lint | | "},
		{"workflow_run", `"action": "completed", "workflow_run": {"id": 3, "name": "lint", "conclusion": "timed_out"}`, "run:3 lint | timed_out | "},
		{"workflow_run", `"action": "completed", "workflow_run": {"id": 3, "name": "lint", "conclusion": "Strange!"}`, "run:3 lint | | "},
		{"workflow_run", `"action": "completed", "workflow_run": {"id": 3, "name": "` + long + `", "conclusion": "success"}`, "run:3 " + long[:250] + " | success | "},
		{"workflow_job", `"action": "completed", "workflow_job": {"id": 4, "run_id": 3, "name": "vet", "conclusion": "failure"}`, "job:3 vet | | "},
		{"check_run", `"action": "completed", "check_run": {"id": 4, "name": "vet", "conclusion": "failure", "details_url": "https://github.com/o/r/actions/runs/3/job/4"}`, "job:3 vet | | "},
		{"check_run", `"action": "completed", "check_run": {"id": 4, "name": "cla", "conclusion": "failure", "check_suite": {"id": 2}}`, "check:2 cla | failure | "},
		{"check_suite", `"action": "completed", "check_suite": {"id": 2, "conclusion": "failure", "app": {"name": "cla"}}`, "suite:2 cla | | "},
		{"issues", `"action": "labeled", "issue": {"number": 8}`, " | | issues.labeled"},
		{"push", `"ref": "refs/heads/main"`, " | | push"},
		{"star", `"action": "created"`, " | | star.created"},
		{"", `"action": "created"`, " | | "},
		{"star", `"action": "` + strings.Repeat("a", 300) + `"`, " | | "},
		{"st\u2028ar", `"action": "created"`, " | | "},
	} {
		it, _ := github(t, ghSource(t), c.event, "{"+head+c.body+"}")
		if got := fmt.Sprintf("%s | %s | %s", it.About, it.Outcome, it.Variant); strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(c.want), " ") {
			t.Errorf("%s {%.60s}:\n%q, want\n%q", c.event, c.body, got, c.want)
		}
	}
}

// In the group of a pull request only ends are a reason for a snapshot, and a failure is one at once.
func TestReasonsOfCI(t *testing.T) {
	const one = `"pull_requests": [{"number": 135, "base": {"repo": {"id": 7}}}]`
	for _, c := range []struct{ event, body, want string }{
		{"workflow_run", `"action": "requested", "workflow_run": {"id": 3, ` + one + `}`, "pr:135 passive"},
		{"workflow_run", `"action": "completed", "workflow_run": {"id": 3, "conclusion": "success", ` + one + `}`, "pr:135 "},
		{"workflow_run", `"action": "completed", "workflow_run": {"id": 3, "conclusion": "cancelled", ` + one + `}`, "pr:135 "},
		{"workflow_run", `"action": "completed", "workflow_run": {"id": 3, "conclusion": "failure", ` + one + `}`, "pr:135 first"},
		{"workflow_run", `"action": "completed", "workflow_run": {"id": 3, "conclusion": "failure", "pull_requests": [{"number": 135}]}`, "pr:135 first"},
		{"workflow_run", `"action": "completed", "workflow_run": {"id": 3, "conclusion": "failure", "pull_requests": [7]}`, "workflow_run:3 immediate"},
		{"workflow_run", `"action": "completed", "workflow_run": {"id": 3, "conclusion": "failure", "pull_requests": {}}`, "workflow_run:3 immediate"},
		{"workflow_run", `"action": "in_progress", "workflow_run": {"id": 3}`, "workflow_run:3 "},
		{"check_run", `"action": "completed", "check_run": {"name": "cla", "conclusion": "failure", "check_suite": {"id": 2}, ` + one + `}`, "pr:135 first"},
		{"check_run", `"action": "created", "check_run": {"name": "cla", "check_suite": {"id": 2}, ` + one + `}`, "pr:135 passive"},
		{"check_run", `"action": "completed", "check_run": {"name": "vet", "conclusion": "failure", "details_url": "https://github.com/o/r/actions/runs/3/job/4", ` + one + `}`, "workflow_run:3 immediate"},
		{"check_run", `"action": "completed", "check_run": {"name": "vet", "details_url": "https://github.com/o/r/actions/runs/9999999999999999999/job/4"}`, "- check_run.completed"},
		{"workflow_job", `"action": "completed", "workflow_job": {"run_id": 3, "conclusion": "failure", ` + one + `}`, "workflow_run:3 "},
		{"check_suite", `"action": "completed", "check_suite": {"id": 2, "conclusion": "failure", ` + one + `}`, "check_suite:2 immediate"},
	} {
		it, _ := github(t, ghSource(t), c.event, `{"repository": {"id": 7, "full_name": "o/r"}, `+c.body+"}")
		g := it.Grouping
		if g == nil {
			g = &inbox.Grouping{ResourceRef: "-", Flush: inbox.Flush(it.Variant)}
		}
		if got := g.ResourceRef + " " + string(g.Flush); got != c.want {
			t.Errorf("%s {%.120s}: %q, want %q", c.event, c.body, got, c.want)
		}
	}
}

// The expressions about, outcome and variant of other senders.
func TestSubjectsOfWebhooks(t *testing.T) {
	source := Source{Name: "ci", Kind: KindWebhook, Secret: "s", Verify: VerifyBearer, Variant: "payload.kind", About: "payload.build", Outcome: "payload.state",
		ResourceRef: `payload.ref ?? ""`, EventFamily: `"builds"`, Immediate: "payload.now ?? false"}
	c, err := Compile(source)
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]string{
		`{"kind":"build","build":7,"state":"passed"}`:              "- 7 passed build 0",
		`{"kind":"build","build":7,"state":"passed","ref":"pr:1"}`: "pr:1 7 passed  0",
		`{"kind":"build","build":"a b","state":""}`:                "- a b  build 0",
		`{"kind":"build","build":7,"state":"Passed"}`:              "- 7   1", // a wrong outcome: no group, of neither kind
		`{"kind":"build","build":7.5,"state":"passed"}`:            "-  passed  1",
		`{"kind":["build"],"build":7,"state":"passed"}`:            "- 7 passed  1",
		`{"kind":8,"build":7,"state":"passed"}`:                    "- 7 passed 8 0",
		`{"kind":"build","build":7,"state":"passed","now":true}`:   "- 7 passed  0", // it does not wait
	} {
		m, err := c.item(nil, []byte(body), proof{})
		if err != nil {
			t.Fatal(err)
		}
		ref := "-"
		if m.item.Grouping != nil {
			ref = m.item.Grouping.ResourceRef
		}
		if got := fmt.Sprint(ref, " ", m.item.About, " ", m.item.Outcome, " ", m.item.Variant, " ", len(m.failed)); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
	source.Variant = "len(payload.kind)" // a number as it is written
	if _, err := Compile(source); err != nil {
		t.Error(err)
	}
}

// Of two messages of GitHub about the same, the one that happened later is the newer, in whatever order they arrive.
func TestWhichMessageOfGitHubIsNewer(t *testing.T) {
	const head = `{"repository": {"id": 7, "full_name": "o/r"}, "pull_request": {"number": 1}, `
	const at = `"2026-01-01T00:00:05Z"`
	for name, c := range map[string]struct{ event, earlier, later string }{
		"a run that begins and fails within a second": {"workflow_run",
			`"action": "requested", "workflow_run": {"id": 3, "updated_at": ` + at + `}}`,
			`"action": "completed", "workflow_run": {"id": 3, "conclusion": "startup_failure", "updated_at": ` + at + `}}`},
		"a review that was dismissed": {"pull_request_review",
			`"action": "submitted", "review": {"id": 6, "state": "approved", "submitted_at": ` + at + `}}`,
			`"action": "dismissed", "review": {"id": 6, "state": "dismissed", "submitted_at": ` + at + `}}`},
	} {
		earlier, _ := github(t, ghSource(t), c.event, head+c.earlier)
		later, _ := github(t, ghSource(t), c.event, head+c.later)
		// What has no time is the newest when it arrives: see inbox.Raw.
		if later.About != earlier.About || later.About == "" || !later.OccurredAt.IsZero() && !later.OccurredAt.After(earlier.OccurredAt.Time) {
			t.Errorf("%s: %s at %v, %s at %v", name, earlier.About, earlier.OccurredAt, later.About, later.OccurredAt)
		}
	}
}

// The name of a repository is of any length: only what can be a group is kept of a run.
func TestOnlyGroupsOfRunsAreKept(t *testing.T) {
	onDisk(t, t.TempDir(), func(d *disk) {
		c := ghSource(t)
		c.runs.store, c.runs.now = d, time.Now
		for _, name := range []string{"o/" + strings.Repeat("r", 300), `o/r\u0000`} {
			it, _ := github(t, c, "workflow_run", `{"action": "requested", "repository": {"id": 7, "full_name": "`+name+`"},
				"workflow_run": {"id": 3, "pull_requests": [{"number": 1}]}}`, "X-GitHub-Hook-Installation-Target-Type", "organization")
			if n := d.runsOf(t, "gh"); n != 0 || it.Grouping == nil || it.Grouping.ResourceRef != "workflow_run:3" {
				t.Errorf("%d runs are kept, the group is %+v", n, it.Grouping)
			}
		}
	})
}

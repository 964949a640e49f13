package hooks

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/sanitize"
)

// outcome is how a run ended, in words.
var outcome = map[string]string{
	"success": "succeeded", "failure": "failed", "cancelled": "was cancelled", "timed_out": "timed out", "skipped": "was skipped",
	"action_required": "needs somebody to act", "neutral": "ended neutral", "stale": "became stale", "startup_failure": "did not start",
}

// progress is what a run does that has not ended.
var progress = map[string]string{
	"requested": "was requested", "queued": "is queued", "pending": "is pending", "waiting": "is waiting", "in_progress": "is running",
	"created": "was created", "rerequested": "was requested again", "completed": "ended",
}

// ci fills the item in for a run: its conclusion if it has ended, otherwise what
// the action or the status says.
func (e *event) ci(what string, run object, ref string, ended bool) bool {
	e.group(ref, familyCI)
	if ended && e.item.Grouping != nil {
		e.item.Grouping.Flush = inbox.FlushImmediate
	}
	e.item.OccurredAt = run.time("completed_at", "updated_at", "started_at", "created_at")
	conclusion := run.text("conclusion")
	words := outcome[conclusion]
	if words == "" && conclusion != "" {
		words = "ended: " + strings.ReplaceAll(conclusion, "_", " ")
	}
	for _, s := range []string{e.action, run.text("status")} {
		if words == "" {
			words = progress[s]
		}
	}
	if words == "" {
		words = "changed"
	}
	s := what + " " + words
	if branch := sanitize.Line(branchOf(run), maxTitle); branch != "" {
		s += " on " + branch
	}
	if n := run.id("run_number"); n > 0 {
		s += fmt.Sprintf(" (run %d)", n)
	}
	e.item.Summary = sanitize.Line(s, inbox.MaxSummary)
	return true
}

func branchOf(run object) string {
	if b := run.text("head_branch"); b != "" {
		return b
	}
	return run.object("check_suite").text("head_branch")
}

func (e *event) workflowRun() bool {
	run := e.payload.object("workflow_run")
	id := run.id("id")
	if id == 0 {
		return false
	}
	name := run.text("name")
	if name == "" {
		name = e.payload.object("workflow").text("name")
	}
	return e.ci(named("CI", name), run, runRef(id), e.action == "completed")
}

// workflowJob is a job of a workflow run. It never makes the group known at
// once: its run, which ends after its last job, does.
func (e *event) workflowJob() bool {
	job := e.payload.object("workflow_job")
	run := job.id("run_id")
	if run == 0 {
		return false
	}
	what := named("job", job.text("name"))
	if workflow := sanitize.Line(job.text("workflow_name"), maxTitle); workflow != "" {
		what += ` of "` + workflow + `"`
	}
	return e.ci(what, job, runRef(run), false)
}

// runURL has the id of the workflow run that a check run belongs to.
var runURL = regexp.MustCompile(`^https://[^/]+/[^/]+/[^/]+/actions/runs/([1-9][0-9]{0,18})(/|$)`)

// checkRun is a check of a commit. One of GitHub Actions is a job of a workflow
// run, which only its URL names; others have nothing but their check suite.
func (e *event) checkRun() bool {
	check := e.payload.object("check_run")
	suite := check.object("check_suite").id("id")
	var ref string
	if m := runURL.FindStringSubmatch(check.text("details_url")); m != nil {
		ref = "workflow_run:" + m[1]
	} else if suite > 0 {
		ref = fmt.Sprintf("check_suite:%d", suite)
	} else {
		return false
	}
	return e.ci(named("check", check.text("name")), check, ref, e.action == "completed")
}

func (e *event) checkSuite() bool {
	suite := e.payload.object("check_suite")
	id := suite.id("id")
	if id == 0 {
		return false
	}
	return e.ci(named("check suite", suite.object("app").text("name")), suite, fmt.Sprintf("check_suite:%d", id), e.action == "completed")
}

func runRef(id int) string { return fmt.Sprintf("workflow_run:%d", id) }

package hooks

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/internal/sanitize"
	"github.com/seed82539d15/holon/notify"
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

// ciUpdate is one message about CI.
type ciUpdate struct {
	what  string // it in words
	about string // the kind of what it is about
	name  string // of what it is about
	id    int    // of what it is about, or of the workflow run that that belongs to
	ref   string // the group of those that belong to no pull request
	run   int    // the workflow run that it is, or belongs to; 0 = none
	whole bool   // it is no part of a run: its end is one
	posts bool   // its end is posted at once in the group of a run
}

// ci fills the item in for a message: its conclusion if it has ended, otherwise what the action or
// the status says.
//
// In the group of a pull request, which has many runs, only ends are a reason for a snapshot, and
// only the first failure is one at once. In a group of its own, the end of a run is.
func (e *event) ci(run object, u ciUpdate) bool {
	ended, conclusion := e.action == "completed", run.text("conclusion")
	e.about(u.about, u.id, u.name)
	pull := e.pullOf(run, u)
	e.group(cmp.Or(pull, u.ref), familyCI)
	if g := e.item.Grouping; g != nil {
		switch {
		case pull == "" && ended && u.posts:
			g.Flush = inbox.FlushImmediate
		case pull == "":
		case !ended:
			g.Flush = inbox.FlushPassive
		case u.whole && failures[conclusion]:
			g.Flush = inbox.FlushFirst
		}
	}
	if ended && u.whole && inbox.ValidOutcome(conclusion) {
		e.item.Outcome = conclusion
	}
	e.item.OccurredAt = run.time("completed_at", "updated_at", "started_at", "created_at")
	if at := e.item.OccurredAt; ended && !at.IsZero() { // GitHub's times are whole seconds: within one, the end is the last
		e.item.OccurredAt = notify.TimeOf(at.Add(time.Millisecond))
	}
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
	s := u.what + " " + words
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

// failures are the conclusions that somebody has to do something about.
var failures = map[string]bool{"failure": true, "timed_out": true, "startup_failure": true, "action_required": true}

// pullOf returns the group of the pull request that a message of CI belongs to, "" if it belongs to
// none, or to several. The group of a workflow run is kept for its jobs, which do not know it.
func (e *event) pullOf(run object, u ciUpdate) (ref string) {
	pulls, _ := run["pull_requests"].([]any)
	if u.whole && len(pulls) == 1 {
		pull, _ := pulls[0].(map[string]any)
		number := object(pull).id("number")
		base, here := object(pull).object("base").object("repo").id("id"), e.payload.object("repository").id("id")
		if number > 0 && (base == 0 || here == 0 || base == here) {
			ref = fmt.Sprintf("%spr:%d", e.prefix, number)
		}
		if !validID(ref) {
			ref = ""
		}
	}
	switch {
	case u.run == 0:
	case u.whole && len(pulls) > 0 && ref == "": // of several now, or of none here: so are its jobs
		_ = e.runs.keep(u.run, "")
	case ref == "":
		if ref = e.runs.of(u.run); ref != "" {
			_ = e.runs.keep(u.run, ref) // it is heard of
		}
	default:
		_ = e.runs.keep(u.run, ref) // without it, jobs of the run have a group of their own
	}
	return ref
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
	return e.ci(run, ciUpdate{what: named("CI", name), about: "run", name: name, id: id, ref: runRef(id), run: id, whole: true, posts: true})
}

// workflowJob reads a job of a workflow run. Its run, which ends after its last job, has the
// outcome.
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
	return e.ci(job, ciUpdate{what: what, about: "job", name: job.text("name"), id: run, ref: runRef(run), run: run})
}

// runURL has the id of the workflow run that a check run belongs to.
var runURL = regexp.MustCompile(`^https://[^/]+/[^/]+/[^/]+/actions/runs/([1-9][0-9]{0,18})(/|$)`)

// checkRun reads a check of a commit. One of GitHub Actions is a job of a workflow
// run, which only its URL names; others have nothing but their check suite.
func (e *event) checkRun() bool {
	check := e.payload.object("check_run")
	suite := check.object("check_suite").id("id")
	u := ciUpdate{what: named("check", check.text("name")), about: "check", name: check.text("name"), id: suite, whole: true, posts: true}
	if m := runURL.FindStringSubmatch(check.text("details_url")); m != nil {
		run, err := strconv.Atoi(m[1])
		if err != nil {
			return false
		}
		u.about, u.id, u.ref, u.run, u.whole = "job", run, runRef(run), run, false
	} else if suite > 0 {
		u.ref = fmt.Sprintf("check_suite:%d", suite)
	} else {
		return false
	}
	return e.ci(check, u)
}

func (e *event) checkSuite() bool {
	suite := e.payload.object("check_suite")
	id := suite.id("id")
	if id == 0 {
		return false
	}
	name := suite.object("app").text("name")
	return e.ci(suite, ciUpdate{what: named("check suite", name), about: "suite", name: name, id: id, ref: fmt.Sprintf("check_suite:%d", id), posts: true})
}

func runRef(id int) string { return fmt.Sprintf("workflow_run:%d", id) }

package engine_test

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/hooks"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

const ghSecret = "It's a Secret to Everybody"

// webhooks are the webhooks of the source gh of a server.
type webhooks struct {
	*harness
	handler *hooks.Handler
}

type inboxesOf struct{ *engine.Inboxes }

func (d inboxesOf) Ingest(ctx context.Context, threadID string, subscriptionIDs []string, items []inbox.Item) ([]inbox.Ingested, error) {
	return d.Deliver(ctx, threadID, subscriptionIDs, items)
}

type hookStore struct{ *harness }

func (s hookStore) Append(u *ledger.Unit) (ledger.Receipt, error) { return s.store.Append(u) }

func (s hookStore) Read(ctx context.Context, f func(ledger.Reader) error) error {
	return s.reader.ReadToDecide(ctx, f)
}

// webhooks begins to take webhooks of GitHub.
func (h *harness) webhooks() *webhooks {
	h.t.Helper()
	w, err := hooks.New(hooks.Config{
		Sources: []hooks.Source{{Name: "gh", Kind: hooks.KindGitHub, Secret: ghSecret}}, Deliver: inboxesOf{h.inboxes()}, Store: hookStore{h},
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return &webhooks{h, w}
}

// event sends an event of GitHub.
func (w *webhooks) event(name string, payload map[string]any) {
	w.t.Helper()
	body, err := json.Marshal(payload, json.Deterministic(true))
	if err != nil {
		w.t.Fatal(err)
	}
	mac := hmac.New(sha256.New, []byte(ghSecret))
	mac.Write(body)
	r := httptest.NewRequest(http.MethodPost, "/hooks/gh", strings.NewReader(string(body)))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-GitHub-Event", name)
	r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	answer := httptest.NewRecorder()
	w.handler.ServeHTTP(answer, r)
	if answer.Code != http.StatusAccepted {
		w.t.Fatalf("%s: %d %s", name, answer.Code, answer.Body)
	}
}

type members = map[string]any

// job is a job of a workflow: when it was queued, began and ended, in seconds.
type job struct {
	name               string
	queued, began, end int
	conclusion         string
}

// workflow is a run of a workflow for a pull request.
type workflow struct {
	name       string
	id, end    int
	conclusion string
	jobs       []job
}

// ci is one push to a pull request: four workflows with eleven jobs, one of which fails.
var ci = []workflow{
	{"lint", 101, 37, "failure", []job{{"gofmt", 1, 6, 28, "success"}, {"vet", 1, 7, 36, "failure"}}},
	{"docs", 102, 50, "success", []job{{"links", 2, 8, 41, "success"}, {"spelling", 2, 8, 48, "success"}}},
	{"build", 103, 69, "success", []job{{"linux", 1, 6, 52, "success"}, {"darwin", 2, 20, 66, "success"}, {"windows", 2, 17, 68, "success"}}},
	{"unit", 104, 94, "success", []job{{"a", 3, 9, 70, "success"}, {"b", 3, 9, 79, "success"}, {"c", 3, 12, 84, "success"}, {"d", 3, 40, 93, "success"}}},
}

// sent is one webhook of a recording.
type sent struct {
	at      int // seconds
	event   string
	payload members
}

// recording is what GitHub sends of the workflows: runs and jobs, and each job once more as a
// check. pulls are the pull requests of each run.
func recording(list []workflow, pulls []any) (all []sent) {
	start := time.Now()
	at := func(s int) string { return start.Add(time.Duration(s) * time.Second).UTC().Format(time.RFC3339) }
	add := func(s int, event, action, member string, run members, more members) {
		run["updated_at"] = at(s)
		body := members{"action": action, member: run, "repository": members{"id": 7, "full_name": "o/r"}, "sender": members{"login": "ann"}}
		for k, v := range more {
			body[k] = v
		}
		all = append(all, sent{s, event, body})
	}
	checks := 0
	for _, w := range list {
		for _, step := range []struct {
			action     string
			at         int
			conclusion any
		}{{"requested", 0, nil}, {"in_progress", 5, nil}, {"completed", w.end, w.conclusion}} {
			add(step.at, "workflow_run", step.action, "workflow_run", members{"id": w.id, "name": w.name, "head_branch": "feat", "conclusion": step.conclusion, "pull_requests": pulls}, nil)
		}
		for _, j := range w.jobs {
			checks++
			for _, step := range []struct {
				action, check string
				at            int
				conclusion    any
			}{{"queued", "created", j.queued, nil}, {"in_progress", "", j.began, nil}, {"completed", "completed", j.end, j.conclusion}} {
				add(step.at, "workflow_job", step.action, "workflow_job", members{"id": 5000 + checks, "run_id": w.id, "name": j.name, "workflow_name": w.name, "head_branch": "feat", "conclusion": step.conclusion}, nil)
				if step.check != "" {
					add(step.at, "check_run", step.check, "check_run", members{
						"id": 5000 + checks, "name": j.name, "conclusion": step.conclusion, "pull_requests": pulls,
						"details_url": fmt.Sprintf("https://github.com/o/r/actions/runs/%d/job/%d", w.id, 5000+checks),
						"check_suite": members{"id": 900 + w.id, "head_branch": "feat"},
					}, nil)
				}
			}
		}
	}
	slices.SortStableFunc(all, func(x, y sent) int { return cmp.Compare(x.at, y.at) })
	return all
}

func pull(number, repository int) any {
	return members{"number": number, "base": members{"repo": members{"id": repository}}}
}

// play sends a recording with its distances.
func (w *webhooks) play(all []sent) {
	w.t.Helper()
	at := 0
	for _, s := range all {
		time.Sleep(time.Duration(s.at-at) * time.Second)
		at = s.at
		w.event(s.event, s.payload)
	}
}

// The CI of a push is one digest of its pull request: a snapshot at the failure, one at the end.
func TestCIOfAPullRequestIsOneDigest(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		h.subscribe("a", inbox.Subscribe{SubscriptionID: "s", Source: "gh"})
		w := h.webhooks()
		began := time.Now()
		w.play(recording(ci, []any{pull(135, 7)}))
		time.Sleep(time.Minute)

		type snapshot struct {
			at      int
			reason  inbox.Reason
			ref     string
			summary string
		}
		var got []snapshot
		for _, e := range h.of(func(e event) bool { return e.ThreadID == "a" && e.Method == notify.InboxPosted }) {
			b := e.body(h.t).(*inbox.Posted)
			got = append(got, snapshot{int(e.Timestamp.Sub(began).Seconds()), b.Reason, b.Entry.ResourceRef, b.Entry.Summary})
		}
		want := []snapshot{
			{37, inbox.ReasonImmediate, "pr:135", `15 ci updates on pr:135 by ann: 1 failure; latest: CI "lint" failed on feat`},
			{124, inbox.ReasonWindow, "pr:135", `15 ci updates on pr:135 by ann: 3 success, 1 failure; latest: CI "unit" succeeded on feat`},
		}
		if !slices.Equal(got, want) {
			t.Errorf("snapshots:\n%v\nwant\n%v", got, want)
		}
		if l := h.entries("a"); len(l) != 1 || l[0].Revision != 2 || l[0].Count != 67 {
			t.Errorf("entries %+v", l)
		}
	})
}

// Runs of no pull request, of several, or of one of another repository have groups of their own.
func TestCIWithoutOnePullRequestIsADigestOfEachRun(t *testing.T) {
	for name, pulls := range map[string][]any{"none": {}, "several": {pull(1, 7), pull(2, 7)}, "elsewhere": {pull(1, 8)}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				h.thread("a", "")
				h.subscribe("a", inbox.Subscribe{SubscriptionID: "s", Source: "gh"})
				h.webhooks().play(recording(ci, pulls))
				time.Sleep(time.Minute)
				refs := map[string]int{}
				for _, e := range h.entries("a") {
					refs[e.ResourceRef] = e.Count
				}
				if want := "map[workflow_run:101:13 workflow_run:102:13 workflow_run:103:18 workflow_run:104:23]"; fmt.Sprint(refs) != want {
					t.Errorf("groups %v, want %s", refs, want)
				}
			})
		})
	}
}

// The group of a run is known after a restart, and when the run itself no longer says it, because
// its pull request was merged.
func TestAJobBelongsToTheGroupOfItsRun(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		h.subscribe("a", inbox.Subscribe{SubscriptionID: "s", Source: "gh"})
		n := 0
		send := func(event, member string, run members) (ref string) {
			n++
			run["n"] = n
			h.webhooks().event(event, members{"action": "completed", member: run, "repository": members{"id": 7, "full_name": "o/r"}, "sender": members{"login": "ann"}})
			all := bodies[inbox.Received](h, notify.InboxReceived, "a")
			return all[len(all)-1].ResourceRef
		}
		job := func(run int) string {
			return send("workflow_job", "workflow_job", members{"run_id": run, "name": "vet", "conclusion": "success"})
		}
		run := func(id int, pulls ...any) string {
			return send("workflow_run", "workflow_run", members{"id": id, "name": "lint", "conclusion": "success", "pull_requests": pulls})
		}
		for i, got := range []string{
			job(1), run(1, pull(5, 7)), job(1), job(2), run(1), run(3, pull(5, 7)), run(3, pull(6, 7)), job(3),
			run(3, pull(6, 7), pull(9, 7)), job(3),
		} {
			want := []string{"workflow_run:1", "pr:5", "pr:5", "workflow_run:2", "pr:5", "pr:5", "pr:6", "pr:6", "workflow_run:3", "workflow_run:3"}[i]
			if got != want {
				t.Errorf("%d: the group is %s, want %s", i, got, want)
			}
		}
		h.restart()
		if got := job(1); got != "pr:5" {
			t.Errorf("after a restart the group is %s", got)
		}
	})
}

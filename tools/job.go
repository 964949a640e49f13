package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/internal/sanitize"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// The key of a work_start is the name of a job in the agent's turn: an attempt that comes after a
// crash finds by it what the one before has started. Background work and further turns of a
// thread are no jobs.

var notOfJob = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// jobOf returns the name of the job of a key: the key itself where it is a name, of which one
// word is left for the number of a task.
func jobOf(key string) string {
	if strings.Count(key, "/") < turns.MaxJobWords-1 && turns.CheckJob("key", key) == nil {
		return key
	}
	words := notOfJob.ReplaceAllString(key, "-")
	sum := sha256.Sum256([]byte(key))
	return words[:min(len(words), 40)] + "-" + hex.EncodeToString(sum[:4])
}

// taskJob returns the name of the job of a task.
func taskJob(job string, i int) string { return job + "/" + strconv.Itoa(i+1) }

// startsJob reports whether the call is for a job.
func (in *workStartIn) startsJob() bool { return in.Key != "" && !in.Background && in.ThreadID == "" }

// startJob starts a job of the agent's turn, or finds it. What it was first asked for counts:
// other says what that was if this call asks for something else.
func (r *request) startJob(ctx context.Context, job string, c turns.Start) (t api.TurnStartResult, raw []byte, other string, refused *api.Error) {
	c.Job, c.Parent = job, &threads.Parent{ThreadID: r.agent.ThreadID}
	t, data, refused := call[api.TurnStartResult](ctx, r.server.Caller, "turn/start", api.TurnStartParams{Start: c})
	if refused == nil || refused.Data.Reason != turns.ReasonJob || refused.Data.TurnID == "" {
		return t, data, "", refused
	}
	prompt, agent, refused := r.askedFirst(ctx, refused.Data.TurnID)
	if refused != nil {
		return t, nil, "", refused
	}
	samePrompt := prompt == promptOf(c)
	other = askedOther(prompt, agent, samePrompt, !samePrompt && (c.Agent == "" || c.Agent == agent))
	c.Input, c.Agent = said(prompt), agent
	t, data, refused = call[api.TurnStartResult](ctx, r.server.Caller, "turn/start", api.TurnStartParams{Start: c})
	return t, data, other, refused
}

// promptOf returns the text of what said made.
func promptOf(c turns.Start) string { return c.Input[0].Content[0].Text }

// askedFirst reads with which prompt, and of which agent, a turn was asked for.
func (r *request) askedFirst(ctx context.Context, turnID string) (prompt, agent string, refused *api.Error) {
	one := 1
	l, _, refused := call[api.ItemListResult](ctx, r.server.Caller, "item/list", api.ItemListParams{TurnID: turnID, Type: items.KindUserMessage, Page: api.Page{Limit: &one}})
	if refused != nil {
		return "", "", refused
	}
	if len(l.Items) == 0 {
		return "", "", api.Errorf(api.KindInternal, "")
	}
	var m items.UserMessage
	if err := json.Unmarshal(l.Items[0].Content, &m); err != nil || len(m.Content) != 1 {
		return "", "", api.Errorf(api.KindConflict, "the key names work that a program has started, with other input")
	}
	t, _, refused := call[api.ThreadReadResult](ctx, r.server.Caller, "thread/read", api.ThreadReadParams{ThreadID: l.Items[0].ThreadID})
	if refused != nil {
		return "", "", refused
	}
	return m.Content[0].Text, t.Thread.Agent, nil
}

// maxEarlier is how much of the first prompt of a job an answer quotes, in characters.
const maxEarlier = 300

// workFound returns which work a key has started or found, and what to do next.
func workFound(t *turns.StartResult, other string, data []byte) answer {
	what := fmt.Sprintf("Started turn %s in thread %s.", t.TurnID, t.ThreadID)
	if t.Found {
		what = fmt.Sprintf("This key was used before in your turn: turn %s in thread %s has the work.", t.TurnID, t.ThreadID)
	}
	if other != "" {
		what += " " + other
	}
	running, inReview := unended(t.Results)
	switch {
	case t.Reason != "":
		return quotingResults(t.Results, what+"\n"+cutText(t.Reason, t.Results), data)
	case len(inReview) > 0:
		return quotingResults(t.Results, what+"\n"+whatFollows(t.Results), data)
	case len(t.Results) > 0 && len(running) == 0:
		return quotingResults(t.Results, what+" It has ended.\n", data)
	case t.State == turns.Queued:
		what += " It waits for its place."
	}
	if t.Job == "" {
		return saying(what+" "+keptFollows(t), data)
	}
	return saying(what+" "+jobsFollow([]string{t.TurnID}), data)
}

// askedOther returns a note that work was first asked for with another prompt, or of another
// agent; "" if both are the same.
func askedOther(prompt, agent string, samePrompt, sameAgent bool) string {
	prompt = sanitize.Line(prompt, maxEarlier)
	switch {
	case samePrompt && sameAgent:
		return ""
	case samePrompt:
		return fmt.Sprintf("It was started with another agent, which counts: %q.", agent)
	case sameAgent:
		return fmt.Sprintf("It was started with another prompt, which counts: %q.", prompt)
	}
	return fmt.Sprintf("It was started with another prompt and another agent, which count: %q was asked %q.", agent, prompt)
}

// jobsFollow describes how to get the results of jobs, which no prompt tells.
func jobsFollow(ids []string) string {
	quoted := make([]string, len(ids))
	for i, id := range ids {
		quoted[i] = strconv.Quote(id)
	}
	its, it := "its end is not told to you by itself", "it has"
	if len(ids) > 1 {
		its, it = "their ends are not told to you by themselves", "they have"
	}
	return fmt.Sprintf("You gave a key, so %s: go on with other work, then call work_await with turn_ids [%s], or work_start again with the same key. Your turn does not end before %s ended.\n", its, list(quoted), it)
}

// workRetryIn are the params of work_retry.
type workRetryIn struct {
	TurnID string `json:"turn_id" jsonschema:"a turn of a child thread that has failed or was interrupted"`
	Reason string `json:"reason,omitempty"`
}

func (s *Server) workRetry(ctx context.Context, r *request, in workRetryIn) (answer, *api.Error) {
	key, refused := r.key(ctx, "", false)
	if refused != nil {
		return answer{}, refused
	}
	t, raw, refused := call[api.TurnRetryResult](ctx, s.Caller, "turn/retry", api.TurnRetryParams{
		Retry: turns.Retry{TurnID: in.TurnID, Reason: in.Reason}, Keyed: keyed(key, "retry"),
	})
	if refused != nil {
		return answer{}, refused
	}
	return saying(fmt.Sprintf("Turn %s is tried again: attempt %d. Call work_await with turn_ids [%q] for its result, or go on with other work.\n", t.TurnID, t.Attempt, t.TurnID), raw), nil
}

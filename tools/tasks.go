package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/internal/sanitize"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// How many tasks one work_start has.
const (
	minTasks = 2
	maxTasks = 16
)

// task is one of the tasks of a work_start.
type task struct {
	Prompt string `json:"prompt" jsonschema:"what to do, with all it needs to know"`
	Title  string `json:"title,omitempty" jsonschema:"a few words, by which you know it again"`
	Agent  string `json:"agent,omitempty"`
}

// startedTask is what became of a task: a turn, or an error.
type startedTask struct {
	Title    string      `json:"title,omitzero"`
	TurnID   string      `json:"turn_id,omitzero"`
	ThreadID string      `json:"thread_id,omitzero"`
	State    turns.State `json:"state,omitzero"`
	Found    bool        `json:"found,omitzero"` // an earlier call with the key has started it
	Error    *taskError  `json:"error,omitzero"`

	wake   string
	policy turns.AttentionPolicy
	job    bool
	other  string        // what was asked for when it was started, if that is not this task
	result *turns.Result // of a job that was found
}

type taskError struct {
	Kind      api.Kind `json:"kind"`
	Message   string   `json:"message"`
	Retryable bool     `json:"retryable"`
}

// startedTasks is the data of a work_start with tasks. Results, Reason and Detached are there
// if it has waited.
type startedTasks struct {
	TurnIDs  []string       `json:"turn_ids"`
	Tasks    []startedTask  `json:"tasks"` // in the order of the call
	Results  []turns.Result `json:"results,omitzero"`
	Reason   turns.CutShort `json:"reason,omitzero"`
	Detached []string       `json:"detached,omitzero"` // they go on in the background
}

// startTasks starts several child turns. What can be checked is checked before the first of
// them starts. What is refused then is in the answer, beside what was started.
func (r *request) startTasks(ctx context.Context, in workStartIn) (answer, *api.Error) {
	if refused := checkForm(in); refused != nil {
		return answer{}, refused
	}
	key, refused := r.key(ctx, in.Key, in.keeps())
	if refused != nil {
		return answer{}, refused
	}
	if in.startsJob() {
		key = "" // each task is a job
	}
	own, _, refused := call[api.ThreadReadResult](ctx, r.server.Caller, "thread/read", api.ThreadReadParams{ThreadID: r.agent.ThreadID})
	if refused == nil {
		refused = r.checkTasks(ctx, in.Tasks, own.Thread.Agent)
	}
	if refused == nil {
		refused = r.checkRoom(ctx, in, own.Children.Room, key)
	}
	if refused != nil {
		return answer{}, refused
	}
	out := startedTasks{TurnIDs: []string{}}
	var first *api.Error
	for i, t := range in.Tasks {
		if first != nil && (ctx.Err() != nil || first.Data.Retryable && in.Key == "") { // with a key there may be more to find
			out.Tasks = append(out.Tasks, startedTask{Title: t.Title, Error: errorOf(first)}) // nor is there a place for this one
			continue
		}
		one, refused := r.startTask(ctx, in, i, key)
		if refused != nil {
			first = cmp.Or(first, refused)
			one = startedTask{Error: errorOf(refused)}
		} else {
			out.TurnIDs = append(out.TurnIDs, one.TurnID)
		}
		one.Title = t.Title
		out.Tasks = append(out.Tasks, one)
	}
	if len(out.TurnIDs) == 0 {
		return answer{}, first
	}
	waits := ""
	if in.WaitSeconds > 0 {
		if waits, refused = r.awaitTasks(ctx, &out, in.WaitSeconds); refused != nil {
			return answer{}, refused
		}
	} else if out.Results = out.found(); len(out.Results) == len(out.TurnIDs) {
		waits = "All have ended.\n"
	}
	data, err := json.Marshal(out, api.WireOptions)
	if err != nil {
		return answer{}, api.Errorf(api.KindInternal, "")
	}
	text := out.list() + missing(out, in.Key) + cmp.Or(waits, out.follows())
	if len(out.Results) > 0 {
		return quotingResults(out.Results, text, data), nil
	}
	return saying(text, data), nil
}

// checkForm checks the params by themselves, and makes the titles ones that can be stored.
func checkForm(in workStartIn) *api.Error {
	for _, m := range []struct{ name, value string }{{"prompt", in.Prompt}, {"title", in.Title}, {"agent", in.Agent}, {"thread_id", in.ThreadID}} {
		if m.value != "" {
			return api.Invalid(m.name, turns.ReasonInvalid, "does not go with tasks: each task has its own prompt, title and agent, and gets its own thread")
		}
	}
	if len(in.Tasks) < minTasks || len(in.Tasks) > maxTasks {
		return api.Invalid("tasks", turns.ReasonRange, "must be %d to %d tasks", minTasks, maxTasks)
	}
	if refused := checkCwd(in.Cwd); refused != nil {
		return refused
	}
	for i := range in.Tasks {
		if strings.TrimSpace(in.Tasks[i].Prompt) == "" {
			return api.Invalid(member(i, "prompt"), turns.ReasonRequired, "say what is to be done")
		}
		in.Tasks[i].Title = sanitize.Line(in.Tasks[i].Title, turns.MaxTitle) // as of a single one
	}
	return nil
}

// checkTasks checks the prompts and the agents of tasks, as their starts would. own is the
// agent of those that name none.
func (r *request) checkTasks(ctx context.Context, tasks []task, own string) *api.Error {
	who, _, refused := call[api.InitializeResult](ctx, r.server.Caller, "initialize", api.InitializeParams{})
	if refused != nil {
		return refused
	}
	for i, t := range tasks {
		var bad *turns.InvalidError
		if _, err := turns.UserMessages(said(t.Prompt), items.OriginClient, who.Limits.MaxItemBytes); errors.As(err, &bad) {
			return api.Invalid(member(i, "prompt"), bad.Reason, "%s", bad.Text)
		}
		if who.Agent == nil || slices.Contains(who.Agent.ChildAgents, cmp.Or(t.Agent, own)) {
			continue
		}
		if len(who.Agent.ChildAgents) == 0 {
			return api.Errorf(api.KindForbidden, "%s may start no children (child_agents in its configuration)", own)
		}
		return api.Invalid(member(i, "agent"), turns.ReasonUnknown, "must be one of: %s", list(who.Agent.ChildAgents))
	}
	return nil
}

func member(i int, name string) string { return fmt.Sprintf("tasks[%d].%s", i, name) }

// checkRoom returns an error if not all tasks may start that have not started yet.
func (r *request) checkRoom(ctx context.Context, in workStartIn, room int, key string) *api.Error {
	need := len(in.Tasks)
	if room >= need {
		return nil
	}
	turnID := ""
	if in.startsJob() {
		var refused *api.Error
		if turnID, _, refused = r.turn(ctx); refused != nil {
			return refused
		}
	}
	for i := range in.Tasks {
		threadID := ""
		switch {
		case in.startsJob():
			threadID = turns.JobThread(turnID, taskJob(jobOf(in.Key), i))
		case key != "":
			threadID = taskThread(key, i)
		}
		if threadID != "" && r.hasStarted(ctx, threadID) {
			need--
		}
	}
	if room >= need {
		return nil
	}
	refused := api.Errorf(api.KindOverloaded, "%d tasks are to start, and there is room for %d more child turns, so none was started", need, room)
	refused.Data.TurnIDs = r.unendedTurns(ctx)
	return refused
}

// hasStarted reports whether the first turn of a task's thread was started. The thread is
// refused if it does not exist.
func (r *request) hasStarted(ctx context.Context, threadID string) bool {
	one := 1
	l, _, refused := call[api.TurnListResult](ctx, r.server.Caller, "turn/list", api.TurnListParams{ThreadID: threadID, Page: api.Page{Limit: &one}})
	return refused == nil && len(l.Turns) > 0
}

// unendedTurns names child turns that one can wait for, or stop. If they cannot be read, the
// error is as good without them.
func (r *request) unendedTurns(ctx context.Context) (ids []string) {
	limit := 100
	l, _, _ := call[api.TurnListResult](ctx, r.server.Caller, "turn/list", api.TurnListParams{ParentThreadID: r.agent.ThreadID, Page: api.Page{Limit: &limit, Order: api.OrderDesc}})
	for i := range l.Turns {
		if !l.Turns[i].State.Ended() && len(ids) < turns.MaxNamedTurns {
			ids = append(ids, l.Turns[i].TurnID)
		}
	}
	return ids
}

// taskThread returns the id of the thread of a task of a call that has a key, so that a repeated
// call knows what has started.
func taskThread(key string, i int) string {
	return threads.IDOf(taskKey(key, i))
}

func taskKey(key string, i int) string {
	if key == "" {
		return ""
	}
	return key + ":" + strconv.Itoa(i)
}

// startTask starts the child turn of a task, in a thread of its own.
func (r *request) startTask(ctx context.Context, in workStartIn, i int, key string) (startedTask, *api.Error) {
	t := in.Tasks[i]
	if in.startsJob() {
		started, _, other, refused := r.startJob(ctx, taskJob(jobOf(in.Key), i), turns.Start{Agent: t.Agent, Cwd: in.Cwd, Input: said(t.Prompt), Title: t.Title})
		if refused != nil {
			return startedTask{}, refused
		}
		return taskOf(&started, other), nil
	}
	if in.keeps() {
		started, other, refused := r.keep(ctx, taskKey(key, i), in.Cwd, turns.Start{Agent: t.Agent, Input: said(t.Prompt), Title: t.Title})
		if refused != nil {
			return startedTask{}, refused
		}
		return taskOf(&started, other), nil
	}
	params := api.ThreadStartParams{
		Agent: t.Agent, Title: t.Title, Cwd: in.Cwd, Parent: &threads.Parent{ThreadID: r.agent.ThreadID}, Keyed: keyed(taskKey(key, i), "thread"),
	}
	if key != "" {
		id := taskThread(key, i)
		params.ThreadID = &id
	}
	th, _, refused := call[api.ThreadStartResult](ctx, r.server.Caller, "thread/start", params)
	if refused != nil {
		return startedTask{}, refused
	}
	started, _, refused := call[api.TurnStartResult](ctx, r.server.Caller, "turn/start", api.TurnStartParams{
		Start: turns.Start{ThreadID: th.ThreadID, Input: said(t.Prompt), Title: t.Title, Background: in.Background, Parent: &threads.Parent{ThreadID: r.agent.ThreadID}},
		Keyed: keyed(taskKey(key, i), "turn"),
	})
	if refused != nil {
		if in.Key == "" && ctx.Err() == nil {
			r.server.closeUnused(ctx, th.ThreadID)
		}
		return startedTask{}, refused
	}
	return taskOf(&started, ""), nil
}

// taskOf returns a task that was started or found. other says what it was asked for if that is
// something else.
func taskOf(t *turns.StartResult, other string) startedTask {
	one := startedTask{
		TurnID: t.TurnID, ThreadID: t.ThreadID, State: t.State, Found: t.Found, wake: t.Wake, policy: t.AttentionPolicy, job: t.Job != "", other: other,
	}
	if len(t.Results) == 1 && t.Results[0].Accepted() {
		one.result = &t.Results[0]
	}
	return one
}

// awaitTasks waits for all that was started. What has not ended then goes on in the
// background. It returns what to say, "" if the call could not wait.
func (r *request) awaitTasks(ctx context.Context, out *startedTasks, seconds float64) (string, *api.Error) {
	stop := r.saysSo(ctx)
	a, _, refused := call[api.TurnAwaitResult](ctx, r.server.Caller, "turn/await", api.TurnAwaitParams{
		OwnerThreadID: r.agent.ThreadID, TurnIDs: out.TurnIDs, TimeoutSeconds: &seconds, WaitFor: turns.WaitAll,
	})
	stop()
	switch {
	case refused != nil && ctx.Err() != nil:
		return "", api.Errorf(api.KindUnavailable, "the waiting was cancelled; the work goes on")
	case refused != nil:
		out.Results = out.found()
		return "", nil // they are waited for, as without wait_seconds
	}
	out.Results, out.Reason = a.Results, a.Reason
	running, inReview := unended(a.Results)
	if a.Reason != turns.CutSteered {
		out.Detached = r.detach(ctx, out, running)
	}
	if a.Reason != "" {
		return cutText(a.Reason, a.Results), nil
	}
	text := ""
	if len(inReview) > 0 {
		text = whatFollows(a.Results)
	}
	if len(running) > 0 {
		follows := "It goes on in the background, and its end arrives in your inbox. To have it in this turn, call work_await.\n"
		if jobs := jobsAmong(a.Results); len(jobs) > 0 {
			follows = jobsFollow(jobs)
		}
		text = fmt.Sprintf("Not ended in %s: %s. %s", time.Duration(seconds*float64(time.Second)), list(running), follows)
	}
	return cmp.Or(text, "All have ended.\n"), nil
}

// detach lets those of the turns go on in the background for which the agent's turn would
// wait. It returns those that do.
func (r *request) detach(ctx context.Context, out *startedTasks, ids []string) (gone []string) {
	for _, t := range out.Tasks {
		if !slices.Contains(ids, t.TurnID) || t.policy != turns.Blocking || t.job {
			continue
		}
		d, _, refused := call[api.TurnDetachResult](ctx, r.server.Caller, "turn/detach", api.TurnDetachParams{DetachTurn: turns.DetachTurn{TurnID: t.TurnID}})
		if refused == nil && d.AttentionPolicy == turns.Notify {
			gone = append(gone, t.TurnID)
		}
	}
	return gone
}

// found returns the results of what was found, and has ended.
func (t *startedTasks) found() (list []turns.Result) {
	for _, one := range t.Tasks {
		if one.result != nil {
			list = append(list, *one.result)
		}
	}
	return list
}

func errorOf(e *api.Error) *taskError { return &taskError{e.Data.Kind, e.Message, e.Data.Retryable} }

// list lists which task is which turn. Results say that already: beside them it has only the
// others.
func (t *startedTasks) list() string {
	var b strings.Builder
	for i, one := range t.Tasks {
		name := fmt.Sprintf("%d. ", i+1)
		if one.Title != "" {
			name += fmt.Sprintf("%q: ", one.Title)
		}
		switch {
		case one.Error != nil:
			fmt.Fprintf(&b, "%snot started (%s): %s\n", name, one.Error.Kind, sanitize.Line(one.Error.Message, turns.MaxTitle))
		case slices.ContainsFunc(t.Results, func(r turns.Result) bool { return r.TurnID == one.TurnID }):
		case one.State == turns.Queued:
			fmt.Fprintf(&b, "%s%s in thread %s, waits for its place\n", name, one.TurnID, one.ThreadID)
		default:
			fmt.Fprintf(&b, "%s%s in thread %s\n", name, one.TurnID, one.ThreadID)
		}
	}
	end := ":"
	if b.Len() == 0 {
		end = "."
	}
	for i, one := range t.Tasks {
		if one.other != "" {
			fmt.Fprintf(&b, "%d. %s\n", i+1, one.other)
		}
	}
	found := 0
	for _, one := range t.Tasks {
		if one.Found {
			found++
		}
	}
	what := fmt.Sprintf("Started %d", len(t.TurnIDs)-found)
	switch found {
	case 0:
	case len(t.TurnIDs):
		what = fmt.Sprintf("Found %d", found)
	default:
		what += fmt.Sprintf(" and found %d", found)
	}
	return fmt.Sprintf("%s of %d%s\n", what, len(t.Tasks), end) + b.String()
}

// missing describes how to start what was not started.
func missing(t startedTasks, key string) string {
	switch {
	case len(t.TurnIDs) == len(t.Tasks):
		return ""
	case slices.ContainsFunc(t.Tasks, func(one startedTask) bool { return one.Error != nil && one.Error.Kind == api.KindThreadClosed }) && key != "":
		return "A thread that was closed does no more work: to have it done all the same, give it another key.\n"
	case key != "":
		return "In this turn, the same call with the same key starts what is missing, and finds the rest.\n"
	}
	return "To start what is missing, call work_start with these tasks alone.\n"
}

// follows describes what to do about what has been started and has not ended.
func (t *startedTasks) follows() string {
	var ids, quoted []string
	var one startedTask
	for _, o := range t.Tasks {
		if o.Error == nil && o.result == nil {
			one, ids, quoted = o, append(ids, o.TurnID), append(quoted, strconv.Quote(o.TurnID))
		}
	}
	switch {
	case one.job:
		return jobsFollow(ids)
	case one.policy == turns.Blocking:
		return fmt.Sprintf("Go on with other work, then call work_await with turn_ids [%s]. Your turn does not end before they have ended.\n", list(quoted))
	case one.wake == "none":
		return "Their ends will be in your inbox, and do not wake you: call inbox_read or work_await.\n"
	}
	return fmt.Sprintf("You will be told when they end, also after your turn. To have their results in this turn, call work_await with turn_ids [%s].\n", list(quoted))
}

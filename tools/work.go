package tools

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/internal/mend"
	"github.com/seed82539d15/holon/internal/sanitize"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// How long calls wait. Longer waits are further calls: agents drop calls that last.
const (
	awaitSeconds    = 45
	maxAwaitSeconds = 120
)

func (s *Server) addWork() {
	add(s, tool{
		name: "work_start",
		description: "Start work in a child thread: another agent gets the prompt, and you get turn_id and thread_id at once (or the result, with wait_seconds). " +
			"Your turn waits for it before it ends, unless background is true: then its end arrives in your inbox. With thread_id: a further turn of a child thread you have; or, with background, work in another thread, if you may. " +
			"With tasks: several at once.",
		limits: map[string]bounds{"wait_seconds": {least: 0, most: maxAwaitSeconds}, "tasks": {least: 0, most: maxTasks}},
	}, s.workStart)
	add(s, tool{
		name: "work_await",
		description: "Wait for results of work you started. Returns as soon as one ends (wait_for all: as soon as all have ended), or says that it is still running: then call it again. Ends early when a person needs you. " +
			"Without turn_ids: everything that is unended or that you have not been told of.",
		reads: true,
		limits: map[string]bounds{
			"timeout_seconds": {least: 0, most: maxAwaitSeconds},
			"wait_for":        {words: []any{string(turns.WaitAny), string(turns.WaitAll)}},
		},
	}, s.workAwait)
	add(s, tool{
		name:        "work_list",
		description: "List the turns you have started in child threads and other threads, newest first, with state, title and last lines. With turn_ids: their last messages in full.",
		reads:       true,
	}, s.workList)
	add(s, tool{
		name:        "work_send",
		description: "Send text to a child turn: into it while it runs, else as the next turn of its thread.",
	}, s.workSend)
	add(s, tool{
		name:        "work_stop",
		description: "Stop a turn you have started, in a child thread or another one, that is queued or running.",
		repeats:     true,
	}, s.workStop)
	add(s, tool{
		name:        "work_retry",
		description: "Try a child turn again that has failed or was interrupted: the same turn, with the same prompt, in its next attempt.",
	}, s.workRetry)
	add(s, tool{
		name: "work_review",
		description: "Give your verdict about a child turn that waits for a review. rejected: it is continued with your note as its next prompt. " +
			"approved and blocked are final: then its end arrives in your inbox.",
		limits: map[string]bounds{"verdict": {words: []any{string(turns.Approved), string(turns.Rejected), string(turns.Blocked)}}},
	}, s.workReview)
}

// workStartIn are the params of work_start.
type workStartIn struct {
	Prompt      string  `json:"prompt,omitempty" jsonschema:"what to do, with all it needs to know: the other agent sees nothing else"`
	Tasks       []task  `json:"tasks,omitempty" jsonschema:"instead of prompt: 2 to 16 tasks that run at the same time, each in a child thread of its own"`
	Title       string  `json:"title,omitempty" jsonschema:"a few words, shown to people"`
	Agent       string  `json:"agent,omitempty" jsonschema:"which agent does it; by default one like you"`
	ThreadID    string  `json:"thread_id,omitempty" jsonschema:"a child thread you have, for a further turn of it; or another thread, with background: nothing waits for that work, and its end arrives in your inbox"`
	Cwd         string  `json:"cwd,omitempty" jsonschema:"absolute directory, yours or below"`
	Background  bool    `json:"background,omitempty" jsonschema:"do not wait for it before your turn ends"`
	WaitSeconds float64 `json:"wait_seconds,omitempty" jsonschema:"wait this long for the result; if it has not come by then, the work goes on in the background"`
	Key         string  `json:"key,omitempty" jsonschema:"a name of your choice for this work in your turn: a call with the same key finds it with its result, also after a crash of yours and also in the background, instead of starting it again"`
}

func (s *Server) workStart(ctx context.Context, r *request, in workStartIn) (answer, *api.Error) {
	if len(in.Tasks) > 0 { // some models fill in every member
		return r.startTasks(ctx, in)
	}
	if strings.TrimSpace(in.Prompt) == "" {
		return answer{}, api.Invalid("prompt", turns.ReasonRequired, "say what is to be done, or give tasks")
	}
	if in.ThreadID != "" && (in.Agent != "" || in.Cwd != "") {
		return answer{}, api.Invalid("thread_id", turns.ReasonInvalid, "a thread keeps its agent and its directory: leave agent and cwd out")
	}
	if refused := checkCwd(in.Cwd); refused != nil {
		return answer{}, refused
	}
	in.Title = sanitize.Line(in.Title, turns.MaxTitle) // words of a model: no reason to refuse the work
	if in.startsJob() {
		if refused := checkKey(in.Key); refused != nil {
			return answer{}, refused
		}
		if in.WaitSeconds > 0 {
			defer r.saysSo(ctx)()
		}
		t, raw, other, refused := r.startJob(ctx, jobOf(in.Key), turns.Start{
			Agent: in.Agent, Cwd: in.Cwd, Input: said(in.Prompt), Title: in.Title, WaitSeconds: in.WaitSeconds,
		})
		if refused != nil {
			return answer{}, refused
		}
		return workFound(&t, other, raw), nil
	}
	key, refused := r.key(ctx, in.Key, in.keeps())
	if refused != nil {
		return answer{}, refused
	}
	if in.keeps() && in.ThreadID == "" {
		return r.startKept(ctx, in, key)
	}
	threadID, made := in.ThreadID, false
	if threadID == "" {
		t, _, refused := call[api.ThreadStartResult](ctx, s.Caller, "thread/start", api.ThreadStartParams{
			Agent: in.Agent, Title: in.Title, Cwd: in.Cwd, Parent: &threads.Parent{ThreadID: r.agent.ThreadID}, Keyed: keyed(key, "thread"),
		})
		if refused != nil {
			return answer{}, refused
		}
		threadID, made = t.ThreadID, true
	}
	a, refused := r.start(ctx, threadID, turns.Start{Input: said(in.Prompt), Background: in.Background, Title: in.Title, WaitSeconds: in.WaitSeconds}, key)
	if refused != nil && made && in.Key == "" && ctx.Err() == nil {
		s.closeUnused(ctx, threadID)
	}
	return a, refused
}

func checkCwd(cwd string) *api.Error {
	if strings.Contains(cwd, mend.Replacement) { // mended, or copied from an output: another directory may have this name
		return api.Invalid("cwd", turns.ReasonInvalid, "is not UTF-8: give a directory whose name is text, or rename it")
	}
	return nil
}

// closeUnused closes a child thread whose first turn was refused: nobody will find it
// again, unless the model has chosen a key, which it can use once more. A turn that
// has started continues, also if waiting for it has failed.
func (s *Server) closeUnused(ctx context.Context, threadID string) {
	one := 1
	l, _, refused := call[api.TurnListResult](ctx, s.Caller, "turn/list", api.TurnListParams{ThreadID: threadID, Page: api.Page{Limit: &one}})
	if refused != nil || len(l.Turns) > 0 {
		return
	}
	// If it is not closed, it is with the thread above it.
	_, _ = s.Caller.Call(ctx, "thread/close", api.ThreadCloseParams{CloseThread: turns.CloseThread{ThreadID: threadID, Reason: "its first turn could not start"}})
}

// said returns a prompt.
func said(text string) []turns.InputMessage {
	return []turns.InputMessage{{Type: "message", Role: "user", Content: []items.Part{{Type: items.PartText, Text: text}}}}
}

// start starts a child turn and says what follows.
func (r *request) start(ctx context.Context, threadID string, c turns.Start, key string) (answer, *api.Error) {
	if c.WaitSeconds > 0 {
		defer r.saysSo(ctx)()
	}
	c.ThreadID, c.Parent = threadID, &threads.Parent{ThreadID: r.agent.ThreadID}
	t, raw, refused := call[api.TurnStartResult](ctx, r.server.Caller, "turn/start", api.TurnStartParams{Start: c, Keyed: keyed(key, "turn")})
	if refused != nil {
		return answer{}, refused
	}
	if c.Background && key != "" && r.isEarlier(ctx, &t) {
		t.Found = true
		if refused := r.look(ctx, &t, 0); refused != nil {
			return answer{}, refused
		}
		data, err := json.Marshal(t, api.WireOptions)
		if err != nil {
			return answer{}, api.Errorf(api.KindInternal, "")
		}
		return workFound(&t, "", data), nil
	}
	return started(&t, raw), nil
}

// started returns what was started and what to do next.
func started(t *turns.StartResult, data []byte) answer {
	where := fmt.Sprintf("turn %s in thread %s", t.TurnID, t.ThreadID)
	if running, inReview := unended(t.Results); len(t.Results) > 0 && len(running) == 0 {
		if len(inReview) > 0 {
			return quotingResults(t.Results, fmt.Sprintf("Started %s.\n", where)+whatFollows(t.Results), data)
		}
		return quotingResults(t.Results, fmt.Sprintf("Started %s, and it has ended.\n", where), data)
	}
	text := fmt.Sprintf("Started %s.", where)
	if t.State == turns.Queued {
		text += " It waits for its place."
	}
	switch {
	case t.Reason != "":
		return saying(text+" "+cutText(t.Reason, nil), data)
	case t.Detached != nil:
		text += fmt.Sprintf(" It is still running, and goes on in the background (%s).", t.Detached.Reason)
	case t.AttentionPolicy == turns.Blocking:
		return saying(text+fmt.Sprintf(" Go on with other work, then call work_await with turn_ids [%q]. Your turn does not end before it has ended.\n", t.TurnID), data)
	}
	if t.Outside {
		text += " It is work in a thread that is not below yours: no turn waits for it, and neither does work_await."
	}
	if t.Wake == "none" {
		return saying(text+" Its end will be in your inbox, and does not wake you: call inbox_read or work_await.\n", data)
	}
	if t.Outside {
		return saying(text+" You will be told when it has ended, after your turn.\n", data)
	}
	return saying(text+" You will be told when it has ended, after your turn together with what else you have in the background. To have its result in this turn, call work_await.\n", data)
}

// workAwaitIn are the params of work_await.
type workAwaitIn struct {
	TurnIDs        []string `json:"turn_ids,omitempty" jsonschema:"turns of your child threads; by default all that are unended or untold"`
	TimeoutSeconds *float64 `json:"timeout_seconds,omitempty" jsonschema:"default 45; 0 only looks"`
	WaitFor        string   `json:"wait_for,omitempty" jsonschema:"any (default) or all"`
}

func (s *Server) workAwait(ctx context.Context, r *request, in workAwaitIn) (answer, *api.Error) {
	timeout := float64(awaitSeconds)
	if in.TimeoutSeconds != nil {
		timeout = *in.TimeoutSeconds
	}
	stop := r.saysSo(ctx)
	a, raw, refused := call[api.TurnAwaitResult](ctx, s.Caller, "turn/await", api.TurnAwaitParams{
		OwnerThreadID: r.agent.ThreadID, TurnIDs: in.TurnIDs, TimeoutSeconds: &timeout, WaitFor: turns.WaitFor(in.WaitFor),
	})
	stop()
	if refused != nil {
		if ctx.Err() != nil {
			refused = api.Errorf(api.KindUnavailable, "the waiting was cancelled; the work goes on")
		}
		return answer{}, refused
	}
	if len(a.Results) == 0 {
		return saying("There is nothing to wait for: you have been told of the end of all your child turns. work_list lists them.\n", raw), nil
	}
	if a.Reason != "" {
		return quotingResults(a.Results, cutText(a.Reason, a.Results), raw), nil
	}
	return quotingResults(a.Results, whatFollows(a.Results), raw), nil
}

// workSendIn are the params of work_send.
type workSendIn struct {
	TurnID string `json:"turn_id" jsonschema:"a turn of a child thread"`
	Text   string `json:"text"`
}

func (s *Server) workSend(ctx context.Context, r *request, in workSendIn) (answer, *api.Error) {
	if strings.TrimSpace(in.Text) == "" {
		return answer{}, api.Invalid("text", turns.ReasonRequired, "give some text")
	}
	key, refused := r.key(ctx, "", false)
	if refused != nil {
		return answer{}, refused
	}
	// In this order also when the call is repeated: whichever succeeded finds its key.
	t, raw, refused := call[api.TurnSteerResult](ctx, s.Caller, "turn/steer", api.TurnSteerParams{TurnID: in.TurnID, Input: said(in.Text), Keyed: keyed(key, "steer")})
	if refused == nil {
		text := fmt.Sprintf("Turn %s has it.", t.TurnID)
		if t.Delivery == turns.DeliveryQueued {
			text = fmt.Sprintf("Turn %s gets it as its next prompt.", t.TurnID)
		}
		return saying(text+" Call work_await for its result.\n", raw), nil
	}
	if refused.Data.Kind != api.KindTurnNotActive {
		return answer{}, refused
	}
	was, _, refused := call[api.TurnReadResult](ctx, s.Caller, "turn/read", api.TurnReadParams{TurnID: in.TurnID})
	if refused != nil {
		return answer{}, refused
	}
	return r.start(ctx, was.Turn.ThreadID, turns.Start{Input: said(in.Text), Title: was.Turn.Title}, key)
}

// workStopIn are the params of work_stop.
type workStopIn struct {
	TurnID string `json:"turn_id" jsonschema:"a turn you have started"`
	Reason string `json:"reason,omitempty"`
}

func (s *Server) workStop(ctx context.Context, r *request, in workStopIn) (answer, *api.Error) {
	key, refused := r.key(ctx, "", false)
	if refused != nil {
		return answer{}, refused
	}
	t, raw, refused := call[api.TurnInterruptResult](ctx, s.Caller, "turn/interrupt", api.TurnInterruptParams{
		Interrupt: turns.Interrupt{TurnID: in.TurnID, Reason: in.Reason}, Keyed: keyed(key, "stop"),
	})
	if refused != nil {
		return answer{}, refused
	}
	text := fmt.Sprintf("Turn %s was stopped.\n", t.TurnID)
	if t.State != string(turns.Interrupted) {
		text = fmt.Sprintf("Turn %s is being stopped. work_await says when it has ended.\n", t.TurnID)
	}
	return saying(text, raw), nil
}

// workReviewIn are the params of work_review.
type workReviewIn struct {
	TurnID  string `json:"turn_id" jsonschema:"a turn of a child thread"`
	Verdict string `json:"verdict" jsonschema:"approved, rejected or blocked"`
	Note    string `json:"note,omitempty" jsonschema:"why; with rejected, what is to be done"`
	Attempt int    `json:"attempt,omitempty" jsonschema:"the attempt you have seen; by default the newest"`
}

func (s *Server) workReview(ctx context.Context, r *request, in workReviewIn) (answer, *api.Error) {
	key, refused := r.key(ctx, "", false)
	if refused != nil {
		return answer{}, refused
	}
	if in.Attempt == 0 {
		t, _, refused := call[api.TurnReadResult](ctx, s.Caller, "turn/read", api.TurnReadParams{TurnID: in.TurnID})
		if refused != nil {
			return answer{}, refused
		}
		in.Attempt = t.Turn.Attempt
	}
	t, raw, refused := call[api.TurnReviewResult](ctx, s.Caller, "turn/review", api.TurnReviewParams{
		ReviewTurn: turns.ReviewTurn{TurnID: in.TurnID, Attempt: in.Attempt, Verdict: turns.ReviewState(in.Verdict), Note: in.Note}, Keyed: keyed(key, "review"),
	})
	if refused != nil {
		return answer{}, refused
	}
	text := fmt.Sprintf("Turn %s is %s. Its end arrives in your inbox.\n", t.TurnID, t.Review.State)
	if t.ContinuedBy != "" {
		text = fmt.Sprintf("Turn %s is rejected, and turn %s continues it with your note. Call work_await with turn_ids [%q], or go on with other work.\n", t.TurnID, t.ContinuedBy, t.ContinuedBy)
	}
	return saying(text, raw), nil
}

package api

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/internal/nearest"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// ThreadStartParams are the params of thread/start. ThreadID is a pointer
// because an empty id is a mistake, an absent one asks for a new id.
type ThreadStartParams struct {
	ThreadID *string         `json:"thread_id,omitzero"`
	Agent    string          `json:"agent,omitzero"`
	Title    string          `json:"title,omitzero"`
	Cwd      string          `json:"cwd,omitzero"`
	Metadata jsontext.Value  `json:"metadata,omitzero"`
	Parent   *threads.Parent `json:"parent,omitzero"`
	Keyed
	Extra
}

// ThreadStartResult answers thread/start.
type ThreadStartResult = turns.StartThreadResult

// ThreadStart answers thread/start.
func (h *Handlers) ThreadStart(ctx context.Context, p ThreadStartParams) (ThreadStartResult, error) {
	id := ""
	if p.ThreadID != nil {
		if id = *p.ThreadID; id == "" {
			return ThreadStartResult{}, Invalid("thread_id", "out_of_range", "an id has 1 to 64 characters")
		}
	}
	if err := h.api.mayStartWith(ctx, id, p.Agent); err != nil {
		return ThreadStartResult{}, err
	}
	return h.api.Engine.StartThread(ctx, turns.StartThread{
		ThreadID: id, Agent: p.Agent, Title: p.Title, Cwd: p.Cwd,
		Metadata: nilIfNull(p.Metadata), Parent: p.Parent, By: clientOf(ctx), Key: p.key,
	})
}

// mayStartWith returns an error if an agent asks for a child thread of an agent that
// its own may not start. name is "" if the request names none: a new thread then gets
// the agent of its owner, and one that exists keeps its own.
func (a *API) mayStartWith(ctx context.Context, threadID, name string) error {
	caller, ok := AgentOf(ctx)
	if !ok {
		return nil
	}
	if name == "" && threadID != "" {
		s, err := a.Reader.ReadThread(ctx, threadID, 0)
		if err != nil || s.Thread != nil {
			return err
		}
	}
	own, allowed, err := a.childAgents(ctx, caller.ThreadID)
	switch {
	case err != nil:
		return err
	case slices.Contains(allowed, cmp.Or(name, own)):
		return nil
	case len(allowed) == 0:
		return notAllowed("agent", "%s may start no children (child_agents in its configuration)", own)
	}
	return notAllowed("agent", "%s may start children with: %s (child_agents in its configuration)", own, strings.Join(allowed, ", "))
}

// childAgents returns the agents that the agent of a thread may start child threads with. own
// is the agent of the thread.
func (a *API) childAgents(ctx context.Context, threadID string) (own string, allowed []string, err error) {
	s, err := a.Reader.ReadThread(ctx, threadID, 0)
	switch {
	case err != nil:
		return "", nil, err
	case s.Thread == nil:
		return "", nil, threads.ErrNotFound
	}
	own = s.Thread.Agent
	allowed, configured := a.ChildAgents[own]
	if !configured {
		allowed = []string{own}
	}
	return own, allowed, nil
}

// workIn returns the threads in which the agent of a thread may start outside work. own is the
// agent of the thread.
func (a *API) workIn(ctx context.Context, threadID string) (own string, allowed []string, err error) {
	own, _, err = a.childAgents(ctx, threadID)
	return own, a.WorkIn[own], err
}

// nilIfNull returns nil for null, which means the same as absent.
func nilIfNull(v jsontext.Value) jsontext.Value {
	if v.Kind() == 'n' {
		return nil
	}
	return v
}

// threadChange is the form of the params of thread/pause and thread/resume.
type threadChange struct {
	ThreadID string `json:"thread_id"`
	Reason   string `json:"reason,omitzero"`
	Keyed
	Extra
}

// ThreadPauseParams are the params of thread/pause.
type ThreadPauseParams threadChange

// ThreadPauseResult answers thread/pause.
type ThreadPauseResult = turns.ChangeThreadResult

// ThreadPause answers thread/pause.
func (h *Handlers) ThreadPause(ctx context.Context, p ThreadPauseParams) (ThreadPauseResult, error) {
	return h.changeThread(ctx, threadChange(p), threads.VerbPause)
}

// ThreadResumeParams are the params of thread/resume.
type ThreadResumeParams threadChange

// ThreadResumeResult answers thread/resume.
type ThreadResumeResult = turns.ChangeThreadResult

// ThreadResume answers thread/resume.
func (h *Handlers) ThreadResume(ctx context.Context, p ThreadResumeParams) (ThreadResumeResult, error) {
	return h.changeThread(ctx, threadChange(p), threads.VerbResume)
}

func (h *Handlers) changeThread(ctx context.Context, p threadChange, verb threads.Verb) (turns.ChangeThreadResult, error) {
	return h.api.Engine.ChangeThread(ctx, turns.ChangeThread{ThreadID: p.ThreadID, Verb: verb, Reason: p.Reason, By: clientOf(ctx), Key: p.key})
}

// ThreadCloseParams are the params of thread/close.
type ThreadCloseParams struct {
	turns.CloseThread
	Keyed
	Extra
}

// ThreadCloseResult answers thread/close.
type ThreadCloseResult = turns.ChangeThreadResult

// ThreadClose answers thread/close. It returns once the close is durable. The
// channel delivers the state closed when the active turn has ended.
func (h *Handlers) ThreadClose(ctx context.Context, p ThreadCloseParams) (ThreadCloseResult, <-chan ThreadCloseResult, error) {
	return h.api.Engine.CloseThread(ctx, p.CloseThread)
}

// ThreadListParams are the params of thread/list. Within selects threads and those
// below them. Status and Text are of what a summary shows, so they need its view. Counts
// asks for the counts of all statuses.
type ThreadListParams struct {
	State     threads.State      `json:"state,omitzero"`
	Agent     string             `json:"agent,omitzero"`
	ThreadIDs []string           `json:"thread_ids,omitzero"`
	Within    []string           `json:"within_thread_ids,omitzero"`
	View      ListView           `json:"view,omitzero"`
	Status    []turns.ListStatus `json:"status,omitzero"`
	Text      string             `json:"text,omitzero"`
	Counts    bool               `json:"counts,omitzero"`
	FoldJobs  bool               `json:"fold_jobs,omitzero"`
	Page
	Extra
}

// ThreadListResult answers thread/list.
type ThreadListResult struct {
	Threads    []ThreadView        `json:"threads"`
	Counts     *turns.StatusCounts `json:"counts,omitzero"`
	NextCursor string              `json:"next_cursor,omitzero"`
	LatestSeq  int64               `json:"latest_seq"`
}

// maxListedThreads bounds thread_ids of thread/list: what people have open.
const maxListedThreads = 100

// ThreadList answers thread/list.
func (h *Handlers) ThreadList(ctx context.Context, p ThreadListParams) (ThreadListResult, error) {
	limit, err := p.limit()
	if err != nil {
		return ThreadListResult{}, err
	}
	if err := oneOf("state", p.State, threads.States); err != nil {
		return ThreadListResult{}, err
	}
	if err := CheckWithin(p.Within); err != nil {
		return ThreadListResult{}, err
	}
	if err := oneOf("view", p.View, []ListView{ViewSummary}); err != nil {
		return ThreadListResult{}, err
	}
	if err := p.checkSummaryFilters(); err != nil {
		return ThreadListResult{}, err
	}
	if len(p.ThreadIDs) > maxListedThreads {
		return ThreadListResult{}, Invalid("thread_ids", turns.ReasonTooLarge, "at most %d threads", maxListedThreads)
	}
	q := threads.Query{
		IDs: p.ThreadIDs, State: p.State, Agent: p.Agent, Within: h.api.members(ctx, p.Within), Cursor: p.Cursor, Limit: limit, Newest: p.Order == OrderDesc,
	}
	if p.View == ViewSummary {
		return h.listSummaries(ctx, turns.SummaryQuery{
			Query: q, Statuses: p.Status, Matches: h.matching(p.Text), Counts: p.Counts, Uncounted: h.mailboxes(p.Counts), FoldJobs: p.FoldJobs,
		})
	}
	l, err := h.api.Reader.ListThreads(ctx, q)
	if err != nil {
		return ThreadListResult{}, err
	}
	views, err := h.viewsOf(ctx, l.Rows)
	r := ThreadListResult{Threads: views, NextCursor: l.Next, LatestSeq: l.Latest}
	if err == nil && p.Counts {
		q.IDs = []string{} // counts of all, rows of none
		var counted turns.SummaryList
		counted, err = h.summarize(ctx, turns.SummaryQuery{Query: q, Counts: true, Uncounted: h.mailboxes(true)})
		r.Counts = counted.Counts
	}
	return r, err
}

// maxListText bounds text of thread/list, in bytes: more than what anybody types.
const maxListText = 1024

// checkSummaryFilters checks status, text and fold_jobs.
func (p *ThreadListParams) checkSummaryFilters() error {
	switch {
	case p.View == ViewSummary:
	case len(p.Status) > 0:
		return Invalid("status", "not_summary", "only with view %s", ViewSummary)
	case p.Text != "":
		return Invalid("text", "not_summary", "only with view %s", ViewSummary)
	case p.FoldJobs:
		return Invalid("fold_jobs", "not_summary", "only with view %s", ViewSummary)
	}
	if len(p.Status) > len(turns.ListStatuses) {
		return Invalid("status", turns.ReasonTooMany, "at most %d", len(turns.ListStatuses))
	}
	for i, s := range p.Status {
		if !slices.Contains(turns.ListStatuses, s) {
			return Invalid(indexed("status", i), turns.ReasonUnknown, "%s", nearest.NoneOf(s, turns.ListStatuses))
		}
	}
	if len(p.Text) > maxListText {
		return Invalid("text", turns.ReasonTooLarge, "at most %d bytes", maxListText)
	}
	return nil
}

// oneOf refuses a filter that can never match: it is a typing error.
func oneOf[T ~string](field string, v T, known []T) error {
	if v == "" || slices.Contains(known, v) {
		return nil
	}
	return Invalid(field, "unknown", "%s", nearest.NoneOf(v, known))
}

// ThreadReadParams are the params of thread/read.
type ThreadReadParams struct {
	ThreadID     string `json:"thread_id"`
	IncludeTurns bool   `json:"include_turns,omitzero"`
	IncludeInbox bool   `json:"include_inbox,omitzero"`
	Extra
}

// ThreadReadResult answers thread/read. Turns are present if include_turns is
// set; Policy, PolicySet, Subscriptions and Timers if include_inbox is. Policy is the one in
// force, PolicySet what of it was set and where, and Timers is how many timers the thread has. Children counts child turns.
// WaitsFor are those that the active turn waits for, and no prompt runs.
type ThreadReadResult struct {
	Thread        *ThreadView        `json:"thread"`
	Turns         []turns.Turn       `json:"turns,omitzero"`
	Policy        *inbox.Policy      `json:"policy,omitzero"`
	PolicySet     *inbox.PolicySet   `json:"policy_set,omitzero"`
	Subscriptions []SubscriptionView `json:"subscriptions,omitzero"`
	Timers        *int               `json:"timers,omitzero"`
	Children      turns.Children     `json:"children"`
	WaitsFor      []string           `json:"waits_for,omitzero"`
	Wakes         *inbox.Wakes       `json:"wakes,omitzero"` // that of the summary
	LatestSeq     int64              `json:"latest_seq"`
}

// ThreadRead answers thread/read.
func (h *Handlers) ThreadRead(ctx context.Context, p ThreadReadParams) (ThreadReadResult, error) {
	limit := 0
	if p.IncludeTurns {
		limit = newestTurns
	}
	s, err := h.api.Reader.ReadThread(ctx, p.ThreadID, limit)
	if err != nil {
		return ThreadReadResult{}, err
	}
	if s.Thread == nil {
		return ThreadReadResult{}, threads.ErrNotFound
	}
	r := ThreadReadResult{LatestSeq: s.Latest}
	if r.Children, err = h.api.Reader.Children(ctx, p.ThreadID); err != nil {
		return ThreadReadResult{}, err
	}
	r.WaitsFor = r.Children.WaitsFor
	if p.IncludeTurns {
		r.Turns = append([]turns.Turn{}, s.Turns...)
	}
	if p.IncludeInbox {
		err = h.showInbox(ctx, s.Thread, &r)
	} else if views, e := h.viewsOf(ctx, []threads.Thread{*s.Thread}); e == nil {
		r.Thread = &views[0]
	} else {
		err = e
	}
	if err != nil {
		return ThreadReadResult{}, err
	}
	sum, err := h.summaryOf(ctx, p.ThreadID)
	h.summarized(r.Thread, sum)
	if sum != nil {
		r.Wakes = sum.Wakes
	}
	return r, err
}

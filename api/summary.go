package api

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/internal/worktree"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// ListView says what a list shows of each row.
type ListView string

// ViewSummary shows a summary of each thread instead of its config and metadata.
const ViewSummary ListView = "summary"

// Worktrees says what is known of the git repositories of directories; *worktree.Cache
// implements it. Neither waits. Peek does not ask for a directory to be read, so it can be
// called for any number of them.
type Worktrees interface {
	Get(dir string) *worktree.State
	Peek(dir string) *worktree.State
}

var _ Worktrees = (*worktree.Cache)(nil)

// ThreadSummary is what a person sees of a thread at a glance. Cwd is where its agent
// works: the thread's own cwd, if it has one. Git is of that directory, nil if it is in no
// repository, or nothing is known yet. Wakes is what keeps new entries of its inbox from
// waking it, nil if nothing does.
type ThreadSummary struct {
	turns.Summary
	Cwd   string          `json:"cwd,omitzero"`
	Git   *worktree.State `json:"git,omitzero"`
	Wakes *inbox.Wakes    `json:"wakes,omitzero"`
}

// consumerOf returns the consumer whose cursors say what the caller has seen. Cursors
// are not for agents.
func consumerOf(ctx context.Context) string {
	if _, ok := AgentOf(ctx); ok {
		return ""
	}
	return seenBy(personOf(ctx))
}

// summarize reads threads with their summaries.
func (h *Handlers) summarize(ctx context.Context, q turns.SummaryQuery) (turns.SummaryList, error) {
	c := &h.api.summaries
	q.Known, q.Memory, q.Consumer = c.get, &h.api.titles, consumerOf(ctx)
	l, err := h.api.Reader.Summaries(ctx, q)
	for i := range l.Rows {
		c.put(&l.Rows[i])
	}
	return l, err
}

// summaryOf reads the summary of one thread; nil if there is none.
func (h *Handlers) summaryOf(ctx context.Context, threadID string) (*ThreadSummary, error) {
	l, err := h.summarize(ctx, turns.SummaryQuery{Query: threads.Query{IDs: []string{threadID}}})
	if err != nil || len(l.Rows) == 0 {
		return nil, err
	}
	dirs := h.directoriesOf(l.Rows)
	return &ThreadSummary{Summary: l.Rows[0].Summary, Cwd: dirs[0], Git: h.gitOf(l.Rows, dirs)[dirs[0]]}, nil
}

// maxGitDirectories bounds the directories of one page that git is asked about.
const maxGitDirectories = 50

// directories returns a function that says where the agent of a thread works. What holds
// for the threads of an agent without a cwd is looked up once.
func (h *Handlers) directories() func(t *threads.Thread) string {
	without := map[string]string{}
	return func(t *threads.Thread) string {
		if t.Cwd != "" {
			return h.api.Directory(t.Agent, t.Cwd)
		}
		dir, known := without[t.Agent]
		if !known {
			dir = h.api.Directory(t.Agent, "")
			without[t.Agent] = dir
		}
		return dir
	}
}

// directoriesOf returns where the agents of threads work.
func (h *Handlers) directoriesOf(rows []turns.Summarized) []string {
	dirs, of := make([]string, len(rows)), h.directories()
	for i := range rows {
		dirs[i] = of(&rows[i].Thread)
	}
	return dirs
}

// gitOf returns what is known of the directories of threads that are not closed: of those
// where something has happened last.
func (h *Handlers) gitOf(rows []turns.Summarized, directories []string) map[string]*worktree.State {
	if h.api.Worktrees == nil {
		return nil
	}
	latest := map[string]int64{}
	for i := range rows {
		if t, dir := &rows[i].Thread, directories[i]; dir != "" && t.State != threads.Closed {
			latest[dir] = max(latest[dir], t.LatestSeq)
		}
	}
	dirs := slices.SortedFunc(maps.Keys(latest), func(a, b string) int { return cmp.Compare(latest[b], latest[a]) })
	known := map[string]*worktree.State{}
	for _, dir := range dirs[:min(len(dirs), maxGitDirectories)] {
		known[dir] = h.api.Worktrees.Get(dir)
	}
	return known
}

// listSummaries answers thread/list with the view summary.
func (h *Handlers) listSummaries(ctx context.Context, q turns.SummaryQuery) (ThreadListResult, error) {
	l, err := h.summarize(ctx, q)
	if err != nil {
		return ThreadListResult{}, err
	}
	rows := make([]threads.Thread, len(l.Rows))
	for i := range l.Rows {
		rows[i] = l.Rows[i].Thread
	}
	views, err := h.viewsOf(ctx, rows)
	dirs := h.directoriesOf(l.Rows)
	git := h.gitOf(l.Rows, dirs)
	for i := range views {
		h.summarized(&views[i], &ThreadSummary{Summary: l.Rows[i].Summary, Cwd: dirs[i]})
		if rows[i].State != threads.Closed {
			views[i].Summary.Git = git[dirs[i]]
		}
	}
	return ThreadListResult{Threads: views, Counts: l.Counts, NextCursor: l.Next, LatestSeq: l.Latest}, err
}

// maxSummaries bounds how many summaries are kept: a few megabytes. Larger than a page,
// so that a list which is asked for again finds what it has read.
const maxSummaries = 4096

// summaryCache keeps what follows from the rows of a thread alone, as of its latest_seq:
// these rows change with events of the thread only. The zero value is ready; it may be
// used from many goroutines.
type summaryCache struct {
	mu     sync.Mutex
	of     map[string]keptSummary
	counts CacheCounts // of put: only then it is known whether what get returned was new enough
}

type keptSummary struct {
	summary turns.Summary
	at      int64 // the thread's latest_seq
}

// get works like turns.SummaryQuery.Known.
func (c *summaryCache) get(threadID string) (*turns.Summary, int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.of[threadID]
	if !ok {
		return nil, 0
	}
	return &k.summary, k.at
}

// put keeps a summary, unless a newer one is there. When there are too many, it forgets
// any half: they are read again when they are needed.
func (c *summaryCache) put(s *turns.Summarized) {
	k := keptSummary{summary: s.Summary, at: s.Thread.LatestSeq}
	k.summary.Children, k.summary.SeenSeq = turns.ChildCounts{}, 0 // of other rows
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = make(map[string]keptSummary)
	}
	old, ok := c.of[s.Thread.ThreadID]
	known := ok && old.at >= k.at
	if c.counts.count(known); known {
		return
	}
	if !ok && len(c.of) >= maxSummaries {
		n := maxSummaries / 2
		for id := range c.of {
			if n--; n < 0 {
				break
			}
			delete(c.of, id)
		}
	}
	c.of[s.Thread.ThreadID] = k
}

package api

import (
	"strings"

	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// matching returns turns.SummaryQuery.Matches for the text of thread/list: a thread
// matches if what its summary shows has all words. It is nil for no words. The function
// is for one request.
func (h *Handlers) matching(text string) func(t *threads.Thread, title string) bool {
	words := strings.Fields(strings.ToLower(text))
	if len(words) == 0 {
		return nil
	}
	directories := h.directories()
	return func(t *threads.Thread, title string) bool {
		dir, branch := directories(t), ""
		if h.api.Worktrees != nil && dir != "" && t.State != threads.Closed {
			if git := h.api.Worktrees.Peek(dir); git != nil {
				branch = git.Branch
			}
		}
		all := strings.ToLower(strings.Join([]string{title, t.Agent, dir, branch}, "\n"))
		for _, w := range words {
			if !strings.Contains(all, w) && !threads.IDHas(t.ThreadID, w) {
				return false
			}
		}
		return true
	}
}

// mailboxes returns the agents whose threads are inboxes of people; nil unless they are
// asked for.
func (h *Handlers) mailboxes(asked bool) (names []string) {
	if !asked {
		return nil
	}
	for _, a := range h.api.Engine.Agents() {
		if a.Kind == turns.KindMailbox {
			names = append(names, a.Name)
		}
	}
	return names
}

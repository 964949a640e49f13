package api

import (
	"context"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
)

// members returns the threads of ids and those below them, as far as the request may read
// them: an agent reads its own thread and those below it, a named token that is limited
// its threads and those below them. nil is every thread. Whether a thread is a
// member never changes, so the set is asked, not listed: threads of ids that do not
// exist yet can be in it.
func (a *API) members(ctx context.Context, ids []string) notify.Members {
	var asked, own notify.Members
	if len(ids) > 0 {
		asked = a.below(ids...)
	}
	if agent, ok := AgentOf(ctx); ok {
		own = a.below(agent.ThreadID)
	} else if t, _ := TokenOf(ctx); t.limited() {
		own = a.below(t.ThreadIDs...)
	}
	return notify.Both(asked, own)
}

// subtree are the threads of some ids and those below them.
type subtree struct {
	api   *API
	roots map[string]struct{}
}

func (a *API) below(ids ...string) subtree {
	roots := make(map[string]struct{}, len(ids))
	for _, id := range ids {
		roots[id] = struct{}{}
	}
	return subtree{a, roots}
}

// Has implements notify.Members. A thread that does not exist has no parent.
func (t subtree) Has(ctx context.Context, threadID string) (bool, error) {
	for level := 0; threadID != ""; level++ {
		if _, ok := t.roots[threadID]; ok {
			return true, nil
		}
		if level == threads.MaxLevel {
			break
		}
		parent, err := t.api.parentOf(ctx, threadID)
		if err != nil {
			return false, err
		}
		threadID = parent
	}
	return false, nil
}

// parentOf returns the thread whose child thread this is; "" for none, and for a
// thread that does not exist. A parent that was kept before there were child
// threads is none. The parent of a thread never changes, so what is found is kept.
func (a *API) parentOf(ctx context.Context, threadID string) (string, error) {
	if parent, ok := a.parents.get(threadID); ok {
		return parent, nil
	}
	s, err := a.Reader.ReadThread(ctx, threadID, 0)
	if err != nil || s.Thread == nil {
		return "", err
	}
	parent := ""
	if s.Thread.Level > 0 && s.Thread.Parent != nil {
		parent = s.Thread.Parent.ThreadID
	}
	a.parents.put(threadID, parent)
	return parent, nil
}

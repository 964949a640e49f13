package api

import (
	"context"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/tokens"
	"github.com/seed82539d15/holon/turns"
)

// requesterOf names whose share a request counts in, where all requesters share what is
// bounded: idempotency keys, cursors, subscriptions, and requests that wait for turns. All
// tokens of one person are one requester, and all agents below one root thread, because they
// can make more of their kind. "" is the owner, who has no share.
func requesterOf(ctx context.Context) (ledger.Requester, error) {
	if agent, ok := AgentOf(ctx); ok {
		a, _ := ctx.Value(apiKey{}).(*API)
		if a == nil {
			return "", notAllowed("", "the request came past the table of methods")
		}
		root, err := a.rootOf(ctx, agent.ThreadID)
		return ledger.Requester("agent:" + root), err
	}
	if c, ok := CredentialOf(ctx); ok && c.person() != tokens.OwnerName {
		return ledger.Requester(turns.ByTokenPrefix + c.person()), nil
	}
	return "", nil
}

// rootOf returns the thread at the top of a thread's tree.
func (a *API) rootOf(ctx context.Context, threadID string) (string, error) {
	for range threads.MaxLevel {
		parent, err := a.parentOf(ctx, threadID)
		if err != nil {
			return "", err
		}
		if parent == "" {
			break
		}
		threadID = parent
	}
	return threadID, nil
}

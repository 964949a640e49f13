package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

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
	if t, ok := TokenOf(ctx); ok && t.person() != tokens.OwnerName {
		return ledger.Requester(turns.ByTokenPrefix + t.person()), nil
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

// ofRequester makes the key of an agent one of its thread, and that of a named token
// one of the token: keys that models choose are short, and those of two threads must
// not meet; and no token gets an answer that was another's. It also says in whose share
// of the stored keys it counts, and who waits for the answer. It returns the key for the
// handler; nil if there is neither.
func (k *Keyed) ofRequester(ctx context.Context) (key *ledger.Key, err error) {
	caller, _ := ctx.Value(callerKey{}).(ledger.Caller)
	if k.key == nil && caller != nil {
		k.key = &ledger.Key{Caller: caller}
	}
	if !k.key.Given() {
		return k.key, nil
	}
	k.key.Caller = caller
	if k.key.Requester, err = requesterOf(ctx); err != nil {
		return nil, err
	}
	prefix, name := "agent_", ""
	if agent, ok := AgentOf(ctx); ok {
		name = agent.ThreadID
	} else if t, ok := TokenOf(ctx); ok {
		prefix, name = "token_", t.Name
	} else {
		return k.key, nil
	}
	sum := sha256.Sum256([]byte(name + "\x00" + k.key.Key))
	k.key.Key = prefix + hex.EncodeToString(sum[:])
	return k.key, nil
}

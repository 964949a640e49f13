package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/turns"
)

// The members of _meta by which agents name one call of a tool, also when they
// repeat it. Ids of requests and progress tokens are no such names: they count from
// the start of a connection.
var callNames = []string{"claudecode/toolUseId", "callId"}

// maxKey bounds the key that a model chooses.
const maxKey = 200

// key returns an idempotency key for what the call does, without an end; "" if the
// call has no name, so that a repetition is new work. It is of the thread, the turn
// and the attempt: a key such as "tests" means other work in the next turn, and what
// an attempt has started is not taken up by the next one. With ofTurn a chosen key is of all
// attempts of the turn.
func (r *request) key(ctx context.Context, chosen string, ofTurn bool) (string, *api.Error) {
	if refused := checkKey(chosen); refused != nil {
		return "", refused
	}
	name, kind := chosen, "key"
	for _, n := range callNames {
		if chosen != "" {
			break // a model that repeats a call after a crash has another name for the call
		}
		if v, ok := r.mcp.Params.Meta[n].(string); ok && v != "" {
			name, kind = v, n
			break
		}
	}
	if name == "" {
		return "", nil
	}
	turnID, attempt, refused := r.turn(ctx)
	if refused != nil {
		return "", refused
	}
	of := strconv.Itoa(attempt)
	if ofTurn && chosen != "" {
		of = "all"
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{r.agent.ThreadID, turnID, of, kind, name}, "\x00")))
	return hex.EncodeToString(sum[:]), nil
}

// turn returns the turn of the agent that calls, and its attempt; "" if none is active.
func (r *request) turn(ctx context.Context) (turnID string, attempt int, refused *api.Error) {
	if r.agent.TurnID != "" {
		return r.agent.TurnID, r.agent.Attempt, nil
	}
	one := 1
	l, _, refused := call[api.TurnListResult](ctx, r.server.Caller, "turn/list", api.TurnListParams{
		ThreadID: r.agent.ThreadID, State: turns.Active, Page: api.Page{Limit: &one},
	})
	if refused != nil || len(l.Turns) == 0 {
		return "", 0, refused
	}
	return l.Turns[0].TurnID, l.Turns[0].Attempt, nil
}

func checkKey(key string) *api.Error {
	if len(key) > maxKey {
		return api.Invalid("key", turns.ReasonTooLarge, "has more than %d bytes", maxKey)
	}
	return nil
}

// keyed returns the idempotency key of one of the requests of a call.
func keyed(key, of string) api.Keyed {
	if key == "" {
		return api.Keyed{}
	}
	key += ":" + of
	return api.Keyed{IdempotencyKey: &key}
}

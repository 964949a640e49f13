package tools

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/api"
)

// Caller calls methods of the protocol as the agent whose token the request
// carried. A call that waits ends when ctx does. It is used from many goroutines.
type Caller interface {
	Call(ctx context.Context, method string, params any) (result jsontext.Value, _ *api.Error)
}

// call works like Call, with a decoded result besides the bytes.
func call[R any](ctx context.Context, c Caller, method string, params any) (r R, raw jsontext.Value, _ *api.Error) {
	raw, refused := c.Call(ctx, method, params)
	if refused != nil {
		return r, nil, refused
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return r, nil, api.Errorf(api.KindInternal, "the result of %s cannot be read: %s", method, err)
	}
	return r, raw, nil
}

// errorText describes to a model what went wrong and what it can do.
func errorText(e *api.Error) string {
	text := fmt.Sprintf("Error (%s): %s.", e.Data.Kind, e.Message)
	switch e.Data.Kind {
	case api.KindOverloaded:
		if len(e.Data.TurnIDs) > 0 {
			return text + fmt.Sprintf(" Call work_await, or work_stop for some of: %s.", list(e.Data.TurnIDs))
		}
	case api.KindForbidden:
		return text + " You can use only your own thread and the threads that you have started: work_list lists their turns."
	case api.KindTurnNotFound, api.KindThreadNotFound:
		return text + " work_list lists your child turns."
	case api.KindEntryNotFound, api.KindEntryExpired:
		return text + " inbox_read lists the entries that are there."
	case api.KindIdempotencyConflict:
		return text + " This key stands for other work: choose another key."
	case api.KindThreadClosed:
		return text + " Start other work, without this thread_id or key."
	case api.KindUnauthorized:
		return text + " These tools do not work any more."
	}
	if e.Data.Retryable {
		text += " Try again later."
	}
	return text
}

package api

import (
	"context"

	"github.com/seed82539d15/holon/turns"
)

// TurnRetryParams are the params of turn/retry.
type TurnRetryParams struct {
	turns.Retry
	Keyed
	Extra
}

// TurnRetryResult answers turn/retry.
type TurnRetryResult = turns.RetryResult

// TurnRetry answers turn/retry.
func (h *Handlers) TurnRetry(ctx context.Context, p TurnRetryParams) (TurnRetryResult, error) {
	return h.api.Engine.Retry(ctx, p.Retry)
}

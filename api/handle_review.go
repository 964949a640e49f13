package api

import (
	"context"

	"github.com/seed82539d15/holon/turns"
)

// TurnReviewParams are the params of turn/review.
type TurnReviewParams struct {
	turns.ReviewTurn
	Keyed
	Extra
}

// TurnReviewResult answers turn/review.
type TurnReviewResult = turns.ReviewTurnResult

// TurnReview answers turn/review.
func (h *Handlers) TurnReview(ctx context.Context, p TurnReviewParams) (TurnReviewResult, error) {
	return h.api.Engine.Review(ctx, p.ReviewTurn)
}

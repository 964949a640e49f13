package api

import (
	"context"

	"github.com/seed82539d15/holon/bridges"
)

// SubscriptionCreateParams are the params of subscription/create.
type SubscriptionCreateParams struct {
	bridges.CreateSubscription
	Keyed
	Extra
}

// SubscriptionCreateResult answers subscription/create. Created is false if there was
// such a subscription already.
type SubscriptionCreateResult = bridges.SubscriptionResult

// SubscriptionCreate answers subscription/create.
func (h *Handlers) SubscriptionCreate(ctx context.Context, p SubscriptionCreateParams) (SubscriptionCreateResult, error) {
	var err error
	if p.Requester, err = requesterOf(ctx); err != nil {
		return SubscriptionCreateResult{}, err
	}
	p.Limited = Limited(ctx)
	r, err := delivering(ctx, h.api, &p.CreateSubscription, p.CreateSubscription.Check, Deliveries.SubscriptionCreate)
	return r, h.api.aheadOf(ctx, "from", err)
}

// SubscriptionUpdateParams are the params of subscription/update.
type SubscriptionUpdateParams struct {
	bridges.UpdateSubscription
	Keyed
	Extra
}

// SubscriptionUpdateResult answers subscription/update.
type SubscriptionUpdateResult = bridges.SubscriptionResult

// SubscriptionUpdate answers subscription/update.
func (h *Handlers) SubscriptionUpdate(ctx context.Context, p SubscriptionUpdateParams) (SubscriptionUpdateResult, error) {
	p.Limited = Limited(ctx)
	return delivering(ctx, h.api, &p.UpdateSubscription, p.UpdateSubscription.Check, Deliveries.SubscriptionUpdate)
}

// SubscriptionPauseParams are the params of subscription/pause.
type SubscriptionPauseParams struct {
	bridges.ChangeSubscription
	Keyed
	Extra
}

// SubscriptionPauseResult answers subscription/pause.
type SubscriptionPauseResult = bridges.SubscriptionResult

// SubscriptionPause answers subscription/pause.
func (h *Handlers) SubscriptionPause(ctx context.Context, p SubscriptionPauseParams) (SubscriptionPauseResult, error) {
	return delivering(ctx, h.api, &p.ChangeSubscription, p.ChangeSubscription.Check, Deliveries.SubscriptionPause)
}

// SubscriptionResumeParams are the params of subscription/resume.
type SubscriptionResumeParams struct {
	bridges.ChangeSubscription
	Keyed
	Extra
}

// SubscriptionResumeResult answers subscription/resume.
type SubscriptionResumeResult = bridges.SubscriptionResult

// SubscriptionResume answers subscription/resume.
func (h *Handlers) SubscriptionResume(ctx context.Context, p SubscriptionResumeParams) (SubscriptionResumeResult, error) {
	return delivering(ctx, h.api, &p.ChangeSubscription, p.ChangeSubscription.Check, Deliveries.SubscriptionResume)
}

// SubscriptionResetParams are the params of subscription/reset.
type SubscriptionResetParams struct {
	bridges.ResetSubscription
	Keyed
	Extra
}

// SubscriptionResetResult answers subscription/reset.
type SubscriptionResetResult = bridges.SubscriptionResult

// SubscriptionReset answers subscription/reset.
func (h *Handlers) SubscriptionReset(ctx context.Context, p SubscriptionResetParams) (SubscriptionResetResult, error) {
	r, err := delivering(ctx, h.api, &p.ResetSubscription, p.ResetSubscription.Check, Deliveries.SubscriptionReset)
	return r, h.api.aheadOf(ctx, "to_seq", err)
}

// SubscriptionSkipParams are the params of subscription/skip.
type SubscriptionSkipParams struct {
	bridges.SkipSubscription
	Keyed
	Extra
}

// SubscriptionSkipResult answers subscription/skip.
type SubscriptionSkipResult = bridges.SubscriptionResult

// SubscriptionSkip answers subscription/skip.
func (h *Handlers) SubscriptionSkip(ctx context.Context, p SubscriptionSkipParams) (SubscriptionSkipResult, error) {
	return delivering(ctx, h.api, &p.SkipSubscription, p.SkipSubscription.Check, Deliveries.SubscriptionSkip)
}

// SubscriptionDeleteParams are the params of subscription/delete.
type SubscriptionDeleteParams struct {
	bridges.ChangeSubscription
	Keyed
	Extra
}

// SubscriptionDeleteResult answers subscription/delete with what is kept.
type SubscriptionDeleteResult = bridges.SubscriptionResult

// SubscriptionDelete answers subscription/delete.
func (h *Handlers) SubscriptionDelete(ctx context.Context, p SubscriptionDeleteParams) (SubscriptionDeleteResult, error) {
	return delivering(ctx, h.api, &p.ChangeSubscription, p.ChangeSubscription.Check, Deliveries.SubscriptionDelete)
}

// SubscriptionReadParams are the params of subscription/read.
type SubscriptionReadParams struct {
	SubscriptionID string `json:"subscription_id"`
	Extra
}

// SubscriptionReadResult answers subscription/read, also about a deleted one.
type SubscriptionReadResult struct {
	Subscription bridges.SubscriptionView `json:"subscription"`
	LatestSeq    int64                    `json:"latest_seq"`
}

// SubscriptionRead answers subscription/read.
func (h *Handlers) SubscriptionRead(ctx context.Context, p SubscriptionReadParams) (r SubscriptionReadResult, err error) {
	in, err := h.api.deliveries()
	if err != nil {
		return r, err
	}
	r.Subscription, r.LatestSeq, err = in.Subscription(ctx, p.SubscriptionID)
	return r, err
}

// SubscriptionListParams are the params of subscription/list.
type SubscriptionListParams struct {
	BridgeID       string `json:"bridge_id,omitzero"`
	ThreadID       string `json:"thread_id,omitzero"`
	IncludeDeleted bool   `json:"include_deleted,omitzero"`
	IncludeEnded   bool   `json:"include_ended,omitzero"` // those of one turn that is over
	Page
	Extra
}

// SubscriptionListResult answers subscription/list. Only a page without NextCursor is
// the last.
type SubscriptionListResult struct {
	Subscriptions []bridges.SubscriptionView `json:"subscriptions"`
	NextCursor    string                     `json:"next_cursor,omitzero"`
	LatestSeq     int64                      `json:"latest_seq"`
}

// SubscriptionList answers subscription/list.
func (h *Handlers) SubscriptionList(ctx context.Context, p SubscriptionListParams) (r SubscriptionListResult, err error) {
	in, err := h.api.deliveries()
	if err != nil {
		return r, err
	}
	limit, err := p.Page.limit()
	if err != nil {
		return r, err
	}
	list, next, latest, err := in.Subscriptions(ctx, bridges.SubscriptionQuery{
		BridgeID: p.BridgeID, ThreadID: p.ThreadID, IncludeDeleted: p.IncludeDeleted, IncludeEnded: p.IncludeEnded, Cursor: p.Page.Cursor, Newest: p.Order == OrderDesc, Limit: limit,
	})
	return SubscriptionListResult{append([]bridges.SubscriptionView{}, list...), next, latest}, err
}

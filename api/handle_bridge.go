package api

import (
	"context"

	"github.com/seed82539d15/holon/bridges"
)

// BridgeCreateParams are the params of bridge/create.
type BridgeCreateParams struct {
	bridges.CreateBridge
	Keyed
	Extra
}

// BridgeCreateResult answers bridge/create. Secret is in the first answer only, and
// only if the server has made it.
type BridgeCreateResult = bridges.BridgeResult

// BridgeCreate answers bridge/create.
func (h *Handlers) BridgeCreate(ctx context.Context, p BridgeCreateParams) (BridgeCreateResult, error) {
	return delivering(ctx, h.api, &p.CreateBridge, p.CreateBridge.Check, Deliveries.BridgeCreate)
}

// BridgeUpdateParams are the params of bridge/update.
type BridgeUpdateParams struct {
	bridges.UpdateBridge
	Keyed
	Extra
}

// BridgeUpdateResult answers bridge/update.
type BridgeUpdateResult = bridges.BridgeResult

// BridgeUpdate answers bridge/update.
func (h *Handlers) BridgeUpdate(ctx context.Context, p BridgeUpdateParams) (BridgeUpdateResult, error) {
	return delivering(ctx, h.api, &p.UpdateBridge, p.UpdateBridge.Check, Deliveries.BridgeUpdate)
}

// BridgePauseParams are the params of bridge/pause.
type BridgePauseParams struct {
	bridges.ChangeBridge
	Keyed
	Extra
}

// BridgePauseResult answers bridge/pause.
type BridgePauseResult = bridges.BridgeResult

// BridgePause answers bridge/pause.
func (h *Handlers) BridgePause(ctx context.Context, p BridgePauseParams) (BridgePauseResult, error) {
	return delivering(ctx, h.api, &p.ChangeBridge, p.ChangeBridge.Check, Deliveries.BridgePause)
}

// BridgeResumeParams are the params of bridge/resume.
type BridgeResumeParams struct {
	bridges.ChangeBridge
	Keyed
	Extra
}

// BridgeResumeResult answers bridge/resume.
type BridgeResumeResult = bridges.BridgeResult

// BridgeResume answers bridge/resume.
func (h *Handlers) BridgeResume(ctx context.Context, p BridgeResumeParams) (BridgeResumeResult, error) {
	return delivering(ctx, h.api, &p.ChangeBridge, p.ChangeBridge.Check, Deliveries.BridgeResume)
}

// BridgeRotateSecretParams are the params of bridge/rotate_secret.
type BridgeRotateSecretParams struct {
	bridges.RotateSecret
	Keyed
	Extra
}

// BridgeRotateSecretResult answers bridge/rotate_secret; Secret as in
// BridgeCreateResult.
type BridgeRotateSecretResult = bridges.BridgeResult

// BridgeRotateSecret answers bridge/rotate_secret.
func (h *Handlers) BridgeRotateSecret(ctx context.Context, p BridgeRotateSecretParams) (BridgeRotateSecretResult, error) {
	return delivering(ctx, h.api, &p.RotateSecret, nil, Deliveries.BridgeRotate)
}

// BridgeDeleteParams are the params of bridge/delete.
type BridgeDeleteParams struct {
	bridges.DeleteBridge
	Keyed
	Extra
}

// BridgeDeleteResult answers bridge/delete with the bridge as it was.
type BridgeDeleteResult = bridges.BridgeResult

// BridgeDelete answers bridge/delete.
func (h *Handlers) BridgeDelete(ctx context.Context, p BridgeDeleteParams) (BridgeDeleteResult, error) {
	return delivering(ctx, h.api, &p.DeleteBridge, nil, Deliveries.BridgeDelete)
}

// BridgeTestParams are the params of bridge/test.
type BridgeTestParams struct {
	BridgeID string         `json:"bridge_id"`
	Target   bridges.Target `json:"target,omitzero"`
	Extra
}

// BridgeTestResult answers bridge/test.
type BridgeTestResult = bridges.TestResult

// BridgeTest answers bridge/test.
func (h *Handlers) BridgeTest(ctx context.Context, p BridgeTestParams) (BridgeTestResult, error) {
	in, err := h.api.deliveries()
	if err != nil {
		return BridgeTestResult{}, err
	}
	return in.BridgeTest(ctx, p.BridgeID, p.Target)
}

// BridgeReadParams are the params of bridge/read.
type BridgeReadParams struct {
	BridgeID string `json:"bridge_id"`
	Extra
}

// BridgeReadResult answers bridge/read.
type BridgeReadResult struct {
	Bridge    bridges.Bridge `json:"bridge"`
	LatestSeq int64          `json:"latest_seq"`
}

// BridgeRead answers bridge/read.
func (h *Handlers) BridgeRead(_ context.Context, p BridgeReadParams) (r BridgeReadResult, err error) {
	in, err := h.api.deliveries()
	if err != nil {
		return r, err
	}
	r.Bridge, r.LatestSeq, err = in.Bridge(p.BridgeID)
	return r, err
}

// BridgeListParams are the params of bridge/list.
type BridgeListParams struct {
	Page
	Extra
}

// BridgeListResult answers bridge/list.
type BridgeListResult struct {
	Bridges    []bridges.Bridge `json:"bridges"`
	NextCursor string           `json:"next_cursor,omitzero"`
	LatestSeq  int64            `json:"latest_seq"`
}

// BridgeList answers bridge/list.
func (h *Handlers) BridgeList(_ context.Context, p BridgeListParams) (r BridgeListResult, err error) {
	in, err := h.api.deliveries()
	if err != nil {
		return r, err
	}
	limit, err := p.Page.limit()
	if err != nil {
		return r, err
	}
	list, next, latest := in.Bridges(bridges.BridgeQuery{Cursor: p.Cursor, Descending: p.Order == OrderDesc, Limit: limit})
	return BridgeListResult{append([]bridges.Bridge{}, list...), next, latest}, nil
}

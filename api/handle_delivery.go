package api

import (
	"context"

	"github.com/seed82539d15/holon/bridges"
)

// DeliveryRedeliverParams are the params of delivery/redeliver.
type DeliveryRedeliverParams struct {
	DeliveryID string `json:"delivery_id"`
	Keyed
	Extra
}

// DeliveryRedeliverResult answers delivery/redeliver.
type DeliveryRedeliverResult = bridges.RedeliverResult

// DeliveryRedeliver answers delivery/redeliver.
func (h *Handlers) DeliveryRedeliver(ctx context.Context, p DeliveryRedeliverParams) (DeliveryRedeliverResult, error) {
	in, err := h.api.deliveries()
	if err != nil {
		return DeliveryRedeliverResult{}, err
	}
	return in.Redeliver(ctx, p.DeliveryID, p.key)
}

// DeliveryReadParams are the params of delivery/read.
type DeliveryReadParams struct {
	DeliveryID string `json:"delivery_id"`
	Extra
}

// DeliveryReadResult answers delivery/read, with the attempts.
type DeliveryReadResult struct {
	Delivery  bridges.Delivery `json:"delivery"`
	LatestSeq int64            `json:"latest_seq"`
}

// DeliveryRead answers delivery/read.
func (h *Handlers) DeliveryRead(ctx context.Context, p DeliveryReadParams) (r DeliveryReadResult, err error) {
	in, err := h.api.deliveries()
	if err != nil {
		return r, err
	}
	r.Delivery, r.LatestSeq, err = in.Delivery(ctx, p.DeliveryID)
	return r, err
}

// DeliveryListParams are the params of delivery/list.
type DeliveryListParams struct {
	SubscriptionID string                `json:"subscription_id,omitzero"`
	BridgeID       string                `json:"bridge_id,omitzero"`
	State          bridges.DeliveryState `json:"state,omitzero"`
	Page
	Extra
}

// DeliveryListResult answers delivery/list, without attempts. Only a page without
// NextCursor is the last.
type DeliveryListResult struct {
	Deliveries []bridges.Delivery `json:"deliveries"`
	NextCursor string             `json:"next_cursor,omitzero"`
	LatestSeq  int64              `json:"latest_seq"`
}

// DeliveryList answers delivery/list.
func (h *Handlers) DeliveryList(ctx context.Context, p DeliveryListParams) (r DeliveryListResult, err error) {
	in, err := h.api.deliveries()
	if err != nil {
		return r, err
	}
	limit, err := p.Page.limit()
	if err != nil {
		return r, err
	}
	if err := oneOf("state", p.State, bridges.DeliveryStates); err != nil {
		return r, err
	}
	list, next, latest, err := in.Deliveries(ctx, bridges.DeliveryQuery{
		SubscriptionID: p.SubscriptionID, BridgeID: p.BridgeID, State: p.State, Cursor: p.Page.Cursor, Oldest: p.Order != OrderDesc, Limit: limit,
	})
	return DeliveryListResult{append([]bridges.Delivery{}, list...), next, latest}, err
}

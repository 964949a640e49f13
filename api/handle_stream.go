package api

import (
	"context"
)

// StreamSubscribeParams are the params of stream/subscribe. Without after_seq the
// subscription starts after the cursor of the consumer; without both it is live,
// from now on.
type StreamSubscribeParams struct {
	AfterSeq  *int64        `json:"after_seq,omitzero"`
	Consumer  *string       `json:"consumer,omitzero"`
	LogID     string        `json:"log_id,omitzero"`
	ThreadIDs []string      `json:"thread_ids,omitzero"`
	Within    []string      `json:"within_thread_ids,omitzero"`
	Methods   []string      `json:"methods,omitzero"`
	Collapse  Collapse      `json:"collapse,omitzero"`
	Content   StreamContent `json:"content,omitzero"`
	Whole     []string      `json:"whole_thread_ids,omitzero"`
	Extra
}

// StreamSubscribeResult answers stream/subscribe. AsOfSeq is present with
// collapse: what is superseded as of it is left out, and later in the stream
// also what is superseded as of a later seq.
type StreamSubscribeResult struct {
	AfterSeq  int64  `json:"after_seq"`
	LatestSeq int64  `json:"latest_seq"`
	LogID     string `json:"log_id"`
	AsOfSeq   *int64 `json:"as_of_seq,omitzero"`
}

// StreamSubscribe answers stream/subscribe.
func (h *Handlers) StreamSubscribe(ctx context.Context, p StreamSubscribeParams) (StreamSubscribeResult, error) {
	collapse, err := p.Collapse.Asked()
	if err != nil {
		return StreamSubscribeResult{}, err
	}
	summary, err := p.Content.Asked()
	if err != nil {
		return StreamSubscribeResult{}, err
	}
	filter, err := FilterOf(p.ThreadIDs, p.Methods)
	if err != nil {
		return StreamSubscribeResult{}, err
	}
	if err := CheckWithin(p.Within); err != nil {
		return StreamSubscribeResult{}, err
	}
	if err := CheckWhole(p.Whole, summary); err != nil {
		return StreamSubscribeResult{}, err
	}
	start := StreamStart{LogID: p.LogID, Filter: filter, Within: p.Within, Collapse: collapse, Summary: summary, Whole: p.Whole}
	if p.AfterSeq != nil {
		if *p.AfterSeq < 0 {
			return StreamSubscribeResult{}, InvalidCursor("after_seq", "a seq is not negative")
		}
		start.After, start.Given = *p.AfterSeq, true
	}
	if p.Consumer != nil {
		if start.Consumer, err = ConsumerOf(*p.Consumer); err != nil {
			return StreamSubscribeResult{}, err
		}
	}
	at, err := h.api.ResolveStart(ctx, &start)
	if err != nil {
		return StreamSubscribeResult{}, err
	}
	connOf(ctx).Subscribe(&start)
	return StreamSubscribeResult{AfterSeq: start.After, LatestSeq: at.Latest, LogID: at.LogID, AsOfSeq: start.AsOfSeq()}, nil
}

// StreamUnsubscribeParams are the params of stream/unsubscribe: none of its
// own.
type StreamUnsubscribeParams struct{ Extra }

// StreamUnsubscribeResult answers stream/unsubscribe: the position at which the
// subscription ended, a cursor to resume from.
type StreamUnsubscribeResult struct {
	AfterSeq  int64  `json:"after_seq"`
	LatestSeq int64  `json:"latest_seq"`
	LogID     string `json:"log_id"`
}

// StreamUnsubscribe answers stream/unsubscribe.
func (h *Handlers) StreamUnsubscribe(ctx context.Context, _ StreamUnsubscribeParams) (StreamUnsubscribeResult, error) {
	after := connOf(ctx).Unsubscribe()
	return StreamUnsubscribeResult{AfterSeq: after, LatestSeq: max(h.api.Head(), after), LogID: h.api.LogID}, nil
}

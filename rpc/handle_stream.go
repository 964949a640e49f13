package rpc

import (
	"context"

	"github.com/seed82539d15/holon/notify"
)

// StreamSubscribeParams are the params of stream/subscribe. Without after_seq
// the subscription is live, from now on.
type StreamSubscribeParams struct {
	AfterSeq  *int64   `json:"after_seq,omitzero"`
	LogID     string   `json:"log_id,omitzero"`
	ThreadIDs []string `json:"thread_ids,omitzero"`
	Methods   []string `json:"methods,omitzero"`
	Collapse  Collapse `json:"collapse,omitzero"`
	Extra
}

// StreamSubscribeResult answers stream/subscribe. AsOfSeq is there with
// collapse: what stands no longer as of it is left out, and as the stream goes
// on what stands no longer as of a later seq.
type StreamSubscribeResult struct {
	AfterSeq  int64  `json:"after_seq"`
	LatestSeq int64  `json:"latest_seq"`
	LogID     string `json:"log_id"`
	AsOfSeq   *int64 `json:"as_of_seq,omitzero"`
}

// StreamSubscribe answers stream/subscribe.
func (h *Handlers) StreamSubscribe(ctx context.Context, p StreamSubscribeParams) (StreamSubscribeResult, error) {
	collapse, err := p.Collapse.asked()
	if err != nil {
		return StreamSubscribeResult{}, err
	}
	filter, err := filterOf(p.ThreadIDs, p.Methods)
	if err != nil {
		return StreamSubscribeResult{}, err
	}
	start := start{logID: p.LogID, filter: filter, collapse: collapse}
	if p.AfterSeq != nil {
		if *p.AfterSeq < 0 {
			return StreamSubscribeResult{}, invalidCursor("after_seq", "a seq is not negative")
		}
		start.after, start.given = *p.AfterSeq, true
	}
	at, err := h.server.place(ctx, &start)
	if err != nil {
		return StreamSubscribeResult{}, err
	}
	sessionOf(ctx).replace(h.server.cursor(&start), start.after)
	return StreamSubscribeResult{AfterSeq: start.after, LatestSeq: at.Latest, LogID: at.LogID, AsOfSeq: start.asOfSeq()}, nil
}

// StreamUnsubscribeParams are the params of stream/unsubscribe: none of its
// own.
type StreamUnsubscribeParams struct{ Extra }

// StreamUnsubscribeResult answers stream/unsubscribe: where the subscription
// ended, a cursor to come back with.
type StreamUnsubscribeResult struct {
	AfterSeq  int64  `json:"after_seq"`
	LatestSeq int64  `json:"latest_seq"`
	LogID     string `json:"log_id"`
}

// StreamUnsubscribe answers stream/unsubscribe.
func (h *Handlers) StreamUnsubscribe(ctx context.Context, _ StreamUnsubscribeParams) (StreamUnsubscribeResult, error) {
	after := sessionOf(ctx).unsubscribe()
	return StreamUnsubscribeResult{AfterSeq: after, LatestSeq: max(h.server.cfg.Tail.Head(), after), LogID: h.server.cfg.LogID}, nil
}

// cursor makes the cursor of a subscription that place has checked.
func (s *Server) cursor(at *start) *notify.Cursor {
	c := notify.NewCursor(s.cfg.Tail, s.cfg.Reader, at.filter, at.after)
	if at.collapse {
		c.Collapse()
	}
	return c
}

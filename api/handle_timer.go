package api

import (
	"context"

	"github.com/seed82539d15/holon/inbox"
)

// TimerCreateParams are the params of timer/create.
type TimerCreateParams struct {
	inbox.CreateTimer
	Keyed
	Extra
}

// TimerCreateResult answers timer/create.
type TimerCreateResult = inbox.TimerResult

// TimerCreate answers timer/create.
func (h *Handlers) TimerCreate(ctx context.Context, p TimerCreateParams) (TimerCreateResult, error) {
	return change(h, ctx, p.CreateTimer, p.CreateTimer.Check, Inboxes.CreateTimer)
}

// TimerListParams are the params of timer/list.
type TimerListParams struct {
	ThreadID string `json:"thread_id"`
	Extra
}

// TimerListResult answers timer/list with all timers of the thread.
type TimerListResult struct {
	Timers    []inbox.Timer `json:"timers"`
	LatestSeq int64         `json:"latest_seq"`
}

// TimerList answers timer/list. The timers are read after LatestSeq, so a client
// that follows the log after it misses none of their changes.
func (h *Handlers) TimerList(ctx context.Context, p TimerListParams) (TimerListResult, error) {
	s, err := h.inboxOf(ctx, p.ThreadID)
	if err != nil {
		return TimerListResult{}, err
	}
	list, err := h.api.InboxReader.ListTimers(ctx, p.ThreadID)
	return TimerListResult{Timers: list, LatestSeq: s.Latest}, err
}

// TimerDeleteParams are the params of timer/delete.
type TimerDeleteParams struct {
	inbox.DeleteTimer
	Keyed
	Extra
}

// TimerDeleteResult answers timer/delete.
type TimerDeleteResult = inbox.DeleteTimerResult

// TimerDelete answers timer/delete.
func (h *Handlers) TimerDelete(ctx context.Context, p TimerDeleteParams) (TimerDeleteResult, error) {
	return change(h, ctx, p.DeleteTimer, nil, Inboxes.DeleteTimer)
}

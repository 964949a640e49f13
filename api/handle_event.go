package api

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/notify"
)

// Collapse says what to leave out for a reader; "" leaves out nothing.
type Collapse string

// CollapseSuperseded leaves out superseded events and turn/late. It never
// leaves out markers (stream/rewind).
const CollapseSuperseded Collapse = "superseded"

// collapses are the values of Collapse, as capabilities list them.
var collapses = []Collapse{CollapseSuperseded}

// Asked reports whether anything is to be left out.
func (c Collapse) Asked() (bool, error) {
	return c != "", oneOf("collapse", c, collapses)
}

// StreamContent says how much of events a reader gets; "" is all.
type StreamContent string

// StreamSummary leaves out item/delta, and most of the contents of other events: see
// notify.AppendSummary.
const StreamSummary StreamContent = "summary"

// streamContents are the values of StreamContent, as capabilities list them.
var streamContents = []StreamContent{StreamSummary}

// Asked reports whether summaries are asked for.
func (c StreamContent) Asked() (bool, error) {
	return c != "", oneOf("content", c, streamContents)
}

// EventListParams are the params of event/list.
type EventListParams struct {
	AfterSeq *int64        `json:"after_seq"`
	Limit    *int          `json:"limit,omitzero"`
	ThreadID string        `json:"thread_id,omitzero"`
	Within   []string      `json:"within_thread_ids,omitzero"`
	Methods  []string      `json:"methods,omitzero"`
	Collapse Collapse      `json:"collapse,omitzero"`
	Content  StreamContent `json:"content,omitzero"`
	Whole    []string      `json:"whole_thread_ids,omitzero"`
	Extra
}

// EventListResult answers event/list. NextAfterSeq is the last seq that was
// looked at: a page may be empty and have more after it. AsOfSeq is present
// with collapse: what is superseded as of it is left out.
type EventListResult struct {
	Events       []ListedEvent `json:"events"`
	NextAfterSeq int64         `json:"next_after_seq"`
	LatestSeq    int64         `json:"latest_seq"`
	HasMore      bool          `json:"has_more"`
	AsOfSeq      *int64        `json:"as_of_seq,omitzero"`
}

// ListedEvent is one event of event/list. Params are the params that a stream
// sends.
type ListedEvent struct {
	Seq    int64          `json:"seq"`
	Time   notify.Time    `json:"time"`
	Method string         `json:"method"`
	Params jsontext.Value `json:"params"`
}

// EventList answers event/list.
func (h *Handlers) EventList(ctx context.Context, p EventListParams) (EventListResult, error) {
	limit, err := limitOf(p.Limit)
	if err != nil {
		return EventListResult{}, err
	}
	collapse, err := p.Collapse.Asked()
	if err != nil {
		return EventListResult{}, err
	}
	summary, err := p.Content.Asked()
	if err != nil {
		return EventListResult{}, err
	}
	if *p.AfterSeq < 0 {
		return EventListResult{}, InvalidCursor("after_seq", "a seq is not negative")
	}
	filter, err := FilterOf(nil, p.Methods)
	if err != nil {
		return EventListResult{}, err
	}
	if p.ThreadID != "" {
		filter.ThreadIDs = []string{p.ThreadID}
	}
	if err := CheckWithin(p.Within); err != nil {
		return EventListResult{}, err
	}
	if err := CheckWhole(p.Whole, summary); err != nil {
		return EventListResult{}, err
	}
	if err := h.api.narrow(ctx, &filter, p.Within, p.Whole, "thread_id"); err != nil {
		return EventListResult{}, err
	}
	page, err := h.api.Reader.Page(ctx, notify.Query{
		After: *p.AfterSeq, Filter: filter, MaxEvents: limit, MaxBytes: maxPageBytes, Collapse: collapse, Summary: summary, Whole: p.Whole,
	})
	if err != nil {
		return EventListResult{}, err
	}
	if err := page.KeepWithin(ctx, filter.Within); err != nil {
		return EventListResult{}, err
	}
	if summary {
		if err := page.Summarize(p.Whole...); err != nil {
			return EventListResult{}, err
		}
	}
	at := Position{LogID: h.api.LogID, First: page.First, Latest: page.Latest}
	if err := checkPosition(*p.AfterSeq, at); err != nil {
		return EventListResult{}, err
	}
	r := EventListResult{
		Events: make([]ListedEvent, len(page.Events)), NextAfterSeq: max(page.Scanned, *p.AfterSeq),
		LatestSeq: page.Latest, HasMore: page.More,
	}
	if collapse {
		r.AsOfSeq = &page.AsOf
	}
	for i := range page.Events {
		e := &page.Events[i]
		r.Events[i] = ListedEvent{Seq: e.Seq, Time: e.Time, Method: e.Method, Params: e.Params}
	}
	return r, nil
}

// FilterOf checks the filter of a subscription.
func FilterOf(threadIDs, methods []string) (notify.Filter, error) {
	if err := checkThreadIDs("thread_ids", threadIDs); err != nil {
		return notify.Filter{}, err
	}
	for i, m := range methods {
		if !notify.ValidMethod(m) {
			return notify.Filter{}, Invalid(indexed("methods", i), "malformed", "%.64q is neither a notification nor a kind such as item/*", m)
		}
	}
	if len(methods) > maxFilterEntries {
		return notify.Filter{}, Invalid("methods", "too_many", "at most %d", maxFilterEntries)
	}
	return notify.Filter{ThreadIDs: threadIDs, Methods: methods}, nil
}

// CheckWithin checks within_thread_ids. A thread need not exist yet, as in thread_ids.
func CheckWithin(ids []string) error { return checkThreadIDs("within_thread_ids", ids) }

// CheckWhole checks whole_thread_ids. A thread need not exist yet, as in thread_ids.
func CheckWhole(ids []string, summary bool) error {
	const field = "whole_thread_ids"
	if len(ids) > 0 && !summary {
		return Invalid(field, "not_summary", "only with content %s: without it all events come whole", StreamSummary)
	}
	return checkThreadIDs(field, ids)
}

func checkThreadIDs(field string, ids []string) error {
	for i, id := range ids {
		if id == "" || len(id) > 128 {
			return Invalid(indexed(field, i), "malformed", "this is no thread id")
		}
	}
	if len(ids) > maxFilterEntries {
		return Invalid(field, "too_many", "at most %d", maxFilterEntries)
	}
	return nil
}

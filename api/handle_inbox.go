package api

import (
	"context"
	"fmt"
	"slices"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/internal/events"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// inboxes returns the Inboxes of the server, or an error if it has none.
func (h *Handlers) inboxes() (Inboxes, error) {
	if h.api.Inboxes == nil {
		return nil, Errorf(KindUnavailable, "this server has no inboxes")
	}
	return h.api.Inboxes, nil
}

// inboxOf returns the thread of an inbox that is read. A thread that is closed
// can be read too. Errors: threads.ErrNotFound.
func (h *Handlers) inboxOf(ctx context.Context, threadID string) (turns.ThreadSnapshot, error) {
	if _, err := h.inboxes(); err != nil {
		return turns.ThreadSnapshot{}, err
	}
	s, err := h.api.Reader.ReadThread(ctx, threadID, 0)
	if err == nil && s.Thread == nil {
		err = threads.ErrNotFound
	}
	return s, err
}

// isEntry refuses what is no id of an entry. Such an entry is unknown, like one of
// another inbox.
func isEntry(field string, id notify.ID) error {
	if _, ok := id.Seq(inbox.EntryPrefix); ok {
		return nil
	}
	return &inbox.FieldError{Field: field, Err: inbox.ErrEntryNotFound}
}

// isItem refuses what is no id of an item, as isEntry does.
func isItem(field string, id notify.ID) error {
	if _, ok := id.Seq(inbox.RawPrefix); ok {
		return nil
	}
	return &inbox.FieldError{Field: field, Err: inbox.ErrItemNotFound}
}

// isAfter refuses a position in a list that is no id of what it lists.
func isAfter(field, prefix string, id notify.ID) error {
	if _, ok := id.Seq(prefix); ok || id == "" {
		return nil
	}
	return Invalid(field, turns.ReasonInvalid, "must be an id such as %s42", prefix)
}

// InboxIngestParams are the params of inbox/ingest.
type InboxIngestParams struct {
	inbox.Ingest
	Keyed
	Extra
}

// InboxIngestResult answers inbox/ingest.
type InboxIngestResult = inbox.IngestResult

// InboxIngest answers inbox/ingest.
func (h *Handlers) InboxIngest(ctx context.Context, p InboxIngestParams) (InboxIngestResult, error) {
	for i := range p.Items {
		p.Items[i].Payload = inbox.Minimal(nilIfNull(p.Items[i].Payload))
		if name := p.Items[i].Source; h.hasSource(name) {
			return InboxIngestResult{}, Invalid(fmt.Sprintf("items[%d].source", i), turns.ReasonInvalid, "the source %s is configured: only its webhooks have this name", name)
		}
	}
	return change(h, ctx, p.Ingest, p.Ingest.Check, Inboxes.Ingest)
}

// change checks a command and gives it to the engine. check is nil if there is
// nothing to check.
func change[C, R any](h *Handlers, ctx context.Context, c C, check func() error, do func(Inboxes, context.Context, C) (R, error)) (r R, err error) {
	in, err := h.inboxes()
	if err != nil {
		return r, err
	}
	if check != nil {
		if err := check(); err != nil {
			return r, err
		}
	}
	return do(in, ctx, c)
}

// InboxSendParams are the params of inbox/send. Sender is a name of one line.
type InboxSendParams struct {
	inbox.Send
	Keyed
	Extra
}

// InboxSendResult answers inbox/send.
type InboxSendResult = inbox.SendResult

// InboxSend answers inbox/send.
func (h *Handlers) InboxSend(ctx context.Context, p InboxSendParams) (InboxSendResult, error) {
	return change(h, ctx, p.Send, p.Send.Check, Inboxes.Send)
}

// InboxConfigureParams are the params of inbox/configure.
type InboxConfigureParams struct {
	inbox.Configure
	Keyed
	Extra
}

// InboxConfigureResult answers inbox/configure with the policy in force.
type InboxConfigureResult = inbox.ConfigureResult

// InboxConfigure answers inbox/configure.
func (h *Handlers) InboxConfigure(ctx context.Context, p InboxConfigureParams) (InboxConfigureResult, error) {
	return change(h, ctx, p.Configure, p.Configure.Check, Inboxes.Configure)
}

// InboxReadParams are the params of inbox/read. Limit is 100 if absent. With IncludeItemIDs each
// entry has item_ids.
type InboxReadParams struct {
	ThreadID          string    `json:"thread_id"`
	AfterEntryID      notify.ID `json:"after_entry_id,omitzero"`
	IncludeAcked      bool      `json:"include_acked,omitzero"`
	IncludeSuperseded bool      `json:"include_superseded,omitzero"`
	IncludeItemIDs    bool      `json:"include_item_ids,omitzero"`
	Limit             *int      `json:"limit,omitzero"`
	Order             Order     `json:"order,omitzero"`
	Extra
}

// InboxReadResult answers inbox/read. UnackedEntries are the visible ones of the
// whole inbox. Only a page without NextAfterEntryID is the last.
type InboxReadResult struct {
	Entries          []inbox.Entry `json:"entries"`
	AsOfSeq          int64         `json:"as_of_seq"`
	NextAfterEntryID notify.ID     `json:"next_after_entry_id,omitzero"`
	UnackedEntries   int           `json:"unacked_entries"`
	PendingItems     int           `json:"pending_items"`
}

// InboxRead answers inbox/read.
func (h *Handlers) InboxRead(ctx context.Context, p InboxReadParams) (InboxReadResult, error) {
	limit, err := Page{Limit: p.Limit, Order: p.Order}.limit()
	if err != nil {
		return InboxReadResult{}, err
	}
	if err := isAfter("after_entry_id", inbox.EntryPrefix, p.AfterEntryID); err != nil {
		return InboxReadResult{}, err
	}
	if _, err := h.inboxOf(ctx, p.ThreadID); err != nil {
		return InboxReadResult{}, err
	}
	page, err := h.api.InboxReader.ReadInbox(ctx, inbox.Read{
		ThreadID: p.ThreadID, AfterEntryID: p.AfterEntryID, IncludeAcked: p.IncludeAcked, IncludeSuperseded: p.IncludeSuperseded,
		IncludeItemIDs: p.IncludeItemIDs, Limit: limit, Newest: p.Order == OrderDesc,
	})
	return InboxReadResult{
		Entries: page.Entries, AsOfSeq: page.Latest, NextAfterEntryID: page.Next,
		UnackedEntries: page.UnackedEntries, PendingItems: page.PendingItems,
	}, err
}

// InboxExpandParams are the params of inbox/expand. Limit is 100 if absent.
type InboxExpandParams struct {
	ThreadID   string    `json:"thread_id"`
	EntryID    notify.ID `json:"entry_id"`
	AfterRawID notify.ID `json:"after_raw_id,omitzero"`
	Limit      *int      `json:"limit,omitzero"`
	Extra
}

// InboxExpandResult answers inbox/expand. Only a page without NextAfterRawID is
// the last.
type InboxExpandResult struct {
	Items          []inbox.RawItem `json:"items"`
	NextAfterRawID notify.ID       `json:"next_after_raw_id,omitzero"`
	AsOfSeq        int64           `json:"as_of_seq"`
}

// InboxExpand answers inbox/expand, also for an entry that is acknowledged or
// superseded.
func (h *Handlers) InboxExpand(ctx context.Context, p InboxExpandParams) (InboxExpandResult, error) {
	limit, err := limitOf(p.Limit)
	if err != nil {
		return InboxExpandResult{}, err
	}
	if err := isAfter("after_raw_id", inbox.RawPrefix, p.AfterRawID); err != nil {
		return InboxExpandResult{}, err
	}
	if _, err := h.inboxOf(ctx, p.ThreadID); err != nil {
		return InboxExpandResult{}, err
	}
	if err := isEntry("entry_id", p.EntryID); err != nil {
		return InboxExpandResult{}, err
	}
	page, err := h.api.InboxReader.ExpandEntry(ctx, inbox.Expand{ThreadID: p.ThreadID, EntryID: p.EntryID, AfterRawID: p.AfterRawID, Limit: limit})
	return InboxExpandResult{Items: page.Items, NextAfterRawID: page.Next, AsOfSeq: page.Latest}, err
}

// InboxItemsParams are the params of inbox/items. Unlike other lists it has the newest first;
// with order asc, the oldest.
type InboxItemsParams struct {
	ThreadID string          `json:"thread_id"`
	State    inbox.ItemState `json:"state,omitzero"`
	Source   string          `json:"source,omitzero"`
	DigestID notify.ID       `json:"digest_id,omitzero"`
	Page
	Extra
}

// InboxItemsResult answers inbox/items. Only a page without NextCursor is the last: one that has
// looked at many items may have few, or none.
type InboxItemsResult struct {
	Items      []inbox.RawItem `json:"items"`
	NextCursor string          `json:"next_cursor,omitzero"`
	LatestSeq  int64           `json:"latest_seq"`
}

// InboxItems answers inbox/items.
func (h *Handlers) InboxItems(ctx context.Context, p InboxItemsParams) (InboxItemsResult, error) {
	limit, err := p.limit()
	if err != nil {
		return InboxItemsResult{}, err
	}
	if err := oneOf("state", p.State, inbox.ItemStates); err != nil {
		return InboxItemsResult{}, err
	}
	if _, err := h.inboxOf(ctx, p.ThreadID); err != nil {
		return InboxItemsResult{}, err
	}
	page, err := h.api.InboxReader.InboxItems(ctx, inbox.ItemQuery{
		ThreadID: p.ThreadID, State: p.State, Source: p.Source, DigestID: p.DigestID, Cursor: p.Cursor, Limit: limit, Newest: p.Order != OrderAsc,
	})
	return InboxItemsResult{Items: page.Items, NextCursor: page.Next, LatestSeq: page.Latest}, err
}

// InboxAckParams are the params of inbox/ack.
type InboxAckParams struct {
	inbox.Ack
	Keyed
	Extra
}

// InboxAckResult answers inbox/ack.
type InboxAckResult = inbox.AckResult

// InboxAck answers inbox/ack. An agent acknowledges as a client.
func (h *Handlers) InboxAck(ctx context.Context, p InboxAckParams) (InboxAckResult, error) {
	if _, ok := AgentOf(ctx); ok {
		p.By = inbox.ByClient
	}
	return change(h, ctx, p.Ack, func() error { return h.checkAck(ctx, &p.Ack) }, Inboxes.Ack)
}

// checkAck refuses ids that are none, and a read that cannot have been: nothing
// may be acknowledged that its caller has not seen.
func (h *Handlers) checkAck(ctx context.Context, c *inbox.Ack) error {
	if err := c.Check(); err != nil {
		return err
	}
	for i, id := range c.EntryIDs {
		if err := isEntry(fmt.Sprintf("entry_ids[%d]", i), id); err != nil {
			return err
		}
	}
	for i, id := range c.RawIDs {
		if err := isItem(fmt.Sprintf("raw_ids[%d]", i), id); err != nil {
			return err
		}
	}
	if c.ThroughEntryID != "" {
		return isEntry("through_entry_id", c.ThroughEntryID)
	}
	if c.AsOfSeq == nil {
		return nil
	}
	at, err := h.api.Position(ctx)
	if err == nil && *c.AsOfSeq > at.Latest {
		err = Invalid("as_of_seq", turns.ReasonRange, "is above the newest event of the log, %d", at.Latest)
	}
	return err
}

// InboxFlushParams are the params of inbox/flush. Without DigestID it flushes the
// whole inbox.
type InboxFlushParams struct {
	inbox.FlushNow
	Keyed
	Extra
}

// InboxFlushResult answers inbox/flush with the entries that were posted.
type InboxFlushResult = inbox.EntriesResult

// InboxFlush answers inbox/flush.
func (h *Handlers) InboxFlush(ctx context.Context, p InboxFlushParams) (InboxFlushResult, error) {
	return change(h, ctx, p.FlushNow, func() error {
		if _, ok := p.DigestID.Seq(inbox.DigestPrefix); p.DigestID != "" && !ok {
			return inbox.ErrDigestNotFound
		}
		return nil
	}, Inboxes.Flush)
}

// InboxWakeParams are the params of inbox/wake.
type InboxWakeParams struct {
	inbox.WakeNow
	Keyed
	Extra
}

// InboxWakeResult answers inbox/wake with the entries that are new again.
type InboxWakeResult = inbox.EntriesResult

// InboxWake answers inbox/wake.
func (h *Handlers) InboxWake(ctx context.Context, p InboxWakeParams) (InboxWakeResult, error) {
	return change(h, ctx, p.WakeNow, nil, Inboxes.Wake)
}

// InboxSubscribeParams are the params of inbox/subscribe.
type InboxSubscribeParams struct {
	inbox.Subscribe
	Keyed
	Extra
}

// InboxSubscribeResult answers inbox/subscribe.
type InboxSubscribeResult = inbox.SubscribeResult

// InboxSubscribe answers inbox/subscribe.
func (h *Handlers) InboxSubscribe(ctx context.Context, p InboxSubscribeParams) (InboxSubscribeResult, error) {
	return change(h, ctx, p.Subscribe, func() error {
		if err := p.Subscribe.Check(); err != nil {
			return err
		}
		if p.Source == inbox.SourceEvents {
			return knownMethods(p.Methods)
		}
		if !h.hasSource(p.Source) {
			return Invalid("source", turns.ReasonUnknown, "the server has no source %s: name events, or add [sources.%s] to its configuration", p.Source, p.Source)
		}
		if p.Filter == "" {
			return nil
		}
		return h.api.Sources.CheckFilter(p.Filter)
	}, Inboxes.Subscribe)
}

// knownMethods refuses what no event of a thread is: nothing would ever come.
func knownMethods(methods []string) error {
	for i, m := range methods {
		one := inbox.Subscription{Methods: []string{m}}
		if !slices.ContainsFunc(events.All, func(e ledger.EventType) bool {
			return e.Header != ledger.OfLog && one.Wants("another", e.Method, inbox.EventAbout{Question: true})
		}) {
			return Invalid(fmt.Sprintf("methods[%d]", i), turns.ReasonUnknown, "no event of a thread has the name or kind %.64q", m)
		}
	}
	return nil
}

// hasSource reports whether a source of this name is configured.
func (h *Handlers) hasSource(name string) bool {
	return h.api.Sources != nil && h.api.Sources.Has(name)
}

// InboxUnsubscribeParams are the params of inbox/unsubscribe.
type InboxUnsubscribeParams struct {
	inbox.Unsubscribe
	Keyed
	Extra
}

// InboxUnsubscribeResult answers inbox/unsubscribe.
type InboxUnsubscribeResult = inbox.UnsubscribeResult

// InboxUnsubscribe answers inbox/unsubscribe.
func (h *Handlers) InboxUnsubscribe(ctx context.Context, p InboxUnsubscribeParams) (InboxUnsubscribeResult, error) {
	return change(h, ctx, p.Unsubscribe, nil, Inboxes.Unsubscribe)
}

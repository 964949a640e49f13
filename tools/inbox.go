package tools

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/internal/sanitize"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// The bounds of inbox_read: what a model can read at once.
const (
	maxEntries = 50
	maxItems   = 10
	maxPayload = 8 << 10
)

func (s *Server) addInbox() {
	add(s, tool{
		name:        "inbox_read",
		description: "List the unacknowledged entries of your inbox, oldest first: ends of background work, messages, timers, webhooks. With entry_id: what the entry holds.",
		reads:       true,
	}, s.inboxRead)
	add(s, tool{
		name:        "inbox_ack",
		description: "Acknowledge entries of your inbox that are dealt with: those of entry_ids, or all up to through_entry_id. With raw_ids: single items of entries; the others stay.",
		repeats:     true,
	}, s.inboxAck)
	add(s, tool{
		name:        "inbox_subscribe",
		description: "Let the ends of turns of threads below yours, or their questions to people, arrive in your inbox. Ends of your own child turns arrive anyway.",
	}, s.inboxSubscribe)
	add(s, tool{
		name:        "timer_create",
		description: "Let a text arrive in your inbox: at a time, or every so often.",
		limits:      map[string]bounds{"every_seconds": {least: 60, most: 366 * 24 * 3600}},
	}, s.timerCreate)
	add(s, tool{
		name:        "timer_delete",
		description: "Delete a timer of yours.",
		repeats:     true,
	}, s.timerDelete)
	add(s, tool{
		name:        "message_send",
		description: "Put text into the inbox of the thread that started yours (default) or of a thread below yours.",
	}, s.messageSend)
}

// inboxReadIn are the params of inbox_read.
type inboxReadIn struct {
	EntryID      string `json:"entry_id,omitempty" jsonschema:"read what this entry holds"`
	AfterEntryID string `json:"after_entry_id,omitempty" jsonschema:"list entries after this one"`
	AfterRawID   string `json:"after_raw_id,omitempty" jsonschema:"with entry_id: go on after this item"`
}

func (s *Server) inboxRead(ctx context.Context, r *request, in inboxReadIn) (answer, *api.Error) {
	if in.EntryID != "" {
		return s.readEntry(ctx, r, in)
	}
	limit := maxEntries
	page, raw, refused := call[api.InboxReadResult](ctx, s.Caller, "inbox/read", api.InboxReadParams{
		ThreadID: r.agent.ThreadID, AfterEntryID: notify.ID(in.AfterEntryID), Limit: &limit,
	})
	if refused != nil {
		return answer{}, refused
	}
	if len(page.Entries) == 0 {
		return saying("Your inbox has no unacknowledged entries.\n", raw), nil
	}
	var lines strings.Builder
	for i := range page.Entries {
		e := &page.Entries[i]
		fmt.Fprintf(&lines, "- %s (%s, %d): %s\n", e.EntryID, e.Source, e.Count, sanitize.Line(e.Summary, inbox.MaxSummary))
	}
	text := ""
	if page.NextAfterEntryID != "" {
		text += fmt.Sprintf("There are more: call inbox_read with after_entry_id %s.\n", page.NextAfterEntryID)
	}
	return quoting(lines.String(), text+"inbox_read with entry_id reads an entry; inbox_ack acknowledges what is dealt with.\n", raw), nil
}

// readEntry reads the items of an entry. Payloads that are too long for a model are
// cut.
func (s *Server) readEntry(ctx context.Context, r *request, in inboxReadIn) (answer, *api.Error) {
	limit := maxItems
	page, _, refused := call[api.InboxExpandResult](ctx, s.Caller, "inbox/expand", api.InboxExpandParams{
		ThreadID: r.agent.ThreadID, EntryID: notify.ID(in.EntryID), AfterRawID: notify.ID(in.AfterRawID), Limit: &limit,
	})
	if refused != nil {
		return answer{}, refused
	}
	var body strings.Builder
	for i := range page.Items {
		it := &page.Items[i]
		if len(it.Payload) > maxPayload {
			it.Truncated, it.TotalBytes = true, max(it.TotalBytes, int64(len(it.Payload)))
			cut, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(string(it.Payload[:maxPayload]), "")) // valid by now
			it.Payload = cut
		}
		fmt.Fprintf(&body, "- %s (%s, %s): %s\n", it.RawID, it.Source, it.OccurredAt.UTC().Format("2006-01-02 15:04:05Z"), sanitize.Line(it.Summary, inbox.MaxSummary))
		if text := payloadText(it.Payload); text != "" {
			body.WriteString(text + "\n")
		}
		if it.Truncated {
			fmt.Fprintf(&body, "(cut: it has %d bytes)\n", it.TotalBytes)
		}
	}
	data, err := json.Marshal(page, api.WireOptions)
	if err != nil {
		return answer{}, api.Errorf(api.KindInternal, "")
	}
	text := ""
	if page.NextAfterRawID != "" {
		text += fmt.Sprintf("There are more: call inbox_read with entry_id %s and after_raw_id %s.\n", in.EntryID, page.NextAfterRawID)
	}
	return quoting(body.String(), text+fmt.Sprintf("Call inbox_ack with entry_ids [%q] once it is dealt with.\n", in.EntryID), data), nil
}

// payloadText returns the text of a payload: its text if it is a message, a timer or the
// end of a turn, else the JSON.
func payloadText(payload jsontext.Value) string {
	var p struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(payload, &p) == nil && p.Text != "" {
		return p.Text
	}
	var cut string
	if json.Unmarshal(payload, &cut) == nil {
		return cut
	}
	return string(payload)
}

// inboxAckIn are the params of inbox_ack.
type inboxAckIn struct {
	EntryIDs       []string `json:"entry_ids,omitempty" jsonschema:"these entries"`
	ThroughEntryID string   `json:"through_entry_id,omitempty" jsonschema:"this entry and all before it"`
	RawIDs         []string `json:"raw_ids,omitempty" jsonschema:"these items alone, such as raw_42"`
}

func (s *Server) inboxAck(ctx context.Context, r *request, in inboxAckIn) (answer, *api.Error) {
	ids := func(texts []string) (list []notify.ID) { // nil if there are none
		for _, id := range texts {
			list = append(list, notify.ID(id))
		}
		return list
	}
	a, raw, refused := call[api.InboxAckResult](ctx, s.Caller, "inbox/ack", api.InboxAckParams{
		Ack: inbox.Ack{ThreadID: r.agent.ThreadID, EntryIDs: ids(in.EntryIDs), ThroughEntryID: notify.ID(in.ThroughEntryID), RawIDs: ids(in.RawIDs)},
	})
	if refused != nil {
		return answer{}, refused
	}
	text := fmt.Sprintf("Acknowledged: %d items.", a.AckedItems)
	switch {
	case len(a.RemainderEntryIDs) > 0 && len(in.RawIDs) > 0:
		text += fmt.Sprintf(" The others are in %v.", a.RemainderEntryIDs)
	case len(a.RemainderEntryIDs) > 0:
		text += " More has arrived meanwhile: call inbox_read."
	}
	return saying(text+"\n", raw), nil
}

// inboxSubscribeIn are the params of inbox_subscribe.
type inboxSubscribeIn struct {
	ThreadIDs []string `json:"thread_ids" jsonschema:"threads below yours"`
	Questions bool     `json:"questions,omitempty" jsonschema:"their questions to people too"`
}

func (s *Server) inboxSubscribe(ctx context.Context, r *request, in inboxSubscribeIn) (answer, *api.Error) {
	key, refused := r.key(ctx, "", false)
	if refused != nil {
		return answer{}, refused
	}
	methods := []string{inbox.OnFinal}
	if in.Questions {
		methods = append(methods, inbox.OnQuestions)
	}
	_, raw, refused := call[api.InboxSubscribeResult](ctx, s.Caller, "inbox/subscribe", api.InboxSubscribeParams{
		Subscribe: inbox.Subscribe{ThreadID: r.agent.ThreadID, Source: inbox.SourceEvents, ThreadIDs: in.ThreadIDs, Methods: methods}, Keyed: keyed(key, "subscribe"),
	})
	if refused != nil {
		return answer{}, refused
	}
	return saying("From now on they arrive in your inbox.\n", raw), nil
}

// timerCreateIn are the params of timer_create.
type timerCreateIn struct {
	Text         string `json:"text" jsonschema:"what will arrive"`
	At           string `json:"at,omitempty" jsonschema:"a time, such as 2027-01-31T09:00:00Z"`
	EverySeconds int64  `json:"every_seconds,omitempty" jsonschema:"instead of at: again and again, at least 60"`
}

func (s *Server) timerCreate(ctx context.Context, r *request, in timerCreateIn) (answer, *api.Error) {
	var at notify.Time
	if in.At != "" {
		if err := at.UnmarshalText([]byte(in.At)); err != nil {
			return answer{}, api.Invalid("at", turns.ReasonInvalid, "it must be a time such as 2027-01-31T09:00:00Z")
		}
	}
	key, refused := r.key(ctx, "", false)
	if refused != nil {
		return answer{}, refused
	}
	t, raw, refused := call[api.TimerCreateResult](ctx, s.Caller, "timer/create", api.TimerCreateParams{
		CreateTimer: inbox.CreateTimer{ThreadID: r.agent.ThreadID, At: at, EverySeconds: in.EverySeconds, Text: in.Text}, Keyed: keyed(key, "timer"),
	})
	if refused != nil {
		return answer{}, refused
	}
	return saying(fmt.Sprintf("Timer %s will fire at %s.\n", t.Timer.TimerID, t.Timer.NextAt.UTC().Format("2006-01-02 15:04:05Z")), raw), nil
}

// timerDeleteIn are the params of timer_delete.
type timerDeleteIn struct {
	TimerID string `json:"timer_id"`
}

func (s *Server) timerDelete(ctx context.Context, r *request, in timerDeleteIn) (answer, *api.Error) {
	key, refused := r.key(ctx, "", false)
	if refused != nil {
		return answer{}, refused
	}
	t, raw, refused := call[api.TimerDeleteResult](ctx, s.Caller, "timer/delete", api.TimerDeleteParams{
		DeleteTimer: inbox.DeleteTimer{ThreadID: r.agent.ThreadID, TimerID: in.TimerID}, Keyed: keyed(key, "untimer"),
	})
	if refused != nil {
		return answer{}, refused
	}
	return saying(fmt.Sprintf("Timer %s is deleted.\n", t.TimerID), raw), nil
}

// messageSendIn are the params of message_send.
type messageSendIn struct {
	Text     string `json:"text"`
	ThreadID string `json:"thread_id,omitempty" jsonschema:"a thread below yours; by default the one that started yours"`
}

func (s *Server) messageSend(ctx context.Context, r *request, in messageSendIn) (answer, *api.Error) {
	to := in.ThreadID
	if to == "" {
		t, _, refused := call[api.ThreadReadResult](ctx, s.Caller, "thread/read", api.ThreadReadParams{ThreadID: r.agent.ThreadID})
		if refused != nil {
			return answer{}, refused
		}
		if t.Thread == nil || t.Thread.Level == 0 || t.Thread.Parent == nil {
			return answer{}, api.Invalid("thread_id", turns.ReasonRequired, "no thread has started yours: name one below yours")
		}
		to = t.Thread.Parent.ThreadID
	}
	key, refused := r.key(ctx, "", false)
	if refused != nil {
		return answer{}, refused
	}
	_, raw, refused := call[api.InboxSendResult](ctx, s.Caller, "inbox/send", api.InboxSendParams{
		Send: inbox.Send{ThreadID: to, Text: in.Text}, Keyed: keyed(key, "message"),
	})
	if refused != nil {
		return answer{}, refused
	}
	return saying(fmt.Sprintf("Thread %s has it in its inbox.\n", to), raw), nil
}

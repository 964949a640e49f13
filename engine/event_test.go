package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// event is one frame of the stream, decoded as a client does it.
type event struct {
	Method string `json:"-"`
	raw    jsontext.Value
	span   int64 // of its try; the checker finds it

	Seq              int64           `json:"seq"`
	ThreadSeq        int64           `json:"thread_seq"`
	ThreadID         string          `json:"thread_id"`
	TurnID           string          `json:"turn_id"`
	ItemID           string          `json:"item_id"`
	Attempt          int             `json:"attempt"`
	Step             string          `json:"step"`
	Epoch            int             `json:"epoch"`
	Lineage          []notify.Ref    `json:"lineage"`
	NewEpoch         int             `json:"new_epoch"`
	After            int64           `json:"superseded_after_seq"`
	RetryAt          notify.Time     `json:"retry_at"`
	Timestamp        notify.Time     `json:"timestamp"`
	Type             string          `json:"type"`
	State            string          `json:"state"`
	Status           items.Status    `json:"status"`
	Content          jsontext.Value  `json:"content"`
	Truncated        bool            `json:"truncated"`
	TotalBytes       int64           `json:"total_bytes"`
	Delta            items.DeltaText `json:"delta"`
	Offset           int64           `json:"offset"`
	Position         int             `json:"position"`
	Reason           string          `json:"reason"`
	Message          string          `json:"message"`
	MessageTruncated bool            `json:"message_truncated"`
	Format           items.Format    `json:"format"`
	StopReason       string          `json:"stop_reason"`
	Origin           string          `json:"origin"`
	Error            *turns.Failure  `json:"error"`
	Undelivered      []string        `json:"undelivered_item_ids"`
	ElapsedMs        int64           `json:"elapsed_ms"`
	Until            notify.Time     `json:"until"`
}

func parseEvent(t testing.TB, seq int64, frame []byte) event {
	t.Helper()
	var f struct {
		JSONRPC string         `json:"jsonrpc"`
		Method  string         `json:"method"`
		Params  jsontext.Value `json:"params"`
	}
	if err := json.Unmarshal(frame, &f); err != nil || f.JSONRPC != "2.0" || frame[len(frame)-1] != '\n' {
		t.Fatalf("frame %d: %v: %s", seq, err, frame)
	}
	e := event{Method: f.Method, raw: f.Params.Clone()}
	if err := json.Unmarshal(e.raw, &e); err != nil {
		t.Fatalf("params %d: %v: %s", seq, err, frame)
	}
	if e.Seq != seq {
		t.Fatalf("frame %d says it is %d", seq, e.Seq)
	}
	e.Content = e.Content.Clone()
	return e
}

func (e event) String() string {
	s := fmt.Sprintf("%4d %-16s %s/%d", e.Seq, e.Method, e.ThreadID, e.ThreadSeq)
	for _, r := range e.Lineage {
		s += fmt.Sprintf(" %s.%d", r.Step, r.Epoch)
	}
	for _, v := range []string{e.TurnID, e.ItemID, e.State, string(e.Status), e.Reason, e.Message, e.Delta.Text} {
		if v != "" {
			s += " " + v[max(0, len(v)-40):]
		}
	}
	if len(e.Content) > 0 {
		s += " " + string(e.Content[:min(len(e.Content), 120)])
	}
	return s
}

func list(all []event) string {
	var b strings.Builder
	for _, e := range all[max(0, len(all)-60):] {
		b.WriteString(e.String() + "\n")
	}
	return b.String()
}

func terminal(method string) bool {
	return method == notify.TurnCompleted || method == notify.TurnInterrupted || method == notify.TurnFailed
}

// header is what the event is folded with.
func (e event) header() notify.Header {
	return notify.Header{
		Seq: e.Seq, ThreadSeq: e.ThreadSeq, ThreadID: e.ThreadID, TurnID: e.TurnID, Attempt: e.Attempt, Timestamp: e.Timestamp,
		Step: e.Step, Epoch: e.Epoch, Lineage: e.Lineage, Span: e.span,
	}
}

// body decodes params as what Apply takes.
func (e event) body(t testing.TB) any {
	t.Helper()
	var b any
	switch e.Method {
	case notify.ThreadStarted, notify.ThreadResumed, notify.ThreadPaused, notify.ThreadClosed:
		b = &threads.Changed{}
	case notify.ThreadUpdated:
		b = &threads.Updated{}
	case notify.TurnQueued:
		b = &turns.QueuedEvent{}
	case notify.TurnStarted:
		b = &turns.StartedEvent{}
	case notify.TurnProgress:
		b = &turns.ProgressEvent{}
	case notify.TurnCompleted, notify.TurnInterrupted, notify.TurnFailed:
		b = &turns.EndedEvent{}
	case notify.StepStarted, notify.StepEnded:
		b = &turns.StepEvent{}
	case notify.StreamRewind:
		b = &turns.RewindEvent{}
	case notify.TurnLate:
		b = &turns.LateEvent{}
	case notify.TurnDetached:
		b = &turns.DetachedEvent{}
	case notify.TurnReviewed:
		b = &turns.ReviewedEvent{}
	case notify.ItemCreated:
		b = &items.Created{}
	case notify.ItemUpdated:
		b = &items.Updated{}
	case notify.ItemDeleted:
		b = &items.Deleted{}
	case notify.ItemDelta:
		b = &items.Delta{}
	case notify.HolonPaused, notify.HolonResumed:
		b = &turns.RuntimeEvent{}
	default:
		if b = inboxBody(e.Method); b == nil {
			t.Fatalf("event %d has the unknown method %s", e.Seq, e.Method)
		}
	}
	if err := json.Unmarshal(e.raw, b); err != nil {
		t.Fatalf("event %d: %v: %s", e.Seq, err, e.raw)
	}
	return b
}

package inbox

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/inbox/schedule"
	"github.com/seed82539d15/holon/internal/sanitize"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// Items that the server itself makes.

// MessageItem returns the item of inbox/send. It is identified by id.
func MessageItem(id, text, sender string) Item {
	payload, err := json.Marshal(struct {
		Text   string `json:"text"`
		Sender string `json:"sender,omitzero"`
	}{text, sender})
	if err != nil {
		payload = nil // strings that were checked always encode
	}
	return Item{Source: SourceMessage, NativeID: id, Summary: sanitize.Line(text, MaxSummary), Payload: payload, Sender: sender}
}

// Check checks what needs no inbox. The error is a *turns.InvalidError.
func (c *Send) Check() error {
	switch {
	case strings.TrimSpace(c.Text) == "":
		return turns.Invalid("text", turns.ReasonRequired, "must not be empty")
	case len(c.Text) > MaxSendBytes:
		return turns.Invalid("text", turns.ReasonTooLarge, "has %d bytes, at most %d are allowed", len(c.Text), MaxSendBytes)
	case len(c.Sender) > maxSender || !isLine(c.Sender):
		return turns.Invalid("sender", turns.ReasonInvalid, "must be one line of at most %d bytes", maxSender)
	}
	return nil
}

// Check checks what needs no inbox. The error is a *turns.InvalidError.
func (c *Ingest) Check() error {
	if n := len(c.Items); n == 0 || n > MaxItems {
		return turns.Invalid("items", turns.ReasonRange, "must have 1 to %d items", MaxItems)
	}
	for i := range c.Items {
		field := "items[" + strconv.Itoa(i) + "]"
		if err := checkNotOwn(field+".source", c.Items[i].Source); err != nil {
			return err
		}
		if err := c.Items[i].Check(field); err != nil {
			return err
		}
	}
	return nil
}

// timerItem returns the item of a firing. missed is how many earlier planned times it stands for.
// Its identity has the planned time as it is stored, to the millisecond: a timer may fire, be
// created again under its id, and fire within one second. Planned times of one id are the
// same only after the clock was set back, which fires nothing twice.
func timerItem(t *Timer, planned notify.Time, missed int64) Item {
	payload, err := json.Marshal(struct {
		TimerID   string      `json:"timer_id"`
		Text      string      `json:"text"`
		PlannedAt notify.Time `json:"planned_at"`
		Missed    int64       `json:"missed,omitzero"`
	}{t.TimerID, t.Text, planned, missed})
	if err != nil {
		payload = nil // as above
	}
	at, _ := planned.MarshalText() // it always encodes
	summary := t.Text
	if missed > 0 {
		summary = fmt.Sprintf("%s (and %d earlier, missed)", t.Text, missed)
	}
	return Item{
		Source: SourceTimer, NativeID: t.TimerID + ":" + string(at), OccurredAt: planned,
		Summary: sanitize.Line(summary, MaxSummary), Payload: payload,
	}
}

// Lag counts items of a source that did not fit. When there is room, one item says
// how many there were.
func (b *Book) Lag(source string, n int64) {
	box := b.rows.inbox().clone()
	if b.rows.box == nil {
		box.fresh = true
	}
	if box.Lagged == nil {
		box.Lagged = map[string]int64{}
	}
	box.Lagged[source] += n
	b.rows.Put(box)
}

// lagThrough remembers the newest event of a subscription that was counted; 0
// forgets it.
func (v *overlay) lagThrough(subscriptionID string, seq int64) {
	if v.inbox().LaggedThrough[subscriptionID] == seq {
		return
	}
	box := v.box.clone()
	if box.LaggedThrough == nil {
		box.LaggedThrough = map[string]int64{}
	}
	if box.LaggedThrough[subscriptionID] = seq; seq == 0 {
		delete(box.LaggedThrough, subscriptionID)
	}
	v.Put(box)
}

// PostLags posts an item for each source whose items did not fit, if there is
// room now.
func (b *Book) PostLags() error { return postLags(b, false) }

// postLags does what PostLags does; beyond = post the items even without room.
func postLags(b *Book, beyond bool) error {
	defer func(by string) { b.RequestedBy = by }(b.RequestedBy)
	b.RequestedBy = "" // the request that has made room did not ask for these items
	for _, source := range slices.Sorted(maps.Keys(b.rows.inbox().Lagged)) {
		n := b.rows.box.Lagged[source]
		it := Item{
			Source: source, NativeID: fmt.Sprintf("source_lagged:%d", b.rows.unit.Thread().LatestSeq),
			Summary: fmt.Sprintf("%d %s of %s not stored, because the inbox was full (source_lagged)", n, plural("items", int(n)), source),
			Payload: []byte(fmt.Sprintf(`{"source_lagged":%d}`, n)),
		}
		if _, err := b.room([]Item{it}); err != nil && !beyond {
			break
		}
		b.ingest(&it, "")
		box := b.rows.box.clone()
		delete(box.Lagged, source)
		b.rows.Put(box)
	}
	return b.rows.err
}

// checkSchedule checks when a timer fires. The error is a *turns.InvalidError.
func checkSchedule(s schedule.Spec, now time.Time) error {
	err := s.Check(now)
	if bad, ok := err.(*schedule.Error); ok {
		return turns.Invalid(bad.Field, bad.Reason, "%s", bad.Text)
	}
	return err
}

// Check checks what needs no inbox. The error is a *turns.InvalidError.
func (c *CreateTimer) Check() error {
	switch {
	case c.TimerID != "" && !threads.ValidID(c.TimerID):
		return turns.Invalid("timer_id", turns.ReasonInvalid, "must be 1 to 64 of A-Z a-z 0-9 _ -")
	case strings.TrimSpace(c.Text) == "":
		return turns.Invalid("text", turns.ReasonRequired, "must not be empty")
	case len(c.Text) > turns.MaxTextBytes:
		return turns.Invalid("text", turns.ReasonTooLarge, "has %d bytes, at most %d are allowed", len(c.Text), turns.MaxTextBytes)
	}
	return nil
}

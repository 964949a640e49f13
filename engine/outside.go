package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/zap"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// host is the Host of the engine's agents.
type host struct{ e *Engine }

// Emit implements Host.
func (h host) Emit(ctx context.Context, threadID string, ops []items.Op) error {
	e := h.e
	in, release, err := e.owners.hold(threadID)
	if err != nil {
		return err
	}
	defer release()
	if err := in.putOps(ctx, e.owners.ended, nil, ops); err != nil {
		if err == turns.ErrPromptOver { // there is no prompt: the engine is over
			err = turns.ErrDraining
		}
		return err
	}
	return nil
}

// maxTranscript is how many messages of a thread Transcript reads at most.
const maxTranscript = 1000

// Transcript implements Host.
func (h host) Transcript(ctx context.Context, threadID string, maxBytes int) ([]*items.Item, error) {
	list, err := h.e.store.Transcript(ctx, threadID, maxTranscript, maxBytes)
	slices.Reverse(list)
	return list, err
}

// outside stores what an agent says while it runs no turn of the thread: what
// came by Host.Emit, and what was on its way when the turn ended without the
// agent. What cannot be without a turn is counted.
func (a *actor) outside(d *decision, o output) {
	if o.ops == nil {
		if o.sync == nil { // its run has been parted from, which answers it
			a.e.lateOutput.Add(1)
		}
		return
	}
	for _, op := range o.ops {
		err := d.outsideOp(op)
		if err == nil {
			continue
		}
		a.e.lateOutput.Add(1)
		if !a.lateLogged { // once: an agent that has lost its way says very much
			a.lateLogged = true
			a.e.log.Warn("an agent said something outside of a turn that cannot be stored; more of it is only counted",
				zap.String("thread_id", a.id), zap.Error(err))
		}
	}
}

func (d *decision) outsideOp(op items.Op) error {
	switch {
	case d.next().thread == nil:
		return threads.ErrNotFound
	case d.next().thread.State == threads.Closed:
		return threads.ErrClosed
	}
	switch op := op.(type) {
	case items.SetThread:
		return d.setThread(op)
	case items.Create:
		return d.items.createOutside(op)
	}
	return fmt.Errorf("%T without a turn: %w", op, items.ErrRefused)
}

// createOutside makes an item of no turn, which is written ended, in one
// event.
func (w *itemWriter) createOutside(op items.Create) error {
	if op.Content == nil || op.ItemID == "" {
		return fmt.Errorf("an item without id or content: %w", items.ErrRefused)
	}
	kind := op.Content.Kind()
	status, err := items.Next(items.Absent, kind, items.VerbCreate, op.Status)
	if err != nil {
		return err
	}
	if status.Open() {
		return fmt.Errorf("an open %s without a turn: %w", kind, items.ErrRefused)
	}
	if err := w.mustBeNew(op.ItemID); err != nil {
		return err
	}
	content, err := fit(op.Content, w.d.rules.cfg.MaxItemBytes)
	if err != nil {
		return fmt.Errorf("%w: %w", err, items.ErrRefused)
	}
	w.d.change.item(nil, "", notify.ItemCreated, op.ItemID, scope{}, &items.Created{
		ItemID: op.ItemID, Type: "created", Status: status,
		Content: content.raw, Truncated: content.truncated, TotalBytes: content.total, Kind: kind,
	})
	return nil
}

// setThread adds thread/updated with what op changes; nothing if it changes
// nothing.
func (d *decision) setThread(op items.SetThread) error {
	switch {
	case len(op.Config) > turns.MaxConfigBytes:
		return fmt.Errorf("settings of %d bytes, at most %d are kept: %w", len(op.Config), turns.MaxConfigBytes, items.ErrRefused)
	case op.Config != nil && (!op.Config.IsValid() || op.Config.Kind() != '{'):
		return fmt.Errorf("settings that are no JSON object: %w", items.ErrRefused)
	case len(op.AgentSessionID) > turns.MaxTextBytes:
		return fmt.Errorf("a session id of %d bytes: %w", len(op.AgentSessionID), items.ErrRefused)
	}
	is, up := d.next().thread, threads.Updated{Type: "updated"}
	changed := false
	if title := cutText(op.Title); title != "" && title != is.Title {
		up.Title, changed = title, true
	}
	if id := strings.ToValidUTF8(op.AgentSessionID, "\uFFFD"); id != is.AgentSessionID && id != "" {
		up.AgentSessionID, changed = id, true
	}
	if op.Config != nil && !sameJSON(op.Config, is.Config) {
		up.Config, changed = op.Config, true
	}
	if changed {
		d.change.thread(notify.ThreadUpdated, &up)
	}
	return nil
}

// cutText is s as a title or progress message may be.
func cutText(s string) string {
	if len(s) > turns.MaxTextBytes {
		s = s[:turns.MaxTextBytes]
	}
	return strings.ToValidUTF8(s, "")
}

// sameJSON reports whether two values, either of which may be nil, are equal
// but for the order of members, white space and the spelling of numbers.
func sameJSON(x, y jsontext.Value) bool {
	if x == nil || y == nil {
		return x == nil && y == nil
	}
	x, y = x.Clone(), y.Clone()
	return x.Canonicalize() == nil && y.Canonicalize() == nil && string(x) == string(y)
}

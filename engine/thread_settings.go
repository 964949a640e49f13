package engine

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// setThread adds thread/updated with what op changes. If it changes nothing, it
// adds nothing. A title that a client gave stays, because people find the thread by it. by
// is who asks; "" = the agent itself.
func (d *decision) setThread(op items.SetThread, by turns.By) error {
	switch {
	case len(op.Config) > turns.MaxConfigBytes:
		return fmt.Errorf("settings of %d bytes, at most %d are kept: %w", len(op.Config), turns.MaxConfigBytes, items.ErrRefused)
	case op.Config != nil && (!op.Config.IsValid() || op.Config.Kind() != '{'):
		return fmt.Errorf("settings that are no JSON object: %w", items.ErrRefused)
	case len(op.AgentSessionID) > turns.MaxTextBytes:
		return fmt.Errorf("a session id of %d bytes: %w", len(op.AgentSessionID), items.ErrRefused)
	}
	is, up := d.next().thread, threads.Updated{Type: "updated", RequestedBy: requestedBy(by)}
	changed := false
	if title := cutText(op.Title); title != "" && title != is.Title && is.TitleBy != threads.ByClient {
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

// setAgentThread stores the settings and the session that an agent returned to a request
// of by, and a title that an agent gave; "" = none.
func (d *decision) setAgentThread(t turns.AgentThread, title string, by turns.By) error {
	err := d.setThread(items.SetThread{Config: t.Config, AgentSessionID: t.SessionID, Title: title}, by)
	if err != nil {
		return &turns.AgentError{Kind: "agent_failed", Message: err.Error()}
	}
	return nil
}

// sameJSON reports whether two values, either of which may be nil, are equal. The
// order of members, white space and the spelling of numbers do not count.
func sameJSON(x, y jsontext.Value) bool {
	if x == nil || y == nil {
		return x == nil && y == nil
	}
	x, y = x.Clone(), y.Clone()
	return x.Canonicalize() == nil && y.Canonicalize() == nil && string(x) == string(y)
}

// cutText shortens a title or a message to MaxTextBytes of UTF-8.
func cutText(s string) string {
	if len(s) > turns.MaxTextBytes {
		s = s[:turns.MaxTextBytes]
	}
	return strings.ToValidUTF8(s, "")
}

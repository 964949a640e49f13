package exec

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// formatted returns a content that says its format, if it is a message whose text is not
// Markdown.
func formatted(content items.Content, format items.Format) items.Content {
	m, ok := content.(items.AgentMessage)
	if !ok {
		return content
	}
	m.Format = formatOr(m.Format, format)
	return m
}

// formatOr returns the format of a text: its own, else format, which is left out where it is
// what an absent one means.
func formatOr(own, format items.Format) items.Format {
	if own != "" || format == items.FormatMarkdown {
		return own
	}
	return format
}

// decodeContent decodes the content of an item event as strictly as the event
// itself: otherwise a misspelt member would be lost silently. id replaces an
// absent tool_call_id.
func decodeContent(raw items.Raw, id string) (items.Content, error) {
	content, err := items.FromAgent(raw)
	if unknown, ok := errors.AsType[*items.UnknownKindError](err); ok {
		if unknown.Kind == "" {
			return nil, errors.New("content: type is missing")
		}
		return nil, fmt.Errorf(`content: there is no type %q; "extension" takes what fits no other`, shorten(string(unknown.Kind), 64))
	}
	if err != nil {
		return nil, fmt.Errorf("content: %w", err)
	}
	switch c := content.(type) {
	case items.Plan:
		for i := range c.Entries {
			c.Entries[i].Status = cmp.Or(c.Entries[i].Status, "pending")
		}
	case items.ToolCall:
		c.ToolCallID = cmp.Or(c.ToolCallID, id)
		c.ToolKind = cmp.Or(c.ToolKind, "other")
		return c, nil
	case items.CommandExecution:
		c.ToolCallID = cmp.Or(c.ToolCallID, id)
		c.ToolKind = cmp.Or(c.ToolKind, "execute")
		c.Title = cmp.Or(c.Title, c.Command)
		return c, nil
	case items.Notice:
		c.Severity = cmp.Or(c.Severity, "info")
		return c, nil
	case items.Error:
		c.ErrorKind = cmp.Or(c.ErrorKind, turns.KindAgentFailed)
		return c, nil
	case items.Extension:
		if c.NativeKind == "" || len(c.Payload) == 0 {
			return nil, errors.New("content: native_kind and payload are needed")
		}
	case items.PermissionRequest, items.Question:
		return nil, errors.New(`questions are asked with the events "ask" and "question"`)
	case items.Usage:
		return nil, errors.New(`usage is told with the event "usage"`)
	case items.UserMessage:
		return nil, errors.New("only clients make user messages")
	}
	return content, nil
}

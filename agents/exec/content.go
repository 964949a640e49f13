package exec

import (
	"errors"
	"fmt"

	"github.com/seed82539d15/holon/items"
)

// decodeContent reads the content of an item event as strictly as the event
// itself: a misspelt member would otherwise be lost without a word. id stands
// in for a tool_call_id that was left out.
func decodeContent(raw items.Raw, id string) (items.Content, error) {
	head, err := lax[struct {
		Type items.Kind `json:"type"`
	}](raw)
	if err != nil {
		return nil, fmt.Errorf("content: %w", err)
	}
	c, err := contentOf(head.Type, raw, id)
	if err != nil {
		return nil, fmt.Errorf("content of type %q: %w", shorten(string(head.Type), 64), err)
	}
	return c, nil
}

func contentOf(kind items.Kind, raw items.Raw, id string) (items.Content, error) {
	switch kind {
	case items.KindAgentMessage:
		c, err := strict[items.AgentMessage](raw)
		return agentMessage(c, err)
	case items.KindReasoning:
		return of(strict[items.Reasoning](raw))
	case items.KindPlan:
		c, err := strict[items.Plan](raw)
		for i := range c.Entries {
			setDefault(&c.Entries[i].Status, "pending")
		}
		return of(c, err)
	case items.KindToolCall:
		c, err := strict[items.ToolCall](raw)
		setDefault(&c.ToolCallID, id)
		setDefault(&c.ToolKind, "other")
		return of(c, err)
	case items.KindCommandExecution:
		c, err := strict[items.CommandExecution](raw)
		setDefault(&c.ToolCallID, id)
		setDefault(&c.ToolKind, "execute")
		setDefault(&c.Title, c.Command)
		return of(c, err)
	case items.KindFileChange:
		return of(strict[items.FileChange](raw))
	case items.KindNotice:
		c, err := strict[items.Notice](raw)
		setDefault(&c.Severity, "info")
		return of(c, err)
	case items.KindError:
		c, err := strict[items.Error](raw)
		setDefault(&c.ErrorKind, kindFailed)
		return of(c, err)
	case items.KindExtension:
		c, err := strict[items.Extension](raw)
		if err == nil && (c.NativeKind == "" || len(c.Payload) == 0) {
			err = errors.New("native_kind and payload are needed")
		}
		return of(c, err)
	case items.KindPermissionRequest, items.KindQuestion:
		return nil, errors.New(`questions are asked with the events "ask" and "question"`)
	case items.KindUsage:
		return nil, errors.New(`usage is told with the event "usage"`)
	case items.KindUserMessage:
		return nil, errors.New("only clients make user messages")
	case "":
		return nil, errors.New("type is missing")
	}
	return nil, errors.New(`there is no such type; "extension" takes what fits no other`)
}

// of turns a decoded struct into a Content, none if there was an error.
func of[T items.Content](c T, err error) (items.Content, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}

func agentMessage(c items.AgentMessage, err error) (items.Content, error) {
	if err != nil {
		return nil, err
	}
	if len(c.Content) > 1 {
		return nil, errors.New("content has more than one part; make more items")
	}
	text := ""
	if len(c.Content) == 1 {
		if t := c.Content[0].Type; t != "" && t != "output_text" {
			return nil, fmt.Errorf("content[0].type %q is not output_text", shorten(t, 64))
		}
		text = c.Content[0].Text
	}
	message := items.NewAgentMessage(text)
	message.Phase = c.Phase
	return message, nil
}

func setDefault(s *string, value string) {
	if *s == "" {
		*s = value
	}
}

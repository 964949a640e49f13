package mockmodel

import (
	"encoding/json"
	"strings"
)

// The token counts of every answer.
const (
	usageIn     = 100
	usageOut    = 20
	usageCached = 10
	usageThink  = 5
)

// chatAPI is OpenAI's chat completions.
var chatAPI = api{name: "chat", read: readChat, stream: streamChat, whole: wholeChat}

type chatRequest struct {
	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	Messages []struct {
		Role    string `json:"role"`
		Content parts  `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
}

func readChat(body []byte) (exchange, error) {
	var in chatRequest
	if err := decode(body, &in); err != nil {
		return exchange{}, err
	}
	by := map[string]string{"user": byPerson, "assistant": byModel, "tool": byTool}
	var conversation []message
	for _, m := range in.Messages {
		if who := by[m.Role]; who == byTool {
			conversation = append(conversation, message{by: byTool, results: []string{strings.Join(m.Content.texts(), "\n")}})
		} else if who != "" { // the system prompt chooses nothing
			conversation = append(conversation, message{by: who, texts: m.Content.texts(), images: m.Content.images()})
		}
	}
	var tools []tool
	for _, t := range in.Tools {
		tools = append(tools, tool{name: t.Function.Name})
	}
	return exchange{question: ask(conversation, tools), model: in.Model, streamed: in.Stream}, nil
}

func (c *call) arguments() string {
	b, err := json.Marshal(c.args)
	if err != nil {
		return "{}"
	}
	return string(b)
}

func chatUsage() map[string]any {
	return map[string]any{
		"prompt_tokens": usageIn, "completion_tokens": usageOut, "total_tokens": usageIn + usageOut,
		"prompt_tokens_details":     map[string]any{"cached_tokens": usageCached},
		"completion_tokens_details": map[string]any{"reasoning_tokens": usageThink},
	}
}

func (x exchange) chatCall(c *call) map[string]any {
	return map[string]any{"id": x.id("call"), "type": "function", "function": map[string]any{"name": c.tool.name, "arguments": c.arguments()}}
}

func streamChat(w *events, x exchange, r reply) error {
	id := x.id("chatcmpl")
	send := func(delta map[string]any, finish any, usage any) error {
		chunk := map[string]any{
			"id": id, "object": "chat.completion.chunk", "created": 1, "model": x.model,
			"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}},
		}
		if usage != nil {
			chunk["usage"] = usage
		}
		return w.send("", chunk)
	}
	err := w.each(r.thoughts, r.pause, func(piece string) error {
		return send(map[string]any{"role": "assistant", "reasoning_content": piece}, nil, nil)
	})
	if err != nil {
		return err
	}
	err = w.each(r.text, r.pause, func(piece string) error {
		return send(map[string]any{"role": "assistant", "content": piece}, nil, nil)
	})
	if err != nil {
		return err
	}
	finish := "stop"
	if r.call != nil {
		finish = "tool_calls"
		c := x.chatCall(r.call)
		c["index"] = 0
		if err := send(map[string]any{"tool_calls": []any{c}}, nil, nil); err != nil {
			return err
		}
	}
	if err := send(map[string]any{}, finish, chatUsage()); err != nil {
		return err
	}
	return w.line("", []byte("[DONE]"))
}

func wholeChat(x exchange, r reply) any {
	answer, finish := map[string]any{"role": "assistant", "content": r.whole()}, "stop"
	if r.call != nil {
		answer["tool_calls"], finish = []any{x.chatCall(r.call)}, "tool_calls"
	}
	return map[string]any{
		"id": x.id("chatcmpl"), "object": "chat.completion", "created": 1, "model": x.model, "usage": chatUsage(),
		"choices": []any{map[string]any{"index": 0, "message": answer, "finish_reason": finish}},
	}
}

// parts is content in the OpenAI and Anthropic APIs: one text, or a list of
// parts.
type parts []part

type part struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Content json.RawMessage `json:"content"` // of a tool's result: content in turn
}

// UnmarshalJSON accepts either form, and null.
func (p *parts) UnmarshalJSON(b []byte) error {
	var text string
	if strings.HasPrefix(string(b), `"`) {
		if err := json.Unmarshal(b, &text); err != nil {
			return err
		}
		*p = parts{{Type: "text", Text: text}}
		return nil
	}
	return json.Unmarshal(b, (*[]part)(p))
}

// texts returns the texts of the parts that have one.
func (p parts) texts() []string {
	var texts []string
	for _, one := range p {
		if one.Text != "" {
			texts = append(texts, one.Text)
		}
	}
	return texts
}

// textOf returns the texts of content in one piece, or anything else as it is.
func textOf(content json.RawMessage) string {
	var p parts
	if len(content) > 0 && json.Unmarshal(content, &p) != nil {
		return string(content)
	}
	return strings.Join(p.texts(), "\n")
}

// images counts the parts that are images.
func (p parts) images() int {
	n := 0
	for _, one := range p {
		if one.Type == "image" || one.Type == "image_url" || one.Type == "input_image" {
			n++
		}
	}
	return n
}

// has reports whether a part has this type.
func (p parts) has(kind string) bool {
	for _, one := range p {
		if one.Type == kind {
			return true
		}
	}
	return false
}

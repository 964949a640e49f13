package mockmodel

import "strings"

// messagesAPI is Anthropic's messages.
var messagesAPI = api{name: "messages", read: readMessages, stream: streamMessages, whole: wholeMessages}

type messagesRequest struct {
	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	Messages []struct {
		Role    string `json:"role"`
		Content parts  `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Name string `json:"name"`
	} `json:"tools"`
}

func readMessages(body []byte) (exchange, error) {
	var in messagesRequest
	if err := decode(body, &in); err != nil {
		return exchange{}, err
	}
	var conversation []message
	for _, m := range in.Messages {
		switch {
		case m.Role == "assistant":
			conversation = append(conversation, message{by: byModel})
		case m.Content.has("tool_result"):
			// The text beside a result is what the user said meanwhile.
			conversation = append(conversation, message{byTool, m.Content.texts(), m.Content.images(), m.Content.results()})
		case m.Role == "user":
			conversation = append(conversation, message{by: byPerson, texts: m.Content.texts(), images: m.Content.images()})
		}
	}
	var tools []tool
	for _, t := range in.Tools {
		tools = append(tools, tool{name: t.Name})
	}
	return exchange{question: ask(conversation, tools), model: in.Model, streamed: in.Stream}, nil
}

// results returns what the tools have said.
func (p parts) results() []string {
	var list []string
	for _, one := range p {
		if one.Type != "tool_result" {
			continue
		}
		list = append(list, textOf(one.Content))
	}
	return list
}

func messagesUsage(out int) map[string]any {
	return map[string]any{"input_tokens": usageIn, "cache_creation_input_tokens": 0, "cache_read_input_tokens": usageCached, "output_tokens": out}
}

// messagesContent returns the blocks of the answer.
func (x exchange) messagesContent(r reply) []map[string]any {
	var blocks []map[string]any
	if len(r.thoughts) > 0 {
		blocks = append(blocks, map[string]any{"type": "thinking", "thinking": strings.Join(r.thoughts, ""), "signature": "bW9jaw=="})
	}
	blocks = append(blocks, map[string]any{"type": "text", "text": r.whole()})
	if r.call != nil {
		blocks = append(blocks, map[string]any{"type": "tool_use", "id": x.id("toolu"), "name": r.call.tool.name, "input": r.call.args})
	}
	return blocks
}

func (r reply) messagesStop() string {
	if r.call != nil {
		return "tool_use"
	}
	return "end_turn"
}

func wholeMessages(x exchange, r reply) any {
	return map[string]any{
		"id": x.id("msg"), "type": "message", "role": "assistant", "model": x.model, "content": x.messagesContent(r),
		"stop_reason": r.messagesStop(), "stop_sequence": nil, "usage": messagesUsage(usageOut),
	}
}

func streamMessages(w *events, x exchange, r reply) error {
	send := func(kind string, members map[string]any) error {
		members["type"] = kind
		return w.send(kind, members)
	}
	begun := map[string]any{
		"id": x.id("msg"), "type": "message", "role": "assistant", "model": x.model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": messagesUsage(1),
	}
	if err := send("message_start", map[string]any{"message": begun}); err != nil {
		return err
	}
	for index, block := range x.messagesContent(r) {
		if err := streamBlock(w, send, index, block, r); err != nil {
			return err
		}
	}
	err := send("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": r.messagesStop(), "stop_sequence": nil}, "usage": messagesUsage(usageOut),
	})
	if err != nil {
		return err
	}
	return send("message_stop", map[string]any{})
}

// streamBlock starts a block, streams its content, and ends it.
func streamBlock(w *events, send func(string, map[string]any) error, index int, block map[string]any, r reply) error {
	begun, delta := map[string]any{"type": block["type"]}, func(members map[string]any) error {
		return send("content_block_delta", map[string]any{"index": index, "delta": members})
	}
	var body func() error
	switch block["type"] {
	case "text":
		begun["text"] = ""
		body = func() error {
			return w.each(r.text, r.pause, func(piece string) error {
				return delta(map[string]any{"type": "text_delta", "text": piece})
			})
		}
	case "thinking":
		begun["thinking"], begun["signature"] = "", ""
		body = func() error {
			err := w.each(r.thoughts, r.pause, func(piece string) error {
				return delta(map[string]any{"type": "thinking_delta", "thinking": piece})
			})
			if err != nil {
				return err
			}
			return delta(map[string]any{"type": "signature_delta", "signature": block["signature"]})
		}
	default:
		begun["id"], begun["name"], begun["input"] = block["id"], block["name"], map[string]any{}
		body = func() error {
			return delta(map[string]any{"type": "input_json_delta", "partial_json": r.call.arguments()})
		}
	}
	if err := send("content_block_start", map[string]any{"index": index, "content_block": begun}); err != nil {
		return err
	}
	if err := body(); err != nil {
		return err
	}
	return send("content_block_stop", map[string]any{"index": index})
}

package mockmodel

import (
	"encoding/json"
	"strings"
)

// responsesAPI is OpenAI's responses.
var responsesAPI = api{name: "responses", read: readResponses, stream: streamResponses, whole: wholeResponses, fail: failResponses}

type responsesRequest struct {
	Model  string          `json:"model"`
	Stream bool            `json:"stream"`
	Input  json.RawMessage `json:"input"` // one text, or a list of items
	Tools  []responsesTool `json:"tools"`
}

type responsesItem struct {
	Type    string          `json:"type"`
	Role    string          `json:"role"`
	Content parts           `json:"content"`
	Output  json.RawMessage `json:"output"` // of a tool
}

type responsesTool struct {
	Type  string          `json:"type"`
	Name  string          `json:"name"`
	Tools []responsesTool `json:"tools"` // of a namespace
}

func readResponses(body []byte) (exchange, error) {
	var in responsesRequest
	if err := decode(body, &in); err != nil {
		return exchange{}, err
	}
	var list []responsesItem
	if strings.HasPrefix(strings.TrimSpace(string(in.Input)), `"`) {
		var text parts
		if err := decode(in.Input, &text); err != nil {
			return exchange{}, err
		}
		list = []responsesItem{{Role: "user", Content: text}}
	} else if len(in.Input) > 0 {
		if err := decode(in.Input, &list); err != nil {
			return exchange{}, err
		}
	}
	var conversation []message
	for _, item := range list {
		switch {
		case strings.HasSuffix(item.Type, "_output"):
			conversation = append(conversation, message{by: byTool, results: []string{textOf(item.Output)}})
		case strings.HasSuffix(item.Type, "_call"), item.Type == "reasoning", item.Role == "assistant":
			conversation = append(conversation, message{by: byModel})
		case item.Role == "user":
			conversation = append(conversation, message{by: byPerson, texts: item.Content.texts(), images: item.Content.images()})
		}
	}
	return exchange{question: ask(conversation, flatten(in.Tools, "")), model: in.Model, streamed: in.Stream}, nil
}

func flatten(list []responsesTool, namespace string) []tool {
	var tools []tool
	for _, t := range list {
		switch {
		case len(t.Tools) > 0:
			tools = append(tools, flatten(t.Tools, t.Name)...)
		case t.Name != "":
			tools = append(tools, tool{name: t.Name, namespace: namespace, freeform: t.Type == "custom"})
		default:
			tools = append(tools, tool{name: t.Type})
		}
	}
	return tools
}

func responsesUsage() map[string]any {
	return map[string]any{
		"input_tokens": usageIn, "input_tokens_details": map[string]any{"cached_tokens": usageCached},
		"output_tokens": usageOut, "output_tokens_details": map[string]any{"reasoning_tokens": usageThink},
		"total_tokens": usageIn + usageOut,
	}
}

func (x exchange) response(status string, output []any) map[string]any {
	return map[string]any{"id": x.id("resp"), "object": "response", "created_at": 1, "status": status, "model": x.model, "output": output}
}

// responsesOutput returns the items of the answer as they are at its end.
func (x exchange) responsesOutput(r reply) []any {
	var output []any
	if len(r.thoughts) > 0 {
		output = append(output, map[string]any{
			"type": "reasoning", "id": x.id("rs"), "summary": []any{map[string]any{"type": "summary_text", "text": strings.Join(r.thoughts, "")}},
		})
	}
	output = append(output, map[string]any{
		"type": "message", "id": x.id("msg"), "role": "assistant", "status": "completed",
		"content": []any{map[string]any{"type": "output_text", "text": r.whole(), "annotations": []any{}}},
	})
	if c := r.call; c != nil {
		item := map[string]any{"call_id": x.id("call"), "name": c.tool.name, "status": "completed"}
		if c.tool.freeform {
			item["type"], item["id"], item["input"] = "custom_tool_call", x.id("ctc"), c.input
		} else {
			item["type"], item["id"], item["arguments"] = "function_call", x.id("fc"), c.arguments()
		}
		if c.tool.namespace != "" {
			item["namespace"] = c.tool.namespace
		}
		output = append(output, item)
	}
	return output
}

func wholeResponses(x exchange, r reply) any {
	whole := x.response("completed", x.responsesOutput(r))
	whole["usage"] = responsesUsage()
	return whole
}

func streamResponses(w *events, x exchange, r reply) error {
	n := 0
	send := func(kind string, members map[string]any) error {
		members["type"], members["sequence_number"] = kind, n
		n++
		return w.send(kind, members)
	}
	response := x.response("in_progress", []any{})
	if err := send("response.created", map[string]any{"response": response}); err != nil {
		return err
	}
	output := x.responsesOutput(r)
	for index, item := range output {
		if err := streamResponsesItem(w, send, index, item.(map[string]any), r); err != nil {
			return err
		}
	}
	response["status"], response["output"], response["usage"] = "completed", output, responsesUsage()
	return send("response.completed", map[string]any{"response": response})
}

func failResponses(w *events, x exchange, _ reply) error {
	response := x.response("failed", []any{})
	response["error"] = map[string]any{"code": "server_is_overloaded", "message": overloadedText}
	return w.send("response.failed", map[string]any{"type": "response.failed", "sequence_number": 0, "response": response})
}

// streamResponsesItem starts an item, streams its text, and ends it.
func streamResponsesItem(w *events, send func(string, map[string]any) error, index int, item map[string]any, r reply) error {
	begun := map[string]any{"type": item["type"], "id": item["id"]}
	at := func(members map[string]any) map[string]any {
		members["item_id"], members["output_index"] = item["id"], index
		return members
	}
	var steps []func() error
	switch item["type"] {
	case "message":
		begun["role"], begun["status"], begun["content"] = "assistant", "in_progress", []any{}
		empty := map[string]any{"type": "output_text", "text": "", "annotations": []any{}}
		full := item["content"].([]any)[0]
		steps = append(steps,
			func() error {
				return send("response.content_part.added", at(map[string]any{"content_index": 0, "part": empty}))
			},
			func() error {
				return w.each(r.text, r.pause, func(piece string) error {
					return send("response.output_text.delta", at(map[string]any{"content_index": 0, "delta": piece}))
				})
			},
			func() error {
				return send("response.output_text.done", at(map[string]any{"content_index": 0, "text": r.whole()}))
			},
			func() error {
				return send("response.content_part.done", at(map[string]any{"content_index": 0, "part": full}))
			})
	case "reasoning":
		begun["summary"] = []any{}
		whole := item["summary"].([]any)[0]
		steps = append(steps,
			func() error {
				return send("response.reasoning_summary_part.added", at(map[string]any{"summary_index": 0, "part": map[string]any{"type": "summary_text", "text": ""}}))
			},
			func() error {
				return w.each(r.thoughts, r.pause, func(piece string) error {
					return send("response.reasoning_summary_text.delta", at(map[string]any{"summary_index": 0, "delta": piece}))
				})
			},
			func() error {
				return send("response.reasoning_summary_text.done", at(map[string]any{"summary_index": 0, "text": strings.Join(r.thoughts, "")}))
			},
			func() error {
				return send("response.reasoning_summary_part.done", at(map[string]any{"summary_index": 0, "part": whole}))
			})
	default: // a call comes in one piece
		begun = item
	}
	if err := send("response.output_item.added", map[string]any{"output_index": index, "item": begun}); err != nil {
		return err
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return send("response.output_item.done", map[string]any{"output_index": index, "item": item})
}

package mockmodel

import "encoding/json"

// geminiAPI is Google's generateContent.
var geminiAPI = api{name: "gemini", read: readGemini, stream: streamGemini, whole: wholeGemini}

type geminiRequest struct {
	Contents []struct {
		Role  string `json:"role"`
		Parts []struct {
			Text       string `json:"text"`
			InlineData *struct {
				MimeType string `json:"mimeType"`
			} `json:"inlineData"`
			FunctionResponse *struct {
				Name     string          `json:"name"`
				Response json.RawMessage `json:"response"`
			} `json:"functionResponse"`
		} `json:"parts"`
	} `json:"contents"`
	Tools []struct {
		FunctionDeclarations []struct {
			Name string `json:"name"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
	GenerationConfig struct {
		ResponseMimeType string `json:"responseMimeType"`
	} `json:"generationConfig"`
}

func readGemini(body []byte) (exchange, error) {
	var in geminiRequest
	if err := decode(body, &in); err != nil {
		return exchange{}, err
	}
	var conversation []message
	for _, c := range in.Contents {
		m := message{by: byPerson}
		if c.Role == "model" {
			m.by = byModel
		}
		for _, p := range c.Parts {
			if p.FunctionResponse != nil {
				m.by, m.results = byTool, append(m.results, geminiResult(p.FunctionResponse.Response))
			}
			if p.InlineData != nil {
				m.images++
			}
			if p.Text != "" && m.by != byModel {
				m.texts = append(m.texts, p.Text)
			}
		}
		conversation = append(conversation, m)
	}
	var tools []tool
	for _, group := range in.Tools {
		for _, f := range group.FunctionDeclarations {
			tools = append(tools, tool{name: f.Name})
		}
	}
	x := exchange{question: ask(conversation, tools), model: "mock-1"}
	if in.GenerationConfig.ResponseMimeType == "application/json" {
		x.model = sideModel
	}
	return x, nil
}

// geminiResult returns what a tool has said: a text, if the agent gives that.
func geminiResult(response json.RawMessage) string {
	var in struct {
		Output string `json:"output"`
	}
	if json.Unmarshal(response, &in) == nil && in.Output != "" {
		return in.Output
	}
	return string(response)
}

// sideModel marks an agent's internal request that wants JSON: which model to
// use, or who speaks next.
const sideModel = "mock-json"

// sideAnswer fits the schemas of such requests.
const sideAnswer = `{"reasoning":"mock","model_choice":"flash","next_speaker":"user","complexity_score":1,"complexity_reasoning":"mock"}`

func geminiChunk(x exchange, parts []any, last bool) map[string]any {
	candidate := map[string]any{"index": 0, "content": map[string]any{"role": "model", "parts": parts}}
	if last {
		candidate["finishReason"] = "STOP"
	}
	return map[string]any{
		"candidates": []any{candidate}, "modelVersion": x.model,
		"usageMetadata": map[string]any{
			"promptTokenCount": usageIn, "candidatesTokenCount": usageOut, "cachedContentTokenCount": usageCached,
			"thoughtsTokenCount": usageThink, "totalTokenCount": usageIn + usageOut,
		},
	}
}

func geminiText(text string) map[string]any { return map[string]any{"text": text} }

// geminiLast returns the parts of the last chunk.
func geminiLast(r reply) []any {
	if r.call == nil {
		return []any{geminiText("")}
	}
	return []any{map[string]any{"functionCall": map[string]any{"name": r.call.tool.name, "args": r.call.args}}}
}

func wholeGemini(x exchange, r reply) any {
	if x.model == sideModel {
		return geminiChunk(x, []any{geminiText(sideAnswer)}, true)
	}
	return geminiChunk(x, append([]any{geminiText(r.whole())}, geminiLast(r)...), true)
}

func streamGemini(w *events, x exchange, r reply) error {
	if x.model == sideModel {
		return w.send("", wholeGemini(x, r))
	}
	err := w.each(r.thoughts, r.pause, func(piece string) error {
		return w.send("", geminiChunk(x, []any{map[string]any{"text": "**" + piece + "**", "thought": true}}, false))
	})
	if err != nil {
		return err
	}
	err = w.each(r.text, r.pause, func(piece string) error {
		return w.send("", geminiChunk(x, []any{geminiText(piece)}, false))
	})
	if err != nil {
		return err
	}
	return w.send("", geminiChunk(x, geminiLast(r), true))
}

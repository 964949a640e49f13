package mapping

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
)

// usage is what the running turn has used. Tokens are of its prompts that have
// ended; how full the context is and the cost are the session's, as the agent
// said it last.
type usage struct {
	tokens  items.Usage
	used    int64
	size    int64
	cost    *items.Cost
	emitted items.Usage
}

func (u *usage) now() items.Usage {
	now := u.tokens
	now.Type, now.ContextUsed, now.ContextSize, now.Cost = items.KindUsage, u.used, u.size, u.cost
	return now
}

// usageUpdate maps how full the context is and what the session has cost.
func (s *Session) usageUpdate(f fields) bool {
	used, ok := f.number("used")
	size, known := f.number("size")
	if !ok || !known || used < 0 || size < 0 {
		return false
	}
	u := &s.usage
	u.used, u.size = used, size
	whole := true
	if f.has("cost") {
		var c items.Cost
		if err := unmarshal(f["cost"], &c); err != nil {
			whole = false
		} else if u.cost == nil || *u.cost != c {
			u.cost = &c
		}
	}
	s.setUsage()
	return whole
}

// promptUsage adds what a prompt has used to the turn's usage.
func (s *Session) promptUsage(result jsontext.Value) {
	f, err := fieldsOf(result)
	if err != nil {
		return
	}
	var in, out, cached, thought, total int64
	if u := f.object("usage"); u != nil {
		in, _ = u.number("inputTokens")
		out, _ = u.number("outputTokens")
		cached, _ = u.number("cachedReadTokens")
		thought, _ = u.number("thoughtTokens")
		total, _ = u.number("totalTokens")
	} else if u := f.object("_meta").object("quota").object("token_count"); u != nil { // gemini-cli
		in, _ = u.number("input_tokens")
		out, _ = u.number("output_tokens")
	}
	if in <= 0 && out <= 0 && total <= 0 {
		return
	}
	if total == 0 {
		total = in + out
	}
	t := &s.usage.tokens
	t.InputTokens += in
	t.OutputTokens += out
	t.CachedTokens += cached
	t.ReasoningTokens += thought
	t.TotalTokens += total
	s.setUsage()
}

func (s *Session) setUsage() {
	if now := s.usage.now(); now != s.usage.emitted {
		s.usage.emitted = now
		s.emit(items.SetUsage{Usage: now})
	}
}

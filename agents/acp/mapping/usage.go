package mapping

import (
	"cmp"

	"github.com/seed82539d15/holon/items"
)

// usage maps the usage of the running turn. The tokens are the sum of its ended
// prompts. The size of the context and the cost belong to the session, as last
// reported by the agent.
type usage struct {
	out     *output
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

// turnBegins forgets the tokens of the previous turn.
func (u *usage) turnBegins() { u.tokens, u.emitted = items.Usage{}, items.Usage{} }

// update maps the size of the context and the cost of the session, each member on its
// own. It reports false if there is none, or one is wrong.
func (u *usage) update(f fields) bool {
	given, whole := false, true
	for name, to := range map[string]*int64{"used": &u.used, "size": &u.size} {
		if !f.has(name) {
			continue
		}
		if n, ok := f.number(name); ok && n >= 0 {
			*to, given = n, true
		} else {
			whole = false
		}
	}
	if f.has("cost") {
		var c items.Cost
		if err := unmarshal(f["cost"], &c); err != nil {
			whole = false
		} else if given = true; u.cost == nil || *u.cost != c {
			u.cost = &c
		}
	}
	if given {
		u.emit()
	}
	return whole && given
}

// add adds the usage in a prompt's result to the turn's usage.
func (u *usage) add(f fields) {
	var in, out, cached, thought, total int64
	if used := f.object("usage"); used != nil {
		in, _ = used.number("inputTokens")
		out, _ = used.number("outputTokens")
		cached, _ = used.number("cachedReadTokens")
		thought, _ = used.number("thoughtTokens")
		total, _ = used.number("totalTokens")
	} else if used := f.object("_meta").object("quota").object("token_count"); used != nil { // gemini-cli
		in, _ = used.number("input_tokens")
		out, _ = used.number("output_tokens")
	}
	if in <= 0 && out <= 0 && total <= 0 {
		return
	}
	total = cmp.Or(total, in+out)
	t := &u.tokens
	t.InputTokens += in
	t.OutputTokens += out
	t.CachedTokens += cached
	t.ReasoningTokens += thought
	t.TotalTokens += total
	u.emit()
}

// emit emits what has changed.
func (u *usage) emit() {
	if now := u.now(); now != u.emitted {
		u.emitted = now
		u.out.emit(items.SetUsage{Usage: now})
	}
}

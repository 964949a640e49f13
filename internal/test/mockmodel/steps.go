package mockmodel

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// ownPrefix is in the name of every MCP server of Holon's own tools.
const ownPrefix = "holon_"

// maxQuoted bounds what the model repeats of a quotation or of a tool's result.
const maxQuoted = 4 << 10

var (
	doWord = regexp.MustCompile(`\bDO \[`)
	// fencesOf finds the marker of the lines around what others wrote.
	fencesOf = regexp.MustCompile(`The text between the two (\S+) lines was written by others`)
	// triedAgain is how the prompt of another attempt begins to tell what became of
	// the work that earlier ones have started.
	triedAgain = "Your turn is being tried again."
	reference  = regexp.MustCompile(`\$(\d+)\.(turn_id|thread_id)`)
	started    = regexp.MustCompile(`\bStarted turn (\S+) in thread ([^\s.]+)`)
)

// script is what a prompt with DO says: calls of Holon's own tools, one after the
// other. The calls of again are for a prompt that tells of earlier attempts.
type script struct {
	steps, again []step
}

// step is one call. In strings of args, $N.turn_id and $N.thread_id are ids of the
// work that the Nth call has started.
type step struct {
	name string
	args map[string]any
}

// UnmarshalJSON reads ["name", {args}].
func (s *step) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&s.name, &s.args})
}

// scriptOf reads the script in a text. ok is false if there is none, or it cannot
// be read.
func scriptOf(text string) (s script, ok bool) {
	at := doWord.FindStringIndex(text)
	if at == nil {
		return script{}, false
	}
	rest := text[at[1]-1:]
	steps := json.NewDecoder(strings.NewReader(rest))
	if steps.Decode(&s.steps) != nil {
		return script{}, false
	}
	rest, more := strings.CutPrefix(strings.TrimSpace(rest[steps.InputOffset():]), "AGAIN ")
	if more && json.NewDecoder(strings.NewReader(rest)).Decode(&s.again) != nil {
		return script{}, false
	}
	return s, true
}

// performance is a script that the conversation is in, and how far.
type performance struct {
	script
	results []string // of the calls, in order
	again   bool
}

// performing finds the script of the newest prompt. It returns nil if that has none.
func performing(conversation []message) *performance {
	var p performance
	for i, m := range slices.Backward(conversation) {
		p.results = append(slices.Clone(m.results), p.results...)
		if m.by == byModel {
			continue
		}
		for _, text := range m.texts {
			p.again = p.again || strings.Contains(text, triedAgain)
		}
		if text, kind := newest(m.texts); kind == byWord {
			var ok bool
			p.script, ok = scriptOf(text)
			if !ok {
				return nil
			}
			return &p
		} else if kind == byQuotation && (i == 0 || conversation[i-1].by != byPerson) {
			return nil // a prompt of its own, not one that is told with a script
		}
	}
	return nil
}

// next returns the next call, or at the end what the tools have said.
func (p *performance) next(tools []tool) reply {
	r := reply{pause: briskly}
	steps := p.steps
	if p.again && p.script.again != nil {
		steps = p.script.again
	}
	if len(p.results) >= len(steps) {
		for i, result := range p.results {
			r.text = append(r.text, fmt.Sprintf("\nTool %d said:\n", i+1))
			r.text = append(r.text, pieces(result)...)
		}
		return r
	}
	s := steps[len(p.results)]
	var own []tool
	for _, t := range tools {
		if full := t.full(); strings.Contains(full, ownPrefix) && (t.name == s.name || strings.HasSuffix(t.name, "_"+s.name)) {
			own = append(own, t)
		}
	}
	if len(own) != 1 {
		r.text = []string{fmt.Sprintf("I have %d tools %s.", len(own), s.name)}
		return r
	}
	r.text = []string{"I will call ", s.name, ". "}
	r.call = &call{tool: own[0], args: p.resolved(s.args).(map[string]any)}
	return r
}

// resolved puts ids of earlier results into args.
func (p *performance) resolved(v any) any {
	switch v := v.(type) {
	case string:
		return reference.ReplaceAllStringFunc(v, func(ref string) string {
			m := reference.FindStringSubmatch(ref)
			var n int
			if _, err := fmt.Sscan(m[1], &n); err != nil || n < 1 || n > len(p.results) {
				return ref
			}
			return idIn(p.results[n-1], m[2])
		})
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = p.resolved(v[i])
		}
		return list
	case map[string]any:
		members := map[string]any{}
		for name, value := range v {
			members[name] = p.resolved(value)
		}
		return members
	}
	return v
}

// idIn returns the id of what a call has started. Some agents show their model the text
// of a result, others its data.
func idIn(result, member string) string {
	if m := started.FindStringSubmatch(result); m != nil {
		return m[map[string]int{"turn_id": 1, "thread_id": 2}[member]]
	}
	for at := range len(result) {
		if result[at] != '{' {
			continue
		}
		var data map[string]any
		if json.NewDecoder(strings.NewReader(result[at:])).Decode(&data) != nil {
			continue
		}
		if id, ok := data[member].(string); ok {
			return id
		}
	}
	return "no " + member + " in the result"
}

// quotations parts a text into what its author says and what it quotes between two
// lines of a marker that it names.
func quotations(text string) (own string, quoted []string) {
	for {
		m := fencesOf.FindStringSubmatchIndex(text)
		if m == nil {
			return own + text, quoted
		}
		line := "\n" + text[m[2]:m[3]] + "\n"
		own += text[:m[1]]
		before, rest, opens := strings.Cut(text[m[1]:], line)
		inside, after, closes := strings.Cut("\n"+rest+"\n", line)
		if !opens || !closes {
			return own + text[m[1]:], quoted
		}
		quoted = append(quoted, strings.TrimSpace(inside))
		own, text = own+before+"\n", after
	}
}

// pieces parts a text, or its beginning, into lines.
func pieces(text string) []string {
	return strings.SplitAfter(strings.ToValidUTF8(text[:min(len(text), maxQuoted)], ""), "\n")
}

// full returns the tool's name with its namespace.
func (t tool) full() string {
	if t.namespace == "" {
		return t.name
	}
	return t.namespace + "/" + t.name
}

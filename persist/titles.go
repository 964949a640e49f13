package persist

import (
	"github.com/seed82539d15/holon/internal/sanitize"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// titles finds what threads are called in summaries.
type titles struct {
	s      Snapshot
	memory turns.Memory // nil keeps nothing
}

// of returns the title of a thread, else its first prompt, else its id if a client has
// chosen that; "" if there is none of these.
func (x *titles) of(t *threads.Thread) (string, error) {
	if t.Title != "" {
		return sanitize.Line(t.Title, turns.MaxSummaryTitle), nil
	}
	var known turns.Remembered
	if x.memory != nil {
		known = x.memory.Get(t.ThreadID)
	}
	if known.Prompt != "" {
		return known.Prompt, nil
	}
	prompt, err := x.firstPrompt(t.ThreadID)
	switch {
	case err != nil:
		return "", err
	case prompt != "":
		if known.Prompt = prompt; x.memory != nil {
			x.memory.Put(t.ThreadID, known)
		}
		return prompt, nil
	case !threads.GeneratedID(t.ThreadID):
		return sanitize.Line(t.ThreadID, turns.MaxSummaryTitle), nil
	}
	return "", nil
}

// firstPrompt finds the first prompt that the server has not written itself, among those
// of the thread's first turns.
func (x *titles) firstPrompt(threadID string) (prompt string, err error) {
	looked := 0
	err = x.s.Scan(ledger.Range{Index: turns.BriefOfThread, Prefix: []any{threadID}, First: 2}, func(v ledger.Values) error {
		if err := x.s.Scan(ledger.Range{Index: items.Input, Prefix: []any{v.Text(1)}}, func(v ledger.Values) error {
			c, err := items.Decode(items.Read(v).Content)
			if err != nil {
				return err
			}
			if m, ok := c.(items.UserMessage); ok && m.Origin != items.OriginWake && m.Origin != items.OriginResume && m.Origin != items.OriginAgent {
				prompt = sanitize.Line(m.Text(), turns.MaxSummaryTitle)
				return ledger.ErrEnough
			}
			return nil
		}); err != nil {
			return err
		}
		if looked++; prompt != "" || looked == turns.MaxSummaryTurns {
			return ledger.ErrEnough
		}
		return nil
	})
	return prompt, err
}

package threads

import (
	"math"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// Spent is what the attempts of all turns of a thread have used, superseded ones
// too: it never falls. Money is counted in millionths, so that sums are exact.
// It is in one currency, the first that was reported; amounts in others are left out.
type Spent struct {
	InputTokens  int64  `json:"input_tokens"`
	OutputTokens int64  `json:"output_tokens"`
	TotalTokens  int64  `json:"total_tokens"`
	Millionths   int64  `json:"millionths,omitzero"`
	Session      int64  `json:"session,omitzero"`  // millionths that the agent's session had cost, as last reported
	Currency     string `json:"currency,omitzero"` // "" = no cost was reported
}

// maxMillionths bounds the cost that one attempt counts for: a thousand million. An
// agent may report any number.
const maxMillionths = 1e15

// Spend returns the row of a thread in which an attempt that used this has ended. A
// nil usage changes nothing. The row's UpdatedSeq stays: it is of what clients see.
//
// Agents with sessions of their own (ACP) report what the session has cost so far, also
// after a restart: what came to it since the last report counts. If it is less than then,
// a new session has begun.
func (t *Thread) Spend(u *items.Usage) *Thread {
	if u == nil {
		return t
	}
	next, s := *t, Spent{}
	if t.Spent != nil {
		s = *t.Spent
	}
	s.InputTokens = sum(s.InputTokens, u.InputTokens)
	s.OutputTokens = sum(s.OutputTokens, u.OutputTokens)
	s.TotalTokens = sum(s.TotalTokens, u.TotalTokens)
	if c := u.Cost; c != nil && c.Currency != "" && (s.Currency == "" || s.Currency == c.Currency) {
		s.Currency = c.Currency
		cost := int64(min(maxMillionths, max(0, math.Floor(c.Amount*1e6+0.5))))
		if before := s.Session; t.AgentSessionID != "" {
			if s.Session = cost; cost >= before {
				cost -= before
			}
		}
		s.Millionths = sum(s.Millionths, cost)
	}
	next.Spent = &s
	return &next
}

// sum adds what an agent reports, which may be negative or too large.
func sum(a, b int64) int64 {
	if b = max(0, b); a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Spending is the row of a thread of which only Spent or Lines have changed, besides its newest
// seqs. The end of a turn writes it, and not the large columns.
type Spending struct{ *Thread }

// spendings writes the columns of a Spending.
var spendings = ledger.NewTable(ledger.Table{
	Name:    "threads",
	Columns: []string{"thread_id", "latest_seq", "latest_thread_seq", "spent"},
	Key:     []string{"thread_id"},
	Mutable: []string{"latest_seq", "latest_thread_seq", "spent"},
	CAS:     "latest_thread_seq",
})

// Table implements ledger.Row.
func (s *Spending) Table() *ledger.Table { return spendings }

// Values implements ledger.Row.
func (s *Spending) Values(first int64) (ledger.Values, error) {
	spent, err := s.spentColumn()
	return ledger.Values{s.ThreadID, notify.AssignSeq(s.LatestSeq, first), s.LatestThreadSeq, spent}, err
}

// onlySpends reports whether after differs from before in what was spent, or which lines
// were counted, alone.
func onlySpends(before, after *Thread) bool {
	return before != nil && (before.Spent != after.Spent || before.Lines != after.Lines) && before.UpdatedSeq == after.UpdatedSeq && before.Held == after.Held
}

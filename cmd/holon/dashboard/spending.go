package dashboard

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/overview"
	"github.com/seed82539d15/holon/rpc/client"
)

// spending adds up what the turns have cost that ended today. The feed's mutex
// guards it.
type spending struct {
	day      string // in the person's zone
	midnight time.Time
	read     bool               // the turns of before are in it
	lost     bool               // they cannot be read: no sum is shown
	pending  []end              // ends that came before
	sums     []overview.Money   // by currency, in the order in which they appeared
	counted  map[string]bool    // attempts of today, so that none counts twice
	sessions map[string]bool    // whether the thread's agent reports the cost of its whole session
	last     map[string]float64 // what the session of a thread had cost at its last end
}

// end is the end of an attempt.
type end struct {
	thread, attempt string
	at              time.Time
	cost            overview.Money
}

func newSpending(now time.Time) spending {
	s := spending{sessions: make(map[string]bool), last: make(map[string]float64)}
	s.begin(now)
	return s
}

// begin begins a day.
func (s *spending) begin(now time.Time) {
	year, month, day := now.Date()
	s.day, s.midnight = now.Format(time.DateOnly), time.Date(year, month, day, 0, 0, 0, 0, now.Location())
	s.sums, s.counted = nil, make(map[string]bool)
}

// turnEnd is what ends of turns have in common: rows of turn/list, and the params
// of their last events.
type turnEnd struct {
	ThreadID    string    `json:"thread_id"`
	TurnID      string    `json:"turn_id"`
	Attempt     int       `json:"attempt"`
	CreatedSeq  int64     `json:"created_seq"`
	CompletedAt time.Time `json:"completed_at"`
	Timestamp   time.Time `json:"timestamp"`
	Step        string    `json:"step"`
	Usage       struct {
		Cost overview.Money `json:"cost"`
	} `json:"usage"`
}

func (t *turnEnd) end() end {
	at := t.CompletedAt
	if at.IsZero() {
		at = t.Timestamp
	}
	return end{thread: t.ThreadID, attempt: t.TurnID + "/" + strconv.Itoa(t.Attempt), at: at, cost: t.Usage.Cost}
}

// event takes an event. more says that today's sum has changed to today.
func (s *spending) event(e client.Event, now time.Time) (today overview.Today, more bool) {
	if !strings.HasPrefix(e.Method, "turn/") && e.Method != "stream/rewind" {
		return today, false
	}
	var params turnEnd
	switch e.Method {
	case "turn/completed", "turn/failed", "turn/interrupted", "stream/rewind":
		if json.Unmarshal(e.Params, &params) != nil || params.Step != "" || params.Usage.Cost.Amount <= 0 {
			return today, false
		}
	default:
		return today, false
	}
	if now.Format(time.DateOnly) != s.day {
		s.begin(now)
	}
	ended := params.end()
	if !s.read {
		if s.lost = s.lost || len(s.pending) == maxPending; !s.lost {
			s.pending = append(s.pending, ended)
		}
		return today, false
	}
	s.add(ended)
	return s.today(), true
}

// add counts the end of an attempt. Ends of a thread are added in their order.
//
// An agent with a session of its own reports what the session has cost so far:
// what came to it counts. If it is less than before, a new session has begun.
func (s *spending) add(e end) {
	if s.counted[e.attempt] || e.cost.Amount <= 0 {
		return
	}
	amount := e.cost.Amount
	if s.sessions[e.thread] {
		if before := s.last[e.thread]; amount >= before {
			amount -= before
		}
		s.last[e.thread] = e.cost.Amount
	}
	if e.at.Before(s.midnight) {
		return
	}
	s.counted[e.attempt] = true
	i := slices.IndexFunc(s.sums, func(m overview.Money) bool { return m.Currency == e.cost.Currency })
	if i < 0 {
		i = len(s.sums)
		s.sums = append(s.sums, overview.Money{Currency: e.cost.Currency})
	}
	s.sums[i].Amount += amount
}

func (s *spending) today() overview.Today {
	return overview.Today{Day: s.day, Spent: slices.Clone(s.sums)}
}

// The turns of a day that are read at the start: more than that many pages are the
// day of a machine, whose sum then begins later.
const spentPages = 40

// maxPending bounds the ends that wait until those of before are read.
const maxPending = 10_000

// readSpent reads what the turns of today have cost, and of the sessions that go
// on what they had cost before.
func (f *feed) readSpent(ctx context.Context) {
	f.mu.Lock()
	midnight := f.today.midnight
	f.mu.Unlock()
	var ends []end
	params := map[string]any{"order": "desc", "limit": pageRows}
	follow := client.Pages{}
	for pages, over := 0, false; pages < spentPages; pages++ {
		rows, next, err := f.turnPage(ctx, params)
		if err != nil {
			f.mu.Lock()
			f.today.lost, f.today.pending = true, nil
			f.mu.Unlock()
			return
		}
		older := true
		for _, row := range rows {
			older = older && !row.CompletedAt.IsZero() && row.CompletedAt.Before(midnight)
			ends = append(ends, row.end())
		}
		// Turns are listed by their start: one that began earlier may have ended
		// today, so a further page is read.
		if more, err := follow.Follow(next); err != nil || !more || over && older {
			break
		}
		over = older
		params["cursor"] = next
	}
	ends = append(ends, f.sessionsBefore(ctx, ends, midnight)...)
	slices.SortStableFunc(ends, func(a, b end) int { return a.at.Compare(b.at) })
	f.mu.Lock()
	for _, e := range slices.Concat(ends, f.today.pending) {
		if !e.at.IsZero() {
			f.today.add(e)
		}
	}
	f.today.read, f.today.pending = !f.today.lost, nil
	today, read := f.today.today(), f.today.read
	f.mu.Unlock()
	if read {
		f.send(today)
	}
}

func (f *feed) turnPage(ctx context.Context, params map[string]any) (rows []turnEnd, next string, err error) {
	var page struct {
		Turns []turnEnd `json:"turns"`
		Next  string    `json:"next_cursor"`
	}
	err = f.call(ctx, "turn/list", params, &page)
	return page.Turns, page.Next, err
}

// sessionsBefore reads the newest end of before midnight of the sessions that have
// ends of today only: what came before does not count for today.
func (f *feed) sessionsBefore(ctx context.Context, ends []end, midnight time.Time) []end {
	known := make(map[string]bool) // whether an end of before is there
	for _, e := range ends {
		f.mu.Lock()
		session := f.today.sessions[e.thread]
		f.mu.Unlock()
		if session && e.cost.Amount > 0 {
			known[e.thread] = known[e.thread] || e.at.Before(midnight)
		}
	}
	var before []end
	for id, has := range known {
		if has {
			continue
		}
		rows, _, err := f.turnPage(ctx, map[string]any{"thread_id": id, "order": "desc", "limit": pageRows})
		if err != nil {
			continue
		}
		for _, row := range rows {
			if e := row.end(); e.cost.Amount > 0 && e.at.Before(midnight) && !e.at.IsZero() {
				before = append(before, e)
				break
			}
		}
	}
	return before
}

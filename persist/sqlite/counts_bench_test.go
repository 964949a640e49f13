package sqlite

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// mind is a turns.Memory without a bound.
type mind map[string]turns.Remembered

func (m mind) Get(id string) turns.Remembered    { return m[id] }
func (m mind) Put(id string, r turns.Remembered) { m[id] = r }

// BenchmarkCounts counts the statuses of 10,000 threads with three turns each, and lists
// those of one: of 100 threads, 2 need somebody, 5 work and 10 have failed, and as many
// have failed once and completed since.
func BenchmarkCounts(b *testing.B) {
	s := running(b, Options{Dir: b.TempDir(), Normal: true})
	const n = 10_000
	var want turns.StatusCounts
	for i := range n {
		m := persisttest.NewMaker(b, s, fmt.Sprintf("thread_0193a1b2-0000-7000-8000-%012d", i))
		m.Add(notify.ThreadStarted, "", "", &threads.Changed{Type: "started", State: threads.Running, Agent: "echo", Cwd: "/src/holon"})
		turn := func(j int) string { return fmt.Sprintf("turn_0193a1b2-0000-7000-%04d-%012d", j, i) }
		m.QueueTurn(turn(0), 1)
		m.Create(turn(0), items.NewID(), items.StatusCompleted, items.UserMessage{
			Type: items.KindUserMessage, Role: "user", Origin: items.OriginClient, Content: []items.Part{{Type: items.PartText, Text: fmt.Sprint("prompt ", i)}},
		})
		m.Attempt(turn(0))
		m.EndTurn(turn(0))
		kind := i % 100
		if kind >= 10 && kind < 30 {
			m.Attempt(turn(1))
			m.FailTurn(turn(1))
		} else {
			m.Attempt(turn(1))
			m.EndTurn(turn(1))
		}
		switch {
		case kind < 7:
			m.Attempt(turn(2))
			if want.Working++; kind < 2 {
				m.Create(turn(2), items.NewID(), items.StatusPending, items.PermissionRequest{Type: items.KindPermissionRequest, Title: "May I?"})
				want.NeedsYou, want.Working = want.NeedsYou+1, want.Working-1
			}
		case kind >= 10 && kind < 20:
			want.Failed++
		default:
			m.Attempt(turn(2))
			m.EndTurn(turn(2))
			want.Done++
		}
		m.Commit()
	}
	ctx := context.Background()
	read := func(b *testing.B, q turns.SummaryQuery) turns.SummaryList {
		l, err := s.reader.Summaries(ctx, q)
		if err != nil {
			b.Fatal(err)
		}
		return l
	}
	none := threads.Query{IDs: []string{}}
	has := func(t *threads.Thread, title string) bool {
		return strings.Contains(strings.ToLower(title+t.Cwd), "prompt")
	}
	warm := mind{}
	for _, c := range []struct {
		name string
		q    func() turns.SummaryQuery
	}{
		{"counts/cold", func() turns.SummaryQuery { return turns.SummaryQuery{Query: none, Counts: true, Memory: mind{}} }},
		{"counts/warm", func() turns.SummaryQuery { return turns.SummaryQuery{Query: none, Counts: true, Memory: warm} }},
		{"text/cold", func() turns.SummaryQuery {
			return turns.SummaryQuery{Query: none, Counts: true, Matches: has, Memory: mind{}}
		}},
		{"text/warm", func() turns.SummaryQuery {
			return turns.SummaryQuery{Query: none, Counts: true, Matches: has, Memory: warm}
		}},
		{"needs_you", func() turns.SummaryQuery {
			return turns.SummaryQuery{Query: threads.Query{Newest: true}, Statuses: []turns.ListStatus{turns.ListNeedsYou}, Memory: warm}
		}},
		{"failed", func() turns.SummaryQuery {
			return turns.SummaryQuery{Query: threads.Query{Newest: true}, Statuses: []turns.ListStatus{turns.ListFailed}, Memory: warm}
		}},
		{"done", func() turns.SummaryQuery {
			return turns.SummaryQuery{Query: threads.Query{Newest: true}, Statuses: []turns.ListStatus{turns.ListDone}, Memory: warm}
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if l := read(b, c.q()); l.Counts != nil {
					if l.Counts.WaitingSince = (notify.Time{}); *l.Counts != want {
						b.Fatalf("%+v, want %+v", *l.Counts, want)
					}
				} else if len(l.Rows) != 100 {
					b.Fatalf("%d rows", len(l.Rows))
				}
			}
		})
	}
}

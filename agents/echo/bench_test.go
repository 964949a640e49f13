package echo

import (
	"context"
	"testing"

	"github.com/seed82539d15/holon/internal/test/agenttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// nowhere accepts every op and keeps none.
type nowhere struct{}

func (nowhere) Emit(context.Context, []items.Op) error { return nil }
func (nowhere) Ask(context.Context, string, items.Content, turns.AskOptions) (turns.Answer, error) {
	return turns.Answer{}, nil
}
func (nowhere) Sync(context.Context) error { return nil }
func (nowhere) OnSteer(turns.Injector)     {}

// BenchmarkItems measures the load generator's own cost per item: it must be
// small compared with the log's.
func BenchmarkItems(b *testing.B) {
	b.ReportAllocs()
	p := &turns.Prompt{Sink: nowhere{}, Input: []items.UserMessage{agenttest.Message("/items 1000 100")}}
	for b.Loop() {
		New("echo").Run(b.Context(), p)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/item")
}

package sqlite

import (
	"fmt"
	"testing"

	"github.com/seed82539d15/holon/internal/test/persisttest"
)

// BenchmarkTurns commits turns of one thread: the start with a message, then the end
// with its usage.
func BenchmarkTurns(b *testing.B) {
	s := running(b, Options{Dir: b.TempDir(), Normal: true})
	m := persisttest.NewMaker(b, s, "thread_a").Start()
	m.Commit()
	for n := 0; b.Loop(); n++ {
		turn := fmt.Sprint("turn_", n)
		m.Attempt(turn)
		m.Messages(turn, 1, benchSize)
		m.Commit()
		m.EndTurn(turn)
		m.Commit()
		clear(m.Items)
		clear(m.Turns)
		clear(m.Steps)
	}
}

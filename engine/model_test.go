package engine_test

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/internal/test/hosttest"
	"github.com/seed82539d15/holon/turns"
)

// The property test: clients that do anything at any time, agents that do
// anything, a disk that is full at times, and crashes in between. The model is what
// clients were answered. In the end all of it must be in the log, the log must keep
// the invariants (checker), everything that began must have ended, and no slot may
// be taken.

func drawScript(t *rapid.T) script {
	return script{
		Steps:   rapid.SliceOfN(rapid.SampledFrom(stepKinds), 0, 6).Draw(t, "steps"),
		Outcome: rapid.SampledFrom(outcomes).Draw(t, "outcome"),
		Deaf:    rapid.IntRange(0, 4).Draw(t, "deaf") == 0,
	}
}

func drawMove(t *rapid.T) move {
	return move{
		Kind:   rapid.SampledFrom(moveKinds).Draw(t, "kind"),
		Thread: rapid.IntRange(0, 3).Draw(t, "thread"),
		Pick:   rapid.IntRange(0, 1000).Draw(t, "pick"),
		Wait:   time.Duration(rapid.SampledFrom([]int{0, 0, 0, 1, 5, 300, 2000}).Draw(t, "wait")) * time.Millisecond,
		Script: drawScript(t),
	}
}

// rapidTB is a testing.TB whose failures are those of one run of a property.
type rapidTB struct {
	testing.TB
	rt *rapid.T
}

func (t rapidTB) Helper()                   {}
func (t rapidTB) Error(a ...any)            { t.rt.Error(a...) }
func (t rapidTB) Errorf(f string, a ...any) { t.rt.Errorf(f, a...) }
func (t rapidTB) Fatal(a ...any)            { t.rt.Fatal(a...) }
func (t rapidTB) Fatalf(f string, a ...any) { t.rt.Fatalf(f, a...) }
func (t rapidTB) Logf(f string, a ...any)   { t.rt.Logf(f, a...) }
func (t rapidTB) Failed() bool              { return t.rt.Failed() }

func TestWhateverClientsAndAgentsDo(t *testing.T) {
	outlived := 0
	defer func() { t.Logf("%d questions have outlived the server", outlived) }()
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(struct{ rapid.TB }{t}, func(rt *rapid.T) { // a bubble has no deadline
			moves := rapid.SliceOfN(rapid.Custom(drawMove), 1, 25)
			phases := rapid.SliceOfN(rapid.SliceOfN(moves, 1, 4), 1, 3).Draw(rt, "phases")
			crashAfter, drains := make([]time.Duration, len(phases)), make([]time.Duration, len(phases))
			for i := range crashAfter {
				drains[i] = time.Duration(rapid.SampledFrom([]int{0, 0, 100, 4000, 20000}).Draw(rt, "drains for")) * time.Millisecond
				crashAfter[i] = time.Duration(rapid.IntRange(0, 5000).Draw(rt, "crash after")) * time.Millisecond
			}
			w := newWorld()
			w.h = newHarness(rapidTB{t, rt}, setup{
				cfg:    engine.Config{MaxActiveTurns: 2, MaxQueue: 5, IntakeBytes: 8 << 10, InterruptAfter: 3 * time.Second, DefaultAgent: "random"},
				agents: []turns.Agent{random{w}},
			})
			defer w.h.close()
			w.play(phases, crashAfter, drains)
			w.settle()
			w.check()
			w.h.check()
			outlived += w.outlived
		})
	})
}

func TestGateHoldsNothingAfterThousandsOfCommands(t *testing.T) {
	hosttest.Long(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	pick := func(from []string) string { return from[r.IntN(len(from))] }
	clients := make([][]move, 8)
	for i := range clients {
		for range 500 {
			clients[i] = append(clients[i], move{
				Kind: pick(moveKinds), Thread: r.IntN(4), Pick: r.IntN(1000), Wait: time.Duration(r.IntN(200)) * time.Millisecond,
				Script: script{Outcome: pick([]string{"", "", "failed", "crash once"}), Steps: []string{pick([]string{"message", "usage", "half", "bad", "wait", "taking text", "sync", "title", "many steps"})}},
			})
		}
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.neverClose = true
		w.h = newHarness(t, setup{
			cfg:    engine.Config{MaxActiveTurns: 2, MaxQueue: 10, DefaultAgent: "random"},
			agents: []turns.Agent{random{w}},
		})
		w.play([][][]move{clients}, nil, nil)
		w.settle() // reads the gate
		w.check()
		w.h.check()
		if n := len(w.started); n < 200 {
			t.Errorf("only %d turns: this proves nothing", n)
		}
	})
}

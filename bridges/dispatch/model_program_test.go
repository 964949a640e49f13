package dispatch

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/notify"
)

// modelMove is one thing that happens in a run. Pick and How choose what it is done to
// and how, from what there is by then.
type modelMove struct {
	Kind      string
	Pick, How int
	Async     bool          // of commands: the next move begins before this one has ended
	Wait      time.Duration // after it; 0 = the next one races with what it has caused
}

// modelSub is a subscription of a run.
type modelSub struct {
	ID, Bridge, Thread string
	On                 []bridges.On
	Methods            []string
	Order              bridges.Order
	Text               bool
	Beginning          bool // else it begins as subscriptions do if they do not say where
}

// modelProgram is a run of the model: everything that is random in it, except for the
// order of goroutines.
type modelProgram struct {
	Seed    uint64
	Bad     int // of a hundred attempts, how many go wrong until the target heals
	Drops   []string
	Threads []string
	Subs    []modelSub
	Moves   []modelMove

	killCommit, killAnswer int // the program dies at its commit, or at the answer, with this number; 0 = it does not
}

func (p *modelProgram) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, %d %% of attempts go wrong, dropping bridges %v\n", p.Seed, p.Bad, p.Drops)
	for _, s := range p.Subs {
		fmt.Fprintf(&b, "  %+v\n", s)
	}
	for _, m := range p.Moves {
		fmt.Fprintf(&b, "  %s", m)
	}
	return b.String()
}

func (m modelMove) String() string {
	return fmt.Sprintf("{%q, %d, %d, %t, %d}\n", m.Kind, m.Pick, m.How, m.Async, m.Wait)
}

// The bridges of a run: one cannot change messages, the other can.
const (
	modelHook = "hook"
	modelChat = "chat"
)

// modelKinds are the kinds of moves, as often as they occur. Work is what agents do.
var modelKinds = func() (list []string) {
	for _, k := range []struct {
		kind  string
		times int
	}{
		{"work", 55}, {"end", 14}, {"retry", 9}, {"ask", 5}, {"answer", 5},
		{"damage", 1}, {"repair", 1},
		{"pause", 2}, {"resume", 4}, {"update", 2}, {"move", 3}, {"reset", 2}, {"skip", 1}, {"skip one", 1}, {"delete", 1}, {"create", 3}, {"renew", 2}, {"redeliver", 3},
		{"bridge pause", 2}, {"bridge resume", 5}, {"bridge update", 1},
		{"restart", 1}, {"crash", 2}, {"crash at commit", 5}, {"crash at answer", 4}, {"full", 1}, {"space", 3},
	} {
		for range k.times {
			list = append(list, k.kind)
		}
	}
	return list
}()

// modelWaits are few different times, so that things happen at once.
var modelWaits = []time.Duration{
	0, 0, 0, 0, time.Nanosecond, time.Nanosecond, time.Nanosecond, time.Millisecond, time.Second, time.Second, 7 * time.Second, 40 * time.Second,
	3 * time.Minute, 20 * time.Minute, 2 * time.Hour,
}

func oneOf[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

func newModelProgram(seed uint64) *modelProgram {
	r := rand.New(rand.NewPCG(seed, 7))
	p := &modelProgram{Seed: seed, Bad: oneOf(r, []int{0, 20, 40, 60, 85}), Threads: []string{"a", "b", "c"}[:1+r.IntN(3)]}
	for _, id := range []string{modelHook, modelChat} {
		if r.IntN(2) == 0 {
			p.Drops = append(p.Drops, id)
		}
	}
	for i := range 2 + r.IntN(3) {
		p.Subs = append(p.Subs, newModelSub(r, p, i))
	}
	for range 25 + r.IntN(50) {
		m := modelMove{Kind: oneOf(r, modelKinds), Pick: r.IntN(1000), How: r.IntN(1000), Wait: oneOf(r, modelWaits)}
		m.Async = r.IntN(5) == 0
		switch r.IntN(150) {
		case 0:
			m.Wait = 26 * time.Hour
		case 1:
			m.Wait = 8 * 24 * time.Hour
		}
		p.Moves = append(p.Moves, m)
	}
	return p
}

// modelChoices are what subscriptions choose.
var modelChoices = [][]bridges.On{
	{bridges.OnFinal}, {bridges.OnFinal}, {bridges.OnQuestions}, {bridges.OnFinal, bridges.OnQuestions}, {bridges.OnFinal, bridges.OnProgress},
	{bridges.OnProgress, bridges.OnQuestions, bridges.OnFinal}, {bridges.OnProgress}, nil,
}

// modelMethods are events that are chosen by their names.
var modelMethods = []string{
	notify.DeliveryDead, notify.DeliveryMismatch, notify.BridgePaused, notify.SubscriptionReset, notify.CursorReset, notify.TurnCompleted, notify.TurnReviewed,
	notify.ItemCreated,
}

func newModelSub(r *rand.Rand, p *modelProgram, i int) modelSub {
	s := modelSub{ID: fmt.Sprint("s", i), Bridge: modelHook, On: oneOf(r, modelChoices), Order: bridges.OrderTurn, Text: r.IntN(2) == 0, Beginning: r.IntN(3) == 0}
	if r.IntN(2) == 0 {
		s.Bridge = modelChat
	}
	if r.IntN(3) == 0 {
		s.Thread = oneOf(r, p.Threads)
	}
	if r.IntN(4) == 0 {
		s.Order = bridges.OrderStrict
	}
	for range r.IntN(3) {
		s.Methods = append(s.Methods, oneOf(r, modelMethods))
	}
	slices.Sort(s.Methods)
	s.Methods = slices.Compact(s.Methods)
	if len(s.On) == 0 && len(s.Methods) == 0 {
		s.On = []bridges.On{bridges.OnFinal}
	}
	return s
}

// smaller lists programs with less in them, those that leave out most first.
func (p *modelProgram) smaller() (list []*modelProgram) {
	for n := len(p.Moves) / 2; n > 0; n /= 2 {
		for from := 0; from+n <= len(p.Moves); from += n {
			q := *p
			q.Moves = slices.Delete(slices.Clone(p.Moves), from, from+n)
			list = append(list, &q)
		}
	}
	for i := range p.Subs {
		q := *p
		q.Subs = slices.Delete(slices.Clone(p.Subs), i, i+1)
		list = append(list, &q)
	}
	for i, m := range p.Moves {
		if m.Async || m.Wait > time.Nanosecond {
			q := *p
			q.Moves = slices.Clone(p.Moves)
			q.Moves[i].Async, q.Moves[i].Wait = false, time.Nanosecond
			list = append(list, &q)
		}
	}
	return list
}

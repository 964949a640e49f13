package follow

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// modelFollower is what one follower must have done.
type modelFollower struct {
	Interest
	name, kind string
	progress   *Progress
	since      int64 // it began after this seq
	must, may  map[int64]bool
	handled    []int64 // of the plain kind: of one life
	everDid    []int64
	threads    map[string]bool
}

// model is a world with random followers, and what its log has had.
type model struct {
	*world
	e         effects
	makers    []*persisttest.Maker
	followers []*modelFollower
	read      int64          // the log up to it is in must and may
	trouble   func(int) bool // whether to inject a failure this time
	turns     int
}

var errTrouble = errors.New("trouble")

func (m *model) begin() {
	m.life.appended = m.e.committed
	m.owner.fail = func() error {
		if m.trouble(10) {
			return errTrouble
		}
		return nil
	}
	for _, f := range m.followers {
		m.attach(f)
	}
}

func (m *model) attach(f *modelFollower) {
	effect := map[string]func(context.Context, *Batch) ([]Task, error){"tasks": m.e.tasks(f.name), "moves": m.e.moves(m.world, f.name)}[f.kind]
	f.handled = nil
	want := f.Interest
	for id := range f.threads {
		want.Threads = append(want.Threads, id)
	}
	follower := Follower{Name: f.name, Interest: want, Handle: func(ctx context.Context, b *Batch) ([]Task, error) {
		if b.Lost != nil || b.Restored {
			return nil, fmt.Errorf("%+v", b)
		}
		if m.trouble(8) {
			return nil, errTrouble
		}
		if effect == nil {
			m.e.mu.Lock()
			defer m.e.mu.Unlock()
			for _, e := range b.Events {
				f.handled = append(f.handled, e.Seq)
				f.everDid = append(f.everDid, e.Seq)
			}
			return nil, nil
		}
		tasks, err := effect(ctx, b)
		if err == nil && m.trouble(8) {
			err = errTrouble
		}
		return tasks, err
	}}
	var err error
	if f.progress, err = m.d.Add(context.Background(), follower); errors.Is(err, errLost) {
		f.progress = m.add(follower)
	} else if err != nil {
		m.t.Fatal(err)
	}
}

// look adds what is new in the log to what followers must do.
func (m *model) look() {
	for {
		p, err := m.store.Reader().Page(context.Background(), notify.Query{After: m.read, MaxEvents: 1000, MaxBytes: 1 << 20})
		if err != nil {
			m.t.Fatal(err)
		}
		for _, e := range p.Events {
			id := notify.ThreadIDOf(e.Params)
			for _, f := range m.followers {
				methods := notify.Filter{Methods: f.Methods}
				if e.Seq > f.since && methods.Match(id, e.Method) && (f.All || f.threads[id]) {
					f.must[e.Seq] = true
				}
				if methods.Match(id, e.Method) {
					f.may[e.Seq] = true
				}
			}
		}
		if m.read = p.Scanned; !p.More {
			return
		}
	}
}

// step does one random thing.
func (m *model) step(r *rapid.T) {
	k := m.makers[rapid.IntRange(0, len(m.makers)-1).Draw(r, "thread")]
	switch rapid.SampledFrom([]string{"events", "events", "events", "turn", "prune", "follower", "watch", "crash", "restart", "wait", "settle", "lose"}).Draw(r, "step") {
	case "events":
		if k.Thread == nil {
			k.Start()
		}
		for range rapid.IntRange(1, 5).Draw(r, "units") {
			k.Messages("", rapid.SampledFrom([]int{1, 2, 30, 300}).Draw(r, "events"), rapid.SampledFrom([]int{5, 500}).Draw(r, "bytes"))
			k.Commit()
		}
	case "turn":
		if k.Thread == nil {
			k.Start()
		}
		m.turns++
		id := fmt.Sprint("turn_", m.turns)
		k.Attempt(id)
		k.Messages(id, 2, 10)
		k.Commit()
		for range rapid.IntRange(0, 2).Draw(r, "rewinds") {
			k.Rewind(id, "", turns.CauseCrash)
			k.Attempt(id)
			k.Commit()
		}
		k.EndTurn(id)
		k.Commit()
	case "prune":
		m.look()
		if _, err := m.store.Prune(context.Background(), rapid.Int64Range(1, m.read+1).Draw(r, "before")); err != nil {
			r.Fatal(err)
		}
	case "follower":
		if len(m.followers) < 5 {
			f := &modelFollower{name: fmt.Sprint("f", len(m.followers)), must: map[int64]bool{}, may: map[int64]bool{}, threads: map[string]bool{}}
			f.kind = rapid.SampledFrom([]string{"plain", "tasks", "moves"}).Draw(r, "kind")
			f.All = rapid.Bool().Draw(r, "all")
			f.Methods = rapid.SampledFrom([][]string{nil, {"turn/*"}, {notify.ItemCreated}, {notify.ThreadStarted, "item/*"}}).Draw(r, "methods")
			m.look()
			f.since = m.read
			m.attach(f)
			m.followers = append(m.followers, f)
		}
	case "watch":
		for _, f := range m.followers {
			if f.All || !rapid.Bool().Draw(r, "this one") {
				continue
			}
			m.look()
			if f.threads[k.ID] {
				f.progress.Unwatch(k.ID)
				delete(f.threads, k.ID)
				f.must = map[int64]bool{} // what it has not handled yet may be missed
			} else {
				if s := f.progress.Watch(k.ID); s > m.read {
					r.Fatalf("watches from %d at %d", s, m.read)
				}
				f.threads[k.ID] = true
			}
		}
	case "crash":
		m.look()
		m.crash()
		m.begin()
		m.run()
	case "restart":
		m.look()
		m.restart()
		m.begin()
		m.run()
	case "wait":
		time.Sleep(time.Duration(rapid.SampledFrom([]int{1, 400, 12_000}).Draw(r, "wait")) * time.Millisecond)
	case "settle":
		synctest.Wait()
	case "lose":
		m.life.mu.Lock()
		m.life.loseNext = true
		m.life.mu.Unlock()
	}
	m.look()
	m.e.mu.Lock()
	defer m.e.mu.Unlock()
	for _, f := range m.followers {
		if !slices.IsSorted(f.handled) {
			r.Fatalf("%s handled %s", f.name, ranges(f.handled))
		}
	}
}

// check compares what followers did with what they had to do.
func (m *model) check(r *rapid.T) {
	for _, f := range m.followers {
		s := f.progress.Status()
		if s.Lag != 0 || s.Ended {
			r.Errorf("%s: %+v", f.name, s)
		}
		did := f.everDid
		if f.kind != "plain" {
			did = m.e.of(f.name)
			sorted := slices.Clone(did)
			slices.Sort(sorted)
			if len(slices.Compact(sorted)) != len(did) {
				r.Errorf("%s (%s) did something twice: %s", f.name, f.kind, ranges(did))
			}
		}
		if f.kind == "moves" && !slices.IsSorted(did) {
			r.Errorf("%s (%s) did not keep the order: %s", f.name, f.kind, ranges(did))
		}
		for _, seq := range did {
			if !f.may[seq] || seq <= f.since && f.All {
				r.Errorf("%s (%s) did %d, which it does not want", f.name, f.kind, seq)
			}
			delete(f.must, seq)
		}
		if len(f.must) > 0 {
			r.Errorf("%s (%s) has not done %v, but %s", f.name, f.kind, f.must, ranges(did))
		}
	}
	for _, err := range m.life.reports("") {
		if !errors.Is(err, errLost) {
			r.Error(err)
		}
	}
}

// TestEveryFollowerHandlesWhatItWants runs random followers over a random log,
// with crashes, failures and prunes: each handles every event that it wants at
// least once and in order, and with identities exactly once.
func TestEveryFollowerHandlesWhatItWants(t *testing.T) {
	base := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(struct{ rapid.TB }{t}, func(r *rapid.T) { // a bubble has no deadline to ask for
			dir, err := os.MkdirTemp(base, "log")
			if err != nil {
				r.Fatal(err)
			}
			m := &model{world: newWorld(t, dir, rapid.SampledFrom([]int{1, 3000, 100_000}).Draw(r, "tail"))}
			defer m.close()
			random := rapid.SliceOfN(rapid.IntRange(0, 1000), 50, 50).Draw(r, "trouble")
			var n, calm atomic.Int64
			m.trouble = func(oneIn int) bool {
				return random[n.Add(1)%50]%oneIn == 0 && calm.Load() == 0
			}
			for i := range 3 {
				m.makers = append(m.makers, persisttest.NewMaker(t, m.store, strings.Repeat("t", i+1)))
			}
			m.begin()
			m.run()
			for range rapid.IntRange(1, 25).Draw(r, "steps") {
				m.step(r)
			}
			calm.Store(1)
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			m.check(r)
		})
	})
}

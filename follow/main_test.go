package follow

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/persist/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a running store with a dispatcher that can end normally or by a
// crash.
type world struct {
	t     testing.TB
	store *sqlite.Store
	owner *owner
	d     *Dispatcher
	life  *life
	stop  func()
	end   []func()

	bounds Bounds
}

// life is a store as one run of a program sees it: nothing that it writes after
// its crash arrives.
type life struct {
	*sqlite.Store
	mu       sync.Mutex
	dead     bool
	units    []*ledger.Unit     // that were committed for followers
	loseNext bool               // commits, and says that it has not
	errs     map[string][]error // reports
	appended func(*ledger.Unit, bool)
}

var errDead = errors.New("the program has ended")
var errLost = errors.New("it is not known whether it was committed")

func (l *life) Append(u *ledger.Unit) (ledger.Receipt, error) {
	l.mu.Lock()
	dead, lose := l.dead, l.loseNext
	l.loseNext = false
	l.mu.Unlock()
	if dead {
		return ledger.Receipt{}, errDead
	}
	if lose {
		// The rows that the caller has get no seqs: it must not learn anything.
		copied := *u
		copied.Rows = nil
		for _, r := range u.Rows {
			if m, ok := r.(*move); ok {
				r = &move{m.row, &Batch{}}
			}
			copied.Rows = append(copied.Rows, r)
		}
		u = &copied
	}
	r, err := l.Store.Append(u)
	if err != nil {
		return r, err
	}
	l.mu.Lock()
	l.units = append(l.units, u)
	f := l.appended
	l.mu.Unlock()
	if f != nil {
		f(u, r.Stored == nil)
	}
	if lose {
		return ledger.Receipt{}, errLost
	}
	return r, nil
}

// writes returns how many units were committed since its last call.
func (l *life) writes() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.units)
	l.units = nil
	return n
}

func (l *life) report(name string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errs[name] = append(l.errs[name], err)
}

func (l *life) reports(name string) []error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.errs[name]
}

// owner does tasks, each identity once.
type owner struct {
	life *life
	fail func() error
}

func (o *owner) Take(_ context.Context, tasks []Task) error {
	for _, t := range tasks {
		u, err := t.Do(nil)
		if err != nil {
			return err
		}
		u.Key = &ledger.Key{Key: t.Unique, Method: "follow"}
		if _, err := o.life.Append(u); err != nil {
			return err
		}
		if o.fail != nil {
			if err := o.fail(); err != nil {
				return err
			}
		}
	}
	return nil
}

func newWorld(t testing.TB, dir string, tailBytes int) *world {
	s, err := sqlite.Open(sqlite.Options{Dir: dir, Normal: true, TailBytes: tailBytes})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, store: s}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	w.end = append(w.end, func() {
		cancel()
		if err := errors.Join(<-done, s.Close()); err != nil {
			t.Error(err)
		}
	})
	w.open()
	return w
}

// open opens a dispatcher that does not run yet.
func (w *world) open() {
	p, err := w.store.Reader().Position(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	w.life = &life{Store: w.store, errs: map[string][]error{}}
	w.owner = &owner{life: w.life}
	cfg := Config{Store: w.life, Reader: w.store.Reader(), Tail: w.store.Tail(), LogID: p.LogID, Actors: w.owner, Report: w.life.report, Bounds: w.bounds}
	cfg.Now = func() time.Time { // makers have their own clock
		c, _ := w.store.Reader().Counts(context.Background())
		return c.LastEventAt.Time
	}
	if w.d, err = Open(context.Background(), cfg); err != nil {
		w.t.Fatal(err)
	}
	w.store.KeepFrom(w.d.Floor)
	w.stop = func() {}
}

func (w *world) run() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	d := w.d
	go func() { done <- d.Run(ctx) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Error(err)
		}
	})
}

// crash ends the dispatcher; nothing of what it has not written is kept.
func (w *world) crash() {
	w.life.mu.Lock()
	w.life.dead = true
	w.life.mu.Unlock()
	w.stop()
	w.open()
}

func (w *world) restart() {
	w.stop()
	w.open()
}

func (w *world) close() {
	w.stop()
	for _, f := range w.end {
		f()
	}
}

func (w *world) add(f Follower) *Progress {
	w.t.Helper()
	l, err := w.d.Add(context.Background(), f)
	if err != nil {
		w.t.Fatal(err)
	}
	return l
}

// thread makes a thread with so many events besides thread/started.
func (w *world) thread(id string, n int) *persisttest.Maker {
	m := persisttest.NewMaker(w.t, w.store, id).Start()
	m.Messages("", n, 20)
	m.Commit()
	return m
}

// seen collects what a follower handles.
type seen struct {
	mu       sync.Mutex
	seqs     []int64
	lost     []Lost
	restored int
	fail     func(b *Batch) error
}

func (s *seen) handle(_ context.Context, b *Batch) ([]Task, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		if err := s.fail(b); err != nil {
			return nil, err
		}
	}
	if b.Lost != nil {
		s.lost = append(s.lost, *b.Lost)
	}
	if b.Restored {
		s.restored++
	}
	for _, e := range b.Events {
		s.seqs = append(s.seqs, e.Seq)
	}
	return nil, nil
}

// take returns what was handled since its last call.
func (s *seen) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := ranges(s.seqs)
	if len(s.lost) > 0 {
		text = fmt.Sprint("lost ", s.lost, " ", text)
	}
	if s.restored > 0 {
		text = fmt.Sprint("restored ", text)
	}
	s.seqs, s.lost, s.restored = nil, nil, 0
	return strings.TrimSpace(text)
}

// ranges spells seqs in their order: 1-3 5.
func ranges(seqs []int64) string {
	var list []string
	for i := 0; i < len(seqs); {
		j := i
		for j+1 < len(seqs) && seqs[j+1] == seqs[j]+1 {
			j++
		}
		if i == j {
			list = append(list, fmt.Sprint(seqs[i]))
		} else {
			list = append(list, fmt.Sprintf("%d-%d", seqs[i], seqs[j]))
		}
		i = j + 1
	}
	return strings.Join(list, " ")
}

func (s *seen) want(t testing.TB, want string) {
	t.Helper()
	synctest.Wait()
	if got := s.take(); got != want {
		t.Errorf("handled %q, want %q", got, want)
	}
}

// inWorld runs a test on a store in a bubble.
func inWorld(t *testing.T, tailBytes int, f func(t *testing.T, w *world)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, dir, tailBytes)
		defer w.close()
		f(t, w)
	})
}

var everything = Interest{All: true}

func methods(m ...string) Interest { return Interest{All: true, Methods: m} }

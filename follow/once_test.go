package follow

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/ledger"
)

// effects are what followers have written to the database, in the order of
// commits. A unit has them in Result, which a store ignores without a key.
type effects struct {
	mu   sync.Mutex
	list []effect
}

type effect struct {
	Follower string
	Seqs     []int64
}

func (e *effects) unit(follower string, events []Event) *ledger.Unit {
	made := effect{Follower: follower}
	for _, ev := range events {
		made.Seqs = append(made.Seqs, ev.Seq)
	}
	raw, _ := json.Marshal(made)
	return &ledger.Unit{Result: raw}
}

// committed is called with each unit in order; first is false where its key had
// been used before.
func (e *effects) committed(u *ledger.Unit, first bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var made effect
	if first && u.Result != nil && json.Unmarshal(u.Result, &made) == nil {
		e.list = append(e.list, made)
	}
}

func (e *effects) of(follower string) (seqs []int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, made := range e.list {
		if made.Follower == follower {
			seqs = append(seqs, made.Seqs...)
		}
	}
	return seqs
}

// tasks is a handler that leaves its effects to an owner, one for each event.
func (e *effects) tasks(follower string) func(context.Context, *Batch) ([]Task, error) {
	return func(_ context.Context, b *Batch) (list []Task, err error) {
		for i, ev := range b.Events {
			list = append(list, Task{ThreadID: ev.ThreadID, Unique: follower + ":" + ranges([]int64{ev.Seq}), Do: func(any) (*ledger.Unit, error) {
				return e.unit(follower, b.Events[i:i+1]), nil
			}})
		}
		return list, nil
	}
}

// moves is a handler that commits its effects with its position.
func (e *effects) moves(w *world, follower string) func(context.Context, *Batch) ([]Task, error) {
	return func(_ context.Context, b *Batch) ([]Task, error) {
		for events := range slices.Chunk(b.Events, 3) {
			u := e.unit(follower, events)
			b.Move(u, events[len(events)-1].Seq)
			if _, err := w.life.Append(u); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
}

func TestEffectsHappenOnce(t *testing.T) {
	for _, how := range []string{"tasks", "moves"} {
		inWorld(t, 0, func(t *testing.T, w *world) {
			var e effects
			add := func() {
				w.life.appended = e.committed
				handle := e.tasks("x")
				if how == "moves" {
					handle = e.moves(w, "x")
				}
				w.add(Follower{Name: "x", Interest: everything, Handle: handle})
			}
			add()
			w.run()
			m := w.thread("a", 9)
			synctest.Wait()
			if got := ranges(e.of("x")); got != "1-10" {
				t.Errorf("%s: did %s", how, got)
			}
			w.crash() // nothing was saved
			add()
			w.run()
			synctest.Wait()
			w.life.mu.Lock()
			w.life.loseNext = true // a commit whose answer is lost
			w.life.mu.Unlock()
			m.Messages("", 10, 10)
			m.Commit()
			synctest.Wait()
			if errs := w.life.reports("x"); len(errs) != 1 || !errors.Is(errs[0], errLost) {
				t.Errorf("%s: %v", how, errs)
			}
			time.Sleep(time.Minute)
			if got := ranges(e.of("x")); got != "1-20" {
				t.Errorf("%s: did %s", how, got)
			}
			if errs := w.life.reports(""); len(errs) != 0 {
				t.Error(errs)
			}
		})
	}
}

func TestTasksNeedActors(t *testing.T) {
	inWorld(t, 0, func(t *testing.T, w *world) {
		w.d.cfg.Actors = nil
		l := w.add(Follower{Name: "x", Interest: everything, Handle: (&effects{}).tasks("x")})
		w.run()
		w.thread("a", 0)
		synctest.Wait()
		if s := l.Status(); s.Failures != 1 || s.Err == nil {
			t.Errorf("%+v", s)
		}
	})
}

func TestMoveFromAnOldPositionIsRefused(t *testing.T) {
	inWorld(t, 0, func(t *testing.T, w *world) {
		var e effects
		var old *Batch
		w.add(Follower{Name: "x", Interest: everything, Handle: func(ctx context.Context, b *Batch) ([]Task, error) {
			copied := *b
			old = &copied
			return e.moves(w, "x")(ctx, b)
		}})
		w.run()
		w.thread("a", 5)
		synctest.Wait()
		var u ledger.Unit
		old.Move(&u, 6)
		if _, err := w.store.Append(&u); !errors.Is(err, ledger.ErrStale) {
			t.Errorf("a second move from the same position: %v", err)
		}
	})
}

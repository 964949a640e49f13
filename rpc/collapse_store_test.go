package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/notify/fold"
	"github.com/seed82539d15/holon/persist/sqlite"
	"github.com/seed82539d15/holon/turns"
)

// stored is a server on a socket with its own store on disk.
func stored(t testing.TB, tailBytes int) (*rig, *sqlite.Store) {
	t.Helper()
	store, err := sqlite.Open(sqlite.Options{Dir: t.TempDir(), TailBytes: tailBytes, Normal: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- store.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ran; err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return serve(t, Config{Services: api.Services{Engine: &fakeEngine{t: t}, Reader: store.Reader(), LogID: testLogID, Version: "test",
		Cursors: cursors.New(cursors.Config{Log: store, Reader: store.Reader(), Scanned: func(n cursors.Name) int64 { return int64(len(n.ConsumerID)) }}),
	}, Tail: store.Tail()}), store
}

// retries writes a random history of one turn, each unit as one commit: at
// least two attempts, nested steps, all retried at random times.
func retries(m *persisttest.Maker, rnd *rand.Rand, units int) {
	const turn = "turn_a"
	paths := []string{"a", "b", "a/x", "a/y"}
	m.Attempt(turn)
	m.Commit()
	for n := range units {
		path := paths[rnd.IntN(len(paths))]
		live := m.Live(turn, path) != nil
		switch k := rnd.IntN(20); {
		case n == units/2 || k == 0:
			m.Interrupt(turn, "")
			m.Rewind(turn, "", turns.CauseCrash)
			m.Commit()
			m.Late(turn, m.Turns[turn].Attempt-1, "", m.Turns[turn].Attempt-1)
			m.Attempt(turn)
		case k < 4 && live:
			m.Interrupt(turn, path)
			m.Rewind(turn, path, turns.CauseTransient)
		case k < 12 && !live && m.Live(turn, notify.StepAbove(path)) != nil:
			m.Begin(turn, path)
		case live:
			m.In(turn, path)
			m.Messages(turn, 1+rnd.IntN(5), 200)
		default:
			m.In(turn, "")
			m.Create(turn, items.NewID(), items.StatusInProgress, items.NewAgentMessage("a word"))
		}
		m.Commit()
	}
	m.Interrupt(turn, "")
	m.EndTurn(turn)
	m.Commit()
}

// folding folds the events of streams.
type folding struct {
	view *fold.View
	seqs []int64
}

// to reads a stream up to a seq, or n lines of it.
func (f *folding) to(st *stream, head int64, lines int) {
	st.t.Helper()
	for ; f.view.Cursor() < head && lines > 0; lines-- {
		line := st.next()
		var frame struct {
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if err := json.Unmarshal([]byte(line), &frame); err != nil {
			st.t.Fatalf("%s: %v", line, err)
		}
		e, err := fold.Parse(frame.Method, frame.Params)
		if err != nil {
			st.t.Fatal(err)
		}
		switch frame.Method {
		case notify.StreamOpened:
		case notify.StreamHeartbeat:
			f.view.Advance(e.Seq)
		default:
			if e.Seq <= f.view.Cursor() {
				st.t.Fatalf("after %d came %d", f.view.Cursor(), e.Seq)
			}
			f.seqs = append(f.seqs, e.Seq)
			f.view.Apply(&e)
		}
	}
}

// live are the seqs of the live events in the view.
func (f *folding) live() []int64 {
	seqs := map[int64]bool{}
	f.view.Turns(func(t *fold.Turn) bool {
		live, _ := t.Events()
		for _, e := range live {
			seqs[e.Seq] = true
		}
		return true
	})
	return slices.Sorted(maps.Keys(seqs))
}

func TestEveryReaderOfARetriedTurnEndsWithTheSameView(t *testing.T) {
	for seed, tail := range []int{1, 2000, 20_000, 0} {
		t.Run(fmt.Sprint("tail of ", tail), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(uint64(seed), 1))
			r, store := stored(t, tail)
			m := persisttest.NewMaker(t, store, "thread_a").Start()
			m.Commit()
			readers := []*folding{}
			open := func(query string, after int64) (*folding, *stream) {
				f := &folding{view: fold.New(fold.Options{KeepEnded: -1})}
				f.view.Advance(after)
				readers = append(readers, f)
				return f, r.open("GET", fmt.Sprintf("/rpc/stream?after_seq=%d%s", after, query))
			}
			const collapse = "&collapse=superseded"
			plain, plainStream := open("", 0)
			whole, wholeStream := open(collapse, 0)
			restless, st := open(collapse, 0)
			restless.to(st, 1, 10) // thread/started
			retries(m, rnd, 150)
			for range 10 { // comes back wherever it was, in either mode
				restless.to(st, store.Tail().Head(), 1+rnd.IntN(20))
				st.close()
				mode := []string{"", collapse}[rnd.IntN(2)]
				st = r.open("GET", fmt.Sprintf("/rpc/stream?after_seq=%d%s", restless.view.Cursor(), mode))
			}
			m.Rewind("turn_a", "", turns.CauseRequest) // by hand, after its end
			m.Commit()
			retries(m, rnd, 30)
			head := store.Tail().Head()
			late, lateStream := open(collapse, 0)
			for f, st := range map[*folding]*stream{plain: plainStream, whole: wholeStream, restless: st, late: lateStream} {
				f.to(st, head, int(head)+100)
			}
			want := plain.live()
			for i, f := range readers {
				if got := f.live(); !slices.Equal(got, want) {
					t.Errorf("reader %d has %v, want %v", i, got, want)
				}
			}
			if len(plain.seqs) != int(head) {
				t.Errorf("without collapse %d of %d events came", len(plain.seqs), head)
			}
			checkLate(t, r, store, late.seqs)
		})
	}
}

// checkLate compares the events that a reader of the finished log received with
// those that package fold keeps, and with event/list page by page.
func checkLate(t *testing.T, r *rig, store *sqlite.Store, got []int64) {
	t.Helper()
	p, err := store.Reader().Page(context.Background(), notify.Query{MaxEvents: 100_000, MaxBytes: 1 << 30})
	if err != nil || p.Scanned != p.Latest {
		t.Fatalf("%d of %d events: %v", p.Scanned, p.Latest, err)
	}
	c := fold.NewCollapser(p.Latest)
	read := make([]fold.Event, len(p.Events))
	for i, e := range p.Events {
		if read[i], err = fold.Parse(e.Method, e.Params); err != nil {
			t.Fatal(err)
		}
		if marker, ok := fold.MarkerOf(&read[i]); ok {
			c.Add(marker)
		}
	}
	var want []int64
	for i := range read {
		if !c.LeavesOut(&read[i]) {
			want = append(want, read[i].Seq)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("late: %v, want %v", got, want)
	}
	if len(want) > len(read)*2/3 {
		t.Errorf("%d of %d events are left, too many to tell", len(want), len(read))
	}
	var listed []int64
	for after, more := int64(0), true; more; {
		_, answer := r.post(request("1", "event/list", fmt.Sprintf(`{"after_seq":%d,"limit":3,"collapse":"superseded"}`, after)))
		var page api.EventListResult
		if err := json.Unmarshal(parse(t, answer).Result, &page); err != nil || page.NextAfterSeq <= after || *page.AsOfSeq != p.Latest {
			t.Fatalf("%s: %v", answer, err)
		}
		for _, e := range page.Events {
			listed = append(listed, e.Seq)
		}
		after, more = page.NextAfterSeq, page.HasMore
	}
	if !slices.Equal(listed, want) {
		t.Errorf("event/list: %v, want %v", listed, want)
	}
	if _, answer := r.post(request("1", "turn/read", `{"turn_id":"turn_a"}`)); strings.Count(answer, `"step":""`) < 3 {
		t.Errorf("turn/read: %s", answer)
	}
}

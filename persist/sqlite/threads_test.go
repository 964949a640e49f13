package sqlite

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/seed82539d15/holon/internal/test/hosttest"
	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/notify"
)

// seqsOfPages reads the log page by page and returns the seqs that came.
func seqsOfPages(t *testing.T, s *Store, q notify.Query) (seqs []int64) {
	for {
		p, err := s.reader.Page(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range p.Events {
			seqs = append(seqs, e.Seq)
		}
		for line := range bytes.Lines(p.Frames) {
			var seq int64
			if _, err := fmt.Sscanf(string(line[bytes.Index(line, []byte(`"seq":`)):]), `"seq":%d`, &seq); err != nil {
				t.Fatal(err)
			}
			seqs = append(seqs, seq)
		}
		if n := len(seqs); n > 0 && seqs[n-1] > p.Scanned || p.More && p.Scanned <= q.After {
			t.Fatalf("after %d: scanned %d, the last is %d", q.After, p.Scanned, seqs[n-1])
		}
		if q.After = p.Scanned; !p.More {
			return seqs
		}
	}
}

// The pages of several threads have what the pages of each have, however their
// events lie in the log: alternating, alone for long, and few among many.
func TestPagesOfThreadsAreThoseOfEach(t *testing.T) {
	hosttest.Long(t)
	s := running(t, Options{Dir: t.TempDir(), Normal: true})
	events := 1500
	if testing.Short() {
		events = 300
	}
	ids := threadLog(t, s, 30, events)
	for _, id := range []string{"thread_alone", "thread_rare"} {
		m := persisttest.NewMaker(t, s, id).Start()
		for range 40 {
			m.Messages("", 20, benchSize)
			m.Commit()
			if id == "thread_rare" {
				break
			}
		}
		ids = append(ids, id)
	}
	for name, threads := range map[string][]string{
		"all": ids, "half": ids[:15], "two": ids[3:5], "one, twice": {ids[0], ids[0]}, "skewed": ids[28:],
		"the late ones": ids[30:], "one that is not there": {"thread_none", ids[7]}, "none that is there": {"thread_none", "thread_nobody"},
	} {
		var want []int64
		for _, id := range threads {
			want = append(want, seqsOfPages(t, s, notify.Query{Filter: notify.Filter{ThreadIDs: []string{id}}, MaxEvents: 1000, MaxBytes: 1 << 20})...)
		}
		slices.Sort(want)
		want = slices.Compact(want)
		for _, events := range []int{1, 16, 1000} {
			for _, size := range []int{2000, 1 << 20} {
				for _, frames := range []bool{false, true} {
					for _, collapse := range []bool{false, true} {
						q := notify.Query{Filter: notify.Filter{ThreadIDs: threads}, MaxEvents: events, MaxBytes: size, Frames: frames, Collapse: collapse}
						if got := seqsOfPages(t, s, q); !slices.Equal(got, want) {
							t.Fatalf("%s: %d events, want %d: %+v", name, len(got), len(want), q)
						}
					}
				}
			}
		}
	}
}

package sqlite

import (
	"bytes"
	"context"
	"database/sql/driver"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// Units of one run: threads with an active turn each, and for each thread a
// row of units of finished items.
const (
	benchThreads = 64
	benchUnits   = 60 // per thread
	benchEvents  = 4  // per unit: 64 × 4 = 256 events wait at a time
	benchSize    = 200
)

var benchSteps = []string{"setup", "setup/clone", "setup/clone/fetch"}

// readyUnits makes everything that an actor makes, so that only the store is
// measured. With deep, events are of a step three levels below the turn.
func readyUnits(b *testing.B, prefix string, deep bool) (start []*ledger.Unit, work [][]*ledger.Unit) {
	b.Helper()
	for i := range benchThreads {
		m := persisttest.NewMaker(b, nil, fmt.Sprintf("thread_0193a1b2-%s-7000-8000-%012d", prefix, i))
		turn := fmt.Sprintf("turn_0193a1b2-%s-7000-8000-%012d", prefix, i)
		m.Start()
		if deep {
			m.Attempt(turn)
			for _, step := range benchSteps {
				m.Begin(turn, step)
			}
		} else {
			m.StartTurn(turn)
		}
		u := m.Unit()
		for _, s := range persisttest.RowsOf[*turns.Step](u) {
			m.Steps[persisttest.Try{TurnID: s.TurnID, Step: s.Step, Epoch: s.Epoch}] = s
		}
		start = append(start, u)
		base := int64(len(u.Drafts))
		var list []*ledger.Unit
		for range benchUnits {
			m.Messages(turn, benchEvents, benchSize)
			m.Thread = &threads.Thread{ThreadID: m.ID, LatestThreadSeq: base} // as if committed
			v := m.Unit()
			if deep { // the last try, whose seq is not known before it is committed
				persisttest.SetRows[*turns.Step](v)
			}
			base += int64(len(v.Drafts))
			list = append(list, v)
		}
		work = append(work, list)
	}
	return start, work
}

// BenchmarkAppend compares the appender's path with a plain loop of the same
// inserts over the same driver, in groups of as many events, in the same run.
func BenchmarkAppend(b *testing.B) {
	var ours, plain time.Duration
	events := benchThreads * benchUnits * benchEvents
	for n := 0; b.Loop(); n++ {
		o, p := measureOurs(b, n, false), measurePlain(b, n)
		ours, plain = ours+o, plain+p
	}
	total := float64(events * b.N)
	b.ReportMetric(total/ours.Seconds(), "ours/s")
	b.ReportMetric(total/plain.Seconds(), "plain/s")
	b.ReportMetric(plain.Seconds()/ours.Seconds(), "ratio")
}

// BenchmarkAppendOfSteps compares events of a step, which have a lineage and
// pass the fence, with events of none, in five interleaved pairs.
func BenchmarkAppendOfSteps(b *testing.B) {
	var ratios []float64
	var deep, plain time.Duration
	for n := 0; b.Loop(); n++ {
		for pair := range 5 {
			p := measureOurs(b, 10*n+pair, false)
			d := measureOurs(b, 10*n+pair+5, true)
			deep, plain = deep+d, plain+p
			ratios = append(ratios, p.Seconds()/d.Seconds())
		}
	}
	slices.Sort(ratios)
	total := float64(5 * benchThreads * benchUnits * benchEvents * b.N)
	b.ReportMetric(total/deep.Seconds(), "steps/s")
	b.ReportMetric(total/plain.Seconds(), "plain/s")
	b.ReportMetric(ratios[len(ratios)/2], "ratio")
}

func measureOurs(b *testing.B, n int, deep bool) time.Duration {
	s := running(b, Options{Dir: b.TempDir()})
	start, work := readyUnits(b, fmt.Sprintf("%04d", n%10000), deep)
	for _, u := range start {
		if _, err := s.Append(u); err != nil {
			b.Fatal(err)
		}
	}
	for _, list := range work {
		for _, u := range list {
			for i, it := range persisttest.RowsOf[*items.Item](u) { // known only now
				if span := u.Drafts[i].Span; span != nil {
					it.Span = span.Seq
				}
			}
		}
	}
	began := time.Now()
	var wg sync.WaitGroup
	for _, list := range work {
		wg.Go(func() {
			for _, u := range list {
				if _, err := s.Append(u); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return time.Since(began)
}

func measurePlain(b *testing.B, n int) time.Duration {
	dir := b.TempDir()
	s, err := Open(Options{Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	c, err := dial(filepath.Join(dir, FileName), settings(false))
	if err != nil {
		b.Fatal(err)
	}
	defer c.close()
	start, work := readyUnits(b, fmt.Sprintf("%04d", n%10000), false)
	seq := int64(1)
	for _, u := range start {
		plainUnit(b, c, u, seq)
		seq += int64(len(u.Drafts))
	}
	type ev struct {
		unit   *ledger.Unit
		events []notify.Event
	}
	// Params are ready: a loop of inserts does nothing but insert.
	var rounds [][]ev
	for i := range benchUnits {
		var round []ev
		for _, list := range work {
			u := list[i]
			e := ev{unit: u}
			for j := range u.Drafts {
				e.events = append(e.events, u.Drafts[j].Event(seq, u.Base+int64(j)+1))
				seq++
			}
			round = append(round, e)
		}
		rounds = append(rounds, round)
	}
	began := time.Now()
	for _, round := range rounds {
		must(b, c, "BEGIN IMMEDIATE")
		for _, e := range round {
			for _, v := range e.events {
				must(b, c, insertEvent, v.Seq, v.ThreadSeq, v.ThreadID, v.ItemID, v.Method, v.Time.Milli(), v.Params, nil)
			}
			for _, it := range persisttest.RowsOf[*items.Item](e.unit) {
				if err := (&tx{c}).Put(it, e.events[0].Seq, 0); err != nil {
					b.Fatal(err)
				}
			}
			last := e.events[len(e.events)-1]
			must(b, c, "UPDATE threads SET latest_seq=?, latest_thread_seq=? WHERE thread_id=?", last.Seq, last.ThreadSeq, last.ThreadID)
		}
		must(b, c, "COMMIT")
	}
	return time.Since(began)
}

func plainUnit(b *testing.B, c *conn, u *ledger.Unit, first int64) {
	for i := range u.Drafts {
		e := u.Drafts[i].Event(first+int64(i), int64(i)+1)
		must(b, c, insertEvent, e.Seq, e.ThreadSeq, e.ThreadID, nil, e.Method, e.Time.Milli(), e.Params, nil)
	}
	for _, r := range u.Rows {
		if err := (&tx{c}).Put(r, first, 0); err != nil {
			b.Fatal(err)
		}
	}
}

func must(b *testing.B, c *conn, sql string, args ...driver.Value) {
	if _, err := c.exec(sql, args...); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkPage reads a log of 100,000 events in the pages that a stream
// takes, beside a plain query of the same columns that keeps nothing.
func BenchmarkPage(b *testing.B) {
	s := running(b, Options{Dir: b.TempDir()})
	m := persisttest.NewMaker(b, s, "thread_0193a1b2-0000-7000-8000-000000000000")
	m.Start()
	for range 100 {
		m.Messages("", 1000, benchSize)
		m.Commit()
	}
	ctx := context.Background()
	var ours, plain time.Duration
	events := 0
	for b.Loop() {
		began := time.Now()
		for after := int64(0); ; {
			p, err := s.reader.Page(ctx, notify.Query{After: after, MaxEvents: 1000, MaxBytes: 1 << 20})
			if err != nil {
				b.Fatal(err)
			}
			events += len(p.Events)
			if after = p.Scanned; !p.More {
				break
			}
		}
		ours += time.Since(began)
		began = time.Now()
		if err := s.reader.read(ctx, func(c *conn) error {
			return c.query("SELECT seq, method, params FROM events WHERE seq > ?", func(row) error { return nil }, int64(0))
		}); err != nil {
			b.Fatal(err)
		}
		plain += time.Since(began)
	}
	b.ReportMetric(float64(events)/ours.Seconds(), "ours/s")
	b.ReportMetric(float64(events)/plain.Seconds(), "plain/s")
	b.ReportMetric(plain.Seconds()/ours.Seconds(), "ratio")
}

// BenchmarkCollapse reads a thread of 100,000 events of which half are
// superseded, in the pages of frames that a stream takes, with and without
// collapse: events scanned, in five interleaved pairs.
func BenchmarkCollapse(b *testing.B) {
	s := running(b, Options{Dir: b.TempDir()})
	m := persisttest.NewMaker(b, s, "thread_0193a1b2-0000-7000-8000-000000000000")
	m.Start().Commit()
	for n := range 50 { // the first try of each turn's step is superseded
		turn := fmt.Sprintf("turn_0193a1b2-0000-7000-8000-%012d", n)
		m.Attempt(turn)
		for _, step := range benchSteps {
			m.Begin(turn, step)
		}
		m.Messages(turn, 1000, benchSize)
		m.Commit()
		last := benchSteps[len(benchSteps)-1]
		m.Rewind(turn, last, turns.CauseTransient)
		m.Begin(turn, last)
		m.Messages(turn, 1000, benchSize)
		m.EndTurn(turn)
		m.Commit()
	}
	read := func(collapse bool) (took time.Duration, scanned, frames int64) {
		for {
			began := time.Now()
			p, err := s.reader.Page(context.Background(), notify.Query{After: scanned, MaxEvents: 1000, MaxBytes: 1 << 20, Frames: true, Collapse: collapse})
			if took += time.Since(began); err != nil {
				b.Fatal(err)
			}
			if len(p.Events) > 0 {
				b.Fatalf("a page after %d is not made of frames", scanned)
			}
			frames += int64(bytes.Count(p.Frames, []byte{'\n'}))
			if scanned = p.Scanned; !p.More {
				return took, scanned, frames
			}
		}
	}
	var ratios []float64
	var plain, collapsed time.Duration
	var events int64
	for b.Loop() {
		for range 5 {
			p, all, sent := read(false)
			c, scanned, live := read(true)
			if all != scanned || sent != all || live < all*45/100 || live > all*55/100 {
				b.Fatalf("%d and %d scanned, %d and %d sent", all, scanned, sent, live)
			}
			plain, collapsed, events = plain+p, collapsed+c, events+all
			ratios = append(ratios, p.Seconds()/c.Seconds())
		}
	}
	slices.Sort(ratios)
	b.ReportMetric(float64(events)/collapsed.Seconds(), "collapsed/s")
	b.ReportMetric(float64(events)/plain.Seconds(), "plain/s")
	b.ReportMetric(ratios[len(ratios)/2], "ratio")
}

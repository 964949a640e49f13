package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist/persisttest"
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

// prepared makes everything that an actor makes, so that only the store is
// measured.
func prepared(b *testing.B, prefix string) (start []*turns.Unit, work [][]*turns.Unit) {
	b.Helper()
	for i := range benchThreads {
		m := persisttest.NewMaker(b, nil, fmt.Sprintf("thread_0193a1b2-%s-7000-8000-%012d", prefix, i))
		turn := fmt.Sprintf("turn_0193a1b2-%s-7000-8000-%012d", prefix, i)
		m.Start()
		m.StartTurn(turn)
		u := m.Unit()
		start = append(start, u)
		base := int64(len(u.Drafts))
		var list []*turns.Unit
		for range benchUnits {
			m.Messages(turn, benchEvents, benchSize)
			v := m.Unit()
			v.Thread, v.BaseThreadSeq = nil, base
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
		o, p := measureOurs(b, n), measurePlain(b, n)
		ours, plain = ours+o, plain+p
	}
	total := float64(events * b.N)
	b.ReportMetric(total/ours.Seconds(), "ours/s")
	b.ReportMetric(total/plain.Seconds(), "plain/s")
	b.ReportMetric(plain.Seconds()/ours.Seconds(), "ratio")
}

func measureOurs(b *testing.B, n int) time.Duration {
	s := running(b, Options{Dir: b.TempDir()})
	start, work := prepared(b, fmt.Sprintf("%04d", n%10000))
	for _, u := range start {
		if _, err := s.Append(u); err != nil {
			b.Fatal(err)
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
	start, work := prepared(b, fmt.Sprintf("%04d", n%10000))
	seq := int64(1)
	for _, u := range start {
		plainUnit(b, c, u, seq)
		seq += int64(len(u.Drafts))
	}
	type ev struct {
		unit   *turns.Unit
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
				e.events = append(e.events, u.Drafts[j].Event(seq, u.BaseThreadSeq+int64(j)+1))
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
				must(b, c, insertEvent, v.Seq, v.ThreadSeq, v.ThreadID, v.ItemID, v.Method, v.Time.Milli(), v.Params)
			}
			for _, it := range e.unit.Items {
				if err := putItem(c, it, e.events[0].Seq); err != nil {
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

func plainUnit(b *testing.B, c *conn, u *turns.Unit, first int64) {
	for i := range u.Drafts {
		e := u.Drafts[i].Event(first+int64(i), int64(i)+1)
		must(b, c, insertEvent, e.Seq, e.ThreadSeq, e.ThreadID, nil, e.Method, e.Time.Milli(), e.Params)
	}
	last := first + int64(len(u.Drafts)) - 1
	if _, err := putThread(c, u.Thread, first, 0, last, int64(len(u.Drafts))); err != nil {
		b.Fatal(err)
	}
	for _, t := range u.Turns {
		if err := putTurn(c, t, first); err != nil {
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
			p, err := s.Page(ctx, notify.Query{After: after, MaxEvents: 1000, MaxBytes: 1 << 20})
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
		if err := s.read(ctx, func(c *conn) error {
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

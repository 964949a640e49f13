//go:build linux

package faults

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// pace starts turns on several threads that together make this many events a
// second for some time: a burst of finished items every 10 ms, or so.
func (s *server) pace(t testing.TB, prefix string, perSecond int, d time.Duration) {
	t.Helper()
	const threads, every = 10, 20 * time.Millisecond
	// A sixth more than asked: the sleeps are not all there is to it.
	burst := max(1, perSecond*7/6*int(every/time.Millisecond)/1000/threads)
	var prompt strings.Builder
	for range min(450, int(d/every)) { // a prompt takes 1,000 commands
		fmt.Fprintf(&prompt, "/items %d 120\n/sleep %d\n", burst, every/time.Millisecond)
	}
	for i := range threads {
		thread := fmt.Sprintf("%s%d", prefix, i)
		s.must(t, "thread/start", object{"thread_id": thread})
		for left := d; left > 0; left -= 450 * every {
			s.must(t, "turn/start", turn(thread, prompt.String()))
		}
	}
}

// latency is how long after they were made events were received.
type latency struct {
	mu    sync.Mutex
	times []time.Duration
}

func (l *latency) add(line string, now time.Time) {
	_, rest, ok := strings.Cut(line, `"timestamp":"`)
	if !ok {
		return
	}
	stamp, _, _ := strings.Cut(rest, `"`)
	if at, err := time.Parse(time.RFC3339, stamp); err == nil {
		l.mu.Lock()
		l.times = append(l.times, now.Sub(at))
		l.mu.Unlock()
	}
}

func (l *latency) at(q float64) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.times) == 0 {
		return 0
	}
	slices.Sort(l.times)
	return l.times[min(len(l.times)-1, int(q*float64(len(l.times))))]
}

// measure lets healthy clients read for some time, at this pace, and returns
// their latencies and the events per second that really came.
func (s *server) measure(t testing.TB, prefix string, healthy, perSecond int, d time.Duration) (*latency, float64) {
	t.Helper()
	l := &latency{}
	var wg sync.WaitGroup
	var streams []*stream
	reached := make([]atomic.Int64, healthy)
	for i := range healthy {
		st, err := s.open(-1)
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, st)
		wg.Go(func() {
			for {
				line, err := st.next()
				if err != nil {
					return
				}
				if methodOf(line) == "item/created" {
					l.add(line, time.Now())
				}
				reached[i].Store(max(reached[i].Load(), seqOf(line)))
			}
		})
	}
	first, began := s.latest(t), time.Now()
	s.pace(t, prefix, perSecond, d)
	if err := s.idle(d*4 + 30*time.Second); err != nil {
		t.Error(err)
	}
	latest := s.latest(t)
	rate := float64(latest-first) / time.Since(began).Seconds()
	for i := range reached {
		eventually(t, "a reader that keeps up is at the end of the log", func() bool { return reached[i].Load() >= latest })
	}
	for _, st := range streams {
		st.close()
	}
	wg.Wait()
	return l, rate
}

// sleeper subscribes and reads nothing until it wakes; every tenth is only
// drowsy and reads far less than there is.
type sleeper struct {
	conn   net.Conn
	lines  *bufio.Reader
	view   *view
	drowsy bool
	quit   chan struct{}
	done   chan struct{}
	cut    bool
}

func newSleepers(t testing.TB, s *server, n int) (all []*sleeper) {
	t.Helper()
	after := s.latest(t)
	for i := range n {
		conn, err := net.Dial("unix", s.socket)
		if err == nil {
			_, err = fmt.Fprintf(conn, "GET /rpc/stream?after_seq=%d HTTP/1.1\r\nHost: localhost\r\n\r\n", after)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		sl := &sleeper{conn: conn, view: newBriefView(after), drowsy: i%10 == 9, quit: make(chan struct{}), done: make(chan struct{})}
		all = append(all, sl)
		go sl.sleep()
	}
	return all
}

// sleep ends with quit.
func (sl *sleeper) sleep() {
	defer close(sl.done)
	for {
		select {
		case <-sl.quit:
			return
		case <-time.After(200 * time.Millisecond):
			if sl.drowsy && !sl.cut {
				sl.read(sl.view.cursor() + 100)
			}
		}
	}
}

// read takes what the first connection brings, up to a seq.
func (sl *sleeper) read(upTo int64) {
	_ = sl.conn.SetReadDeadline(time.Now().Add(time.Minute))
	if sl.lines == nil {
		res, err := http.ReadResponse(bufio.NewReaderSize(sl.conn, 4<<10), nil)
		if err != nil {
			sl.cut = true
			return
		}
		sl.lines = bufio.NewReaderSize(res.Body, 4<<10)
	}
	for sl.view.cursor() < upTo && sl.view.broken() == nil {
		line, err := sl.lines.ReadString('\n')
		if err != nil {
			sl.cut = true
			return
		}
		sl.view.add(line)
	}
}

// wake reads what the sleeper's connection still brings, then resumes on a
// new one, until it is at the end of the log.
func (sl *sleeper) wake(s *server, latest int64) error {
	close(sl.quit)
	<-sl.done
	if !sl.cut {
		sl.read(latest)
	}
	sl.conn.Close()
	if !sl.cut {
		return sl.view.broken()
	}
	if sl.drowsy {
		return errors.New("a reader that reads, however slowly, was cut")
	}
	st, err := s.open(sl.view.cursor())
	if err != nil {
		return err
	}
	defer st.close()
	timer := time.AfterFunc(time.Minute, st.close)
	defer timer.Stop()
	for sl.view.cursor() < latest && sl.view.broken() == nil {
		line, err := st.next()
		if err != nil {
			return err
		}
		sl.view.add(line)
	}
	return sl.view.broken()
}

// Readers that never read delay no other (I4), take bounded memory (I7), and
// miss nothing when they come back (I3), whether they were cut meanwhile or
// not.
func TestReadersThatNeverReadDelayNobody(t *testing.T) {
	long := either(false, true)
	sleepers, rate, d := either(40, 100), either(2000, 5000), either(3*time.Second, 8*time.Second)
	if !long {
		t.Parallel() // no time is compared
	}
	// Whoever waits for a reader that never reads waits for ten minutes.
	if r := slowReaders(t, 600, sleepers, 5, rate, d/2, 1); r.cut > 0 {
		t.Errorf("%d of those that never read were cut before their time", r.cut)
	}
	r := slowReaders(t, 2, sleepers, 5, rate, d, either(1, 3))
	t.Log(r)
	// The goals are 1.2 and 2 (see the log).
	if r.p50 > 2 && long && !raced && r.with50 > 20*time.Millisecond {
		t.Errorf("p50 of the healthy readers is %.2f times that without sleepers", r.p50)
	}
	if r.p99 > 4 && long && !raced && r.with99 > 200*time.Millisecond {
		t.Errorf("p99 of the healthy readers is %.2f times that without sleepers", r.p99)
	}
	// The tail (16 MiB) fills in either case.
	if bound := int64(48<<20 + sleepers*(512<<10)); r.grown > bound && !raced {
		t.Errorf("resident memory has grown by %.1f MiB", mib(r.grown))
	}
}

// slowResult is what slowReaders measured; ratios are the medians of pairs.
type slowResult struct {
	sleepers, healthy int
	rate              float64
	without50, with50 time.Duration
	without99, with99 time.Duration
	p50, p99          float64
	grown             int64
	cut               int
}

func (r slowResult) String() string {
	return fmt.Sprintf("%d readers that never read beside %d that do, %.0f events/s: p50 %v, without %v (%.2f ×); p99 %v, without %v (%.2f ×); resident memory +%.1f MiB; all %d resumed whole, %d of them after a cut",
		r.sleepers, r.healthy, r.rate, r.with50, r.without50, r.p50, r.with99, r.without99, r.p99, mib(r.grown), r.sleepers, r.cut)
}

func slowReaders(t testing.TB, timeoutSeconds, sleepers, healthy, perSecond int, d time.Duration, pairs int) (r slowResult) {
	t.Helper()
	p := newTestbed(t)
	s := p.start(t, "--write-timeout-seconds", fmt.Sprint(timeoutSeconds))
	s.measure(t, "warm", healthy, perSecond, d/4)
	r.sleepers, r.healthy = sleepers, healthy
	var p50, p99 []float64
	for i := range pairs {
		without, _ := s.measure(t, fmt.Sprintf("without%d-", i), healthy, perSecond, d)
		rss := s.memory("VmRSS")
		all := newSleepers(t, s, sleepers)
		with, rate := s.measure(t, fmt.Sprintf("with%d-", i), healthy, perSecond, d)
		r.grown = max(r.grown, s.memory("VmRSS")-rss)
		r.rate = rate
		r.without50, r.with50, r.without99, r.with99 = without.at(.5), with.at(.5), without.at(.99), with.at(.99)
		p50 = append(p50, float64(r.with50)/float64(r.without50))
		p99 = append(p99, float64(r.with99)/float64(r.without99))
		r.cut += resumeAll(t, s, all)
	}
	slices.Sort(p50)
	slices.Sort(p99)
	r.p50, r.p99 = p50[len(p50)/2], p99[len(p99)/2]
	s.stop(t)
	return r
}

// resumeAll wakes the sleepers, compares what each has received with the log, and
// says how many had been cut.
func resumeAll(t testing.TB, s *server, all []*sleeper) (cut int) {
	t.Helper()
	log := s.log(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	places := make(chan struct{}, 4)
	for i, sl := range all {
		wg.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			err := sl.wake(s, int64(len(log)))
			if err == nil {
				err = sl.view.exactly(log)
			}
			mu.Lock()
			defer mu.Unlock()
			if sl.cut {
				cut++
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("sleeper %d: %w", i, err))
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	return cut
}

// The parser of latencies must see what the server really sends.
func TestLatencyReadsTheTimestampOfAnEvent(t *testing.T) {
	at := time.Date(2026, 11, 21, 1, 2, 3, 4e6, time.UTC)
	line := string(mustJSON(object{"method": "item/created", "params": json.RawMessage(`{"seq":1,"timestamp":"2026-11-21T01:02:03.004Z"}`)}))
	l := &latency{}
	l.add(line, at.Add(5*time.Millisecond))
	if got := l.at(.5); got != 5*time.Millisecond {
		t.Errorf("got %v from %s", got, line)
	}
}

//go:build linux

package faults

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
)

// Kills that nothing is synchronised with, under clients that come back with
// their cursors (I3, I6): what each has received, over all its connections, is the
// log.
func TestEachClientsViewIsTheLogAcrossRandomKills(t *testing.T) {
	const clients, writers = 8, 3
	kills := either(10, 200)
	p := newTestbed(t)
	h := newHerd(p, clients, writers)
	s := p.start(t)
	h.run(t)
	for i := range kills {
		time.Sleep(time.Duration(50+rand.IntN(either(150, 400))) * time.Millisecond)
		before := s.fds()
		s.kill()
		s = p.start(t)
		if i == 0 && before <= 0 {
			t.Error("the server was not even running")
		}
	}
	time.Sleep(200 * time.Millisecond)
	h.stop()
	events := h.verify(t, s)
	t.Logf("%d kills, %d events, %d changes acknowledged, %d connections", kills, events, h.acked(), h.connections())
	s.stop(t)
	p.doctor(t)
}

// herd is a crowd of clients that survive the server: followers with a cursor
// each, and writers that repeat what was not answered.
type herd struct {
	testbed *testbed
	think   time.Duration // between two changes of a writer
	prompts []string
	views   []*view
	writers []*writer
	quit    chan struct{}
	wg      sync.WaitGroup

	mu    sync.Mutex
	dials int
	errs  []error
}

// writer makes changes, one after the other, until each is answered.
type writer struct {
	id   int
	mu   sync.Mutex
	acks []reply
	turn int
}

func newHerd(p *testbed, clients, writers int) *herd {
	h := &herd{testbed: p, prompts: prompts, quit: make(chan struct{})}
	for range clients {
		h.views = append(h.views, newBriefView(0))
	}
	for i := range writers {
		h.writers = append(h.writers, &writer{id: i})
	}
	return h
}

func (h *herd) run(t testing.TB) {
	for _, v := range h.views {
		h.wg.Go(func() { h.follow(v) })
	}
	for _, w := range h.writers {
		h.wg.Go(func() { h.write(w) })
	}
	t.Cleanup(h.stop)
}

func (h *herd) stop() {
	h.mu.Lock()
	if h.quit != nil {
		close(h.quit)
		h.quit = nil
	}
	h.mu.Unlock()
	h.wg.Wait()
}

// done returns a channel that is closed by stop.
func (h *herd) done() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.quit == nil {
		c := make(chan struct{})
		close(c)
		return c
	}
	return h.quit
}

func (h *herd) fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.errs = append(h.errs, err)
}

func (h *herd) follow(v *view) {
	s := &server{testbed: h.testbed, client: h.testbed.http()}
	defer s.client.CloseIdleConnections()
	done := h.done()
	for {
		st, err := s.open(v.cursor())
		if err != nil {
			if k := kindOf(err); k != "broken" && k != "unavailable" {
				h.fail(fmt.Errorf("resume after %d: %w", v.cursor(), err))
				return
			}
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
			}
			continue
		}
		h.mu.Lock()
		h.dials++
		h.mu.Unlock()
		stop := make(chan struct{})
		go func() {
			select {
			case <-done:
				st.close()
			case <-stop:
			}
		}()
		for err == nil {
			var line string
			if line, err = st.next(); err == nil {
				v.add(line)
			}
		}
		close(stop)
		st.close()
		if v.broken() != nil {
			h.fail(v.broken())
			return
		}
		select {
		case <-done:
			return
		default:
		}
	}
}

// prompts are what writers start: long and short, good and bad. The last two
// are large and left out where the log grows for hours.
var prompts = []string{"hello there", "/items 5 100", "/deltas 20 50 1", "/step a/b\n/items 2 50\n/again a\n/sleep 30\n/say woken", "/fail on purpose", "/deltas 200 2000", "/items 3 60000"}

func (h *herd) write(w *writer) {
	s := &server{testbed: h.testbed, client: h.testbed.http(), stderr: &output{}}
	defer s.client.CloseIdleConnections()
	done := h.done()
	change := func(method, key string, params object) bool {
		for {
			r, err := s.call(method, params.with("idempotency_key", key))
			switch k := kindOf(err); {
			case err == nil:
				w.mu.Lock()
				w.acks = append(w.acks, r)
				w.mu.Unlock()
				select {
				case <-done:
					return false
				case <-time.After(h.think):
					return true
				}
			case k != "broken" && k != "unavailable" && k != "overloaded":
				h.fail(fmt.Errorf("%s %s: %w", method, key, err))
				return false
			}
			select {
			case <-done:
				return false
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
	thread := fmt.Sprintf("w%d", w.id)
	if !change("thread/start", thread, object{"thread_id": thread}) {
		return
	}
	for {
		key := fmt.Sprintf("%s-%d", thread, w.turn)
		busy := []string{"queue", "interrupt", "steer"}[w.turn%3]
		params := turn(thread, h.prompts[(w.turn+w.id)%len(h.prompts)]).with("on_busy", busy)
		if w.turn%2 == 0 { // it is retried when the server was killed
			params = params.with("retry", again)
		}
		if !change("turn/start", key, params) {
			return
		}
		w.turn++
	}
}

func (h *herd) acked() (n int) {
	for _, w := range h.writers {
		w.mu.Lock()
		n += len(w.acks)
		w.mu.Unlock()
	}
	return n
}

func (h *herd) connections() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.dials
}

// verify brings every view to the end of the log and compares it, checks that
// every acknowledged change is there, and the log's rules. It returns how
// many events there are. The herd must have been stopped.
func (h *herd) verify(t testing.TB, s *server) int {
	t.Helper()
	if err := errors.Join(h.errs...); err != nil {
		t.Error(err)
	}
	if err := s.idle(60 * time.Second); err != nil {
		t.Error(err)
	}
	var sums []uint64
	rules, first := newRules(), map[string]int64{} // seq of the first event of each thread and turn
	var broken error
	s.replay(t, func(line string) {
		sums = append(sums, sum(line))
		for _, name := range []string{"thread_id", "turn_id"} {
			_, rest, _ := strings.Cut(line, `"`+name+`":"`)
			id, _, _ := strings.Cut(rest, `"`)
			if first[id] == 0 {
				first[id] = int64(len(sums))
			}
		}
		if broken == nil {
			broken = rules.line(line)
		}
	})
	if err := errors.Join(broken, rules.allEnded()); err != nil {
		t.Error(err)
	}
	for i, v := range h.views {
		h.catchUp(t, s, v, int64(len(sums)))
		if _, err := v.differs(sums); err != nil || v.cursor() != int64(len(sums)) {
			t.Errorf("client %d ends at %d of %d: %v", i, v.cursor(), len(sums), err)
		}
	}
	for _, w := range h.writers {
		for i, ack := range w.acks {
			for _, id := range []string{ack.ThreadID, ack.TurnID} {
				if id != "" && (first[id] == 0 || first[id] > ack.Seq) || ack.Seq > int64(len(sums)) {
					t.Errorf("writer %d: change %d was acknowledged with seq %d and %s, which is first seen at %d of %d", w.id, i, ack.Seq, id, first[id], len(sums))
				}
			}
		}
	}
	if h.acked() == 0 {
		t.Error("nothing was acknowledged: the test has tested nothing")
	}
	return len(sums)
}

// catchUp reads on from a view's cursor to the end.
func (h *herd) catchUp(t testing.TB, s *server, v *view, latest int64) {
	t.Helper()
	st, err := s.open(v.cursor())
	if err != nil {
		t.Fatalf("resume after %d: %v", v.cursor(), err)
	}
	defer st.close()
	timer := time.AfterFunc(5*time.Minute, st.close)
	defer timer.Stop()
	for v.cursor() < latest && v.broken() == nil {
		line, err := st.next()
		if err != nil {
			t.Errorf("resume: %v", err)
			return
		}
		v.add(line)
	}
}

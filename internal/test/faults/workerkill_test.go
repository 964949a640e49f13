//go:build linux

package faults

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed82539d15/holon/notify/fold"
)

// newWorkerSession returns the session of a worker that outlives its server,
// and sends again what was not answered.
func newWorkerSession() *session {
	c := &session{acks: map[string]reply{}, view: newView(0), folded: newFolded(), turns: 1, args: []string{"--agent", "far=worker"}}
	c.play = func(s *server) error {
		if err := c.only(c.do(s, "t", "thread/start", object{"thread_id": "t", "agent": "far"})); err != nil {
			return err
		}
		if err := c.only(c.do(s, "1", "turn/start", turn("t", "go"))); err != nil {
			return err
		}
		w := &worker{name: "w", agent: "far", call: func(key, method string, params object) (reply, error) {
			r, err := s.call(method, params.with("idempotency_key", key))
			if err != nil {
				return r, err
			}
			if had, acked := c.acks[key]; acked && had.Seq != r.Seq && method != "turn/claim" && method != "turn/renew" {
				return r, fmt.Errorf("%s was answered %s, now %s", method, had.Raw, r.Raw)
			}
			c.acks[key] = r
			return r, nil
		}}
		if err := w.work(); err != nil {
			return err
		}
		return s.idle(20 * time.Second)
	}
	c.story = func(turns []*fold.Turn) error {
		if turns[0].Attempt != 1 {
			return fmt.Errorf("a restart is no reason for attempt %d", turns[0].Attempt)
		}
		return done(turns[0])
	}
	return c
}

// A worker retries a nested step while the server is killed at one write
// after the other. It continues with its lease when the server is back.
func TestKillAtEveryWriteUnderAWorkerTellsOneStory(t *testing.T) {
	sweep(t, newWorkerSession, func(ops []string) []int { return spread(numbers(len(ops)), either(10, len(ops))) })
}

// A worker is killed before and after each of its requests is sent, each time
// in a separate turn. The next one does the turn again, and the live view is
// one whole attempt.
func TestKillOfAWorkerAtEveryRequestTellsOneStory(t *testing.T) {
	t.Parallel()
	var jobs []workerJob
	for n := range jobRequests {
		for _, phase := range []string{"before", "sent", "answered"} {
			jobs = append(jobs, workerJob{Stop: n + 1, Phase: phase})
		}
	}
	if n := either(16, len(jobs)); n < len(jobs) {
		var some []workerJob
		for _, i := range spread(numbers(len(jobs)), n) {
			some = append(some, jobs[i-1])
		}
		jobs = some
	}
	p := newTestbed(t)
	s := p.start(t, p.farAgents(t, len(jobs), 3)...)
	always := newFolded()
	followed := make(chan error, 1)
	go func() { followed <- always.follow(s) }()
	points := map[string]workerJob{}
	var wg sync.WaitGroup
	slots := make(chan struct{}, 8)
	for i, job := range jobs {
		job.Agent, job.Name = fmt.Sprintf("far%d", i), "first"+fmt.Sprint(i)
		thread := fmt.Sprintf("t%d", i)
		s.must(t, "thread/start", object{"thread_id": thread, "agent": job.Agent})
		id := s.must(t, "turn/start", turn(thread, "go")).TurnID
		points[id] = job
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if err := p.killedWorker(t, job); err != nil {
				t.Error(err)
			}
			if err := s.workUntilEnded(job.Agent, fmt.Sprintf("next%d", i), id); err != nil {
				t.Errorf("killed at %d, %s: %v", job.Stop, job.Phase, err)
			}
		})
	}
	wg.Wait()
	log := s.log(t)
	if err := checkLog(log, true); err != nil {
		t.Error(err)
	}
	s.kill()
	<-followed
	s = p.start(t, p.farAgents(t, len(jobs), 3)...)
	for _, turn := range always.coherent(t, s, log) {
		job := points[turn.TurnID]
		if err := done(turn); err != nil {
			t.Errorf("killed at %d, %s: %v", job.Stop, job.Phase, err)
		}
		// Before its claim is sent it has nothing; after its last answer all is done.
		if between := job.Stop > 1 && (job.Stop < jobRequests || job.Phase == "before"); between && turn.Attempt < 2 {
			t.Errorf("killed at %d, %s: the turn ended in attempt %d", job.Stop, job.Phase, turn.Attempt)
		}
	}
	s.stop(t)
	p.doctor(t)
}

// Two workers have one valid lease, and one of them has started a step again:
// what the other one writes to the earlier try is late.
func TestAnOlderEpochOfTheSameLeaseIsTooLate(t *testing.T) {
	t.Parallel()
	p := newTestbed(t)
	s := p.start(t, p.farAgents(t, 1, 30)...)
	s.must(t, "thread/start", object{"thread_id": "t", "agent": "far0"})
	s.must(t, "turn/start", turn("t", "go"))
	w := &worker{name: "w", agent: "far0", call: func(key, method string, params object) (reply, error) {
		return s.call(method, params.with("idempotency_key", key))
	}}
	if err := w.claim(); err != nil {
		t.Fatal(err)
	}
	job := w.job()
	for _, r := range job[:5] { // item 1 is of the nested step's first try
		if _, err := w.send(r.method, r.params.with("lease", w.lease)); err != nil {
			t.Fatal(err)
		}
	}
	text := object{"type": "agent_message", "content": []object{{"type": "output_text", "text": "too late"}}}
	for method, params := range map[string]object{
		"item/create": {"item_id": "other", "step": "setup/clone", "epoch": 1, "content": text},
		"item/append": {"item_id": w.itemID(1), "text": "one"},
		"step/end":    {"step": "setup/clone", "epoch": 1},
		"item/batch": {"ops": []object{
			{"op": "append", "item_id": w.itemID(1), "text": "two"},
			{"op": "create", "item_id": "live", "step": "setup", "content": text}, // all or nothing
		}},
	} {
		_, err := s.call(method, params.with("lease", w.lease))
		if seq := lateSeq(err); !late(err) || seq == 0 {
			t.Errorf("%s: %v, kept at %d", method, err, seq)
		}
	}
	s.stop(t) // in order: a leased turn is left alone
	s = p.start(t, p.farAgents(t, 1, 30)...)
	for _, r := range job[5:] {
		if _, err := w.send(r.method, r.params.with("lease", w.lease)); err != nil {
			t.Fatal(err)
		}
	}
	log := s.log(t)
	if err := checkLog(log, true); err != nil {
		t.Error(err)
	}
	if err := done(newFolded().coherent(t, s, log)[0]); err != nil {
		t.Error(err)
	}
	s.stop(t)
	p.doctor(t)
}

// workUntilEnded works for an agent until its turn has ended.
func (s *server) workUntilEnded(agent, name, turnID string) error {
	var last error
	for i, limit := 0, time.Now().Add(time.Minute); time.Now().Before(limit); i++ {
		w := &worker{name: fmt.Sprintf("%s-%d", name, i), agent: agent, wait: 1}
		w.call = func(key, method string, params object) (reply, error) {
			return s.call(method, params.with("idempotency_key", key))
		}
		// Late: it was too slow itself, on a busy machine.
		if last = w.work(); last != nil && !errors.Is(last, errNoTurn) && !late(last) {
			return last
		}
		r, err := s.call("turn/read", object{"turn_id": turnID})
		if err != nil {
			return err
		}
		var row turnRow
		if err := r.into(&row); err != nil {
			return err
		}
		if row.Turn.State == "completed" {
			return nil
		}
	}
	return fmt.Errorf("the turn does not end: %w", last)
}

// Two workers have one lease. One of them is paused until it has run out and
// the other has begun the next attempt. Nothing that it says then is shown.
func TestAWorkerPausedPastItsLeaseIsTooLate(t *testing.T) {
	t.Parallel()
	p := newTestbed(t)
	s := p.start(t, p.farAgents(t, 1, 4)...)
	s.must(t, "thread/start", object{"thread_id": "t", "agent": "far0"})
	s.must(t, "turn/start", turn("t", "go"))
	always := newFolded()
	followed := make(chan error, 1)
	go func() { followed <- always.follow(s) }()

	paused := p.launchWorker(t, workerJob{Name: "paused", Agent: "far0", Steps: true})
	in, err := paused.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := paused.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := paused.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = paused.Process.Kill() }) // it may have ended
	lines := bufio.NewScanner(out)
	step := func() string {
		if !lines.Scan() {
			t.Fatalf("the paused worker has ended: %v", lines.Err())
		}
		return lines.Text()
	}
	const before = 5 // claim, two steps, an item and its text
	for i := range before {
		if i > 0 {
			fmt.Fprintln(in)
		}
		if line := step(); !strings.HasSuffix(line, "  0") {
			t.Fatalf("request %d: %s", i+1, line)
		}
	}
	call := func(key, method string, params object) (reply, error) {
		return s.call(method, params.with("idempotency_key", key))
	}
	twin := &worker{name: "paused", agent: "far0", call: call} // its claim has the same key
	if err := twin.claim(); err != nil {
		t.Fatal(err)
	}
	twin.name = "twin"
	if _, err := twin.send("item/create", twin.job()[14].params.with("lease", twin.lease).with("item_id", "twin")); err != nil {
		t.Fatalf("the other worker with the lease: %v", err)
	}
	if err := paused.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}

	next := &worker{name: "next", agent: "far0", call: call}
	if err := next.claim(); err != nil {
		t.Fatal(err)
	}
	if next.lease["attempt"] != 2 || next.lease["turn_id"] != twin.lease["turn_id"] || next.lease["token"] == twin.lease["token"] {
		t.Fatalf("after %v the lease is %v", twin.lease, next.lease)
	}
	// The next one works with the lease that it keeps, while the paused one wakes.
	renewed := make(chan struct{})
	renewing := make(chan struct{})
	go func() {
		defer close(renewing)
		for {
			select {
			case <-renewed:
				return
			case <-time.After(200 * time.Millisecond):
				_, _ = s.call("turn/renew", object{"lease": next.lease}) // complete says whether it was in time
			}
		}
	}()
	stop := sync.OnceFunc(func() { close(renewed); <-renewing })
	defer stop()
	job := next.job()
	for _, r := range job[:6] {
		if _, err := next.send(r.method, r.params.with("lease", next.lease)); err != nil {
			t.Fatal(err)
		}
	}
	if err := paused.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	kept := map[string]bool{}
	for range jobRequests - before {
		fmt.Fprintln(in)
		var method, kind string
		var seq int64
		line := step()
		if _, err := fmt.Sscan(line, &method, &kind, &seq); err != nil || kind != "attempt_superseded" {
			t.Errorf("a request of the paused worker went %q", line)
		}
		kept[method] = kept[method] || seq > 0
	}
	if err := paused.Wait(); err != nil {
		t.Errorf("the paused worker: %v", err)
	}
	for _, method := range []string{"step/start", "item/create", "item/append", "item/batch", "turn/complete"} {
		if !kept[method] {
			t.Errorf("nothing is kept of %s", method)
		}
	}
	for _, r := range job[6:] {
		if _, err := next.send(r.method, r.params.with("lease", next.lease)); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	log := s.log(t)
	if err := checkLog(log, true); err != nil {
		t.Error(err)
	}
	n := 0
	for _, line := range log {
		if methodOf(line) == "turn/late" {
			n++
		}
	}
	if n < 5 {
		t.Errorf("the log has %d turn/late", n)
	}
	s.kill()
	<-followed
	s = p.start(t, p.farAgents(t, 1, 4)...)
	if err := done(always.coherent(t, s, log)[0]); err != nil {
		t.Error(err)
	}
	s.stop(t)
	p.doctor(t)
}

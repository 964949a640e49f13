//go:build linux

package faults

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/notify/fold"
)

// session is a client that does a short script of changes, each with an
// idempotency key, and remembers what was acknowledged. After a crash it does
// the whole script again: what was acknowledged must be answered the same.
type session struct {
	acks   map[string]reply
	view   *view
	folded *folded
	args   []string // further flags of the server
	// play does the script. It returns the first error that is not a refusal:
	// the connection is gone, or a promise is broken.
	play  func(s *server) error
	turns int                            // how many the script makes, however often it is done; -1 if it cannot be foreseen
	story func(turns []*fold.Turn) error // what must be live in the end, nil if it cannot be foreseen
	// check checks what only this script promises: after the restart, and when the
	// script has been done again. nil: nothing.
	check func(s *server, log []string, ended bool) error
}

// newSession returns the session of the plain script; extra are commands of
// one more agent's text.
func newSession(extra string) *session {
	c := &session{acks: map[string]reply{}, view: newView(0), folded: newFolded(), turns: 6}
	c.play = func(s *server) error { return c.plain(s, extra) }
	return c
}

func (c *session) plain(s *server, extra string) error {
	var turns []string
	start := func(key string, params object) error {
		r, err := c.do(s, key, "turn/start", params)
		turns = append(turns, r.TurnID)
		return err
	}
	steps := []func() error{
		func() error { return c.only(c.do(s, "a", "thread/start", object{"thread_id": "a", "title": "first"})) },
		func() error { return start("a1", turn("a", "/say hello\n/items 2 20")) },
		func() error { return start("a2", turn("a", "/deltas 3 10 2\n/delete\n"+extra)) },
		func() error { return c.only(c.do(s, "b", "thread/start", object{"thread_id": "b"})) },
		func() error { return start("b1", turn("b", "/ask may I?")) },
		func() error { return c.only(c.do(s, "p", "holon/pause", object{})) },
		func() error { return start("b2", turn("b", "paused").with("on_busy", "interrupt")) },
		func() error { return c.only(c.do(s, "r", "holon/resume", object{})) },
		func() error { return start("a3", turn("a", "/sleep 5000")) },
		func() error { return c.only(c.do(s, "ai", "turn/interrupt", object{"turn_id": turns[4]})) },
		func() error { return start("a4", turn("a", "/fail on purpose")) },
		func() error { return s.idle(startWithin) },
		func() error { return c.only(c.do(s, "bc", "thread/close", object{"thread_id": "b"})) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// only drops the reply.
func (c *session) only(_ reply, err error) error { return err }

// do sends one change. A refusal is no error here: when the script is done
// again after a crash, a turn may have ended meanwhile. A turn that is to be
// started is never refused.
func (c *session) do(s *server, key, method string, params object) (reply, error) {
	r, err := s.call(method, params.with("idempotency_key", key))
	before, acked := c.acks[key]
	switch kind := kindOf(err); {
	case kind == "broken":
		return r, err
	case err != nil && (acked || method == "turn/start" || kind == "internal"):
		return r, fmt.Errorf("%s %s was refused: %w", method, key, err)
	case err != nil:
		return r, nil
	case acked && (r.TurnID != before.TurnID || r.ThreadID != before.ThreadID || r.Seq != before.Seq && method != "turn/interrupt" && method != "turn/retry"):
		// These are answered with the turn's end, once it has one.
		return r, fmt.Errorf("%s %s was answered %s, now %s", method, key, before.Raw, r.Raw)
	}
	c.acks[key] = r
	return r, nil
}

// idle waits until no turn is queued or active.
func (s *server) idle(within time.Duration) error {
	var st struct {
		Turns struct{ Queued, Active int }
	}
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		r, err := s.call("holon/status", nil)
		if err != nil {
			return err
		}
		if err := r.into(&st); err != nil {
			return err
		}
		if st.Turns.Queued+st.Turns.Active == 0 {
			return nil
		}
	}
	return fmt.Errorf("turns do not end: %+v", st.Turns)
}

// inLog checks that everything acknowledged, and every line that was
// streamed, is in the log.
func (c *session) inLog(log []string) error {
	for key, ack := range c.acks {
		if ack.Seq < 1 || ack.Seq > int64(len(log)) {
			return fmt.Errorf("%s was acknowledged with seq %d, the log ends at %d", key, ack.Seq, len(log))
		}
		if line := log[ack.Seq-1]; !containsAll(line, []string{ack.ThreadID, ack.ItemID}) {
			return fmt.Errorf("%s was acknowledged with seq %d, which is %s", key, ack.Seq, line)
		}
		if !slices.ContainsFunc(log[:ack.Seq], func(line string) bool { return strings.Contains(line, ack.TurnID) }) {
			return fmt.Errorf("%s was acknowledged with seq %d, but there is no %s before it", key, ack.Seq, ack.TurnID)
		}
	}
	if err := c.view.within(log); err != nil {
		return fmt.Errorf("streamed: %w", err)
	}
	return nil
}

// recovered restarts the server and checks everything that a crash must
// not break: nothing acknowledged or streamed is lost, the script done again
// gives the same answers and no second turn, and the log keeps its rules.
func (c *session) recovered(t testing.TB, p *testbed) {
	t.Helper()
	s := p.start(t, c.args...)
	log := s.log(t)
	if err := c.inLog(log); err != nil {
		t.Error(err)
	}
	if c.check != nil {
		if err := c.check(s, log, false); err != nil {
			t.Errorf("after the restart: %v", err)
		}
	}
	if err := c.play(s); err != nil {
		t.Fatalf("the script after the restart: %v\n%s", err, s.stderr.tail())
	}
	log = s.log(t)
	if c.check != nil {
		if err := c.check(s, log, true); err != nil {
			t.Errorf("in the end: %v", err)
		}
	}
	if err := c.inLog(log); err != nil {
		t.Error(err)
	}
	if err := checkLog(log, true); err != nil {
		t.Error(err)
	}
	if n := turnsOf(log); n != c.turns && c.turns >= 0 {
		t.Errorf("the log has %d turns, the script makes %d", n, c.turns)
	}
	if turns := c.folded.coherent(t, s, log); c.story != nil {
		if err := c.story(turns); err != nil {
			t.Errorf("%v in\n%s", err, strings.Join(log, ""))
		}
	}
	s.stop(t)
	p.doctor(t)
}

// turnsOf counts turns by their starts, and those that never started by
// their ends.
func turnsOf(log []string) int {
	ids := map[string]bool{}
	for _, line := range log {
		if method := methodOf(line); method == "turn/started" || method == "turn/queued" {
			_, rest, _ := strings.Cut(line, `"turn_id":"`)
			id, _, _ := strings.Cut(rest, `"`)
			ids[id] = true
		}
	}
	return len(ids)
}

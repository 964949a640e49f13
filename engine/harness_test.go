package engine_test

import (
	"context"
	"database/sql"
	"math"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/follow"
	"github.com/seed82539d15/holon/internal/test/notifytest"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist/sqlite"
	"github.com/seed82539d15/holon/turns"
)

// patience is how long a test waits for an event that must come. It is time of a
// bubble, where waiting takes no real time, so any bound will do.
const patience = 10 * time.Minute

// setup describes a harness. The zero value is an engine with its
// default bounds and the three agents of newHarness.
type setup struct {
	cfg    engine.Config
	agents []turns.Agent                 // more agents
	follow bool                          // a dispatcher follows the log for inboxes
	forget bool                          // its positions are never saved: followers begin anew after each restart
	normal bool                          // the store does not wait for the disk: a crash of the process loses nothing nevertheless
	log    *zap.Logger                   // nil = nothing is logged
	rows   func(engine.Rows) engine.Rows // wraps what the engine reads; nil = as it is
}

// harness is an engine on a real store, in a bubble. Its methods fail the
// test; they belong to the test's goroutine unless they say otherwise.
type harness struct {
	t   testing.TB
	o   setup
	dir string

	agent *puppet // the default agent: played by the test
	deaf  *puppet // named "deaf": as agent, but does not react to a cancelled context
	model *puppet // named "model": as agent, but of kind acp, so that inboxes wake it
	quick *quick  // named "quick": answers at once

	reader    *sqlite.Reader
	store     *sqlite.Store
	faults    *faults
	engine    *engine.Engine
	workers   *engine.Workers    // of engine
	followers *follow.Dispatcher // of engine; nil without setup.follow

	busyCall *call // of a test table
	cursor   *notify.Cursor
	frames   notifytest.Frames
	seen     []event
	mayFail  bool // agents of this test replace texts: see checker.replaces
	lends    bool // turns of this test lend their slots and go on without: the log cannot show how many run

	watchdog   *time.Timer
	stop       func() // ends engine and store at once; nil while they are down
	stopEngine func() // ends the engine only; stop is still to be called
}

// bubble runs f against a new harness in a bubble of its own, and then checks
// the whole log.
func bubble(t *testing.T, o setup, f func(h *harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, o)
		f(h)
		h.check()
	})
}

func newHarness(t testing.TB, o setup) *harness {
	t.Helper()
	h := &harness{
		t: t, o: o, dir: t.TempDir(),
		agent: newPuppet("puppet", false), deaf: newPuppet("deaf", true), quick: &quick{},
		model: newPuppet("model", false),
	}
	h.model.kind = turns.KindACP
	// Time in a bubble never ends: a test that waits for an event that never
	// comes must.
	name := t.Name()
	h.watchdog = time.AfterFunc(48*time.Hour, func() { panic(name + " waits for what never comes") })
	h.up()
	t.Cleanup(h.close)
	return h
}

// close ends everything. Closing twice is fine.
func (h *harness) close() {
	h.watchdog.Stop()
	h.agent.free()
	h.deaf.free()
	h.model.free()
	h.down()
}

// up opens the store, recovers, and runs the engine.
func (h *harness) up() {
	h.t.Helper()
	h.upWithout()
	if err := h.engine.Recover(context.Background()); err != nil {
		h.t.Fatalf("recover: %v", err)
	}
	h.run()
}

// edit restarts the server with rows that somebody has changed meanwhile.
func (h *harness) edit(statements string) {
	h.t.Helper()
	h.down()
	db, err := sql.Open("sqlite3", filepath.Join(h.dir, sqlite.FileName))
	if err == nil {
		_, err = db.Exec(statements)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	db.Close()
	h.up()
}

// upWithout opens the store and makes an engine that is not recovered and
// does not run.
func (h *harness) upWithout() {
	h.t.Helper()
	store, err := sqlite.Open(sqlite.Options{Dir: h.dir, Normal: h.o.normal})
	if err != nil {
		h.t.Fatalf("open: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stored := make(chan error, 1)
	go func() { stored <- store.Run(ctx) }()
	h.stop = func() {
		h.stop = nil
		h.faults.heal()
		cancel()
		if err := <-stored; err != nil {
			h.t.Errorf("run store: %v", err)
		}
		if err := store.Close(); err != nil {
			h.t.Errorf("close store: %v", err)
		}
	}
	h.reader, h.store = store.Reader(), store
	if h.faults == nil {
		h.faults = newFaults()
	}
	h.faults.Store, h.faults.Rows = store, h.reader
	if h.o.rows != nil {
		h.faults.Rows = h.o.rows(h.reader)
	}
	agents := append([]turns.Agent{h.agent, h.deaf, h.quick, h.model, mailbox{}}, h.o.agents...)
	log := h.o.log
	if log == nil {
		log = zaptest.NewLogger(h.t, zaptest.Level(zap.ErrorLevel))
	}
	if h.engine, err = engine.New(h.o.cfg, h.faults, h.faults, agents, log); err != nil {
		h.t.Fatalf("new engine: %v", err)
	}
	h.workers = h.engine.Workers()
	after := int64(0)
	if n := len(h.seen); n > 0 {
		after = h.seen[n-1].Seq
	}
	h.cursor = notify.NewCursor(store.Tail(), h.reader, notify.Filter{}, after)
}

func (h *harness) run() {
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	engine, closeStore := h.engine, h.stop
	stopFollowing := func() {}
	if h.o.follow {
		stopFollowing = h.followLog()
	}
	go func() { ran <- engine.Run(ctx) }()
	h.stopEngine = sync.OnceFunc(func() {
		cancel()
		if err := <-ran; err != nil {
			h.t.Errorf("run engine: %v", err)
		}
		for _, a := range []*puppet{h.agent, h.deaf, h.model} {
			if lent := a.lends(h.t); len(lent) > 0 {
				h.t.Errorf("the engine has stopped, and the agent %s still lends the slots of %q", a.name, lent)
			}
		}
	})
	stopEngine := h.stopEngine
	h.stop = func() {
		stopEngine()
		stopFollowing()
		closeStore()
	}
}

// down stops engine and store at once, without a drain. The log is as after a crash
// between two commits.
func (h *harness) down() {
	if h.stop != nil {
		h.stop()
	}
}

// restart is a crash and a start.
func (h *harness) restart() {
	h.t.Helper()
	h.down()
	h.up()
}

// check lets everything come to rest and checks the log.
func (h *harness) check() {
	h.t.Helper()
	synctest.Wait()
	h.pump()
	most := h.maxActive()
	if h.lends {
		most = math.MaxInt
	}
	c := newChecker(h.t, most)
	c.replaces = h.mayFail
	if c.log(h.seen); !c.failed {
		c.rows(h.reader)
	}
	active, waiting := c.active()
	if g := h.engine.Gate(); h.faults.healthy() && (g.Active-g.Granted > active || g.Active-g.Granted < active-waiting) {
		h.t.Errorf("the gate counts %d turns, the log %d, %d of which wait for an attempt", g.Active-g.Granted, active, waiting)
	}
}

func (h *harness) maxActive() int {
	if n := h.o.cfg.MaxActiveTurns; n > 0 {
		return n
	}
	return 64
}

// pump reads all available events.
func (h *harness) pump() {
	h.t.Helper()
	for {
		c, err := h.cursor.Next(context.Background(), 0)
		if err != nil {
			h.t.Fatalf("read the log: %v", err)
		}
		if len(c) == 0 {
			return
		}
		h.frames.Each(c, func(seq int64, frame []byte) { h.seen = append(h.seen, parseEvent(h.t, seq, frame)) })
	}
}

// until waits until the log so far satisfies f.
func (h *harness) until(what string, f func([]event) bool) {
	h.t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		h.pump()
		if f(h.seen) {
			return
		}
		select {
		case <-h.cursor.Wait():
		case <-timer.C:
			h.t.Fatalf("did not come: %s; the log is\n%s", what, list(h.seen))
		}
	}
}

// event waits for the first event of the method that match accepts.
func (h *harness) event(method string, match func(event) bool) (found event) {
	h.t.Helper()
	h.until(method, func(all []event) bool {
		for _, e := range all {
			if e.Method == method && (match == nil || match(e)) {
				found = e
				return true
			}
		}
		return false
	})
	return found
}

func ofTurn(id string) func(event) bool { return func(e event) bool { return e.TurnID == id } }
func ofItem(id string) func(event) bool { return func(e event) bool { return e.ItemID == id } }

// ended waits for the end of the turn.
func (h *harness) ended(turnID string) (found event) {
	h.t.Helper()
	h.until("end of "+turnID, func(all []event) bool {
		for _, e := range all {
			if e.TurnID == turnID && terminal(e.Method) {
				found = e
				return true
			}
		}
		return false
	})
	return found
}

// none checks, when everything is at rest, that there is no such event so far.
func (h *harness) none(what string, match func(event) bool) {
	h.t.Helper()
	synctest.Wait()
	h.pump()
	for _, e := range h.seen {
		if match(e) {
			h.t.Errorf("%s: there is %s", what, e)
		}
	}
}

// of returns the events seen so far that match.
func (h *harness) of(match func(event) bool) (out []event) {
	h.pump()
	for _, e := range h.seen {
		if match(e) {
			out = append(out, e)
		}
	}
	return out
}

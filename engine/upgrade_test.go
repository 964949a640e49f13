package engine_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	_ "github.com/mattn/go-sqlite3"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist"
	"github.com/seed82539d15/holon/persist/sqlite"
	"github.com/seed82539d15/holon/turns"
)

// toSchema16 makes of the database what a server of schema 16 would have left: without the
// columns that came later, and what they are folded from.
func (h *harness) toSchema16() {
	h.t.Helper()
	db, err := sql.Open("sqlite3", filepath.Join(h.dir, sqlite.FileName))
	if err != nil {
		h.t.Fatal(err)
	}
	steps := []string{`UPDATE events SET params = CAST(json_remove(CAST(params AS TEXT), '$.resumable') AS BLOB) WHERE method = 'turn/progress'`}
	steps = append(steps, "DROP INDEX turns_jobs", "DROP INDEX subscriptions_turn", "DROP INDEX inbox_items_about", "DROP INDEX turns_restart", "DROP INDEX turns_refused", "DROP INDEX inboxes_stalled", "DROP INDEX idempotency_requester", "DROP TABLE cursor_shares", "DROP TABLE hook_runs")
	for _, column := range []string{
		"turns DROP COLUMN running_since", "turns DROP COLUMN uncounted", "turns DROP COLUMN silent_restarts", "turns DROP COLUMN resumable",
		"turns DROP COLUMN suspended_seq", "turns DROP COLUMN restart_seq", "idempotency DROP COLUMN requester", "idempotency DROP COLUMN number",
		"turns DROP COLUMN format", "turns DROP COLUMN job", "turns DROP COLUMN job_digest", "threads DROP COLUMN job", "cursors DROP COLUMN requester", "subscriptions DROP COLUMN requester", "subscriptions DROP COLUMN target_generation", "subscriptions DROP COLUMN turn_id", "inboxes DROP COLUMN stalled_at", "inboxes DROP COLUMN woken_seq", "turns DROP COLUMN outside",
		"inbox_items DROP COLUMN about", "inbox_items DROP COLUMN outcome", "inbox_items DROP COLUMN passive", "inbox_digests DROP COLUMN subjects", "inbox_digests DROP COLUMN outcomes",
		"inbox_digests DROP COLUMN passive", "inbox_digests DROP COLUMN failing", "inbox_entries DROP COLUMN leases", "inbox_items DROP COLUMN link", "inbox_entries DROP COLUMN link", "inbox_entries DROP COLUMN at_once", "inboxes DROP COLUMN lease_at",
	} {
		steps = append(steps, "ALTER TABLE "+column)
	}
	for _, step := range append(steps, "PRAGMA user_version = 16") {
		if _, err := db.Exec(step); err != nil {
			h.t.Fatalf("%s: %v", step, err)
		}
	}
	if err := db.Close(); err != nil {
		h.t.Fatal(err)
	}
}

// The rows of turns that were active are what the log folds to, and a turn of before that
// waits for a person ends as it did before.
func TestUpgradeFromSchema16WithActiveTurns(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.lends = true
		var ids []string
		begin := func(name, agent string, c turns.Start) *call {
			h.thread(name, agent)
			c.ThreadID = name
			ids = append(ids, h.startWith(c).TurnID)
			time.Sleep(time.Second)
			if agent == "deaf" {
				return h.next(h.deaf)
			}
			return h.next(h.agent)
		}
		waits := func(c *call, answer bool) *asked {
			time.Sleep(time.Second)
			q := h.ask(c, permission(), turns.AskOptions{Resumes: true})
			h.emit(c, items.Progress{Message: "while it waits"})
			time.Sleep(2 * time.Second)
			if answer {
				h.allow(q)
				h.emit(c, items.Progress{State: "running", Message: "on it"})
				time.Sleep(2 * time.Second)
				h.message(c, "on it")
			}
			return q
		}
		h.message(begin("runs", "", turns.Start{}), "I work")
		waits(begin("has_waited", "", turns.Start{}), true)
		c := begin("has_waited_twice", "", turns.Start{})
		waits(c, true)
		waits(c, true)
		c = begin("waits_again", "", turns.Start{})
		waits(c, true)
		open := waits(c, false)
		waits(begin("interrupted", "deaf", turns.Start{}), true)
		h.interrupt(ids[len(ids)-1])
		waits(begin("interrupted_while_it_waits", "deaf", turns.Start{}), false)
		h.interrupt(ids[len(ids)-1])
		c = begin("retried", "", turns.Start{Retry: retrying()})
		waits(c, true)
		c.crash()
		h.message(h.next(h.agent), "again")
		c = begin("waits_for_its_attempt", "", turns.Start{Retry: &turns.RetryPolicy{OnCrash: turns.CrashRetry, BackoffSeconds: 50}})
		waits(c, true)
		c.crash()
		h.event(notify.StreamRewind, func(e event) bool { return e.TurnID == c.TurnID })
		owner := h.family("b")
		child := h.child("a", "b", false)
		h.next(h.agent)
		h.speakOn(owner)
		h.waitsFor(owner.TurnID, child.TurnID)
		synctest.Wait()
		since := map[string]notify.Time{}
		for _, id := range ids {
			since[id] = h.turn(id).RunningSince
		}
		go h.deaf.free()
		h.down()

		h.toSchema16()
		h.upWithout()
		out, err := persist.Refold(bg, h.reader)
		if err != nil || len(out.Differences) > 0 {
			t.Errorf("refold: %+v, %v", out, err)
		}
		for i, id := range ids {
			if got := h.turn(id).RunningSince; got != since[id] {
				t.Errorf("turn %d: its clock runs since %v, not %v", i, got, since[id])
			}
		}
		if fmt.Sprint(since[ids[3]]) == fmt.Sprint(since[ids[1]]) {
			t.Error("all clocks stand")
		}
		if err := h.engine.Recover(bg); err != nil {
			t.Fatal(err)
		}
		h.run()
		if e := h.ended(ids[3]); e.Method != notify.TurnInterrupted || e.Reason != "server restarted" {
			t.Errorf("ended: %s", e)
		}
		if it := h.item(open.id); it.Status != items.StatusCancelled {
			t.Errorf("question %+v", it)
		}
		h.next(h.agent).end(turns.Completed) // of the attempts
		h.next(h.agent).end(turns.Completed)
	})
}

// What had been posted at once before the upgrade wakes at once after it.
func TestUpgradeFromSchema16KeepsWhatWakesAtOnce(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "model")
		h.configure("a", inbox.Policy{Wake: inbox.WakeNone, WakeWindowMs: ms(time.Hour)})
		urgent := grouped("1", "pr:1")
		urgent.Grouping.Flush = inbox.FlushImmediate
		h.send("a", "hello")
		h.ingest("a", urgent)
		h.down()
		h.toSchema16()
		h.up()
		out, err := persist.Refold(bg, h.reader)
		if err != nil || len(out.Differences) > 0 {
			t.Errorf("refold: %+v, %v", out, err)
		}
		h.configure("a", inbox.Policy{Wake: inbox.WakeIdle})
		h.wokenAfter(time.Now(), 0, 2)
	})
}

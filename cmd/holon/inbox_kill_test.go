package main

import (
	"database/sql"
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/notify"
)

// wakesOf reads from the log what an inbox has posted, told and made new again, and when turns began.
type wakesOf struct {
	posted map[notify.ID]time.Time
	told   []inbox.Told
	leases []inbox.Untold
	began  map[string]time.Time // turns
	ended  int
}

func (s *builds) wakesOf(thread string) wakesOf {
	s.t.Helper()
	w := wakesOf{posted: map[notify.ID]time.Time{}, began: map[string]time.Time{}}
	for _, e := range s.events() {
		if e.ThreadID != thread {
			continue
		}
		read := func(body any) {
			if err := json.Unmarshal(e.Params, body); err != nil {
				s.t.Fatalf("%s: %v", e.Params, err)
			}
		}
		switch e.Method {
		case notify.TurnStarted:
			if _, known := w.began[e.TurnID]; !known {
				w.began[e.TurnID] = e.Time
			}
		case notify.TurnCompleted:
			w.ended++
		case notify.InboxPosted:
			var b inbox.Posted
			read(&b)
			w.posted[b.Entry.EntryID] = b.Entry.PostedAt.Time
		case notify.InboxTold:
			var b inbox.Told
			read(&b)
			w.told = append(w.told, b)
		case notify.InboxUntold:
			var b inbox.Untold
			read(&b)
			if b.Reason == inbox.UntoldLease {
				w.leases = append(w.leases, b)
			}
		}
	}
	return w
}

// A window is that of the rows: what was posted before a kill waits for its rest, and is told once.
func TestAWindowOutlivesAKill(t *testing.T) {
	const window = 1500 * time.Millisecond
	s := serveConfig(t, build(t, t.TempDir(), "./cmd/holon"), "")
	s.want("call", "thread/start", `{"thread_id":"main","agent":"echo"}`)
	s.want("inbox", "policy", "main", "--wake=idle", "--wake-window="+window.String())
	for range 2 {
		for range 3 {
			s.want("inbox", "send", "main", "hello")
		}
		s.process.kill()
		s.up()
	}
	var w wakesOf
	eventually(t, "all are told", func() bool {
		w = s.wakesOf("main")
		n := 0
		for _, b := range w.told {
			n += len(b.EntryIDs)
		}
		return n >= 6 && w.ended > 0
	})
	seen := map[notify.ID]bool{}
	for _, b := range w.told {
		var at []time.Time
		for _, id := range b.EntryIDs {
			if seen[id] {
				t.Errorf("%s is told twice", id)
			}
			seen[id] = true
			at = append(at, w.posted[id])
		}
		oldest, newest := slices.MinFunc(at, time.Time.Compare), slices.MaxFunc(at, time.Time.Compare)
		if began := w.began[b.TurnID]; began.Before(newest.Add(window)) && began.Before(oldest.Add(5*window)) {
			t.Errorf("a wake began %v after the newest and %v after the oldest entry", began.Sub(newest), began.Sub(oldest))
		}
	}
}

// A lease that is over when the server starts makes the entry new at once, and once.
func TestALeaseOutlivesAKill(t *testing.T) {
	s := serveConfig(t, build(t, t.TempDir(), "./cmd/holon"), "")
	s.want("call", "thread/start", `{"thread_id":"main","agent":"echo"}`)
	s.want("inbox", "policy", "main", "--wake=idle", "--wake-window=0", "--ack=explicit", "--told-lease=1m")
	s.want("inbox", "send", "main", "hello")
	ended := func(n int) func() bool { return func() bool { return s.wakesOf("main").ended == n } }
	eventually(t, "it is told", ended(1))
	s.process.kill()
	db, err := sql.Open("sqlite3", filepath.Join(s.data, "holon.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{ // a minute passes
		`UPDATE turns SET completed_at = completed_at - 60000`,
		`UPDATE inboxes SET lease_at = lease_at - 60000, due_at = due_at - 60000`,
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s.up()
	eventually(t, "it is told again", ended(2))
	s.process.kill()
	s.up()
	s.want("inbox", "send", "main", "and more")
	eventually(t, "the other is told", ended(3))
	w := s.wakesOf("main")
	if len(w.leases) != 1 || len(w.told) != 3 || w.leases[0].TurnID != w.told[0].TurnID || w.leases[0].EntryIDs[0] != w.told[1].EntryIDs[0] || len(w.told[2].EntryIDs) != 1 {
		t.Errorf("leases %+v, told %+v", w.leases, w.told)
	}
	for _, e := range s.events() {
		if e.Method == notify.InboxUntold {
			if text, err := inboxEventText(&console{}, e); err != nil {
				t.Error(err)
			} else {
				contains(t, text, "new again: not acknowledged since turn ")
			}
		}
	}
}

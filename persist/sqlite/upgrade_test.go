package sqlite

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/tokens"
	"github.com/seed82539d15/holon/turns"
)

// Frozen databases of every released schema. They must always open, migrate and
// refold without differences.
var (
	//go:embed testdata/schema1.sql
	schema1 string
	//go:embed testdata/schema2.sql
	schema2 string
	//go:embed testdata/schema8.sql
	schema8 string
	//go:embed testdata/schema10.sql
	schema10 string
	//go:embed testdata/schema11.sql
	schema11 string
	//go:embed testdata/schema12.sql
	schema12 string
	//go:embed testdata/schema14.sql
	schema14 string
	//go:embed testdata/schema15.sql
	schema15 string
	//go:embed testdata/schema16.sql
	schema16 string
	//go:embed testdata/schema16lost.sql
	schema16Lost string
	//go:embed testdata/schema21.sql
	schema21 string
)

// forked1 adds a thread that was forked, of which that version kept no row.
const forked1 = `INSERT INTO events VALUES (28, 1, 'thread_fork', NULL, 'thread/started', 1795257740000,
	CAST('{"seq":28,"thread_seq":1,"thread_id":"thread_fork","timestamp":"2026-11-21T10:42:20.000Z","type":"started","state":"running","started_at":"2026-11-21T10:42:20.000Z","session_id":"thread_fork","agent":"echo","forked_from":{"thread_id":"thread_old","turn_id":"turn_x"}}' AS BLOB));
	INSERT INTO threads VALUES (28, 'thread_fork', 'running', 'echo', '', '', NULL, NULL, '', '', '', '', 1795257740000, 0, 28, 28, 1);`

// frozen makes a data directory with a database of an earlier version, and
// returns the frames that a stream over it must give, byte by byte.
func frozen(t *testing.T, sql string) (dir string, frames []byte, events int64) {
	t.Helper()
	dir = t.TempDir()
	c, err := dial(filepath.Join(dir, FileName), settings(false))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.run(sql); err != nil {
		t.Fatal(err)
	}
	if err := c.query("SELECT method, params FROM events ORDER BY seq", func(r row) error {
		e := notify.Event{Method: r.Text(0), Params: r.Blob(1)}
		frames = e.AppendFrame(frames)
		events++
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := c.close(); err != nil {
		t.Fatal(err)
	}
	return dir, frames, events
}

// checkUpgraded checks what every upgrade must keep: the bytes of the log, rows
// that equal the fold of the log, and no finding of doctor.
func checkUpgraded(t *testing.T, s *Store, frames []byte, events int64, threads int) {
	t.Helper()
	ctx := context.Background()
	p, err := s.reader.Page(ctx, notify.Query{MaxEvents: 1000, MaxBytes: 1 << 20, Frames: true})
	if err != nil || string(p.Frames) != string(frames) || p.Scanned != events {
		t.Errorf("other bytes than before, up to %d of %d, %v", p.Scanned, events, err)
	}
	out, err := persist.Refold(ctx, s.reader)
	if err != nil || len(out.Differences) > 0 || out.Threads != threads {
		t.Errorf("refold %+v, %v", out, err)
	}
	if bad := worst(t, s.reader); len(bad) > 0 {
		t.Errorf("doctor: %v", bad)
	}
}

// TestDatabaseOfSchema21IsUpgraded opens what a server left that did not note since when an
// inbox wakes its thread no more: since the event that says so.
func TestDatabaseOfSchema21IsUpgraded(t *testing.T) {
	const stalledAt = 1795836906677
	for name, c := range map[string]struct {
		gone  string
		since int64
		woken int64
	}{
		"the log is whole":   {"", stalledAt, 73},
		"the event has gone": {"DELETE FROM events; UPDATE meta SET first_seq = 1000;", 1795836906669, 0},
	} {
		dir, frames, events := frozen(t, schema21+c.gone)
		s := running(t, Options{Dir: dir})
		if c.gone == "" {
			checkUpgraded(t, s, frames, events, 3)
		}
		rows, err := s.reader.InboxRows(t.Context(), []string{"silent", "lifted", "held"})
		if err != nil || len(rows) != 3 || rows["silent"].StalledAt != c.since || rows["lifted"].StalledAt != 0 || rows["held"].StalledAt != 0 || rows["lifted"].Woken != c.woken {
			t.Errorf("%s: %+v, %v", name, rows, err)
		}
		l, err := s.reader.Summaries(t.Context(), turns.SummaryQuery{Query: threads.Query{IDs: []string{"held", "silent"}}})
		if err != nil || len(l.Rows) != 2 || !l.Rows[0].Summary.HeldSince.IsZero() || l.Rows[1].Summary.HeldSince != l.Rows[1].Summary.Since {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
	}
}

// TestDatabaseOfSchema16IsUpgraded opens what a server left that did not know since when the
// clocks of its turns ran: since the attempt began, or since a person had answered.
func TestDatabaseOfSchema16IsUpgraded(t *testing.T) {
	dir, frames, events := frozen(t, schema16)
	s := running(t, Options{Dir: dir})
	checkUpgraded(t, s, frames, events, 5)
	for thread, since := range map[string]func(*turns.Turn) bool{
		"running": func(t *turns.Turn) bool { return t.RunningSince == t.StartedAt },
		"again":   func(t *turns.Turn) bool { return t.Attempt == 2 && t.RunningSince == t.StartedAt },
		"waited":  func(t *turns.Turn) bool { return t.RunningSince.Sub(t.StartedAt.Time) > 500*time.Millisecond },
		"waits":   func(t *turns.Turn) bool { return t.RunningSince.IsZero() && !t.Resumable },
		"ended":   func(t *turns.Turn) bool { return t.RunningSince.IsZero() && t.State == turns.Completed },
	} {
		l, err := s.reader.ListTurns(t.Context(), turns.Query{ThreadID: thread, Limit: 1})
		if err != nil || len(l.Rows) != 1 || !since(&l.Rows[0]) {
			t.Errorf("%s: %+v, %v", thread, l.Rows, err)
		}
	}
}

// TestDatabaseOfSchema16SaysWhatARestartEnded opens what a server left that did not note which turns
// ended with a restart. Those are found by what it wrote, and listed like others.
func TestDatabaseOfSchema16SaysWhatARestartEnded(t *testing.T) {
	ctx := context.Background()
	dir, frames, events := frozen(t, schema16Lost)
	s := running(t, Options{Dir: dir})
	checkUpgraded(t, s, frames, events, 11)
	all, err := s.reader.ListTurns(ctx, turns.Query{})
	if err != nil {
		t.Fatal(err)
	}
	ended := map[string]bool{}
	for _, row := range all.Rows {
		ended[row.ThreadID] = ended[row.ThreadID] || row.RestartSeq != 0
	}
	for thread, by := range ended {
		if by != (thread != "by_client") {
			t.Errorf("the turn of %s ended with a restart: %v", thread, by)
		}
	}
	var got []string
	l, err := s.reader.ListTurns(ctx, turns.Query{EndedBy: turns.EndedByRestart})
	for _, row := range l.Rows {
		got = append(got, row.ThreadID)
	}
	slices.Sort(got)
	if want := []string{"below", "child", "killed", "last", "owner", "reviewed", "stopped"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("lost with a restart: %v, %v, want %v", got, err, want)
	}
}

// TestDatabaseOfSchema15IsUpgraded opens what a server without console tokens left. Its
// tokens have no parent, and stay what they were.
func TestDatabaseOfSchema15IsUpgraded(t *testing.T) {
	ctx := context.Background()
	dir, frames, events := frozen(t, schema15)
	s := running(t, Options{Dir: dir})
	checkUpgraded(t, s, frames, events, 1)
	at, err := s.reader.Position(ctx)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 23, 16, 0, 0, 0, time.UTC)
	named, err := tokens.Open(ctx, tokens.Config{Log: s, LogID: at.LogID, Read: s.reader.ReadToDecide, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	l, err := named.List("", 10, false)
	for _, token := range l.Rows {
		got = append(got, fmt.Sprintf("%s %s %s %s %v", token.Name, token.Role, token.State, token.Parent, token.ThreadIDs))
	}
	if want := []string{"phone respond live  []", "ci work live  [main]", "lost read revoked  []"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	if phone, _, _, ok := named.Find("holon_token_-cUZQbypC8v_-nvsonm8HOobnrNuBoPCd0Bmjj4hMPY"); !ok || phone.Name != "phone" {
		t.Errorf("a token of before is %+v, live: %v", phone, ok)
	}
	made, err := named.SignIn(ctx, tokens.SignIn{Parent: "phone"})
	if _, _, _, ok := named.Find(made.Secret); err != nil || !ok {
		t.Errorf("a console token of it: %v, live: %v", err, ok)
	}
}

// TestDatabaseOfSchema14IsUpgraded opens what a server left whose agents replaced every
// title. A title that was replaced is lost; one that is left is kept from then on. Of a
// fork, that log does not say whose title it took.
func TestDatabaseOfSchema14IsUpgraded(t *testing.T) {
	dir, frames, events := frozen(t, schema14)
	s := running(t, Options{Dir: dir})
	checkUpgraded(t, s, frames, events, 7)
	titles(t, s, map[string]titled{
		"given": {"fix b", true}, "replaced": {"Told", false}, "again": {"one", false}, "agent": {"second", false}, "none": {"", false},
		"fork": {"second", true}, "fork2": {"fix b", true},
	})
}

// TestUpgradeKeepsKeys opens the same an hour later: an idempotency key of before answers
// as it did, and counts as one of the owner.
func TestUpgradeKeepsKeys(t *testing.T) {
	ctx := context.Background()
	dir, _, _ := frozen(t, schema14)
	s := running(t, Options{Dir: dir, Now: func() time.Time { return time.Date(2026, 11, 23, 15, 0, 0, 0, time.UTC) }})
	if err := s.Do(ctx, func() error { s.w.KeepKeysEach = 1; return nil }); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		u := &ledger.Unit{Key: persisttest.KeyOf(name, "m", "")}
		u.Key.Requester = "token:phone"
		if _, err := s.Append(u); err != nil {
			t.Fatal(err)
		}
	}
	for key, want := range map[string]string{"050e91ea-6242-54cc-8f76-8b3445d33db0": "thread/start ", "01a208ab-1a53-78a3-8f90-76650275e31e": "turn/start ", "b": "m token:phone", "a": ""} {
		got := ""
		k, err := s.Stored(ctx, key)
		if k != nil {
			got = k.Key.Method + " " + string(k.Key.Requester)
		}
		if err != nil || got != want {
			t.Errorf("the key %s is %q, %v, want %q", key, got, err, want)
		}
	}
}

// TestUpgradeKeepsTitlesOfAPrunedLog opens the same when nothing is left of how threads
// began, nor of the one title that the agent set in the thread "replaced".
func TestUpgradeKeepsTitlesOfAPrunedLog(t *testing.T) {
	dir, _, _ := frozen(t, schema14+"DELETE FROM events WHERE seq <= 27; UPDATE meta SET first_seq = 28;")
	s := running(t, Options{Dir: dir})
	titles(t, s, map[string]titled{
		"given": {"fix b", true}, "replaced": {"Told", true}, "again": {"one", false}, "agent": {"second", false}, "none": {"", false},
	})
	if out, err := persist.Refold(context.Background(), s.reader); err != nil || len(out.Differences) > 0 || out.Pruned != 5 || out.Threads != 2 {
		t.Errorf("refold %+v, %v", out, err)
	}
}

type titled struct {
	title string
	given bool
}

// titles compares the titles of threads, and whether a client gave them.
func titles(t *testing.T, s *Store, want map[string]titled) {
	t.Helper()
	for thread, want := range want {
		got, err := s.reader.ReadThread(context.Background(), thread, 0)
		if err != nil || got.Thread == nil || got.Thread.Title != want.title || (got.Thread.TitleBy == threads.ByClient) != want.given {
			t.Errorf("%s is %+v, %v, want %+v", thread, got.Thread, err, want)
		}
	}
}

// TestDatabaseOfSchema12IsUpgraded opens what a server left that did not add up what
// threads have spent. Superseded attempts count: four of the ten, one of them after its
// end. The turn that is active has not ended.
func TestDatabaseOfSchema12IsUpgraded(t *testing.T) {
	dir, frames, events := frozen(t, schema12)
	at := time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)
	s := running(t, Options{Dir: dir, Now: func() time.Time { return at }})
	checkUpgraded(t, s, frames, events, 3)
	for thread, want := range map[string]*threads.Spent{
		"spends": {InputTokens: 11_000, OutputTokens: 70, TotalTokens: 11_070, Millionths: 1_100_000, Currency: "USD"},
		"mixed":  {InputTokens: 2000, OutputTokens: 20, TotalTokens: 2020, Millionths: 100_000, Currency: "EUR"},
		"none":   nil,
	} {
		if got, err := s.reader.ReadThread(context.Background(), thread, 0); err != nil || !reflect.DeepEqual(got.Thread.Spent, want) {
			t.Errorf("%s has spent %+v, %v, want %+v", thread, got.Thread.Spent, err, want)
		}
	}
}

// TestUpgradeAddsUpWhatSessionsCost opens the same as if the agent had reported the cost
// of its session so far: 0.1, 0.1, 0.2, 0.3, then, each in a new session, 0.1, 0.2, 0.1.
func TestUpgradeAddsUpWhatSessionsCost(t *testing.T) {
	dir, _, _ := frozen(t, schema12+"UPDATE threads SET agent_session_id = 's' WHERE thread_id = 'spends';")
	s := running(t, Options{Dir: dir})
	want := &threads.Spent{InputTokens: 11_000, OutputTokens: 70, TotalTokens: 11_070, Millionths: 600_000, Session: 100_000, Currency: "USD"}
	if got, err := s.reader.ReadThread(context.Background(), "spends", 0); err != nil || !reflect.DeepEqual(got.Thread.Spent, want) {
		t.Errorf("spent %+v, %v, want %+v", got.Thread.Spent, err, want)
	}
}

// TestDatabaseOfSchema11IsUpgraded opens what a server without reviews left. What is
// unsettled between child turns and their owners stays so, and no end waits for a review.
func TestDatabaseOfSchema11IsUpgraded(t *testing.T) {
	ctx := context.Background()
	dir, frames, events := frozen(t, schema11)
	at := time.Date(2026, 11, 23, 1, 30, 0, 0, time.UTC)
	s := running(t, Options{Dir: dir, Now: func() time.Time { return at }})
	checkUpgraded(t, s, frames, events, 3)
	c, err := s.reader.Children(ctx, "main")
	if err != nil || c.Blocking != 1 || c.Notify != 0 || len(c.WaitsFor) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	list, err := s.reader.ListTurns(ctx, turns.Query{ParentThreadID: "main"})
	if err != nil || len(list.Rows) != 3 {
		t.Fatalf("%+v, %v", list.Rows, err)
	}
	for i := range list.Rows {
		if tn := &list.Rows[i]; tn.Review != nil || tn.ContinuedBy != "" || tn.State.Ended() != (tn.AcceptedSeq != 0) || tn.EndSeq() != tn.AcceptedSeq {
			t.Errorf("%+v", tn)
		}
	}
	if pending, err := s.reader.ListTurns(ctx, turns.Query{Review: turns.ReviewPending}); err != nil || len(pending.Rows) != 0 {
		t.Errorf("in review: %+v, %v", pending.Rows, err)
	}
	if err := s.reader.ReadToDecide(ctx, func(r ledger.Reader) error {
		for _, ix := range []ledger.Range{{Index: turns.Unsettled, Prefix: []any{"main"}}, {Index: turns.UnsettledBelow, Prefix: []any{"main"}}} {
			n := 0
			if err := r.Scan(ix, func(ledger.Values) error { n++; return nil }); err != nil || n != 1 {
				t.Errorf("%s has %d child turns that are unsettled, %v", ix.Index.Name, n, err)
			}
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// TestDatabaseOfSchema10IsUpgraded opens what a server without child turns left. Which
// event told an entry last is found in the log; parents of then make no child threads.
func TestDatabaseOfSchema10IsUpgraded(t *testing.T) {
	ctx := context.Background()
	dir, frames, events := frozen(t, schema10)
	at := time.Date(2026, 11, 22, 19, 30, 0, 0, time.UTC)
	s := running(t, Options{Dir: dir, Now: func() time.Time { return at }})
	checkUpgraded(t, s, frames, events, 2)
	woken, err := s.reader.ReadThread(ctx, "woken", 0)
	if err != nil || woken.Thread.Parent == nil || woken.Thread.Level != 0 || woken.Thread.Root() != "woken" {
		t.Errorf("%+v, %v", woken.Thread, err)
	}
	if c, err := s.reader.Children(ctx, "woken"); err != nil || !reflect.DeepEqual(c, turns.Children{Room: turns.MaxUnendedBelow}) {
		t.Errorf("the turn of before is a child turn: %+v, %v", c, err)
	}
	box, err := s.reader.LoadInbox(ctx, "woken")
	if err != nil || box.ToldSeq == 0 || box.NewEntries != 1 {
		t.Fatalf("%+v, %v", box, err)
	}
	told := 0
	if err := s.reader.ReadToDecide(ctx, func(r ledger.Reader) error {
		return r.Scan(ledger.Range{Index: inbox.EntryOfThread, Prefix: []any{"woken"}}, func(v ledger.Values) error {
			if e := inbox.ReadEntry(v); (e.ToldByTurnID != "") != (e.ToldSeq != 0) {
				t.Errorf("entry %+v", e)
			} else if e.ToldSeq != 0 {
				told++
			}
			return nil
		})
	}); err != nil || told != 2 {
		t.Errorf("%d told, %v", told, err)
	}
}

// TestDatabaseOfSchema8IsUpgraded opens what a server without inboxes left.
func TestDatabaseOfSchema8IsUpgraded(t *testing.T) {
	ctx := context.Background()
	dir, frames, events := frozen(t, schema8)
	at := time.Date(2026, 11, 22, 0, 30, 0, 0, time.UTC)
	var told []Migration
	s := running(t, Options{Dir: dir, Now: func() time.Time { return at }, Migrating: func(m Migration) { told = append(told, m) }})
	copies, err := filepath.Glob(filepath.Join(dir, "backups", "before-schema-9-*.db"))
	if err != nil || len(copies) != 1 {
		t.Fatalf("copies of before: %v, %v", copies, err)
	}
	begins := Migration{From: 8, To: SchemaVersion(), Copy: copies[0]}
	if len(told) != 2 || told[0] != begins || told[1].Took <= 0 {
		t.Errorf("told of %+v, want first %+v", told, begins)
	}
	checkUpgraded(t, s, frames, events, 2)
	l, err := s.reader.Load(ctx, "thread_a")
	if err != nil || l.Thread == nil || l.Thread.Held || len(l.Turns) != 2 || l.Turns[0].Chain != 0 || len(l.Items) != 4 {
		t.Fatalf("loaded %+v, %v", l, err)
	}
	if k, err := s.Stored(ctx, "k"); err != nil || k == nil || k.Key.Method != "turn/start" {
		t.Errorf("key %+v, %v", k, err)
	}
}

// TestDatabaseOfSchema2IsUpgraded opens what a server of the first release left
// when it was killed, and continues with it.
func TestDatabaseOfSchema2IsUpgraded(t *testing.T) {
	ctx := context.Background()
	dir, frames, events := frozen(t, schema2)
	// An hour after the crash, whatever the day: idempotency keys expire.
	at := time.Date(2026, 11, 22, 0, 30, 0, 0, time.UTC)
	s := running(t, Options{Dir: dir, Now: func() time.Time { return at }})
	checkUpgraded(t, s, frames, events, 6)
	active, queued, err := s.reader.Unfinished(ctx)
	if err != nil || !slices.Equal(active, []string{"work", "busy", "retrying", "ending"}) || !slices.Equal(queued, []string{"main", "busy"}) {
		t.Errorf("unfinished: %v, %v, %v", active, queued, err)
	}
	l, err := s.reader.Load(ctx, "work")
	if err != nil || len(l.Turns) != 1 || l.Turns[0].Worker != "build-7" || len(l.Items) != 1 || len(l.Steps) != 3 {
		t.Fatalf("loaded %+v, %v", l, err)
	}
	if text := string(l.Items[0].Content); !strings.Contains(text, "open and growing") || l.Items[0].Epoch != 2 {
		t.Errorf("the open item is %s, %+v", text, l.Items[0])
	}
	if r, err := s.reader.Runtime(ctx); err != nil || !r.Paused || r.Reason != "night" {
		t.Errorf("runtime %+v, %v", r, err)
	}
	if k, err := s.Stored(ctx, "start-main"); err != nil || k == nil || k.Key.Method != "thread/start" {
		t.Errorf("key %+v, %v", k, err)
	}
	m := persisttest.NewMaker(t, s, "thread_new").Start()
	m.Attempt("turn_new")
	m.EndTurn("turn_new")
	m.Commit()
	if bad := worst(t, s.reader); len(bad) > 0 {
		t.Errorf("doctor: %v", bad)
	}
}

// TestDatabaseOfSchema1IsUpgraded opens what a server without attempts left
// when it was killed.
func TestDatabaseOfSchema1IsUpgraded(t *testing.T) {
	ctx := context.Background()
	dir, want, rows := frozen(t, schema1+forked1)

	s := running(t, Options{Dir: dir})
	copies, err := filepath.Glob(filepath.Join(dir, "backups", "before-schema-2-*.db"))
	if err != nil || len(copies) != 1 {
		t.Fatalf("copies of before: %v, %v", copies, err)
	}
	again := filepath.Join(t.TempDir(), "again")
	restored, err := Restore(copies[0], again)
	if err != nil || restored.First != 1 || restored.Latest != rows {
		t.Errorf("the copy restored: %+v, %v", restored, err)
	}
	if at, err := running(t, Options{Dir: again}).reader.Position(ctx); err != nil || at != restored {
		t.Errorf("opened %+v, %v; restored %+v", at, err, restored)
	}
	checkUpgraded(t, s, want, rows, 3)
	if p, err := s.reader.Page(ctx, notify.Query{MaxEvents: 1000, MaxBytes: 1 << 20, Frames: true, Collapse: true}); err != nil || string(p.Frames) != string(want) {
		t.Errorf("collapsed: other bytes than before, %v", err)
	}
	fork, err := s.reader.ReadThread(ctx, "thread_fork", 0)
	if err != nil || fork.Thread == nil || !reflect.DeepEqual(fork.Thread.ForkedFrom, &threads.ForkedFrom{ThreadID: "thread_old", TurnID: "turn_x"}) {
		t.Errorf("thread %+v, %v", fork.Thread, err)
	}
	if secret, err := s.reader.LeaseSecret(ctx); err != nil || len(secret) != secretBytes || bytes.Count(secret, []byte{0}) > 8 {
		t.Errorf("the secret is %x, %v", secret, err)
	}

	l, err := s.reader.Load(ctx, "thread_busy")
	if err != nil || len(l.Turns) != 2 || l.Turns[0].State != turns.Active || l.Turns[1].State != turns.Queued || len(l.Steps) != 0 || len(l.Items) != 2 {
		t.Fatalf("loaded %+v, %v", l, err)
	}
	if ask := l.Items[0]; ask.Type != items.KindPermissionRequest || ask.Lineage != nil || ask.Span != 0 {
		t.Errorf("the open item is %+v", ask)
	}
	if list, err := s.reader.ListItems(ctx, items.Query{ThreadID: "thread_old"}); err != nil || len(list.Rows) != 5 {
		t.Errorf("%d items, %v", len(list.Rows), err)
	}
	m := persisttest.NewMaker(t, s, "thread_new").Start()
	m.Attempt("turn_new")
	m.Commit()
	m.Rewind("turn_new", "", turns.CauseCrash)
	m.Attempt("turn_new")
	m.EndTurn("turn_new")
	m.Commit()
	if bad := worst(t, s.reader); len(bad) > 0 {
		t.Errorf("doctor: %v", bad)
	}
}

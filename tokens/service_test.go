package tokens_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist/sqlite"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/tokens"
	"github.com/seed82539d15/holon/turns"
)

// open serves the tokens of a log until the function is called that it returns.
func open(t *testing.T, dir, logID string) (*tokens.Service, *sqlite.Store, func()) {
	t.Helper()
	store, err := sqlite.Open(sqlite.Options{Dir: dir, Normal: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = store.Run(ctx) })
	s, err := tokens.Open(ctx, tokens.Config{Log: store, LogID: logID, Read: store.Reader().ReadToDecide})
	if err != nil {
		t.Fatal(err)
	}
	running.Go(func() { _ = s.Run(ctx) })
	return s, store, sync.OnceFunc(func() {
		cancel()
		running.Wait()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}

func create(t *testing.T, s *tokens.Service, c tokens.Create) tokens.Result {
	t.Helper()
	r, err := s.Create(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func seconds(n float64) *float64 { return &n }

// find reports whether a text is that of a live token, and its context.
func find(s *tokens.Service, text string) (context.Context, bool) {
	_, alive, _, ok := s.Find(text)
	return alive, ok
}

func TestATokenIsLiveUntilItIsRevoked(t *testing.T) {
	dir := t.TempDir()
	s, store, end := open(t, dir, "log_a")
	defer end()
	phone := create(t, s, tokens.Create{Name: "phone", Role: tokens.RoleRead})
	desk := create(t, s, tokens.Create{Name: "desk", Role: tokens.RoleWork})
	if !strings.HasPrefix(phone.Secret, tokens.Prefix) || phone.Secret == desk.Secret || phone.Seq != 1 {
		t.Fatalf("made %+v", phone)
	}
	got, alive, mine, ok := s.Find(phone.Secret)
	if !mine || !ok || got.Name != "phone" || got.Role != tokens.RoleRead || alive.Err() != nil {
		t.Fatalf("found %+v, %v %v", got, mine, ok)
	}
	for _, text := range []string{phone.Secret + "x", phone.Secret[:len(phone.Secret)-1], tokens.Prefix, "Bearer " + phone.Secret} {
		if _, _, mine, ok := s.Find(text); !mine || ok {
			t.Errorf("%q: mine %v, ok %v", text, mine, ok)
		}
	}
	if _, _, mine, _ := s.Find("something else"); mine {
		t.Error("another text is taken for a token")
	}

	r, err := s.Revoke(context.Background(), tokens.Revoke{Name: "phone"})
	if err != nil || r.Token.State != tokens.Revoked || alive.Err() == nil {
		t.Fatalf("revoked: %+v, %v; what it has open ended: %v", r, err, alive.Err())
	}
	if _, ok := find(s, phone.Secret); ok {
		t.Error("it is still live")
	}
	again, err := s.Revoke(context.Background(), tokens.Revoke{Name: "phone"})
	if err != nil || again.Token.RevokedAt != r.Token.RevokedAt || store.Tail().Head() != 3 {
		t.Errorf("revoked again: %+v, %v, head %d", again, err, store.Tail().Head())
	}
	if _, err := s.Revoke(context.Background(), tokens.Revoke{Name: "nobody"}); !errors.Is(err, tokens.ErrNotFound) {
		t.Errorf("revoke what never was: %v", err)
	}
	if _, err := s.Create(context.Background(), tokens.Create{Name: "phone", Role: tokens.RoleRead}); !errors.Is(err, tokens.ErrTaken) {
		t.Errorf("a name is used again: %v", err)
	}
	end()

	s, _, end = open(t, dir, "log_a")
	if _, ok := find(s, desk.Secret); !ok {
		t.Error("a token does not survive a restart")
	}
	if _, ok := find(s, phone.Secret); ok {
		t.Error("a revoked token is live after a restart")
	}
	if _, err := s.Create(context.Background(), tokens.Create{Name: "phone", Role: tokens.RoleRead}); !errors.Is(err, tokens.ErrTaken) {
		t.Errorf("a name is used again after a restart: %v", err)
	}
	end()

	s, _, end = open(t, dir, "log_restored")
	defer end()
	if _, ok := find(s, desk.Secret); ok {
		t.Error("a token is live after a restore: it may have been revoked since the backup")
	}
	l, err := s.List("", 10, false)
	if err != nil || len(l.Rows) != 2 || l.Rows[0].State != tokens.Revoked || l.Rows[1].State != tokens.Restored {
		t.Errorf("listed %+v, %v", l, err)
	}
	if l.Rows[1].ThreadIDs != nil {
		t.Error("after a restart, a token for all threads is shown as limited to none")
	}
	end()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			continue // a directory
		}
		for _, secret := range []string{phone.Secret, desk.Secret} {
			if bytes.Contains(b, []byte(strings.TrimPrefix(secret, tokens.Prefix)[:12])) {
				t.Errorf("%s has the text of a token", file)
			}
		}
	}
}

func TestATokenExpiresByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, end := open(t, t.TempDir(), "log_a")
		defer end()
		short := create(t, s, tokens.Create{Name: "short", Role: tokens.RoleRead, ExpiresInSeconds: seconds(60)})
		long := create(t, s, tokens.Create{Name: "long", Role: tokens.RoleRead, ExpiresInSeconds: seconds(3600)})
		never := create(t, s, tokens.Create{Name: "never", Role: tokens.RoleRead})
		alive, ok := find(s, short.Secret)
		if !ok {
			t.Fatal("it is not live")
		}
		time.Sleep(59 * time.Second)
		if synctest.Wait(); alive.Err() != nil {
			t.Error("it ended too soon")
		}
		time.Sleep(time.Second + 10*time.Millisecond)
		if synctest.Wait(); alive.Err() == nil {
			t.Error("what it has open goes on after its end")
		}
		if _, ok := find(s, short.Secret); ok {
			t.Error("it is live after its end")
		}
		if _, ok := find(s, long.Secret); !ok {
			t.Error("one that lives longer has ended")
		}
		time.Sleep(time.Hour)
		if _, ok := find(s, long.Secret); ok {
			t.Error("the second is live after its end")
		}
		if _, ok := find(s, never.Secret); !ok {
			t.Error("one without an end has ended")
		}
	})
}

func TestOneOfManyRequestsForANameMakesIt(t *testing.T) {
	s, store, end := open(t, t.TempDir(), "log_a")
	defer end()
	var made sync.Map
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			r, err := s.Create(context.Background(), tokens.Create{Name: "phone", Role: tokens.RoleRead})
			if err == nil {
				made.Store(i, r.Secret)
			} else if !errors.Is(err, tokens.ErrTaken) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	n := 0
	made.Range(func(_, secret any) bool {
		if _, ok := find(s, secret.(string)); !ok {
			t.Error("the token that was answered is not live")
		}
		n++
		return true
	})
	if n != 1 || store.Tail().Head() != 1 {
		t.Errorf("%d were made, %d events", n, store.Tail().Head())
	}
}

func TestARepetitionHasNoSecret(t *testing.T) {
	s, _, end := open(t, t.TempDir(), "log_a")
	defer end()
	c := tokens.Create{Name: "phone", Role: tokens.RoleRead, Key: &ledger.Key{Key: "k", Method: "token/create"}}
	first := create(t, s, c)
	second := create(t, s, c)
	if first.Secret == "" || second.Secret != "" || second.Seq != first.Seq || second.Token.Name != "phone" {
		t.Errorf("first %+v, then %+v", first.Token, second)
	}
}

func TestWhatIsWrongWithACommandIsSaid(t *testing.T) {
	s, store, end := open(t, t.TempDir(), "log_a")
	defer end()
	good := tokens.Create{Name: "phone", Role: tokens.RoleRead}
	with := func(change func(*tokens.Create)) tokens.Create { c := good; change(&c); return c }
	for field, list := range map[string][]tokens.Create{
		"name": {
			with(func(c *tokens.Create) { c.Name = "" }), with(func(c *tokens.Create) { c.Name = "a b" }), with(func(c *tokens.Create) { c.Name = ".x" }),
			with(func(c *tokens.Create) { c.Name = strings.Repeat("x", 65) }), with(func(c *tokens.Create) { c.Name = "ä" }), with(func(c *tokens.Create) { c.Name = tokens.OwnerName }),
		},
		"role":               {with(func(c *tokens.Create) { c.Role = "" }), with(func(c *tokens.Create) { c.Role = tokens.RoleOwner }), with(func(c *tokens.Create) { c.Role = "Read" })},
		"limited_to":         {with(func(c *tokens.Create) { c.ThreadIDs = make([]string, tokens.MaxThreads+1) }), with(func(c *tokens.Create) { c.ThreadIDs = []string{"a b"} }), with(func(c *tokens.Create) { c.ThreadIDs = []string{} })},
		"expires_in_seconds": {with(func(c *tokens.Create) { c.ExpiresInSeconds = seconds(-1) }), with(func(c *tokens.Create) { c.ExpiresInSeconds = seconds(0) }), with(func(c *tokens.Create) { c.ExpiresInSeconds = seconds(0.5) }), with(func(c *tokens.Create) { c.ExpiresInSeconds = seconds(1e12) })},
	} {
		for _, c := range list {
			var bad *turns.InvalidError
			if _, err := s.Create(context.Background(), c); !errors.As(err, &bad) || bad.Field != field {
				t.Errorf("%+v: %v, want a word about %s", c, err, field)
			}
		}
	}
	if _, err := s.Create(context.Background(), with(func(c *tokens.Create) { c.ThreadIDs = []string{"none"} })); !errors.Is(err, threads.ErrNotFound) {
		t.Errorf("a thread that does not exist: %v", err)
	}
	if store.Tail().Head() != 0 {
		t.Errorf("%d events of refused commands", store.Tail().Head())
	}
	create(t, s, good)
}

func TestPagesHaveEachTokenOnce(t *testing.T) {
	s, _, end := open(t, t.TempDir(), "log_a")
	defer end()
	for i := range 7 {
		create(t, s, tokens.Create{Name: fmt.Sprint("t", i), Role: tokens.RoleRead})
	}
	for _, newest := range []bool{false, true} {
		var names []string
		for cursor, pages := "", 0; ; pages++ {
			l, err := s.List(cursor, 3, newest)
			if err != nil || pages > 5 {
				t.Fatal(pages, err)
			}
			for _, row := range l.Rows {
				names = append(names, row.Name)
			}
			if cursor = l.Next; cursor == "" {
				break
			}
		}
		want := "t0 t1 t2 t3 t4 t5 t6"
		if newest {
			want = "t6 t5 t4 t3 t2 t1 t0"
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("newest %v: %s", newest, got)
		}
	}
	if _, err := s.List("x", 3, false); !errors.Is(err, notify.ErrBadCursor) {
		t.Errorf("a wrong cursor: %v", err)
	}
}

func TestARoleCoversTheOnesBeforeIt(t *testing.T) {
	all := append(append([]tokens.Role{}, tokens.Roles...), tokens.RoleOwner)
	for i, have := range all {
		for j, need := range all {
			if have.Covers(need) != (i >= j) {
				t.Errorf("%s covers %s: %v", have, need, have.Covers(need))
			}
		}
		if have.Covers("") || have.Covers("admin") || tokens.Role("admin").Covers(have) || tokens.Role("").Covers(have) {
			t.Errorf("%s and a role that is unknown", have)
		}
	}
}

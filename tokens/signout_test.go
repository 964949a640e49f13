package tokens_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist/sqlite"
	"github.com/seed82539d15/holon/tokens"
	"github.com/seed82539d15/holon/turns"
)

// startThreads makes threads in the store.
func startThreads(t *testing.T, store *sqlite.Store, ids ...string) {
	t.Helper()
	for _, id := range ids {
		persisttest.NewMaker(t, store, id).Start().Commit()
	}
}

func TestASignOutEndsOneOrAllOfAParent(t *testing.T) {
	s, store, end := open(t, t.TempDir(), "log_a")
	defer end()
	create(t, s, tokens.Create{Name: "phone", Role: tokens.RoleRead})
	var made []tokens.Result
	for _, parent := range []string{"phone", "phone", "phone", tokens.OwnerName, tokens.OwnerName} {
		made = append(made, signIn(t, s, tokens.SignIn{Parent: parent}))
	}
	check := func(when string, want ...bool) {
		t.Helper()
		for i, w := range want {
			if _, ok := find(s, made[i].Secret); ok != w {
				t.Errorf("%s: %s is live: %v", when, made[i].Token.Name, ok)
			}
		}
	}
	code, _ := makeCode(t, s, tokens.MakeCode{Parent: "phone"})
	owners, _ := makeCode(t, s, tokens.MakeCode{Parent: tokens.OwnerName})

	for _, c := range []tokens.SignOut{{}, {Name: "x", All: true}} {
		var bad *turns.InvalidError
		if _, err := s.SignOut(context.Background(), c); !errors.As(err, &bad) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for _, name := range []string{"phone", "nobody", made[3].Token.Name} { // no console token, none, another's
		if _, err := s.SignOut(context.Background(), tokens.SignOut{Name: name, Of: "phone"}); !errors.Is(err, tokens.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	check("nothing was signed out", true, true, true, true, true)

	one := tokens.SignOut{Name: made[0].Token.Name, Of: "phone", By: "token:phone"}
	if got := signOut(t, s, one); !slices.Equal(got, []string{one.Name}) {
		t.Errorf("one: %q", got)
	}
	check("one", false, true, true, true, true)
	head := store.Tail().Head()
	if got := signOut(t, s, one); !slices.Equal(got, []string{one.Name}) || store.Tail().Head() != head {
		t.Errorf("again: %q, %d events", got, store.Tail().Head()-head)
	}
	if !live(s, code) {
		t.Error("the sign-out of one ends a code")
	}

	if got := signOut(t, s, tokens.SignOut{All: true, Of: "phone", By: "token:phone"}); !slices.Equal(got, []string{made[1].Token.Name, made[2].Token.Name}) {
		t.Errorf("all: %q", got)
	}
	check("all of phone", false, false, false, true, true)
	if live(s, code) || !live(s, owners) {
		t.Errorf("the code of the parent is live: %v; that of another: %v", live(s, code), live(s, owners))
	}
	signOut(t, s, tokens.SignOut{All: true, By: tokens.ByOwner})
	check("all", false, false, false, false, false)
	if live(s, owners) {
		t.Error("a code is left")
	}

	text := wholeLog(t, store)
	for _, want := range []string{
		`"name":"` + made[0].Token.Name + `","parent":"phone","by":"token:phone"`, `"name":"` + made[4].Token.Name + `","parent":"owner","by":"owner"`,
		`"name":"` + made[0].Token.Name + `","parent":"phone","role":"read","expires_at":"`,
	} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%d times %s in\n%s", strings.Count(text, want), want, text)
		}
	}
	for _, secret := range []string{made[0].Secret, code.Secret} {
		if strings.Contains(text, secret) {
			t.Error("the text of a token or a code is in the log")
		}
	}
}

func wholeLog(t *testing.T, store *sqlite.Store) string {
	t.Helper()
	p, err := store.Reader().Page(context.Background(), notify.Query{MaxEvents: 1000, MaxBytes: 1 << 20, Frames: true})
	if err != nil {
		t.Fatal(err)
	}
	return string(p.Frames)
}

// A sign-out of all and sign-ins at once: each token is either answered as ended, or it
// was made later, and lives.
func TestASignOutOfAllMissesNothingThatWasThere(t *testing.T) {
	s, _, end := open(t, t.TempDir(), "log_a")
	defer end()
	create(t, s, tokens.Create{Name: "phone", Role: tokens.RoleRead})
	for range 3 {
		_, code := makeCode(t, s, tokens.MakeCode{Parent: "phone"})
		var mu sync.Mutex
		var all sync.WaitGroup
		made, ended := map[string]string{}, map[string]bool{}
		for i := range 8 {
			all.Go(func() {
				c := tokens.SignIn{Parent: "phone"}
				if i == 0 {
					c.Code = code
				}
				r, err := s.SignIn(context.Background(), c)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					made[r.Token.Name] = r.Secret
				} else if i > 0 || !errors.Is(err, tokens.ErrEnded) {
					t.Error(err)
				}
			})
			if i == 3 {
				all.Go(func() {
					names := signOut(t, s, tokens.SignOut{All: true, Of: "phone"})
					mu.Lock()
					defer mu.Unlock()
					for _, name := range names {
						ended[name] = true
					}
				})
			}
		}
		all.Wait()
		for name, secret := range made {
			if _, ok := find(s, secret); ok == ended[name] {
				t.Errorf("%s is live: %v, was signed out: %v", name, ok, ended[name])
			}
		}
		signOut(t, s, tokens.SignOut{All: true})
	}
}

// A sign-out of all that comes while a code is traded: the token is not left over.
func TestASignOutOfAllEndsWhatIsBeingMade(t *testing.T) {
	s, store, end := open(t, t.TempDir(), "log_a")
	defer end()
	for range 20 {
		entered, release := make(chan struct{}), make(chan struct{})
		first := sync.OnceFunc(func() { close(entered); <-release })
		s = on(t, store, func() error { first(); return nil })
		_, code := makeCode(t, s, tokens.MakeCode{Parent: tokens.OwnerName})
		var both sync.WaitGroup
		var made tokens.Result
		both.Go(func() {
			var err error
			if made, err = s.SignIn(context.Background(), tokens.SignIn{Parent: tokens.OwnerName, Code: code}); err != nil {
				t.Error(err)
			}
		})
		<-entered
		both.Go(func() { signOut(t, s, tokens.SignOut{All: true, Of: tokens.OwnerName}) })
		for range 1000 { // the sign-out goes as far as it can
			runtime.Gosched()
		}
		close(release)
		both.Wait()
		if _, ok := find(s, made.Secret); ok {
			t.Fatal("it is live")
		}
	}
}

// Sign-ins of years use up no room: not that of named tokens, not that of names.
func TestOldSignInsMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s, _, end := open(t, dir, "log_a")
		create(t, s, tokens.Create{Name: "phone", Role: tokens.RoleRead})
		other := signIn(t, s, tokens.SignIn{Parent: tokens.OwnerName})
		var names []string
		for range tokens.MaxSignIns {
			names = append(names, signIn(t, s, tokens.SignIn{Parent: "phone"}).Token.Name)
		}
		if _, err := s.SignIn(context.Background(), tokens.SignIn{Parent: "phone"}); !errors.Is(err, tokens.ErrTooMany) {
			t.Fatalf("one more: %v", err)
		}
		signIn(t, s, tokens.SignIn{Parent: tokens.OwnerName}) // another parent has its own
		for _, ended := range names[3:5] {
			signOut(t, s, tokens.SignOut{Name: ended})
		}
		if _, err := s.SignIn(context.Background(), tokens.SignIn{Parent: "phone"}); !errors.Is(err, tokens.ErrTooMany) {
			t.Errorf("one more at once: %v", err) // else a loop of sign-ins and sign-outs would fill the log
		}
		time.Sleep(tokens.RoomAfter)
		newest := signIn(t, s, tokens.SignIn{Parent: "phone"}) // in the place of the oldest that has ended
		check := func(when, parent string, want []string) {
			t.Helper()
			var got []string
			l, err := s.SignIns(parent, "", 1000, false)
			for _, row := range l.Rows {
				got = append(got, row.Name)
			}
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %q, %v, want %q", when, got, err, want)
			}
		}
		want := append(slices.Delete(slices.Clone(names), 3, 4), newest.Token.Name)
		check("one has made room", "phone", want)
		end()
		s, _, end = open(t, dir, "log_a")
		defer func() { end() }()
		check("after a restart", "phone", want)

		end()
		time.Sleep(tokens.KeptSignIns)
		s, _, end = open(t, dir, "log_a")
		last := signIn(t, s, tokens.SignIn{Parent: tokens.OwnerName})
		check("a month later", "", []string{last.Token.Name})
		end()
		s, _, end = open(t, dir, "log_a")
		check("a month later, after a restart", "", []string{last.Token.Name})
		if _, err := s.SignOut(context.Background(), tokens.SignOut{Name: other.Token.Name}); !errors.Is(err, tokens.ErrNotFound) {
			t.Errorf("one that is forgotten: %v", err)
		}
		if l, err := s.List("", 10, false); err != nil || len(l.Rows) != 1 || l.Rows[0].Name != "phone" {
			t.Errorf("named tokens: %+v, %v", l.Rows, err)
		}
	})
}

func TestPagesHaveEachSignInOnce(t *testing.T) {
	s, _, end := open(t, t.TempDir(), "log_a")
	defer end()
	create(t, s, tokens.Create{Name: "phone", Role: tokens.RoleRead})
	var want []string
	for range 7 {
		want = append(want, signIn(t, s, tokens.SignIn{Parent: "phone"}).Token.Name)
		signIn(t, s, tokens.SignIn{Parent: tokens.OwnerName})
	}
	for _, newest := range []bool{false, true} {
		var got []string
		for cursor, pages := "", 0; ; pages++ {
			l, err := s.SignIns("phone", cursor, 3, newest)
			if err != nil || pages > 5 {
				t.Fatal(pages, err)
			}
			for _, row := range l.Rows {
				got = append(got, row.Name)
			}
			if cursor = l.Next; cursor == "" {
				break
			}
		}
		if newest {
			slices.Reverse(got)
		}
		if !slices.Equal(got, want) {
			t.Errorf("newest %v: %q, want %q", newest, got, want)
		}
	}
	if l, err := s.SignIns("", "", 100, false); err != nil || len(l.Rows) != 14 {
		t.Errorf("of all: %d, %v", len(l.Rows), err)
	}
	for _, cursor := range []string{"x", "-1", "1.5"} {
		if _, err := s.SignIns("", cursor, 3, false); !errors.Is(err, notify.ErrBadCursor) {
			t.Errorf("the cursor %q: %v", cursor, err)
		}
	}
}

// The console tokens of a parent do not count as named ones, and the owner ends each with
// token/revoke too.
func TestTheOwnerRevokesAConsoleTokenByItsName(t *testing.T) {
	s, store, end := open(t, t.TempDir(), "log_a")
	defer end()
	made := signIn(t, s, tokens.SignIn{Parent: tokens.OwnerName})
	r, err := s.Revoke(context.Background(), tokens.Revoke{Name: made.Token.Name, Key: &ledger.Key{Key: "k", Method: "token/revoke"}})
	if err != nil || r.Token.State != tokens.Revoked || r.Token.Parent != tokens.OwnerName {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, ok := find(s, made.Secret); ok {
		t.Error("it is live")
	}
	if text := wholeLog(t, store); !strings.Contains(text, fmt.Sprintf(`"name":%q,"parent":"owner","by":"owner"`, made.Token.Name)) {
		t.Errorf("the event: %s", text)
	}
}

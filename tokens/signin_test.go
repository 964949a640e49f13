package tokens_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/persist/sqlite"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/tokens"
	"github.com/seed82539d15/holon/turns"
)

// makeCode makes a code, and returns what admission finds of it.
func makeCode(t *testing.T, s *tokens.Service, c tokens.MakeCode) (tokens.CodeResult, *tokens.Code) {
	t.Helper()
	r, err := s.MakeCode(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	code, mine, ok := s.FindCode(r.Secret)
	if !mine || !ok {
		t.Fatalf("the new code is not live: %v %v", mine, ok)
	}
	return r, &code
}

func signIn(t *testing.T, s *tokens.Service, c tokens.SignIn) tokens.Result {
	t.Helper()
	r, err := s.SignIn(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := find(s, r.Secret); !ok {
		t.Fatalf("the new token %s is not live", r.Token.Name)
	}
	return r
}

func signOut(t *testing.T, s *tokens.Service, c tokens.SignOut) (names []string) {
	t.Helper()
	r, err := s.SignOut(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range r.SignIns {
		names = append(names, one.Name)
	}
	return names
}

func live(s *tokens.Service, code tokens.CodeResult) bool {
	_, _, ok := s.FindCode(code.Secret)
	return ok
}

func TestACodeIsTradedOnceForWhatItSays(t *testing.T) {
	s, _, end := open(t, t.TempDir(), "log_a")
	defer end()
	create(t, s, tokens.Create{Name: "phone", Role: tokens.RoleWork})
	for _, c := range []struct {
		ask  tokens.MakeCode
		role tokens.Role
		name string
	}{
		{tokens.MakeCode{Parent: tokens.OwnerName}, tokens.RoleRead, "owner.console-"},
		{tokens.MakeCode{Parent: tokens.OwnerName, Role: tokens.RoleOperate, Label: "desk"}, tokens.RoleOperate, "owner.desk-"},
		{tokens.MakeCode{Parent: "phone", Role: tokens.RoleRespond}, tokens.RoleRespond, "phone.console-"},
	} {
		made, code := makeCode(t, s, c.ask)
		if !strings.HasPrefix(made.Secret, tokens.CodePrefix) || len(made.Secret) < len(tokens.CodePrefix)+43 {
			t.Errorf("the code is %q", made.Secret)
		}
		r := signIn(t, s, tokens.SignIn{Parent: c.ask.Parent, Code: code})
		got := r.Token
		if !strings.HasPrefix(got.Name, c.name) || len(got.Name) != len(c.name)+8 || got.Name != made.Name || got.Role != c.role || got.Parent != c.ask.Parent || got.State != tokens.Live {
			t.Errorf("%+v makes %+v", c.ask, got)
		}
		if life := got.ExpiresAt.Sub(got.CreatedAt.Time); life != 12*time.Hour {
			t.Errorf("it lives for %v", life)
		}
		if live(s, made) {
			t.Error("the code can be used again")
		}
		if _, err := s.SignIn(context.Background(), tokens.SignIn{Parent: c.ask.Parent, Code: code}); !errors.Is(err, tokens.ErrEnded) {
			t.Errorf("used again: %v", err)
		}
	}
	for _, text := range []string{tokens.CodePrefix, tokens.CodePrefix + strings.Repeat("A", 43), "x" + tokens.CodePrefix} {
		if _, mine, ok := s.FindCode(text); !mine || ok {
			t.Errorf("%q: mine %v, ok %v", text, mine, ok)
		}
	}
	if _, mine, _ := s.FindCode(tokens.Prefix); mine {
		t.Error("a token is taken for a code")
	}
}

func TestOneOfManyRequestsWithACodeGetsTheToken(t *testing.T) {
	s, store, end := open(t, t.TempDir(), "log_a")
	defer end()
	_, code := makeCode(t, s, tokens.MakeCode{Parent: tokens.OwnerName})
	var mu sync.Mutex
	var all sync.WaitGroup
	var secrets []string
	for range 20 {
		all.Go(func() {
			r, err := s.SignIn(context.Background(), tokens.SignIn{Parent: tokens.OwnerName, Code: code})
			if err != nil && !errors.Is(err, tokens.ErrEnded) {
				t.Error(err)
			}
			if mu.Lock(); err == nil {
				secrets = append(secrets, r.Secret)
			}
			mu.Unlock()
		})
	}
	all.Wait()
	if len(secrets) != 1 || store.Tail().Head() != 1 {
		t.Fatalf("%d tokens, %d events", len(secrets), store.Tail().Head())
	}
	if _, ok := find(s, secrets[0]); !ok {
		t.Error("it is not live")
	}
}

func TestACodeEndsAfterAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, end := open(t, t.TempDir(), "log_a")
		defer end()
		made, code := makeCode(t, s, tokens.MakeCode{Parent: tokens.OwnerName})
		time.Sleep(time.Minute - time.Millisecond)
		if !live(s, made) {
			t.Error("it ended too soon")
		}
		time.Sleep(time.Millisecond)
		if live(s, made) {
			t.Error("it is live after its end")
		}
		if _, err := s.SignIn(context.Background(), tokens.SignIn{Parent: tokens.OwnerName, Code: code}); !errors.Is(err, tokens.ErrEnded) {
			t.Errorf("a request that was let in a moment before: %v", err)
		}
	})
}

func TestCodesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, end := open(t, t.TempDir(), "log_a")
		defer end()
		for i := range tokens.MaxCodes / tokens.MaxCodesOfParent {
			parent := fmt.Sprint("p", i)
			create(t, s, tokens.Create{Name: parent, Role: tokens.RoleRead})
			for range tokens.MaxCodesOfParent {
				makeCode(t, s, tokens.MakeCode{Parent: parent})
			}
			if _, err := s.MakeCode(context.Background(), tokens.MakeCode{Parent: parent}); !errors.Is(err, tokens.ErrTooMany) {
				t.Errorf("one more of a parent: %v", err)
			}
		}
		if _, err := s.MakeCode(context.Background(), tokens.MakeCode{Parent: tokens.OwnerName}); !errors.Is(err, tokens.ErrTooMany) {
			t.Errorf("one more: %v", err)
		}
		time.Sleep(tokens.CodeLife)
		makeCode(t, s, tokens.MakeCode{Parent: tokens.OwnerName})
		makeCode(t, s, tokens.MakeCode{Parent: "p0"})
	})
}

func TestNothingIsGivenThatTheParentDoesNotHave(t *testing.T) {
	s, store, end := open(t, t.TempDir(), "log_a")
	defer end()
	create(t, s, tokens.Create{Name: "phone", Role: tokens.RoleRespond})
	for field, list := range map[string][]tokens.MakeCode{
		"role": {
			{Parent: "phone", Role: tokens.RoleWork}, {Parent: "phone", Role: tokens.RoleOwner}, {Parent: tokens.OwnerName, Role: tokens.RoleOwner}, {Parent: tokens.OwnerName, Role: "x"},
		},
		"name":       {{Parent: "phone", Label: "a b"}, {Parent: "phone", Label: ".x"}, {Parent: "phone", Label: strings.Repeat("x", tokens.MaxLabel+1)}},
		"limited_to": {{Parent: "phone", ThreadIDs: []string{}}, {Parent: "phone", ThreadIDs: []string{"a b"}}, {Parent: "phone", ThreadIDs: make([]string, tokens.MaxThreads+1)}},
	} {
		for _, c := range list {
			var bad *turns.InvalidError
			if _, err := s.MakeCode(context.Background(), c); !errors.As(err, &bad) || bad.Field != field {
				t.Errorf("%+v: %v, want a word about %s", c, err, field)
			}
		}
	}
	if _, err := s.MakeCode(context.Background(), tokens.MakeCode{Parent: "phone", ThreadIDs: []string{"none"}}); !errors.Is(err, threads.ErrNotFound) {
		t.Errorf("a thread that does not exist: %v", err)
	}
	own := signIn(t, s, tokens.SignIn{Parent: "phone"})
	if own.Token.Role != tokens.RoleRespond {
		t.Errorf("with the token itself: %+v", own.Token)
	}
	if owners := signIn(t, s, tokens.SignIn{Parent: tokens.OwnerName}); owners.Token.Role != tokens.RoleOperate {
		t.Errorf("of the owner: %+v", owners.Token)
	}
	for _, parent := range []string{"nobody", own.Token.Name} { // a console token is no parent
		if _, err := s.MakeCode(context.Background(), tokens.MakeCode{Parent: parent}); !errors.Is(err, tokens.ErrEnded) {
			t.Errorf("of %s: %v", parent, err)
		}
		if _, err := s.SignIn(context.Background(), tokens.SignIn{Parent: parent}); !errors.Is(err, tokens.ErrEnded) {
			t.Errorf("of %s: %v", parent, err)
		}
	}
	if store.Tail().Head() != 3 {
		t.Errorf("%d events", store.Tail().Head())
	}
}

// A limited token passes its threads on.
func TestAConsoleTokenIsLimitedAsItsParent(t *testing.T) {
	s, store, end := open(t, t.TempDir(), "log_a")
	defer end()
	startThreads(t, store, "a", "b")
	create(t, s, tokens.Create{Name: "phone", Role: tokens.RoleRead, ThreadIDs: []string{"a", "b"}})
	_, whole := makeCode(t, s, tokens.MakeCode{Parent: "phone"})
	_, some := makeCode(t, s, tokens.MakeCode{Parent: "phone", ThreadIDs: []string{"b"}})
	for _, c := range []struct {
		ask  tokens.SignIn
		want string
	}{{tokens.SignIn{Parent: "phone"}, "[a b]"}, {tokens.SignIn{Parent: "phone", Code: whole}, "[a b]"}, {tokens.SignIn{Parent: "phone", Code: some}, "[b]"}} {
		if r := signIn(t, s, c.ask); fmt.Sprint(r.Token.ThreadIDs) != c.want {
			t.Errorf("%+v, want %s", r.Token, c.want)
		}
	}
}

func TestAConsoleTokenEndsWithItsParent(t *testing.T) {
	dir := t.TempDir()
	s, _, end := open(t, dir, "log_a")
	create(t, s, tokens.Create{Name: "phone", Role: tokens.RoleRead})
	create(t, s, tokens.Create{Name: "desk", Role: tokens.RoleRead})
	phone, desk, owner := signIn(t, s, tokens.SignIn{Parent: "phone"}), signIn(t, s, tokens.SignIn{Parent: "desk"}), signIn(t, s, tokens.SignIn{Parent: tokens.OwnerName})
	left, code := makeCode(t, s, tokens.MakeCode{Parent: "phone"})
	others, _ := makeCode(t, s, tokens.MakeCode{Parent: "desk"})
	alive, _ := find(s, phone.Secret)

	if _, err := s.Revoke(context.Background(), tokens.Revoke{Name: "phone"}); err != nil {
		t.Fatal(err)
	}
	check := func(when string) {
		t.Helper()
		for secret, want := range map[string]bool{phone.Secret: false, desk.Secret: true, owner.Secret: true} {
			if _, ok := find(s, secret); ok != want {
				t.Errorf("%s: live %v, want %v", when, ok, want)
			}
		}
		l, err := s.SignIns("phone", "", 10, false)
		if err != nil || len(l.Rows) != 1 || l.Rows[0].State != tokens.Revoked {
			t.Errorf("%s: listed %+v, %v", when, l.Rows, err)
		}
	}
	if alive.Err() == nil {
		t.Error("what the console token has open goes on")
	}
	check("at once")
	if live(s, left) || !live(s, others) {
		t.Error("the code of the parent that has ended is live, or that of another is not")
	}
	for _, c := range []tokens.SignIn{{Parent: "phone", Code: code}, {Parent: "phone"}} {
		if _, err := s.SignIn(context.Background(), c); !errors.Is(err, tokens.ErrEnded) {
			t.Errorf("a request that was let in a moment before: %v", err)
		}
	}
	end()

	s, _, end = open(t, dir, "log_a")
	check("after a restart")
	if live(s, others) {
		t.Error("a code is live after a restart")
	}
	end()

	s, _, end = open(t, dir, "log_restored")
	defer end()
	for _, secret := range []string{desk.Secret, owner.Secret} {
		if _, ok := find(s, secret); ok {
			t.Error("a console token is live after a restore")
		}
	}
}

func TestAConsoleTokenExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, end := open(t, t.TempDir(), "log_a")
		defer end()
		create(t, s, tokens.Create{Name: "short", Role: tokens.RoleRead, ExpiresInSeconds: seconds(3600)})
		create(t, s, tokens.Create{Name: "long", Role: tokens.RoleRead, ExpiresInSeconds: seconds(24 * 3600)})
		left, _ := makeCode(t, s, tokens.MakeCode{Parent: "short"})
		short, long := signIn(t, s, tokens.SignIn{Parent: "short"}), signIn(t, s, tokens.SignIn{Parent: "long"})
		parent, err := s.List("", 1, false)
		if err != nil || short.Token.ExpiresAt != parent.Rows[0].ExpiresAt {
			t.Errorf("it ends at %v, its parent at %v, %v", short.Token.ExpiresAt, parent.Rows[0].ExpiresAt, err)
		}
		aliveShort, _ := find(s, short.Secret)
		aliveLong, _ := find(s, long.Secret)
		time.Sleep(time.Hour + 10*time.Millisecond)
		if synctest.Wait(); aliveShort.Err() == nil || aliveLong.Err() != nil {
			t.Errorf("with its parent: %v; the other one: %v", aliveShort.Err(), aliveLong.Err())
		}
		if _, ok := find(s, short.Secret); ok || live(s, left) {
			t.Error("it, or the code, outlives the parent")
		}
		time.Sleep(tokens.ConsoleLife - time.Hour)
		if synctest.Wait(); aliveLong.Err() == nil {
			t.Error("it lives for longer than it may")
		}
		if _, ok := find(s, long.Secret); ok {
			t.Error("it is live after its end")
		}
	})
}

// slowLog is a log whose commits are slow, or fail.
type slowLog struct {
	ledger.Log
	before func() error
}

func (l *slowLog) Append(u *ledger.Unit) (ledger.Receipt, error) {
	if err := l.before(); err != nil {
		return ledger.Receipt{}, err
	}
	return l.Log.Append(u)
}

// on serves the tokens of a store whose log is slow.
func on(t *testing.T, store *sqlite.Store, before func() error) *tokens.Service {
	t.Helper()
	s, err := tokens.Open(context.Background(), tokens.Config{Log: &slowLog{store, before}, LogID: "log_a", Read: store.Reader().ReadToDecide})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The parent ends while the token is committed.
func TestATokenIsNotLiveWhoseParentEndsMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, store, end := open(t, t.TempDir(), "log_a")
		defer end()
		create(t, s, tokens.Create{Name: "phone", Role: tokens.RoleRead, ExpiresInSeconds: seconds(60)})
		s = on(t, store, func() error { time.Sleep(time.Minute); return nil })
		r, err := s.SignIn(context.Background(), tokens.SignIn{Parent: "phone"})
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := find(s, r.Secret); ok {
			t.Error("it is live")
		}
	})
}

// What could not be stored has used nothing up.
func TestACodeOutlivesACommitThatFails(t *testing.T) {
	_, store, end := open(t, t.TempDir(), "log_a")
	defer end()
	full := true
	s := on(t, store, func() error {
		if full {
			return ledger.ErrStorageFull
		}
		return nil
	})
	made, code := makeCode(t, s, tokens.MakeCode{Parent: tokens.OwnerName})
	if _, err := s.SignIn(context.Background(), tokens.SignIn{Parent: tokens.OwnerName, Code: code}); !errors.Is(err, ledger.ErrStorageFull) || !live(s, made) {
		t.Fatalf("%v, the code is live: %v", err, live(s, made))
	}
	full = false
	signIn(t, s, tokens.SignIn{Parent: tokens.OwnerName, Code: code})
}

func TestARepeatedSignInHasNoSecret(t *testing.T) {
	s, store, end := open(t, t.TempDir(), "log_a")
	defer end()
	create(t, s, tokens.Create{Name: "phone", Role: tokens.RoleRead})
	key := func(k string) *ledger.Key { return &ledger.Key{Key: k, Method: "signin/create"} }
	first := signIn(t, s, tokens.SignIn{Parent: "phone", Key: key("k")})
	second, err := s.SignIn(context.Background(), tokens.SignIn{Parent: "phone", Key: key("k")})
	if err != nil || second.Secret != "" || second.Token.Name != first.Token.Name || second.Seq != first.Seq {
		t.Errorf("%+v, %v", second, err)
	}
	// A code that was used up opens nothing, whatever the key.
	_, code := makeCode(t, s, tokens.MakeCode{Parent: "phone"})
	signIn(t, s, tokens.SignIn{Parent: "phone", Code: code, Key: key("c")})
	if _, err := s.SignIn(context.Background(), tokens.SignIn{Parent: "phone", Code: code, Key: key("c")}); !errors.Is(err, tokens.ErrEnded) {
		t.Errorf("a code again, with its key: %v", err)
	}
	if store.Tail().Head() != 3 {
		t.Errorf("%d events", store.Tail().Head())
	}
}

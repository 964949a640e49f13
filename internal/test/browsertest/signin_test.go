package browsertest

import (
	"os"
	"strings"
	"testing"
)

// serveLocked starts a server that lets nobody in without a token.
func serveLocked(t *testing.T) *server {
	t.Helper()
	s := serve(t, "", "--auth", "token")
	token, err := os.ReadFile(s.path("data/token"))
	if err != nil {
		t.Fatal(err)
	}
	s.token = strings.TrimSpace(string(token))
	return s
}

// A browser without a credential gets in by a code, by a token, and sees what the role
// allows. The server admits nobody without one.
func TestSigningIn(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s := serveLocked(t)
		thread := s.thread("echo", object{"title": "The one that asks"})
		s.until(s.turn(thread, "/ask Which way", nil), "waiting")

		p := blank(t, s, f)
		p.complaints.expect("status of 401")
		p.navigate("#/bridges")
		p.sees("h1", "Sign in")
		p.until("document.documentElement.dataset.page === 'signin'")
		p.write("input[type=password]", "nonsense")
		p.press("form button", "Sign in")
		p.sees("[role=alert]", "The server does not accept this code or token.")

		code := s.call("signin/code", object{"role": "respond"})["code"].(string)
		p.navigate("#code=" + code)
		p.sees("main", "read, and answer questions")
		if at := read[string](p, "location.href"); at != s.url+"/#/signin" {
			t.Errorf("the code is still in the address: %s", at)
		}
		p.complaints.expect()
		p.press("button", "Sign in")
		p.untilPage("overview")
		p.seesNot("button", "New thread")
		p.goTo("#/thread/" + thread)
		p.press("section.question button", "Allow")
		p.seesNot("section.question", "")
		p.seesNot("#composer", "")
		p.seesNot("button", "Interrupt")
		p.exact()

		p.goTo("#/server")
		p.sees("li.card", "this browser")
		p.complaints.expect("status of 401")
		p.press("section button", "Sign out")
		p.sees("h1", "Sign in")
		p.navigate("#code=" + code)
		p.sees("[role=alert]", "This code has been used")
	})
}

// A browser that signs in with a token gets one of its own, which ends when the first one is
// revoked. The first one is not stored. After a sign-in, a link leads to its page.
func TestSigningInByToken(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s := serveLocked(t)
		thread := s.thread("echo", object{"title": "One"})
		secret := s.call("token/create", object{"name": "reader", "role": "read"})["secret"].(string)
		p := blank(t, s, f)
		p.complaints.expect("status of 401")
		p.navigate("#/thread/" + thread) // a link in a message
		p.write("input[type=password]", secret)
		p.press("form button", "Sign in")
		p.untilPage("thread")
		p.complaints.expect()
		if kept := read[string](p, "JSON.stringify(localStorage)"); kept == "{}" || strings.Contains(kept, secret) {
			t.Errorf("the browser keeps %s", kept)
		}
		p.seesNot("#composer", "")
		p.complaints.expect("status of 401")
		s.call("token/revoke", object{"name": "reader"})
		p.sees("h1", "Sign in")
	})
}

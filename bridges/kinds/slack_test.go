package kinds_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/bridges/kinds"
	"github.com/seed82539d15/holon/internal/test/kindstest"
	"github.com/seed82539d15/holon/notify"
)

// rig is a target whose messages can be changed, and a channel to it.
type rig struct {
	t  *testing.T
	ch bridges.Channel
	// shown are the texts that can be seen, newest last.
	shown  func() []string
	target bridges.Target
	id     string // of the last message
}

func newSlackRig(t *testing.T) (*kindstest.Slack, *rig) {
	s := kindstest.NewSlack(t, testToken)
	ch := open(t, kinds.Config{Kind: bridges.KindSlack, APIURL: s.APIURL(), Secret: testToken})
	return s, &rig{t: t, ch: ch, shown: s.Shown, target: bridges.Target{Channel: "C0GENERAL"}}
}

func newGitHubRig(t *testing.T) (*kindstest.GitHub, *rig) {
	g := kindstest.NewGitHub(t, testToken)
	ch := open(t, kinds.Config{Kind: bridges.KindGitHub, APIURL: g.APIURL(), Secret: testToken})
	return g, &rig{t: t, ch: ch, shown: g.Shown, target: bridges.Target{Repository: "octo/parser", Number: 1}}
}

// show sends news of a title in the card "end".
func (r *rig) show(title string, post, arrived bool) bridges.Result {
	r.t.Helper()
	o := outgoing(envelope(bridges.TypeFinal, title), r.target, bridges.Card{Key: "end", RemoteID: r.id, Post: post})
	o.Arrived, o.ID = arrived, "id-of-"+title
	got := send(r.t, r.ch, o)
	r.id = got.RemoteIDs[0]
	return got
}

// sees checks the titles that can be seen.
func (r *rig) sees(titles ...string) {
	r.t.Helper()
	all := r.shown()
	if len(all) != len(titles) {
		r.t.Fatalf("%d messages, want %v: %q", len(all), titles, all)
	}
	for i, title := range titles {
		if !strings.Contains(all[i], title) {
			r.t.Errorf("message %d is %q, want %s", i, all[i], title)
		}
	}
}

// rigs are the targets whose messages are posted, changed and removed.
func rigs(t *testing.T, test func(t *testing.T, l *kindstest.Listener, r *rig, forget func())) {
	t.Run("slack", func(t *testing.T) {
		s, r := newSlackRig(t)
		test(t, s.Listener, r, func() { s.Delete(s.Messages()[0].TS) })
	})
	t.Run("github", func(t *testing.T) {
		g, r := newGitHubRig(t)
		test(t, g.Listener, r, func() { g.Delete(g.Comments(1)[0].ID) })
	})
}

func TestOneMessageOfACardIsVisible(t *testing.T) {
	rigs(t, func(t *testing.T, _ *kindstest.Listener, r *rig, _ func()) {
		must(t, r.show("first", false, false), bridges.Delivered)
		r.sees("first")
		first := r.id
		must(t, r.show("changed", false, false), bridges.Delivered)
		r.sees("changed")
		if r.id != first {
			t.Errorf("a change has made the message %s of %s", r.id, first)
		}
		must(t, r.show("new", true, false), bridges.Delivered)
		r.sees("new")
		if r.id == first || strings.Contains(r.id, " ") {
			t.Errorf("the new message is %q, the first was %q", r.id, first)
		}
		// All of it may be repeated.
		must(t, r.show("new", false, true), bridges.Delivered)
		must(t, r.show("new", true, true), bridges.Delivered)
		r.sees("new")
		// What another delivery has posted is not taken for this one's.
		must(t, r.show("newer", true, true), bridges.Delivered)
		r.sees("newer")
	})
}

func TestMessageThatAPersonHasRemovedIsPostedAgain(t *testing.T) {
	rigs(t, func(t *testing.T, _ *kindstest.Listener, r *rig, remove func()) {
		must(t, r.show("first", true, false), bridges.Delivered)
		remove()
		must(t, r.show("second", false, false), bridges.Delivered)
		r.sees("second")
		remove()
		must(t, r.show("third", true, false), bridges.Delivered)
		if r.sees("third"); strings.Contains(r.id, " ") {
			t.Errorf("what is not there is still to be removed: %q", r.id)
		}
	})
}

// A message that could not be removed is no reason to send the news again, and is
// not forgotten.
func TestMessageThatCannotBeRemovedIsRemovedLater(t *testing.T) {
	rigs(t, func(t *testing.T, l *kindstest.Listener, r *rig, _ func()) {
		must(t, r.show("first", true, false), bridges.Delivered)
		first := r.id
		l.Fail("") // the post itself works
		l.Fail(kindstest.Breaks)
		got := must(t, r.show("second", true, false), bridges.Delivered)
		r.sees("first", "second")
		if !strings.HasSuffix(r.id, " "+first) || got.Error == "" || strings.Contains(got.Error, "127.0.0.1") {
			t.Errorf("the remote id is %q, the error %q", r.id, got.Error)
		}
		got = must(t, r.show("third", false, false), bridges.Delivered)
		r.sees("third")
		if strings.Contains(r.id, " ") || got.Error != "" {
			t.Errorf("the remote id is %q, the error %q", r.id, got.Error)
		}
	})
}

// Of messages that can never be removed only some are remembered.
func TestMessagesThatStayAreBounded(t *testing.T) {
	rigs(t, func(t *testing.T, l *kindstest.Listener, r *rig, _ func()) {
		for range 12 {
			l.Fail("")
			for range 8 {
				l.Fail(kindstest.Breaks)
			}
			must(t, r.show("again", true, false), bridges.Delivered)
			l.Forgive()
		}
		if n := len(strings.Fields(r.id)); n != 5 || len(r.id) > 256 {
			t.Errorf("%d ids: %q", n, r.id)
		}
	})
}

// An attempt that fails in the middle says what its cards show by then, and that
// something has arrived.
func TestCardsAfterAFailureInTheMiddle(t *testing.T) {
	rigs(t, func(t *testing.T, l *kindstest.Listener, r *rig, _ func()) {
		must(t, r.show("one", true, false), bridges.Delivered)
		one := r.id
		r.id = ""
		must(t, r.show("two", true, false), bridges.Delivered)
		o := outgoing(envelope(bridges.TypeSuperseded, "over"), r.target, bridges.Card{Key: "a", RemoteID: one}, bridges.Card{Key: "b", RemoteID: r.id})
		l.Fail("")
		l.Fail(kindstest.Refuses)
		got := must(t, send(t, r.ch, o), bridges.Refused)
		if !got.Arrived || len(got.RemoteIDs) != 2 || got.RemoteIDs[0] != one || got.RemoteIDs[1] != r.id {
			t.Errorf("%s", describe(got))
		}
		r.sees("over", "two")
		must(t, send(t, r.ch, o), bridges.Delivered)
		r.sees("over", "over")
	})
}

func TestStoredIDsAndTargetsAreNoPaths(t *testing.T) {
	g, hub := newGitHubRig(t)
	for _, repository := range []string{"../user", "octo/..", "octo/../..", "octo%2f/x", "octo", ""} {
		hub.target.Repository = repository
		if got := must(t, hub.show("x", true, false), bridges.Refused); got.Error != "target" {
			t.Errorf("%s: %s", repository, describe(got))
		}
	}
	if n := g.Accepted(); n != 0 {
		t.Errorf("%d connections", n)
	}
	rigs(t, func(t *testing.T, l *kindstest.Listener, r *rig, _ func()) {
		for _, id := range []string{"../../user", "C1/../x", "5 ../../x 7/8", "9223372036854775808999", "\n", "C0GENERAL/1700000000.000001/../..", "-1"} {
			r.id = id
			must(t, r.show("x", false, false), bridges.Delivered)
			r.id = id
			must(t, r.show("x", true, false), bridges.Delivered)
		}
		for _, req := range l.Requests() {
			if strings.Contains(req.Path, "..") || strings.Contains(req.Path, "user") {
				t.Errorf("it calls %s", req.Path)
			}
		}
	})
}

func TestErrorsOfSlackDecide(t *testing.T) {
	for problem, want := range map[string]kindstest.Want{
		"ratelimited":            {Outcome: bridges.Wait, Error: "slack: ratelimited"},
		"rate_limited":           {Outcome: bridges.Wait, Error: "slack: rate_limited"},
		"message_limit_exceeded": {Outcome: bridges.Wait, Error: "slack: message_limit_exceeded"},
		"channel_not_found":      {Outcome: bridges.Refused, Error: "slack: channel_not_found"},
		"not_in_channel":         {Outcome: bridges.Refused, Error: "slack: not_in_channel"},
		"invalid_auth":           {Outcome: bridges.Refused, Error: "slack: invalid_auth"},
		"missing_scope":          {Outcome: bridges.Refused, Error: "slack: missing_scope"},
		"is_archived":            {Outcome: bridges.Gone, Error: "slack: is_archived"},
		"account_inactive":       {Outcome: bridges.Gone, Error: "slack: account_inactive"},
		"token_revoked":          {Outcome: bridges.Gone, Error: "slack: token_revoked"},
		"internal_error":         {Outcome: bridges.Failed, Error: "slack: internal_error", Unhealthy: true, Arrived: true},
		"fatal_error":            {Outcome: bridges.Failed, Error: "slack: fatal_error", Unhealthy: true, Arrived: true},
		testToken:                {Outcome: bridges.Refused, Error: "slack: unknown error"},
		"":                       {Outcome: bridges.Refused, Error: "slack: unknown error"},
	} {
		s, r := newSlackRig(t)
		s.FailNext("chat.postMessage", problem)
		got := r.show("x", true, false)
		if got.Outcome != want.Outcome || got.Error != want.Error || got.Unhealthy != want.Unhealthy || got.Arrived != want.Arrived || got.Status != 200 {
			t.Errorf("%s: %s", problem, describe(got))
		}
		if strings.Contains(string(got.Answer), testToken) {
			t.Errorf("the answer has the token: %s", got.Answer)
		}
	}
}

func TestSlackSaysHowLongToWait(t *testing.T) {
	l := kindstest.Listen(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "30")
		_, _ = w.Write([]byte(`{"ok":false,"error":"ratelimited"}`))
	}))
	ch := open(t, kinds.Config{Kind: bridges.KindSlack, APIURL: l.URL, Secret: testToken})
	if got := must(t, send(t, ch, outgoing(kindstest.Final(), bridges.Target{Channel: "C1"})), bridges.Wait); got.RetryAfter != 30*time.Second {
		t.Errorf("%v", got.RetryAfter)
	}
}

// A message that may not be changed any more is followed by a new one.
func TestSlackMessageThatMayNotBeChanged(t *testing.T) {
	for _, problem := range []string{"cant_update_message", "edit_window_closed"} {
		s, r := newSlackRig(t)
		must(t, r.show("first", true, false), bridges.Delivered)
		s.FailNext("chat.update", problem)
		must(t, r.show("second", false, false), bridges.Delivered)
		r.sees("second")
	}
	s, r := newSlackRig(t)
	must(t, r.show("first", true, false), bridges.Delivered)
	s.FailNext("chat.delete", "cant_delete_message")
	must(t, r.show("second", true, false), bridges.Delivered)
	if r.sees("first", "second"); strings.Contains(r.id, " ") {
		t.Errorf("it would try for ever: %q", r.id)
	}
}

func TestSlackThreadsAndLostAnswers(t *testing.T) {
	s, r := newSlackRig(t)
	r.target = bridges.Target{Channel: "C0OTHER1", ThreadTS: "1700000000.000001"}
	old := kindstest.Final()
	old.Timestamp = notify.Time{}
	for range 20 { // others, from before
		must(t, send(t, r.ch, outgoing(old, r.target)), bridges.Delivered)
	}
	s.Age(2 * time.Hour)
	s.Fail(kindstest.LosesAnswer)
	got := must(t, r.show("reply", true, false), bridges.Failed)
	must(t, r.show("reply", true, got.Arrived), bridges.Delivered)
	if all := s.Messages(); len(all) != 21 || !strings.Contains(all[20].Seen(), "reply") {
		t.Errorf("%d messages", len(all))
	}
	if m := s.Messages()[20]; m.ThreadTS != "1700000000.000001" || m.Channel != "C0OTHER1" {
		t.Errorf("%+v", m)
	}
	// Without the scope for the history the message is posted again.
	s, r = newSlackRig(t)
	s.History = false
	s.Fail(kindstest.LosesAnswer)
	must(t, r.show("news", true, false), bridges.Failed)
	must(t, r.show("news", true, true), bridges.Delivered)
	r.sees("news", "news")
	// It is not posted while it cannot be looked for.
	s, r = newSlackRig(t)
	s.Fail(kindstest.LosesAnswer)
	must(t, r.show("news", true, false), bridges.Failed)
	s.FailNext("conversations.history", "ratelimited")
	must(t, r.show("news", true, true), bridges.Wait)
	must(t, r.show("news", true, true), bridges.Delivered)
	r.sees("news")
}

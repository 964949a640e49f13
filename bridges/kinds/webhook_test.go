package kinds_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/bridges/kinds"
	"github.com/seed82539d15/holon/internal/test/kindstest"
)

func TestWebhookIsAcceptedByTheReferenceLibraryInEachAttempt(t *testing.T) {
	r := kindstest.NewReceiver(t, testSecret)
	ch := open(t, kinds.Config{Kind: bridges.KindWebhook, URL: r.URL + "/path?x=1", Secret: testSecret})
	o := outgoing(kindstest.Final(), bridges.Target{})
	r.Fail(kindstest.Breaks)
	must(t, send(t, ch, o), bridges.Failed)
	must(t, send(t, ch, o), bridges.Delivered)
	o.Arrived = true
	must(t, send(t, ch, o), bridges.Delivered)
	if ids := r.IDs(); !slices.Equal(ids, []string{o.ID}) || string(r.Body(o.ID)) != string(o.Body) {
		t.Errorf("received are %q", ids)
	}
	for _, req := range r.Requests() {
		if req.Path != "/path" || req.Query.Get("x") != "1" || req.Header.Get("Content-Type") != "application/json" || req.Header.Get("Webhook-Id") != o.ID {
			t.Errorf("%+v", req)
		}
	}
	r.SetSecrets(earlier)
	if got := send(t, ch, o); got.Outcome != bridges.Refused || got.Status != 401 {
		t.Errorf("a receiver with another secret: %s", describe(got))
	}
}

// For a day after a rotation a receiver may know either secret.
func TestBothSignaturesAfterARotation(t *testing.T) {
	r := kindstest.NewReceiver(t)
	config := kinds.Config{Kind: bridges.KindWebhook, URL: r.URL, Secret: testSecret, Previous: earlier, PreviousUntil: time.Now().Add(24 * time.Hour)}
	o := outgoing(kindstest.Final(), bridges.Target{})
	for _, c := range []struct {
		until time.Time
		knows string
		want  bridges.Outcome
		signs int
	}{
		{config.PreviousUntil, testSecret, bridges.Delivered, 2}, {config.PreviousUntil, earlier, bridges.Delivered, 2},
		{time.Now().Add(-time.Second), testSecret, bridges.Delivered, 1}, {time.Now().Add(-time.Second), earlier, bridges.Refused, 1},
	} {
		r.SetSecrets(c.knows)
		config.PreviousUntil = c.until
		must(t, send(t, open(t, config), o), c.want)
		all := r.Requests()
		if n := len(strings.Fields(all[len(all)-1].Header.Get("Webhook-Signature"))); n != c.signs {
			t.Errorf("%d signatures, want %d", n, c.signs)
		}
	}
}

func TestNewWebhookSecretsAreGood(t *testing.T) {
	one, two := kinds.NewWebhookSecret(), kinds.NewWebhookSecret()
	c := kinds.Config{Kind: bridges.KindWebhook, URL: "https://example.com", Secret: one}
	if err := c.Check(); err != nil || one == two {
		t.Errorf("%v, %v", err, one == two)
	}
}

// A channel lives for months: the end of the day of two secrets is noticed at each
// attempt.
func TestSecretFromBeforeARotationEndsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, seen := kinds.StubWebhook(kinds.Config{Kind: bridges.KindWebhook, URL: "https://example.com", Secret: testSecret, Previous: earlier, PreviousUntil: time.Now().Add(24 * time.Hour)})
		for _, c := range []struct {
			after time.Duration
			signs int
		}{{0, 2}, {24*time.Hour - time.Second, 2}, {time.Second, 1}, {1000 * time.Hour, 1}} {
			time.Sleep(c.after)
			send(t, ch, outgoing(kindstest.Final(), bridges.Target{}))
			if n := len(strings.Fields(seen().Get("Webhook-Signature"))); n != c.signs {
				t.Errorf("%d signatures, want %d", n, c.signs)
			}
		}
	})
}

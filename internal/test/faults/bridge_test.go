//go:build linux

package faults

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/internal/test/kindstest"
)

const sendSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw9QZ0aGVyZQ=="

// configure writes the configuration file that servers of the testbed read.
func (p *testbed) configure(t testing.TB, text string) {
	t.Helper()
	dir := filepath.Join(p.root, "holon")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// serve starts a server with variables in its environment and waits until it is
// ready.
func (p *testbed) serve(t testing.TB, env []string, args ...string) *server {
	t.Helper()
	s := p.launch(t, launch{args: args, env: env})
	if err := s.ready(startWithin); err != nil {
		t.Fatalf("the server does not get ready: %v\n%s", err, s.stderr.tail())
	}
	return s
}

// A webhook of the configuration gets the ends of turns, signed; across kill -9 in the
// middle of an attempt it gets the same bytes under the same id.
func TestConfiguredWebhookGetsEndsAcrossKills(t *testing.T) {
	t.Parallel()
	target := kindstest.NewReceiver(t, sendSecret)
	p := newTestbed(t)
	p.configure(t, fmt.Sprintf("[bridges.hook]\nkind = \"webhook\"\nurl = %q\nallow_private = true\nsecret_env = \"HOOK_SECRET\"\n", target.URL+"/hook"))
	env, args := []string{"HOOK_SECRET=" + sendSecret}, []string{"--agent", "echo", "--agent", "env=exec:env"}
	s := p.serve(t, env, args...)
	s.must(t, "subscription/create", object{"subscription_id": "s", "bridge_id": "hook", "include_text": true})
	s.must(t, "thread/start", object{"thread_id": "a"})
	s.must(t, "turn/start", turn("a", "/say the first"))
	eventually(t, "the first end arrives", func() bool { return len(target.IDs()) == 1 })

	var first struct {
		DeliveryID string `json:"delivery_id"`
		EventType  string `json:"event_type"`
		Final      bool   `json:"final"`
		Type       string `json:"type"`
		Data       struct {
			ThreadID string `json:"thread_id"`
			State    string `json:"state"`
			Text     string `json:"text"`
		} `json:"data"`
	}
	id := target.IDs()[0]
	if err := json.Unmarshal(target.Body(id), &first); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(id, ":"+first.DeliveryID) || first.EventType != "final" || !first.Final || first.Type != "turn.completed" ||
		first.Data.ThreadID != "a" || first.Data.State != "completed" || first.Data.Text != "the first" {
		t.Errorf("%s: %s", id, target.Body(id))
	}

	busy := target.Fail(kindstest.Hangs)
	s.must(t, "turn/start", turn("a", "/say the second"))
	<-busy
	s.kill()
	s = p.serve(t, env, args...)
	eventually(t, "the second end arrives after the restart", func() bool { return len(target.IDs()) == 2 })
	var second [][]byte
	for _, r := range target.Requests() {
		if r.Header.Get("Webhook-Id") == target.IDs()[1] {
			second = append(second, r.Body)
		}
	}
	if len(second) < 2 || slices.ContainsFunc(second, func(b []byte) bool { return string(b) != string(second[0]) }) {
		t.Errorf("the attempts before and after the kill sent %d bodies: %s", len(second), second)
	}

	// An agent does not inherit the secret.
	s.must(t, "thread/start", object{"thread_id": "e", "agent": "env", "cwd": p.root})
	s.must(t, "turn/start", turn("e", "show"))
	eventually(t, "the third end arrives", func() bool { return len(target.IDs()) == 3 })
	if body := string(target.Body(target.IDs()[2])); !strings.Contains(body, "HOLON_") || strings.Contains(body, "HOOK_SECRET") {
		t.Errorf("an agent's environment: %s", body)
	}
	var read struct {
		Subscription struct {
			Pending int    `json:"pending"`
			State   string `json:"state"`
			Cursor  struct {
				Last int64 `json:"last_sequence"`
			} `json:"cursor"`
		} `json:"subscription"`
	}
	eventually(t, "everything is settled", func() bool {
		s.must(t, "subscription/read", object{"subscription_id": "s"}).decode(t, &read)
		return read.Subscription.Pending == 0
	})
	if read.Subscription.State != "active" || read.Subscription.Cursor.Last == 0 {
		t.Errorf("%+v", read)
	}
	s.stop(t)
	if n := len(target.IDs()); n != 3 {
		t.Errorf("%d webhooks, want 3", n)
	}
}

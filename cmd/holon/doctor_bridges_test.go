package main

import (
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/mattn/go-sqlite3"

	"github.com/seed82539d15/holon/internal/test/kindstest"
	"github.com/seed82539d15/holon/rpc/client"
)

// configFile writes a configuration.
func configFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDoctorLooksAtTheBridgesOfTheConfiguration(t *testing.T) {
	s, _, receiver := startNotifying(t)
	if err := os.Chmod(s.data, 0o700); err != nil {
		t.Fatal(err)
	}
	record, err := client.ReadServerFile(s.data)
	if err != nil {
		t.Fatal(err)
	}
	s.want("notify", "--all", "--bridge=hook")
	const more = "allow_private = true\nsecret = \"" + sendSecret + "\"\n"
	good := "[bridges.hook]\nkind = \"webhook\"\nurl = \"" + receiver.URL + "/x\"\n" + more
	requests := len(receiver.Requests())
	r := s.holon("doctor", "--all", "--config", configFile(t, good))
	if r.code != exitOK {
		t.Fatalf("exit %d: %s%s", r.code, r.out, r.err)
	}
	contains(t, r.out, "ok       bridge hook    webhook, reached in ", " ms, 1 subscription\n", "ok       bridge ntfy    ntfy, of a configuration that was not read")
	if n := len(receiver.Requests()); n != requests {
		t.Errorf("doctor has sent %d requests", n-requests)
	}
	bad := good + `
[bridges.down]
kind = "webhook"
url = "http://127.0.0.1:1/x"
` + more + `
[bridges.itself]
kind = "webhook"
url = "` + record.URLs[0] + `/x"
` + more + `
[bridges.unset]
kind = "slack"
token_env = "HOLON_TEST_IS_NOT_SET"

[bridges.nofile]
kind = "github"
token_file = "/nowhere/at/all"

[bridges.noprogram]
kind = "command"
command = ["/nowhere/at/all"]
`
	r = s.holon("doctor", "--config", configFile(t, bad))
	if r.code != exitFailed {
		t.Fatalf("exit %d: %s%s", r.code, r.out, r.err)
	}
	contains(t, r.out,
		"warning  bridge down    its target cannot be reached from here: connection_refused",
		"warning  bridge down    the server does not know it yet: restart it",
		"error    bridge itself  its address is that of this server",
		"warning  bridge unset   HOLON_TEST_IS_NOT_SET is not set here",
		"error    bridge nofile  token_file: ",
		"error    bridge noprogram it cannot send: no_program",
	)
	if out := s.want("doctor", "--skip-bridges", "--config", configFile(t, good)); strings.Contains(out, "reached") {
		t.Errorf("connected although it was not to be:\n%s", out)
	}
	if strings.Contains(r.out+r.err, sendSecret) {
		t.Error("a secret is shown")
	}
}

func TestDoctorLooksAtTheSecretsOfBridges(t *testing.T) {
	s := startServer(t)
	if err := os.Chmod(s.data, 0o700); err != nil {
		t.Fatal(err)
	}
	if out := s.want("doctor"); strings.Contains(out, "bridge") {
		t.Errorf("there is no bridge:\n%s", out)
	}
	s.want("bridge", "add", "webhook", "hook", "--to=https://localhost/x")
	r := s.holon("doctor")
	if r.code != exitFailed || !strings.Contains(r.out, "error    bridge hook    its name leads to a private network") {
		t.Errorf("a name of a private network: %+v", r)
	}
	contains(t, s.want("doctor", "--skip-bridges"), "ok       bridge hook    webhook, 0 subscriptions\n")
	files, err := filepath.Glob(filepath.Join(s.data, "secrets", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, tc := range []struct {
		do   func() error
		want string
	}{
		{func() error { return os.Chmod(files[0], 0o644) }, "others can read its secrets: chmod 700"},
		{func() error { return os.Remove(files[0]) }, "its secrets are missing or damaged; backups have none. Give it new ones: holon bridge rotate hook"},
		{func() error { return os.Remove(filepath.Dir(files[0])) }, "its secrets are missing or damaged"},
	} {
		if err := tc.do(); err != nil {
			t.Fatal(err)
		}
		if r := s.holon("doctor", "--skip-bridges"); r.code != exitFailed || !strings.Contains(r.out, "error    bridge hook    "+tc.want) {
			t.Errorf("want %q: %+v", tc.want, r)
		}
	}
}

func TestDoctorSaysWhatWaitsAndWhatWasGivenUp(t *testing.T) {
	target := kindstest.Listen(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }))
	s := startDelivering(t, hook(target.URL+"/x"))
	if err := os.Chmod(s.data, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		s.want("notify", "--all", "--bridge=hook", fmt.Sprintf("--id=s%d", i))
	}
	s.want("run", "--thread=a", "/say one")
	eventually(t, "all wait", func() bool { return strings.Count(s.want("deliveries", "--state=pending"), "notif:") == 5 })
	contains(t, s.want("doctor", "--all"), "webhook, of a configuration that was not read", "5 subscriptions, 5 messages wait, the oldest for ")
	s.stop()
	db, err := sql.Open("sqlite3", filepath.Join(s.data, "holon.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{
		`UPDATE deliveries SET state = 'dead' WHERE subscription_id = 's0'`,
		`UPDATE deliveries SET state = 'mismatch' WHERE subscription_id = 's1'`,
		`UPDATE deliveries SET created_at = created_at - 7200000 WHERE subscription_id = 's2'`,
		`UPDATE subscriptions SET state = 'held', reason = 'backlog' WHERE subscription_id = 's3'`,
		`UPDATE subscriptions SET state = 'disabled', reason = 'gone' WHERE subscription_id = 's4'`,
		`UPDATE bridges SET state = 'paused', reason = 'restored'`,
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	r := s.holon("doctor")
	if r.code != exitFailed {
		t.Errorf("exit %d", r.code)
	}
	contains(t, r.out,
		"warning  bridge hook    paused: the log was restored from a backup. The original server may still send. If it does not: holon bridge resume hook\n",
		"error    bridge hook    1 end disagrees with the rows of their turns",
		"warning  bridge hook    1 subscription is held, too much waits: holon notify show s3\n",
		"warning  bridge hook    1 subscription is disabled, the target says that it is gone: holon notify show s4\n",
		"warning  bridge hook    1 message was given up: holon deliveries --dead --bridge hook\n",
		"warning  bridge hook    3 messages wait, the oldest for 2h: holon deliveries --state pending --bridge hook\n",
	)
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/internal/test/hosttest"
	"github.com/seed82539d15/holon/rpc/client"
)

func init() { programs[hosttest.SpyProgram] = hosttest.Spy }

// TestNoCommandGivesTheTokenToAnotherUser has another user listen where a
// server of this user was, or where --url says that it is.
func TestNoCommandGivesTheTokenToAnotherUser(t *testing.T) {
	const token = "s3cret-0123456789-0123456789-0123456789"
	spy, address := hosttest.StartSpy(t)
	data := deadServer(t, "http://"+address)
	if err := os.WriteFile(filepath.Join(data, "token"), []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := holon(t, data, "", "status"); r.code != exitFailed || !strings.Contains(r.err, "no server runs on") {
		t.Errorf("a server that was killed: %+v", r)
	}
	for _, command := range [][]string{{"status"}, {"run", "hello"}, {"watch"}, {"call", "holon/status"}, {"call", "--follow", "holon/logStream"}, {"conformance"}, {"connect"}} {
		r := holon(t, data, "", append(command, "--url=http://"+address)...)
		if r.code != exitFailed || !strings.Contains(r.err, "belongs to another user (uid 54321)") || !strings.Contains(r.err, "Use a server of this user") {
			t.Errorf("%s: %+v", command, r)
		}
		if seen, err := spy.Line(); err != nil || seen != `""` {
			t.Errorf("%s: the other user has seen %s (%v)", command, seen, err)
		}
	}
}

func TestTheServersFileTellsItFromALaterProcess(t *testing.T) {
	s := startServer(t)
	record, err := client.ReadServerFile(s.data)
	if err != nil || record.BootID == "" || record.StartTicks == 0 || !record.Alive() {
		t.Errorf("%+v, %v", record, err)
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed82539d15/holon/internal/host"
	"github.com/seed82539d15/holon/rpc/client"
)

// TestANamedDirectoryWithoutAServerIsAnError: a server at the default address
// is not used for a directory that the user has named.
func TestANamedDirectoryWithoutAServerIsAnError(t *testing.T) {
	empty := freshDir(t)
	file := filepath.Join(t.TempDir(), "holon.toml")
	if err := os.WriteFile(file, []byte("data = \""+empty+"\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	t.Chdir(work)
	cases := []struct {
		name, env, named, hint string
		args                   []string
	}{
		{"--data", "", empty, "", []string{"--data", empty}},
		{"HOLON_DATA", empty, empty, "", nil},
		{"the configuration file", "", empty, "", []string{"--config", file}},
		{"a relative HOLON_DATA", "data", filepath.Join(work, "data"), "HOLON_DATA is data,", nil},
	}
	for _, tc := range cases {
		for _, command := range [][]string{{"run", "hello"}, {"status"}, {"watch", "--limit=1"}, {"call", "holon/status"}, {"conformance"}, {"connect", "--no-start"}} {
			t.Run(tc.name+" "+command[0], func(t *testing.T) {
				r := holon(t, tc.env, "", append(command, tc.args...)...)
				if r.code != exitFailed || !strings.Contains(r.err, "no server runs on "+tc.named) ||
					!strings.Contains(r.err, "holon serve --data "+tc.named) || !strings.Contains(r.err, tc.hint) {
					t.Errorf("%+v", r)
				}
			})
		}
	}
}

// deadServer leaves the files of a killed server: its pid now belongs to
// another process, and its address to another program.
func deadServer(t *testing.T, url string) (data string) {
	t.Helper()
	data = freshDir(t)
	record := client.ServerRecord{Process: host.Self(), URLs: []string{url}, LogID: "log"}
	if record.StartTicks == 0 {
		t.Skip("NOT TESTED: this system does not tell when a process was started")
	}
	record.StartTicks--
	b, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(client.ServerFile(data), b, 0o600); err != nil {
		t.Fatal(err)
	}
	return data
}

func TestConnectStartsAServerWhereAKilledOneHasLeftItsFile(t *testing.T) {
	data := deadServer(t, "http://127.0.0.1:1") // nothing listens there: the wait for it would take a minute
	c := &process{cmd: exec.Command(build(t, t.TempDir(), "./cmd/holon"), "connect"), exited: make(chan struct{})}
	c.cmd.Env = append(os.Environ(), "HOLON_DATA="+data, "HOLON_LISTEN=127.0.0.1:0", "HOLON_URL=", "HOLON_TOKEN=of-another-server", "XDG_CONFIG_HOME="+t.TempDir())
	c.cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"holon/status"}`)
	c.cmd.Stdout, c.cmd.Stderr = &c.output, &c.output
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = c.cmd.Wait() // what it prints is looked at
		close(c.exited)
	}()
	t.Cleanup(func() { // the server is in its own session
		if record, err := client.ReadServerFile(data); err == nil && record.Alive() {
			_ = syscall.Kill(record.PID, syscall.SIGTERM)
			eventually(t, "the server ends", func() bool { return !record.Alive() })
		}
	})
	select {
	case <-c.exited:
	case <-time.After(50 * time.Second):
		_ = c.cmd.Process.Kill()
		<-c.exited
		t.Error("it waits for the server that is gone")
	}
	if record, err := client.ReadServerFile(data); err != nil {
		t.Error(err)
	} else if environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", record.PID)); err == nil && (!strings.Contains(string(environ), "HOLON_LISTEN=") || strings.Contains(string(environ), "of-another-server")) { // Linux
		t.Errorf("the server was started with %q", environ)
	}
	if said := c.output.String(); !strings.Contains(said, "starting a server for "+data) || !strings.Contains(said, `"id":1,"result"`) {
		t.Errorf("it says:\n%s", said)
	}
}

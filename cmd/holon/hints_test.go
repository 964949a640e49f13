package main

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/seed82539d15/holon/cmd/holon/config"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/persist/sqlite"
	"github.com/seed82539d15/holon/rpc/client"
)

func TestWhatServeCannotHaveIsSaidWithAWayOut(t *testing.T) {
	s := startServer(t)
	if r := s.holon("serve", "--listen=127.0.0.1:0"); r.code != exitFailed || !strings.Contains(r.err, "Stop that one with holon stop, or name another directory") {
		t.Errorf("a second server of a data directory: %+v", r)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	if r := holon(t, freshDir(t), "", "serve", "--listen="+taken.Addr().String()); r.code != exitFailed || !strings.Contains(r.err, "--listen 127.0.0.1:0 takes a free port.") {
		t.Errorf("an address that is taken: %+v", r)
	}
}

// A log that has become an empty file is lost, and no new one is begun in its place.
func TestAnEmptyLogIsNoNewOne(t *testing.T) {
	s := &server{t: t, data: t.TempDir()}
	s.start()
	s.want("run", "hello")
	s.stop()
	for _, name := range []string{"holon.db-wal", "holon.db-shm"} {
		_ = os.Remove(filepath.Join(s.data, name)) // it may not be there
	}
	log := filepath.Join(s.data, "holon.db")
	if err := os.Truncate(log, 0); err != nil {
		t.Fatal(err)
	}
	r := holon(t, s.data, "", "serve", "--listen=127.0.0.1:0")
	if r.code != exitFailed || !strings.Contains(r.err, "is empty, and a server has run in this directory") || !strings.Contains(r.err, "in a new directory: holon restore FILE --data NEWDIR") {
		t.Errorf("%+v", r)
	}
	if info, err := os.Stat(log); err != nil || info.Size() != 0 {
		t.Errorf("it was written to: %v, %v", info, err)
	}
	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	s.start()
	if list := s.want("threads"); strings.Contains(list, "hello") {
		t.Errorf("what was lost is there:\n%s", list)
	}
}

func TestStorageErrorsSayWhatToDo(t *testing.T) {
	file := &fs.PathError{Op: "open", Path: filepath.Join(t.TempDir(), "lock")}
	at := func(errno syscall.Errno) error {
		e := *file
		e.Err = errno
		return fmt.Errorf("serve: %w", &e)
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{&client.Error{Kind: "storage_full"}, "the server continues by itself"},
		{&client.Error{Kind: "storage_failed"}, "restart the server"},
		{fmt.Errorf("copy the database: %w", ledger.ErrStorageFull), "Make space"},
		{at(syscall.ENOSPC), "Make space"},
		{at(syscall.EROFS), "--data DIR"},
		{at(syscall.EACCES), "--data DIR"},
		{fmt.Errorf("listen: %w", syscall.EACCES), ""}, // a port below 1024 is no file
	} {
		if got := new(globals).hint(c.err); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%v: hint %q, want %q", c.err, got, c.want)
		}
	}
}

// The kind of an unknown item is that of turns and of inboxes: the hint is of what was meant.
func TestAnUnknownItemIsLookedForWhereItBelongs(t *testing.T) {
	s := startServer(t)
	s.want("run", "--thread=a", "hello")
	for _, c := range []struct{ method, params, hint, not string }{
		{"inbox/ack", `{"thread_id":"a","raw_ids":["raw_999"]}`, "holon inbox items THREAD", "holon respond"},
		{"item/read", `{"item_id":"item_9"}`, "holon respond lists the open questions", "holon inbox"},
	} {
		if r := s.holon("call", c.method, c.params); r.code != exitFailed || !strings.Contains(r.err, c.hint) || strings.Contains(r.err, c.not) {
			t.Errorf("%s: %+v", c.method, r)
		}
	}
}

// A server that is gone is started again on its own data directory: on another one it
// would have other threads.
func TestAServerThatIsGoneIsStartedOnItsOwnData(t *testing.T) {
	with := func(origin config.Origin, data string) *globals {
		loaded := &config.Loaded{Config: &config.Config{Data: data}, Sources: map[string]config.Source{"data": {Origin: origin}}}
		return &globals{loaded: loaded}
	}
	for _, c := range []struct {
		g            *globals
		source, want string
	}{
		{with(config.FromFlag, "/srv/data"), client.ServerFile("/srv/data"), "Start one with: holon serve --data /srv/data"},
		{with(config.FromEnv, "/srv/data"), client.ServerFile("/srv/data"), "Start one with: holon serve --data /srv/data"},
		{with(config.FromFile, "/srv/data"), client.ServerFile("/srv/data"), "Start one with: holon serve --data /srv/data"},
		{with(config.FromDefault, "/home/data"), client.ServerFile("/home/data"), "Start one with: holon serve"},
		{with(config.FromDefault, "/home/data"), client.SourceDefault, "Start one with: holon serve"},
		// One that was chosen at the start of the dashboard.
		{with(config.FromDefault, "/home/data"), client.ServerFile("/other"), "Start one with: holon serve --data /other"},
		{new(globals), client.SourceDefault, "Start one with: holon serve"},
	} {
		if got := c.g.hint(&client.UnreachableError{URL: "http://a", Source: c.source}); got != c.want {
			t.Errorf("the hint for a server of %s is %q, want %q", c.source, got, c.want)
		}
	}
}

// Who calls this program by a path, and has none in PATH, is told that path.
func TestAServerIsStartedAsThisProgramWasCalled(t *testing.T) {
	said := func(program, path string) string {
		t.Setenv("PATH", path)
		return (&globals{program: program}).hint(&client.UnreachableError{URL: "http://a", Source: client.SourceDefault})
	}
	none, installed := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(installed, "holon"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ program, path, want string }{
		{"bin/holon", none, "Start one with: bin/holon serve"},
		{"/opt/my tools/holon", none, `Start one with: "/opt/my tools/holon" serve`},
		{"bin/holon", installed, "Start one with: holon serve"},
		{"holon", none, "Start one with: holon serve"},
		{"", none, "Start one with: holon serve"},
	} {
		if got := said(c.program, c.path); got != c.want {
			t.Errorf("%q with PATH=%s: %q, want %q", c.program, c.path, got, c.want)
		}
	}
}

func TestARefusedTokenIsSaidWithWhatItAllows(t *testing.T) {
	with := func(environ ...string) *globals { return &globals{console: console{environ: environ}} }
	// from is a command whose token came from somewhere.
	from := func(source string, environ ...string) *globals {
		g := with(environ...)
		g.tokenFile = "FILE"
		g.server = client.New(func() (client.Endpoint, error) {
			return client.Endpoint{URL: "https://a", TokenFrom: source}, nil
		})
		return g
	}
	elsewhere := with("HOLON_URL=http://a", "HOLON_TOKEN=x")
	elsewhere.url = "http://b"
	for _, c := range []struct {
		g            *globals
		kind, reason string
		want         string
	}{
		{with(), "forbidden", "host", "--allow-host"},
		{with(), "forbidden", "origin", "--allow-origin"},
		{with(), "forbidden", "request_target", ""},
		{with(), "forbidden", "", ""}, // a lease
		{with("HOLON_TOKEN=x"), "forbidden", "agent_token", "the agent's own thread and the threads below it"},
		{with(), "unauthorized", "token_missing", "--data DIR"},
		{from(""), "unauthorized", "token_missing", "holon login https://a"},
		{from(fromVariable), "unauthorized", "token_wrong", "HOLON_TOKEN is not valid there"},
		{from(fromVariable), "unauthorized", "agent_ended", "ends with the process"},
		{from(fromTokenFile), "unauthorized", "token_wrong", "The token in FILE (--token-file)"},
		{from(fromProfile), "unauthorized", "token_wrong", "the profile of https://a is not valid there any more: holon login https://a"},
		{from(client.FromData), "unauthorized", "token_wrong", "The token of the data directory is not that of this server"},
		{elsewhere, "unauthorized", "token_missing", "HOLON_TOKEN was not sent: it is for http://a."},
		{from(fromVariable), "unauthorized", "token_ended", "when it is revoked or expires"},
		{with("HOLON_TOKEN=x"), "forbidden", "role", "holon token create NAME --role"},
		{with("HOLON_TOKEN=x"), "forbidden", "threads", "holon threads"},
	} {
		got := c.g.hint(&client.Error{Kind: c.kind, Reason: c.reason})
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s %s: hint %q, want %q", c.kind, c.reason, got, c.want)
		}
	}
}

func TestADamagedLogIsSaidWithAWayOut(t *testing.T) {
	dir := freshDir(t)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, sqlite.FileName), []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"serve", "--listen=127.0.0.1:0"}, {"doctor", "--skip-agents"}, {"export"}} {
		if r := holon(t, dir, "", args...); r.code != exitFailed || !strings.Contains(r.err, "continue from a backup") {
			t.Errorf("%v: %+v", args, r)
		}
	}
}

//go:build linux

package faults

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A SIGTERM lets running turns continue for drain_seconds, then interrupts them,
// keeps queued turns, and notifies every stream that keeps up (I5).
func TestSIGTERMDrainsAndSaysGoodbye(t *testing.T) {
	t.Parallel()
	drain := either(3.0, 6.0) // long enough to be looked at on a busy machine
	p := newTestbed(t)
	s := p.start(t, "--drain-seconds", fmt.Sprint(drain))
	v, followed := newView(0), make(chan error, 1)
	go func() { followed <- v.follow(s) }()
	s.must(t, "thread/start", object{"thread_id": "a"})
	s.must(t, "thread/start", object{"thread_id": "b"})
	long := s.must(t, "turn/start", turn("a", "/sleep 60000"))
	queued := s.must(t, "turn/start", turn("a", "later"))
	short := s.must(t, "turn/start", turn("b", "/sleep 500\n/say in time"))
	stuck := stuckReader(t, p)
	defer stuck.Close()
	// The socket's buffers must be full, or the reader that never reads keeps up.
	s.must(t, "thread/start", object{"thread_id": "c"})
	big := s.must(t, "turn/start", turn("c", "/items 60 60000"))
	if _, err := v.waitLine(startWithin, 0, `"method":"turn/completed"`, big.TurnID); err != nil {
		t.Fatal(err)
	}
	if _, err := v.waitLine(startWithin, 0, `"method":"turn/queued"`, queued.TurnID); err != nil {
		t.Fatal(err)
	}

	began := time.Now()
	if err := s.signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := becomes(s, http.StatusServiceUnavailable); err != nil {
		t.Error(err)
	}
	if _, err := s.call("turn/start", turn("b", "too late")); kindOf(err) != "unavailable" {
		t.Errorf("turn/start while draining: %v, want unavailable", err)
	}
	if _, err := s.call("holon/status", nil); err != nil {
		t.Errorf("a read while draining: %v", err)
	}
	if !s.wait(20 * time.Second) { // a write to the reader that never reads would take 30 s
		t.Fatalf("the server does not stop\n%s", s.stderr.tail())
	}
	took := time.Since(began)
	if s.status != nil {
		t.Errorf("exit: %v\n%s", s.status, s.stderr.tail())
	}
	if took.Seconds() < drain {
		t.Errorf("the stop took %v, want at least %v s", took, drain)
	}
	<-followed

	lines := v.all()
	for what, parts := range map[string][]string{
		"the long turn is interrupted":  {`"method":"turn/interrupted"`, long.TurnID, `"reason":"server stopping"`},
		"the short turn ends by itself": {`"method":"turn/completed"`, short.TurnID},
	} {
		found := false
		for _, line := range lines {
			found = found || containsAll(line, parts)
		}
		if !found {
			t.Errorf("a stream that keeps up was not notified that %s", what)
		}
	}
	if !containsAll(v.closing, []string{`"reconnect":true`, fmt.Sprintf(`"seq":%d`, v.cursor())}) {
		t.Errorf("the goodbye at %d was %q", v.cursor(), v.closing)
	}

	s = p.start(t)
	if err := s.idle(startWithin); err != nil {
		t.Fatal(err)
	}
	log := s.log(t)
	if err := v.within(log); err != nil {
		t.Error(err)
	}
	if err := checkLog(log, true); err != nil {
		t.Error(err)
	}
	after := log[v.cursor():]
	if !strings.Contains(strings.Join(after, ""), queued.TurnID) {
		t.Error("the queued turn did not start after the restart")
	}
	for _, line := range after {
		if methodOf(line) == "turn/interrupted" {
			t.Errorf("the restart still had to interrupt: %s", line)
		}
	}
	t.Logf("drained in %v with drain_seconds %v", took.Round(time.Millisecond), drain)
}

// becomes waits until readyz answers so.
func becomes(s *server, want int) error {
	var code int
	for deadline := time.Now().Add(startWithin); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if code, _ = s.readyz(); code == want {
			return nil
		}
	}
	return fmt.Errorf("readyz is %d, want %d", code, want)
}

// stuckReader subscribes from the beginning and never reads a byte.
func stuckReader(t testing.TB, p *testbed) net.Conn {
	t.Helper()
	conn, err := net.Dial("unix", p.socket)
	if err == nil {
		_, err = fmt.Fprint(conn, "GET /rpc/stream?after_seq=0 HTTP/1.1\r\nHost: localhost\r\n\r\n")
	}
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// A client on stdio that does not read has a pipe that nothing can be written
// to, and a pipe has no deadline: it must not keep the server.
func TestSIGTERMDoesNotWaitForAClientOnStdioThatNeverReads(t *testing.T) {
	t.Parallel()
	p := newTestbed(t)
	for _, name := range []string{"in", "out"} {
		path := filepath.Join(p.root, name)
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0) // both ends: the server's open does not wait
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
	}
	s := p.launch(t, launch{args: []string{"--listen", "stdio"}, wrap: []string{"sh", "-c", `exec "$@" <"$0/in" >"$0/out"`, p.root}})
	if err := s.ready(startWithin); err != nil {
		t.Fatalf("the server does not get ready: %v\n%s", err, s.stderr.tail())
	}
	s.must(t, "thread/start", object{"thread_id": "a"})
	s.must(t, "turn/start", turn("a", "/items 60 60000")) // more than a pipe takes
	if err := s.idle(20 * time.Second); err != nil {
		t.Fatal(err)
	}
	if err := s.signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if !s.wait(20 * time.Second) {
		t.Fatalf("the server does not stop\n%s", s.stderr.tail())
	}
	if s.status != nil {
		t.Errorf("exit: %v\n%s", s.status, s.stderr.tail())
	}
}

// Whoever sends two signals does not want to wait; what was acknowledged is
// kept all the same (I6).
func TestSecondSIGTERMExitsAtOnce(t *testing.T) {
	t.Parallel()
	p := newTestbed(t)
	s := p.start(t, "--drain-seconds", "60")
	s.must(t, "thread/start", object{"thread_id": "a"})
	started := s.must(t, "turn/start", turn("a", "/sleep 60000"))
	if err := s.signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := becomes(s, http.StatusServiceUnavailable); err != nil {
		t.Error(err)
	}
	if err := s.signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if !s.wait(20 * time.Second) {
		t.Error("the server still runs after a second SIGTERM")
	}
	s.kill()
	s = p.start(t)
	log := s.log(t)
	if err := checkLog(log, true); err != nil {
		t.Error(err)
	}
	if last := log[len(log)-1]; !containsAll(last, []string{started.TurnID, `"reason":"server restarted"`}) {
		t.Errorf("the last event is %s", last)
	}
	s.stop(t)
	p.doctor(t)
}

// A second signal kills the agents; their turns are neither failed nor lost by it: the next
// start retries those with a policy, and lists the others.
func TestSecondSIGTERMLeavesTurnsOfCommandsToTheNextStart(t *testing.T) {
	t.Parallel()
	p := newTestbed(t)
	file := filepath.Join(p.root, "c.toml")
	config := "[agents.works]\nkind = \"exec\"\ncommand = [\"sleep\", \"600\"]\n" +
		"[agents.works-again]\nkind = \"exec\"\ncommand = [\"sleep\", \"600\"]\non_crash = \"retry\"\nmax_attempts = 2\nbackoff_seconds = 600\n"
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := []string{"--config", file, "--drain-seconds", "60"}
	s := p.start(t, flags...)
	turnIDs := map[string][]string{}
	for n := range 6 {
		for _, agent := range []string{"works", "works-again"} {
			thread := fmt.Sprint(agent, n)
			s.must(t, "thread/start", object{"thread_id": thread, "agent": agent, "cwd": s.root})
			turnIDs[agent] = append(turnIDs[agent], s.must(t, "turn/start", turn(thread, "go")).TurnID)
		}
	}
	for range 2 {
		if err := s.signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := becomes(s, http.StatusServiceUnavailable); err != nil {
			break // it has ended, or ends
		}
	}
	if !s.wait(20 * time.Second) {
		t.Fatal("the server still runs after a second SIGTERM")
	}
	s = p.start(t, flags...)
	for _, id := range turnIDs["works"] {
		if row := s.turnOf(t, id); row.State != "interrupted" || row.Reason != "server restarted" {
			t.Errorf("without a policy: %+v", row)
		}
		s.listed(t, id)
	}
	for _, id := range turnIDs["works-again"] {
		if row := s.turnOf(t, id); row.State != "active" {
			t.Errorf("with a policy: %+v", row)
		}
	}
	s.stop(t)
	p.doctor(t)
}

//go:build linux

package faults

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// inject makes system calls of a running server on its write-ahead log fail,
// as strace's inject says it, until the returned function is called.
func (s *server) inject(t testing.TB, how string) (end func()) {
	t.Helper()
	calls, _, _ := strings.Cut(how, ":")
	cmd := exec.Command("strace", "-f", "-p", fmt.Sprint(s.pid), "-P", filepath.Join(s.data, "holon.db-wal"),
		"-e", "trace="+calls, "-e", "inject="+how, "-o", "/dev/null")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGINT}
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	attached := make(chan bool, 1)
	go func() {
		lines := bufio.NewScanner(stderr)
		attached <- lines.Scan() && strings.Contains(lines.Text(), "attached")
		for lines.Scan() { // until it ends
		}
	}()
	select {
	case ok := <-attached:
		if !ok {
			t.Fatal("strace does not attach")
		}
	case <-time.After(10 * time.Second):
		_ = cmd.Process.Kill()
		t.Fatal("strace does not attach")
	}
	ended := false
	end = func() {
		if !ended {
			ended = true
			_ = cmd.Process.Signal(syscall.SIGINT) // detaches
			_ = cmd.Wait()                         // it reports the signal
		}
	}
	t.Cleanup(end)
	return end
}

// sickServer is a server with some events and a stream that follows.
func sickServer(t *testing.T) (p *testbed, s *server, v *view, followed chan error) {
	t.Helper()
	p = newTestbed(t)
	s = p.start(t, "--heartbeat-seconds", "1")
	v, followed = newView(0), make(chan error, 1)
	go func() { followed <- v.follow(s) }()
	s.must(t, "thread/start", object{"thread_id": "a"})
	s.must(t, "turn/start", turn("a", "/items 5 50"))
	if err := s.idle(startWithin); err != nil {
		t.Fatal(err)
	}
	return p, s, v, followed
}

// refused checks that every kind of change is refused with the kind, and that
// the server says it is not ready.
func (s *server) refused(t *testing.T, kind string) {
	t.Helper()
	for _, c := range []struct {
		method string
		params object
	}{
		{"thread/start", object{"thread_id": "refused"}}, // the first is the one whose sync fails
		{"turn/start", turn("a", "refused")},
		{"holon/pause", object{"reason": "refused"}},
		{"thread/close", object{"thread_id": "a", "reason": "refused"}},
	} {
		if _, err := s.call(c.method, c.params.with("idempotency_key", rand.Text())); kindOf(err) != kind {
			t.Errorf("%s: got %v, want %s", c.method, err, kind)
		}
	}
	if code, err := s.readyz(); code != http.StatusServiceUnavailable {
		t.Errorf("readyz is %d (%v) while nothing can be changed", code, err)
	}
	if s.metric(t, "holon_storage_ok") != 0 {
		t.Error("holon_storage_ok is not 0 while nothing can be changed")
	}
}

// reads checks that reads, replays and live streams continue, and that no
// refused change is seen in any.
func (s *server) reads(t *testing.T, v *view) {
	t.Helper()
	for method, params := range map[string]object{
		"holon/status": {}, "thread/list": {}, "event/list": {"after_seq": 0, "limit": 1000},
		"thread/read": {"thread_id": "a", "include_turns": true}, "item/list": {"thread_id": "a"},
	} {
		if _, err := s.call(method, params); err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
	log := s.log(t)
	if err := v.waitFor(int64(len(log)), startWithin); err != nil {
		t.Error(err)
	}
	if err := v.exactly(log); err != nil {
		t.Error(err)
	}
	for _, line := range log {
		if strings.Contains(line, "refused") {
			t.Errorf("a refused change is in the log: %s", line)
		}
	}
	st, err := s.open(-1)
	if err != nil {
		t.Fatal(err)
	}
	defer st.close()
	timer := time.AfterFunc(startWithin, st.close)
	defer timer.Stop()
	for {
		line, err := st.next()
		if err != nil {
			t.Fatalf("no heartbeat on a new stream: %v", err)
		}
		if methodOf(line) == "stream/heartbeat" {
			return
		}
	}
}

// After a failed fsync it is unknown what is on the disk: every change is refused
// until a restart, while reads and streams continue (I1, I6).
func TestFailedSyncStopsChangesUntilARestart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, how string
		end       syscall.Signal
	}{
		{"EIO on fsync", "fsync,fdatasync:error=EIO", syscall.SIGTERM},
		{"EIO on fsync, then kill -9", "fsync,fdatasync:error=EIO", syscall.SIGKILL},
		{"EIO on write", "pwrite64:error=EIO", syscall.SIGKILL},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			need(t, "strace")
			p, s, v, followed := sickServer(t)
			end := s.inject(t, c.how)
			s.refused(t, "storage_failed")
			s.reads(t, v)
			end()
			s.refused(t, "storage_failed") // the disk works again, but what is on it?
			s.reads(t, v)
			log := s.log(t)
			if err := s.signal(c.end); err != nil || !s.wait(20*time.Second) {
				t.Errorf("the server does not stop: %v\n%s", err, s.stderr.tail())
			}
			<-followed

			s = p.start(t)
			after := s.log(t)
			if err := v.within(after); err != nil {
				t.Error(err)
			}
			if len(after) < len(log) {
				t.Errorf("the log had %d events, now %d", len(log), len(after))
			}
			for _, line := range after {
				if strings.Contains(line, "refused") {
					t.Errorf("what was refused has happened: %s", line)
				}
			}
			s.must(t, "turn/start", turn("a", "again"))
			if err := s.idle(startWithin); err != nil {
				t.Error(err)
			}
			if err := checkLog(s.log(t), true); err != nil {
				t.Error(err)
			}
			s.stop(t)
			p.doctor(t)
		})
	}
}

// A write that finds no space fails by itself: the next one may succeed.
func TestFullDiskAtOneWriteIsNoEnd(t *testing.T) {
	t.Parallel()
	need(t, "strace")
	p, s, v, followed := sickServer(t)
	end := s.inject(t, "pwrite64:error=ENOSPC")
	s.refused(t, "storage_full")
	s.reads(t, v)
	end()
	if err := s.ready(startWithin); err != nil {
		t.Errorf("the server does not recover: %v", err)
	}
	s.must(t, "turn/start", turn("a", "again"))
	if err := s.idle(startWithin); err != nil {
		t.Error(err)
	}
	log := s.log(t)
	if err := checkLog(log, true); err != nil {
		t.Error(err)
	}
	s.stop(t)
	<-followed
	if err := v.within(log); err != nil {
		t.Error(err)
	}
	p.doctor(t)
}

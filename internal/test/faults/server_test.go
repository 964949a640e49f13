//go:build linux

package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// startWithin bounds the start of a server on a busy machine.
const startWithin = time.Minute

// testbed is where a server keeps its files: it may be started there many times.
type testbed struct {
	root   string // of everything
	data   string // --data
	socket string
	pprof  string
}

func newTestbed(t testing.TB) *testbed {
	t.Helper()
	root, err := os.MkdirTemp(scratch, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !t.Failed() {
			_ = os.RemoveAll(root) // TestMain removes what is left
		}
	})
	return &testbed{root: root, data: filepath.Join(root, "data"), socket: filepath.Join(root, "s"), pprof: filepath.Join(root, "p")}
}

// server is one process of the program. Its methods may be called from many
// goroutines.
type server struct {
	*testbed
	cmd    *exec.Cmd
	pid    int // of the program itself, whatever wraps it
	stderr *output
	exited chan struct{} // closed when cmd has ended
	status error         // of cmd, once exited is closed
	client *http.Client
}

// launch says how a server is started.
type launch struct {
	args  []string // further flags
	trace *trace
	wrap  []string // a command in front of the program's
	env   []string
}

// start starts a server and waits until it is ready.
func (p *testbed) start(t testing.TB, args ...string) *server {
	t.Helper()
	s := p.launch(t, launch{args: args})
	if err := s.ready(startWithin); err != nil {
		t.Fatalf("the server does not get ready: %v\n%s", err, s.stderr.tail())
	}
	return s
}

// launch starts a server and does not wait for it.
func (p *testbed) launch(t testing.TB, l launch) *server {
	t.Helper()
	args := append([]string{binary, "serve", "--data", p.data, "--listen", "unix:" + p.socket, "--pprof", p.pprof}, l.args...)
	args = append(append([]string(nil), l.wrap...), args...)
	env := append(cleanEnv(), "HOME="+p.root, "XDG_CONFIG_HOME="+p.root, "XDG_STATE_HOME="+p.root)
	env = append(env, l.env...)
	if l.trace != nil {
		var job string
		args, job = l.trace.wrap(t, args)
		env = append(env, job)
	}
	s := &server{testbed: p, stderr: &output{}, exited: make(chan struct{}), client: p.http()}
	s.cmd = exec.Command(args[0], args[1:]...)
	s.cmd.Env = env
	s.cmd.Stdout, s.cmd.Stderr = s.stderr, s.stderr
	s.cmd.WaitDelay = 5 * time.Second
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.pid = s.cmd.Process.Pid
	go func() {
		s.status = s.cmd.Wait()
		close(s.exited)
	}()
	if l.trace != nil {
		s.pid = l.trace.child(t, s)
	}
	t.Cleanup(func() {
		s.kill()
		s.client.CloseIdleConnections()
		if out := s.stderr.String(); strings.Contains(out, "panic:") || strings.Contains(out, "fatal error:") || strings.Contains(out, "DATA RACE") {
			t.Errorf("the server panicked:\n%s", s.stderr.tail())
		}
	})
	return s
}

// cleanEnv is the environment without settings of ours.
func cleanEnv() (env []string) {
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "HOLON_") && !strings.HasPrefix(e, traceEnv) {
			env = append(env, e)
		}
	}
	return env
}

// http is a client of the testbed's socket.
func (p *testbed) http() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", p.socket)
		},
		MaxIdleConnsPerHost: 64, DisableCompression: true,
	}}
}

// ready waits until the server says it is, or has ended.
func (s *server) ready(within time.Duration) error {
	var last error
	for deadline := time.Now().Add(within); time.Now().Before(deadline); {
		select {
		case <-s.exited:
			return fmt.Errorf("it has ended: %w", errors.Join(s.status, errEnded))
		default:
		}
		code, err := s.readyz()
		if err == nil && code == http.StatusOK {
			return nil
		}
		last = fmt.Errorf("readyz: %d %w", code, errors.Join(err))
		time.Sleep(3 * time.Millisecond)
	}
	return last
}

var errEnded = errors.New("the process has ended")

func (s *server) readyz() (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/readyz", nil)
	if err != nil {
		return 0, err
	}
	res, err := s.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	return res.StatusCode, nil
}

// signal sends a signal to the program.
func (s *server) signal(sig syscall.Signal) error { return syscall.Kill(s.pid, sig) }

// kill kills the program, and what wraps it, and waits for its end.
func (s *server) kill() {
	select {
	case <-s.exited:
		return
	default:
	}
	_ = syscall.Kill(s.pid, syscall.SIGKILL) // it may just have ended
	if s.pid != s.cmd.Process.Pid {
		select { // a tracer reports first
		case <-s.exited:
			return
		case <-time.After(5 * time.Second):
		}
		_ = s.cmd.Process.Kill()
	}
	<-s.exited
}

// stop ends the server in order; it fails the test if that goes wrong.
func (s *server) stop(t testing.TB) {
	t.Helper()
	if err := s.signal(syscall.SIGTERM); err != nil {
		t.Fatalf("stop: %v\n%s", err, s.stderr.tail())
	}
	if !s.wait(20 * time.Second) {
		t.Fatalf("the server does not stop\n%s", s.stderr.tail())
	}
	if s.status != nil {
		t.Fatalf("the server stopped with %v\n%s", s.status, s.stderr.tail())
	}
}

// wait waits for the process to end.
func (s *server) wait(d time.Duration) bool {
	select {
	case <-s.exited:
		return true
	case <-time.After(d):
		return false
	}
}

// doctor runs holon doctor --refold over the data of a stopped server.
func (p *testbed) doctor(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "doctor", "--refold", "--data", p.data)
	cmd.Env = append(cleanEnv(), "HOME="+p.root, "XDG_CONFIG_HOME="+p.root)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("holon doctor --refold: %v\n%s", err, out)
	}
}

// status reads a line of /proc/PID/status in bytes.
func (s *server) memory(line string) int64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(raw), line+":")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kb, _ := strconv.ParseInt(fields[0], 10, 64) // 0 if it is none
	return kb << 10
}

// fds counts the open file descriptors of the process.
func (s *server) fds() int {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.pid))
	if err != nil {
		return -1
	}
	return len(entries)
}

// output keeps the newest of what a process prints.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.buf.Len() > 16<<20 {
		o.buf.Next(8 << 20)
	}
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

func (o *output) tail() string {
	s := o.String()
	return s[max(0, len(s)-4000):]
}

// mustJSON encodes what cannot fail.
func mustJSON(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

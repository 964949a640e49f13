package transcript_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/config"
	"github.com/seed82539d15/holon/cmd/holon/daemon"
	"github.com/seed82539d15/holon/internal/test/hosttest"
)

// grace is how long a server may take to start or to end; the drain of a
// running turn alone may take eight seconds.
const grace = 20 * time.Second

// binary builds the command once for all tests.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "holon-transcript-")
	if err != nil {
		return "", err
	}
	builtIn = dir
	return hosttest.Build(dir, "./cmd/holon")
})

var builtIn string

func removeBinary(code int) {
	if builtIn != "" {
		_ = os.RemoveAll(builtIn)
	}
	os.Exit(code)
}

// tempDir is a folder whose path is short enough for a socket.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "holon-play-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// process is the real binary as a child that listens on an address.
type process struct {
	dir    string
	listen string // 127.0.0.1:0 or unix:PATH
	client *http.Client
	base   string
	cmd    *exec.Cmd
	exited chan error
}

func newProcess(t *testing.T, unix bool) *process {
	dir := tempDir(t)
	p := &process{dir: dir, listen: "127.0.0.1:0"}
	transport := &http.Transport{}
	if unix {
		path := filepath.Join(dir, "sock")
		p.listen = "unix:" + path
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		}
	}
	p.client = &http.Client{Transport: transport}
	t.Cleanup(transport.CloseIdleConnections)
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(context.Background(), true); err != nil {
			t.Error(err)
		}
	})
	return p
}

func (p *process) Start(ctx context.Context) error {
	path, err := binary()
	if err != nil {
		return err
	}
	logs, err := os.OpenFile(filepath.Join(p.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer logs.Close()
	p.cmd = exec.Command(path, "serve", "--data", filepath.Join(p.dir, "data"), "--listen", p.listen, "--agent", "echo", "--agent", "far=worker")
	p.cmd.Stdout, p.cmd.Stderr = logs, logs
	if err := p.cmd.Start(); err != nil {
		return err
	}
	p.exited = make(chan error, 1)
	go func() { p.exited <- p.cmd.Wait() }()
	for until := time.Now().Add(grace); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		var told struct {
			PID  int      `json:"pid"`
			URLs []string `json:"urls"`
		}
		b, err := os.ReadFile(filepath.Join(p.dir, "data", "server.json"))
		if err != nil || json.Unmarshal(b, &told) != nil || told.PID != p.cmd.Process.Pid {
			continue
		}
		p.base = told.URLs[0]
		if strings.HasPrefix(p.base, "unix:") {
			p.base = "http://localhost"
		}
		return ctx.Err()
	}
	b, _ := os.ReadFile(filepath.Join(p.dir, "log"))
	return fmt.Errorf("the server did not start:\n%s", b)
}

func (p *process) Stop(_ context.Context, kill bool) error {
	how := syscall.SIGTERM
	if kill {
		how = syscall.SIGKILL
	}
	if err := p.cmd.Process.Signal(how); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return ended(p.exited, p.cmd, kill)
}

// ended waits for the end of a child; one that was not killed must exit 0.
func ended(exited chan error, cmd *exec.Cmd, kill bool) error {
	select {
	case err := <-exited:
		exited <- err // for the next reader
		if kill {
			return nil
		}
		return err
	case <-time.After(grace):
		_ = cmd.Process.Kill()
		return fmt.Errorf("the server did not end within %s", grace)
	}
}

// Dial opens POST /rpc/stream.
func (p *process) Dial(ctx context.Context) (io.ReadWriteCloser, error) {
	reader, writer := io.Pipe()
	ctx, cancel := context.WithCancel(ctx)
	req, err := http.NewRequestWithContext(ctx, "POST", p.base+"/rpc/stream", reader)
	if err != nil {
		cancel()
		return nil, err
	}
	res, err := p.client.Do(req)
	if err != nil {
		cancel()
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(res.Body)
		cancel()
		return nil, fmt.Errorf("POST /rpc/stream: %s: %s", res.Status, body)
	}
	return &exchange{res.Body, writer, cancel}, nil
}

// exchange is a request body and its response, used as one connection.
type exchange struct {
	io.ReadCloser
	io.WriteCloser
	cancel context.CancelFunc
}

func (e *exchange) Close() error {
	e.cancel()
	return errors.Join(e.WriteCloser.Close(), e.ReadCloser.Close())
}

// stdio is the real binary with one client on its stdin and stdout. The
// process lives as long as the connection, on the same data.
type stdio struct {
	dir    string
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	exited chan error
}

func newStdio(t *testing.T) *stdio {
	s := &stdio{dir: tempDir(t)}
	t.Cleanup(func() {
		if b, err := os.ReadFile(filepath.Join(s.dir, "log")); err == nil && t.Failed() {
			t.Logf("the server's log:\n%s", b)
		}
	})
	t.Cleanup(func() { _ = s.Stop(context.Background(), true) })
	return s
}

func (s *stdio) Start(context.Context) error { return nil }

func (s *stdio) Dial(context.Context) (io.ReadWriteCloser, error) {
	path, err := binary()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, "serve", "--data", filepath.Join(s.dir, "data"), "--listen", "stdio", "--agent", "echo", "--agent", "far=worker")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// A separate pipe: Wait would close StdoutPipe while the reader uses it.
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	logs, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = in, logs
	err = cmd.Start()
	_, _ = in.Close(), logs.Close()
	if err != nil {
		_ = out.Close()
		return nil, err
	}
	s.cmd, s.stdin, s.exited = cmd, stdin, make(chan error, 1)
	exited := s.exited
	go func() { exited <- cmd.Wait() }()
	return &pipes{out, stdin, func() error { return s.Stop(context.Background(), false) }}, nil
}

func (s *stdio) Stop(_ context.Context, kill bool) error {
	if s.cmd == nil {
		return nil
	}
	if kill {
		_ = s.cmd.Process.Kill()
	}
	_ = s.stdin.Close()
	return ended(s.exited, s.cmd, kill)
}

// pipes is the two ends of a server's stdio; closing them ends it in order.
type pipes struct {
	io.ReadCloser
	io.WriteCloser
	end func() error
}

func (p *pipes) Close() error {
	return errors.Join(p.end(), p.ReadCloser.Close())
}

// inProcess is the same server within the test's own process, with in-memory
// pipes as stdio. A kill is a stop without a drain.
type inProcess struct {
	t      *testing.T
	dir    string
	stop   chan struct{}
	cancel context.CancelFunc
	done   chan error
	stdin  io.Closer
}

func newInProcess(t *testing.T) *inProcess {
	s := &inProcess{t: t, dir: tempDir(t)}
	t.Cleanup(func() { _ = s.Stop(context.Background(), true) })
	return s
}

func (s *inProcess) Start(context.Context) error { return nil }

func (s *inProcess) Dial(context.Context) (io.ReadWriteCloser, error) {
	cfg := config.Defaults()
	cfg.Data, cfg.Listen = filepath.Join(s.dir, "data"), []string{"stdio"}
	cfg.Agents = map[string]config.Agent{"far": {Kind: config.KindWorker, Tools: true}}
	inReader, inWriter := io.Pipe()
	outReader, outWriter := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	s.stop, s.cancel, s.done, s.stdin = make(chan struct{}), cancel, make(chan error, 1), inWriter
	done := s.done
	go func() {
		stderr := daemon.OpenStderr(io.Discard)
		defer stderr.Close()
		err := daemon.Run(ctx, daemon.Options{
			Config: cfg, Version: "test", Stdin: inReader, Stdout: outWriter, Stderr: stderr, Stop: s.stop,
		})
		if err != nil {
			s.t.Log("the server ended:", err) // before the test sees its end
		}
		_ = inReader.Close()
		_ = outWriter.Close()
		done <- err
	}()
	return &pipes{outReader, inWriter, func() error { return s.Stop(context.Background(), false) }}, nil
}

func (s *inProcess) Stop(_ context.Context, kill bool) error {
	if s.done == nil {
		return nil
	}
	if kill {
		s.cancel()
	}
	_ = s.stdin.Close()
	select {
	case err := <-s.done:
		s.cancel()
		s.done <- err
		if kill {
			return nil
		}
		return err
	case <-time.After(grace):
		return fmt.Errorf("the server did not end within %s", grace)
	}
}

package main

import (
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"syscall"
	"testing"

	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/turns"
)

// fill writes to a pipe until it holds no further byte.
func fill(t *testing.T, pipe *os.File) {
	t.Helper()
	// Of its own opening, so that the other writers do not get O_NONBLOCK.
	fd, err := syscall.Open(fmt.Sprintf("/proc/self/fd/%d", pipe.Fd()), syscall.O_WRONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	for _, size := range []int{4096, 1} {
		for err = nil; err == nil; _, err = syscall.Write(fd, make([]byte, size)) {
		}
		if !errors.Is(err, syscall.EAGAIN) {
			t.Fatal(err)
		}
	}
}

// The reader of the server's stderr has stopped reading.
func TestAServerWhoseStderrIsFullWorksAndEnds(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	defer writer.Close()
	s := stopBed{&builds{server: &server{t: t, data: t.TempDir()}}}
	p := &process{cmd: osexec.Command(build(t, t.TempDir(), "./cmd/holon"), "serve", "--data", s.data, "--listen", "127.0.0.1:0", "--agent", "dies=exec:false"), exited: make(chan struct{})}
	s.process = p
	p.cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+t.TempDir(), "HOLON_DRAIN_SECONDS=0.1")
	p.cmd.Stderr = writer
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.exited)
	}()
	t.Cleanup(p.kill)
	c := client.New(client.Discover(s.data))
	defer c.Close()
	eventually(t, "the server is ready", func() bool { return c.Ready(t.Context()) == nil })
	fill(t, writer)

	s.becomes(s.begin("a", "dies", "hello"), func(t *turns.Turn) bool { return t.State == turns.Failed })
	s.becomes(s.begin("b", "echo", long), runs)
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	exited(t, p)
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("it ended with %v", p.cmd.ProcessState)
	}
}
